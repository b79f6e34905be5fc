/* A separable filter of seven taps in a few rounds, from wide to narrow: the wide round levels the spheres,
 * the narrow ones level the pattern that sparse taps leave, at a fraction of a dense filter's cost.
 *
 * Taps come in pairs, one on each side, and a pair counts only if both are on this surface. So a slope
 * is reproduced exactly (the two errors cancel) right up to the silhouette, where a one-sided mean would bend
 * it. */
#include "render/preview/smooth.h"

#include "base/memory.h"

enum { PAIRS = 3, RUN = 32 };

static const float pair_weight[PAIRS] = {0.80f, 0.41f, 0.14f}; /* a Gaussian at 1/3, 2/3 and 1 of 2 sigma */

static float step_at(float focal_step, float z)
{
  const float step = focal_step / z;
  return step < 120.0f ? step : 120.0f; /* an eye in the snow must not look across the whole picture */
}

/* Adds one pair of taps to a run of pixels. An empty pixel is so far from any other that its weight is zero,
 * and equal to its like, so it needs no branch. */
static void add_pair(const float *restrict at, int64_t tap, int from, int to, float pair, float inverse_range,
                     float *restrict sum, float *restrict weight)
{
  for (int i = from; i < to; i++) {
    const float a = at[i + tap] - at[i], b = at[i - tap] - at[i], p = a * inverse_range,
                q = b * inverse_range;
    float u = 1.0f - p * p, v = 1.0f - q * q;
    u = u > 0.0f ? u : 0.0f;
    v = v > 0.0f ? v : 0.0f;
    const float w = pair * u * u * v * v;
    sum[i] += w * (a + b);
    weight[i] += 2.0f * w;
  }
}

/* Depth of the first pixel of a run that is not empty, or empty. */
static float first_depth(const float *at, int count)
{
  for (int i = 0; i < count; i++)
    if (at[i] < FIRN_DEPTH_EMPTY) return at[i];
  return FIRN_DEPTH_EMPTY;
}

/* Filters `count` pixels of row y from column x on; all share the tap distance of their first. */
static void filter_run(const struct depth_map *map, const float *in, float *out, int x, int y, int count,
                       int vertical, float focal_step, float inverse_range)
{
  const float *at = in + (int64_t)y * map->width + x;
  float sum[RUN] = {0.0f}, weight[RUN], *to = out + (int64_t)y * map->width + x;
  const float z = first_depth(at, count);
  for (int i = 0; i < RUN; i++) weight[i] = 1.0f;
  int last = 0;
  for (int k = 0; k < PAIRS && z < FIRN_DEPTH_EMPTY; k++) {
    int tap = (int)(step_at(focal_step, z) * (float)(k + 1) + 0.5f);
    tap = tap > last ? tap : last + 1;
    last = tap;
    if (vertical) {
      if (tap <= y && tap < map->height - y)
        add_pair(at, (int64_t)tap * map->width, 0, count, pair_weight[k], inverse_range, sum, weight);
    } else {
      const int from = tap > x ? tap - x : 0, beyond = map->width - tap - x,
                end = beyond < count ? beyond : count;
      add_pair(at, tap, from, end, pair_weight[k], inverse_range, sum, weight);
    }
  }
  for (int i = 0; i < count; i++) to[i] = at[i] + sum[i] / weight[i];
}

/* One direction: `in` to `out`. focal_step / z is the tap distance in pixels. */
static void pass(const struct depth_map *map, const float *in, float *out, int vertical, float focal_step,
                 float inverse_range)
{
  for (int y = 0; y < map->height; y++)
    for (int x = 0; x < map->width; x += RUN) {
      const int count = map->width - x < RUN ? map->width - x : RUN;
      filter_run(map, in, out, x, y, count, vertical, focal_step, inverse_range);
    }
}

/* Of eight pixels on a ring around a pit all but two or fewer are nearer by `step_up` (and less than
 * `deepest`); it is raised to their mean. A slope has four such, an edge fewer. Returns z where there is no
 * pit. */
static float raised(const float *at, const int64_t ring[8], float step_up, float deepest)
{
  const float z = *at;
  float sum = 0.0f;
  int nearer = 0;
  for (int k = 0; k < 8; k++) {
    const float rim = at[ring[k]];
    if (rim < z - step_up && rim > z - deepest) {
      sum += rim;
      nearer++;
    } else if (k - nearer >= 2)
      return z;
  }
  return sum / (float)nearer;
}

void smooth_close(struct depth_map *map, float focal, float reach, float deepest)
{
  const int64_t width = map->width;
  float *out = mem_alloc((size_t)map->width * (size_t)map->height, sizeof *out);
  for (int y = 0; y < map->height; y++)
    for (int x = 0; x < map->width; x++) {
      const float *at = map->depth + y * width + x;
      out[y * width + x] = *at;
      if (*at >= FIRN_DEPTH_EMPTY) continue;
      const int r = (int)(step_at(focal * reach, *at) + 0.5f), s = (int)(0.7071f * (float)r + 0.5f);
      if (r < 1 || x < r || y < r || x >= map->width - r || y >= map->height - r) continue;
      /* Opposite ones follow each other, so that on slopes the search ends early. */
      const int64_t ring[8] = {
          r, -r, r * width, -r * width, s * width + s, -s * width - s, s * width - s, s - s * width};
      out[y * width + x] = raised(at, ring, 0.5f * reach, deepest);
    }
  mem_free(map->depth);
  map->depth = out;
}

/* Depth of the nearest pixel, or empty. */
static float nearest_depth(const struct depth_map *map)
{
  const int64_t pixels = (int64_t)map->width * map->height;
  float nearest = FIRN_DEPTH_EMPTY;
  for (int64_t i = 0; i < pixels; i++) nearest = map->depth[i] < nearest ? map->depth[i] : nearest;
  return nearest;
}

void smooth_depth(struct depth_map *map, float focal, float reach, float range)
{
  static const float shrink = 0.45f;
  const float nearest = nearest_depth(map);
  if (nearest >= FIRN_DEPTH_EMPTY) return;
  float *other = mem_alloc((size_t)map->width * (size_t)map->height, sizeof *other);
  float focal_step = focal * reach / (float)PAIRS;
  /* At least three rounds; where a particle is large on the screen more, until taps are next to each other:
   * sparse ones would leave their pattern. */
  for (int round = 0; round < 3 || (step_at(focal_step, nearest) > 0.7f && round < 12); round++) {
    pass(map, map->depth, other, 0, focal_step, 1.0f / range);
    pass(map, other, map->depth, 1, focal_step, 1.0f / range);
    focal_step *= shrink;
  }
  mem_free(other);
}
