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
  const v8 a = v8_max(v8_abs(g[0]), v8_abs(g[1])), b = v8_max(v8_abs(g[2]), v8_abs(g[3])),
           c = v8_max(v8_abs(g[4]), v8_abs(g[5]));
  return v8_max(v8_max(a, b), c);
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

/* The functions below take `n` times eight matrices at once, and n is a constant where they are called. Their
 * chains of dependent operations are long: two side by side take little more time than one. */
#define POLAR_MOST   2
#define POLAR_INLINE static inline __attribute__((always_inline))

/* The rotation of F by Newton-Schulz where F is near one; far[] gets the lanes where it is not (R is then not
 * to be used). Each round squares the error, so a lane is done one round after it is better than 1e-8. */
POLAR_INLINE void polar_near(int n, const v8 f[][9], v8 r[][9], m8 far[])
{
  v8 g[POLAR_MOST][6], error[POLAR_MOST];
  const v8 enough = v8_set(1e-8), zero = v8_set(0.0);
  for (int b = 0; b < n; b++) {
    polar_excess(f[b], g[b]);
    error[b] = polar_largest(g[b]);
    const v8 *a = f[b];
    const v8 determinant =
        v8_fma(a[0], v8_fma(a[4], a[8], -a[5] * a[7]),
               v8_fma(-a[1], v8_fma(a[3], a[8], -a[5] * a[6]), a[2] * v8_fma(a[3], a[7], -a[4] * a[6])));
    far[b] = ~((error[b] < v8_set(0.2)) & (determinant > zero));
    error[b] = v8_select(far[b], zero, error[b]);
    for (int k = 0; k < 9; k++) r[b][k] = a[k];
  }
  for (int round = 0; round < 8; round++) {
    v8 worst = error[0];
    for (int b = 1; b < n; b++) worst = v8_max(worst, error[b]);
    if (!v8_any_greater(worst, enough)) break;
    for (int b = 0; b < n; b++) {
      v8 next[9];
      for (int k = 0; k < 9; k++) next[k] = r[b][k];
      polar_correct(next, g[b]);
      for (int k = 0; k < 9; k++) r[b][k] = v8_where_greater(error[b], enough, next[k], r[b][k]);
      polar_excess(r[b], g[b]);
      error[b] = v8_where_greater(error[b], enough, polar_largest(g[b]), error[b]);
    }
  }
  for (int b = 0; b < n; b++) polar_correct(r[b], g[b]);
}

/* F = R S, R a rotation (of the signed singular values where F is inverted). */
static inline void polar3(const v8 f[9], v8 r[9])
{
  m8 far;
  polar_near(1, (const v8(*)[9])f, (v8(*)[9])r, &far);
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
  const v8 done = v8_set(JACOBI_DONE);
  const v8 ay = v8_set(0.741) * y;
  v8 sh = y * (x + ay), ch = v8_fma(v8_set(4.0) * x, x + ay, v8_set(1.78893) * y * y);
  sh = v8_where_greater(y, done, (v8)((m8)sh | sign), v8_set(0.0));
  ch = v8_where_greater(y, done, ch, v8_set(1.0));
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

/* Lanes that are far from a rotation, the long way. */
static __attribute__((noinline, unused)) void principal_far(const v8 f[9], m8 far, struct principal *out)
{
  struct svd svd;
  svd3(f, &svd);
  for (int k = 0; k < 9; k++) {
    out->u[k] = v8_select(far, svd.u[k], out->u[k]);
    out->v[k] = v8_select(far, svd.v[k], out->v[k]);
  }
  for (int k = 0; k < 3; k++) out->strain[k] = v8_select(far, svd.sigma[k] - v8_set(1.0), out->strain[k]);
}

/* The rotation r of F = R (I + E) and E, symmetric, as a diagonal d and off-diagonal entries o (see
 * jacobi_rotate). */
POLAR_INLINE void polar_strain(int n, const v8 f[][9], v8 r[][9], v8 d[][3], v8 o[][3], m8 far[])
{
  polar_near(n, f, r, far);
  const v8 one = v8_set(1.0);
  for (int b = 0; b < n; b++)
    for (int i = 0; i < 3; i++) {
      const v8 *R = r[b], *F = f[b];
      const int p = (i + 1) % 3, q = (i + 2) % 3;
      d[b][i] = v8_fma(R[i], F[i], v8_fma(R[3 + i], F[3 + i], v8_fma(R[6 + i], F[6 + i], -one)));
      o[b][i] = v8_fma(R[p], F[q], v8_fma(R[3 + p], F[3 + q], R[6 + p] * F[6 + q]));
    }
}

/* From what polar_strain() found, which it overwrites. */
POLAR_INLINE void principal_frames(int n, const v8 f[][9], const v8 r[][9], v8 d[][3], v8 o[][3],
                                   const m8 far[], struct principal out[])
{
  for (int b = 0; b < n; b++) {
    for (int i = 0; i < 3; i++) o[b][i] = v8_select(far[b], v8_set(0.0), o[b][i]);
    for (int k = 0; k < 9; k++) out[b].v[k] = v8_set(k % 4 == 0 ? 1.0 : 0.0);
  }
  for (int sweep = 0; sweep < 12; sweep++) {
    v8 most = v8_set(0.0);
    for (int b = 0; b < n; b++)
      for (int i = 0; i < 3; i++) most = v8_max(most, v8_abs(o[b][i]));
    if (!v8_any_greater(most, v8_set(0.5 * JACOBI_DONE))) break;
    for (int b = 0; b < n; b++) jacobi_rotate(d[b], o[b], out[b].v, 0, 1);
    for (int b = 0; b < n; b++) jacobi_rotate(d[b], o[b], out[b].v, 0, 2);
    for (int b = 0; b < n; b++) jacobi_rotate(d[b], o[b], out[b].v, 1, 2);
  }
  for (int b = 0; b < n; b++) {
    const v8 *R = r[b], *v = out[b].v;
    for (int i = 0; i < 3; i++) {
      out[b].strain[i] = d[b][i];
      for (int j = 0; j < 3; j++)
        out[b].u[3 * i + j] = v8_fma(R[3 * i], v[j], v8_fma(R[3 * i + 1], v[3 + j], R[3 * i + 2] * v[6 + j]));
    }
    if (m8_any(far[b])) principal_far(f[b], far[b], &out[b]);
  }
}

static inline void principal3(const v8 f[9], struct principal *out)
{
  v8 r[1][9], d[1][3], o[1][3];
  m8 far[1];
  polar_strain(1, (const v8(*)[9])f, r, d, o, far);
  principal_frames(1, (const v8(*)[9])f, (const v8(*)[9])r, d, o, far, out);
}

#endif
