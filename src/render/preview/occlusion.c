/* Sky occlusion is estimated from the depth map alone: of a dozen points around a pixel, those that stand up
 * above its tangent plane take away light. The pattern turns from pixel to pixel through sixteen angles, and
 * a 4x4 mean over the same surface, which meets each angle once, removes the pattern again. */
#include "render/preview/occlusion.h"

#include "base/memory.h"

#include <math.h>

enum { TAPS = 12, TILE = 4 };

static const float PI = 3.14159265f, GOLDEN_ANGLE = 2.399963f;

/* The points to look at, a unit disc, for each of the sixteen angles. */
struct pattern {
  float turn[TILE * TILE][2]; /* cosine, sine */
  float point[TILE * TILE][TAPS][2];
};

static void pattern_make(struct pattern *pattern)
{
  /* An order that puts unlike angles side by side. */
  static const int order[TILE * TILE] = {0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5};
  for (int i = 0; i < TILE * TILE; i++) {
    const float turn = (float)order[i] * (2.0f * PI / (float)(TILE * TILE));
    pattern->turn[i][0] = cosf(turn);
    pattern->turn[i][1] = sinf(turn);
    for (int k = 0; k < TAPS; k++) {
      /* Denser near the middle: creases and contacts matter more than what is far. */
      const float q = ((float)k + 0.7f) / (float)TAPS, r = q * sqrtf(q),
                  angle = turn + GOLDEN_ANGLE * (float)k;
      pattern->point[i][k][0] = r * cosf(angle);
      pattern->point[i][k][1] = r * sinf(angle);
    }
  }
}

/* The nearest of the four samples represents the pixel. */
static void pick(struct occlusion *o, const struct canvas *canvas)
{
  const int64_t width = canvas->surface.width;
  for (int y = 0; y < o->height; y++)
    for (int x = 0; x < o->width; x++) {
      const int64_t to = (int64_t)y * o->width + x, corner = 2 * y * width + 2 * x;
      int64_t nearest = corner;
      for (int k = 1; k < 4; k++) {
        const int64_t from = corner + (k & 1) + (k >> 1) * width;
        if (canvas->surface.depth[from] < canvas->surface.depth[nearest]) nearest = from;
      }
      o->depth[to] = canvas->surface.depth[nearest];
      o->what[to] = canvas->what[nearest];
      o->sample[to] = (uint8_t)((nearest - corner) % width + 2 * ((nearest - corner) / width));
    }
}

/* How far around a point others can shade it (m). */
static float sky_reach(const struct canvas *canvas)
{
  return fmaxf(0.16f * canvas->radius, 5.0f * canvas->spacing);
}

/* p and n as seen from the camera: x right, y up, z forward. */
static void to_view(const struct canvas *canvas, const float in[3], float out[3])
{
  out[0] = dot3(in, canvas->right);
  out[1] = dot3(in, canvas->up);
  out[2] = dot3(in, canvas->forward);
}

static float sky_open(const struct occlusion *o, const struct canvas *canvas, int x0, int y0,
                      const float normal[3], const float (*point)[2])
{
  const float z = o->depth[(int64_t)y0 * o->width + x0], per = 2.0f / canvas->focal,
              reach = sky_reach(canvas);
  const float u0 = (float)x0 + 0.5f, v0 = (float)y0 + 0.5f, mu = 0.5f * canvas->middle[0],
              mv = 0.5f * canvas->middle[1];
  const float p[3] = {(u0 - mu) * per * z, (mv - v0) * per * z, z};
  const float pixels = fminf(reach / (per * z), 0.4f * (float)o->height);
  float n[3], hidden = 0.0f;
  to_view(canvas, normal, n);
  for (int k = 0; k < TAPS; k++) {
    const float u = u0 + pixels * point[k][0], v = v0 + pixels * point[k][1];
    if (!(u >= 0.0f && v >= 0.0f && u < (float)o->width && v < (float)o->height)) continue;
    const int x = (int)u, y = (int)v;
    const float other = o->depth[(int64_t)y * o->width + x];
    if (other >= FIRN_DEPTH_EMPTY) continue;
    const float a = ((float)x + 0.5f - mu) * per, b = (mv - (float)y - 0.5f) * per;
    const float to[3] = {a * other - p[0], b * other - p[1], other - z};
    const float distance = sqrtf(dot3(to, to)) + 1e-6f * reach, rise = dot3(to, n) / distance;
    hidden += clamp01((rise - 0.12f) * 1.2f) * clamp01(1.6f - distance / reach);
  }
  return clamp01(1.0f - 1.5f * hidden / (float)TAPS);
}

/* Ground away from the stage sees the whole sky; only what is near needs looking at. */
static bool near_stage(const struct canvas *canvas, const float p[3], float reach)
{
  float outside = 0.0f;
  for (int d = 0; d < 3; d++) {
    const float half = 0.5f * (float)(canvas->stage->upper[d] - canvas->stage->lower[d]);
    const float beyond = fmaxf(fabsf(p[d]) - half, 0.0f);
    outside += beyond * beyond;
  }
  return outside < reach * reach;
}

static void measure(struct occlusion *o, const struct canvas *canvas, const struct sun *sun)
{
  const float reach = 1.6f * sky_reach(canvas);
  struct pattern pattern;
  pattern_make(&pattern);
  for (int y = 0; y < o->height; y++)
    for (int x = 0; x < o->width; x++) {
      const int64_t i = (int64_t)y * o->width + x;
      const int sx = 2 * x + (o->sample[i] & 1), sy = 2 * y + (o->sample[i] >> 1),
                angle = (y % TILE) * TILE + x % TILE;
      const bool snow = o->what[i] == WHAT_SNOW;
      float p[3], n[3];
      o->sun[i] = o->sky[i] = 1.0f;
      if (o->what[i] == WHAT_SKY) continue;
      canvas_point(canvas, sx, sy, o->depth[i], p);
      canvas_normal(canvas, sx, sy, n);
      const bool faces = dot3(n, sun->direction) > -0.35f;
      o->sun[i] = faces ? sun_visible(sun, p, n, snow, pattern.turn[angle]) : 0.0f;
      if (snow || near_stage(canvas, p, reach))
        o->sky[i] = sky_open(o, canvas, x, y, n, pattern.point[angle]);
    }
}

static bool same_surface(uint16_t what_a, float a, uint16_t what_b, float b, float range)
{
  return what_a == what_b && fabsf(a - b) < range;
}

/* On inclined ground the depth changes from row to row; a share of the depth itself allows for that. */
static float range_at(const struct canvas *canvas, float depth)
{
  return 3.0f * canvas->spacing + 0.03f * depth;
}

/* Mean over four neighbours along one direction: -1 .. +2 in units of stride. */
static void blur(const struct occlusion *o, const struct canvas *canvas, const float *in, float *out,
                 bool vertical)
{
  const int64_t stride = vertical ? o->width : 1;
  const int limit = vertical ? o->height : o->width;
  for (int y = 0; y < o->height; y++)
    for (int x = 0; x < o->width; x++) {
      const int64_t i = (int64_t)y * o->width + x;
      const int at = vertical ? y : x;
      out[i] = in[i];
      if (o->what[i] == WHAT_SKY) continue;
      const float range = range_at(canvas, o->depth[i]);
      float sum = 0.0f, count = 0.0f;
      for (int k = -1; k < TILE - 1; k++) {
        if (at + k < 0 || at + k >= limit) continue;
        const int64_t j = i + k * stride;
        if (!same_surface(o->what[i], o->depth[i], o->what[j], o->depth[j], range)) continue;
        sum += in[j];
        count += 1.0f;
      }
      out[i] = sum / count;
    }
}

void occlusion_create(struct occlusion *o, const struct canvas *canvas, const struct sun *sun)
{
  o->width = canvas->surface.width / 2;
  o->height = canvas->surface.height / 2;
  const size_t pixels = (size_t)o->width * (size_t)o->height;
  o->depth = mem_alloc(pixels, sizeof *o->depth);
  o->what = mem_alloc(pixels, sizeof *o->what);
  o->sun = mem_alloc(pixels, sizeof *o->sun);
  o->sky = mem_alloc(pixels, sizeof *o->sky);
  o->sample = mem_alloc(pixels, sizeof *o->sample);
  pick(o, canvas);
  measure(o, canvas, sun);
  float *other = mem_alloc(pixels, sizeof *other);
  blur(o, canvas, o->sun, other, false);
  blur(o, canvas, other, o->sun, true);
  blur(o, canvas, o->sky, other, false);
  blur(o, canvas, other, o->sky, true);
  mem_free(other);
}

void occlusion_destroy(struct occlusion *o)
{
  mem_free(o->depth);
  mem_free(o->what);
  mem_free(o->sample);
  mem_free(o->sun);
  mem_free(o->sky);
}

void occlusion_at(const struct occlusion *o, const struct canvas *canvas, int x, int y, float *sun,
                  float *sky)
{
  const int64_t at = (int64_t)y * canvas->surface.width + x;
  const float depth = canvas->surface.depth[at], range = range_at(canvas, depth);
  const int side_x = x % 2 ? 1 : -1, side_y = y % 2 ? 1 : -1;
  float weight = 0.0f, sum_sun = 0.0f, sum_sky = 0.0f;
  for (int k = 0; k < 4; k++) {
    const int hx = x / 2 + (k & 1 ? side_x : 0), hy = y / 2 + (k >> 1 ? side_y : 0);
    if (hx < 0 || hy < 0 || hx >= o->width || hy >= o->height) continue;
    const int64_t j = (int64_t)hy * o->width + hx;
    if (!same_surface(canvas->what[at], depth, o->what[j], o->depth[j], range)) continue;
    const float w = (k & 1 ? 0.25f : 0.75f) * (k >> 1 ? 0.25f : 0.75f);
    weight += w;
    sum_sun += w * o->sun[j];
    sum_sky += w * o->sky[j];
  }
  const int64_t own = (int64_t)(y / 2) * o->width + x / 2;
  *sun = weight > 0.0f ? sum_sun / weight : o->sun[own];
  *sky = weight > 0.0f ? sum_sky / weight : o->sky[own];
}
