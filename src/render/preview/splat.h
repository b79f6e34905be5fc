/* Particles as small spheres into a depth map, seen through any projection that the caller has already
 * applied. */
#ifndef FIRN_RENDER_SPLAT_H
#define FIRN_RENDER_SPLAT_H

#include <stdint.h>

/* Depth of an empty pixel; larger than any that is drawn. */
#define FIRN_DEPTH_EMPTY 1e30f

struct depth_map {
  int width, height; /* pixels */
  float *depth;      /* m from the viewer, rows from the top */
};

/* One projected particle. */
struct splat {
  float x, y;   /* pixels; the centre of the first pixel is (0.5, 0.5) */
  float z;      /* m */
  float pixels; /* radius on the map */
  float radius; /* m: how far the sphere comes towards the viewer */
};

void depth_map_create(struct depth_map *map, int width, int height);
void depth_map_destroy(struct depth_map *map);
void depth_map_clear(struct depth_map *map);

/* Draws for each pixel the value of the particle that is nearest there; `values` goes with the splats, and
 * pixels that none touches keep what they have. */
void splat_values(const struct depth_map *map, const struct splat *splats, const float *values, int64_t count,
                  float *out);

/* Draws the nearest of all surfaces; the result does not depend on the order of the splats. */
void splat_draw(struct depth_map *map, const struct splat *splats, int64_t count);

#endif
