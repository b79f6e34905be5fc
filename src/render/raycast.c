/* Ray intersections of the simplest shapes, and sphere tracing for all others. Capsule and cylinder share the
 * split of the ray into its part along the axis and its part across it, in which the side is a circle. */
#include "render/raycast.h"

#include "base/vec.h"

#include <math.h>
#include <stddef.h>

/* Smaller root of a t^2 + 2 b t + c = 0. */
static bool near_root(double a, double b, double c, double *t)
{
  const double discriminant = b * b - a * c;
  if (!(a > 0.0) || !(discriminant >= 0.0)) return false;
  *t = (-b - sqrt(discriminant)) / a;
  return true;
}

static bool hit_sphere(const double from_center[3], const double d[3], double radius, double *t)
{
  return near_root(vec_dot(d, d), vec_dot(from_center, d),
                   vec_dot(from_center, from_center) - radius * radius, t) &&
         *t > 0.0;
}

static bool hit_plane(const struct shape *shape, const double from_center[3], const double d[3], double *t)
{
  const double slope = vec_dot(d, shape->axis);
  if (!(slope < 0.0)) return false;
  *t = -vec_dot(from_center, shape->axis) / slope;
  return *t > 0.0;
}

static bool hit_box(const struct shape *shape, const double from_center[3], const double d[3], double *t)
{
  double enter = 0.0, leave = INFINITY;
  for (int i = 0; i < 3; i++) {
    double o = 0.0, s = 0.0;
    for (int k = 0; k < 3; k++) {
      o += shape->axes[3 * k + i] * from_center[k];
      s += shape->axes[3 * k + i] * d[k];
    }
    if (s == 0.0) {
      if (fabs(o) > shape->half[i]) return false;
      continue;
    }
    const double a = (-shape->half[i] - o) / s, b = (shape->half[i] - o) / s;
    enter = fmax(enter, fmin(a, b));
    leave = fmin(leave, fmax(a, b));
  }
  *t = enter;
  return enter <= leave && enter > 0.0;
}

/* Side, then the two ends: flat caps or half balls. */
static bool hit_rod(const struct shape *shape, const double from_center[3], const double d[3], bool capsule,
                    double *t)
{
  const double half = shape->half[0], radius = shape->radius;
  const double along = vec_dot(from_center, shape->axis), slope = vec_dot(d, shape->axis);
  double across[3], across_d[3], side;
  vec_axpy(from_center, -along, shape->axis, across);
  vec_axpy(d, -slope, shape->axis, across_d);
  *t = INFINITY;
  if (near_root(vec_dot(across_d, across_d), vec_dot(across, across_d),
                vec_dot(across, across) - radius * radius, &side) &&
      side > 0.0 && fabs(along + side * slope) <= half)
    *t = side;
  for (int end = -1; end <= 1; end += 2) {
    double from_end[3], hit;
    vec_axpy(from_center, -end * half, shape->axis, from_end);
    if (capsule) {
      if (hit_sphere(from_end, d, radius, &hit) && hit < *t) *t = hit;
    } else if (slope != 0.0) {
      hit = (end * half - along) / slope;
      double at[3];
      vec_axpy(across, hit, across_d, at);
      if (hit > 0.0 && hit < *t && vec_dot(at, at) <= radius * radius) *t = hit;
    }
  }
  return isfinite(*t);
}

/* The part of the ray inside the shape's bounds; all of it ahead for an unbounded one. */
static bool clip_to_bounds(const struct shape *shape, const double origin[3], const double unit[3],
                           double *from, double *to)
{
  double lower[3], upper[3];
  *from = 0.0;
  *to = 1e4;
  if (!shape_bounds(shape, lower, upper)) return true;
  for (int d = 0; d < 3; d++) {
    const double inverse = 1.0 / unit[d]; /* infinite if the ray runs along the face: fmin and fmax cope */
    const double a = (lower[d] - origin[d]) * inverse, b = (upper[d] - origin[d]) * inverse;
    *from = fmax(*from, fmin(a, b));
    *to = fmin(*to, fmax(a, b));
  }
  return *from <= *to;
}

/* Sphere tracing in steps of most of the distance, which is enough for distances that are a little too large
 * (heightfields, grids); the hit is where the distance is nothing beside the way. */
static bool march(const struct shape *shape, const double origin[3], const double direction[3], double *t)
{
  enum { MOST_STEPS = 160 };
  double unit[3] = {direction[0], direction[1], direction[2]}, at, end;
  const double length = vec_normalize(unit);
  if (!clip_to_bounds(shape, origin, unit, &at, &end)) return false;
  const double fine = 2e-4 * (isfinite(shape_reach(shape)) ? shape_reach(shape) : 1.0);
  double step = 0.0, distance = INFINITY, x[3];
  for (int k = 0; k < MOST_STEPS && at <= end; k++) {
    vec_axpy(origin, at, unit, x);
    distance = shape_distance(shape, x, NULL);
    if (distance <= fine) break;
    step = 0.75 * distance;
    at += step;
  }
  if (!(distance <= fine)) return false;
  for (int k = 0; k < 24 && fabs(distance) > fine; k++) { /* too far: back between the last two points */
    step *= 0.5;
    at += distance > 0.0 ? step : -step;
    vec_axpy(origin, at, unit, x);
    distance = shape_distance(shape, x, NULL);
  }
  *t = at / length;
  return true;
}

bool raycast_shape(const struct shape *shape, const double origin[3], const double direction[3], double *t)
{
  double from_center[3];
  vec_sub(origin, shape->center, from_center);
  switch (shape->kind) {
  case SHAPE_PLANE: return hit_plane(shape, from_center, direction, t);
  case SHAPE_SPHERE: return hit_sphere(from_center, direction, shape->radius, t);
  case SHAPE_BOX: return hit_box(shape, from_center, direction, t);
  case SHAPE_CAPSULE: return hit_rod(shape, from_center, direction, true, t);
  case SHAPE_CYLINDER: return hit_rod(shape, from_center, direction, false, t);
  case SHAPE_NONE: return false;
  default: return march(shape, origin, direction, t);
  }
}
