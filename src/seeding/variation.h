/* What a snow item is made of at each place, and so what its particles weigh. */
#ifndef FIRN_VARIATION_H
#define FIRN_VARIATION_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "grid/particles.h"
#include "io/scene/scene.h"

/* Zone of a point inside the item's shape. */
int variation_zone(const struct scene *scene, const struct snow_source *source, const double x[3]);

/* Collective. Material, stiffness, enthalpy, mass (and V0, where it is exact or liquid) of the item's
 * particles, which are p's from `first` on and `total` of all ranks together. The mass of a zone is its
 * density times its volume, however many particles fell into it. */
int variation_apply(const struct comm *comm, const struct scene *scene, const struct snow_source *source,
                    struct particles *p, int32_t first, int64_t total, struct error *err);

/* The same for particles that each stand for `volume` (m^3), alone: snow that enters through a window. */
void variation_apply_each(const struct scene *scene, const struct snow_source *source, struct particles *p,
                          int32_t first, double volume);

/* With `heat`: how a particle of the item conducts, by its density in this volume (m^3) where the scene does
 * not say. */
void variation_conduct(const struct scene *scene, const struct snow_source *source, struct particles *p,
                       int32_t i, double volume);

#endif
