/* Slabs: which rank owns which layers of blocks.
 *
 * Slab r is the layers [cut[r], cut[r + 1]) along the slab axis, at least one, so that a stencil never
 * reaches past a neighbour. With more ranks than layers the surplus has no slab and idles. Every rank holds
 * all cuts. */
#ifndef FIRN_DECOMPOSITION_SLABS_H
#define FIRN_DECOMPOSITION_SLABS_H

#include <stdbool.h>
#include <stdint.h>

struct slabs {
  int count;      /* ranks that have a slab: 0 .. count - 1 */
  int32_t layers; /* of the whole domain */
  int32_t *cut;   /* [count + 1] */
};

/* What slabs cost: layers [a, b) the sum of their weights and beyond[b], which is what a slab that ends there
 * has to do on nodes past its own. beyond may be NULL (nothing), and must not fall by more than weight[b]
 * from b to b + 1, so that a larger slab never costs less. */
struct slab_work {
  const int64_t *weight; /* [layers] */
  const int64_t *beyond; /* [layers + 1] */
};

/* Cuts [0, layers) for `ranks` ranks such that the most costly slab costs as little as any cuts allow; of all
 * such cuts those that lie near equal shares. Time is linear in the layers but for a logarithm of the
 * work. */
struct slabs *slabs_create(int ranks, int32_t layers, struct slab_work work);
void slabs_destroy(struct slabs **slabs);

/* Cost of the most costly slab. */
int64_t slabs_most(const struct slabs *slabs, struct slab_work work);

/* Whether cuts rise from 0 to `layers` and every slab has a layer. */
bool slabs_is_valid(const struct slabs *slabs);

/* Rank that owns a layer. */
int slabs_owner(const struct slabs *slabs, int32_t layer);

#endif
