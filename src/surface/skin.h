/* The surface of a set of particles: a closed mesh where they fill half of space.
 *
 * The share of space that is filled is a sum of kernels (surface/grains.h) on the nodes of a sparse grid,
 * then smoothed by filters that leave flat and gently curved surfaces in place. The result depends on the
 * particles and their order alone, not on the number of threads. */
#ifndef FIRN_SURFACE_SKIN_H
#define FIRN_SURFACE_SKIN_H

#include "levelset/mesh.h"

#include <stdint.h>

struct skin_options {
  double spacing; /* m, between particles inside the snow */
  double voxel;   /* m, of the grid */
  int smoothing;  /* passes of the filter */
  int anisotropic;
  int threads;
};

struct grains;

struct skin {
  struct mesh *mesh;
  float (*normal)[3];   /* of vertices, unit, outwards */
  float (*velocity)[3]; /* of vertices, m/s: mean of the particles near */
  double volume;        /* m^3, inside the mesh */
  struct grains *grains;
  const float *particle_velocity;
};

/* position and velocity: 3 a particle, finite; the velocities are used as long as the skin lives. No
 * particles: an empty mesh. */
struct skin *skin_create(const float *position, const float *velocity, int64_t count,
                         const struct skin_options *options);
/* Mean velocity (m/s) of the particles near a point; zero far from all. */
void skin_velocity(const struct skin *skin, const double x[3], float out[3]);

void skin_destroy(struct skin **skin);

#endif
