/* Parameters and kinds of cohesive Cam clay. Kinds are the snow of Li et al. 2021 (table 1) by the type of
 * avalanche it makes, and their case of Vallee de la Sionne; and natural snow by its density, and a layer of
 * surface hoar (docs/materials.md has the measurements behind them). */
#include "material/cam_clay.h"

#include "base/fmath.h"
#include "material/material.h"

#include <stdio.h>

#define AT(parameter) MATERIAL_AT(cam_clay, parameter)

static double softening_of(const struct material *m)
{
  return m->cam_clay.hardening;
}

static bool has_bonds(const struct cam_clay_parameters *m)
{
  return m->bond_strength > 0.0 || m->bond_tension > 0.0;
}

/* The least bond_strain: bonds must not break faster than elasticity unloads. */
static double least_bond_strain(const struct cam_clay_parameters *m)
{
  const struct lame lame = material_lame(m->young, m->poisson);
  return fmax(fmax(m->bond_strength, m->bond_tension) / lame.bulk,
              m->critical_slope * (m->bond_strength + m->bond_tension) / (4.0 * lame.mu));
}

static double bond_strain_of(const struct material *m)
{
  return 2.0 * least_bond_strain(&m->cam_clay);
}

static const struct material_key keys[] = {
    MATERIAL_YOUNG(cam_clay, 3e6, 1e5, 4e8,
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
     .sensible = {1e-5, 10.0},
     .why = "0.002 to 1 fit avalanches; more is brittle, and 0 never breaks"},
    {.word = "softening",
     .at = AT(softening),
     .quiet = true,
     .standard = 1.0,
     .derive = softening_of,
     .allowed = {0.0, INFINITY},
     .sensible = {0.0, 10.0},
     .why = "more is brittle: strength falls within a cell and few steps"},
    {.word = "packing_limit",
     .at = AT(packing_limit),
     .quiet = true,
     .standard = 0.0,
     .allowed = {0.0, INFINITY},
     .sensible = {0.0, 4.0},
     .why = "it is ln(917 / density) for snow"},
    {.word = "collapse_strain",
     .at = AT(collapse_strain),
     .quiet = true,
     .standard = 0.0,
     .allowed = {0.0, INFINITY},
     .sensible = {0.0, 2.0},
     .why = "it is -ln(1 - collapse height / thickness) of a weak layer"},
    {.word = "bond_strength",
     .at = AT(bond_strength),
     .quiet = true,
     .standard = 0.0,
     .allowed = {0.0, INFINITY},
     .unit = "Pa",
     .sensible = {0.0, 1e6},
     .why = "snow in avalanches has 3 to 42 kPa in all"},
    {.word = "bond_tension",
     .at = AT(bond_tension),
     .quiet = true,
     .standard = 0.0,
     .allowed = {0.0, INFINITY},
     .unit = "Pa",
     .sensible = {0.0, 1e6},
     .why = "a pulled bar of snow breaks at 0.1 to 50 kPa"},
    {.word = "bond_strain",
     .at = AT(bond_strain),
     .quiet = true,
     .standard = 0.0,
     .derive = bond_strain_of,
     .allowed = {0.0, INFINITY},
     .sensible = {0.0, 0.2},
     .why = "bonds of snow break within some percent of strain"},
    {.word = "relaxation_time",
     .at = AT(relaxation_time),
     .quiet = true,
     .standard = 0.0,
     .allowed = {0.0, INFINITY},
     .unit = "s",
     .sensible = {0.0, 1.0},
     .why = "0.1 s is a viscosity of some kPa s"},
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

/* Our own, since libm chooses its variants by CPU. */
static double exp_of(double x)
{
  return vd_exp(vd_set(x))[0];
}

static double log_of(double x)
{
  return vd_log(vd_set(x))[0];
}

#define DENSITY_ICE 917.0 /* kg/m^3 */

/* What `natural` and `surface_hoar` set; the values are theirs. natural leaves bond_strain to its default. */
#define LAW_KEYS                                                                                             \
  {AT(young), 0.0}, {AT(poisson), 0.0}, {AT(critical_slope), 0.0}, {AT(cohesion_ratio), 0.0},                \
      {AT(compressive_strength), 0.0}, {AT(hardening), 0.0}, {AT(softening), 0.0}, {AT(packing_limit), 0.0}, \
      {AT(collapse_strain), 0.0}, {AT(bond_strength), 0.0},                                                  \
  {                                                                                                          \
    AT(bond_tension), 0.0                                                                                    \
  }

/* Dry snow by its density: stiffness of Scapozza 2004, Poisson's ratio of Srivastava 2016, tensile strength
 * of Sigrist 2006. Hardening lets plastic waves run as fast as Wakahama and Sato measured. */
static void derive_natural(struct material *material, const double *words)
{
  (void)words;
  struct cam_clay_parameters *m = &material->cam_clay;
  const double density = material->density, dense = fmin(fmax((density - 150.0) / 50.0, 0.0), 1.0);
  m->young = 0.1873e6 * exp_of(0.0149 * density);
  m->poisson = 0.132 + dense * (0.191 - 0.132);
  m->critical_slope = 1.0;
  m->cohesion_ratio = 0.0;
  m->compressive_strength = 1.76383 * 240e3 * exp_of(2.44 * log_of(density / DENSITY_ICE));
  m->hardening = 0.2 * m->compressive_strength / material_lame(m->young, m->poisson).bulk;
  m->softening = 0.3;
  m->packing_limit = log_of(DENSITY_ICE / density);
  m->collapse_strain = 0.0;
  m->bond_strength = 0.0;
  m->bond_tension = m->compressive_strength;
}

enum { HOAR_THICKNESS, HOAR_STRENGTH, HOAR_ENERGY, HOAR_COLLAPSE };

static const struct material_key hoar_words[] = {
    {.word = "thickness",
     .at = HOAR_THICKNESS,
     .standard = 0.0125,
     .allowed = {0.0, INFINITY, .above = true},
     .unit = "m"},
    {.word = "strength",
     .at = HOAR_STRENGTH,
     .standard = 2600.0,
     .allowed = {0.0, INFINITY, .above = true},
     .unit = "Pa"},
    {.word = "fracture_energy",
     .at = HOAR_ENERGY,
     .standard = 0.56,
     .allowed = {0.0, INFINITY, .above = true},
     .unit = "J/m^2"},
    {.word = "collapse", .at = HOAR_COLLAPSE, .standard = 0.005, .allowed = {0.0, INFINITY}, .unit = "m"},
};

/* A weak layer: bonds carry nearly all, and once broken it closes by `collapse` before it hardens. */
static void derive_hoar(struct material *material, const double *words)
{
  struct cam_clay_parameters *m = &material->cam_clay;
  const double times = words[HOAR_THICKNESS] / 0.0125,
               isotropic = words[HOAR_STRENGTH] / 0.70075; /* the elastic oedometer's ray on the ellipse */
  m->young = 0.5e6 * times;
  m->poisson = 0.2;
  m->critical_slope = 1.0;
  m->cohesion_ratio = 0.0;
  m->compressive_strength = 0.05 * isotropic;
  m->hardening = 0.5;
  m->softening = 0.01;
  m->packing_limit = log_of(DENSITY_ICE / material->density);
  m->collapse_strain = -log_of(fmax(1.0 - words[HOAR_COLLAPSE] / words[HOAR_THICKNESS], 1e-300));
  m->bond_strength = 0.95 * isotropic;
  m->bond_tension = 0.5 * isotropic;
  m->bond_strain = 0.0136 / times * (words[HOAR_ENERGY] / 0.56) * (2600.0 / words[HOAR_STRENGTH]);
}

static const struct material_kind kinds[] = {
    KIND("warm_shear", 250.0, 1.5, 0.3, 1.0, 3e4),
    KIND("cold_dense", 250.0, 0.5, 0.0, 1.0, 3e3),
    KIND("sliding_slab", 250.0, 1.5, 0.5, 1.0, 4.2e4),
    KIND("warm_plug", 250.0, 0.5, 1.0, 0.1, 1.2e4),
    KIND("vallee_de_la_sionne", 200.0, 0.7, 0.2, 0.002, 3e3),
    {.name = "natural",
     .density = 250.0,
     .densities = {100.0, 500.0},
     .changes = 11,
     .change = {LAW_KEYS},
     .derive = derive_natural},
    {.name = "surface_hoar",
     .density = 120.0,
     .changes = 12,
     .change = {LAW_KEYS, {AT(bond_strain), 0.0}},
     .words = hoar_words,
     .word_count = sizeof hoar_words / sizeof *hoar_words,
     .derive = derive_hoar},
};

/* How much faster the deviator returns than the pressure. */
static double return_ratio(const struct cam_clay_parameters *m, double beta)
{
  const struct lame lame = material_lame(m->young, m->poisson);
  return 3.0 * lame.mu * (1.0 + 2.0 * beta) / (lame.bulk * m->critical_slope * m->critical_slope);
}

/* The largest cohesion ratio that bonds make. */
static double bonded_ratio(const struct cam_clay_parameters *m)
{
  return (m->cohesion_ratio * m->compressive_strength + m->bond_tension) /
         (m->compressive_strength + m->bond_strength);
}

static bool ratio_fits(const struct cam_clay_parameters *m, double beta, const char **key, char text[256])
{
  const double ratio = return_ratio(m, beta);
  if (ratio >= 0.01 && ratio <= 100.0) return true;
  *key = "critical_slope";
  snprintf(text, 256,
           "3 mu (1 + 2 cohesion_ratio) / (K critical_slope^2) is %.3g; expected 0.01 to 100, so choose %s "
           "slope",
           ratio, ratio > 1.0 ? "a larger" : "a smaller");
  return false;
}

static bool packing_fits(const struct cam_clay_parameters *m, const char **key, char text[256])
{
  if (m->packing_limit == 0.0) return true;
  *key = "packing_limit";
  if (!(m->packing_limit > m->collapse_strain))
    snprintf(
        text, 256,
        "packing_limit is %.4g; expected more than collapse_strain, which is %.4g: nothing packs to more "
        "than ice",
        m->packing_limit, m->collapse_strain);
  else if (m->hardening < 1e-6)
    snprintf(text, 256, "snow that packs up to a limit hardens; raise 'hardening' to at least 1e-6");
  else if (m->cohesion_ratio > 0.5)
    snprintf(text, 256, "with a limit of packing cohesion_ratio is at most 0.5, found %g; lower it",
             m->cohesion_ratio);
  else
    return true;
  return false;
}

/* Beyond these bounds stress falls faster than elasticity unloads, and a drop takes a number of steps,
 * whatever their length. */
static bool bonds_fit(const struct cam_clay_parameters *m, const char **key, char text[256])
{
  *key = "bond_strain";
  if (!has_bonds(m)) {
    if (m->bond_strain == 0.0) return true;
    snprintf(text, 256,
             "has no effect without bond_strength or bond_tension; remove it, or give one of them");
    return false;
  }
  const double least = least_bond_strain(m);
  if (m->bond_strain < least) {
    snprintf(text, 256,
             "bonds would break faster than snow of this stiffness unloads; expected at least %.4g, "
             "found %.4g",
             least, m->bond_strain);
    return false;
  }
  const double steep = m->softening * fmax(1.0, m->cohesion_ratio + (m->bond_strength + m->bond_tension) /
                                                                        m->compressive_strength);
  if (steep <= 0.4) return true;
  *key = "softening";
  snprintf(text, 256,
           "with these bonds strength falls too fast as the snow opens; expected at most %.4g, found %g",
           0.4 * m->softening / steep, m->softening);
  return false;
}

static bool fits(const struct material *material, const char **key, char text[256])
{
  const struct cam_clay_parameters *m = &material->cam_clay;
  const struct lame lame = material_lame(m->young, m->poisson);
  if (!(m->compressive_strength + m->bond_strength < 0.1 * lame.bulk)) {
    *key = m->bond_strength > 0.0 ? "bond_strength" : "compressive_strength";
    snprintf(
        text, 256,
        "a compressive_strength of %g Pa is not below a tenth of the bulk modulus, %.4g Pa; raise 'young'",
        m->compressive_strength + m->bond_strength, 0.1 * lame.bulk);
    return false;
  }
  return ratio_fits(m, m->cohesion_ratio, key, text) && ratio_fits(m, bonded_ratio(m), key, text) &&
         packing_fits(m, key, text) && bonds_fit(m, key, text);
}

/* The constants of the history's part of the law. */
static void add_packing(const struct cam_clay_parameters *m, struct cam_clay_constants *c)
{
  static const double none = 1e300;
  const double limit = m->packing_limit - m->collapse_strain, most = fmin(m->hardening, 1.0);
  const bool limited = m->packing_limit > 0.0;
  c->packs = m->softening != m->hardening || limited || m->collapse_strain > 0.0;
  c->softening = m->softening;
  c->collapse = m->collapse_strain;
  c->limit = limited ? 1.0 / limit : 0.0;
  c->bend = limited ? limit * (1.0 - sqrt(most)) : none;
  c->steep = limited ? 1.0 / most : 0.0;
  c->bonded = has_bonds(m);
  c->strength = m->compressive_strength;
  c->bond = m->bond_strength;
  c->tension = m->bond_tension;
  c->decay = m->bond_strain > 0.0 ? 1.0 / m->bond_strain : 0.0;
  c->y_alone = sqrt(6.0) * c->mu / m->critical_slope;
  c->ratio_alone = return_ratio(m, 0.0);
}

static void constants(const struct material *material, double *out)
{
  const struct cam_clay_parameters *m = &material->cam_clay;
  const struct lame lame = material_lame(m->young, m->poisson);
  const double beta = m->cohesion_ratio, relative = m->compressive_strength / lame.bulk;
  struct cam_clay_constants c = {
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
      .ratio = return_ratio(m, beta),
  };
  add_packing(m, &c);
  memcpy(out, &c, sizeof c);
}

static void rates(const struct material *material, double dt, double *out)
{
  const struct cam_clay_parameters *m = &material->cam_clay;
  ((struct cam_clay_constants *)(void *)out)->relaxation =
      m->relaxation_time / (material_lame(m->young, m->poisson).bulk * dt);
}

/* In shear at the critical state, before any hardening. */
static double viscosity(const struct material *material)
{
  const struct cam_clay_parameters *m = &material->cam_clay;
  const double beta = bonded_ratio(m),
               radius = 0.5 * (1.0 + beta) * (m->compressive_strength + m->bond_strength);
  return m->critical_slope * m->critical_slope * radius * m->relaxation_time / (3.0 * (1.0 + 2.0 * beta));
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
    .rates = rates,
    .viscosity = viscosity,
};
