/* Weakly compressible water, for splashes beside other materials: J is all it keeps of F_E, which is J^(1/3)
 * I after each step. Explicit: in a semi-implicit step it has no part in the operator.
 *
 * Pressure P = (bulk / gamma)(J^-gamma - 1), never below 0 unless tension is asked for; tau_i = -J P. J is
 * kept within limits of ours: the upper one lets spray that lands be water again. */
#ifndef FIRN_MATERIAL_WATER_H
#define FIRN_MATERIAL_WATER_H

#include "material/model.h"

/* stiffness is bulk / gamma (Pa); over is 1 / (gamma - 1), or 0 where gamma is 1; tension is 0 or 1. */
MODEL_CONSTANTS(water, bulk, gamma, stiffness, over, viscosity, tension);

#define WATER_LOW  0.6
#define WATER_HIGH 1.1

/* J - 1, exact to rounding. */
static inline vd water_volume(const struct stretches *e)
{
  const vd a = e->strain[0], b = e->strain[1], c = e->strain[2];
  return a + b + c + vd_fma(a, b, vd_fma(b, c, c * a)) + a * b * c;
}

/* ln J, within what the limits allow, so that the powers of J below stay in their range. */
static inline vd water_log(vd volume)
{
  return vd_log1p(vd_max(vd_set(WATER_LOW - 1.0), vd_min(volume, vd_set(WATER_HIGH - 1.0))));
}

/* Lanes that carry something: not where they would be pulled apart. */
static inline vm water_holds(const struct water_lanes *m, vd volume)
{
  return (volume < vd_set(0.0)) | (m->tension > vd_set(0.5));
}

static inline vd water_pressure(const struct water_lanes *m, vd volume)
{
  const vd pressure = m->stiffness * vd_expm1(-m->gamma * water_log(volume));
  return vd_select(water_holds(m, volume), pressure, vd_set(0.0));
}

static inline vd water_density(const struct water_lanes *m, vd volume)
{
  const vd log = water_log(volume), one = vd_set(1.0), power = vd_expm1((one - m->gamma) * log) * m->over;
  const vd energy = m->stiffness * (volume + vd_select(m->over > vd_set(0.0), power, -log));
  return vd_select(water_holds(m, volume), energy, vd_set(0.0));
}

static inline vd water_energy(const void *constants, const struct stretches *e, const struct history *h)
{
  (void)h;
  return water_density(constants, water_volume(e));
}

static inline void water_stress(const void *constants, const struct stretches *e, const struct history *h,
                                vd tau[3])
{
  (void)h;
  const vd volume = water_volume(e), j = vd_set(1.0) + volume;
  for (int d = 0; d < 3; d++) tau[d] = -j * water_pressure(constants, volume);
}

static inline void water_left(const void *constants, const vd f[9], const struct history *h, vd tau[6],
                              vd *energy)
{
  (void)h;
  const vd j = stretch_determinant(f), volume = j - vd_set(1.0), zero = vd_set(0.0);
  const vd mean = -j * water_pressure(constants, volume);
  for (int k = 0; k < 6; k++) tau[k] = k == 0 || k == 3 || k == 5 ? mean : zero;
  *energy = water_density(constants, volume);
}

/* J eta (C + C^T - 2/3 tr(C) I). */
static inline void water_add_viscous(const void *constants, vd j, const vd c[9], vd tau[6])
{
  const struct water_lanes *m = constants;
  const vd eta = j * m->viscosity, mean = vd_set(2.0 / 3.0) * (c[0] + c[4] + c[8]);
  int k = 0;
  for (int a = 0; a < 3; a++)
    for (int b = a; b < 3; b++, k++) {
      const vd rate = c[3 * a + b] + c[3 * b + a];
      tau[k] = vd_fma(eta, a == b ? rate - mean : rate, tau[k]);
    }
}

static inline vm water_is_open(const void *constants, const struct history *h)
{
  (void)constants, (void)h;
  return ~(vm){0};
}

static inline vm water_reduce(const void *constants, vd f[9])
{
  (void)constants;
  const vd j = stretch_determinant(f), low = vd_set(WATER_LOW), high = vd_set(WATER_HIGH);
  const vm positive = j > vd_set(0.0), limited = positive & ((j < low) | (j > high));
  const vd kept = vd_max(low, vd_min(j, high));
  const vd side = vd_exp(vd_set(1.0 / 3.0) * vd_log(kept));
  for (int k = 0; k < 9; k++) f[k] = vd_select(positive, k % 4 == 0 ? side : vd_set(0.0), f[k]);
  return limited;
}

/* bulk J^(1 - gamma). */
static inline vd water_wave(const void *constants, const struct stretch_bounds *bounds,
                            const struct history *h)
{
  (void)h;
  const struct water_lanes *m = constants;
  return m->bulk * vd_exp((vd_set(1.0) - m->gamma) * water_log(bounds->j - vd_set(1.0)));
}

static const struct model water_model = {
    .name = "water",
    .constants = MODEL_MEMBERS(water),
    .energy = water_energy,
    .stress = water_stress,
    .left = water_left,
    .is_open = water_is_open,
    .reduce = water_reduce,
    .is_elastic = model_is_upright,
    .add_viscous = water_add_viscous,
    .wave = water_wave,
};

#endif
