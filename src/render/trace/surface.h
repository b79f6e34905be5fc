/* The smooth surface of clear matter, water and ice: where a share of the light is mirrored.
 *
 * The surface is a level of the part of space that such matter fills, on a grid of its own
 * (render/trace/volume.h) that is coarser than the snow's: a few particles a voxel, so that water at rest
 * looks smooth. Light that comes from outside is mirrored by Fresnel's formula; the rest passes straight on.
 * Nothing is bent, and nothing is mirrored on the way out: paths stay as short as in snow, and the sun
 * reaches what is below. */
#ifndef FIRN_RENDER_SURFACE_H
#define FIRN_RENDER_SURFACE_H

#include "render/trace/volume.h"

/* Part of space that is filled where the surface is. Below a half: films thinner than a voxel have a surface
 * too. */
static const float surface_level = 0.3f;

/* A ray in voxels of the surface's grid. `at` is how far along it the next look is, `value` what was found at
 * the last one. */
struct surface_ray {
  const struct volume *volume;
  float from[3], direction[3]; /* the direction has unit length */
  float at, value;
};

/* From a point (m) along a unit direction. */
void surface_begin(struct surface_ray *ray, const struct volume *volume, const double from[3],
                   const float direction[3]);

/* Goes on to the next place nearer than `upto` (m from the start) where the ray comes from outside into what
 * is filled: its distance (m) and the unit normal, outwards. False if there is none. */
bool surface_enter(struct surface_ray *ray, double upto, double *distance, float normal[3]);

/* Part of the light that is mirrored at this cosine between ray and normal (Schlick's fit, index 1.33). */
float surface_mirrored(float cosine);

/* Radiance that is mirrored from a small light of unit irradiance, by the cosine between it and the mirrored
 * direction: ripples too small for the grid widen it to some degrees. 1/sr. */
float surface_glint(float cosine);

#endif
