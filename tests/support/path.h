/* One particle along a path of strains. Strains are logarithmic, stresses of Kirchhoff's kind. */
#ifndef FIRN_TESTS_PATH_H
#define FIRN_TESTS_PATH_H

#include "support/lanes.h"

#include <math.h>

/* A particle whose axes stay; all lanes are the same. */
struct point {
  const struct lanes *lanes;
  const struct material_constants *constants;
  double sigma[3], volume, shear;
};

static inline struct lane_state point_state(const struct point *p)
{
  struct lane_state state = {.table = p->constants};
  for (int l = 0; l < WIDE; l++) {
    state.volume[l] = p->volume;
    state.shear[l] = p->shear;
  }
  return state;
}

static inline void point_stress(const struct point *p, double tau[3])
{
  const struct lane_state state = point_state(p);
  lane sigma[3], energy, out[3];
  for (int d = 0; d < 3; d++)
    for (int l = 0; l < WIDE; l++) sigma[d][l] = p->sigma[d];
  p->lanes->model_principal(&state, (const lane *)sigma, energy, out);
  for (int d = 0; d < 3; d++) tau[d] = out[d][5];
}

/* Adds a strain increment and returns. */
static inline void point_strain(struct point *p, const double deps[3])
{
  struct lane_state state = point_state(p);
  struct lane_returned found;
  lane sigma[3];
  for (int d = 0; d < 3; d++)
    for (int l = 0; l < WIDE; l++) sigma[d][l] = p->sigma[d] * exp(deps[d]);
  p->lanes->model_give_back(&state, sigma, &found);
  for (int d = 0; d < 3; d++) p->sigma[d] = sigma[d][3];
  p->volume = state.volume[3];
  p->shear = state.shear[3];
}

static inline struct point point_start(const struct lanes *lanes, const struct material *m,
                                       struct material_constants *c)
{
  material_constants(m, c);
  const double volume = models[m->model]->log_volume ? 0.0 : 1.0;
  return (struct point){lanes, c, {1.0, 1.0, 1.0}, volume, 0.0};
}

static inline struct material path_material(enum material_model model)
{
  struct material m = {.name = "path"};
  material_set_defaults(&m, model, NULL);
  return m;
}

#endif
