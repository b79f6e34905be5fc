/* Parameters of von Mises plasticity. */
#include "material/von_mises.h"

#include "material/material.h"

#define AT(parameter) MATERIAL_AT(von_mises, parameter)

static const struct material_key keys[] = {
    MATERIAL_YOUNG(von_mises, 1e7, 1e4, 1e10,
                   "ice has 9e9; for explicit steps scale it and the yield stress down together"),
    MATERIAL_POISSON(von_mises, 0.33, 0.0, 0.45, "ice has 0.33"),
    {.word = "yield_stress",
     .at = AT(yield_stress),
     .standard = 1e5,
     .allowed = {0.0, INFINITY, .above = true},
     .unit = "Pa",
     .sensible = {1e2, 1e8},
     .why = "ice has about 1e6"},
    {.word = "hardening",
     .at = AT(hardening),
     .standard = 0.0,
     .allowed = {0.0, INFINITY},
     .unit = "Pa",
     .sensible = {0.0, 1e9},
     .why = "the yield stress grows by this for each unit of plastic strain"},
    {.word = "relaxation_time",
     .at = AT(relaxation_time),
     .quiet = true,
     .standard = 0.0,
     .allowed = {0.0, INFINITY},
     .unit = "s",
     .sensible = {0.0, 1e6},
     .why = "with rate_exponent 1 it is a viscosity of yield_stress times a third of it"},
    {.word = "rate_exponent",
     .at = AT(rate_exponent),
     .quiet = true,
     .standard = 1.0,
     .allowed = {0.1, 1.0},
     .needs = "relaxation_time"},
};

static void constants(const struct material *material, double *out)
{
  const struct von_mises_parameters *m = &material->von_mises;
  const struct lame lame = material_lame(m->young, m->poisson);
  const double root = sqrt(2.0 / 3.0);
  const struct von_mises_constants c = {
      .mu = lame.mu,
      .lambda = lame.lambda,
      .flow = material->flow,
      .strength = root * m->yield_stress,
      .hardening = root * m->hardening,
      .give = 1.0 / (2.0 * lame.mu + 2.0 / 3.0 * m->hardening),
      .exponent = m->rate_exponent,
      .root = 1.0 / m->rate_exponent,
  };
  memcpy(out, &c, sizeof c);
}

static void rates(const struct material *material, double dt, double *out)
{
  ((struct von_mises_constants *)(void *)out)->rate =
      sqrt(2.0 / 3.0) * material->von_mises.relaxation_time / dt;
}

/* The tangent's; with an exponent below 1 it grows without bound in slow flow, and is that of a flow of 1 %
 * in a relaxation time. */
static double viscosity(const struct material *material)
{
  const struct von_mises_parameters *m = &material->von_mises;
  const double at_percent = vd_exp(vd_set((m->rate_exponent - 1.0) * -4.605170185988091))[0];
  return m->rate_exponent * m->yield_stress * m->relaxation_time / 3.0 *
         (m->rate_exponent < 1.0 ? at_percent : 1.0);
}

const struct material_words von_mises_words = {
    .name = "von_mises",
    .density = 917.0,
    .sensible_density = {100.0, 10000.0},
    .why_density = "ice has 917 kg/m^3",
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .flows = true,
    .constants = constants,
    .rates = rates,
    .viscosity = viscosity,
};
