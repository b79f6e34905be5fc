/* Stretches of LANES 3x3 matrices near a rotation.
 *
 * Snow yields at a few per cent of stretch, so F_E is always close to a rotation, and everything the model
 * wants follows from the small symmetric G = F^T F - I (or F F^T - I) at a fraction of the cost of a general
 * singular value decomposition: roots of I + G are a polynomial in G, which the theorem of Cayley and
 * Hamilton folds into three coefficients; the principal frame is that of G, by Jacobi rotations with one
 * division each. A lane that is far from a rotation (elastic-only scenes, an element about to invert) takes
 * svd3() instead. Which path a lane takes, and how many rotations, depends on that lane alone. */
#ifndef FIRN_MATERIAL_STRETCH_H
#define FIRN_MATERIAL_STRETCH_H

#include "material/svd.h"

/* Symmetric matrices are upper triangles: xx, xy, xz, yy, yz, zz. */

/* F^T F - I. */
static inline void stretch_excess(const vd f[9], vd g[6])
{
  int k = 0;
  for (int i = 0; i < 3; i++)
    for (int j = i; j < 3; j++, k++)
      g[k] = vd_fma(f[i], f[j],
                    vd_fma(f[3 + i], f[3 + j], vd_fma(f[6 + i], f[6 + j], vd_set(i == j ? -1.0 : 0.0))));
}

static inline vd stretch_determinant(const vd f[9])
{
  return vd_fma(f[0], vd_fma(f[4], f[8], -f[5] * f[7]),
                vd_fma(-f[1], vd_fma(f[3], f[8], -f[5] * f[6]), f[2] * vd_fma(f[3], f[7], -f[4] * f[6])));
}

/* Lanes in which G is beyond the polynomial below, by its Frobenius norm, or F is a reflection. */
#define STRETCH_NEAR 0.2
static inline vm stretch_is_far(const vd g[6], vd determinant)
{
  const vd off = vd_fma(g[1], g[1], vd_fma(g[2], g[2], g[4] * g[4]));
  const vd norm2 = vd_fma(g[0], g[0], vd_fma(g[3], g[3], vd_fma(g[5], g[5], off + off)));
  return ~((norm2 < vd_set(STRETCH_NEAR * STRETCH_NEAR)) & (determinant > vd_set(0.0)));
}

/* (1 + g)^(-1/2) = 1 - g q(g) for |g| <= STRETCH_NEAR to 2e-17: Chebyshev interpolation of (q - 1/2) / g. */
enum { STRETCH_TERMS = 16 };
static const double stretch_q[STRETCH_TERMS] = {
    0.5,
    -0.375,
    0.31250000000002354,
    -0.27343750000002287,
    0.24609374997805744,
    -0.22558593747865824,
    0.2094726621597209,
    -0.19638062098224449,
    0.1854698806403889,
    -0.17619637077857273,
    0.16823057679818076,
    -0.16122157466231674,
    0.15360923420194705,
    -0.14811186183431188,
    0.16669881379710452,
    -0.16157213784688884,
};

static inline vd stretch_inverse_root(vd g)
{
  vd q = vd_set(stretch_q[STRETCH_TERMS - 1]);
  for (int k = STRETCH_TERMS - 2; k >= 0; k--) q = vd_fma(q, g, vd_set(stretch_q[k]));
  return vd_fma(-g, q, vd_set(1.0));
}

/* U diag(a) U^T. */
static inline void stretch_from_principal(const vd u[9], const vd a[3], vd out[6])
{
  int k = 0;
  for (int i = 0; i < 3; i++) {
    const vd x = u[3 * i] * a[0], y = u[3 * i + 1] * a[1], z = u[3 * i + 2] * a[2];
    for (int j = i; j < 3; j++, k++) out[k] = vd_fma(x, u[3 * j], vd_fma(y, u[3 * j + 1], z * u[3 * j + 2]));
  }
}

/* Lanes that are far from a rotation, the long way. */
static __attribute__((noinline, unused)) void stretch_left_far(const vd f[9], vm far, vd h[6])
{
  struct svd svd;
  vd a[3], right[6];
  svd3(f, &svd);
  for (int d = 0; d < 3; d++) a[d] = svd.sigma[d] * (svd.sigma[d] - vd_set(1.0));
  stretch_from_principal(svd.u, a, right);
  for (int k = 0; k < 6; k++) h[k] = vd_select(far, right[k], h[k]);
}

/* G = B - I and H = B - B^(1/2) of B = F F^T: what stress and energy are made of. With (a, b, c) for
 * a I + b G + c G^2, multiplying by G is (i3 c, a - i2 c, b + i1 c) where i1, i2, i3 are G's invariants. */
static inline void stretch_left(const vd f[9], vd determinant, vd g[6], vd h[6])
{
  const vd transposed[9] = {f[0], f[3], f[6], f[1], f[4], f[7], f[2], f[5], f[8]};
  stretch_excess(transposed, g);
  const vd xx = g[0], xy = g[1], xz = g[2], yy = g[3], yz = g[4], zz = g[5];
  const vd square[6] = {vd_fma(xx, xx, vd_fma(xy, xy, xz * xz)),
                        vd_fma(xy, xx + yy, xz * yz),
                        vd_fma(xz, xx + zz, xy * yz),
                        vd_fma(yy, yy, vd_fma(xy, xy, yz * yz)),
                        vd_fma(yz, yy + zz, xy * xz),
                        vd_fma(zz, zz, vd_fma(xz, xz, yz * yz))};
  const vd minor_x = vd_fma(yy, zz, -yz * yz), minor_y = vd_fma(xx, zz, -xz * xz),
           minor_z = vd_fma(xx, yy, -xy * xy);
  const vd i1 = xx + yy + zz, i2 = minor_x + minor_y + minor_z,
           i3 = vd_fma(xx, minor_x, vd_fma(xy, vd_fma(yz, xz, -xy * zz), xz * vd_fma(xy, yz, -xz * yy)));
  vd a = vd_set(stretch_q[STRETCH_TERMS - 3]), b = vd_set(stretch_q[STRETCH_TERMS - 2]),
     c = vd_set(stretch_q[STRETCH_TERMS - 1]);
  for (int k = STRETCH_TERMS - 4; k >= 0; k--) {
    const vd next_a = vd_fma(c, i3, vd_set(stretch_q[k])), next_b = vd_fma(-c, i2, a);
    c = vd_fma(c, i1, b);
    b = next_b;
    a = next_a;
  }
  /* H = G (I + G) q(G) */
  const vd one_a = vd_fma(c, i3, a), one_b = vd_fma(-c, i2, a + b), one_c = vd_fma(c, i1, b + c);
  a = one_c * i3;
  b = vd_fma(-one_c, i2, one_a);
  c = vd_fma(one_c, i1, one_b);
  for (int k = 0; k < 6; k++) {
    const vd linear = b * g[k];
    h[k] = vd_fma(c, square[k], k == 0 || k == 3 || k == 5 ? linear + a : linear);
  }
  const vm far = stretch_is_far(g, determinant);
  if (vm_any(far)) stretch_left_far(f, far, h);
}

#define JACOBI_DONE 4e-17 /* twice an off-diagonal entry that no longer matters beside 1 */

/* One Jacobi rotation of the symmetric matrix with diagonal d and off-diagonal entries o (o[k] joins the two
 * axes other than k) in the plane of axes p and q; v collects the rotations. With r = 2 o / |d_p - d_q| the
 * tangent of half the angle, tan(atan(r) / 4), is taken as r (1 + a r) / (4 + 4 a r + c r^2): right to second
 * order at 0 and at infinity, within 4 % between. That costs one division and no root, cosine and sine of the
 * same half angle are exact to rounding whatever it is, and convergence is cubic in the end. */
static inline void jacobi_rotate(vd d[3], vd o[3], vd v[9], int p, int q)
{
  const int k = 3 - p - q;
  const vd off = o[k], difference = d[p] - d[q];
  const vd x = vd_abs(difference), y = vd_abs(off + off);
  const vm sign = ((vm)difference ^ (vm)off) & INT64_MIN;
  const vd done = vd_set(JACOBI_DONE);
  const vd ay = vd_set(0.741) * y;
  vd sh = y * (x + ay), ch = vd_fma(vd_set(4.0) * x, x + ay, vd_set(1.78893) * y * y);
  sh = vd_where_greater(y, done, (vd)((vm)sh | sign), vd_set(0.0));
  ch = vd_where_greater(y, done, ch, vd_set(1.0));
  const vd ch2 = ch * ch, sh2 = sh * sh, inverse = vd_set(1.0) / (ch2 + sh2);
  const vd c = (ch2 - sh2) * inverse, s = (ch * sh) * (inverse + inverse);
  const vd shift =
      s * vd_fma(s, difference,
                 -c * (off + off)); /* what d[p] loses and d[q] gains: exactly 0 for c = 1, s = 0 */
  d[p] -= shift;
  d[q] += shift;
  o[k] = vd_fma(vd_fma(c, c, -s * s), off, -c * s * difference);
  const vd a = o[q], b = o[p]; /* o[q] joins p with k, o[p] joins q with k */
  o[q] = vd_fma(c, a, s * b);
  o[p] = vd_fma(c, b, -s * a);
  for (int row = 0; row < 9; row += 3) {
    const vd vp = v[row + p], vq = v[row + q];
    v[row + p] = vd_fma(c, vp, s * vq);
    v[row + q] = vd_fma(c, vq, -s * vp);
  }
}

/* The functions below take n batches of matrices at once, and n is a constant where they are called. Their
 * chains of dependent operations are long: two side by side take little more time than one. */
#define STRETCH_MOST   2
#define STRETCH_INLINE static inline __attribute__((always_inline))

/* F = U diag(1 + strain) V^T with U and V rotations, in no order; strains are exact to rounding of 1. */
struct principal {
  vd u[9], strain[3], v[9];
};

/* Lanes that are far from a rotation, the long way. */
static __attribute__((noinline, unused)) void principal_far(const vd f[9], vm far, struct principal *out)
{
  struct svd svd;
  svd3(f, &svd);
  for (int k = 0; k < 9; k++) {
    out->u[k] = vd_select(far, svd.u[k], out->u[k]);
    out->v[k] = vd_select(far, svd.v[k], out->v[k]);
  }
  for (int k = 0; k < 3; k++) out->strain[k] = vd_select(far, svd.sigma[k] - vd_set(1.0), out->strain[k]);
}

/* Diagonalises d and o into the columns of v. */
STRETCH_INLINE void jacobi(int n, vd d[][3], vd o[][3], vd v[][9])
{
  for (int b = 0; b < n; b++)
    for (int k = 0; k < 9; k++) v[b][k] = vd_set(k % 4 == 0 ? 1.0 : 0.0);
  for (int sweep = 0; sweep < 12; sweep++) {
    vd most = vd_set(0.0);
    for (int b = 0; b < n; b++)
      for (int i = 0; i < 3; i++) most = vd_max(most, vd_abs(o[b][i]));
    if (!vd_any_greater(most, vd_set(0.5 * JACOBI_DONE))) break;
    for (int b = 0; b < n; b++) jacobi_rotate(d[b], o[b], v[b], 0, 1);
    for (int b = 0; b < n; b++) jacobi_rotate(d[b], o[b], v[b], 0, 2);
    for (int b = 0; b < n; b++) jacobi_rotate(d[b], o[b], v[b], 1, 2);
  }
}

STRETCH_INLINE void principal_frames(int n, const vd f[][9], struct principal out[])
{
  vd d[STRETCH_MOST][3], o[STRETCH_MOST][3], v[STRETCH_MOST][9];
  vm far[STRETCH_MOST];
  for (int b = 0; b < n; b++) {
    vd g[6];
    stretch_excess(f[b], g);
    far[b] = stretch_is_far(g, stretch_determinant(f[b]));
    const vd zero = vd_set(0.0), diagonal[3] = {g[0], g[3], g[5]}, off[3] = {g[4], g[2], g[1]};
    for (int i = 0; i < 3; i++) {
      d[b][i] = vd_select(far[b], zero, diagonal[i]);
      o[b][i] = vd_select(far[b], zero, off[i]);
    }
  }
  jacobi(n, d, o, v);
  for (int b = 0; b < n; b++) {
    const vd *F = f[b];
    for (int k = 0; k < 9; k++) out[b].v[k] = v[b][k];
    for (int j = 0; j < 3; j++) {
      const vd inverse = stretch_inverse_root(d[b][j]);
      out[b].strain[j] = vd_fma(vd_set(1.0) + d[b][j], inverse, vd_set(-1.0));
      for (int i = 0; i < 3; i++)
        out[b].u[3 * i + j] =
            vd_fma(F[3 * i], v[b][j], vd_fma(F[3 * i + 1], v[b][3 + j], F[3 * i + 2] * v[b][6 + j])) *
            inverse;
    }
    if (vm_any(far[b])) principal_far(f[b], far[b], &out[b]);
  }
}

static inline void principal3(const vd f[9], struct principal *out)
{
  principal_frames(1, (const vd(*)[9])f, out);
}

#endif
