/* `domain.copies`: the scene several times side by side along the slab axis, as a study of weak scaling wants
 * it: every copy is as much work, and meets its neighbours as snow meets snow.
 *
 * A copy is the same struct with another centre (shape.h), which borrows what the first one owns. Random
 * numbers are the same too, so copies are alike. Copy 2 of `plate` is called `plate.2`, which no scene can
 * name anything. Collision bodies without an end stay single: that is right where they look the same from
 * every copy. */
#include "base/memory.h"
#include "io/scene/scene.h"
#include "io/scene/scene_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum scene_axis scene_copy_axis(const struct scene *s)
{
  if (s->slab_axis != AXIS_AUTO) return s->slab_axis;
  int longest = 0;
  for (int d = 1; d < 3; d++)
    if (s->cells[d] > s->cells[longest]) longest = d;
  return (enum scene_axis)longest;
}

static bool stays_single(const struct shape *shape)
{
  double lower[3], upper[3];
  return !shape_bounds(shape, lower, upper);
}

static int check_snow(const struct scene *s, struct error *err)
{
  for (int k = 0; k < s->snow_count; k++)
    if (s->snow[k].file)
      return error_set(err, FIRN_EINPUT,
                       "%s:%d: snow.%s.file: particles of a file have ids of their own and "
                       "cannot be copied; remove domain.copies",
                       s->path, s->snow[k].line, s->snow[k].name);
  return FIRN_OK;
}

static int check_bodies(const struct scene *s, int axis, struct error *err)
{
  for (int k = 0; k < s->body_count; k++) {
    const struct body *body = &s->bodies[k];
    if (body->free)
      return error_set(err, FIRN_EINPUT,
                       "%s:%d: bodies.%s: a free body cannot be copied; remove domain.copies", s->path,
                       body->line, body->name);
    if (!stays_single(&body->shape)) continue;
    if (body->shape.kind == SHAPE_PLANE && body->shape.axis[axis] == 0.0) continue;
    return error_set(err, FIRN_EINPUT,
                     "%s:%d: bodies.%s: has no end along %c, so it would cut the copies of the scene apart; "
                     "use a box, or choose another domain.slab_axis",
                     s->path, body->line, body->name, 'x' + axis);
  }
  return FIRN_OK;
}

/* The name of copy c, counted from 0, which is the original. */
static void name_copy(char name[BODY_NAME], int c)
{
  const size_t length = strlen(name);
  snprintf(name + length, BODY_NAME - length, ".%d", c + 1);
}

/* Copy c is c times `shift` further along. */
static void copy_snow(struct scene *s, int axis, double shift)
{
  const int own = s->snow_own;
  s->snow = mem_resize(s->snow, (size_t)own, (size_t)(own * s->copies), sizeof *s->snow);
  for (int c = 1; c < s->copies; c++)
    for (int k = 0; k < own; k++) {
      struct snow_source *copy = &s->snow[s->snow_count++];
      *copy = s->snow[k];
      copy->shape.center[axis] += c * shift;
      name_copy(copy->name, c);
    }
}

static void copy_bodies(struct scene *s, int axis, double shift)
{
  const int own = s->body_own;
  s->bodies = mem_resize(s->bodies, (size_t)own, (size_t)(own * s->copies), sizeof *s->bodies);
  for (int c = 1; c < s->copies; c++)
    for (int k = 0; k < own; k++) {
      if (stays_single(&s->bodies[k].shape)) continue;
      struct body *copy = &s->bodies[s->body_count++];
      *copy = s->bodies[k];
      copy->shape.center[axis] += c * shift;
      name_copy(copy->name, c);
    }
}

/* Widens [*lower, *upper] by a shape; false if it has no end. */
static bool widen(const struct shape *shape, int axis, double *lower, double *upper)
{
  double low[3], high[3];
  if (!shape_bounds(shape, low, high)) return false;
  *lower = fmin(*lower, low[axis]);
  *upper = fmax(*upper, high[axis]);
  return true;
}

/* Cells that a length takes, but for rounding. */
static int64_t cells_of(const struct scene *s, double length)
{
  return length > 0.0 ? (int64_t)ceil(length / s->spacing - 1e-6) : 0;
}

static int64_t snow_cells(const struct scene *s, int axis)
{
  double lower = INFINITY, upper = -INFINITY;
  for (int k = 0; k < scene_own_snow(s); k++)
    if (!s->snow[k].file) widen(&s->snow[k].shape, axis, &lower, &upper);
  return cells_of(s, upper - lower);
}

int64_t scene_touching_cells(const struct scene *s, bool *snow_touches)
{
  const int axis = (int)scene_copy_axis(s);
  double lower = INFINITY, upper = -INFINITY;
  for (int k = 0; k < scene_own_snow(s); k++)
    if (!s->snow[k].file) widen(&s->snow[k].shape, axis, &lower, &upper);
  for (int k = 0; k < scene_own_bodies(s); k++) widen(&s->bodies[k].shape, axis, &lower, &upper);
  int64_t cells = cells_of(s, upper - lower);
  const int64_t most = s->cells[axis] - (s->copies - 1) * (s->copies > 1 ? s->copy_cells : 0);
  if (cells < 1 || cells > most) cells = most;
  *snow_touches = snow_cells(s, axis) >= cells;
  return cells;
}

/* Snow of two copies in one place would be twice as dense. */
static int check_distance(const struct scene *s, int axis, struct error *err)
{
  const int64_t least = snow_cells(s, axis);
  if (s->copy_cells >= least || s->copy_cells == s->cells[axis] - (s->copies - 1) * s->copy_cells)
    return FIRN_OK;
  return error_set(err, FIRN_EINPUT,
                   "%s: domain.copy_cells: copies of snow that takes %lld cells along %c would overlap every "
                   "%lld cells; use at least %lld",
                   s->path, (long long)least, 'x' + axis, (long long)s->copy_cells, (long long)least);
}

int scene_make_copies(struct scene *s, struct error *err)
{
  s->snow_own = s->snow_count;
  s->body_own = s->body_count;
  if (s->copies == 1) return FIRN_OK;
  const int axis = (int)s->slab_axis;
  int code = check_snow(s, err);
  if (!code) code = check_bodies(s, axis, err);
  if (!code) code = check_distance(s, axis, err);
  if (code) return code;
  const double shift = s->spacing * (double)s->copy_cells;
  copy_snow(s, axis, shift);
  copy_bodies(s, axis, shift);
  return FIRN_OK;
}
