/* The constitutive model of snow, a register of particles at a time.
 *
 * Energy density per initial volume (Stomakhin et al. 2013, equation 1, with F_E = R S):
 *     psi = mu |F_E - R|^2 + lambda/2 (J_E - 1)^2,   mu, lambda = mu0, lambda0 times exp(xi (1 - J_P)).
 * Stress and tangent need no principal axes: both follow from the left stretch V = (F_E F_E^T)^(1/2), a
 * polynomial (stretch.h). The return mapping does, F_E = U diag(sigma) V^T. Pure functions of one lane each.
 */
#ifndef FIRN_MATERIAL_SNOW_H
#define FIRN_MATERIAL_SNOW_H

#include "material/material.h"
#include "material/model.h"

/* mu and lambda (Pa) are those of undeformed snow, hardening is xi. The hardening factor is kept within
 * factor_low and _high, stretches within stretch_low and _high, and eigenvalues of F^T F - I within the same
 * limits, squared: excess_low and _high. */
MODEL_CONSTANTS(snow, mu, lambda, hardening, factor_low, factor_high, stretch_low, stretch_high, excess_low,
                excess_high);

struct snow_constants snow_constants(const struct snow_parameters *parameters);

/* Of a batch of one material. */
static inline struct snow_lanes snow_same(const struct material_constants *material)
{
  const struct snow_constants *c = (const void *)material->value;
  return (struct snow_lanes){vd_set(c->mu),           vd_set(c->lambda),      vd_set(c->hardening),
                             vd_set(c->factor_low),   vd_set(c->factor_high), vd_set(c->stretch_low),
                             vd_set(c->stretch_high), vd_set(c->excess_low),  vd_set(c->excess_high)};
}

/* Of a batch of these materials, all of them snow. */
static inline struct snow_lanes snow_gather(const struct material_constants *table, const uint32_t *material)
{
  bool same = true;
  for (int l = 1; l < LANES; l++) same &= material[l] == material[0];
  struct snow_lanes lanes = snow_same(&table[material[0]]);
  if (same) return lanes;
  for (int l = 1; l < LANES; l++) {
    const struct snow_constants *c = (const void *)table[material[l]].value;
    lanes.mu[l] = c->mu;
    lanes.lambda[l] = c->lambda;
    lanes.hardening[l] = c->hardening;
    lanes.factor_low[l] = c->factor_low;
    lanes.factor_high[l] = c->factor_high;
    lanes.stretch_low[l] = c->stretch_low;
    lanes.stretch_high[l] = c->stretch_high;
    lanes.excess_low[l] = c->excess_low;
    lanes.excess_high[l] = c->excess_high;
  }
  return lanes;
}

/* Hardening factor exp(xi (1 - J_P)); *clamped gets the lanes where the limit acted. */
static inline vd snow_hardening(const struct snow_lanes *m, vd jp, vm *clamped)
{
  const vd exponent = m->hardening * (vd_set(1.0) - jp), far = vd_set(700.0);
  const vd factor = vd_exp(vd_max(-far, vd_min(exponent, far)));
  *clamped = (factor < m->factor_low) | (factor > m->factor_high);
  return vd_max(m->factor_low, vd_min(factor, m->factor_high));
}

/* Energy density psi (Pa). */
static inline vd snow_energy(const vd sigma[3], vd mu, vd lambda)
{
  const vd one = vd_set(1.0), j = sigma[0] * sigma[1] * sigma[2];
  vd stretch = vd_set(0.0);
  for (int d = 0; d < 3; d++) stretch = vd_fma(sigma[d] - one, sigma[d] - one, stretch);
  return vd_fma(mu, stretch, vd_set(0.5) * lambda * (j - one) * (j - one));
}

/* Principal stresses (Pa). */
static inline void snow_principal_stress(const vd sigma[3], vd mu, vd lambda, vd tau[3])
{
  const vd one = vd_set(1.0), j = sigma[0] * sigma[1] * sigma[2], pressure = lambda * (j - one) * j;
  for (int d = 0; d < 3; d++) tau[d] = vd_fma(vd_set(2.0) * mu * (sigma[d] - one), sigma[d], pressure);
}

/* What the derivative of the stress is made of: V, mu, and lambda J times 2J - 1 and J - 1. */
struct snow_tangent {
  vd v[6], mu, bulk, pressure;
};

/* Kirchhoff-like stress P F_E^T (Pa), symmetric, upper triangle, and the energy density: with B = F F^T, P
 * F^T is 2 mu (B - B^(1/2)) + lambda (J - 1) J I, and |F - R|^2 = |B^(1/2) - I|^2. */
static inline void snow_stress_left(const vd f[9], vd mu, vd lambda, vd out[6], vd *energy,
                                    struct snow_tangent *tangent)
{
  vd g[6], h[6], stretch = vd_set(0.0);
  const vd mu2 = mu + mu, one = vd_set(1.0), j = stretch_determinant(f), excess = j - one,
           pressure = lambda * excess * j;
  stretch_left(f, j, g, h);
  for (int k = 0; k < 6; k++) {
    const bool diagonal = k == 0 || k == 3 || k == 5;
    const vd strain = g[k] - h[k], weight = vd_set(diagonal ? 1.0 : 2.0);
    out[k] = diagonal ? vd_fma(mu2, h[k], pressure) : mu2 * h[k];
    stretch = vd_fma(weight * strain, strain, stretch);
    tangent->v[k] = diagonal ? one + strain : strain;
  }
  *energy = vd_fma(mu, stretch, vd_set(0.5) * lambda * excess * excess);
  tangent->mu = mu;
  tangent->bulk = lambda * j * (j + excess);
  tangent->pressure = pressure;
}

/* mu and lambda of a batch, hardened. */
struct snow_moduli {
  vd mu, lambda;
};

static inline void snow_slope(const struct stretches *e, vd mu, vd lambda, struct slope *out)
{
  const vd one = vd_set(1.0), mu2 = mu + mu;
  vd sigma[3];
  stretches_sigma(e, sigma);
  const vd j = sigma[0] * sigma[1] * sigma[2], volume = lambda * j * (j + (j - one));
  for (int k = 0; k < 6; k++) out->t[k] = volume;
  for (int d = 0; d < 3; d++) {
    const int a = (d + 1) % 3, b = (d + 2) % 3;
    out->t[slope_diagonal[d]] = vd_fma(mu2 * sigma[d], sigma[d] + e->strain[d], volume);
    out->s[d] = mu2 * (one - one / vd_max(sigma[a] + sigma[b], vd_set(1e-6)));
  }
}

static inline void snow_multiply(const vd a[9], const vd b[9], vd out[9])
{
  matrix_multiply(a, b, out);
}

/* (tr(V) I - V)^-1, upper triangle. Its eigenvalues, 1 / (sigma_i + sigma_j), are bounded where two stretches
 * cancel (inverted elements). */
static inline void snow_spin(const vd v[6], vd out[6])
{
  const vd xx = v[3] + v[5], yy = v[0] + v[5], zz = v[0] + v[3], xy = -v[1], xz = -v[2], yz = -v[4];
  const vd minor[6] = {vd_fma(yy, zz, -yz * yz), vd_fma(xz, yz, -xy * zz), vd_fma(xy, yz, -xz * yy),
                       vd_fma(xx, zz, -xz * xz), vd_fma(xy, xz, -yz * xx), vd_fma(xx, yy, -xy * xy)};
  const vd determinant = vd_fma(xx, minor[0], vd_fma(xy, minor[1], xz * minor[2]));
  const vd least = vd_fma(vd_set(1e-6), minor[0] + minor[3] + minor[5], vd_set(1e-300));
  const vd inverse = vd_set(1.0) / vd_max(determinant, least);
  for (int k = 0; k < 6; k++) out[k] = minor[k] * inverse;
}

/* dP F_E^T for the velocity-like gradient g (dF = g F_E): method.md, step 6. With F_E = V R and dR = W R, the
 * product g V is dV + V W, so the skew W follows from g V less its transpose, which is V W + W V. */
static inline void snow_tangent_apply(const struct snow_tangent *t, const vd g[9], vd out[9])
{
  const vd *v = t->v, mu2 = t->mu + t->mu, full[9] = {v[0], v[1], v[2], v[1], v[3], v[4], v[2], v[4], v[5]};
  vd moved[9], spin[6];
  matrix_multiply(g, full, moved);
  snow_spin(v, spin);
  const vd x = moved[7] - moved[5], y = moved[2] - moved[6], z = moved[3] - moved[1];
  const vd w[3] = {vd_fma(spin[0], x, vd_fma(spin[1], y, spin[2] * z)),
                   vd_fma(spin[1], x, vd_fma(spin[3], y, spin[4] * z)),
                   vd_fma(spin[2], x, vd_fma(spin[4], y, spin[5] * z))};
  moved[1] += w[2];
  moved[2] -= w[1];
  moved[3] -= w[2];
  moved[5] += w[0];
  moved[6] += w[1];
  moved[7] -= w[0];
  const vd volume = t->bulk * (g[0] + g[4] + g[8]);
  matrix_multiply(moved, full, out);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const vd back = t->pressure * g[3 * j + i];
      out[3 * i + j] = vd_fma(mu2, out[3 * i + j], i == j ? volume - back : -back);
    }
}

/* By Sylvester's criterion. */
static inline vm snow_is_definite(const vd a[6])
{
  const vd zero = vd_set(0.0), minor = vd_fma(a[0], a[3], -a[1] * a[1]);
  const vd determinant = vd_fma(
      a[5], minor, vd_fma(a[4], vd_fma(a[1], a[2], -a[0] * a[4]), a[2] * vd_fma(a[1], a[4], -a[3] * a[2])));
  return (a[0] > zero) & (minor > zero) & (determinant > zero);
}

/* Lanes whose stretches are surely allowed: F^T F within the squares of the limits, which is to say that
 * F^T F - low^2 I and high^2 I - F^T F are positive definite. Most particles, even of snow that yields
 * nearby, need no more than this. */
static inline vm snow_is_elastic(const struct snow_lanes *m, const vd f[9])
{
  vd g[6];
  const vd low = m->excess_low, high = m->excess_high;
  stretch_excess(f, g);
  const vd below[6] = {g[0] - low, g[1], g[2], g[3] - low, g[4], g[5] - low};
  const vd above[6] = {high - g[0], -g[1], -g[2], high - g[3], -g[4], high - g[5]};
  return (stretch_determinant(f) > vd_set(0.0)) & snow_is_definite(below) & snow_is_definite(above);
}

/* What the return mapping found. */
struct snow_returned {
  vm plastic;  /* some singular value was clamped */
  vm inverted; /* some singular value was <= 0 before the clamp */
};

/* Brings the stretches back to [low, high]. */
static inline struct snow_returned snow_clamp(vd low, vd high, const vd sigma[3], vd clamped[3])
{
  struct snow_returned found = {(vm){0}, (vm){0}};
  for (int d = 0; d < 3; d++) {
    clamped[d] = vd_max(low, vd_min(sigma[d], high));
    found.plastic |= clamped[d] != sigma[d];
    found.inverted |= sigma[d] <= vd_set(0.0);
  }
  return found;
}

/* What J_P is multiplied by. */
static inline vd snow_cut_off(const vd sigma[3], const vd clamped[3])
{
  return sigma[0] * sigma[1] * sigma[2] / (clamped[0] * clamped[1] * clamped[2]);
}

/* Step 7 for n batches that may not be elastic: the trial F_E in f is brought back to the
 * stretches in [low, high], what is cut off goes to J_P. A lane in which nothing is clamped keeps the bits of
 * both. */
STRETCH_INLINE void snow_return(int n, const vd low[], const vd high[], vd f[][9], vd jp[],
                                struct snow_returned found[])
{
  struct principal axes[STRETCH_MOST];
  principal_axes(n, (const vd(*)[9])f, axes);
  for (int b = 0; b < n; b++) {
    vd sigma[3], clamped[3];
    for (int d = 0; d < 3; d++) sigma[d] = vd_set(1.0) + axes[b].strain[d];
    found[b] = snow_clamp(low[b], high[b], sigma, clamped);
    const vm plastic = found[b].plastic;
    if (!vm_any(plastic)) continue;
    jp[b] = vd_select(plastic, jp[b] * snow_cut_off(sigma, clamped), jp[b]);
    vd back[9];
    principal_rebuild(&axes[b], clamped, back);
    for (int k = 0; k < 9; k++) f[b][k] = vd_select(plastic, back[k], f[b][k]);
  }
}

/* --- the interface of model.h -----------------------------------------------------------------------------
 */

static inline struct snow_moduli snow_moduli(const struct snow_lanes *m, const struct history *h)
{
  vm clamped;
  const vd factor = snow_hardening(m, h->volume, &clamped);
  return (struct snow_moduli){m->mu * factor, m->lambda * factor};
}

static inline vd snow_model_energy(const void *constants, const struct stretches *e, const struct history *h)
{
  const struct snow_moduli m = snow_moduli(constants, h);
  vd sigma[3];
  stretches_sigma(e, sigma);
  return snow_energy(sigma, m.mu, m.lambda);
}

static inline void snow_model_stress(const void *constants, const struct stretches *e,
                                     const struct history *h, vd tau[3])
{
  const struct snow_moduli m = snow_moduli(constants, h);
  vd sigma[3];
  stretches_sigma(e, sigma);
  snow_principal_stress(sigma, m.mu, m.lambda, tau);
}

static inline void snow_model_left(const void *constants, const vd f[9], const struct history *h, vd tau[6],
                                   vd *energy)
{
  const struct snow_moduli m = snow_moduli(constants, h);
  struct snow_tangent unused;
  snow_stress_left(f, m.mu, m.lambda, tau, energy, &unused);
}

static inline void snow_model_slope(const void *constants, const struct stretches *e, const struct history *h,
                                    vm flowing, struct slope *out)
{
  (void)flowing;
  const struct snow_moduli m = snow_moduli(constants, h);
  snow_slope(e, m.mu, m.lambda, out);
}

static inline vm snow_model_is_limited(const void *constants, const struct history *h)
{
  vm clamped;
  snow_hardening(constants, h->volume, &clamped);
  return clamped;
}

static inline vm snow_model_is_elastic(const void *constants, const vd f[9], const struct history *h)
{
  (void)h;
  return snow_is_elastic(constants, f);
}

static inline struct returned snow_model_give_back(const void *constants, const struct stretches *e,
                                                   struct history *h, vd sigma[3])
{
  (void)e;
  const struct snow_lanes *m = constants;
  vd clamped[3];
  const vm plastic = snow_clamp(m->stretch_low, m->stretch_high, sigma, clamped).plastic;
  h->volume = vd_select(plastic, h->volume * snow_cut_off(sigma, clamped), h->volume);
  for (int d = 0; d < 3; d++) sigma[d] = vd_select(plastic, clamped[d], sigma[d]);
  return (struct returned){.plastic = plastic};
}

/* Of undeformed snow: within the limits of the return mapping c is at most 1.2 % higher. */
static inline vd snow_model_wave(const void *constants, const struct stretch_bounds *bounds,
                                 const struct history *h)
{
  (void)bounds;
  const struct snow_moduli m = snow_moduli(constants, h);
  return m.lambda + (m.mu + m.mu);
}

static const struct model snow_model = {
    .name = "snow",
    .constants = MODEL_MEMBERS(snow),
    .energy = snow_model_energy,
    .stress = snow_model_stress,
    .left = snow_model_left,
    .slope = snow_model_slope,
    .is_limited = snow_model_is_limited,
    .is_elastic = snow_model_is_elastic,
    .give_back = snow_model_give_back,
    .wave = snow_model_wave,
};

#endif
