/* Particles are splatted and smoothed first, then bodies are cast where they are nearer than the snow. */
#include "render/preview/canvas.h"

#include "base/memory.h"
#include "base/vec.h"
#include "material/look.h"
#include "render/cloud.h"
#include "render/preview/smooth.h"
#include "render/raycast.h"

#include <math.h>
#include <string.h>

static const float RADIUS = 0.95f;  /* of a particle, in spacings: a random packing shows holes below that */
static const float SMALLEST = 1.3f; /* samples: a flake far away stays a visible dot */
static const float SMOOTH_REACH = 2.0f;  /* spacings */
static const float SURFACE_RANGE = 2.5f; /* spacings: a larger jump in depth is another surface */
static const float PIT_REACH = 1.1f, PIT_DEPTH = 8.0f; /* spacings */
enum { MOST_BODIES = 60000 };

static void to_float(const double in[3], float out[3])
{
  for (int d = 0; d < 3; d++) out[d] = (float)in[d];
}

float canvas_particle_radius(const struct canvas *canvas)
{
  return RADIUS * canvas->spacing;
}

bool canvas_particle(const struct canvas *canvas, const struct frame *frame, int64_t i, float out[3])
{
  const float far = 1e4f * canvas->radius;
  for (int d = 0; d < 3; d++) {
    out[d] = (float)((double)frame->position[3 * i + d] - canvas->center[d]);
    if (!(fabsf(out[d]) < far)) return false;
  }
  return true;
}

static bool project(const struct canvas *canvas, const float p[3], float radius, struct splat *s)
{
  const float rel[3] = {p[0] - canvas->eye[0], p[1] - canvas->eye[1], p[2] - canvas->eye[2]};
  s->z = dot3(rel, canvas->forward);
  if (s->z < 3.0f * radius) return false;
  const float scale = canvas->focal / s->z, most = 0.25f * (float)canvas->surface.height;
  s->x = canvas->middle[0] + scale * dot3(rel, canvas->right);
  s->y = canvas->middle[1] - scale * dot3(rel, canvas->up);
  s->radius = radius;
  s->pixels = fminf(fmaxf(scale * radius, SMALLEST), most);
  return s->x > -s->pixels && s->y > -s->pixels && s->x < (float)canvas->surface.width + s->pixels &&
         s->y < (float)canvas->surface.height + s->pixels;
}

/* Water among snow is in its pores. */
static float value_of(const struct canvas *canvas, const struct frame *frame, const float *wet, int64_t i)
{
  const float value = preview_value(canvas->stage->color, frame, i);
  return wet && value == -(float)MATTER_WATER && wet[i] < 0.7f ? VALUE_WET_SNOW : value;
}

/* The particles that can be seen, projected; values[k] is what the colour shows of splat k, unless NULL. */
static int64_t project_all(const struct canvas *canvas, const struct frame *frame, struct splat *splats,
                           const float *wet, float *values)
{
  const float unit = canvas_particle_radius(canvas) / 255.0f;
  int64_t count = 0;
  for (int64_t i = 0; i < frame->count; i++) {
    float p[3];
    if (!canvas_particle(canvas, frame, i, p) ||
        !project(canvas, p, unit * (float)canvas->sizes[i], &splats[count]))
      continue;
    if (values) values[count] = value_of(canvas, frame, wet, i);
    count++;
  }
  return count;
}

/* Whether any material is drawn in another way than snow. */
static bool has_looks(const struct preview_stage *stage)
{
  for (int m = 0; m < stage->material_count; m++)
    if (!look_is_snow(&stage->materials[m])) return true;
  return false;
}

static void draw_snow(struct canvas *canvas, const struct frame *frame)
{
  const int64_t samples = (int64_t)canvas->surface.width * canvas->surface.height;
  const bool colored = canvas->stage->color != COLOR_SNOW || frame->phase || has_looks(canvas->stage);
  struct splat *splats = mem_alloc((size_t)frame->count, sizeof *splats);
  float *values = colored ? mem_alloc((size_t)frame->count, sizeof *values) : NULL;
  float *wet = NULL;
  if (canvas->stage->color == COLOR_SNOW && frame->phase) {
    wet = mem_alloc((size_t)frame->count, sizeof *wet);
    cloud_shares(frame->position, frame->phase, frame->count, (double)canvas->spacing, wet);
  }
  const int64_t count = project_all(canvas, frame, splats, wet, values);
  splat_draw(&canvas->surface, splats, count);
  if (colored) {
    canvas->value = mem_alloc((size_t)samples, sizeof *canvas->value);
    splat_values(&canvas->surface, splats, values, count, canvas->value);
  }
  mem_free(wet);
  mem_free(values);
  mem_free(splats);
  smooth_close(&canvas->surface, canvas->focal, PIT_REACH * canvas->spacing, PIT_DEPTH * canvas->spacing);
  smooth_depth(&canvas->surface, canvas->focal, SMOOTH_REACH * canvas->spacing,
               SURFACE_RANGE * canvas->spacing);
  for (int64_t i = 0; i < samples; i++)
    canvas->what[i] = canvas->surface.depth[i] < FIRN_DEPTH_EMPTY ? WHAT_SNOW : WHAT_SKY;
}

/* Sample range [from, to) that a ball at view depth z and sideways offset `off` can touch along one axis. */
static void sample_range(float off, float z, float reach, float focal, float middle, int limit, int *from,
                         int *to)
{
  *from = 0;
  *to = limit;
  if (z - reach <= 1e-3f * z) return;
  const float low = fminf((off - reach) / (z - reach), (off - reach) / (z + reach));
  const float high = fmaxf((off + reach) / (z - reach), (off + reach) / (z + reach));
  *from = (int)fminf(fmaxf(middle + focal * low - 1.0f, 0.0f), (float)limit);
  *to = (int)fminf(fmaxf(middle + focal * high + 2.0f, 0.0f), (float)limit);
}

/* The part of the picture that a body may cover. */
static void body_window(const struct canvas *canvas, const struct shape *shape, int window[4])
{
  const double reach = shape_reach(shape);
  window[0] = window[2] = 0;
  window[1] = canvas->surface.width;
  window[3] = canvas->surface.height;
  if (!isfinite(reach)) return;
  float rel[3];
  for (int d = 0; d < 3; d++) rel[d] = (float)(shape->center[d] - canvas->center[d]) - canvas->eye[d];
  const float z = dot3(rel, canvas->forward), r = (float)reach * 1.001f;
  if (z < -r)
    window[1] = 0;
  else {
    sample_range(dot3(rel, canvas->right), z, r, canvas->focal, canvas->middle[0], window[1], &window[0],
                 &window[1]);
    sample_range(-dot3(rel, canvas->up), z, r, canvas->focal, canvas->middle[1], window[3], &window[2],
                 &window[3]);
  }
}

static void draw_body(struct canvas *canvas, int index)
{
  const struct camera *camera = &canvas->stage->camera;
  const struct shape *shape = &canvas->poses[index].shape;
  int window[4];
  if (shape_distance(shape, camera->eye, NULL) <= 0.0) return; /* behind a wall we look through it */
  body_window(canvas, shape, window);
  for (int y = window[2]; y < window[3]; y++)
    for (int x = window[0]; x < window[1]; x++) {
      const double tx = ((double)x + 0.5 - canvas->middle[0]) / canvas->focal;
      const double ty = (canvas->middle[1] - (double)y - 0.5) / canvas->focal;
      double direction[3], t; /* one metre forward, so that t is the view depth */
      for (int d = 0; d < 3; d++)
        direction[d] = camera->forward[d] + tx * camera->right[d] + ty * camera->up[d];
      if (!raycast_shape(shape, camera->eye, direction, &t)) continue;
      const int64_t i = (int64_t)y * canvas->surface.width + x;
      if (t >= (double)canvas->surface.depth[i]) continue;
      canvas->surface.depth[i] = (float)t;
      canvas->what[i] = (uint16_t)(WHAT_BODY + index);
    }
}

static void place_camera(struct canvas *canvas)
{
  const struct camera *camera = &canvas->stage->camera;
  double eye[3];
  vec_sub(camera->eye, canvas->center, eye);
  to_float(eye, canvas->eye);
  to_float(camera->right, canvas->right);
  to_float(camera->up, canvas->up);
  to_float(camera->forward, canvas->forward);
  canvas->focal = (float)(0.5 * canvas->surface.height / camera->tangent);
  canvas->middle[0] = 0.5f * (float)canvas->surface.width;
  canvas->middle[1] = 0.5f * (float)canvas->surface.height;
}

/* Snow that has loosened is drawn with larger particles, within limits: it must still look looser. */
static double spacing_in(const struct preview_stage *stage, const struct frame *frame)
{
  return fmin(fmax(cloud_spacing(frame->position, frame->count), stage->spacing), 1.4 * stage->spacing);
}

void canvas_create(struct canvas *canvas, const struct preview_stage *stage, const struct frame *frame,
                   const struct body *bodies, int body_count, int width, int height)
{
  memset(canvas, 0, sizeof *canvas);
  canvas->stage = stage;
  double diagonal[3];
  vec_sub(stage->upper, stage->lower, diagonal);
  for (int d = 0; d < 3; d++) canvas->center[d] = 0.5 * (stage->lower[d] + stage->upper[d]);
  canvas->radius = (float)(0.5 * vec_norm(diagonal));
  canvas->spacing = (float)spacing_in(stage, frame);
  depth_map_create(&canvas->surface, width, height);
  canvas->what = mem_alloc((size_t)width * (size_t)height, sizeof *canvas->what);
  place_camera(canvas);
  canvas->sizes = mem_alloc((size_t)frame->count, 1);
  cloud_sizes(frame->position, frame->count, (double)canvas->spacing, canvas->sizes);
  draw_snow(canvas, frame);
  canvas->pose_count = body_count < MOST_BODIES ? body_count : MOST_BODIES;
  canvas->poses = mem_alloc((size_t)canvas->pose_count, sizeof *canvas->poses);
  for (int b = 0; b < canvas->pose_count; b++) {
    body_pose_at(&bodies[b], frame->info.time, &canvas->poses[b]);
    draw_body(canvas, b);
  }
}

void canvas_destroy(struct canvas *canvas)
{
  depth_map_destroy(&canvas->surface);
  mem_free(canvas->what);
  mem_free(canvas->value);
  mem_free(canvas->poses);
  mem_free(canvas->sizes);
}

void canvas_point(const struct canvas *canvas, int x, int y, float z, float out[3])
{
  const float a = ((float)x + 0.5f - canvas->middle[0]) * z / canvas->focal;
  const float b = (canvas->middle[1] - (float)y - 0.5f) * z / canvas->focal;
  for (int d = 0; d < 3; d++)
    out[d] = canvas->eye[d] + z * canvas->forward[d] + a * canvas->right[d] + b * canvas->up[d];
}

/* Slope of the snow's depth (m a sample) towards +offset, from the sides that are on the same surface. */
static float snow_slope(const struct canvas *canvas, int64_t i, int position, int limit, int64_t offset)
{
  const float *depth = canvas->surface.depth, range = SURFACE_RANGE * canvas->spacing;
  float sum = 0.0f;
  int sides = 0;
  if (position + 1 < limit && canvas->what[i + offset] == WHAT_SNOW &&
      fabsf(depth[i + offset] - depth[i]) < range) {
    sum += depth[i + offset] - depth[i];
    sides++;
  }
  if (position > 0 && canvas->what[i - offset] == WHAT_SNOW && fabsf(depth[i] - depth[i - offset]) < range) {
    sum += depth[i] - depth[i - offset];
    sides++;
  }
  return sides == 2 ? 0.5f * sum : sum;
}

static void snow_normal(const struct canvas *canvas, int x, int y, float out[3])
{
  const int width = canvas->surface.width;
  const int64_t i = (int64_t)y * width + x;
  const float sx = snow_slope(canvas, i, x, width, 1),
              sy = -snow_slope(canvas, i, y, canvas->surface.height, width);
  const float u = (float)x + 0.5f - canvas->middle[0], v = canvas->middle[1] - (float)y - 0.5f;
  const float a = canvas->focal * sx, b = canvas->focal * sy;
  const float c = -(canvas->surface.depth[i] + u * sx + v * sy);
  const float scale = 1.0f / sqrtf(a * a + b * b + c * c);
  for (int d = 0; d < 3; d++)
    out[d] = scale * (a * canvas->right[d] + b * canvas->up[d] + c * canvas->forward[d]);
}

void canvas_normal(const struct canvas *canvas, int x, int y, float out[3])
{
  const int64_t i = (int64_t)y * canvas->surface.width + x;
  if (canvas->what[i] == WHAT_SNOW) {
    snow_normal(canvas, x, y, out);
    return;
  }
  const struct shape *shape = &canvas->poses[canvas->what[i] - WHAT_BODY].shape;
  double at[3], normal[3];
  if (shape->kind == SHAPE_PLANE) {
    to_float(shape->axis, out);
    return;
  }
  canvas_point(canvas, x, y, canvas->surface.depth[i], out);
  for (int d = 0; d < 3; d++) at[d] = canvas->center[d] + (double)out[d];
  shape_distance(shape, at, normal);
  to_float(normal, out);
}
