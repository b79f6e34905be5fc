/* The bare transfer pair: P2G and G2P of four channels with value and slope, cubic kernel, sorted particles,
 * a dense grid, no material. Nothing uses it but `firn bench`, which gives every figure also as a ratio to
 * it: the floor that the real kernels stand on. */
#include "kernels/stencil.h"

/* Offset (doubles) of a cell's first node. */
static inline int64_t corner_of(int64_t cell, int64_t cells)
{
  const int64_t nodes = cells + 4;
  return 4 * ((cell / (cells * cells) * nodes + cell / cells % cells) * nodes + cell % cells);
}

void KERNEL(bare_p2g)(struct bare *bare)
{
  const int64_t nodes = bare->cells + 4, stride1 = 4 * nodes, stride0 = stride1 * nodes;
  memset(bare->grid, 0, (size_t)(nodes * nodes * nodes) * 4 * sizeof(double));
  struct record rec[BARE_PER_CELL];
  for (int64_t cell = 0; cell < (int64_t)bare->cells * bare->cells * bare->cells; cell++) {
    const int64_t first = cell * BARE_PER_CELL, corner = corner_of(cell, bare->cells);
    const struct particles *p = bare->transfer->p;
    const v8 x[3] = {v8_load(p->x[0] + first), v8_load(p->x[1] + first), v8_load(p->x[2] + first)};
    stencil_records(bare->transfer, x, GRADIENT, rec);
    for (int l = 0; l < LANES; l++) {
      rec[l].value = v8_load(bare->value + 16 * (first + l));
      rec[l].slope = v8_load(bare->value + 16 * (first + l) + 8);
    }
    scatter_cell(rec, BARE_PER_CELL, bare->grid + corner, stride0, stride1, 4, true, true);
  }
}

void KERNEL(bare_g2p)(struct bare *bare)
{
  const int64_t nodes = bare->cells + 4, stride1 = 4 * nodes, stride0 = stride1 * nodes;
  struct record rec[BARE_PER_CELL];
  struct stencil_nodes local;
  for (int64_t cell = 0; cell < (int64_t)bare->cells * bare->cells * bare->cells; cell++) {
    const int64_t first = cell * BARE_PER_CELL, corner = corner_of(cell, bare->cells);
    const struct particles *p = bare->transfer->p;
    const v8 x[3] = {v8_load(p->x[0] + first), v8_load(p->x[1] + first), v8_load(p->x[2] + first)};
    stencil_records(bare->transfer, x, GRADIENT, rec);
    stencil_nodes_load(&local, bare->grid + corner, stride0, stride1, 4);
    gather_cell(rec, BARE_PER_CELL, &local, NULL, 4, bare->out + 16 * first);
  }
}
