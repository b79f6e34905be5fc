/* The kinds with closed formulas.
 *
 * All of it is +, -, *, / and sqrt, which IEEE 754 rounds in one way only: a node is in contact on one CPU if
 * and only if it is on every other. Where a shape has no single nearest surface point (the centre of a
 * sphere, the axis of a cylinder, a box's diagonals) the normal is a fixed choice, still a unit vector. */
#include "levelset/analytic.h"

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
  if (!out) return length;
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
 * cylinders (two) share. The normal's components along those directions go to n; it may
 * be NULL here and below. */
static double corner_distance(const double *q, int count, double *n)
{
  double square = 0.0;
  int greatest = 0;
  for (int k = 0; k < count; k++) {
    if (q[k] > 0.0) square += q[k] * q[k];
    if (q[k] > q[greatest]) greatest = k;
  }
  if (!n && square == 0.0) return q[greatest]; /* most points of a shape full of snow */
  const double outside = sqrt(square);
  if (!n) return outside > no_direction ? outside : q[greatest];
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
    const double p = s->axes[k] * d[0] + s->axes[3 + k] * d[1] + s->axes[6 + k] * d[2];
    q[k] = fabs(p) - s->half[k];
    side[k] = p < 0.0 ? -1.0 : 1.0;
  }
  const double distance = corner_distance(q, 3, n ? local : NULL);
  if (!n) return distance;
  for (int k = 0; k < 3; k++) local[k] *= side[k];
  for (int i = 0; i < 3; i++)
    n[i] = s->axes[3 * i] * local[0] + s->axes[3 * i + 1] * local[1] + s->axes[3 * i + 2] * local[2];
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
  const double q[2] = {direction_of(radial, s->axis, n ? outward : NULL) - s->radius,
                       fabs(along) - s->half[0]};
  const double distance = corner_distance(q, 2, n ? part : NULL);
  if (!n) return distance;
  const double end = along < 0.0 ? -part[1] : part[1];
  for (int k = 0; k < 3; k++) n[k] = part[0] * outward[k] + end * s->axis[k];
  return distance;
}

/* A convex polygon, counter-clockwise: exact distance, outward normal. An edge without length has no say. */
static double polygon_distance(const double (*corner)[2], int count, const double p[2], double n[2])
{
  double nearest = INFINITY, away[2] = {0.0, 0.0}, deepest = -INFINITY, face[2] = {0.0, 1.0};
  for (int k = 0; k < count; k++) {
    const double *a = corner[k], *b = corner[(k + 1) % count];
    const double edge[2] = {b[0] - a[0], b[1] - a[1]}, from[2] = {p[0] - a[0], p[1] - a[1]};
    const double square = edge[0] * edge[0] + edge[1] * edge[1];
    if (!(square > 0.0)) continue;
    const double length = sqrt(square), side = (from[0] * edge[1] - from[1] * edge[0]) / length;
    if (side > deepest) {
      deepest = side;
      face[0] = edge[1] / length;
      face[1] = -edge[0] / length;
    }
    double along = (from[0] * edge[0] + from[1] * edge[1]) / square;
    along = along < 0.0 ? 0.0 : along > 1.0 ? 1.0 : along;
    const double d[2] = {from[0] - along * edge[0], from[1] - along * edge[1]};
    const double distance = sqrt(d[0] * d[0] + d[1] * d[1]);
    if (distance >= nearest) continue;
    nearest = distance;
    away[0] = d[0];
    away[1] = d[1];
  }
  n[0] = face[0];
  n[1] = face[1];
  if (!(deepest > 0.0)) return deepest;
  if (nearest > no_direction) {
    n[0] = away[0] / nearest;
    n[1] = away[1] / nearest;
  }
  return nearest;
}

static double cone_distance(const struct shape *s, const double d[3], double n[3])
{
  const double along = vec_dot(d, s->axis), h = s->half[0], a = s->radius, b = s->amount;
  double radial[3], outward[3], local[2];
  vec_axpy(d, -along, s->axis, radial);
  const double p[2] = {direction_of(radial, s->axis, n ? outward : NULL), along};
  const double profile[4][2] = {{-a, -h}, {a, -h}, {b, h}, {-b, h}};
  const double distance = polygon_distance(profile, 4, p, local);
  if (!n) return distance;
  for (int k = 0; k < 3; k++) n[k] = local[0] * outward[k] + local[1] * s->axis[k];
  return distance;
}

/* A prism along its own z; the cross-section stands on its base and has its edge on top. */
static double wedge_distance(const struct shape *s, const double d[3], double n[3])
{
  double p[3], flat[2], part[2], local[3];
  for (int k = 0; k < 3; k++) p[k] = s->axes[k] * d[0] + s->axes[3 + k] * d[1] + s->axes[6 + k] * d[2];
  const double section[3][2] = {{-s->half[0], -s->half[1]}, {s->half[0], -s->half[1]}, {0.0, s->half[1]}};
  const double q[2] = {polygon_distance(section, 3, p, flat), fabs(p[2]) - s->half[2]};
  const double distance = corner_distance(q, 2, part);
  if (!n) return distance;
  local[0] = part[0] * flat[0];
  local[1] = part[0] * flat[1];
  local[2] = p[2] < 0.0 ? -part[1] : part[1];
  shape_to_world(s, local, n);
  return distance;
}

double analytic_distance(const struct shape *shape, const double x[3], double n[3])
{
  double d[3];
  vec_sub(x, shape->center, d);
  switch (shape->kind) {
  case SHAPE_PLANE:
    for (int k = 0; k < 3 && n; k++) n[k] = shape->axis[k];
    return vec_dot(d, shape->axis);
  case SHAPE_SPHERE: return direction_of(d, NULL, n) - shape->radius;
  case SHAPE_BOX: return box_distance(shape, d, n);
  case SHAPE_CAPSULE: return capsule_distance(shape, d, n);
  case SHAPE_CYLINDER: return cylinder_distance(shape, d, n);
  case SHAPE_CONE: return cone_distance(shape, d, n);
  case SHAPE_WEDGE: return wedge_distance(shape, d, n);
  default: firn_fatal("bug in Firn: shape %d has no formula", (int)shape->kind);
  }
}

double analytic_volume(const struct shape *shape)
{
  const double r = shape->radius, length = 2.0 * shape->half[0], top = shape->amount;
  const double box = 8.0 * (shape->half[0] * shape->half[1] * shape->half[2]);
  switch (shape->kind) {
  case SHAPE_PLANE: return INFINITY;
  case SHAPE_SPHERE: return 4.0 / 3.0 * pi * (r * r * r);
  case SHAPE_BOX: return box;
  case SHAPE_CAPSULE: return pi * (r * r) * (length + 4.0 / 3.0 * r);
  case SHAPE_CYLINDER: return pi * (r * r) * length;
  case SHAPE_CONE: return pi / 3.0 * (r * r + r * top + top * top) * length;
  case SHAPE_WEDGE: return 0.5 * box;
  default: firn_fatal("bug in Firn: shape %d has no formula", (int)shape->kind);
  }
}

/* How far a disc of this radius across the axis stretches along coordinate axis d. */
static double disc_extent(const struct shape *shape, int d, double radius)
{
  const double across = 1.0 - shape->axis[d] * shape->axis[d];
  return radius * sqrt(across > 0.0 ? across : 0.0);
}

static double box_extent(const struct shape *shape, int d)
{
  return fabs(shape->axes[3 * d]) * shape->half[0] + fabs(shape->axes[3 * d + 1]) * shape->half[1] +
         fabs(shape->axes[3 * d + 2]) * shape->half[2];
}

void analytic_bounds(const struct shape *shape, double lower[3], double upper[3])
{
  for (int d = 0; d < 3; d++) {
    const double along = shape->axis[d] * shape->half[0], stretch = fabs(along);
    double below = 0.0, above = 0.0;
    switch (shape->kind) {
    case SHAPE_SPHERE: below = above = shape->radius; break;
    case SHAPE_BOX:
    case SHAPE_WEDGE: below = above = box_extent(shape, d); break;
    case SHAPE_CAPSULE: below = above = stretch + shape->radius; break;
    case SHAPE_CYLINDER: below = above = stretch + disc_extent(shape, d, shape->radius); break;
    case SHAPE_CONE:
      below =
          fmax(along + disc_extent(shape, d, shape->radius), disc_extent(shape, d, shape->amount) - along);
      above =
          fmax(disc_extent(shape, d, shape->radius) - along, along + disc_extent(shape, d, shape->amount));
      break;
    default: below = above = INFINITY; break;
    }
    lower[d] = shape->center[d] - below;
    upper[d] = shape->center[d] + above;
  }
}

double analytic_reach(const struct shape *shape)
{
  const double h = shape->half[0], r = fmax(shape->radius, shape->kind == SHAPE_CONE ? shape->amount : 0.0);
  switch (shape->kind) {
  case SHAPE_SPHERE: return shape->radius;
  case SHAPE_BOX:
  case SHAPE_WEDGE: return vec_norm(shape->half);
  case SHAPE_CAPSULE: return h + shape->radius;
  case SHAPE_CYLINDER:
  case SHAPE_CONE: return sqrt(h * h + r * r);
  default: return INFINITY;
  }
}
