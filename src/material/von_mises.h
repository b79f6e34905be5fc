/* Ice, wax and solids alike: Hencky elasticity that yields where the deviator reaches a strength of its own,
 * whatever the pressure. With a relaxation time the deviator may stay beyond it, by a power of the rate
 * (Perzyna; Bingham with exponent 1, Glen's ice with 1/3). History: volume is ln J_P, which stays 0; shear is
 * kappa. */
#ifndef FIRN_MATERIAL_VON_MISES_H
#define FIRN_MATERIAL_VON_MISES_H

#include "material/hencky.h"

/* strength and hardening are sqrt(2/3) times the yield stress and H (Pa); give is 1 / (2 mu + 2/3 H).
 * rate is sqrt(2/3) t / dt, 0 where the return takes no time, and exponent is m. */
MODEL_CONSTANTS(von_mises, HENCKY_MEMBERS, strength, hardening, give, rate, exponent, root);

/* What 2 mu n may reach (Pa). */
static inline vd von_mises_limit(const struct von_mises_lanes *m, const struct history *h)
{
  return vd_fma(m->hardening, h->shear, m->strength);
}

static inline vm von_mises_is_elastic(const void *constants, const vd f[9], const struct history *h)
{
  const struct von_mises_lanes *m = constants;
  vd volume;
  const vd bound = hencky_bound(f, &volume), limit = von_mises_limit(m, h);
  return vd_set(4.0) * m->mu * m->mu * bound <= limit * limit;
}

static inline vd von_mises_power(vd x, vd m)
{
  return vd_exp(m * vd_log(x));
}

/* The share z of the strain of a return without rate that a return with one takes: z + w z^m = 1. From the
 * left of the root of a concave rising function Newton does not overshoot, and eight steps reach rounding. */
static inline vd von_mises_share(const struct von_mises_lanes *m, vd beyond)
{
  const vd one = vd_set(1.0);
  const vd w = m->strength * von_mises_power(m->rate * (beyond * m->give), m->exponent) / beyond;
  const vm linear = m->exponent == one;
  const vd bingham = one / (one + w);
  if (!vm_any(~linear)) return bingham;
  vd z = von_mises_power(one + w, -m->root);
  for (int n = 0; n < 8; n++) {
    const vd u = w * von_mises_power(z, m->exponent);
    z = z * (one - u + m->exponent * u) / vd_fma(m->exponent, u, z);
  }
  return vd_select(linear, bingham, z);
}

static inline struct returned von_mises_give_back(const void *constants, const struct stretches *e,
                                                  struct history *h, vd sigma[3])
{
  const struct von_mises_lanes *m = constants;
  const struct hencky trial = hencky_of(e);
  const vd zero = vd_set(0.0), one = vd_set(1.0),
           beyond = vd_fma(m->mu + m->mu, trial.norm, -von_mises_limit(m, h));
  const vm plastic = beyond > zero;
  vd gamma = vd_select(plastic, beyond * m->give, zero);
  const vm slow = plastic & (m->rate > zero);
  if (vm_any(slow)) {
    struct von_mises_lanes safe = *m; /* lanes that do not count must not become NaN */
    safe.rate = vd_select(slow, m->rate, one);
    const vd share = von_mises_share(&safe, vd_select(slow, beyond, one));
    gamma = vd_select(slow, gamma * share, gamma);
  }
  const vd scale = one - gamma / vd_select(plastic, trial.norm, one);
  vd dev[3];
  for (int d = 0; d < 3; d++) dev[d] = trial.dev[d] * scale;
  const vm flowing = hencky_return(&trial, plastic, dev, trial.volume, sigma);
  h->shear = vd_fma(vd_set(0.81649658092772603), gamma, h->shear); /* sqrt(2/3) */
  return (struct returned){.plastic = plastic, .flowing = flowing};
}

static const struct model von_mises_model = {
    .name = "von_mises",
    .constants = MODEL_MEMBERS(von_mises),
    .log_volume = true,
    .needs_shear = true,
    .energy = hencky_energy,
    .stress = hencky_stress,
    .left = hencky_left,
    .slope = hencky_deviator_slope,
    .flows = hencky_flows,
    .is_elastic = von_mises_is_elastic,
    .give_back = von_mises_give_back,
    .wave = hencky_wave,
};

#endif
