/* All models for lane code, and batches of particles that may be of several.
 *
 * A batch of one material broadcasts its constants. A mixed one gathers them for each model present, and
 * every function below calls each model present for all lanes and keeps the lanes that are of it: a lane gets
 * the bits that it would get alone. In the constants of a model, lanes of other models repeat one that is of
 * it, so that no lane computes with constants that mean something else. */
#ifndef FIRN_MATERIAL_MODELS_H
#define FIRN_MATERIAL_MODELS_H

#include "material/cam_clay.h"
#include "material/elastic.h"
#include "material/material.h"
#include "material/sand.h"
#include "material/snow.h"
#include "material/von_mises.h"
#include "material/water.h"

#define MATERIAL_ROW(NAME, name) &name##_model,
static const struct model *const models[MODEL_COUNT] = {MATERIAL_MODELS(MATERIAL_ROW)};
#undef MATERIAL_ROW

/* A batch's models and constants. */
struct material_lanes {
  unsigned present;                              /* one bit a model */
  vm of[MODEL_COUNT];                            /* its lanes; set for models present */
  vd constants[MODEL_COUNT][MATERIAL_CONSTANTS]; /* the same */
};

#define MATERIAL_BIT(model) (1u << (model))

/* Takes the lowest model out of a set. */
static inline unsigned material_next(unsigned *left)
{
  const unsigned k = (unsigned)__builtin_ctz(*left);
  *left &= *left - 1;
  return k;
}

static __attribute__((noinline, unused)) void material_gather_mixed(const struct material_constants *table,
                                                                    const uint32_t material[LANES],
                                                                    struct material_lanes *out)
{
  out->present = 0;
  for (int l = 0; l < LANES; l++) out->present |= MATERIAL_BIT(table[material[l]].model);
  for (unsigned left = out->present; left;) {
    const unsigned model = material_next(&left);
    const struct material_constants *from[LANES], *any = NULL;
    for (int l = 0; l < LANES; l++) {
      const struct material_constants *c = &table[material[l]];
      from[l] = c->model == model ? c : NULL;
      out->of[model][l] = from[l] ? -1 : 0;
      if (from[l]) any = c;
    }
    for (int l = 0; l < LANES; l++) {
      if (!from[l]) from[l] = any;
      for (int k = 0; k < models[model]->constants; k++) out->constants[model][k][l] = from[l]->value[k];
    }
  }
}

/* The batch of these materials, by index into the table. */
static inline void material_gather(const struct material_constants *table, const uint32_t material[LANES],
                                   struct material_lanes *out)
{
  bool same = true;
  for (int l = 1; l < LANES; l++) same &= material[l] == material[0];
  if (!same) {
    material_gather_mixed(table, material, out);
    return;
  }
  const struct material_constants *c = &table[material[0]];
  out->present = MATERIAL_BIT(c->model);
  out->of[c->model] = ~(vm){0};
  for (int k = 0; k < models[c->model]->constants; k++) out->constants[c->model][k] = vd_set(c->value[k]);
}

/* The constants of a batch of snow alone. */
static inline const struct snow_lanes *material_snow(const struct material_lanes *m)
{
  return m->present == MATERIAL_BIT(MODEL_SNOW) ? (const void *)m->constants[MODEL_SNOW] : NULL;
}

static inline void material_clear(int count, vd *to)
{
  for (int k = 0; k < count; k++) to[k] = vd_set(0.0);
}

static inline void material_keep(vm mask, int count, const vd *from, vd *to)
{
  for (int k = 0; k < count; k++) to[k] = vd_select(mask, from[k], to[k]);
}

/* J_P, also of models that keep its logarithm. */
static inline vd material_plastic_volume(const struct material_lanes *m, vd kept)
{
  vd jp = kept;
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    if (models[k]->log_volume) jp = vd_select(m->of[k], vd_exp(kept), jp);
  }
  return jp;
}

/* The functions of model.h, for all lanes of a batch. */

static inline vd material_energy(const struct material_lanes *m, const struct stretches *e,
                                 const struct history *h)
{
  vd energy = vd_set(0.0);
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    energy = vd_select(m->of[k], models[k]->energy(m->constants[k], e, h), energy);
  }
  return energy;
}

static inline void material_stress(const struct material_lanes *m, const struct stretches *e,
                                   const struct history *h, vd tau[3])
{
  material_clear(3, tau);
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    vd here[3];
    models[k]->stress(m->constants[k], e, h, here);
    material_keep(m->of[k], 3, here, tau);
  }
}

static inline void material_left(const struct material_lanes *m, const vd f[9], const struct history *h,
                                 vd tau[6], vd *energy)
{
  material_clear(6, tau);
  *energy = vd_set(0.0);
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    vd here[6], psi;
    models[k]->left(m->constants[k], f, h, here, &psi);
    material_keep(m->of[k], 6, here, tau);
    material_keep(m->of[k], 1, &psi, energy);
  }
}

/* Zero for lanes of a model without a slope. */
static inline void material_slope(const struct material_lanes *m, const struct stretches *e,
                                  const struct history *h, vm flowing, struct slope *out)
{
  *out = (struct slope){0};
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    if (!models[k]->slope) continue;
    struct slope here;
    models[k]->slope(m->constants[k], e, h, flowing, &here);
    material_keep(m->of[k], 6, here.t, out->t);
    material_keep(m->of[k], 3, here.s, out->s);
  }
}

/* Lanes of models that have a part in the solve. */
static inline vm material_has_slope(const struct material_lanes *m)
{
  vm mask = {0};
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    if (models[k]->slope) mask |= m->of[k];
  }
  return mask;
}

/* Lanes of materials with the operator `flow`. */
static inline vm material_flows(const struct material_lanes *m)
{
  vm flows = {0};
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    if (models[k]->flows) flows |= m->of[k] & models[k]->flows(m->constants[k]);
  }
  return flows;
}

/* Lanes of models that have that operator, whether or not the material takes it. */
static inline vm material_may_flow(const struct material_lanes *m)
{
  vm may = {0};
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    if (models[k]->flows) may |= m->of[k];
  }
  return may;
}

static inline vm material_is_open(const struct material_lanes *m, const struct history *h)
{
  vm open = {0};
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    if (models[k]->is_open) open |= m->of[k] & models[k]->is_open(m->constants[k], h);
  }
  return open;
}

static inline vm material_is_limited(const struct material_lanes *m, const struct history *h)
{
  vm limited = {0};
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    if (models[k]->is_limited) limited |= m->of[k] & models[k]->is_limited(m->constants[k], h);
  }
  return limited;
}

static inline vm material_reduce(const struct material_lanes *m, vd f[9])
{
  vm limited = {0};
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    if (!models[k]->reduce) continue;
    vd here[9];
    for (int c = 0; c < 9; c++) here[c] = f[c];
    limited |= m->of[k] & models[k]->reduce(m->constants[k], here);
    material_keep(m->of[k], 9, here, f);
  }
  return limited;
}

static inline vm material_is_elastic(const struct material_lanes *m, const vd f[9], const struct history *h)
{
  vm elastic = {0};
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    elastic |= m->of[k] & models[k]->is_elastic(m->constants[k], f, h);
  }
  return elastic;
}

static inline struct returned material_give_back(const struct material_lanes *m, const struct stretches *e,
                                                 struct history *h, vd sigma[3])
{
  struct returned found = {.plastic = (vm){0}};
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    if (!models[k]->give_back) continue;
    struct history here = *h;
    vd stretch[3] = {sigma[0], sigma[1], sigma[2]};
    const struct returned r = models[k]->give_back(m->constants[k], e, &here, stretch);
    found.plastic |= m->of[k] & r.plastic;
    found.flowing |= m->of[k] & r.flowing;
    material_keep(m->of[k], 3, stretch, sigma);
    material_keep(m->of[k], 1, &here.volume, &h->volume);
    material_keep(m->of[k], 1, &here.shear, &h->shear);
  }
  return found;
}

static inline void material_add_viscous(const struct material_lanes *m, const vd f[9], const vd c[9],
                                        vd tau[6])
{
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    if (!models[k]->add_viscous) continue;
    vd here[6];
    for (int i = 0; i < 6; i++) here[i] = tau[i];
    models[k]->add_viscous(m->constants[k], stretch_determinant(f), c, here);
    material_keep(m->of[k], 6, here, tau);
  }
}

static inline vd material_wave(const struct material_lanes *m, const struct stretch_bounds *bounds,
                               const struct history *h)
{
  vd wave = vd_set(0.0);
  for (unsigned left = m->present; left;) {
    const unsigned k = material_next(&left);
    wave = vd_select(m->of[k], models[k]->wave(m->constants[k], bounds, h), wave);
  }
  return wave;
}

/* Step 7 for n batches that may not be elastic: the trial F in f and its history become the returned ones. A
 * lane in which nothing yields, or that is inverted, keeps the bits of both. */
STRETCH_INLINE void material_return(int n, const struct material_lanes *const m[], vd f[][9],
                                    struct history h[], struct returned found[])
{
  struct principal axes[STRETCH_MOST];
  principal_axes(n, (const vd(*)[9])f, axes);
  for (int b = 0; b < n; b++) {
    const struct stretches e = stretches_of(&axes[b]);
    struct history after = h[b];
    vm inverted = {0};
    vd sigma[3], back[9];
    stretches_sigma(&e, sigma);
    for (int d = 0; d < 3; d++) inverted |= sigma[d] <= vd_set(0.0);
    found[b] = material_give_back(m[b], &e, &after, sigma);
    found[b].inverted = inverted;
    found[b].plastic &= ~inverted;
    const vm plastic = found[b].plastic;
    if (!vm_any(plastic)) continue;
    h[b].volume = vd_select(plastic, after.volume, h[b].volume);
    h[b].shear = vd_select(plastic, after.shear, h[b].shear);
    principal_rebuild(&axes[b], sigma, back);
    material_keep(plastic, 9, back, f[b]);
  }
}

#endif
