/* The stage, and the order of the work. The costly parts are in canvas, sun, occlusion and shade. */
#include "render/preview/preview.h"

#include "base/memory.h"
#include "base/vec.h"
#include "render/cloud.h"
#include "render/preview/canvas.h"
#include "render/preview/occlusion.h"
#include "render/preview/shade.h"
#include "render/preview/sun.h"
#include "render/raycast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void preview_stage_init(struct preview_stage *stage, const double gravity[3])
{
  memset(stage, 0, sizeof *stage);
  for (int d = 0; d < 3; d++) stage->up[d] = gravity ? -gravity[d] : 0.0;
  if (!(vec_normalize(stage->up) > 0.0)) stage->up[1] = 1.0;
  double first[3], second[3];
  camera_tangents(stage->up, first, second);
  for (int d = 0; d < 3; d++) stage->sun[d] = 0.66 * stage->up[d] - 0.49 * first[d] - 0.70 * second[d];
  vec_normalize(stage->sun);
  stage->range[0] = INFINITY;
  stage->range[1] = -INFINITY;
}

void preview_stage_destroy(struct preview_stage *stage)
{
  mem_free(stage->points);
  stage->points = NULL;
  stage->point_count = stage->point_capacity = 0;
}

static void add_point(struct preview_stage *stage, const double x[3])
{
  if (stage->point_count == stage->point_capacity) {
    const int more = 2 * stage->point_capacity + 64;
    stage->points =
        mem_resize(stage->points, (size_t)stage->point_capacity, (size_t)more, sizeof *stage->points);
    stage->point_capacity = more;
  }
  memcpy(stage->points[stage->point_count++], x, sizeof *stage->points);
}

static void add_corners(struct preview_stage *stage, const double lower[3], const double upper[3])
{
  for (int corner = 0; corner < 8; corner++) {
    double x[3];
    for (int d = 0; d < 3; d++) x[d] = corner >> d & 1 ? upper[d] : lower[d];
    add_point(stage, x);
  }
}

/* The farthest particles of the bulk in directions all around, so that none of it is cut off. */
static void add_extremes(struct preview_stage *stage, const struct frame *frame, const double lower[3],
                         const double upper[3])
{
  enum { WAYS = 27 };
  int64_t farthest[WAYS];
  double most[WAYS];
  for (int k = 0; k < WAYS; k++) most[k] = -INFINITY;
  for (int64_t i = 0; i < frame->count; i++) {
    const float *x = frame->position + 3 * i;
    bool inside = true;
    for (int d = 0; d < 3; d++) inside = inside && (double)x[d] >= lower[d] && (double)x[d] <= upper[d];
    for (int k = 0; inside && k < WAYS; k++) {
      const double along =
          (k % 3 - 1) * (double)x[0] + (k / 3 % 3 - 1) * (double)x[1] + (k / 9 - 1) * (double)x[2];
      if (!(along > most[k])) continue;
      most[k] = along;
      farthest[k] = i;
    }
  }
  for (int k = 0; k < WAYS; k++) {
    if (!(most[k] > -INFINITY)) continue;
    const float *at = frame->position + 3 * farthest[k];
    const double x[3] = {(double)at[0], (double)at[1], (double)at[2]};
    add_point(stage, x);
  }
}

/* Every n-th particle of the bulk, a thousand or so. */
static void add_sample(struct preview_stage *stage, const struct frame *frame, const double lower[3],
                       const double upper[3])
{
  const int64_t stride = frame->count / 1024 + 1;
  for (int64_t i = 0; i < frame->count; i += stride) {
    double x[3];
    bool inside = true;
    for (int d = 0; d < 3; d++) {
      x[d] = (double)frame->position[3 * i + d];
      inside = inside && x[d] >= lower[d] && x[d] <= upper[d];
    }
    if (inside) add_point(stage, x);
  }
}

static void include(struct preview_stage *stage, const double lower[3], const double upper[3])
{
  for (int d = 0; d < 3; d++) {
    stage->lower[d] = stage->any ? fmin(stage->lower[d], lower[d]) : lower[d];
    stage->upper[d] = stage->any ? fmax(stage->upper[d], upper[d]) : upper[d];
  }
  stage->any = true;
}

static double diagonal_of(const double lower[3], const double upper[3])
{
  double diagonal[3];
  vec_sub(upper, lower, diagonal);
  return vec_norm(diagonal);
}

void preview_stage_add(struct preview_stage *stage, const struct frame *frame)
{
  double lower[3], upper[3];
  if (!cloud_bounds(frame->position, frame->count, lower, upper)) return;
  include(stage, lower, upper);
  add_sample(stage, frame, lower, upper);
  add_extremes(stage, frame, lower, upper);
  if (!(stage->spacing > 0.0)) stage->spacing = cloud_spacing(frame->position, frame->count);
}

void preview_stage_add_bodies(struct preview_stage *stage, const struct body *bodies, int count, double time)
{
  const double extent = stage->any ? diagonal_of(stage->lower, stage->upper) : INFINITY;
  for (int b = 0; b < count; b++) {
    struct body_pose pose;
    double lower[3], upper[3];
    body_pose_at(&bodies[b], time, &pose);
    if (!shape_bounds(&pose.shape, lower, upper) || diagonal_of(lower, upper) > 1.5 * extent) continue;
    include(stage, lower, upper);
    add_corners(stage, lower, upper);
  }
}

float preview_value(enum preview_color color, const struct frame *frame, int64_t i)
{
  const float *v = frame->velocity + 3 * i;
  switch (color) {
  case COLOR_DENSITY: return frame->density[i];
  case COLOR_VELOCITY: return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  case COLOR_JP: return frame->jp[i];
  case COLOR_MATERIAL: return (float)frame->material[i];
  case COLOR_TEMPERATURE: return frame->temperature[i];
  default: {
    const enum frame_matter matter = frame_matter(frame, i);
    if (matter != MATTER_SNOW) return -(float)matter;
    return frame->material ? (float)frame->material[i] : 0.0f;
  }
  }
}

static int ascending(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  return x < y ? -1 : x > y;
}

int preview_stage_add_colors(struct preview_stage *stage, const struct frame *frame, const char *path,
                             struct error *err)
{
  enum { SAMPLES = 8192 };
  const bool there[] = {true,
                        frame->density != NULL,
                        frame->velocity != NULL,
                        frame->jp != NULL,
                        frame->material != NULL,
                        frame->temperature != NULL};
  static const char *const names[] = {"", "density", "velocity", "jp", "material", "temperature"};
  if (!there[stage->color])
    return error_set(err, FIRN_EINPUT, "%s: the frame holds no %s; run with --set output.fields='[%s]'", path,
                     names[stage->color], names[stage->color]);
  if (stage->color == COLOR_SNOW || frame->count == 0) return FIRN_OK;
  float *values = mem_alloc(SAMPLES, sizeof *values);
  const int64_t stride = frame->count / SAMPLES + 1;
  int count = 0;
  for (int64_t i = 0; i < frame->count; i += stride) {
    const float value = preview_value(stage->color, frame, i);
    if (isfinite(value)) values[count++] = value;
  }
  qsort(values, (size_t)count, sizeof *values, ascending);
  if (count > 0) { /* a per cent at each end may lie outside */
    stage->range[0] = fmin(stage->range[0], (double)values[count / 100]);
    stage->range[1] = fmax(stage->range[1], (double)values[count - 1 - count / 100]);
  }
  mem_free(values);
  return FIRN_OK;
}

/* Bounds and spacing of some size, whatever there is: nothing, one particle, or particles in one place. */
static void settle_bounds(struct preview_stage *stage)
{
  double center[3] = {0.0, 0.0, 0.0};
  if (!stage->any) {
    const double half[3] = {0.5, 0.5, 0.5}, less[3] = {-0.5, -0.5, -0.5};
    include(stage, less, half);
  }
  for (int d = 0; d < 3; d++) center[d] = 0.5 * (stage->lower[d] + stage->upper[d]);
  const double extent = diagonal_of(stage->lower, stage->upper);
  if (!(stage->spacing > 0.0)) stage->spacing = extent > 0.0 ? 0.05 * extent : 0.01;
  /* A picture in single precision cannot resolve less than this. */
  stage->spacing = fmax(stage->spacing, 1e-5 * (extent + 1e-2 * vec_norm(center)));
  for (int d = 0; d < 3; d++) {
    stage->lower[d] -= 2.0 * stage->spacing;
    stage->upper[d] += 2.0 * stage->spacing;
  }
  /* A handful of points in one place would put the eye into the snow. */
  if (stage->point_count == 0 || extent < 8.0 * stage->spacing)
    add_corners(stage, stage->lower, stage->upper);
}

/* Shadows belong into the picture: where the sun throws the points onto a plane that is not far. */
static void add_shadows(struct preview_stage *stage, const struct body *bodies, int count)
{
  const double extent = diagonal_of(stage->lower, stage->upper);
  const int points = stage->point_count, stride = points / 512 + 1;
  for (int b = 0; b < count; b++) {
    const struct shape *plane = &bodies[b].shape;
    const double facing = plane->kind == SHAPE_PLANE ? vec_dot(plane->axis, stage->sun) : 0.0;
    for (int i = 0; i < points && facing > 0.2; i += stride) {
      double from[3], x[3];
      vec_sub(stage->points[i], plane->center, from);
      const double way = vec_dot(from, plane->axis) / facing;
      if (!(way > 0.0) || way > extent) continue;
      vec_axpy(stage->points[i], -way, stage->sun, x);
      add_point(stage, x);
    }
  }
}

/* Share of the points that bodies hide from this camera; one for each body that it would stand in or behind.
 */
static double hidden_share(const struct preview_stage *stage, const struct body *bodies, int count)
{
  const int stride = stage->point_count / 128 + 1;
  int seen = 0, hidden = 0, behind = 0;
  for (int b = 0; b < count; b++) behind += shape_distance(&bodies[b].shape, stage->camera.eye, NULL) <= 0.0;
  for (int i = 0; i < stage->point_count; i += stride) {
    double view[3], t;
    bool hit = false;
    vec_sub(stage->points[i], stage->camera.eye, view);
    for (int b = 0; b < count && !hit; b++)
      hit = raycast_shape(&bodies[b].shape, stage->camera.eye, view, &t) && t < 0.98;
    hidden += hit;
    seen++;
  }
  return behind + (double)hidden / seen;
}

/* Quarter turns of one view, and two from higher up; the first that shows nearly everything, or the one that
 * shows most. */
static void find_view(struct preview_stage *stage, const struct body *bodies, int count, double aspect)
{
  static const double views[][2] = {{0.60, 0.17},  {-0.60, 0.17}, {2.54, 0.17},
                                    {-2.54, 0.17}, {0.60, 0.80},  {2.54, 0.80}};
  struct camera best = {.tangent = 0.0};
  double least = INFINITY;
  for (size_t v = 0; v < sizeof views / sizeof *views && least > 0.1; v++) {
    camera_frame(&stage->camera, stage->points, stage->point_count, stage->up, views[v][0], views[v][1],
                 aspect);
    const double hidden = hidden_share(stage, bodies, count);
    if (hidden >= least) continue;
    least = hidden;
    best = stage->camera;
  }
  stage->camera = best;
}

/* 1, 2 or 5 times a power of ten, about an eighth of x or less. */
static double round_mesh(double x)
{
  const double power = pow(10.0, floor(log10(x / 8.0))), digit = x / 8.0 / power;
  return power * (digit < 2.0 ? 1.0 : digit < 5.0 ? 2.0 : 5.0);
}

void preview_stage_look(struct preview_stage *stage, const struct scene_camera *camera)
{
  camera_look(&stage->camera, camera->eye, camera->target,
              vec_norm(camera->up) > 0.0 ? camera->up : stage->up,
              camera->field_of_view > 0.0 ? camera->field_of_view : 40.0);
}

/* Round numbers around the range: speeds and densities from 0, J_P as far to both sides of 1,
 * temperatures in whole kelvin. */
static void settle_range(struct preview_stage *stage)
{
  double *range = stage->range;
  if (stage->color == COLOR_MATERIAL || stage->color == COLOR_SNOW) return;
  if (!(range[0] <= range[1])) range[0] = range[1] = stage->color == COLOR_JP ? 1.0 : 0.0;
  if (stage->color == COLOR_JP) {
    const double reach = fmax(fmax(fabs(range[0] - 1.0), fabs(range[1] - 1.0)), 1e-3);
    const double power = pow(10.0, floor(log10(reach))), round = ceil(reach / power) * power;
    range[0] = 1.0 - round;
    range[1] = 1.0 + round;
    return;
  }
  if (stage->color == COLOR_TEMPERATURE) {
    range[0] = floor(range[0]);
    range[1] = fmax(ceil(range[1]), range[0] + 1.0);
    return;
  }
  const double most = fmax(range[1], 1e-6), power = pow(10.0, floor(log10(most)));
  range[0] = 0.0;
  range[1] = ceil(2.0 * most / power) * 0.5 * power;
}

void preview_stage_aim(struct preview_stage *stage, const struct body *bodies, int count,
                       const struct scene_camera *wanted, double aspect)
{
  settle_bounds(stage);
  stage->grid = round_mesh(diagonal_of(stage->lower, stage->upper));
  settle_range(stage);
  if (wanted && wanted->given)
    preview_stage_look(stage, wanted);
  else {
    add_shadows(stage, bodies, count);
    find_view(stage, bodies, count, aspect);
  }
}

void preview_render(const struct preview_stage *stage, const struct frame *frame, const struct body *bodies,
                    int count, struct image *image)
{
  struct canvas canvas;
  struct sun sun;
  struct occlusion occlusion;
  canvas_create(&canvas, stage, frame, bodies, count, 2 * image->width, 2 * image->height);
  sun_create(&sun, &canvas, frame);
  occlusion_create(&occlusion, &canvas, &sun);
  shade_image(&canvas, &sun, &occlusion, image);
  occlusion_destroy(&occlusion);
  sun_destroy(&sun);
  canvas_destroy(&canvas);
}
