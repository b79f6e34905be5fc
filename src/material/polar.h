/* Polar and principal decomposition of eight 3x3 matrices near a rotation.
 *
 * Snow yields at a few per cent of stretch, so F_E is always close to a rotation R, and everything the model
 * wants follows from R and the small symmetric S - I, S = R^T F_E, at a fraction of the cost of a general
 * singular value decomposition: R by Newton-Schulz iteration (multiplications only), the principal frame by
 * Jacobi rotations of S - I with one division each. A lane that is far from a rotation (elastic-only scenes,
 * an element about to invert) takes svd3() instead. Which path a lane takes, and how many rotations, depends
 * on that lane alone. */
#ifndef FIRN_MATERIAL_POLAR_H
#define FIRN_MATERIAL_POLAR_H

#include "material/svd.h"

/* F^T F - I, upper triangle: xx, xy, xz, yy, yz, zz. */
static inline void polar_excess(const v8 f[9], v8 g[6])
{
  int k = 0;
  for (int i = 0; i < 3; i++)
    for (int j = i; j < 3; j++, k++)
      g[k] = v8_fma(f[i], f[j],
                    v8_fma(f[3 + i], f[3 + j], v8_fma(f[6 + i], f[6 + j], v8_set(i == j ? -1.0 : 0.0))));
}

static inline v8 polar_largest(const v8 g[6])
{
  v8 most = v8_abs(g[0]);
  for (int k = 1; k < 6; k++) most = v8_max(most, v8_abs(g[k]));
  return most;
}

/* R (I - G/2). */
static inline void polar_correct(v8 r[9], const v8 g[6])
{
  const v8 half = v8_set(-0.5), one = v8_set(1.0);
  const v8 m[9] = {v8_fma(half, g[0], one), half * g[1], half * g[2], half * g[1],
                   v8_fma(half, g[3], one), half * g[4], half * g[2], half * g[4],
                   v8_fma(half, g[5], one)};
  for (int i = 0; i < 9; i += 3) {
    const v8 a = r[i], b = r[i + 1], c = r[i + 2];
    for (int j = 0; j < 3; j++) r[i + j] = v8_fma(a, m[j], v8_fma(b, m[3 + j], c * m[6 + j]));
  }
}

/* The rotation of F by Newton-Schulz where F is near one; returns the lanes where it is not (R is then not to
 * be used). Each round squares the error, so a lane is done one round after it is better than 1e-8. */
static inline m8 polar_near(const v8 f[9], v8 r[9])
{
  v8 g[6], next[9];
  polar_excess(f, g);
  v8 error = polar_largest(g);
  const v8 determinant =
      v8_fma(f[0], v8_fma(f[4], f[8], -f[5] * f[7]),
             v8_fma(-f[1], v8_fma(f[3], f[8], -f[5] * f[6]), f[2] * v8_fma(f[3], f[7], -f[4] * f[6])));
  const m8 far = ~((error < v8_set(0.2)) & (determinant > v8_set(0.0)));
  for (int k = 0; k < 9; k++) r[k] = f[k];
  for (int round = 0; round < 8; round++) {
    const m8 active = (error > v8_set(1e-8)) & ~far;
    if (!m8_any(active)) break;
    for (int k = 0; k < 9; k++) next[k] = r[k];
    polar_correct(next, g);
    for (int k = 0; k < 9; k++) r[k] = v8_select(active, next[k], r[k]);
    polar_excess(r, g);
    error = polar_largest(g);
  }
  polar_correct(r, g);
  return far;
}

/* F = R S, R a rotation (of the signed singular values where F is inverted). */
static inline void polar3(const v8 f[9], v8 r[9])
{
  const m8 far = polar_near(f, r);
  if (!m8_any(far)) return;
  struct svd svd;
  svd3(f, &svd);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const v8 rotation =
          v8_fma(svd.u[3 * i], svd.v[3 * j],
                 v8_fma(svd.u[3 * i + 1], svd.v[3 * j + 1], svd.u[3 * i + 2] * svd.v[3 * j + 2]));
      r[3 * i + j] = v8_select(far, rotation, r[3 * i + j]);
    }
}

#define JACOBI_DONE 4e-17 /* twice an off-diagonal entry that no longer matters beside 1 */

/* One Jacobi rotation of the symmetric matrix with diagonal d and off-diagonal entries o (o[k] joins the two
 * axes other than k) in the plane of axes p and q; v collects the rotations. With r = 2 o / |d_p - d_q| the
 * tangent of half the angle, tan(atan(r) / 4), is taken as r (1 + a r) / (4 + 4 a r + c r^2): right to second
 * order at 0 and at infinity, within 4 % between. That costs one division and no root, cosine and sine of the
 * same half angle are exact to rounding whatever it is, and convergence is cubic in the end. */
static inline void jacobi_rotate(v8 d[3], v8 o[3], v8 v[9], int p, int q)
{
  const int k = 3 - p - q;
  const v8 off = o[k], difference = d[p] - d[q];
  const v8 x = v8_abs(difference), y = v8_abs(off + off);
  const m8 sign = ((m8)difference ^ (m8)off) & INT64_MIN;
  const m8 turn = y > v8_set(JACOBI_DONE);
  const v8 ay = v8_set(0.741) * y;
  v8 sh = y * (x + ay), ch = v8_fma(v8_set(4.0) * x, x + ay, v8_set(1.78893) * y * y);
  sh = v8_select(turn, (v8)((m8)sh | sign), v8_set(0.0));
  ch = v8_select(turn, ch, v8_set(1.0));
  const v8 ch2 = ch * ch, sh2 = sh * sh, inverse = v8_set(1.0) / (ch2 + sh2);
  const v8 c = (ch2 - sh2) * inverse, s = (ch * sh) * (inverse + inverse);
  const v8 shift =
      s * v8_fma(s, difference,
                 -c * (off + off)); /* what d[p] loses and d[q] gains: exactly 0 for c = 1, s = 0 */
  d[p] -= shift;
  d[q] += shift;
  o[k] = v8_fma(v8_fma(c, c, -s * s), off, -c * s * difference);
  const v8 a = o[q], b = o[p]; /* o[q] joins p with k, o[p] joins q with k */
  o[q] = v8_fma(c, a, s * b);
  o[p] = v8_fma(c, b, -s * a);
  for (int row = 0; row < 9; row += 3) {
    const v8 vp = v[row + p], vq = v[row + q];
    v[row + p] = v8_fma(c, vp, s * vq);
    v[row + q] = v8_fma(c, vq, -s * vp);
  }
}

/* F = U diag(1 + strain) V^T with U and V rotations, in no order; strains are exact to rounding of 1. */
struct principal {
  v8 u[9], strain[3], v[9];
};

static inline void principal3(const v8 f[9], struct principal *out)
{
  v8 r[9], d[3], o[3];
  const m8 far = polar_near(f, r);
  const v8 one = v8_set(1.0);
  for (int i = 0; i < 3; i++) {
    d[i] = v8_fma(r[i], f[i], v8_fma(r[3 + i], f[3 + i], v8_fma(r[6 + i], f[6 + i], -one)));
    const int p = (i + 1) % 3, q = (i + 2) % 3;
    o[i] = v8_fma(r[p], f[q], v8_fma(r[3 + p], f[3 + q], r[6 + p] * f[6 + q]));
  }
  for (int k = 0; k < 9; k++) out->v[k] = v8_set(k % 4 == 0 ? 1.0 : 0.0);
  for (int sweep = 0; sweep < 12; sweep++) {
    const v8 most = v8_max(v8_abs(o[0]), v8_max(v8_abs(o[1]), v8_abs(o[2])));
    if (!m8_any((most > v8_set(0.5 * JACOBI_DONE)) & ~far)) break;
    jacobi_rotate(d, o, out->v, 0, 1);
    jacobi_rotate(d, o, out->v, 0, 2);
    jacobi_rotate(d, o, out->v, 1, 2);
  }
  for (int i = 0; i < 3; i++) {
    out->strain[i] = d[i];
    for (int j = 0; j < 3; j++)
      out->u[3 * i + j] =
          v8_fma(r[3 * i], out->v[j], v8_fma(r[3 * i + 1], out->v[3 + j], r[3 * i + 2] * out->v[6 + j]));
  }
  if (!m8_any(far)) return;
  struct svd svd;
  svd3(f, &svd);
  for (int k = 0; k < 9; k++) {
    out->u[k] = v8_select(far, svd.u[k], out->u[k]);
    out->v[k] = v8_select(far, svd.v[k], out->v[k]);
  }
  for (int k = 0; k < 3; k++) out->strain[k] = v8_select(far, svd.sigma[k] - one, out->strain[k]);
}

#endif
