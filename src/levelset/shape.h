/* Analytic shapes as signed distances: negative inside, |gradient| = 1 almost everywhere.
 * Snow is seeded inside them and bodies are made of them. Distances never overestimate how near the
 * surface is by more than the metric allows (1-Lipschitz), so a ball around a point may be skipped when the
 * distance at its centre exceeds its radius. */
#ifndef FIRN_LEVELSET_SHAPE_H
#define FIRN_LEVELSET_SHAPE_H

#include <stdbool.h>

enum shape_kind { SHAPE_PLANE, SHAPE_SPHERE, SHAPE_BOX, SHAPE_CAPSULE, SHAPE_CYLINDER };

struct shape {
  enum shape_kind kind;
  double center[3]; /* m; plane: a point on it; capsule and cylinder: the middle of the axis */
  double axis[3];   /* unit; plane: outward normal; capsule and cylinder: direction of the axis */
  double radius;    /* m; sphere, capsule, cylinder */
  double half[3];   /* m; box: half edge lengths; capsule and cylinder: half[0] is half the axis length */
  double frame[9];  /* box: rotation, row-major, body axes as columns; identity elsewhere */
};

/* Distance at x (m); the outward normal goes to n unless it is NULL. */
double shape_distance(const struct shape *shape, const double x[3], double n[3]);

/* m^3; infinite for a plane. */
double shape_volume(const struct shape *shape);

/* Axis-aligned bounds (m); false for an unbounded shape. */
bool shape_bounds(const struct shape *shape, double lower[3], double upper[3]);

/* Radius of the smallest ball around `center` that holds the shape; infinite for a plane. */
double shape_reach(const struct shape *shape);

#endif
