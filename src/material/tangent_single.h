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

/* As snow_spin(). */
static inline void single_snow_spin(const vf v[6], vf out[6])
{
  const vf xx = v[3] + v[5], yy = v[0] + v[5], zz = v[0] + v[3], xy = -v[1], xz = -v[2], yz = -v[4];
  const vf minor[6] = {vf_fma(yy, zz, -yz * yz), vf_fma(xz, yz, -xy * zz), vf_fma(xy, yz, -xz * yy),
                       vf_fma(xx, zz, -xz * xz), vf_fma(xy, xz, -yz * xx), vf_fma(xx, yy, -xy * xy)};
  const vf determinant = vf_fma(xx, minor[0], vf_fma(xy, minor[1], xz * minor[2]));
  const vf least = vf_fma(vf_set(1e-6F), minor[0] + minor[3] + minor[5], vf_set(1e-30F));
  const vf inverse = vf_set(1.0F) / vf_max(determinant, least);
  for (int k = 0; k < 6; k++) out[k] = minor[k] * inverse;
}

/* As snow_tangent_apply(); v, mu, bulk and pressure as in struct snow_tangent. */
static inline void single_snow_apply(const vf v[6], vf mu, vf bulk, vf pressure, const vf g[9], vf out[9])
{
  const vf mu2 = mu + mu, full[9] = {v[0], v[1], v[2], v[1], v[3], v[4], v[2], v[4], v[5]};
  vf moved[9], spin[6];
  single_multiply(g, full, moved);
  single_snow_spin(v, spin);
  const vf x = moved[7] - moved[5], y = moved[2] - moved[6], z = moved[3] - moved[1];
  const vf w[3] = {vf_fma(spin[0], x, vf_fma(spin[1], y, spin[2] * z)),
                   vf_fma(spin[1], x, vf_fma(spin[3], y, spin[4] * z)),
                   vf_fma(spin[2], x, vf_fma(spin[4], y, spin[5] * z))};
  moved[1] += w[2];
  moved[2] -= w[1];
  moved[3] -= w[2];
  moved[5] += w[0];
  moved[6] += w[1];
  moved[7] -= w[0];
  const vf volume = bulk * (g[0] + g[4] + g[8]);
  single_multiply(moved, full, out);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const vf back = pressure * g[3 * j + i];
      out[3 * i + j] = vf_fma(mu2, out[3 * i + j], i == j ? volume - back : -back);
    }
}

/* As tangent_apply(), in the principal axes; d and pair (three per row) as in struct tangent. */
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
