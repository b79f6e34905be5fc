#include "levelset/prune.h"

#include "levelset/analytic.h"

#include <math.h>

static bool is_set(enum shape_kind kind)
{
  return kind == SHAPE_UNION || kind == SHAPE_INTERSECTION || kind == SHAPE_DIFFERENCE;
}

int prune_count(const struct shape *s)
{
  if (analytic_has(s->kind)) return 1;
  if (!is_set(s->kind)) return 0;
  int count = 1;
  for (int c = 0; c < s->child_count; c++) {
    const int below = prune_count(&s->child[c]);
    if (below == 0) return 0;
    count += below;
  }
  return count;
}

/* Bounds of what a child has to say in a minimum: maxima are minima of what is turned round. */
static void child_range(const struct shape *s, int c, const double x[3], double radius, double *least,
                        double *most)
{
  const bool inside_out = s->kind == SHAPE_INTERSECTION || (s->kind == SHAPE_DIFFERENCE && c == 0);
  double low, high;
  shape_range(&s->child[c], x, radius, &low, &high);
  *least = inside_out ? -high : low;
  *most = inside_out ? -low : high;
}

/* Fills out[0]; what is below it goes to *next. */
static void prune_into(const struct shape *s, const double x[3], double radius, struct shape *out,
                       struct shape **next)
{
  *out = *s;
  if (!is_set(s->kind)) return;
  double own[3], bound = INFINITY, least, most;
  shape_to_own(s, x, own);
  for (int c = 0; c < s->child_count; c++) {
    child_range(s, c, own, radius, &least, &most);
    bound = fmin(bound, most);
  }
  out->child = *next;
  out->child_count = 0;
  *next += s->child_count;
  for (int c = 0; c < s->child_count; c++) {
    child_range(s, c, own, radius, &least, &most);
    const bool first = s->kind == SHAPE_DIFFERENCE && c == 0; /* it is identified by its place */
    if (least > bound && !first) continue;
    prune_into(&s->child[c], own, radius, &out->child[out->child_count++], next);
  }
}

void prune(const struct shape *shape, const double x[3], double radius, struct shape *out)
{
  double size = 0.0; /* distances are rounded by less than these parts of the coordinates and the radius */
  for (int d = 0; d < 3; d++) size = fmax(size, fabs(x[d]) + fabs(shape->center[d]));
  struct shape *next = out + 1;
  prune_into(shape, x, (1.0 + 1e-6) * radius + 1e-11 * (size + radius), out, &next);
}
