/* Bounds, centre and volume of shapes that are made of parts.
 *
 * The volume is summed over boxes: one that shape_range() finds wholly inside or outside counts as such,
 * others are cut in eight, and in the smallest the surface is taken as the plane that distance and normal
 * tell. The error falls with the square of the smallest box; at 1/256 of the bounds it is some 1e-5 of the
 * volume. */
#include "base/vec.h"
#include "levelset/analytic.h"
#include "levelset/heights.h"
#include "levelset/keyed.h"
#include "levelset/outline.h"
#include "levelset/sdf.h"
#include "levelset/shape.h"

#include <math.h>

enum { DEPTH = 8, DEEPEST = 9 };

/* Part of a box with these edges on the inner side of a plane at signed distance d from its middle. The
 * polynomial of the cut corner, with the other corners taken away again. */
static double cut_fraction(double d, const double n[3], const double edge[3])
{
  double c[3], sum = 0.0, largest = 0.0;
  for (int k = 0; k < 3; k++) largest = fmax(largest, fabs(n[k]) * edge[k]);
  for (int k = 0; k < 3; k++) {
    c[k] = fmax(fabs(n[k]) * edge[k], 1e-4 * largest); /* a face along the plane has no corner to cut */
    sum += c[k];
  }
  double t = 0.5 * sum - d;
  if (t <= 0.0) return 0.0;
  if (t >= sum) return 1.0;
  const bool flip = t > 0.5 * sum; /* the smaller part is the more exact one */
  if (flip) t = sum - t;
  double volume = t * t * t;
  for (int k = 0; k < 3; k++) {
    const double one = t - c[k], two = t - c[k] - c[(k + 1) % 3];
    if (one > 0.0) volume -= one * one * one;
    if (two > 0.0) volume += two * two * two;
  }
  volume /= 6.0 * c[0] * c[1] * c[2];
  return flip ? 1.0 - volume : volume;
}

/* Volume inside the box around x (world) whose halves lie along the shape's own axes. */
static double volume_in(const struct shape *s, const double own[3], const double half[3], int depth)
{
  double x[3], n[3], turned[3], least, most;
  shape_to_world(s, own, x);
  vec_axpy(x, 1.0, s->center, x);
  const double whole = 8.0 * half[0] * half[1] * half[2];
  shape_range(s, x, vec_norm(half), &least, &most);
  if (least > 0.0) return 0.0;
  if (most <= 0.0) return whole;
  if (depth == 0) {
    const double edge[3] = {2.0 * half[0], 2.0 * half[1], 2.0 * half[2]};
    const double d = shape_distance(s, x, n);
    for (int k = 0; k < 3; k++)
      turned[k] = s->frame[k] * n[0] + s->frame[3 + k] * n[1] + s->frame[6 + k] * n[2];
    return whole * cut_fraction(d, turned, edge);
  }
  double sum = 0.0;
  const double quarter[3] = {0.5 * half[0], 0.5 * half[1], 0.5 * half[2]};
  for (int corner = 0; corner < 8; corner++) {
    double at[3];
    for (int k = 0; k < 3; k++) at[k] = own[k] + (corner >> k & 1 ? quarter[k] : -quarter[k]);
    sum += volume_in(s, at, quarter, depth - 1);
  }
  return sum;
}

/* The thinnest thing that a box of the sum must tell apart. */
static double thinnest(const struct shape *s)
{
  double thin = s->kind == SHAPE_SHELL || s->kind == SHAPE_LAYER ? s->amount : INFINITY;
  for (int c = 0; c < s->child_count; c++) thin = fmin(thin, thinnest(&s->child[c]));
  return thin;
}

static double sum_volume(const struct shape *s)
{
  double middle[3], half[3], least = INFINITY, most = 0.0;
  for (int d = 0; d < 3; d++) {
    middle[d] = 0.5 * (s->low[d] + s->high[d]);
    half[d] = 0.5 * (s->high[d] - s->low[d]);
    least = fmin(least, half[d]);
    most = fmax(most, half[d]);
  }
  if (!isfinite(most)) return INFINITY;
  if (!(least > 0.0)) return 0.0;
  int depth = DEPTH;
  const double thin = thinnest(s);
  while (depth < DEEPEST && ldexp(most, 2 - depth) > thin) depth++;
  return volume_in(s, middle, half, depth);
}

static void move_by(struct shape *s, const double by[3])
{
  vec_axpy(s->center, 1.0, by, s->center);
}

static void child_bounds(struct shape *s)
{
  for (int c = 0; c < s->child_count; c++) {
    double low[3], high[3];
    shape_bounds(&s->child[c], low, high);
    if (c > 0 && s->kind == SHAPE_DIFFERENCE) break;
    for (int d = 0; d < 3; d++) {
      const bool first = c == 0, meet = s->kind == SHAPE_INTERSECTION || s->kind == SHAPE_LAYER;
      if (first && (s->kind == SHAPE_LAYER || (s->kind == SHAPE_OFFSET && s->amount > 0.0))) {
        low[d] -= s->amount;
        high[d] += s->amount;
      }
      s->low[d] = first ? low[d] : meet ? fmax(s->low[d], low[d]) : fmin(s->low[d], low[d]);
      s->high[d] = first ? high[d] : meet ? fmin(s->high[d], high[d]) : fmax(s->high[d], high[d]);
    }
  }
  if (s->kind != SHAPE_SMOOTH_UNION) return;
  const double swell = 0.25 * s->amount * (s->child_count - 1);
  for (int d = 0; d < 3; d++) {
    s->low[d] -= swell;
    s->high[d] += swell;
  }
}

/* Children were read in the coordinates of the scene, as if the centre were its origin. */
static void recenter(struct shape *s)
{
  double middle[3], back[3];
  for (int d = 0; d < 3; d++) {
    middle[d] = 0.5 * (s->low[d] + s->high[d]);
    if (!isfinite(middle[d]) || s->low[d] > s->high[d]) return;
    back[d] = -middle[d];
  }
  for (int c = 0; c < s->child_count; c++) move_by(&s->child[c], back);
  for (int d = 0; d < 3; d++) {
    s->low[d] -= middle[d];
    s->high[d] -= middle[d];
  }
  move_by(s, middle);
}

/* Bounds from the leaves up. */
static void settle(struct shape *s)
{
  for (int c = 0; c < s->child_count; c++) settle(&s->child[c]);
  switch (s->kind) {
  case SHAPE_HEIGHTFIELD:
    for (int d = 0; d < 3; d++) {
      s->low[d] = -s->half[d];
      s->high[d] = d == 1 ? fmax(s->heights->highest, -s->half[1]) : s->half[d];
    }
    break;
  case SHAPE_MESH:
    if (!sdf_inner_bounds(s->sdf, s->low, s->high))
      for (int d = 0; d < 3; d++) s->low[d] = s->high[d] = 0.0;
    break;
  case SHAPE_KEYS: keyed_bounds(s->keys, s->low, s->high); break;
  case SHAPE_TEXT:
    for (int d = 0; d < 3; d++) {
      s->low[d] = d < 2 ? s->outline->low[d] : -s->half[2];
      s->high[d] = d < 2 ? s->outline->high[d] : s->half[2];
    }
    break;
  case SHAPE_NONE: break;
  default:
    if (s->child_count == 0) break; /* a closed formula */
    child_bounds(s);
    recenter(s);
  }
}

void shape_settle(struct shape *s)
{
  if (s->settled) return;
  settle(s);
  s->settled = true;
}

void shape_finish(struct shape *s)
{
  shape_settle(s);
  if (s->kind == SHAPE_TEXT)
    s->volume = 2.0 * s->half[2] * outline_area(s->outline);
  else if (!analytic_has(s->kind) && s->kind != SHAPE_KEYS)
    s->volume = sum_volume(s); /* that of keys changes, and nobody asks for it */
}
