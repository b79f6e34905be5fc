/* Shapes that are made of parts, and the way to those that are not.
 *
 * A part is asked in the shape's own coordinates, and its normal is turned back; set operations are the usual
 * minima and maxima, which keep signs exact and values within the metric. Only IEEE basic operations and
 * sqrt, as in analytic.c. */
#include "levelset/shape.h"

#include "base/memory.h"
#include "base/vec.h"
#include "levelset/analytic.h"
#include "levelset/blend.h"
#include "levelset/heights.h"
#include "levelset/keyed.h"
#include "levelset/outline.h"
#include "levelset/sdf.h"
#include "terrain/release.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

void shape_to_own(const struct shape *s, const double x[3], double own[3])
{
  double d[3];
  vec_sub(x, s->center, d);
  for (int k = 0; k < 3; k++) own[k] = s->axes[k] * d[0] + s->axes[3 + k] * d[1] + s->axes[6 + k] * d[2];
}

void shape_to_world(const struct shape *s, const double own[3], double direction[3])
{
  for (int k = 0; k < 3; k++)
    direction[k] = s->axes[3 * k] * own[0] + s->axes[3 * k + 1] * own[1] + s->axes[3 * k + 2] * own[2];
}

static struct keyed_moment moment_of(const struct shape *s)
{
  return (struct keyed_moment){s->keys, s->key, s->gamma, s->frozen};
}

/* A gradient made a normal; straight up where it vanishes. */
static double with_normal(double distance, double n[3])
{
  if (vec_normalize(n) > 0.0) return distance;
  n[0] = n[2] = 0.0;
  n[1] = 1.0;
  return distance;
}

/* Nearest side wall or bottom of a heightfield's block. */
static double wall_distance(const struct shape *s, const double p[3], double n[3])
{
  const double wall[3] = {fabs(p[0]) - s->half[0], -p[1] - s->half[1], fabs(p[2]) - s->half[2]};
  int k = wall[1] > wall[0] ? 1 : 0;
  if (wall[2] > wall[k]) k = 2;
  n[0] = n[1] = n[2] = 0.0;
  n[k] = k == 1 || p[k] < 0.0 ? -1.0 : 1.0;
  return wall[k];
}

static double heightfield_distance(const struct shape *s, const double p[3], double n[3])
{
  double slope[2];
  const double gap = p[1] - heights_at(s->heights, p[0], p[2], slope);
  const double steep = sqrt(1.0 + slope[0] * slope[0] + slope[1] * slope[1]), above = gap / steep;
  const double wall = wall_distance(s, p, n);
  if (wall > above) return wall;
  n[0] = -slope[0] / steep;
  n[1] = 1.0 / steep;
  n[2] = -slope[1] / steep;
  return above;
}

static void heightfield_range(const struct shape *s, const double p[3], double radius, double *least,
                              double *most)
{
  double n[3];
  const double steep = sqrt(1.0 + s->heights->steepest * s->heights->steepest);
  const double gap = p[1] - heights_only(s->heights, p[0], p[2]), wall = wall_distance(s, p, n);
  const double low = gap - radius * steep, high = gap + radius * steep;
  *least = fmax(wall - radius, low > 0.0 ? low / steep : low);
  *most = fmax(wall + radius, high > 0.0 ? high : high / steep);
}

/* The outline's prism: flat ends across z. */
static double text_distance(const struct shape *s, const double p[3], double n[3])
{
  double flat[2];
  const double side = outline_distance(s->outline, p, flat), end = fabs(p[2]) - s->half[2];
  const double up = p[2] < 0.0 ? -1.0 : 1.0;
  n[0] = n[1] = n[2] = 0.0;
  if (side > 0.0 && end > 0.0) {
    const double distance = sqrt(side * side + end * end);
    n[0] = flat[0] * side / distance;
    n[1] = flat[1] * side / distance;
    n[2] = up * end / distance;
    return distance;
  }
  if (end > side) {
    n[2] = up;
    return end;
  }
  n[0] = flat[0];
  n[1] = flat[1];
  return side;
}

/* Below, n may be NULL: a gradient of sampled distances costs six times the distance. */
static double smooth_distance(const struct shape *s, const double p[3], double n[3])
{
  double other[3], share, distance = shape_distance(&s->child[0], p, n);
  for (int c = 1; c < s->child_count; c++) {
    const double d = shape_distance(&s->child[c], p, n ? other : NULL);
    distance = smooth_minimum(distance, d, s->amount, &share);
    for (int k = 0; k < 3 && n; k++) n[k] += share * (other[k] - n[k]);
  }
  return n ? with_normal(distance, n) : distance;
}

static void copy_normal(double sign, const double from[3], double n[3])
{
  for (int k = 0; k < 3 && n; k++) n[k] = sign * from[k];
}

/* The child that a minimum (sign 1) or maximum (sign -1) picks; in a difference all but the first count
 * inside out. */
static double pick_distance(const struct shape *s, const double p[3], double sign, double n[3])
{
  double best = INFINITY;
  for (int c = 0; c < s->child_count; c++) {
    const double side = s->kind == SHAPE_DIFFERENCE && c > 0 ? -1.0 : 1.0;
    double other[3] = {0.0, 1.0, 0.0};
    const double d = side * shape_distance(&s->child[c], p, n ? other : NULL);
    if (!(sign * d < best)) continue;
    best = sign * d;
    copy_normal(side, other, n);
  }
  return sign * best;
}

static double shell_distance(const struct shape *s, const double p[3], double n[3])
{
  const double d = shape_distance(&s->child[0], p, n), inner = -d - s->amount;
  if (d >= inner) return d;
  if (n) copy_normal(-1.0, n, n);
  return inner;
}

/* Whether a layer lies on all faces, not only on those that look up. */
static bool is_all_around(const struct shape *s)
{
  return s->half[0] == 0.0 && s->half[1] == 0.0 && s->half[2] == 0.0;
}

/* Beside and below what it lies on the layer is not, though it may be near: the distance jumps there. */
static double layer_distance(const struct shape *s, const double p[3], double n[3])
{
  const double least_upward = 1e-3; /* so that rounding puts nothing on a wall */
  const bool around = is_all_around(s);
  double ground[3] = {0.0, 1.0, 0.0};
  const double d = shape_distance(&s->child[0], p, n || !around ? ground : NULL);
  const bool below = !around && vec_dot(ground, s->half) < least_upward;
  const double frame = shape_distance(&s->child[1], p, n), best = fmax(below ? fabs(d) : -d, d - s->amount);
  if (frame >= best) return frame;
  copy_normal(!below && -d > d - s->amount ? -1.0 : 1.0, ground, n);
  return best;
}

/* Of the kinds made of parts, in own coordinates. */
static double part_distance(const struct shape *s, const double p[3], double n[3])
{
  double unused[3];
  const struct keyed_moment moment = moment_of(s);
  switch (s->kind) {
  case SHAPE_HEIGHTFIELD: return heightfield_distance(s, p, n ? n : unused);
  case SHAPE_MESH: {
    const double distance = sdf_distance(s->sdf, p, n);
    return n ? with_normal(distance, n) : distance;
  }
  case SHAPE_KEYS: {
    const double distance = keyed_distance(&moment, p, n);
    return n ? with_normal(distance, n) : distance;
  }
  case SHAPE_TEXT: return text_distance(s, p, n ? n : unused);
  case SHAPE_UNION: return pick_distance(s, p, 1.0, n);
  case SHAPE_INTERSECTION:
  case SHAPE_DIFFERENCE: return pick_distance(s, p, -1.0, n);
  case SHAPE_SMOOTH_UNION: return smooth_distance(s, p, n);
  case SHAPE_SHELL: return shell_distance(s, p, n);
  case SHAPE_OFFSET: return shape_distance(&s->child[0], p, n) - s->amount;
  case SHAPE_LAYER: return layer_distance(s, p, n);
  case SHAPE_RELEASE: return release_distance(s->release, p, n);
  default: return INFINITY; /* SHAPE_NONE */
  }
}

double shape_distance(const struct shape *shape, const double x[3], double n[3])
{
  double own[3], normal[3] = {0.0, 1.0, 0.0};
  if (analytic_has(shape->kind)) return analytic_distance(shape, x, n);
  shape_to_own(shape, x, own);
  const double distance = part_distance(shape, own, n ? normal : NULL);
  if (n) shape_to_world(shape, normal, n);
  return distance;
}

bool shape_contains(const struct shape *shape, const double x[3])
{
  double own[3];
  if (shape->kind == SHAPE_TEXT) {
    shape_to_own(shape, x, own);
    if (fabs(own[2]) > shape->half[2]) return false;
  }
  return shape_distance(shape, x, NULL) <= 0.0;
}

static void set_range(const struct shape *s, const double p[3], double radius, double *least, double *most)
{
  double share;
  shape_range(&s->child[0], p, radius, least, most);
  for (int c = 1; c < s->child_count; c++) {
    double low, high;
    shape_range(&s->child[c], p, radius, &low, &high);
    switch (s->kind) {
    case SHAPE_UNION:
      *least = fmin(*least, low);
      *most = fmin(*most, high);
      break;
    case SHAPE_SMOOTH_UNION: /* rises with each of its arguments */
      *least = smooth_minimum(*least, low, s->amount, &share);
      *most = smooth_minimum(*most, high, s->amount, &share);
      break;
    case SHAPE_INTERSECTION:
      *least = fmax(*least, low);
      *most = fmax(*most, high);
      break;
    default: /* difference */ *least = fmax(*least, -high); *most = fmax(*most, -low);
    }
  }
}

/* |d - middle| - |middle|: what lies between the surfaces d = 0 and d = 2 middle. */
static void band_range(double middle, double *least, double *most)
{
  const double at_low = fabs(*least - middle), at_high = fabs(*most - middle);
  *least = *least <= middle && *most >= middle ? 0.0 : fmin(at_low, at_high);
  *least -= fabs(middle);
  *most = fmax(at_low, at_high) - fabs(middle);
}

static void layer_range(const struct shape *s, const double p[3], double radius, double *least, double *most)
{
  double low, high;
  shape_range(&s->child[0], p, radius, least, most);
  const double beside = is_all_around(s) ? -INFINITY : fmax(fabs(*least), fabs(*most));
  band_range(0.5 * s->amount, least, most);
  shape_range(&s->child[1], p, radius, &low, &high);
  *least = fmax(*least, low);
  *most = fmax(fmax(*most, beside), high);
}

static void text_range(const struct shape *s, const double p[3], double radius, double *least, double *most)
{
  double n[3];
  const double distance = text_distance(s, p, n);
  *least = distance - radius;
  *most = distance + radius;
}

static void part_range(const struct shape *s, const double p[3], double radius, double *least, double *most)
{
  const struct keyed_moment moment = moment_of(s);
  switch (s->kind) {
  case SHAPE_HEIGHTFIELD: heightfield_range(s, p, radius, least, most); break;
  case SHAPE_MESH: sdf_range(s->sdf, p, radius, least, most); break;
  case SHAPE_KEYS: keyed_range(&moment, p, radius, least, most); break;
  case SHAPE_SHELL:
    shape_range(&s->child[0], p, radius, least, most);
    band_range(-0.5 * s->amount, least, most);
    break;
  case SHAPE_OFFSET:
    shape_range(&s->child[0], p, radius, least, most);
    *least -= s->amount;
    *most -= s->amount;
    break;
  case SHAPE_LAYER: layer_range(s, p, radius, least, most); break;
  case SHAPE_TEXT: text_range(s, p, radius, least, most); break;
  case SHAPE_RELEASE: release_range(s->release, p, radius, least, most); break;
  case SHAPE_NONE: *least = *most = INFINITY; break;
  default: set_range(s, p, radius, least, most);
  }
}

void shape_range(const struct shape *shape, const double x[3], double radius, double *least, double *most)
{
  if (analytic_has(shape->kind)) {
    const double distance = analytic_distance(shape, x, NULL);
    *least = distance - radius;
    *most = distance + radius;
    return;
  }
  double own[3];
  shape_to_own(shape, x, own);
  part_range(shape, own, radius, least, most);
}

void shape_deformation_velocity(const struct shape *shape, const double x[3], double v[3])
{
  v[0] = v[1] = v[2] = 0.0;
  if (shape->kind != SHAPE_KEYS) return;
  const struct keyed_moment moment = moment_of(shape);
  double own[3], local[3];
  shape_to_own(shape, x, own);
  keyed_velocity(&moment, own, local);
  shape_to_world(shape, local, v);
}

double shape_volume(const struct shape *shape)
{
  return analytic_has(shape->kind) ? analytic_volume(shape) : shape->volume;
}

bool shape_bounds(const struct shape *shape, double lower[3], double upper[3])
{
  if (analytic_has(shape->kind)) {
    analytic_bounds(shape, lower, upper);
    return shape->kind != SHAPE_PLANE;
  }
  bool finite = true;
  for (int d = 0; d < 3; d++) finite = finite && isfinite(shape->low[d]) && isfinite(shape->high[d]);
  for (int d = 0; d < 3; d++) {
    lower[d] = upper[d] = shape->center[d];
    for (int k = 0; k < 3; k++) {
      const double f = shape->axes[3 * d + k], a = f * shape->low[k], b = f * shape->high[k];
      lower[d] += finite ? fmin(a, b) : -INFINITY;
      upper[d] += finite ? fmax(a, b) : INFINITY;
    }
  }
  return finite;
}

double shape_reach(const struct shape *shape)
{
  if (analytic_has(shape->kind)) return analytic_reach(shape);
  double corner[3];
  for (int d = 0; d < 3; d++) corner[d] = fmax(fabs(shape->low[d]), fabs(shape->high[d]));
  return vec_norm(corner);
}

/* Corners of the shape's box, in its own axes. */
static void corner_hull(const struct shape *shape, struct shape_hull *hull)
{
  const bool has_bounds = !analytic_has(shape->kind);
  hull->count = 8;
  for (int c = 0; c < 8; c++) {
    double at[3];
    for (int d = 0; d < 3; d++) {
      const double low = has_bounds ? shape->low[d] : -shape->half[d];
      const double high = has_bounds ? shape->high[d] : shape->half[d];
      at[d] = c >> d & 1 ? high : low;
    }
    shape_to_world(shape, at, hull->point[c]);
  }
}

void shape_hull(const struct shape *shape, struct shape_hull *hull)
{
  *hull = (struct shape_hull){.count = 1, .radius = shape->radius};
  switch (shape->kind) {
  case SHAPE_SPHERE: return;
  case SHAPE_CAPSULE:
  case SHAPE_CYLINDER:
  case SHAPE_CONE:
    hull->count = 2;
    if (shape->kind == SHAPE_CONE) hull->radius = fmax(shape->radius, shape->amount);
    for (int c = 0; c < 2; c++)
      vec_axpy(hull->point[c], c ? shape->half[0] : -shape->half[0], shape->axis, hull->point[c]);
    return;
  default: hull->radius = 0.0; corner_hull(shape, hull);
  }
}

bool shape_is_ready(const struct shape *shape)
{
  if (shape->source && !shape->sdf && !shape->keys && !shape->heights && !shape->outline && !shape->release)
    return false;
  for (int c = 0; c < shape->child_count; c++)
    if (!shape_is_ready(&shape->child[c])) return false;
  return true;
}

void shape_destroy(struct shape *shape)
{
  for (int c = 0; c < shape->child_count; c++) shape_destroy(&shape->child[c]);
  mem_free(shape->child);
  if (shape->source) {
    mem_free(shape->source->path);
    mem_free(shape->source->text);
  }
  mem_free(shape->source);
  if (!shape->shared) heights_destroy(&shape->heights);
  release_destroy(&shape->release);
  outline_destroy(&shape->outline);
  *shape = (struct shape){SHAPE_NONE};
}
