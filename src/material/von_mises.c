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
  };
  memcpy(out, &c, sizeof c);
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
};
