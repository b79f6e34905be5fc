/* Parameters of the elastic solids. */
#include "material/elastic.h"

static const char stiff[] = "softer sags under its own weight, stiffer needs shorter steps";

static const struct material_key keys[] = {
    MATERIAL_YOUNG(elastic, 1e6, 1e3, 1e9, stiff),
    MATERIAL_POISSON(elastic, 0.3, 0.0, 0.45, "towards 0.5 the sound speed grows without end"),
};

static void corotated_constants(const struct material *m, double *out)
{
  const struct snow_constants c = snow_constants(&(struct snow_parameters){
      .young = m->elastic.young, .poisson = m->elastic.poisson, .hardening_limit = 1.0});
  memcpy(out, &c, sizeof c);
}

static void neo_hookean_constants(const struct material *m, double *out)
{
  const struct lame lame = material_lame(m->elastic.young, m->elastic.poisson);
  const struct neo_hookean_constants c = {lame.mu, lame.lambda};
  memcpy(out, &c, sizeof c);
}

static const char heavy[] = "rubber and gelatine have about 1000 kg/m^3, steel 7800";

const struct material_words corotated_words = {
    .name = "corotated",
    .density = 1000.0,
    .sensible_density = {10.0, 10000.0},
    .why_density = heavy,
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .constants = corotated_constants,
};

const struct material_words neo_hookean_words = {
    .name = "neo_hookean",
    .density = 1000.0,
    .sensible_density = {10.0, 10000.0},
    .why_density = heavy,
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .constants = neo_hookean_constants,
};
