#include "levelset/shape_moments.h"

#include "base/fmath.h"
#include "base/vec.h"
#include "levelset/shape_volume.h"

#include <math.h>
#include <string.h>

enum { CUTS = 7 }; /* of the bounds, where the surface is */

/* Sums over boxes, about the shape's centre in its own axes. */
struct sums {
  double volume, first[3], second[6]; /* xx, yy, zz, xy, yz, zx */
};

static void add_box(struct sums *s, const double own[3], const double half[3], double part)
{
  const double volume = part * 8.0 * half[0] * half[1] * half[2];
  s->volume += volume;
  for (int d = 0; d < 3; d++) {
    const int next = (d + 1) % 3;
    s->first[d] += volume * own[d];
    s->second[d] += volume * (own[d] * own[d] + half[d] * half[d] / 3.0);
    s->second[3 + d] += volume * own[d] * own[next];
  }
}

static void sum_box(const struct shape *shape, const double own[3], const double half[3], int depth,
                    struct sums *s)
{
  double x[3], least, most;
  shape_to_world(shape, own, x);
  vec_axpy(x, 1.0, shape->center, x);
  shape_range(shape, x, vec_norm(half), &least, &most);
  if (least > 0.0) return;
  if (most <= 0.0) {
    add_box(s, own, half, 1.0);
    return;
  }
  if (depth == CUTS) {
    double n[3], own_n[3];
    const double edge[3] = {2.0 * half[0], 2.0 * half[1], 2.0 * half[2]};
    const double distance = shape_distance(shape, x, n);
    for (int k = 0; k < 3; k++)
      own_n[k] = shape->axes[k] * n[0] + shape->axes[3 + k] * n[1] + shape->axes[6 + k] * n[2];
    add_box(s, own, half, volume_cut_fraction(distance, own_n, edge));
    return;
  }
  for (int corner = 0; corner < 8; corner++) {
    double middle[3], quarter[3];
    for (int d = 0; d < 3; d++) {
      quarter[d] = 0.5 * half[d];
      middle[d] = own[d] + (corner >> d & 1 ? quarter[d] : -quarter[d]);
    }
    sum_box(shape, middle, quarter, depth + 1, s);
  }
}

/* Turns second moments about the centre into the inertia of unit mass, in the world's axes. */
static void finish(const double second[9], const double axes[9], struct shape_moments *m)
{
  double world[9];
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) {
      double sum = 0.0;
      for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) sum += axes[3 * r + a] * second[3 * a + b] * axes[3 * c + b];
      world[3 * r + c] = sum;
    }
  const double trace = world[0] + world[4] + world[8];
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++)
      m->inertia[3 * r + c] = (r == c) * trace - 0.5 * (world[3 * r + c] + world[3 * c + r]);
}

static void sum_moments(const struct shape *shape, struct shape_moments *m)
{
  struct sums s = {.volume = 0.0};
  double middle[3], half[3], mean[3], second[9];
  for (int d = 0; d < 3; d++) {
    middle[d] = 0.5 * (shape->low[d] + shape->high[d]);
    half[d] = 0.5 * (shape->high[d] - shape->low[d]);
  }
  m->volume = INFINITY;
  if (!isfinite(vec_norm(half))) return;
  sum_box(shape, middle, half, 0, &s);
  m->volume = s.volume;
  if (!(s.volume > 0.0)) return;
  for (int d = 0; d < 3; d++) mean[d] = s.first[d] / s.volume;
  for (int d = 0; d < 3; d++) {
    const int next = (d + 1) % 3;
    second[4 * d] = s.second[d] / s.volume - mean[d] * mean[d];
    second[3 * d + next] = second[3 * next + d] = s.second[3 + d] / s.volume - mean[d] * mean[next];
  }
  shape_to_world(shape, mean, m->center);
  vec_axpy(m->center, 1.0, shape->center, m->center);
  finish(second, shape->axes, m);
}

void shape_own_axes(const struct shape *shape, double axes[9])
{
  memcpy(axes, shape->axes, 9 * sizeof *axes);
  if (shape->kind != SHAPE_CAPSULE && shape->kind != SHAPE_CYLINDER && shape->kind != SHAPE_CONE) return;
  double e[3] = {0.0, 0.0, 0.0}, a[3], b[3];
  int least = 0;
  for (int k = 1; k < 3; k++)
    if (fabs(shape->axis[k]) < fabs(shape->axis[least])) least = k;
  e[least] = 1.0;
  vec_cross(shape->axis, e, a);
  vec_normalize(a);
  vec_cross(shape->axis, a, b);
  for (int d = 0; d < 3; d++) {
    axes[3 * d] = shape->axis[d];
    axes[3 * d + 1] = a[d];
    axes[3 * d + 2] = b[d];
  }
}

/* What turns about its axis: second moments of unit mass along and across it, and the centre along it. */
static void turned(const struct shape *shape, double volume, double shift, double along, double across,
                   struct shape_moments *m)
{
  double axes[9], second[9] = {along, 0.0, 0.0, 0.0, across, 0.0, 0.0, 0.0, across};
  shape_own_axes(shape, axes);
  m->volume = volume;
  vec_axpy(shape->center, shift, shape->axis, m->center);
  finish(second, axes, m);
}

static void of_capsule(const struct shape *shape, struct shape_moments *m)
{
  const double r = shape->radius, l = 2.0 * shape->half[0], c = M_PI * r * r * l,
               s = 4.0 / 3.0 * M_PI * r * r * r;
  const double along = (0.5 * c + 0.4 * s) * r * r / (c + s);
  const double across =
      (c * (l * l / 12.0 + 0.25 * r * r) + s * (0.4 * r * r + 0.25 * l * l + 0.375 * l * r)) / (c + s);
  turned(shape, c + s, 0.0, across - 0.5 * along, 0.5 * along, m);
}

/* Three Gauss points are exact for polynomials of degree five. */
static void of_cone(const struct shape *shape, struct shape_moments *m)
{
  static const double place[3] = {-0.77459666924148337704, 0.0, 0.77459666924148337704};
  static const double weight[3] = {5.0 / 9.0, 8.0 / 9.0, 5.0 / 9.0};
  double volume = 0.0, first = 0.0, second = 0.0, fourth = 0.0;
  for (int k = 0; k < 3; k++) {
    const double z = place[k] * shape->half[0];
    const double r = 0.5 * (shape->radius + shape->amount) + 0.5 * place[k] * (shape->amount - shape->radius);
    const double w = weight[k] * shape->half[0] * M_PI * r * r;
    volume += w;
    first += w * z;
    second += w * z * z;
    fourth += w * r * r;
  }
  const double middle = first / volume;
  turned(shape, volume, middle, second / volume - middle * middle, 0.25 * fourth / volume, m);
}

static void of_box(const struct shape *shape, const double share[3], double volume, double shift,
                   struct shape_moments *m)
{
  double second[9] = {0.0};
  const double own[3] = {0.0, shift, 0.0};
  for (int d = 0; d < 3; d++) second[4 * d] = share[d] * shape->half[d] * shape->half[d];
  m->volume = volume * shape->half[0] * shape->half[1] * shape->half[2];
  shape_to_world(shape, own, m->center);
  vec_axpy(m->center, 1.0, shape->center, m->center);
  finish(second, shape->axes, m);
}

void shape_find_moments(const struct shape *shape, struct shape_moments *m)
{
  static const double box[3] = {1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0},
                      wedge[3] = {1.0 / 6.0, 2.0 / 9.0, 1.0 / 3.0};
  *m = (struct shape_moments){.volume = 0.0};
  const double r = shape->radius, l = 2.0 * shape->half[0];
  switch (shape->kind) {
  case SHAPE_NONE: return;
  case SHAPE_PLANE: m->volume = INFINITY; return;
  case SHAPE_SPHERE: turned(shape, 4.0 / 3.0 * M_PI * r * r * r, 0.0, 0.2 * r * r, 0.2 * r * r, m); return;
  case SHAPE_BOX: of_box(shape, box, 8.0, 0.0, m); return;
  case SHAPE_WEDGE: of_box(shape, wedge, 4.0, -shape->half[1] / 3.0, m); return;
  case SHAPE_CAPSULE: of_capsule(shape, m); return;
  case SHAPE_CYLINDER: turned(shape, M_PI * r * r * l, 0.0, l * l / 12.0, 0.25 * r * r, m); return;
  case SHAPE_CONE: of_cone(shape, m); return;
  default: sum_moments(shape, m);
  }
}
