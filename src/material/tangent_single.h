/* The tangents of snow.h and tangent.h in single precision, for the products of a mixed solve. What they are
 * made of was computed in double precision and rounded once. */
#ifndef FIRN_MATERIAL_TANGENT_SINGLE_H
#define FIRN_MATERIAL_TANGENT_SINGLE_H

#include "base/simd_single.h"

static inline void single_multiply(const vf a[9], const vf b[9], vf out[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      out[3 * i + j] = vf_fma(a[3 * i], b[j], vf_fma(a[3 * i + 1], b[3 + j], a[3 * i + 2] * b[6 + j]));
}

static inline void single_transpose(const vf a[9], vf out[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) out[3 * i + j] = a[3 * j + i];
}

/* As snow_tangent_shear(). */
static inline void single_snow_shear(const vf sigma[3], vf mu2, vf pressure, int i, int j, const vf g[9],
                                     vf out[9])
{
  const vf a = g[3 * i + j] * sigma[j], b = g[3 * j + i] * sigma[i];
  const vf spin = (a - b) / vf_max(sigma[i] + sigma[j], vf_set(1e-6F));
  const vf cofactor = pressure * sigma[3 - i - j];
  out[3 * i + j] = vf_fma(mu2, a - spin, -cofactor * b) * sigma[j];
  out[3 * j + i] = vf_fma(mu2, b + spin, -cofactor * a) * sigma[i];
}

/* As snow_tangent(), in the principal axes. `pressure` is lambda (J - 1): J is near 1, and their difference
 * would lose digits here. */
static inline void single_snow_local(const vf sigma[3], vf mu, vf lambda, vf pressure, const vf g[9],
                                     vf out[9])
{
  const vf mu2 = mu + mu;
  const vf cofactor[3] = {sigma[1] * sigma[2], sigma[0] * sigma[2], sigma[0] * sigma[1]};
  const vf df[3] = {g[0] * sigma[0], g[4] * sigma[1], g[8] * sigma[2]};
  const vf dj = vf_fma(cofactor[0], df[0], vf_fma(cofactor[1], df[1], cofactor[2] * df[2]));
  for (int d = 0; d < 3; d++) {
    const int e = (d + 1) % 3, f = (d + 2) % 3;
    const vf change = vf_fma(sigma[e], df[f], sigma[f] * df[e]);
    out[4 * d] = vf_fma(mu2, df[d], vf_fma(lambda * dj, cofactor[d], pressure * change)) * sigma[d];
  }
  single_snow_shear(sigma, mu2, pressure, 0, 1, g, out);
  single_snow_shear(sigma, mu2, pressure, 0, 2, g, out);
  single_snow_shear(sigma, mu2, pressure, 1, 2, g, out);
}

/* As tangent_apply(), in the principal axes; d and pair (three a row) as in struct tangent. */
static inline void single_general_local(const vf d[6], const vf pair[9], const vf g[9], vf out[9])
{
  const vf x = g[0], y = g[4], z = g[8];
  out[0] = vf_fma(d[0], x, vf_fma(d[1], y, d[2] * z));
  out[4] = vf_fma(d[1], x, vf_fma(d[3], y, d[4] * z));
  out[8] = vf_fma(d[2], x, vf_fma(d[4], y, d[5] * z));
  for (int k = 0; k < 3; k++) {
    const int i = k == 0 ? 1 : 0, j = k == 2 ? 1 : 2, ij = 3 * i + j, ji = 3 * j + i;
    out[ij] = vf_fma(pair[3 * k], g[ij], pair[3 * k + 2] * g[ji]);
    out[ji] = vf_fma(pair[3 * k + 1], g[ji], pair[3 * k + 2] * g[ij]);
  }
}

/* U^T g U, and U a U^T. */
static inline void single_to_axes(const vf u[9], const vf g[9], vf out[9])
{
  vf ut[9], half[9];
  single_transpose(u, ut);
  single_multiply(ut, g, half);
  single_multiply(half, u, out);
}

static inline void single_from_axes(const vf u[9], const vf a[9], vf out[9])
{
  vf ut[9], half[9];
  single_transpose(u, ut);
  single_multiply(u, a, half);
  single_multiply(half, ut, out);
}

#endif
