/* Where particles start: points that are addressed by integers, so that any rank can make any of them.
 *
 * A sampling covers a box with cubes of equally many points. A point's position depends on the seed and its
 * index alone. */
#ifndef FIRN_SAMPLING_H
#define FIRN_SAMPLING_H

#include "io/scene/scene.h"

#include <stdbool.h>
#include <stdint.h>

struct sampling {
  enum snow_sampling kind; /* random, jittered or poisson */
  uint64_t seed;
  double lower[3]; /* m, corner of the first cube, by world axis */
  double pitch;    /* m, edge of a cube */
  int axis[3];     /* world axis of each index; the first is the slowest */
  int64_t cubes[3];
  int64_t per_cube;
  double last;  /* probability of a cube's last point, for a number of points that is not whole */
  double *tile; /* poisson: per_cube positions in the unit cube, xyz; owned */
};

/* Points at a mean of per_cell (any positive number) in cell^3, over the box lower .. upper (m). Cubes begin
 * at `anchor` plus whole pitches: random points fill the cells of a grid that begins there one by one. `slow`
 * is the axis of the slowest index. */
void sampling_create(struct sampling *s, enum snow_sampling kind, uint64_t seed, double cell, double per_cell,
                     const double anchor[3], const double lower[3], const double upper[3], int slow);
void sampling_destroy(struct sampling *s);

/* How many indices there are, and the point of one of them; false if there is none. */
int64_t sampling_count(const struct sampling *s);
bool sampling_point(const struct sampling *s, int64_t index, double x[3]);

/* A hash of all that a point's position follows from, and of `before`. */
uint64_t sampling_mark(const struct sampling *s, uint64_t before);

/* Indices [begin, end) of all points that may lie within low .. high (m) along the slowest axis. */
void sampling_range(const struct sampling *s, double low, double high, int64_t *begin, int64_t *end);

/* The k-th of an endless row of points in the unit cube: spread evenly (sequence) or independent (random). */
void sampling_in_cube(enum snow_sampling kind, uint64_t seed, int64_t k, double x[3]);

/* Cube root by IEEE basic operations; of a positive number. */
double sampling_cube_root(double x);

#endif
