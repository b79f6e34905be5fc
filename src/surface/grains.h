/* Anisotropic kernels of particles (Yu and Turk 2010): each particle is an ellipsoid that follows how its
 * neighbours lie, flat at a surface and long in a thread.
 *
 * Unlike in the paper, particles stay where they are: moving each towards its neighbours makes snow thinner
 * by a quarter of a spacing all around. What is uneven is smoothed on the grid instead (surface/skin.h). */
#ifndef FIRN_SURFACE_GRAINS_H
#define FIRN_SURFACE_GRAINS_H

#include "surface/bins.h"

#include <stdint.h>

struct grain {
  float x[3];    /* m */
  float volume;  /* m^3 */
  float map[6];  /* 1/m; symmetric (xx, xy, xz, yy, yz, zz): maps the ellipsoid to the unit ball */
  float scale;   /* determinant of the map, 1/m^3 */
  float half[3]; /* m, of the box around the ellipsoid */
};

struct grains {
  int64_t count;
  double reach; /* m: no grain reaches farther */
  struct bins *bins;
  struct grain *grain; /* in the order of the bins */
};

/* spacing: m, of particles inside the snow. Not anisotropic: balls. */
struct grains *grains_create(const float *position, int64_t count, double spacing, int anisotropic,
                             int threads);
void grains_destroy(struct grains **grains);

/* Share of space that grain g fills around x: its volume times the kernel, (1 - q^2)^3 over the ellipsoid. */
static inline float grain_at(const struct grain *g, float x, float y, float z)
{
  const float dx = x - g->x[0], dy = y - g->x[1], dz = z - g->x[2];
  const float a = g->map[0] * dx + g->map[1] * dy + g->map[2] * dz;
  const float b = g->map[1] * dx + g->map[3] * dy + g->map[4] * dz;
  const float c = g->map[2] * dx + g->map[4] * dy + g->map[5] * dz;
  const float left = 1.0f - (a * a + b * b + c * c);
  return left > 0.0f ? 1.5666814f * g->volume * g->scale * left * left * left : 0.0f; /* 315 / (64 pi) */
}

#endif
