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

enum { BLOCKS = BARE_PER_CELL / LANES }; /* of records a cell */

static inline void weigh_cell(const struct bare *bare, int64_t first, struct records rec[BLOCKS])
{
  const struct particles *p = bare->transfer->p;
  for (int b = 0; b < BLOCKS; b++) {
    const int64_t at = first + b * LANES;
    const vd x[3] = {vd_load(p->x[0] + at), vd_load(p->x[1] + at), vd_load(p->x[2] + at)};
    stencil_weigh(bare->transfer, x, GRADIENT, &rec[b]);
  }
}

/* Adds a cell's particles to its nodes in the dense grid. */
static inline void scatter_dense(const struct records *rec, double *corner, int64_t stride0, int64_t stride1)
{
#if defined __AVX2__
  enum { NODE = 4, SHEET = 16 }; /* doubles: of a node, and of a channel of a node plane */
  double sheet[4][4][SHEET] __attribute__((aligned(64)));
  vd_clear(sheet[0][0], sizeof sheet / sizeof(double));
  scatter_nodes_of(rec, 0, BARE_PER_CELL, sheet[0][0], NULL, 4 * SHEET, SHEET, 4, 4, true, true);
  for (int a = 0; a < 4; a++)
    for (int k = 0; k < SHEET; k += LANES) {
      vd channel[4], row[4];
      for (int c = 0; c < 4; c++) channel[c] = vd_load(sheet[a][c] + k);
      vd_turn4(channel, row);
      for (int b = 0; b < 4; b++) {
        double *to = corner + a * stride0 + b * stride1 + k / 4 * NODE;
        vd_store(to, vd_load(to) + row[b]);
      }
    }
#else
  scatter_nodes_of(rec, 0, BARE_PER_CELL, corner, NULL, stride0, stride1, 4, 4, true, true);
#endif
}

void KERNEL(bare_p2g)(struct bare *bare)
{
  const int64_t nodes = bare->cells + 4, stride1 = 4 * nodes, stride0 = stride1 * nodes;
  memset(bare->grid, 0, (size_t)(nodes * nodes * nodes) * 4 * sizeof(double));
  struct records rec[BLOCKS];
  for (int64_t cell = 0; cell < (int64_t)bare->cells * bare->cells * bare->cells; cell++) {
    const int64_t first = cell * BARE_PER_CELL, corner = corner_of(cell, bare->cells);
    weigh_cell(bare, first, rec);
    for (int i = 0; i < BARE_PER_CELL; i++)
      memcpy(rec[i / LANES].scattered[i % LANES].value, bare->value + 16 * (first + i), 16 * sizeof(double));
    for (int b = 0; b < BLOCKS; b++) stencil_sheets(&rec[b]);
    scatter_dense(rec, bare->grid + corner, stride0, stride1);
  }
}

void KERNEL(bare_g2p)(struct bare *bare)
{
  const int64_t nodes = bare->cells + 4, stride1 = 4 * nodes, stride0 = stride1 * nodes;
  struct records rec[BLOCKS];
  enum { ROW = LANES == 2 ? 4 * ROW_NODES : 16 }; /* as in a block's nodes */
  double local[16][ROW] __attribute__((aligned(64)));
  for (int64_t cell = 0; cell < (int64_t)bare->cells * bare->cells * bare->cells; cell++) {
    const int64_t first = cell * BARE_PER_CELL, corner = corner_of(cell, bare->cells);
    weigh_cell(bare, first, rec);
    for (int r = 0; r < 16; r++) { /* aligned, once for eight particles */
      const double *from = bare->grid + corner + r / 4 * stride0 + r % 4 * stride1;
      row_copy(local[r], 0, from, 4);
    }
    gather_channels(rec, 0, BARE_PER_CELL, local[0], NULL, 4 * ROW, ROW, 4, 0, bare->out + 16 * first);
  }
}
