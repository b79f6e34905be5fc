/* Snow that lies on a terrain: everywhere as thick as a raster says, measured normal to the ground or
 * straight up. In the world's axes: x to the east, y up, z to the south. */
#ifndef FIRN_TERRAIN_RELEASE_H
#define FIRN_TERRAIN_RELEASE_H

#include "levelset/heights.h"

#include <stdbool.h>
#include <stdint.h>

struct release {
  const struct heights *ground; /* the terrain's, */
  double middle[3];             /* m, whose footprint's middle at height 0 is here */
  bool vertical;
  int64_t n[2];    /* cells of the thickness along x and z */
  double first[2]; /* m, middle of the first cell */
  double step;     /* m */
  float *thick;    /* m, [z][x]; owned */
  double most;     /* m, the thickest */
};

void release_destroy(struct release **release);

/* m, at this place of the map; 0 where there is none. */
double release_thickness(const struct release *release, double x, double z);

/* Signed distance at p: its sign is exact, its size right above the ground and below the snow's surface. n
 * (may be NULL): the ground's or the surface's normal. */
double release_distance(const struct release *release, const double p[3], double n[3]);

/* Bounds over the ball around p. */
void release_range(const struct release *release, const double p[3], double radius, double *least,
                   double *most);

/* A box that holds it. */
void release_bounds(const struct release *release, double low[3], double high[3]);

/* m^3 */
double release_volume(const struct release *release);

#endif
