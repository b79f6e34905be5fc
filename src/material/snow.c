/* Snow's parameters and kinds. The kinds are the reference of the 2013 paper (table 2), its neighbours one
 * parameter at a time as in figure 8, and the snow that section 5 describes in words: dry powder breaks early
 * (small critical compression and stretch), wet snow late and in chunks; icy snow is stiff and hardens fast,
 * muddy snow is soft and hardens slowly. The figure has values below the reference; those above it lie as far
 * away on the other side. */
#include "material/snow.h"

#define AT(parameter) MATERIAL_AT(snow, parameter)

static const struct material_key keys[] = {
    MATERIAL_YOUNG(snow, 1.4e5, 1.4e3, 5e5, "softer flows like mud, stiffer needs shorter steps"),
    MATERIAL_POISSON(snow, 0.2, 0.2, 0.35, "measured snow lies between"),
    {.word = "hardening",
     .at = AT(hardening),
     .standard = 10.0,
     .allowed = {0.0, INFINITY},
     .needs = "plastic",
     .remembered = true,
     .sensible = {0.0, 20.0, .above = true},
     .why = "stiffness grows as its exponential, and with 0 packed snow is no stiffer than loose snow"},
    {.word = "critical_compression",
     .at = AT(critical_compression),
     .standard = 2.5e-2,
     .allowed = {0.0, 1.0, .below = true},
     .needs = "plastic",
     .sensible = {5e-3, 0.1},
     .why = "the paper uses 2.5e-2; it sets the greatest stress"},
    {.word = "critical_stretch",
     .at = AT(critical_stretch),
     .standard = 7.5e-3,
     .allowed = {0.0, INFINITY},
     .needs = "plastic",
     .sensible = {1e-3, 5e-2},
     .why = "the paper uses 7.5e-3; it sets when snow breaks"},
    {.word = "hardening_limit",
     .at = AT(hardening_limit),
     .standard = 1e3,
     .allowed = {1.0, INFINITY},
     .needs = "hardening"},
    {.word = "plastic", .at = AT(plastic), .type = MATERIAL_FLAG, .standard = 1.0},
};

#define KIND(word, rho, modulus, xi, compression, stretch)                                                   \
  {                                                                                                          \
    .name = word, .density = rho, .changes = 4, .change = {                                                  \
      {AT(young), modulus},                                                                                  \
      {AT(hardening), xi},                                                                                   \
      {AT(critical_compression), compression},                                                               \
      {AT(critical_stretch), stretch}                                                                        \
    }                                                                                                        \
  }

static const struct material_kind kinds[] = {
    KIND("reference", 400.0, 1.4e5, 10.0, 2.5e-2, 7.5e-3),
    KIND("lower_compression", 400.0, 1.4e5, 10.0, 1.9e-2, 7.5e-3),
    KIND("higher_compression", 400.0, 1.4e5, 10.0, 3.3e-2, 7.5e-3),
    KIND("lower_stretch", 400.0, 1.4e5, 10.0, 2.5e-2, 5.0e-3),
    KIND("higher_stretch", 400.0, 1.4e5, 10.0, 2.5e-2, 1.1e-2),
    KIND("lower_hardening", 400.0, 1.4e5, 5.0, 2.5e-2, 7.5e-3),
    KIND("higher_hardening", 400.0, 1.4e5, 20.0, 2.5e-2, 7.5e-3),
    KIND("lower_stiffness", 400.0, 4.8e4, 10.0, 2.5e-2, 7.5e-3),
    KIND("higher_stiffness", 400.0, 4.1e5, 10.0, 2.5e-2, 7.5e-3),
    KIND("powder", 300.0, 1.4e5, 10.0, 1.9e-2, 5.0e-3),
    KIND("chunky", 450.0, 1.4e5, 10.0, 3.3e-2, 1.1e-2),
    KIND("icy", 500.0, 4.1e5, 15.0, 2.5e-2, 7.5e-3),
    KIND("muddy", 550.0, 4.8e4, 5.0, 2.5e-2, 7.5e-3),
};

struct snow_constants snow_constants(const struct snow_parameters *m)
{
  const double unclamped = 1e300;
  const double low = 1.0 - m->critical_compression, high = 1.0 + m->critical_stretch;
  const struct lame lame = material_lame(m->young, m->poisson);
  return (struct snow_constants){
      .mu = lame.mu,
      .lambda = lame.lambda,
      .hardening = m->hardening,
      .factor_low = 1.0 / m->hardening_limit,
      .factor_high = m->hardening_limit,
      .stretch_low = m->plastic != 0.0 ? low : -unclamped,
      .stretch_high = m->plastic != 0.0 ? high : unclamped,
      .excess_low = m->plastic != 0.0 ? low * low - 1.0 : -2.0, /* F^T F - I is never below -1 */
      .excess_high = m->plastic != 0.0 ? high * high - 1.0 : 1e60,
  };
}

static void constants(const struct material *m, double *out)
{
  const struct snow_constants c = snow_constants(&m->snow);
  memcpy(out, &c, sizeof c);
}

const struct material_words snow_words = {
    .name = "snow",
    .density = 400.0,
    .sensible_density = {50.0, 917.0},
    .why_density = "fresh snow has 50 to 100 kg/m^3, firn 400 and more, ice 917",
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .kinds = kinds,
    .kind_count = sizeof kinds / sizeof *kinds,
    .constants = constants,
};
