/* The diagonal of the Hessian, for the preconditioner of the solve (solver/cr.h): at each node the mean of
 * its 3 x 3 block's diagonal, sum over particles of K |grad w|^2 with K the tangent's mean over all
 * directions of motion and gradient, (lambda + 4 mu) / 3 for small strains. A preconditioner need not be
 * exact, and must be positive: K is not below nought. */
#include "kernels/cell.h"

/* Times V0, of the particles [s, s + LANES) in order. */
static vd snow_stiffness(const struct transfer *t, int32_t s, int count)
{
  const struct kept *k = &t->kept;
  vd mu = vd_set(0.0), lambda = mu;
  if (t->mixed) {
    for (int l = 0; l < count; l++) {
      mu[l] = (double)k->single[SINGLE_SNOW_MU][s + l];
      lambda[l] = (double)(k->single[SINGLE_SNOW_BULK][s + l] - k->single[SINGLE_SNOW_PRESSURE][s + l]);
    }
  } else {
    mu = vd_load(k->mu + s);
    lambda = vd_load(k->bulk + s) - vd_load(k->pressure + s);
  }
  return vd_fma(vd_set(4.0), mu, lambda) * vd_set(1.0 / 3.0);
}

/* Of any model: the mean of the tangent's nine factors of G_ij in A_ij. */
static vd general_stiffness(const struct transfer *t, int32_t s, int count)
{
  static const int diagonal[9] = {0, 3, 5, 6, 7, 9, 10, 12, 13}; /* of d, then the first two of each pair */
  const struct kept *k = &t->kept;
  vd sum = vd_set(0.0);
  for (int n = 0; n < 9; n++) {
    const int at = diagonal[n];
    if (t->mixed)
      for (int l = 0; l < count; l++) sum[l] += (double)k->single[SINGLE_TANGENT + at][s + l];
    else
      sum += vd_load((at < 6 ? k->d[at] : k->pair[at - 6]) + s);
  }
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

/* Adds the nodes' numbers to the scalars of the plane's tiles. */
static void add_scalars(const struct cell_place *place, int32_t foot_count, const v4 nodes[16], double *q)
{
  for (int b = 0; b < 4; b++) {
    const struct cell_row row = cell_row(place, b);
    for (int a = 0; a < 4; a++)
      for (int c = 0; c < 4; c++) {
        const int part = c >= row.first, z = part ? c - row.first : row.z + c;
        if (row.foot[part] < 0) continue;
        q[((int64_t)a * foot_count + row.foot[part]) * TILE_DOUBLES + (row.row * TILE_Z + z) * 4] +=
            nodes[4 * a + b][c];
      }
  }
}

void KERNEL(stiffness)(void *arguments, struct worker *worker, int32_t plane)
{
  const struct hessian_arguments *h = arguments;
  const struct transfer *t = h->transfer;
  struct grid *g = t->grid;
  struct records *rec = worker->work.records[0];
  double *q = worker->work.q;
  const int32_t end = g->plane_cell[plane + 1], foot_count = g->plane_foot[plane + 1] - g->plane_foot[plane];
  if (g->plane_cell[plane] == end) return;
  memset(q, 0, (size_t)MAX_SUPPORT * (size_t)foot_count * TILE_DOUBLES * sizeof(double));
  const enum linear linear = t->mls ? OFFSET : GRADIENT;
  const double scale = stencil_scale(&g->geometry, linear);
  for (int32_t cell = g->plane_cell[plane]; cell < end; cell++) {
    const struct cell_place place = cell_place(g, plane, cell);
    const int32_t s = g->cell_start[cell], n = g->cell_start[cell + 1] - s;
    v4 nodes[16];
    for (int k = 0; k < 16; k++) nodes[k] = v4_set(0.0);
    for (int32_t i = 0; i < n; i += LANES) {
      const struct batch batch = batch_at(t, s + i, n - i);
      vd x[3];
      batch_positions(t, &batch, x);
      stencil_weigh(t, x, linear, rec);
      const vd found =
          t->snow_alone ? snow_stiffness(t, s + i, batch.count) : general_stiffness(t, s + i, batch.count);
      struct squares squares;
      square_weights(rec, vd_max(found, vd_set(0.0)) * vd_set(scale * scale), &squares);
      for (int l = 0; l < batch.count; l++) add_squares(&squares, l, nodes);
    }
    add_scalars(&place, foot_count, nodes, q);
  }
  scatter_plane_end(g, plane, h->out, q);
}
