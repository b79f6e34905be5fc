/* Ice, wax and solids alike: Hencky elasticity that yields where the deviator reaches a strength of its own,
 * whatever the pressure. History: volume is ln J_P, which stays 0; shear is kappa. */
#ifndef FIRN_MATERIAL_VON_MISES_H
#define FIRN_MATERIAL_VON_MISES_H

#include "material/hencky.h"

/* strength and hardening are sqrt(2/3) times the yield stress and H (Pa); give is 1 / (2 mu + 2/3 H). */
MODEL_CONSTANTS(von_mises, HENCKY_MEMBERS, strength, hardening, give);

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

static inline struct returned von_mises_give_back(const void *constants, const struct stretches *e,
                                                  struct history *h, vd sigma[3])
{
  const struct von_mises_lanes *m = constants;
  const struct hencky trial = hencky_of(e);
  const vd zero = vd_set(0.0), one = vd_set(1.0),
           beyond = vd_fma(m->mu + m->mu, trial.norm, -von_mises_limit(m, h));
  const vm plastic = beyond > zero;
  const vd gamma = vd_select(plastic, beyond * m->give, zero);
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
