/* Slabs: which rank owns which cell planes.
 *
 * Slab r is the cell planes [cut[r], cut[r + 1]) of the slab axis. A slab has at least SLAB_LEAST planes, so
 * that a stencil never reaches past a neighbour; with more ranks than that allows, the surplus has no slab
 * and idles. Every rank holds all cuts. */
#ifndef FIRN_DECOMPOSITION_SLABS_H
#define FIRN_DECOMPOSITION_SLABS_H

#include <stdbool.h>
#include <stdint.h>

/* The node planes that a cubic stencil reaches past its own: those shared at a slab's two cuts must not
 * meet. */
enum { SLAB_LEAST = 3 };

struct slabs {
  int count;      /* ranks that have a slab: 0 .. count - 1 */
  int32_t planes; /* of the whole domain */
  int32_t *cut;   /* [count + 1] */
};

/* What slabs cost: planes [a, b) the sum of their weights and beyond[b], which is what a slab that ends there
 * has to do on planes past its own. beyond may be NULL (nothing), and must not fall by more than weight[b]
 * from b to b + 1, so that a larger slab never costs less. */
struct slab_work {
  const int64_t *weight; /* [planes] */
  const int64_t *beyond; /* [planes + 1] */
};

/* Cuts [0, planes) for `ranks` ranks such that the most costly slab costs as little as any cuts allow; of all
 * such cuts those that lie near equal shares. Time is linear in the planes but for a logarithm of the
 * work. */
struct slabs *slabs_create(int ranks, int32_t planes, struct slab_work work);
void slabs_destroy(struct slabs **slabs);

/* Cost of the most costly slab. */
int64_t slabs_most(const struct slabs *slabs, struct slab_work work);

/* Whether cuts rise from 0 to `planes` and every slab has its least width. */
bool slabs_is_valid(const struct slabs *slabs);

/* Rank that owns a plane. */
int slabs_owner(const struct slabs *slabs, int32_t plane);

#endif
