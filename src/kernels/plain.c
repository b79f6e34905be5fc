/* The transfer pair as one would write it for itself: particles one after the other, a dense grid, weights
 * one at a time, all else in registers. No material, no order to keep, no sums of a fixed shape. `firn bench
 * --floor` measures it as what a machine gives at best for a plain effort; Firn's own pair is in bare.c. */
#include "kernels/stencil.h"

enum { ROW_REGISTERS = 16 / NODE_STEP }; /* the four nodes of a row, or half their channels */

/* Weights and derivatives along the three axes of a particle at x, in cells. */
static inline void plain_weights(const double x[3], double w[24])
{
  for (int a = 0; a < 3; a++, w += 8) {
    const double f = x[a] - (double)(int)x[a], g = 1.0 - f;
    w[0] = g * g * g / 6.0;
    w[1] = (0.5 * f - 1.0) * f * f + 2.0 / 3.0;
    w[2] = (0.5 * g - 1.0) * g * g + 2.0 / 3.0;
    w[3] = f * f * f / 6.0;
    w[4] = -0.5 * g * g;
    w[5] = (1.5 * f - 2.0) * f;
    w[6] = (2.0 - 1.5 * g) * g;
    w[7] = 0.5 * f * f;
  }
}

/* Eight lanes: a node plane of the cell at a time, 4 x 4 nodes in eight registers. */
ALWAYS_INLINE void scatter_plane(const double (*w)[24], const double *value, int a, double *to,
                                 int64_t stride1)
{
  vd sum[4][ROW_REGISTERS];
  for (int k = 0; k < 4 * ROW_REGISTERS; k++) sum[k / ROW_REGISTERS][k % ROW_REGISTERS] = vd_set(0.0);
  for (int i = 0; i < BARE_PER_CELL; i++, value += 16) {
    const vd wx = vd_set(w[i][a]), along_y = wx * vd_repeat(value + 8), along_z = wx * vd_repeat(value + 12),
             base = vd_fma(vd_set(w[i][4 + a]), vd_repeat(value + 4), wx * vd_repeat(value));
    for (int h = 0; h < ROW_REGISTERS; h++) {
      const int first = 16 + h * LANES / 4;
      const vd wz = vd_spread(w[i] + first, 1), dz = vd_spread(w[i] + first + 4, 1);
      const vd plain = vd_fma(along_z, dz, base * wz), turned = along_y * wz;
      for (int b = 0; b < 4; b++)
        sum[b][h] = vd_fma(vd_set(w[i][12 + b]), turned, vd_fma(vd_set(w[i][8 + b]), plain, sum[b][h]));
    }
  }
  for (int b = 0; b < 4; b++)
    for (int h = 0; h < ROW_REGISTERS; h++) {
      double *at = to + b * stride1 + h * LANES;
      vd_store(at, vd_load(at) + sum[b][h]);
    }
}

/* Fewer lanes: a row of the cell at a time, since there are half the registers. */
ALWAYS_INLINE void scatter_row(const double (*w)[24], const double *value, int a, int b, double *to)
{
  vd sum[ROW_REGISTERS];
  for (int h = 0; h < ROW_REGISTERS; h++) sum[h] = vd_load(to + h * NODE_STEP);
  for (int i = 0; i < BARE_PER_CELL; i++, value += 16) {
    const double wx = w[i][a], wy = w[i][8 + b];
    const vd both = vd_set(wx * wy), slope = both * vd_load(value + 12);
    const vd base = vd_fma(
        both, vd_load(value),
        vd_fma(vd_set(w[i][4 + a] * wy), vd_load(value + 4), vd_set(wx * w[i][12 + b]) * vd_load(value + 8)));
    for (int h = 0; h < ROW_REGISTERS; h++)
      sum[h] = vd_fma(base, vd_set(w[i][16 + h]), vd_fma(slope, vd_set(w[i][20 + h]), sum[h]));
  }
  for (int h = 0; h < ROW_REGISTERS; h++) vd_store(to + h * NODE_STEP, sum[h]);
}

void KERNEL(plain_p2g)(struct bare *bare)
{
  const int64_t cells = bare->cells, stride1 = 4 * (cells + 4), stride0 = stride1 * (cells + 4);
  memset(bare->grid, 0, (size_t)(stride0 * (cells + 4)) * sizeof(double));
  const double *x = bare->place, *value = bare->value;
  for (int64_t cell = 0; cell < cells * cells * cells; cell++, value += 16 * BARE_PER_CELL) {
    double w[BARE_PER_CELL][24];
    double *corner = bare->grid + (int64_t)x[0] * stride0 + (int64_t)x[1] * stride1 + (int64_t)x[2] * 4;
    for (int i = 0; i < BARE_PER_CELL; i++, x += 3) plain_weights(x, w[i]);
    for (int a = 0; a < 4; a++) {
      if (LANES == 8) scatter_plane((const double(*)[24])w, value, a, corner + a * stride0, stride1);
      for (int k = 0; k < 4 * NODE_PARTS && LANES < 8; k++) {
        const int b = k / NODE_PARTS, channel = k % NODE_PARTS * LANES;
        scatter_row((const double(*)[24])w, value + channel, a, b,
                    corner + a * stride0 + b * stride1 + channel);
      }
    }
  }
}

/* All nodes of a cell: `out` are the value and its derivatives. */
ALWAYS_INLINE void gather_plain(const double w[24], const double *corner, int64_t stride0, int64_t stride1,
                                double *out)
{
  vd value = vd_set(0.0), gx = value, gy = value, gz = value;
  for (int a = 0; a < 4; a++) {
    vd plain = vd_set(0.0), along_y = plain, along_z = plain;
    for (int b = 0; b < 4; b++) {
      const double *row = corner + a * stride0 + b * stride1;
      vd t = vd_set(0.0), d = t;
      for (int h = 0; h < ROW_REGISTERS; h++) {
        const int first = 16 + h * NODE_STEP / 4;
        const vd node = vd_load(row + h * NODE_STEP);
        t = vd_fma(node, vd_spread(w + first, 1), t);
        d = vd_fma(node, vd_spread(w + first + 4, 1), d);
      }
      plain = vd_fma(vd_set(w[8 + b]), t, plain);
      along_y = vd_fma(vd_set(w[12 + b]), t, along_y);
      along_z = vd_fma(vd_set(w[8 + b]), d, along_z);
    }
    value = vd_fma(vd_set(w[a]), plain, value);
    gx = vd_fma(vd_set(w[4 + a]), plain, gx);
    gy = vd_fma(vd_set(w[a]), along_y, gy);
    gz = vd_fma(vd_set(w[a]), along_z, gz);
  }
  vd_fold(value, out);
  vd_fold(gx, out + 4);
  vd_fold(gy, out + 8);
  vd_fold(gz, out + 12);
}

void KERNEL(plain_g2p)(struct bare *bare)
{
  const int64_t cells = bare->cells, stride1 = 4 * (cells + 4), stride0 = stride1 * (cells + 4);
  const double *x = bare->place;
  double *out = bare->out;
  for (int64_t i = 0; i < BARE_PER_CELL * cells * cells * cells; i++, x += 3, out += 16) {
    const double *corner = bare->grid + (int64_t)x[0] * stride0 + (int64_t)x[1] * stride1 + (int64_t)x[2] * 4;
    double w[24];
    plain_weights(x, w);
    for (int channel = 0; channel < NODE_STEP; channel += LANES)
      gather_plain(w, corner + channel, stride0, stride1, out + channel);
  }
}
