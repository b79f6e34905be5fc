/* Singular values of LANES 3x3 matrices at a time.
 *
 * F = U diag(sigma) V^T with U and V rotations, |sigma| falling, and any reflection in the sign of the
 * smallest sigma. One-sided Jacobi on the columns of F: V's rotations are applied to F until the columns are
 * orthogonal, so small singular values keep their relative accuracy (F^T F is never formed). A lane that has
 * converged is rotated by exactly the identity, so its bits do not depend on how long its neighbours take. */
#ifndef FIRN_MATERIAL_SVD_H
#define FIRN_MATERIAL_SVD_H

#include "base/simd.h"

struct svd {
  vd u[9]; /* row-major */
  vd sigma[3];
  vd v[9];
};

/* Columns p and q of the 3x3 matrix a, row-major, turned by (c, s). */
static inline void svd_turn(vd *a, int p, int q, vd c, vd s)
{
  for (int row = 0; row < 9; row += 3) {
    const vd ap = a[row + p], aq = a[row + q];
    a[row + p] = vd_fma(c, ap, -s * aq);
    a[row + q] = vd_fma(s, ap, c * aq);
  }
}

static inline vd svd_dot(const vd *a, int p, int q)
{
  return vd_fma(a[p], a[q], vd_fma(a[3 + p], a[3 + q], a[6 + p] * a[6 + q]));
}

/* One Jacobi rotation; returns the lanes that were not orthogonal yet. */
static inline vm svd_rotate(vd *b, vd *v, int p, int q)
{
  const vd alpha = svd_dot(b, p, p), beta = svd_dot(b, q, q), gamma = svd_dot(b, p, q);
  const vm turn = gamma * gamma > vd_set(1e-30) * alpha * beta;
  if (!vm_any(turn)) return turn;
  const vd zeta = (beta - alpha) / (gamma + gamma);
  const vd root = vd_abs(zeta) + vd_sqrt(vd_fma(zeta, zeta, vd_set(1.0)));
  const vd sign = (vd)(((vm)zeta & INT64_MIN) | (vm)vd_set(1.0));
  const vd t = vd_select(turn, sign / root, vd_set(0.0));
  const vd c = vd_set(1.0) / vd_sqrt(vd_fma(t, t, vd_set(1.0)));
  const vd s = c * t;
  svd_turn(b, p, q, c, s);
  svd_turn(v, p, q, c, s);
  return turn;
}

/* Brings the longer of columns p and q to p; a swap negates one column, so rotations stay rotations. */
static inline void svd_order(vd *b, vd *v, vd norm[3], int p, int q)
{
  const vm swap = norm[p] < norm[q];
  const vd np = norm[p];
  norm[p] = vd_select(swap, norm[q], np);
  norm[q] = vd_select(swap, np, norm[q]);
  for (int row = 0; row < 9; row += 3) {
    const vd bp = b[row + p], bq = b[row + q], vp = v[row + p], vq = v[row + q];
    b[row + p] = vd_select(swap, bq, bp);
    b[row + q] = vd_select(swap, -bp, bq);
    v[row + p] = vd_select(swap, vq, vp);
    v[row + q] = vd_select(swap, -vp, vq);
  }
}

/* A unit vector at right angles to the unit vector a: from the axis that a leans on least. */
static inline void svd_perpendicular(const vd a[3], vd out[3])
{
  const vd x = vd_abs(a[0]), y = vd_abs(a[1]), z = vd_abs(a[2]), one = vd_set(1.0), zero = vd_set(0.0);
  const vm use_x = (x <= y) & (x <= z), use_y = ~use_x & (y <= z), use_z = ~use_x & ~use_y;
  const vd e[3] = {vd_select(use_x, one, zero), vd_select(use_y, one, zero), vd_select(use_z, one, zero)};
  const vd along = vd_fma(a[0], e[0], vd_fma(a[1], e[1], a[2] * e[2]));
  vd w[3];
  for (int d = 0; d < 3; d++) w[d] = vd_fma(-along, a[d], e[d]);
  const vd length = vd_sqrt(vd_fma(w[0], w[0], vd_fma(w[1], w[1], w[2] * w[2])));
  for (int d = 0; d < 3; d++) out[d] = w[d] / length;
}

/* U from the orthogonal columns of B, longest first: two normalised columns and their cross product. */
static inline void svd_left(const vd *b, struct svd *out)
{
  const vd tiny = vd_set(1e-140), one = vd_set(1.0), zero = vd_set(0.0);
  vd u1[3], u2[3], fallback[3];
  const vd s1 = vd_sqrt(svd_dot(b, 0, 0));
  const vm null1 = s1 < tiny;
  for (int d = 0; d < 3; d++)
    u1[d] = vd_select(null1, d == 0 ? one : zero, b[3 * d] / vd_select(null1, one, s1));

  const vd along = vd_fma(u1[0], b[1], vd_fma(u1[1], b[4], u1[2] * b[7]));
  for (int d = 0; d < 3; d++) u2[d] = vd_fma(-along, u1[d], b[3 * d + 1]);
  const vd s2 = vd_sqrt(vd_fma(u2[0], u2[0], vd_fma(u2[1], u2[1], u2[2] * u2[2])));
  const vm null2 = s2 < tiny;
  svd_perpendicular(u1, fallback);
  for (int d = 0; d < 3; d++) u2[d] = vd_select(null2, fallback[d], u2[d] / vd_select(null2, one, s2));
  const vd u3[3] = {vd_fma(u1[1], u2[2], -u1[2] * u2[1]), vd_fma(u1[2], u2[0], -u1[0] * u2[2]),
                    vd_fma(u1[0], u2[1], -u1[1] * u2[0])};
  for (int d = 0; d < 3; d++) {
    out->u[3 * d] = u1[d];
    out->u[3 * d + 1] = u2[d];
    out->u[3 * d + 2] = u3[d];
  }
  out->sigma[0] = s1;
  out->sigma[1] = vd_fma(u2[0], b[1], vd_fma(u2[1], b[4], u2[2] * b[7]));
  out->sigma[2] = vd_fma(u3[0], b[2], vd_fma(u3[1], b[5], u3[2] * b[8]));
}

static inline void svd3(const vd f[9], struct svd *out)
{
  /* Scale by a power of two so that squares neither overflow nor vanish. */
  vd largest = vd_abs(f[0]);
  for (int k = 1; k < 9; k++) largest = vd_max(largest, vd_abs(f[k]));
  vm exponent = (vm)largest >> 52;
  exponent = vm_clamp(exponent, 1, 2045);
  const vd scale = (vd)(exponent << 52), inverse = (vd)((2046 - exponent) << 52);

  vd b[9];
  for (int k = 0; k < 9; k++) {
    b[k] = f[k] * inverse;
    out->v[k] = vd_set(k % 4 == 0 ? 1.0 : 0.0);
  }
  for (int sweep = 0; sweep < 16; sweep++) {
    vm turned = svd_rotate(b, out->v, 0, 1);
    turned |= svd_rotate(b, out->v, 0, 2);
    turned |= svd_rotate(b, out->v, 1, 2);
    if (!vm_any(turned)) break;
  }
  vd norm[3] = {svd_dot(b, 0, 0), svd_dot(b, 1, 1), svd_dot(b, 2, 2)};
  svd_order(b, out->v, norm, 0, 1);
  svd_order(b, out->v, norm, 0, 2);
  svd_order(b, out->v, norm, 1, 2);
  svd_left(b, out);
  for (int k = 0; k < 3; k++) out->sigma[k] *= scale;
}

#endif
