/* Snow is nearly white and lets light through: its shading wraps around the terminator, its shadows and
 * creases lean to blue because red is absorbed on the long way through ice, and it is never black. Bodies and
 * ground are darker and matte, so that white reads as white. Colours are linear until the last step.
 *
 * A pixel is four samples; all four are shaded only where they see different things. */
#include "render/preview/shade.h"

#include "base/memory.h"
#include "base/vec.h"
#include "material/look.h"
#include "render/preview/palette.h"
#include "render/tone.h"

#include <math.h>
#include <string.h>

struct palette {
  float sun[3], zenith[3], horizon[3], bounce[3];
};

static const struct palette light = {
    .sun = {0.90f, 0.82f, 0.70f},
    .zenith = {0.13f, 0.22f, 0.38f},
    .horizon = {0.42f, 0.52f, 0.64f},
    .bounce = {0.15f, 0.16f, 0.18f},
};

static const float ambient[3] = {0.21f, 0.285f, 0.405f};
struct shader {
  const struct canvas *canvas;
  const struct sun *sun;
  const struct occlusion *occlusion;
  float up[3];
  double (*axes)[2][3]; /* of the grid on each plane */
  float (*colors)[3];   /* of the bodies */
};

static float mix(float a, float b, float t)
{
  return a + (b - a) * t;
}

/* Of the view ray through a sample; unit. */
static void view_direction(const struct canvas *canvas, float x, float y, float out[3])
{
  const float a = (x - canvas->middle[0]) / canvas->focal, b = (canvas->middle[1] - y) / canvas->focal;
  for (int d = 0; d < 3; d++) out[d] = canvas->forward[d] + a * canvas->right[d] + b * canvas->up[d];
  const float scale = 1.0f / sqrtf(dot3(out, out));
  for (int d = 0; d < 3; d++) out[d] *= scale;
}

static void shade_sky(const struct shader *s, const float direction[3], float out[3])
{
  /* Level where it begins, or the horizon would show as a line in the haze. */
  const float height = dot3(direction, s->up), square = height * height;
  const float t = height > 0.0f ? square / (square + 0.06f) : 0.0f;
  for (int c = 0; c < 3; c++) out[c] = mix(light.horizon[c], light.zenith[c], t);
}

static void shade_snow(const struct shader *s, const float n[3], float sun, float sky, float out[3])
{
  static const float albedo[3] = {0.93f, 0.95f, 0.97f};
  static const float glow[3] = {0.030f, 0.060f,
                                0.105f}; /* of sunlight that comes through from the lit side */
  const float facing = dot3(n, s->sun->direction), wrapped = clamp01((facing + 0.15f) / 1.15f);
  const float direct = wrapped * sun, upward = 0.5f + 0.5f * dot3(n, s->up);
  for (int c = 0; c < 3; c++) {
    const float dome = mix(light.bounce[c], ambient[c], upward);
    /* Light bounces about in a white crease and comes out bluer, not black. */
    const float open = mix(sky, sky * sky, 0.5f - 0.25f * (float)c);
    out[c] = albedo[c] * (light.sun[c] * direct + dome * (0.25f + 0.75f * open)) + glow[c] * (1.0f - direct);
  }
}

/* Snow without some of its white: clearer and bluer. */
static void shade_ice(const struct shader *s, const float tint[3], const float n[3], float sun, float sky,
                      float out[3])
{
  shade_snow(s, n, sun, sky, out);
  for (int c = 0; c < 3; c++) out[c] *= tint[c];
}

/* Blue below, and above it the mirrored sky and sun (Schlick's fit of Fresnel's formula for water). */
static void shade_water(const struct shader *s, const float view[3], const float n[3], float sun, float sky,
                        float out[3])
{
  static const float deep[3] = {0.06f, 0.24f, 0.42f};
  const float facing = dot3(view, n), grazing = 1.0f - fminf(fabsf(facing), 1.0f);
  const float square = grazing * grazing, mirrored = 0.02f + 0.98f * square * square * grazing;
  float back[3], above[3];
  for (int d = 0; d < 3; d++) back[d] = view[d] - 2.0f * facing * n[d];
  shade_sky(s, back, above);
  const float glint = sun * powf(clamp01(dot3(back, s->sun->direction)), 120.0f);
  const float direct = clamp01(dot3(n, s->sun->direction)) * sun;
  for (int c = 0; c < 3; c++) {
    const float body = deep[c] * (light.sun[c] * direct + 1.4f * ambient[c] * sky + 0.2f);
    out[c] = mix(body, above[c] * sky, mirrored) + 0.8f * glint * light.sun[c];
  }
}

static void shade_matte(const struct shader *s, const float albedo[3], const float n[3], float sun, float sky,
                        float out[3])
{
  const float direct = clamp01(dot3(n, s->sun->direction)) * sun, upward = 0.5f + 0.5f * dot3(n, s->up);
  for (int c = 0; c < 3; c++)
    out[c] =
        albedo[c] * (1.5f * light.sun[c] * direct + 1.2f * mix(light.bounce[c], ambient[c], upward) * sky);
}

/* How much of a grid line (0 .. 1) lies under a footprint `width` wide at coordinate u, both in meshes. */
static float grid_line(float u, float width)
{
  const float half = 0.008f, distance = fabsf(u - rintf(u)), spread = fmaxf(width, 1e-6f);
  const float cover =
      clamp01((half + 0.5f * spread - distance) / spread) * fminf(1.0f, 2.0f * half / spread + 0.35f);
  return cover * clamp01(1.5f - 3.0f * width); /* lines closer than pixels are a tone, and we want none */
}

/* Coordinates in the plane of a hit of the ray through (x, y), in meshes; false if the ray misses. */
static bool plane_coordinates(const struct canvas *canvas, const struct shape *shape, const double axes[2][3],
                              double x, double y, double out[2])
{
  const struct camera *camera = &canvas->stage->camera;
  const double a = (x - canvas->middle[0]) / canvas->focal, b = (canvas->middle[1] - y) / canvas->focal;
  double direction[3], from[3], at[3];
  for (int d = 0; d < 3; d++) direction[d] = camera->forward[d] + a * camera->right[d] + b * camera->up[d];
  vec_sub(camera->eye, shape->center, from);
  const double slope = vec_dot(direction, shape->axis);
  if (!(slope < 0.0)) return false;
  vec_axpy(from, -vec_dot(from, shape->axis) / slope, direction, at);
  for (int k = 0; k < 2; k++) out[k] = vec_dot(at, axes[k]) / canvas->stage->grid;
  return true;
}

static float grid_at(const struct canvas *canvas, const struct shape *shape, const double axes[2][3], int x,
                     int y)
{
  double here[2], right[2], below[2];
  if (!plane_coordinates(canvas, shape, axes, x + 0.5, y + 0.5, here) ||
      !plane_coordinates(canvas, shape, axes, x + 2.5, y + 0.5, right) ||
      !plane_coordinates(canvas, shape, axes, x + 0.5, y + 2.5, below))
    return 0.0f;
  float line = 0.0f;
  for (int k = 0; k < 2; k++)
    line = fmaxf(line, grid_line((float)(here[k] - 4096.0 * floor(here[k] / 4096.0)),
                                 (float)(fabs(right[k] - here[k]) + fabs(below[k] - here[k]))));
  return line;
}

static void shade_plane(const struct shader *s, int index, int x, int y, float sun, float sky,
                        const float n[3], float out[3])
{
  const struct canvas *canvas = s->canvas;
  const struct shape *shape = &canvas->poses[index].shape;
  const float depth = canvas->surface.depth[(int64_t)y * canvas->surface.width + x];
  float p[3], albedo[3], view[3], far[3];
  canvas_point(canvas, x, y, depth, p);
  const float line = 1.0f - 0.30f * grid_at(canvas, shape, s->axes[index], x, y);
  for (int c = 0; c < 3; c++) albedo[c] = s->colors[index][c] * line;
  shade_matte(s, albedo, n, sun, sky, out);
  /* Ground far from the stage melts into the horizon: no hard edge, and distance reads. */
  view_direction(canvas, (float)x + 0.5f, (float)y + 0.5f, view);
  shade_sky(s, view, far);
  const float distance = sqrtf(dot3(p, p)) / canvas->radius,
              haze = 1.0f - expf(-0.012f * distance * distance);
  for (int c = 0; c < 3; c++) out[c] = mix(out[c], far[c], haze);
}

/* The colour of matter at a sample; false if it is snow's own. */
static bool matter_color(const struct preview_stage *stage, const float *value, int64_t sample, float out[3])
{
  if (!value) return false;
  if (stage->color != COLOR_SNOW) {
    palette_color(stage->color, stage->range, value[sample], out);
    return true;
  }
  if (stage->material_count == 0) return false;
  const int index = value[sample] < (float)stage->material_count ? (int)value[sample] : 0;
  if (look_is_snow(&stage->materials[index])) return false;
  look_color(&stage->materials[index], out);
  return true;
}

/* Water, ice and wet snow; false of all other matter. */
static bool shade_matter(const struct shader *s, int x, int y, const float n[3], float sun, float sky,
                         float out[3])
{
  const struct canvas *canvas = s->canvas;
  const float value = canvas->value ? canvas->value[(int64_t)y * canvas->surface.width + x] : 0.0f;
  static const float ice[3] = {0.58f, 0.80f, 0.95f}, wet[3] = {0.74f, 0.85f, 0.93f};
  float view[3];
  if (canvas->stage->color != COLOR_SNOW || !(value < 0.0f)) return false;
  view_direction(canvas, (float)x + 0.5f, (float)y + 0.5f, view);
  if (value == -(float)MATTER_WATER)
    shade_water(s, view, n, sun, sky, out);
  else
    shade_ice(s, value == VALUE_WET_SNOW ? wet : ice, n, sun, sky, out);
  return true;
}

static void shade_sample(const struct shader *s, int x, int y, float out[3])
{
  const struct canvas *canvas = s->canvas;
  const uint16_t what = canvas->what[(int64_t)y * canvas->surface.width + x];
  float n[3], sun, sky;
  if (what == WHAT_SKY) {
    view_direction(canvas, (float)x + 0.5f, (float)y + 0.5f, n);
    shade_sky(s, n, out);
    return;
  }
  occlusion_at(s->occlusion, canvas, x, y, &sun, &sky);
  canvas_normal(canvas, x, y, n);
  if (what == WHAT_SNOW && shade_matter(s, x, y, n, sun, sky, out)) return;
  float color[3];
  if (what == WHAT_SNOW &&
      matter_color(canvas->stage, canvas->value, (int64_t)y * canvas->surface.width + x, color)) {
    shade_matte(s, color, n, sun, sky, out);
    return;
  }
  if (what == WHAT_SNOW) {
    shade_snow(s, n, sun, sky, out);
    return;
  }
  const int index = what - WHAT_BODY;
  if (canvas->poses[index].shape.kind == SHAPE_PLANE)
    shade_plane(s, index, x, y, sun, sky, n, out);
  else
    shade_matte(s, s->colors[index], n, sun, sky, out);
}

/* Four samples of one thing, and of one surface where it is snow. */
static bool uniform(const struct canvas *canvas, int64_t corner)
{
  const int64_t width = canvas->surface.width, others[3] = {corner + 1, corner + width, corner + width + 1};
  for (int k = 0; k < 3; k++) {
    if (canvas->what[others[k]] != canvas->what[corner]) return false;
    if (canvas->what[corner] == WHAT_SNOW &&
        fabsf(canvas->surface.depth[others[k]] - canvas->surface.depth[corner]) > 0.7f * canvas->spacing)
      return false;
  }
  return true;
}

/* If the background is left out, its samples do not count. */
static void shade_pixel(const struct shader *s, int x, int y, float out[3])
{
  const bool skip = s->canvas->stage->transparent;
  float shown = 0.0f;
  if (uniform(s->canvas, (int64_t)(2 * y) * s->canvas->surface.width + 2 * x)) {
    shade_sample(s, 2 * x, 2 * y, out);
    return;
  }
  out[0] = out[1] = out[2] = 0.0f;
  for (int k = 0; k < 4; k++) {
    float sample[3];
    const int u = 2 * x + (k & 1), v = 2 * y + (k >> 1);
    if (skip && s->canvas->what[(int64_t)v * s->canvas->surface.width + u] == WHAT_SKY) continue;
    shade_sample(s, u, v, sample);
    for (int c = 0; c < 3; c++) out[c] += sample[c];
    shown += 1.0f;
  }
  for (int c = 0; c < 3 && shown > 0.0f; c++) out[c] /= shown;
}

/* Part of a pixel's four samples that show something, of 255. */
static uint8_t opacity(const struct canvas *canvas, int x, int y)
{
  int shown = 0;
  for (int k = 0; k < 4; k++)
    shown += canvas->what[(int64_t)(2 * y + (k >> 1)) * canvas->surface.width + 2 * x + (k & 1)] != WHAT_SKY;
  return (uint8_t)(255 * shown / 4);
}

enum { TONES = 4096 };
static const float BRIGHTEST = 4.0f, KNEE = 0.60f;

/* sRGB value (0 .. 255, with fraction) of each tone, spaced by square root so that the darks have enough. */
static float *tone_table(void)
{
  float *table = mem_alloc(TONES + 1, sizeof *table);
  for (int i = 0; i <= TONES; i++) {
    const float root = (float)i / (float)TONES;
    table[i] = 255.0f * tone_srgb(tone_shoulder(BRIGHTEST * root * root, KNEE));
  }
  return table;
}

void shade_image(const struct canvas *canvas, const struct sun *sun, const struct occlusion *occlusion,
                 struct image *image)
{
  struct shader s = {.canvas = canvas, .sun = sun, .occlusion = occlusion};
  for (int d = 0; d < 3; d++) s.up[d] = (float)canvas->stage->up[d];
  s.axes = mem_alloc((size_t)canvas->pose_count, sizeof *s.axes);
  for (int b = 0; b < canvas->pose_count; b++)
    camera_tangents(canvas->poses[b].shape.axis, s.axes[b][0], s.axes[b][1]);
  s.colors = mem_alloc((size_t)canvas->pose_count, sizeof *s.colors);
  for (int b = 0; b < canvas->pose_count; b++) body_color(canvas->poses[b].body, b, s.colors[b]);
  if (canvas->stage->transparent) image_add_alpha(image);
  float *table = tone_table();
  for (int y = 0; y < image->height; y++)
    for (int x = 0; x < image->width; x++) {
      float color[3];
      uint8_t *to = image->rgb + 3 * ((int64_t)y * image->width + x);
      shade_pixel(&s, x, y, color);
      for (int c = 0; c < 3; c++) {
        const float tone = table[(int)((float)TONES * sqrtf(clamp01(color[c] / BRIGHTEST)))];
        to[c] = (uint8_t)fminf(tone + tone_dither(x, y), 255.0f);
      }
      if (image->alpha) image->alpha[(int64_t)y * image->width + x] = opacity(canvas, x, y);
    }
  mem_free(table);
  mem_free(s.colors);
  mem_free(s.axes);
}
