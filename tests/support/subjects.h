/* Materials of every model that the tests try, and what their strains are like. */
#ifndef FIRN_TESTS_SUBJECTS_H
#define FIRN_TESTS_SUBJECTS_H

#include "support/lanes.h"
#include "support/tensor.h"

#include <string.h>

enum subject {
  SUBJECT_SNOW,
  SUBJECT_COROTATED,
  SUBJECT_NEO_HOOKEAN,
  SUBJECT_SAND,
  SUBJECT_SAND_SLOPE,
  SUBJECT_SAND_HARDENING,
  SUBJECT_CLAY,
  SUBJECT_CLAY_DENSE,
  SUBJECT_VON_MISES,
  SUBJECT_VON_MISES_HARDENING,
  SUBJECT_WATER,
  SUBJECT_WATER_LINEAR,
  SUBJECT_NATURAL,
  SUBJECT_HOAR,
  SUBJECT_SAND_RATED, /* from here on returns take time */
  SUBJECT_CLAY_RATED,
  SUBJECT_ICE_RATED,
  SUBJECTS
};

#define SUBJECT_STEP 1e-3 /* s, of all returns */

static const char *const subject_names[SUBJECTS] = {
    "snow",       "corotated",  "neo_hookean",         "sand",  "sand slope",   "sand hardening", "clay warm",
    "clay cold",  "von_mises",  "von_mises hardening", "water", "water linear", "natural",        "hoar",
    "sand rated", "clay rated", "ice rated",
};

/* A kind of cam_clay. */
static inline const struct material_kind *subject_kind(const char *name)
{
  const struct material_words *words = material_words(MODEL_CAM_CLAY);
  for (int k = 0; k < words->kind_count; k++)
    if (!strcmp(words->kinds[k].name, name)) return &words->kinds[k];
  return NULL;
}

static inline struct material subject_material(enum subject subject)
{
  static const enum material_model model[SUBJECTS] = {
      MODEL_SNOW,     MODEL_COROTATED, MODEL_NEO_HOOKEAN, MODEL_SAND,      MODEL_SAND,     MODEL_SAND,
      MODEL_CAM_CLAY, MODEL_CAM_CLAY,  MODEL_VON_MISES,   MODEL_VON_MISES, MODEL_WATER,    MODEL_WATER,
      MODEL_CAM_CLAY, MODEL_CAM_CLAY,  MODEL_SAND,        MODEL_CAM_CLAY,  MODEL_VON_MISES};
  struct material m = {.name = "subject"};
  material_set_defaults(&m, model[subject], NULL);
  switch (subject) {
  case SUBJECT_SAND_SLOPE:
    m.sand.cone = CONE_SLOPE;
    m.sand.friction_angle = 30.0;
    m.sand.cohesion = 300.0;
    break;
  case SUBJECT_SAND_HARDENING:
    m.sand.hardening = 1.0;
    m.sand.cohesion = 50.0;
    break;
  case SUBJECT_CLAY_DENSE:
    material_set_defaults(&m, MODEL_CAM_CLAY, &material_words(MODEL_CAM_CLAY)->kinds[1]);
    break;
  case SUBJECT_VON_MISES_HARDENING: m.von_mises.hardening = 1e6; break;
  case SUBJECT_WATER_LINEAR:
    m.water.exponent = 1.0;
    m.water.tension = 1.0;
    m.water.viscosity = 0.5;
    break;
  case SUBJECT_NATURAL: material_set_defaults(&m, MODEL_CAM_CLAY, subject_kind("natural")); break;
  case SUBJECT_HOAR: material_set_defaults(&m, MODEL_CAM_CLAY, subject_kind("surface_hoar")); break;
  case SUBJECT_SAND_RATED:
    m.sand.grain_size = 1e-3;
    m.sand.fast_angle = 45.0;
    break;
  case SUBJECT_CLAY_RATED: m.cam_clay.relaxation_time = 0.02; break;
  case SUBJECT_ICE_RATED:
    m.von_mises.relaxation_time = 0.1;
    m.von_mises.rate_exponent = 1.0 / 3.0;
    break;
  default: break;
  }
  return m;
}

/* Whether a state may stay outside its yield surface. */
static inline bool subject_is_rated(enum subject subject)
{
  return subject >= SUBJECT_SAND_RATED;
}

/* One constant table of all. */
static inline void subject_table(struct material_constants table[SUBJECTS])
{
  for (int k = 0; k < SUBJECTS; k++) {
    const struct material m = subject_material((enum subject)k);
    material_constants(&m, &table[k]);
    material_set_step(&m, SUBJECT_STEP, &table[k]);
  }
}

/* What a particle remembers when nothing has happened. */
static inline double subject_start(enum subject subject)
{
  return models[subject_material(subject).model]->log_volume ? 0.0 : 1.0;
}

/* A random direction for a deviator: sums to 0, of length 1. */
static inline void subject_deviator(uint64_t seed, uint64_t k, double out[3])
{
  const double angle = 2.0 * M_PI * rng_uniform(seed, k, 40);
  for (int d = 0; d < 3; d++) out[d] = sqrt(2.0 / 3.0) * cos(angle + 2.0 * M_PI * d / 3.0);
}

#endif
