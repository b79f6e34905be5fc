/* Parameters of water. */
#include "material/water.h"

#include "material/material.h"

#define AT(parameter) MATERIAL_AT(water, parameter)

static const struct material_key keys[] = {
    {.word = "bulk_modulus",
     .at = AT(bulk_modulus),
     .standard = 1e5,
     .allowed = {0.0, INFINITY, .above = true},
     .unit = "Pa",
     .sensible = {1e3, 1e8},
     .why = "density times the square of ten times the largest speed is enough; more needs shorter steps"},
    {.word = "exponent",
     .at = AT(exponent),
     .standard = 7.0,
     .allowed = {1.0, 10.0},
     .sensible = {1.0, 7.0},
     .why = "7 is water's, 1 is linear in density"},
    {.word = "viscosity",
     .at = AT(viscosity),
     .standard = 0.0,
     .allowed = {0.0, INFINITY},
     .unit = "Pa s",
     .sensible = {0.0, 1e3},
     .why = "water has 1e-3, honey 10; steps are shorter than density h^2 / (6 viscosity)"},
    {.word = "tension", .at = AT(tension), .type = MATERIAL_FLAG, .standard = 0.0},
};

static void constants(const struct material *material, double *out)
{
  const struct water_parameters *m = &material->water;
  const struct water_constants c = {
      .bulk = m->bulk_modulus,
      .gamma = m->exponent,
      .stiffness = m->bulk_modulus / m->exponent,
      .over = m->exponent > 1.0 ? 1.0 / (m->exponent - 1.0) : 0.0,
      .viscosity = m->viscosity,
      .tension = m->tension,
  };
  memcpy(out, &c, sizeof c);
}

const struct material_words water_words = {
    .name = "water",
    .density = 1000.0,
    .sensible_density = {500.0, 2000.0},
    .why_density = "water has 1000 kg/m^3",
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .constants = constants,
};
