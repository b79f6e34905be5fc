/* Bounds, centre and volume of shapes that are made of parts. */
#include "base/vec.h"
#include "levelset/analytic.h"
#include "levelset/heights.h"
#include "levelset/keyed.h"
#include "levelset/outline.h"
#include "levelset/sdf.h"
#include "levelset/shape.h"
#include "levelset/shape_volume.h"
#include "terrain/release.h"

#include <math.h>

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
  case SHAPE_RELEASE: release_bounds(s->release, s->low, s->high); break;
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
  else if (s->kind == SHAPE_RELEASE)
    s->volume = release_volume(s->release);
  else if (!analytic_has(s->kind) && s->kind != SHAPE_KEYS)
    s->volume = volume_of(s); /* that of keys changes, and nobody asks for it */
}
