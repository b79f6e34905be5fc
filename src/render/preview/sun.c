/* Shadow edges are soft by the distance to what casts them, as the real sun's are but wider: a first look
 * finds the mean depth of the casters around, a second averages comparisons over a disc that grows with the
 * gap. A ball that touches the ground is tied to it by a sharp dark edge, one in flight throws a pale blot:
 * that reads as height. */
#include "render/preview/sun.h"

#include "base/memory.h"
#include "base/vec.h"
#include "render/raycast.h"

#include <math.h>
#include <string.h>

enum { TEXELS = 1024, LOOKS = 8, TAPS = 12 };

static const float SUN_SIZE = 0.10f; /* penumbra a metre of gap; the real sun's is 0.009 */

static void set_direction(struct sun *sun, const struct preview_stage *stage)
{
  double across[3], along[3];
  camera_tangents(stage->sun, across, along);
  for (int d = 0; d < 3; d++) {
    sun->direction[d] = (float)stage->sun[d];
    sun->across[d] = (float)across[d];
    sun->along[d] = (float)along[d];
  }
}

/* The map covers the stage's box, with room for the splats at its rim. */
static void choose_window(struct sun *sun, const struct canvas *canvas)
{
  const struct preview_stage *stage = canvas->stage;
  float low[2] = {1e30f, 1e30f}, high[2] = {-1e30f, -1e30f};
  for (int corner = 0; corner < 8; corner++) {
    float p[3];
    for (int d = 0; d < 3; d++)
      p[d] = (float)((corner >> d & 1 ? 0.5 : -0.5) * (stage->upper[d] - stage->lower[d]));
    const float at[2] = {dot3(p, sun->across), dot3(p, sun->along)};
    for (int k = 0; k < 2; k++) {
      low[k] = fminf(low[k], at[k]);
      high[k] = fmaxf(high[k], at[k]);
    }
  }
  const float extent = fmaxf(high[0] - low[0], high[1] - low[1]) * 1.04f + 4.0f * canvas->spacing;
  for (int k = 0; k < 2; k++) sun->corner[k] = 0.5f * (low[k] + high[k] - extent);
  sun->scale = (float)TEXELS / extent;
  sun->height = 4.0f * canvas->radius;
}

static void cast_snow(struct sun *sun, const struct canvas *canvas, const struct frame *frame)
{
  struct splat *splats = mem_alloc((size_t)frame->count, sizeof *splats);
  const float unit = canvas_particle_radius(canvas) / 255.0f;
  int64_t count = 0;
  for (int64_t i = 0; i < frame->count; i++) {
    float p[3];
    if (!canvas_particle(canvas, frame, i, p)) continue;
    struct splat *s = &splats[count];
    s->radius = unit * (float)canvas->sizes[i];
    s->pixels = fmaxf(s->radius * sun->scale, 0.7f);
    s->x = (dot3(p, sun->across) - sun->corner[0]) * sun->scale;
    s->y = (dot3(p, sun->along) - sun->corner[1]) * sun->scale;
    s->z = sun->height - dot3(p, sun->direction);
    count += s->x > 0.0f && s->y > 0.0f && s->x < (float)TEXELS && s->y < (float)TEXELS;
  }
  splat_draw(&sun->map, splats, count);
  mem_free(splats);
}

/* Texel range [from, to) that a ball touches along one axis of the map. */
static void texel_range(float at, float corner, float reach, float scale, int range[2])
{
  range[0] = (int)fminf(fmaxf((at - reach - corner) * scale, 0.0f), (float)TEXELS);
  range[1] = (int)fminf(fmaxf((at + reach - corner) * scale + 2.0f, 0.0f), (float)TEXELS);
}

static void cast_body(struct sun *sun, const struct canvas *canvas, const struct shape *shape)
{
  const double reach = shape_reach(shape);
  if (!isfinite(reach))
    return; /* a half-space has no outside to stand in the sun's way that a picture would want */
  double offset[3], direction[3];
  vec_sub(shape->center, canvas->center, offset);
  const float rel[3] = {(float)offset[0], (float)offset[1], (float)offset[2]};
  const double away = vec_norm(offset) + 2.0 * reach;
  int columns[2], rows[2];
  texel_range(dot3(rel, sun->across), sun->corner[0], (float)reach, sun->scale, columns);
  texel_range(dot3(rel, sun->along), sun->corner[1], (float)reach, sun->scale, rows);
  for (int d = 0; d < 3; d++) direction[d] = -(double)sun->direction[d];
  for (int y = rows[0]; y < rows[1]; y++)
    for (int x = columns[0]; x < columns[1]; x++) {
      const float u = sun->corner[0] + ((float)x + 0.5f) / sun->scale;
      const float v = sun->corner[1] + ((float)y + 0.5f) / sun->scale;
      double origin[3], t;
      for (int d = 0; d < 3; d++)
        origin[d] =
            canvas->center[d] + (double)(u * sun->across[d] + v * sun->along[d]) - away * direction[d];
      if (!raycast_shape(shape, origin, direction, &t)) continue;
      float *depth = &sun->map.depth[y * TEXELS + x];
      *depth = fminf(*depth, sun->height - (float)(away - t));
    }
}

void sun_create(struct sun *sun, const struct canvas *canvas, const struct frame *frame)
{
  set_direction(sun, canvas->stage);
  choose_window(sun, canvas);
  sun->radius = canvas->radius;
  sun->spacing = canvas->spacing;
  depth_map_create(&sun->map, TEXELS, TEXELS);
  cast_snow(sun, canvas, frame);
  for (int b = 0; b < canvas->pose_count; b++) cast_body(sun, canvas, &canvas->poses[b].shape);
}

void sun_destroy(struct sun *sun)
{
  depth_map_destroy(&sun->map);
}

struct disc {
  float x, y;   /* centre on the map, texels */
  float radius; /* texels */
  float sine, cosine;
};

/* Depth at the k-th of n points spread evenly over a disc (golden-angle spiral). */
static float disc_depth(const struct sun *sun, const struct disc *disc, int k, int n, const float unit[2])
{
  const float r = disc->radius * sqrtf(((float)k + 0.5f) / (float)n);
  const float x = disc->x + r * (unit[0] * disc->cosine - unit[1] * disc->sine);
  const float y = disc->y + r * (unit[0] * disc->sine + unit[1] * disc->cosine);
  if (!(x >= 0.0f && y >= 0.0f && x < (float)TEXELS && y < (float)TEXELS)) return FIRN_DEPTH_EMPTY;
  return sun->map.depth[(int)y * TEXELS + (int)x];
}

static const float spiral[TAPS][2] = {
    {1.0000f, 0.0000f},   {-0.7374f, 0.6755f}, {0.0874f, -0.9962f}, {0.6084f, 0.7936f},
    {-0.9847f, -0.1742f}, {0.8438f, -0.5367f}, {-0.2596f, 0.9657f}, {-0.4609f, -0.8874f},
    {0.9394f, 0.3429f},   {-0.9243f, 0.3816f}, {0.4238f, -0.9058f}, {0.2993f, 0.9542f},
};

float sun_visible(const struct sun *sun, const float p[3], const float n[3], bool snow, const float turn[2])
{
  /* Snow lets light in: its own skin must not shade it. */
  const float lift = snow ? 1.2f * sun->spacing : 0.3f * sun->spacing,
              slack = snow ? sun->spacing : 0.4f * sun->spacing;
  const float at[3] = {p[0] + lift * n[0], p[1] + lift * n[1], p[2] + lift * n[2]};
  const float depth = sun->height - dot3(at, sun->direction),
              least = fmaxf(1.5f, 0.8f * sun->spacing * sun->scale);
  struct disc disc = {(dot3(at, sun->across) - sun->corner[0]) * sun->scale,
                      (dot3(at, sun->along) - sun->corner[1]) * sun->scale, 0.06f * sun->radius * sun->scale,
                      turn[1], turn[0]};
  const float room = disc.radius + 1.0f;
  if (disc.x < -room || disc.y < -room || disc.x > (float)TEXELS + room || disc.y > (float)TEXELS + room)
    return 1.0f;
  float sum = 0.0f;
  int blockers = 0;
  for (int k = 0; k < LOOKS; k++) {
    const float z = disc_depth(sun, &disc, k, LOOKS, spiral[k]);
    if (z < depth - slack) {
      sum += z;
      blockers++;
    }
  }
  if (blockers == 0) return 1.0f;
  const float gap = depth - sum / (float)blockers;
  disc.radius = fminf(fmaxf(SUN_SIZE * gap * sun->scale, least), disc.radius);
  float light = 0.0f;
  for (int k = 0; k < TAPS; k++)
    light += clamp01((disc_depth(sun, &disc, k, TAPS, spiral[k]) - depth + slack) / slack + 1.0f);
  return light / (float)TAPS;
}
