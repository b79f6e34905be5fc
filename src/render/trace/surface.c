#include "render/trace/surface.h"

#include <math.h>

static const float look_every = 0.4f; /* voxels */

static void point_at(const struct surface_ray *r, float t, float out[3])
{
  for (int d = 0; d < 3; d++) out[d] = r->from[d] + t * r->direction[d];
}

static float value_at(const struct surface_ray *r, float t)
{
  float p[3];
  point_at(r, t, p);
  return volume_extinction(r->volume, p);
}

void surface_begin(struct surface_ray *r, const struct volume *v, const double from[3],
                   const float direction[3])
{
  r->volume = v;
  r->at = 0.0f;
  for (int d = 0; d < 3; d++) {
    r->from[d] = (float)((from[d] - v->origin[d]) / v->voxel);
    r->direction[d] = direction[d];
  }
  r->value = value_at(r, 0.0f);
}

/* Distance along the ray to where it leaves the box of `side` voxels that holds p, and a little more. */
static float leave_box(const struct surface_ray *r, const float p[3], float side)
{
  float least = INFINITY;
  for (int d = 0; d < 3; d++) {
    if (r->direction[d] == 0.0f) continue;
    const float low = side * floorf(p[d] / side), face = r->direction[d] > 0.0f ? low + side : low;
    const float t = (face - p[d]) / r->direction[d];
    least = t < least ? t : least;
  }
  return (least > 0.0f ? least : 0.0f) + 1e-3f;
}

/* Where the ray comes into the box of all tiles; infinite if it does not. */
static float reach_box(const struct surface_ray *r)
{
  const struct volume *v = r->volume;
  float from = r->at, to = INFINITY;
  for (int d = 0; d < 3; d++) {
    const float inverse = 1.0f / r->direction[d]; /* infinite: the comparisons below still hold */
    const float a = ((float)v->low[d] - r->from[d]) * inverse, b = ((float)v->high[d] - r->from[d]) * inverse;
    from = fmaxf(from, fminf(a, b));
    to = fminf(to, fmaxf(a, b));
  }
  return from < to ? from : INFINITY;
}

/* Moves `at` over space where nothing can be found; false if nothing follows. */
static bool skip_empty(struct surface_ray *r, float upto)
{
  const struct volume *v = r->volume;
  r->at = reach_box(r);
  while (r->at < upto) {
    float p[3];
    int32_t voxel[3];
    point_at(r, r->at, p);
    for (int d = 0; d < 3; d++) {
      const int32_t at = (int32_t)floorf(p[d]);
      if (at < v->low[d] - 1 || at > v->high[d]) return false;
      voxel[d] = at < v->low[d] ? v->low[d] : at >= v->high[d] ? v->high[d] - 1 : at;
    }
    const int32_t tile = volume_find(v, voxel);
    if (tile >= 0) return true;
    const float next = r->at + leave_box(r, p, tile == -1 ? (float)VOLUME_TILE : 8.0f * VOLUME_TILE);
    r->at = next > r->at ? next : nextafterf(r->at, INFINITY); /* far away the way may be lost in rounding */
    r->value = 0.0f;
  }
  return false;
}

/* Between a place outside and one inside. */
static float bisect(const struct surface_ray *r, float outside, float inside)
{
  for (int k = 0; k < 8; k++) {
    const float middle = 0.5f * (outside + inside);
    if (value_at(r, middle) < surface_level)
      outside = middle;
    else
      inside = middle;
  }
  return outside;
}

/* Differences over two voxels: a trilinear field has no slope on its faces. */
static void normal_at(const struct surface_ray *r, float t, float out[3])
{
  float p[3], square = 0.0f;
  point_at(r, t, p);
  for (int d = 0; d < 3; d++) {
    const float here = p[d];
    p[d] = here - 1.0f;
    out[d] = volume_extinction(r->volume, p);
    p[d] = here + 1.0f;
    out[d] -= volume_extinction(r->volume, p);
    p[d] = here;
    square += out[d] * out[d];
  }
  const float scale = square > 0.0f ? 1.0f / sqrtf(square) : 0.0f;
  for (int d = 0; d < 3; d++) out[d] = square > 0.0f ? out[d] * scale : -r->direction[d];
}

bool surface_enter(struct surface_ray *r, double upto, double *distance, float normal[3])
{
  const float end = (float)(upto / r->volume->voxel);
  while (r->at < end) {
    const float before = r->at, next = fminf(before + look_every, end), old = r->value;
    r->at = next;
    r->value = value_at(r, next);
    if (old < surface_level && r->value >= surface_level) {
      const float t = bisect(r, before, next);
      normal_at(r, t, normal);
      *distance = (double)t * r->volume->voxel;
      return true;
    }
    if (r->value == 0.0f && !skip_empty(r, end)) return false;
  }
  return false;
}

float surface_mirrored(float cosine)
{
  const float away = 1.0f - fminf(fabsf(cosine), 1.0f), square = away * away;
  return 0.02f + 0.98f * square * square * away;
}

float surface_glint(float cosine)
{
  float power = cosine > 0.0f ? cosine : 0.0f;
  for (int k = 0; k < 9; k++) power *= power; /* cosine^512 */
  return power * 513.0f * 0.159154943f;
}
