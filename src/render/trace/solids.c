#include "render/trace/solids.h"

#include "base/memory.h"
#include "base/vec.h"
#include "render/raycast.h"
#include "seeding/noise.h"

#include <math.h>
#include <string.h>

void solids_create(struct solids *s, const struct body *bodies, int count, const float (*colors)[3],
                   double from, double to, int moments, const double eye[3])
{
  memset(s, 0, sizeof *s);
  s->moments = moments;
  const size_t most = (size_t)moments * (size_t)count;
  s->pose = mem_alloc(most, sizeof *s->pose);
  s->bound = mem_alloc(most, sizeof *s->bound);
  s->color = mem_alloc((size_t)count, sizeof *s->color);
  s->covered = mem_alloc((size_t)count, sizeof *s->covered);
  int *kept = s->body = mem_alloc((size_t)count, sizeof *kept);
  for (int b = 0; b < count; b++) {
    struct body_pose pose;
    body_pose_at(&bodies[b], 0.5 * (from + to), &pose);
    if (eye && shape_distance(&pose.shape, eye, NULL) <= 0.0) continue;
    memcpy(s->color[s->count], colors[b], sizeof *s->color);
    s->covered[s->count] = bodies[b].snow_covered;
    kept[s->count++] = b;
  }
  for (int m = 0; m < moments; m++)
    for (int k = 0; k < s->count; k++) {
      struct body_pose *pose = &s->pose[m * s->count + k];
      struct solid_bound *bound = &s->bound[m * s->count + k];
      body_pose_at(&bodies[kept[k]], from + (to - from) * (m + 0.5) / moments, pose);
      bound->reach = shape_reach(&pose->shape);
      memcpy(bound->center, pose->shape.center, sizeof bound->center);
    }
}

void solids_destroy(struct solids *s)
{
  mem_free(s->pose);
  mem_free(s->bound);
  mem_free(s->color);
  mem_free(s->covered);
  mem_free(s->body);
  memset(s, 0, sizeof *s);
}

/* Whether the ray meets the ball nearer than `limit`. */
static bool meets(const struct solid_bound *bound, const double origin[3], const double direction[3],
                  double limit)
{
  if (!isfinite(bound->reach)) return true;
  double to[3];
  vec_sub(bound->center, origin, to);
  const double along = vec_dot(to, direction), square = bound->reach * bound->reach;
  const double away = vec_dot(to, to), across = away - along * along;
  if (across > square || along - bound->reach > limit) return false;
  return along > 0.0 || away < square;
}

bool solids_cast(const struct solids *s, int moment, const double origin[3], const double direction[3],
                 double *distance, int *body)
{
  *distance = INFINITY;
  for (int b = 0; b < s->count; b++) {
    const int k = moment * s->count + b;
    double t;
    if (!meets(&s->bound[k], origin, direction, *distance)) continue;
    if (!raycast_shape(&s->pose[k].shape, origin, direction, &t) || t >= *distance) continue;
    *distance = t;
    *body = b;
  }
  return isfinite(*distance);
}

void solids_surface(const struct solids *s, int moment, int body, const float direction[3], double at[3],
                    double normal[3])
{
  const int k = moment * s->count + body;
  const struct shape *shape = &s->pose[k].shape;
  const double distance = shape_distance(shape, at, normal);
  const double along =
      normal[0] * (double)direction[0] + normal[1] * (double)direction[1] + normal[2] * (double)direction[2];
  if (along > 0.0) /* a crease, met from its wrong side */
    for (int d = 0; d < 3; d++) normal[d] = -normal[d];
  /* Farther than the precision of marched surfaces (raycast.c). */
  const double reach = isfinite(s->bound[k].reach) ? s->bound[k].reach : 1.0;
  const double off = shape->kind == SHAPE_PLANE ? 1e-7 : 8e-4 * reach;
  vec_axpy(at, along > 0.0 ? off : off - distance, normal, at);
}

void solids_texture(const struct solids *s, int moment, int body, double size, const double at[3],
                    double normal[3], float color[3])
{
  enum { OCTAVES = 6 };
  static const double slope = 0.03, step = 0.01, patches = 0.08;
  const struct shape *shape = &s->pose[moment * s->count + body].shape;
  double x[3], here;
  if (shape->kind != SHAPE_PLANE) return;
  for (int d = 0; d < 3; d++) x[d] = at[d] / size;
  if (!s->covered[body]) {
    const float factor = (float)(1.0 + patches * noise_at(21, 0, OCTAVES, x));
    for (int c = 0; c < 3; c++) color[c] *= factor;
    return;
  }
  double gradient[3];
  here = noise_at(22, 0, OCTAVES, x);
  for (int d = 0; d < 3; d++) {
    double y[3] = {x[0], x[1], x[2]};
    y[d] += step;
    gradient[d] = (noise_at(22, 0, OCTAVES, y) - here) / step;
  }
  vec_axpy(gradient, -vec_dot(gradient, normal), normal, gradient);
  vec_axpy(normal, -slope, gradient, normal);
  vec_normalize(normal);
}
