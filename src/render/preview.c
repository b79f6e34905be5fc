/* The stage, and the order of the work. The costly parts are in canvas, sun, occlusion and shade. */
#include "render/preview.h"

#include "base/memory.h"
#include "base/vec.h"
#include "render/canvas.h"
#include "render/cloud.h"
#include "render/occlusion.h"
#include "render/raycast.h"
#include "render/shade.h"
#include "render/sun.h"

#include <math.h>
#include <string.h>

void preview_stage_init(struct preview_stage *stage, const double gravity[3])
{
  memset(stage, 0, sizeof *stage);
  for (int d = 0; d < 3; d++) stage->up[d] = gravity ? -gravity[d] : 0.0;
  if (!(vec_normalize(stage->up) > 0.0)) stage->up[1] = 1.0;
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
  static const double views[][2] = {{0.60, 0.28},  {-0.60, 0.28}, {2.54, 0.28},
                                    {-2.54, 0.28}, {0.60, 0.80},  {2.54, 0.80}};
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

void preview_stage_aim(struct preview_stage *stage, const struct body *bodies, int count,
                       const struct scene_camera *wanted, double aspect)
{
  settle_bounds(stage);
  stage->grid = round_mesh(diagonal_of(stage->lower, stage->upper));
  if (wanted && wanted->given)
    camera_look(&stage->camera, wanted->eye, wanted->target,
                vec_norm(wanted->up) > 0.0 ? wanted->up : stage->up,
                wanted->field_of_view > 0.0 ? wanted->field_of_view : 40.0);
  else
    find_view(stage, bodies, count, aspect);
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
