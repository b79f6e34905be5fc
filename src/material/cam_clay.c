/* Parameters and kinds of cohesive Cam clay. The kinds are the snow of Li et al. 2021 (table 1) by the type
 * of avalanche it makes, and their case of Vallee de la Sionne. */
#include "material/cam_clay.h"

#include "base/fmath.h"
#include "material/material.h"

#include <stdio.h>

#define AT(parameter) MATERIAL_AT(cam_clay, parameter)

static const struct material_key keys[] = {
    MATERIAL_YOUNG(cam_clay, 3e6, 1e5, 1e8,
                   "softer creeps under its own weight, stiffer needs shorter steps"),
    MATERIAL_POISSON(cam_clay, 0.3, 0.0, 0.4, "measured snow lies between"),
    {.word = "critical_slope",
     .at = AT(critical_slope),
     .standard = 1.5,
     .allowed = {0.0, 3.0, .above = true, .below = true},
     .sensible = {0.3, 1.8},
     .why = "1.5 is a friction angle of 37 degrees"},
    {.word = "cohesion_ratio",
     .at = AT(cohesion_ratio),
     .standard = 0.3,
     .allowed = {0.0, INFINITY},
     .sensible = {0.0, 1.0},
     .why = "snow is stronger when pressed than when pulled"},
    {.word = "compressive_strength",
     .at = AT(compressive_strength),
     .standard = 3e4,
     .allowed = {0.0, INFINITY, .above = true},
     .unit = "Pa",
     .sensible = {1e2, 1e6},
     .why = "snow in avalanches has 3 to 42 kPa"},
    {.word = "hardening",
     .at = AT(hardening),
     .standard = 1.0,
     .allowed = {0.0, INFINITY},
     .sensible = {1e-3, 10.0},
     .why = "0.002 to 1 fit avalanches; more is brittle, and 0 never breaks"},
};

#define KIND(word, rho, slope, beta, xi, strength)                                                           \
  {                                                                                                          \
    .name = word, .density = rho, .changes = 4, .change = {                                                  \
      {AT(critical_slope), slope},                                                                           \
      {AT(cohesion_ratio), beta},                                                                            \
      {AT(hardening), xi},                                                                                   \
      {AT(compressive_strength), strength}                                                                   \
    }                                                                                                        \
  }

static const struct material_kind kinds[] = {
    KIND("warm_shear", 250.0, 1.5, 0.3, 1.0, 3e4),
    KIND("cold_dense", 250.0, 0.5, 0.0, 1.0, 3e3),
    KIND("sliding_slab", 250.0, 1.5, 0.5, 1.0, 4.2e4),
    KIND("warm_plug", 250.0, 0.5, 1.0, 0.1, 1.2e4),
    KIND("vallee_de_la_sionne", 200.0, 0.7, 0.2, 0.002, 3e3),
};

/* How much faster the deviator returns than the pressure. */
static double return_ratio(const struct cam_clay_parameters *m, const struct lame *lame)
{
  return 3.0 * lame->mu * (1.0 + 2.0 * m->cohesion_ratio) /
         (lame->bulk * m->critical_slope * m->critical_slope);
}

static bool fits(const struct material *material, const char **key, char text[256])
{
  const struct cam_clay_parameters *m = &material->cam_clay;
  const struct lame lame = material_lame(m->young, m->poisson);
  const double ratio = return_ratio(m, &lame);
  if (!(m->compressive_strength < 0.1 * lame.bulk)) {
    *key = "compressive_strength";
    snprintf(
        text, 256,
        "a compressive_strength of %g Pa is not below a tenth of the bulk modulus, %.4g Pa; raise 'young'",
        m->compressive_strength, 0.1 * lame.bulk);
    return false;
  }
  if (!(ratio >= 0.01 && ratio <= 100.0)) {
    *key = "critical_slope";
    snprintf(text, 256,
             "3 mu (1 + 2 cohesion_ratio) / (K critical_slope^2) is %.3g; expected 0.01 to 100, so choose %s "
             "slope",
             ratio, ratio > 1.0 ? "a larger" : "a smaller");
    return false;
  }
  return true;
}

static void constants(const struct material *material, double *out)
{
  const struct cam_clay_parameters *m = &material->cam_clay;
  const struct lame lame = material_lame(m->young, m->poisson);
  const double beta = m->cohesion_ratio, relative = m->compressive_strength / lame.bulk;
  const struct cam_clay_constants c = {
      .mu = lame.mu,
      .lambda = lame.lambda,
      .flow = material->flow,
      .bulk = lame.bulk,
      .hardening = m->hardening,
      .start = fmath_asinh(relative),
      .floor = fmath_asinh(CAM_CLAY_FLOOR * relative),
      .cap = CAM_CLAY_CAP,
      .middle = 0.5 * (1.0 - beta),
      .half = 0.5 * (1.0 + beta),
      .beta = beta,
      .y_of_n = sqrt(6.0 * (1.0 + 2.0 * beta)) * lame.mu / m->critical_slope,
      .ratio = return_ratio(m, &lame),
  };
  memcpy(out, &c, sizeof c);
}

const struct material_words cam_clay_words = {
    .name = "cam_clay",
    .density = 250.0,
    .sensible_density = {50.0, 2000.0},
    .why_density = "snow in avalanches has 100 to 500 kg/m^3, clay up to 2000",
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .kinds = kinds,
    .kind_count = sizeof kinds / sizeof *kinds,
    .flows = true,
    .fits = fits,
    .constants = constants,
};
