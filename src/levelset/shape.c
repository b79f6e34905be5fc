/* Signed distances of the analytic shapes.
 *
 * All of it is +, -, *, / and sqrt, which IEEE 754 rounds in one way only: a node is in contact on one CPU if
 * and only if it is on every other. Where a shape has no single nearest surface point (the centre of a
 * sphere, the axis of a cylinder, a box's diagonals) the normal is a fixed choice, still a unit vector. */
#include "levelset/shape.h"

#include "base/log.h"
#include "base/vec.h"

#include <math.h>
#include <stddef.h>

/* Below this a direction cannot be read off a vector any more: its squares leave the normal range of doubles.
 */
static const double no_direction = 1e-140;

static const double pi = 0x1.921fb54442d18p+1;

/* A unit vector at a right angle to the unit vector a. */
static void perpendicular(const double a[3], double out[3])
{
  int least = 0;
  for (int d = 1; d < 3; d++)
    if (fabs(a[d]) < fabs(a[least])) least = d;
  double e[3] = {0.0, 0.0, 0.0};
  e[least] = 1.0;
  vec_cross(a, e, out);
  vec_normalize(out);
}

/* Length of d and its direction; where d is zero the direction is along y, or at a right angle to `axis` if
 * given. */
static double direction_of(const double d[3], const double *axis, double out[3])
{
  const double length = vec_norm(d);
  if (length > no_direction) {
    for (int k = 0; k < 3; k++) out[k] = d[k] / length;
    return length;
  }
  out[0] = out[2] = 0.0;
  out[1] = 1.0;
  if (axis) perpendicular(axis, out);
  return length;
}

/* Distance to the corner region {q <= 0 in all of `count` directions}: the rule that boxes (three) and
 * cylinders (two) share. The normal's components along those directions go to n. */
static double corner_distance(const double *q, int count, double *n)
{
  double square = 0.0;
  int greatest = 0;
  for (int k = 0; k < count; k++) {
    if (q[k] > 0.0) square += q[k] * q[k];
    if (q[k] > q[greatest]) greatest = k;
  }
  const double outside = sqrt(square);
  if (outside > no_direction) {
    for (int k = 0; k < count; k++) n[k] = q[k] > 0.0 ? q[k] / outside : 0.0;
    return outside;
  }
  for (int k = 0; k < count; k++) n[k] = k == greatest ? 1.0 : 0.0;
  return q[greatest];
}

static double box_distance(const struct shape *s, const double d[3], double n[3])
{
  double q[3], side[3], local[3];
  for (int k = 0; k < 3; k++) {
    const double p = s->frame[k] * d[0] + s->frame[3 + k] * d[1] + s->frame[6 + k] * d[2];
    q[k] = fabs(p) - s->half[k];
    side[k] = p < 0.0 ? -1.0 : 1.0;
  }
  const double distance = corner_distance(q, 3, local);
  for (int k = 0; k < 3; k++) local[k] *= side[k];
  for (int i = 0; i < 3; i++)
    n[i] = s->frame[3 * i] * local[0] + s->frame[3 * i + 1] * local[1] + s->frame[3 * i + 2] * local[2];
  return distance;
}

static double capsule_distance(const struct shape *s, const double d[3], double n[3])
{
  double along = vec_dot(d, s->axis), radial[3];
  if (along > s->half[0]) along = s->half[0];
  if (along < -s->half[0]) along = -s->half[0];
  vec_axpy(d, -along, s->axis, radial);
  return direction_of(radial, s->axis, n) - s->radius;
}

static double cylinder_distance(const struct shape *s, const double d[3], double n[3])
{
  const double along = vec_dot(d, s->axis);
  double radial[3], outward[3], part[2];
  vec_axpy(d, -along, s->axis, radial);
  const double q[2] = {direction_of(radial, s->axis, outward) - s->radius, fabs(along) - s->half[0]};
  const double distance = corner_distance(q, 2, part);
  const double end = along < 0.0 ? -part[1] : part[1];
  for (int k = 0; k < 3; k++) n[k] = part[0] * outward[k] + end * s->axis[k];
  return distance;
}

double shape_distance(const struct shape *shape, const double x[3], double n[3])
{
  double d[3], unused[3];
  if (!n) n = unused;
  vec_sub(x, shape->center, d);
  switch (shape->kind) {
  case SHAPE_PLANE:
    for (int k = 0; k < 3; k++) n[k] = shape->axis[k];
    return vec_dot(d, shape->axis);
  case SHAPE_SPHERE: return direction_of(d, NULL, n) - shape->radius;
  case SHAPE_BOX: return box_distance(shape, d, n);
  case SHAPE_CAPSULE: return capsule_distance(shape, d, n);
  case SHAPE_CYLINDER: return cylinder_distance(shape, d, n);
  }
  firn_fatal("bug in Firn: unknown shape %d", (int)shape->kind);
}

double shape_volume(const struct shape *shape)
{
  const double r = shape->radius, length = 2.0 * shape->half[0];
  switch (shape->kind) {
  case SHAPE_PLANE: return INFINITY;
  case SHAPE_SPHERE: return 4.0 / 3.0 * pi * (r * r * r);
  case SHAPE_BOX: return 8.0 * (shape->half[0] * shape->half[1] * shape->half[2]);
  case SHAPE_CAPSULE: return pi * (r * r) * (length + 4.0 / 3.0 * r);
  case SHAPE_CYLINDER: return pi * (r * r) * length;
  }
  firn_fatal("bug in Firn: unknown shape %d", (int)shape->kind);
}

/* How far the shape stretches from its centre along coordinate axis d. */
static double half_extent(const struct shape *shape, int d)
{
  const double along = fabs(shape->axis[d]) * shape->half[0];
  switch (shape->kind) {
  case SHAPE_PLANE: return INFINITY;
  case SHAPE_SPHERE: return shape->radius;
  case SHAPE_BOX:
    return fabs(shape->frame[3 * d]) * shape->half[0] + fabs(shape->frame[3 * d + 1]) * shape->half[1] +
           fabs(shape->frame[3 * d + 2]) * shape->half[2];
  case SHAPE_CAPSULE: return along + shape->radius;
  case SHAPE_CYLINDER: {
    const double across = 1.0 - shape->axis[d] * shape->axis[d];
    return along + shape->radius * sqrt(across > 0.0 ? across : 0.0);
  }
  }
  firn_fatal("bug in Firn: unknown shape %d", (int)shape->kind);
}

bool shape_bounds(const struct shape *shape, double lower[3], double upper[3])
{
  for (int d = 0; d < 3; d++) {
    const double extent = half_extent(shape, d);
    lower[d] = shape->center[d] - extent;
    upper[d] = shape->center[d] + extent;
  }
  return shape->kind != SHAPE_PLANE;
}

double shape_reach(const struct shape *shape)
{
  switch (shape->kind) {
  case SHAPE_PLANE: return INFINITY;
  case SHAPE_SPHERE: return shape->radius;
  case SHAPE_BOX: return vec_norm(shape->half);
  case SHAPE_CAPSULE: return shape->half[0] + shape->radius;
  case SHAPE_CYLINDER: return sqrt(shape->half[0] * shape->half[0] + shape->radius * shape->radius);
  }
  firn_fatal("bug in Firn: unknown shape %d", (int)shape->kind);
}
