/* The diagonal of the Hessian, for the preconditioner of the solve (solver/cr.h): at each node the mean of
 * its 3 x 3 block's diagonal, sum over particles of K |grad w|^2 with K the tangent's mean over all
 * directions of motion and gradient, (lambda + 4 mu) / 3 for small strains. A preconditioner need not be
 * exact, and must be positive: K is not below nought. In double here; hessian_mixed.c has its own. */
#ifndef FIRN_KERNELS_STIFFNESS_H
#define FIRN_KERNELS_STIFFNESS_H

#include "kernels/cell.h"

/* Times V0, of the particles [s, s + LANES) in order. */
static vd snow_stiffness(const struct kept *k, int32_t s)
{
  const vd lambda = vd_load(k->bulk + s) - vd_load(k->pressure + s);
  return vd_fma(vd_set(4.0), vd_load(k->mu + s), lambda) * vd_set(1.0 / 3.0);
}

/* Of any model: the mean of the tangent's nine factors of G_ij in A_ij. */
static vd general_stiffness(const struct kept *k, int32_t s)
{
  static const int diagonal[9] = {0, 3, 5, 6, 7, 9, 10, 12, 13}; /* of d, then the first two of each pair */
  vd sum = vd_set(0.0);
  for (int n = 0; n < 9; n++)
    sum += vd_load((diagonal[n] < 6 ? k->d[diagonal[n]] : k->pair[diagonal[n] - 6]) + s);
  return sum * vd_set(1.0 / 9.0);
}

/* Squares of the weights and slopes of LANES particles, those along axis 0 times the stiffness. */
struct squares {
  double of[3][8][LANES];
} __attribute__((aligned(64)));

ALWAYS_INLINE void square_weights(const struct records *rec, vd stiffness, struct squares *squares)
{
  for (int axis = 0; axis < 3; axis++)
    for (int k = 0; k < 8; k++) {
      const vd w = record_lanes(rec, axis, k), square = w * w;
      vd_store_aligned(squares->of[axis][k], axis == 0 ? square * stiffness : square);
    }
}

/* Four numbers of one particle. */
ALWAYS_INLINE v4 four_of(const double *lane)
{
  return (v4){lane[0], lane[LANES], lane[2 * LANES], lane[3 * LANES]};
}

/* Adds a particle's part to the nodes of its cell, [4 a + b] in z rows. */
ALWAYS_INLINE void add_squares(const struct squares *squares, int l, v4 nodes[16])
{
  const v4 y = four_of(squares->of[1][0] + l), dy = four_of(squares->of[1][4] + l),
           z = four_of(squares->of[2][0] + l), dz = four_of(squares->of[2][4] + l);
  for (int a = 0; a < 4; a++) {
    const v4 x = v4_set(squares->of[0][a][l]), dx = v4_set(squares->of[0][4 + a][l]);
    const v4 along = x * y, across = v4_fma(dx, y, x * dy);
    for (int b = 0; b < 4; b++)
      nodes[4 * a + b] = v4_fma(v4_set(across[b]), z, v4_fma(v4_set(along[b]), dz, nodes[4 * a + b]));
  }
}

/* Adds the nodes' numbers to the scalars of the block's part. */
static void add_scalars(double *part, uint64_t cell, const v4 nodes[16])
{
  double *corner = part_corner(part, cell);
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++)
      for (int c = 0; c < 4; c++) {
        const int64_t at = STENCIL_LAYOUT == PART_SHEETS ? a * SHEET_X + c * SHEET_ROW + b
                                                         : a * NODES_X + b * NODES_Y + 4 * c;
        corner[at] += nodes[4 * a + b][c];
      }
}

/* Adds the diagonal of one block to the scalars of its part. */
static void add_stiffness(const struct transfer *t, struct records *rec, int32_t block, double *part)
{
  const struct grid *g = t->grid;
  const enum linear linear = t->mls ? OFFSET : GRADIENT;
  const double scale = stencil_scale(&g->geometry, linear);
  for (int32_t cell = g->blocks.first[block]; cell < g->blocks.first[block + 1]; cell++) {
    const int32_t s = g->cell_start[cell], n = g->cell_start[cell + 1] - s;
    v4 nodes[16];
    for (int k = 0; k < 16; k++) nodes[k] = v4_set(0.0);
    for (int32_t i = 0; i < n; i += LANES) {
      const struct batch batch = batch_at(t, s + i, n - i);
      vd x[3];
      batch_positions(t, &batch, x);
      stencil_weigh(t, x, linear, rec);
      const vd found = t->snow_alone ? snow_stiffness(&t->kept, s + i) : general_stiffness(&t->kept, s + i);
      struct squares squares;
      square_weights(rec, vd_max(found, vd_set(0.0)) * vd_set(scale * scale), &squares);
      for (int l = 0; l < batch.count; l++) add_squares(&squares, l, nodes);
    }
    add_scalars(part, g->cell_key[cell], nodes);
  }
}

#endif
