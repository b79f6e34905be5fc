/* Stretches of LANES 3x3 matrices near a rotation.
 *
 * Snow yields at a few per cent of stretch, so F_E is always close to a rotation, and everything the model
 * wants follows from the small symmetric G = F^T F - I (or F F^T - I) at a fraction of the cost of a general
 * singular value decomposition: roots of I + G are a polynomial in G, which the theorem of Cayley and
 * Hamilton folds into three coefficients; the principal axes is that of G, by Jacobi rotations with one
 * division each. A lane that is far from a rotation (elastic-only scenes, an element about to invert) takes
 * svd3() instead. Which path a lane takes, and how many rotations, depends on that lane alone. */
#ifndef FIRN_MATERIAL_STRETCH_H
#define FIRN_MATERIAL_STRETCH_H

#include "material/svd.h"

/* Matrices are row-major. */
static inline void matrix_multiply(const vd a[9], const vd b[9], vd out[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      out[3 * i + j] = vd_fma(a[3 * i], b[j], vd_fma(a[3 * i + 1], b[3 + j], a[3 * i + 2] * b[6 + j]));
}

static inline void matrix_transpose(const vd a[9], vd out[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) out[3 * i + j] = a[3 * j + i];
}

/* Symmetric matrices are upper triangles: xx, xy, xz, yy, yz, zz. */

#define STRETCH_INLINE static inline __attribute__((always_inline))

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

/* The powers of a symmetric matrix G that its polynomials are made of, and its invariants. */
struct powers {
  vd g[6], square[6], i1, i2, i3;
};

/* Of G = F F^T - I. */
STRETCH_INLINE void powers_left(const vd f[9], struct powers *p)
{
  const vd transposed[9] = {f[0], f[3], f[6], f[1], f[4], f[7], f[2], f[5], f[8]};
  stretch_excess(transposed, p->g);
  const vd xx = p->g[0], xy = p->g[1], xz = p->g[2], yy = p->g[3], yz = p->g[4], zz = p->g[5];
  const vd square[6] = {vd_fma(xx, xx, vd_fma(xy, xy, xz * xz)),
                        vd_fma(xy, xx + yy, xz * yz),
                        vd_fma(xz, xx + zz, xy * yz),
                        vd_fma(yy, yy, vd_fma(xy, xy, yz * yz)),
                        vd_fma(yz, yy + zz, xy * xz),
                        vd_fma(zz, zz, vd_fma(xz, xz, yz * yz))};
  for (int k = 0; k < 6; k++) p->square[k] = square[k];
  const vd minor_x = vd_fma(yy, zz, -yz * yz), minor_y = vd_fma(xx, zz, -xz * xz),
           minor_z = vd_fma(xx, yy, -xy * xy);
  p->i1 = xx + yy + zz;
  p->i2 = minor_x + minor_y + minor_z;
  p->i3 = vd_fma(xx, minor_x, vd_fma(xy, vd_fma(yz, xz, -xy * zz), xz * vd_fma(xy, yz, -xz * yy)));
}

/* The polynomial with coefficients q as x[0] I + x[1] G + x[2] G^2: by the theorem of Cayley and Hamilton,
 * multiplying that by G is (i3 x[2], x[0] - i2 x[2], x[1] + i1 x[2]). */
STRETCH_INLINE void powers_polynomial(const struct powers *p, const double q[STRETCH_TERMS], vd x[3])
{
  vd a = vd_set(q[STRETCH_TERMS - 3]), b = vd_set(q[STRETCH_TERMS - 2]), c = vd_set(q[STRETCH_TERMS - 1]);
  for (int k = STRETCH_TERMS - 4; k >= 0; k--) {
    const vd next_a = vd_fma(c, p->i3, vd_set(q[k])), next_b = vd_fma(-c, p->i2, a);
    c = vd_fma(c, p->i1, b);
    b = next_b;
    a = next_a;
  }
  x[0] = a;
  x[1] = b;
  x[2] = c;
}

/* G times that, as a matrix. */
STRETCH_INLINE void powers_times(const struct powers *p, const vd x[3], vd out[6])
{
  const vd a = x[2] * p->i3, b = vd_fma(-x[2], p->i2, x[0]), c = vd_fma(x[2], p->i1, x[1]);
  for (int k = 0; k < 6; k++) {
    const vd linear = b * p->g[k];
    out[k] = vd_fma(c, p->square[k], k == 0 || k == 3 || k == 5 ? linear + a : linear);
  }
}

/* Lanes that are far from a rotation, the long way: log(B), or B - B^(1/2). */
static __attribute__((noinline, unused)) void stretch_far(const vd f[9], vm far, bool log, vd out[6])
{
  struct svd svd;
  vd a[3], right[6];
  svd3(f, &svd);
  for (int d = 0; d < 3; d++)
    a[d] = log ? vd_set(2.0) * vd_log(vd_abs(svd.sigma[d])) : svd.sigma[d] * (svd.sigma[d] - vd_set(1.0));
  stretch_from_principal(svd.u, a, right);
  for (int k = 0; k < 6; k++) out[k] = vd_select(far, right[k], out[k]);
}

/* G = B - I and H = B - B^(1/2) of B = F F^T: what snow's stress and energy are made of. */
static inline void stretch_left(const vd f[9], vd determinant, vd g[6], vd h[6])
{
  struct powers p;
  vd x[3];
  powers_left(f, &p);
  powers_polynomial(&p, stretch_q, x);
  /* H = G (I + G) q(G) */
  const vd one[3] = {vd_fma(x[2], p.i3, x[0]), vd_fma(-x[2], p.i2, x[0] + x[1]),
                     vd_fma(x[2], p.i1, x[1] + x[2])};
  powers_times(&p, one, h);
  for (int k = 0; k < 6; k++) g[k] = p.g[k];
  const vm far = stretch_is_far(g, determinant);
  if (vm_any(far)) stretch_far(f, far, false, h);
}

/* log(1 + g) = g l(g) for |g| <= STRETCH_NEAR to 4e-17: Chebyshev interpolation of (l - 1) / g. */
static const double stretch_l[STRETCH_TERMS] = {
    1.0,
    -0.5,
    0.3333333333333434,
    -0.25000000000000955,
    0.19999999999057239,
    -0.16666666665775573,
    0.1428571453965986,
    -0.1250000024002493,
    0.11111081006476245,
    -0.09999971546312193,
    0.09092735750001013,
    -0.08335059747167035,
    0.07633279927293679,
    -0.07087072835559027,
    0.0762486052530122,
    -0.07155405016398866,
};

/* L = log(F F^T): twice the Hencky strain. */
static inline void stretch_log(const vd f[9], vd l[6])
{
  struct powers p;
  vd x[3];
  powers_left(f, &p);
  powers_polynomial(&p, stretch_l, x);
  powers_times(&p, x, l);
  const vm far = stretch_is_far(p.g, stretch_determinant(f));
  if (vm_any(far)) stretch_far(f, far, true, l);
}

/* What is known of the stretches without eigenvalues. */
struct stretch_bounds {
  vd low, high; /* every sigma^2 lies within */
  vd j;         /* their product's root: the determinant */
};

/* No eigenvalue of F^T F is further from their mean than sqrt(2/3) times the deviator's norm. The two larger
 * stretches leave at least j / high for the least, which is above 0 wherever F is no reflection. */
static inline struct stretch_bounds stretch_bound(const vd f[9])
{
  vd g[6];
  stretch_excess(f, g);
  const vd third = vd_set(1.0 / 3.0), one = vd_set(1.0), mean = (g[0] + g[3] + g[5]) * third;
  const vd a = g[0] - mean, b = g[3] - mean, c = g[5] - mean;
  const vd off = vd_fma(g[1], g[1], vd_fma(g[2], g[2], g[4] * g[4]));
  const vd norm2 = vd_fma(a, a, vd_fma(b, b, vd_fma(c, c, off + off)));
  const vd reach = vd_sqrt(vd_set(2.0 / 3.0) * norm2), middle = one + mean,
           rounding = vd_set(1e-14) * (middle + reach);
  struct stretch_bounds out = {.high = middle + reach + rounding, .j = stretch_determinant(f)};
  const vd least = vd_set(1.0 - 1e-14) * out.j / out.high;
  out.low = vd_max(least * least, middle - reach - rounding);
  return out;
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
#define STRETCH_MOST 2

/* F = U diag(1 + strain) V^T with U and V rotations, in no order; strains are exact to rounding of 1. excess
 * is (1 + strain)^2 - 1, exact to rounding of F^T F - I. */
struct principal {
  vd u[9], strain[3], v[9], excess[3];
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
  for (int k = 0; k < 3; k++) {
    const vd strain = svd.sigma[k] - vd_set(1.0);
    out->strain[k] = vd_select(far, strain, out->strain[k]);
    out->excess[k] = vd_select(far, vd_fma(strain, strain, strain + strain), out->excess[k]);
  }
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

STRETCH_INLINE void principal_axes(int n, const vd f[][9], struct principal out[])
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
      out[b].excess[j] = d[b][j];
      for (int i = 0; i < 3; i++)
        out[b].u[3 * i + j] =
            vd_fma(F[3 * i], v[b][j], vd_fma(F[3 * i + 1], v[b][3 + j], F[3 * i + 2] * v[b][6 + j])) *
            inverse;
    }
    if (vm_any(far[b])) principal_far(f[b], far[b], &out[b]);
  }
}

/* U diag(sigma) V^T. */
static inline void principal_rebuild(const struct principal *axes, const vd sigma[3], vd out[9])
{
  const vd *u = axes->u, *v = axes->v;
  for (int i = 0; i < 3; i++) {
    const vd x = u[3 * i] * sigma[0], y = u[3 * i + 1] * sigma[1], z = u[3 * i + 2] * sigma[2];
    for (int k = 0; k < 3; k++)
      out[3 * i + k] = vd_fma(x, v[3 * k], vd_fma(y, v[3 * k + 1], z * v[3 * k + 2]));
  }
}

static inline void principal3(const vd f[9], struct principal *out)
{
  principal_axes(1, (const vd(*)[9])f, out);
}

#endif
