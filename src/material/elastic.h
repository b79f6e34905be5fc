/* Elastic solids that never yield: rubber, gelatine, nets, anything that snow is to bounce off.
 *
 * corotated is snow's law with constant moduli. Its quotients s_ij turn negative where two stretches sum to
 * less than 1, so it is weak against inversion; for large strains take neo_hookean, which is polyconvex and
 * has an energy barrier at J = 0:
 *     psi = mu/2 (sum sigma_i^2 - 3 - 2 ln J) + lambda/4 (J^2 - 1 - 2 ln J),
 *     tau_i = mu (sigma_i^2 - 1) + lambda/2 (J^2 - 1),   s_ij = mu. */
#ifndef FIRN_MATERIAL_ELASTIC_H
#define FIRN_MATERIAL_ELASTIC_H

#include "material/snow.h"

/* --- corotated: snow without hardening and without limits --------------------------------------------------
 */

/* t_ii - tau_i is 2 mu sigma_i^2 + lambda J^2, and no s_ij sigma^2 exceeds 2 mu sigma^2. */
static inline vd corotated_wave(const void *constants, const struct stretch_bounds *bounds,
                                const struct history *h)
{
  (void)h;
  const struct snow_lanes *m = constants;
  return vd_fma(m->mu + m->mu, bounds->high, m->lambda * bounds->j * bounds->j);
}

static const struct model corotated_model = {
    .name = "corotated",
    .constants = MODEL_MEMBERS(snow),
    .energy = snow_model_energy,
    .stress = snow_model_stress,
    .left = snow_model_left,
    .slope = snow_model_slope,
    .is_elastic = model_is_upright,
    .wave = corotated_wave,
};

/* --- neo_hookean ------------------------------------------------------------------------------------------
 */

MODEL_CONSTANTS(neo_hookean, mu, lambda); /* Pa */

/* From tr(F F^T) - 3 and J^2 - 1: the difference of two small numbers that are both exact to rounding. */
static inline vd neo_hookean_density(const struct neo_hookean_lanes *m, vd trace, vd volume)
{
  const vd log = vd_log1p(volume);
  return vd_fma(vd_set(0.5) * m->mu, trace - log, vd_set(0.25) * m->lambda * (volume - log));
}

/* J^2 - 1 from the invariants of F F^T - I. */
static inline vd neo_hookean_volume(const vd excess[3])
{
  const vd a = excess[0], b = excess[1], c = excess[2];
  return a + b + c + vd_fma(a, b, vd_fma(b, c, c * a)) + a * b * c;
}

static inline vd neo_hookean_energy(const void *constants, const struct stretches *e, const struct history *h)
{
  (void)h;
  return neo_hookean_density(constants, e->excess[0] + e->excess[1] + e->excess[2],
                             neo_hookean_volume(e->excess));
}

static inline void neo_hookean_stress(const void *constants, const struct stretches *e,
                                      const struct history *h, vd tau[3])
{
  (void)h;
  const struct neo_hookean_lanes *m = constants;
  const vd pressure = vd_set(0.5) * m->lambda * neo_hookean_volume(e->excess);
  for (int d = 0; d < 3; d++) tau[d] = vd_fma(m->mu, e->excess[d], pressure);
}

/* No axes are needed, near a rotation or not: tau = mu (F F^T - I) + lambda/2 (J^2 - 1) I. */
static inline void neo_hookean_left(const void *constants, const vd f[9], const struct history *h, vd tau[6],
                                    vd *energy)
{
  (void)h;
  const struct neo_hookean_lanes *m = constants;
  struct powers p;
  powers_left(f, &p);
  const vd volume = p.i1 + p.i2 + p.i3, pressure = vd_set(0.5) * m->lambda * volume;
  for (int k = 0; k < 6; k++)
    tau[k] = k == 0 || k == 3 || k == 5 ? vd_fma(m->mu, p.g[k], pressure) : m->mu * p.g[k];
  *energy = neo_hookean_density(m, p.i1, volume);
}

static inline void neo_hookean_slope(const void *constants, const struct stretches *e,
                                     const struct history *h, vm flowing, struct slope *out)
{
  (void)h, (void)flowing;
  const struct neo_hookean_lanes *m = constants;
  const vd one = vd_set(1.0), volume = m->lambda * (one + neo_hookean_volume(e->excess));
  for (int k = 0; k < 6; k++) out->t[k] = volume;
  for (int d = 0; d < 3; d++) {
    out->t[slope_diagonal[d]] = vd_fma(m->mu + m->mu, one + e->excess[d], volume);
    out->s[d] = m->mu;
  }
}

/* t_ii - tau_i is mu (sigma_i^2 + 1) + lambda/2 (J^2 + 1). */
static inline vd neo_hookean_wave(const void *constants, const struct stretch_bounds *bounds,
                                  const struct history *h)
{
  (void)h;
  const struct neo_hookean_lanes *m = constants;
  const vd one = vd_set(1.0);
  return vd_fma(m->mu, bounds->high + one, vd_set(0.5) * m->lambda * vd_fma(bounds->j, bounds->j, one));
}

static const struct model neo_hookean_model = {
    .name = "neo_hookean",
    .constants = MODEL_MEMBERS(neo_hookean),
    .energy = neo_hookean_energy,
    .stress = neo_hookean_stress,
    .left = neo_hookean_left,
    .slope = neo_hookean_slope,
    .is_elastic = model_is_upright,
    .wave = neo_hookean_wave,
};

#endif
