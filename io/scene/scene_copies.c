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

int scene_make_copies(struct scene *s, struct error *err)
{
  s->snow_own = s->snow_count;
  s->body_own = s->body_count;
  if (s->copies == 1) return FIRN_OK;
  const int axis = (int)s->slab_axis;
  int code = check_snow(s, err);
  if (!code) code = check_bodies(s, axis, err);
  if (code) return code;
  const double shift = s->spacing * (double)(s->cells[axis] / s->copies);
  copy_snow(s, axis, shift);
  copy_bodies(s, axis, shift);
  return FIRN_OK;
}
