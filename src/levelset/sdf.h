/* Signed distances sampled on a grid, and velocities beside them where the body deforms.
 *
 * The samples are floats in memory that the grid borrows: all ranks of a node look at one copy. Between
 * samples the value is trilinear; outside the grid it is a lower bound of the distance that continues it. */
#ifndef FIRN_LEVELSET_SDF_H
#define FIRN_LEVELSET_SDF_H

#include <stdint.h>

struct sdf {
  int64_t n[3];          /* samples along x, y, z; at least 2 */
  double lower[3];       /* m, first sample */
  double spacing;        /* m */
  const float *phi;      /* [z][y][x], m */
  const float *velocity; /* [z][y][x][3], m/s; NULL if there is none */
  double max_speed;      /* m/s */
};

int64_t sdf_count(const struct sdf *sdf);

/* Distance at x; the gradient, of no particular length, goes to g unless it is NULL. */
double sdf_distance(const struct sdf *sdf, const double x[3], double g[3]);

/* Trilinear velocity; outside the grid that of the nearest sample. */
void sdf_velocity(const struct sdf *sdf, const double x[3], double v[3]);

/* Bounds of sdf_distance() over a ball. */
void sdf_range(const struct sdf *sdf, const double x[3], double radius, double *least, double *most);

/* Bounds of the samples' box (m). */
void sdf_bounds(const struct sdf *sdf, double lower[3], double upper[3]);

/* Bounds of what is inside, no wider than a cell beyond it; false if nothing is. */
int sdf_inner_bounds(const struct sdf *sdf, double lower[3], double upper[3]);

#endif
