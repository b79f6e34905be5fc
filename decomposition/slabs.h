/* Slabs: which rank owns which cell planes.
 *
 * Slab r is the cell planes [cut[r], cut[r + 1]) of the slab axis. A slab has at least SLAB_LEAST planes, so
 * that a stencil never reaches past a neighbour; with more ranks than that allows, the surplus has no slab
 * and idles. Every rank holds all cuts. */
#ifndef FIRN_DECOMPOSITION_SLABS_H
#define FIRN_DECOMPOSITION_SLABS_H

#include <stdint.h>

enum { SLAB_LEAST = 4 };

struct slabs {
  int count;      /* ranks that have a slab: 0 .. count - 1 */
  int32_t planes; /* of the whole domain */
  int32_t *cut;   /* [count + 1] */
};

/* Cuts [0, planes) for `ranks` ranks into pieces of about equal weight; weight[planes] is the cost of each
 * plane. */
struct slabs *slabs_create(int ranks, int32_t planes, const int64_t *weight);
void slabs_destroy(struct slabs **slabs);

/* Rank that owns a plane. */
int slabs_owner(const struct slabs *slabs, int32_t plane);

#endif
