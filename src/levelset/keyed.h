/* A body that deforms: distance and velocity grids at key times, and what lies between them by the formula of
 * section 8 of the 2013 paper. With gamma the fraction of the way from key a to key b, and dt between them,
 *   v(x) = (1 - gamma) v_a(x) + gamma v_b(x),
 *   phi(x) = (1 - gamma) phi_a(x - gamma dt v) + gamma phi_b(x + (1 - gamma) dt v). */
#ifndef FIRN_LEVELSET_KEYED_H
#define FIRN_LEVELSET_KEYED_H

#include "levelset/sdf.h"

#include <stdbool.h>

struct keyed {
  int count;    /* at least 1 */
  double *time; /* s, rising */
  struct sdf *key;
  bool cyclic; /* the last key is the first again */
};

/* A moment between key and key + 1; a single key, or a time outside them, is frozen. */
struct keyed_moment {
  const struct keyed *keys;
  int key;
  double gamma;
  bool frozen;
};

struct keyed_moment keyed_at(const struct keyed *keys, double time);

double keyed_distance(const struct keyed_moment *m, const double x[3], double g[3]);
void keyed_velocity(const struct keyed_moment *m, const double x[3], double v[3]);
void keyed_range(const struct keyed_moment *m, const double x[3], double radius, double *least, double *most);

/* Bound of the speed anywhere in the grids at times from .. to (s), of which the first is finite. */
double keyed_max_speed(const struct keyed *keys, double from, double to);

/* Bounds of the grids of all keys. */
void keyed_bounds(const struct keyed *keys, double lower[3], double upper[3]);

#endif
