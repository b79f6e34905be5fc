/* Singular values of eight 3x3 matrices at a time.
 *
 * F = U diag(sigma) V^T with U and V rotations, |sigma| falling, and any reflection in the sign of the
 * smallest sigma. One-sided Jacobi on the columns of F: V's rotations are applied to F until the columns are
 * orthogonal, so small singular values keep their relative accuracy (F^T F is never formed). A lane that has
 * converged is rotated by exactly the identity, so its bits do not depend on how long its neighbours take. */
#ifndef FIRN_MATERIAL_SVD_H
#define FIRN_MATERIAL_SVD_H

#include "base/simd.h"

struct svd {
  v8 u[9]; /* row-major */
  v8 sigma[3];
  v8 v[9];
};

/* Columns p and q of the 3x3 matrix a, row-major, turned by (c, s). */
static inline void svd_turn(v8 *a, int p, int q, v8 c, v8 s)
{
  for (int row = 0; row < 9; row += 3) {
    const v8 ap = a[row + p], aq = a[row + q];
    a[row + p] = v8_fma(c, ap, -s * aq);
    a[row + q] = v8_fma(s, ap, c * aq);
  }
}

static inline v8 svd_dot(const v8 *a, int p, int q)
{
  return v8_fma(a[p], a[q], v8_fma(a[3 + p], a[3 + q], a[6 + p] * a[6 + q]));
}

/* One Jacobi rotation; returns the lanes that were not orthogonal yet. */
static inline m8 svd_rotate(v8 *b, v8 *v, int p, int q)
{
  const v8 alpha = svd_dot(b, p, p), beta = svd_dot(b, q, q), gamma = svd_dot(b, p, q);
  const m8 turn = gamma * gamma > v8_set(1e-30) * alpha * beta;
  if (!m8_any(turn)) return turn;
  const v8 zeta = (beta - alpha) / (gamma + gamma);
  const v8 root = v8_abs(zeta) + v8_sqrt(v8_fma(zeta, zeta, v8_set(1.0)));
  const v8 sign = (v8)(((m8)zeta & INT64_MIN) | (m8)v8_set(1.0));
  const v8 t = v8_select(turn, sign / root, v8_set(0.0));
  const v8 c = v8_set(1.0) / v8_sqrt(v8_fma(t, t, v8_set(1.0)));
  const v8 s = c * t;
  svd_turn(b, p, q, c, s);
  svd_turn(v, p, q, c, s);
  return turn;
}

/* Brings the longer of columns p and q to p; a swap negates one column, so rotations stay rotations. */
static inline void svd_order(v8 *b, v8 *v, v8 norm[3], int p, int q)
{
  const m8 swap = norm[p] < norm[q];
  const v8 np = norm[p];
  norm[p] = v8_select(swap, norm[q], np);
  norm[q] = v8_select(swap, np, norm[q]);
  for (int row = 0; row < 9; row += 3) {
    const v8 bp = b[row + p], bq = b[row + q], vp = v[row + p], vq = v[row + q];
    b[row + p] = v8_select(swap, bq, bp);
    b[row + q] = v8_select(swap, -bp, bq);
    v[row + p] = v8_select(swap, vq, vp);
    v[row + q] = v8_select(swap, -vp, vq);
  }
}

/* A unit vector at right angles to the unit vector a: from the axis that a leans on least. */
static inline void svd_perpendicular(const v8 a[3], v8 out[3])
{
  const v8 x = v8_abs(a[0]), y = v8_abs(a[1]), z = v8_abs(a[2]), one = v8_set(1.0), zero = v8_set(0.0);
  const m8 use_x = (x <= y) & (x <= z), use_y = ~use_x & (y <= z), use_z = ~use_x & ~use_y;
  const v8 e[3] = {v8_select(use_x, one, zero), v8_select(use_y, one, zero), v8_select(use_z, one, zero)};
  const v8 along = v8_fma(a[0], e[0], v8_fma(a[1], e[1], a[2] * e[2]));
  v8 w[3];
  for (int d = 0; d < 3; d++) w[d] = v8_fma(-along, a[d], e[d]);
  const v8 length = v8_sqrt(v8_fma(w[0], w[0], v8_fma(w[1], w[1], w[2] * w[2])));
  for (int d = 0; d < 3; d++) out[d] = w[d] / length;
}

/* U from the orthogonal columns of B, longest first: two normalised columns and their cross product. */
static inline void svd_left(const v8 *b, struct svd *out)
{
  const v8 tiny = v8_set(1e-140), one = v8_set(1.0), zero = v8_set(0.0);
  v8 u1[3], u2[3], fallback[3];
  const v8 s1 = v8_sqrt(svd_dot(b, 0, 0));
  const m8 null1 = s1 < tiny;
  for (int d = 0; d < 3; d++)
    u1[d] = v8_select(null1, d == 0 ? one : zero, b[3 * d] / v8_select(null1, one, s1));

  const v8 along = v8_fma(u1[0], b[1], v8_fma(u1[1], b[4], u1[2] * b[7]));
  for (int d = 0; d < 3; d++) u2[d] = v8_fma(-along, u1[d], b[3 * d + 1]);
  const v8 s2 = v8_sqrt(v8_fma(u2[0], u2[0], v8_fma(u2[1], u2[1], u2[2] * u2[2])));
  const m8 null2 = s2 < tiny;
  svd_perpendicular(u1, fallback);
  for (int d = 0; d < 3; d++) u2[d] = v8_select(null2, fallback[d], u2[d] / v8_select(null2, one, s2));
  const v8 u3[3] = {v8_fma(u1[1], u2[2], -u1[2] * u2[1]), v8_fma(u1[2], u2[0], -u1[0] * u2[2]),
                    v8_fma(u1[0], u2[1], -u1[1] * u2[0])};
  for (int d = 0; d < 3; d++) {
    out->u[3 * d] = u1[d];
    out->u[3 * d + 1] = u2[d];
    out->u[3 * d + 2] = u3[d];
  }
  out->sigma[0] = s1;
  out->sigma[1] = v8_fma(u2[0], b[1], v8_fma(u2[1], b[4], u2[2] * b[7]));
  out->sigma[2] = v8_fma(u3[0], b[2], v8_fma(u3[1], b[5], u3[2] * b[8]));
}

static inline void svd3(const v8 f[9], struct svd *out)
{
  /* Scale by a power of two so that squares neither overflow nor vanish. */
  v8 largest = v8_abs(f[0]);
  for (int k = 1; k < 9; k++) largest = v8_max(largest, v8_abs(f[k]));
  m8 exponent = (m8)largest >> 52;
  exponent = m8_clamp(exponent, 1, 2045);
  const v8 scale = (v8)(exponent << 52), inverse = (v8)((2046 - exponent) << 52);

  v8 b[9];
  for (int k = 0; k < 9; k++) {
    b[k] = f[k] * inverse;
    out->v[k] = v8_set(k % 4 == 0 ? 1.0 : 0.0);
  }
  for (int sweep = 0; sweep < 16; sweep++) {
    m8 turned = svd_rotate(b, out->v, 0, 1);
    turned |= svd_rotate(b, out->v, 0, 2);
    turned |= svd_rotate(b, out->v, 1, 2);
    if (!m8_any(turned)) break;
  }
  v8 norm[3] = {svd_dot(b, 0, 0), svd_dot(b, 1, 1), svd_dot(b, 2, 2)};
  svd_order(b, out->v, norm, 0, 1);
  svd_order(b, out->v, norm, 0, 2);
  svd_order(b, out->v, norm, 1, 2);
  svd_left(b, out);
  for (int k = 0; k < 3; k++) out->sigma[k] *= scale;
}

#endif
