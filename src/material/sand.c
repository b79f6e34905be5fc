/* Parameters and kinds of sand. */
#include "material/sand.h"

#include "base/fmath.h"
#include "material/material.h"

#include <stdio.h>

#define AT(parameter) MATERIAL_AT(sand, parameter)
#define ANGLE_MOST    60.0 /* degrees */

static const char *const cones[] = {"compression", "slope", NULL}; /* enum sand_cone */

static const struct material_key keys[] = {
    MATERIAL_YOUNG(sand, 5e6, 1e5, 1e8,
                   "300 to 1000 times density, gravity and height are enough; more needs shorter steps"),
    MATERIAL_POISSON(sand, 0.3, 0.15, 0.4, "measured sand lies between"),
    {.word = "friction_angle",
     .at = AT(friction_angle),
     .standard = 35.0,
     .allowed = {0.0, ANGLE_MOST, .above = true, .below = true},
     .unit = "degrees",
     .needs_not = "hardening",
     .sensible = {15.0, 45.0},
     .why = "glass beads have some 22, sand 28 to 40 degrees"},
    {.word = "cone", .at = AT(cone), .type = MATERIAL_CHOICE, .standard = CONE_COMPRESSION, .words = cones},
    {.word = "cohesion",
     .at = AT(cohesion),
     .standard = 0.0,
     .allowed = {0.0, INFINITY},
     .unit = "Pa",
     .sensible = {0.0, 500.0},
     .why = "the bond breaks at once, which above some hundred Pa is a jump in stress"},
    {.word = "hardening", .at = AT(hardening), .type = MATERIAL_FLAG, .standard = 0.0},
    {.word = "h0",
     .at = AT(h0),
     .standard = 35.0,
     .allowed = {0.0, ANGLE_MOST, .above = true, .below = true},
     .unit = "degrees",
     .needs = "hardening"},
    {.word = "h1",
     .at = AT(h1),
     .standard = 9.0,
     .allowed = {-INFINITY, INFINITY},
     .unit = "degrees",
     .needs = "hardening"},
    {.word = "h2",
     .at = AT(h2),
     .standard = 0.2,
     .allowed = {0.0, INFINITY, .above = true},
     .needs = "hardening"},
    {.word = "h3",
     .at = AT(h3),
     .standard = 10.0,
     .allowed = {-INFINITY, INFINITY},
     .unit = "degrees",
     .needs = "hardening"},
    {.word = "grain_size",
     .at = AT(grain_size),
     .quiet = true,
     .standard = 0.0,
     .allowed = {0.0, INFINITY},
     .unit = "m",
     .needs_not = "hardening",
     .sensible = {0.0, 0.05},
     .why = "sand has 0.1 to 2 mm, granules of flowing snow some cm"},
    {.word = "fast_angle",
     .at = AT(fast_angle),
     .quiet = true,
     .standard = 32.76,
     .allowed = {0.0, ANGLE_MOST, .above = true, .below = true},
     .unit = "degrees",
     .needs = "grain_size"},
    {.word = "inertial_number",
     .at = AT(inertial_number),
     .quiet = true,
     .standard = 0.279,
     .allowed = {0.0, INFINITY, .above = true},
     .needs = "grain_size",
     .sensible = {0.05, 2.0},
     .why = "glass beads have 0.279"},
    {.word = "grain_density",
     .at = AT(grain_density),
     .quiet = true,
     .standard = 2500.0,
     .allowed = {0.0, INFINITY, .above = true},
     .unit = "kg/m^3",
     .needs = "grain_size",
     .sensible = {200.0, 8000.0},
     .why = "it is that of a grain, not of the heap; quartz has 2650"},
};

static const struct material_kind kinds[] = {
    {.name = "dry_sand", .density = 1600.0, .changes = 1, .change = {{AT(friction_angle), 35.0}}},
    /* Jop et al. 2006 */
    {.name = "glass_beads",
     .density = 1470.0,
     .changes = 6,
     .change = {{AT(friction_angle), 20.9},
                {AT(cone), CONE_SLOPE},
                {AT(grain_size), 5e-4},
                {AT(fast_angle), 32.76},
                {AT(inertial_number), 0.279},
                {AT(grain_density), 2450.0}}},
};

/* The angle after plastic shear kappa; with exp as the lanes have it. */
static double angle_at(const struct sand_parameters *m, double kappa)
{
  return m->h0 + (m->h1 * kappa - m->h3) * vd_exp(vd_set(-m->h2 * kappa))[0];
}

/* The hardening angle has its extremes at the start, at the end (h0) and where its derivative vanishes. */
static bool fits(const struct material *material, const char **key, char text[256])
{
  const struct sand_parameters *m = &material->sand;
  if (m->hardening == 0.0 && m->grain_size > 0.0 && !(m->fast_angle > m->friction_angle)) {
    *key = "fast_angle";
    snprintf(text, 256, "fast_angle is %g degrees; expected more than friction_angle, which is %g",
             m->fast_angle, m->friction_angle);
    return false;
  }
  if (m->hardening == 0.0) return true;
  const double turn = m->h1 != 0.0 ? 1.0 / m->h2 + m->h3 / m->h1 : 0.0;
  const double at[2] = {0.0, turn > 0.0 ? fmin(turn, 700.0 / m->h2) : 0.0};
  for (int k = 0; k < 2; k++) {
    const double angle = angle_at(m, at[k]);
    if (angle > 0.0 && angle < ANGLE_MOST) continue;
    *key = k == 0 ? "h3" : "h1";
    snprintf(text, 256,
             "by h0 to h3 the friction angle is %.3g degrees at a plastic shear of %.3g; expected above 0 "
             "and below %g",
             angle, at[k], ANGLE_MOST);
    return false;
  }
  return true;
}

/* M of the cone of an angle (degrees). */
static double slope_of(const struct sand_parameters *m, double sine, double cosine)
{
  return m->cone == CONE_SLOPE ? sqrt(3.0) * sine / cosine : 6.0 * sine / (3.0 - sine);
}

static void constants(const struct material *material, double *out)
{
  const struct sand_parameters *m = &material->sand;
  const struct lame lame = material_lame(m->young, m->poisson);
  double sine, cosine;
  fmath_sincos_degrees(m->hardening != 0.0 ? m->h0 : m->friction_angle, &sine, &cosine);
  const double slope = slope_of(m, sine, cosine), k_of_m = lame.bulk / (sqrt(6.0) * lame.mu),
               bond = m->cohesion / lame.bulk;
  const struct sand_constants c = {
      .mu = lame.mu,
      .lambda = lame.lambda,
      .flow = material->flow,
      .k = slope * k_of_m,
      .apex = bond * cosine / sine,
      .hardens = m->hardening,
      .cone = m->cone,
      .k_of_m = k_of_m,
      .bond = bond,
      .h0 = m->h0,
      .h1 = m->h1,
      .h2 = m->h2,
      .h3 = m->h3,
  };
  memcpy(out, &c, sizeof c);
}

static void rates(const struct material *material, double dt, double *out)
{
  const struct sand_parameters *m = &material->sand;
  struct sand_constants *c = (void *)out;
  if (m->grain_size == 0.0 || m->hardening != 0.0) return;
  double sine, cosine;
  fmath_sincos_degrees(m->fast_angle, &sine, &cosine);
  c->steeper = slope_of(m, sine, cosine) * c->k_of_m - c->k;
  c->rate = sqrt(2.0 * m->grain_density / material_lame(m->young, m->poisson).bulk) * m->grain_size /
            (m->inertial_number * dt);
}

const struct material_words sand_words = {
    .name = "sand",
    .density = 1600.0,
    .sensible_density = {1200.0, 2200.0},
    .why_density = "dry sand has 1500 to 1700 kg/m^3 with its pores",
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .kinds = kinds,
    .kind_count = sizeof kinds / sizeof *kinds,
    .flows = true,
    .fits = fits,
    .constants = constants,
    .rates = rates,
};
