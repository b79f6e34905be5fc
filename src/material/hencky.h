/* Elasticity in logarithmic strain, shared by sand, cam_clay and von_mises.
 *
 * With eps_i = ln sigma_i, e = sum eps_i = ln J and the deviator dev_i = eps_i - e/3 of norm n:
 *     psi = mu sum eps_i^2 + lambda/2 e^2,   tau_i = 2 mu eps_i + lambda e,
 * so pressure and shear separate: p = -K e and q = sqrt(6) mu n, and a return mapping works on e and n. */
#ifndef FIRN_MATERIAL_HENCKY_H
#define FIRN_MATERIAL_HENCKY_H

#include "material/model.h"

/* What the constants of all three begin with: mu and lambda (Pa), and flow, 1 for the operator of that name.
 */
#define HENCKY_MEMBERS mu, lambda, flow
MODEL_CONSTANTS(hencky, HENCKY_MEMBERS);

/* The strain of a batch: eps_i = dev_i + volume / 3. */
struct hencky {
  vd eps[3], dev[3], volume, norm;
};

static inline struct hencky hencky_of(const struct stretches *e)
{
  struct hencky a;
  for (int d = 0; d < 3; d++) a.eps[d] = vd_set(0.5) * vd_log1p(e->excess[d]);
  a.volume = a.eps[0] + a.eps[1] + a.eps[2];
  vd norm2 = vd_set(0.0);
  for (int d = 0; d < 3; d++) {
    a.dev[d] = vd_fma(vd_set(-1.0 / 3.0), a.volume, a.eps[d]);
    norm2 = vd_fma(a.dev[d], a.dev[d], norm2);
  }
  a.norm = vd_sqrt(norm2);
  return a;
}

static inline vd hencky_energy(const void *constants, const struct stretches *e, const struct history *h)
{
  (void)h;
  const struct hencky_lanes *m = constants;
  const struct hencky a = hencky_of(e);
  const vd square = vd_fma(a.eps[0], a.eps[0], vd_fma(a.eps[1], a.eps[1], a.eps[2] * a.eps[2]));
  return vd_fma(m->mu, square, vd_set(0.5) * m->lambda * a.volume * a.volume);
}

static inline void hencky_stress(const void *constants, const struct stretches *e, const struct history *h,
                                 vd tau[3])
{
  (void)h;
  const struct hencky_lanes *m = constants;
  const struct hencky a = hencky_of(e);
  for (int d = 0; d < 3; d++) tau[d] = vd_fma(m->mu + m->mu, a.eps[d], m->lambda * a.volume);
}

/* tau = mu L + lambda tr(L)/2 I with L = log(F F^T). */
static inline void hencky_left(const void *constants, const vd f[9], const struct history *h, vd tau[6],
                               vd *energy)
{
  (void)h;
  const struct hencky_lanes *m = constants;
  vd l[6], square = vd_set(0.0);
  stretch_log(f, l);
  const vd volume = vd_set(0.5) * (l[0] + l[3] + l[5]);
  for (int k = 0; k < 6; k++) {
    const bool diagonal = k == 0 || k == 3 || k == 5;
    tau[k] = diagonal ? vd_fma(m->mu, l[k], m->lambda * volume) : m->mu * l[k];
    square = vd_fma(diagonal ? l[k] : l[k] + l[k], l[k], square);
  }
  *energy = vd_fma(vd_set(0.25) * m->mu, square, vd_set(0.5) * m->lambda * volume * volume);
}

/* s_ij = 2 mu d / (sigma_i^2 - sigma_j^2) with d = eps_i - eps_j, which is mu / (sigma_i sigma_j) * d / sinh
 * d: for stretches that are not far apart nothing cancels in the second form. */
static inline void hencky_slope(const struct hencky_lanes *m, const struct hencky *a,
                                const struct stretches *e, struct slope *out)
{
  const vd one = vd_set(1.0);
  for (int k = 0; k < 6; k++) out->t[k] = m->lambda;
  for (int k = 0; k < 3; k++) {
    out->t[slope_diagonal[k]] = m->lambda + (m->mu + m->mu);
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const vd d = a->eps[i] - a->eps[j], product = (one + e->strain[i]) * (one + e->strain[j]);
    const vm near = vd_abs(d) < one;
    const vd apart = vd_select(near, one, e->excess[i] - e->excess[j]);
    const vd close = one / (product * vd_sinhc(vd_select(near, d, one)));
    out->s[k] = m->mu * vd_select(near, close, (d + d) / apart);
  }
}

/* Takes the stiffness along n from t where `flowing`: t - (t n)(t n)^T / (n . t n). */
static inline void hencky_soften(const struct hencky_lanes *m, const vd n[3], vm flowing, struct slope *out)
{
  const vd sum = m->lambda * (n[0] + n[1] + n[2]), one = vd_set(1.0), zero = vd_set(0.0);
  vd tn[3], along = zero;
  for (int d = 0; d < 3; d++) {
    tn[d] = vd_fma(m->mu + m->mu, n[d], sum);
    along = vd_fma(n[d], tn[d], along);
  }
  const vd inverse = vd_select(flowing, one / vd_select(flowing, along, one), zero);
  int k = 0;
  for (int i = 0; i < 3; i++)
    for (int j = i; j < 3; j++, k++) out->t[k] = vd_fma(-tn[i] * inverse, tn[j], out->t[k]);
}

static inline vm hencky_flows(const void *constants)
{
  const struct hencky_lanes *m = constants;
  return m->flow > vd_set(0.5);
}

/* The slope of a model that flows along the deviator; below FLOW_DEVIATOR that has no direction worth the
 * name, and the result would hang on rounding. */
#define FLOW_DEVIATOR 1e-5
static inline void hencky_deviator_slope(const void *constants, const struct stretches *e,
                                         const struct history *h, vm flowing, struct slope *out)
{
  (void)h;
  const struct hencky_lanes *m = constants;
  const struct hencky a = hencky_of(e);
  hencky_slope(m, &a, e, out);
  flowing &= hencky_flows(m) & (a.norm > vd_set(FLOW_DEVIATOR));
  hencky_soften(m, a.dev, flowing, out);
}

/* An upper bound of n^2 without eigenvalues, and ln J. I = J^(-2/3) tr(F^T F) - 3 is the sum of exp(y) - 1 -
 * y over y_i = 2 dev_i, and each of these is at least y^2/2 + y^3/6. The cubes of a deviator sum to at least
 * -n^3 / sqrt(6), so I >= 2 n^2 (1 - 0.273 n): n^2 <= 0.51 I for I <= 0.01. Lanes beyond that, or with a
 * determinant <= 0, get a bound that nothing is below. The sum of 8e-15 covers the rounding of I. */
static inline vd hencky_bound(const vd f[9], vd *volume)
{
  vd g[6];
  stretch_excess(f, g);
  const vd j = stretch_determinant(f), one = vd_set(1.0), three = vd_set(3.0);
  const vm positive = j > vd_set(0.0);
  *volume = vd_log(vd_select(positive, j, one));
  const vd shrink = vd_exp(vd_set(-2.0 / 3.0) * *volume);
  const vd invariant = vd_fma(shrink, three + (g[0] + g[3] + g[5]), -three) + vd_set(8e-15);
  const vm near = positive & (invariant <= vd_set(0.01));
  return vd_select(near, vd_set(0.51) * invariant, vd_set(1e300));
}

/* t_ii - tau_i is lambda + 2 mu - tau_i, largest at the least stretch. With x = ln(sigma_i^2 / sigma_j^2)
 * the other waves have s_ij sigma_i^2 = mu x / (1 - exp(-x)) <= mu (1 + x/2 + x^2/12). */
static inline vd hencky_wave(const void *constants, const struct stretch_bounds *bounds,
                             const struct history *h)
{
  (void)h;
  const struct hencky_lanes *m = constants;
  const vd one = vd_set(1.0), tiny = vd_set(1e-300);
  const vd low = vd_log(vd_max(bounds->low, tiny)), volume = vd_log(vd_max(bounds->j, tiny));
  const vd x = bounds->high - one - low;
  const vd shear = m->mu * vd_fma(x, vd_fma(x, vd_set(1.0 / 12.0), vd_set(0.5)), one);
  return vd_max(shear, vd_fma(m->mu, vd_set(2.0) - low, m->lambda * (one - volume)));
}

/* Stretches of the strain dev + volume / 3 where `plastic`; returns the lanes of these in which some eps
 * changed by more than FLOW_LEAST. */
static inline vm hencky_return(const struct hencky *trial, vm plastic, const vd dev[3], vd volume,
                               vd sigma[3])
{
  vd most = vd_set(0.0);
  for (int d = 0; d < 3; d++) {
    const vd eps = vd_fma(vd_set(1.0 / 3.0), volume, dev[d]);
    most = vd_max(most, vd_abs(eps - trial->eps[d]));
    sigma[d] = vd_select(plastic, vd_exp(eps), sigma[d]);
  }
  return plastic & (most > vd_set(FLOW_LEAST));
}

#endif
