#include "render/trace/trace.h"

#include "base/vec.h"
#include "render/trace/phase.h"
#include "render/trace/quick.h"
#include "render/trace/surface.h"

#include <math.h>
#include <string.h>

enum { FIRST_EVENTS = 4 }; /* that always draw light, and end no path */
enum { LONG_WALK = 8192 }; /* events, from where even white paths have an end */

void trace_set_look(struct trace_stage *stage, int index, const double albedo[3], double cosine)
{
  struct trace_look *look = &stage->look[index];
  float scale = 1.0f;
  look->cosine = (float)cosine;
  for (int c = 0; c < 3; c++) {
    look->albedo[c] = (float)albedo[c];
    look->similar_albedo[c] = (float)((1.0 - cosine) * albedo[c] / (1.0 - cosine * albedo[c]));
    scale = fminf(scale, (float)(1.0 - cosine * albedo[c]));
  }
  if (index == 0)
    stage->similar_scale = scale;
  else if (scale != stage->similar_scale) /* flights know one scale only */
    stage->similar_after = -1;
}

struct path {
  const struct trace_stage *stage;
  struct medium medium;
  const struct volume *surface; /* NULL: there is none */
  struct ray ray;
  float direction[3]; /* of the ray */
  struct sampler *sampler;
  float weight[3];
  float *radiance;
  int events;    /* scatterings and hits so far */
  int in_a_row;  /* scatterings since the last body */
  bool similar;  /* isotropic from here on */
  float density; /* 1/sr, with which the ray's direction was drawn; only needed where light is drawn too */
  float chance;  /* with which light was drawn at the last event */
};

static float largest(const float a[3])
{
  const float most = a[0] > a[1] ? a[0] : a[1];
  return most > a[2] ? most : a[2];
}

/* Balance of two ways to the same direction. */
static float balance(float this_density, float other)
{
  return this_density / (this_density + other);
}

static void add(struct path *p, const float radiance[3], float factor)
{
  for (int c = 0; c < 3; c++) p->radiance[c] += p->weight[c] * radiance[c] * factor;
}

/* The ray leaves: sky, less the part that drawing towards it stands for. */
static void add_sky(struct path *p)
{
  const struct light *light = p->stage->light;
  float sky[3], part = 1.0f;
  if (p->events == 0 && p->stage->hide_sky) return;
  light_sky(light, p->direction, sky);
  if (p->events == 0 && light_is_sun(light, p->direction)) add(p, light->sun_radiance, 1.0f);
  if (p->events > 0 && light->sun_share < 1.0f)
    part = balance(p->density, p->chance * light_sky_density(light, p->direction));
  add(p, sky, part);
}

/* What has `scattered` density (1/sr, cosine included) towards the drawn light, seen through the snow. */
static void add_light(struct path *p, const struct light_draw *draw, float scattered)
{
  struct ray shadow = p->ray;
  float part = scattered / (p->chance * draw->density);
  if (draw->sky) part *= balance(p->chance * draw->density, scattered);
  if (!(part > 0.0f)) return;
  ray_turn(&shadow, draw->direction);
  const float through =
      flight_transmittance(&shadow, &p->medium, p->similar ? p->stage->similar_scale : 1.0f, p->sampler);
  if (through > 0.0f) add(p, draw->radiance, part * through);
}

/* Decides whether light is drawn at this event, and draws it. */
static bool draw_light(struct path *p, struct light_draw *draw)
{
  const struct light *light = p->stage->light;
  float u[2], v[2] = {0.0f, 0.0f};
  p->chance = p->events <= FIRST_EVENTS ? 1.0f : p->stage->draw_chance;
  const bool choose = light->sun_share > 0.0f && light->sun_share < 1.0f;
  if (light->sun_share == 1.0f && light->sun_cosine > 1.0f) return false; /* no sun, and the sky is met */
  if (p->chance < 1.0f || choose) sampler_next(p->sampler, v);
  if (v[0] >= p->chance) return false;
  if (p->events == 1)
    sampler_low(p->sampler, PAIR_LIGHT, u);
  else
    sampler_next(p->sampler, u);
  light_draw(light, u, choose ? v[1] : light->sun_share > 0.0f ? 0.0f : 1.0f, draw);
  return draw->density > 0.0f;
}

static void draw_pair(struct path *p, float u[2])
{
  if (p->events == 1)
    sampler_low(p->sampler, PAIR_DIRECTION, u);
  else
    sampler_next(p->sampler, u);
}

static float dot(const float a[3], const float b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The look at the place of the ray, by chance where several are mixed. */
static const struct trace_look *look_here(struct path *p)
{
  const struct volume *v = p->medium.volume;
  if (!v->share) return &p->stage->look[0];
  const struct volume_tile *tile = &v->tile[p->ray.tile];
  int node = 0, look = 0;
  for (int d = 0; d < 3; d++) {
    const int at = (int)(p->ray.p[d] - (float)tile->corner[d] + 0.5f);
    node = node * VOLUME_EDGE + (at < 0 ? 0 : at > VOLUME_TILE ? VOLUME_TILE : at);
  }
  float u[2];
  sampler_next(p->sampler, u);
  int left = (int)(255.0f * u[0]);
  const uint8_t *share = v->share[p->ray.tile][node];
  while (look < VOLUME_LOOKS - 1 && left >= share[look]) left -= share[look++];
  return &p->stage->look[look];
}

static void scatter(struct path *p)
{
  const struct trace_look *look = look_here(p);
  const struct trace_stage *stage = p->stage;
  float u[2], direction[3];
  p->in_a_row++;
  p->similar = stage->similar_after >= 0 && p->in_a_row > stage->similar_after;
  const float *albedo = p->similar ? look->similar_albedo : look->albedo;
  const float g = p->similar ? 0.0f : look->cosine;
  for (int c = 0; c < 3; c++) p->weight[c] *= albedo[c];
  struct light_draw draw;
  if (draw_light(p, &draw)) add_light(p, &draw, phase_density(g, dot(p->direction, draw.direction)));
  draw_pair(p, u);
  const float cosine = phase_cosine(g, u[0]);
  quick_turn(p->direction, cosine, u[1], direction);
  p->density = phase_density(g, cosine);
  memcpy(p->direction, direction, sizeof direction);
  ray_turn(&p->ray, direction);
}

/* The part of what is seen of a far ground that is sky. */
static void add_haze(struct path *p, const double at[3])
{
  const struct trace_stage *stage = p->stage;
  double from[3];
  vec_sub(at, stage->center, from);
  const float ratio = (float)(vec_norm(from) / stage->haze), far = ratio * ratio / (1.0f + ratio * ratio);
  const float *up = stage->light->up, height = dot(p->direction, up), drop = height < 0.0f ? height : 0.0f;
  float sky[3], level[3];
  for (int d = 0; d < 3; d++) level[d] = p->direction[d] - drop * up[d];
  light_sky(stage->light, level, sky);
  add(p, sky, far);
  for (int c = 0; c < 3; c++) p->weight[c] *= 1.0f - far;
}

static void leave_from(struct path *p, const double at[3], const float direction[3])
{
  const double unit[3] = {(double)direction[0], (double)direction[1], (double)direction[2]};
  ray_begin(&p->ray, &p->medium, at, unit);
}

/* A matte surface: cosine-weighted. */
static void reflect(struct path *p)
{
  const struct trace_stage *stage = p->stage;
  const int body = p->ray.body;
  float u[2], n[3];
  double at[3], normal[3];
  ray_wall(&p->ray, &p->medium, at);
  solids_surface(stage->solids, p->medium.moment, body, p->direction, at, normal);
  if (p->events == 1 && isfinite(stage->haze)) add_haze(p, at);
  float color[3];
  memcpy(color, stage->solids->color[body], sizeof color);
  if (stage->texture > 0.0)
    solids_texture(stage->solids, p->medium.moment, body, stage->texture, at, normal, color);
  for (int d = 0; d < 3; d++) n[d] = (float)normal[d];
  for (int c = 0; c < 3; c++) p->weight[c] *= color[c];
  p->in_a_row = 0;
  p->similar = false;
  struct light_draw draw;
  if (draw_light(p, &draw) && dot(n, draw.direction) > 0.0f) {
    leave_from(p, at, draw.direction);
    add_light(p, &draw, dot(n, draw.direction) * 0.318309886f);
  }
  draw_pair(p, u);
  const float cosine = sqrtf(1.0f - u[0]);
  quick_turn(n, cosine, u[1], p->direction);
  p->density = cosine * 0.318309886f;
  leave_from(p, at, p->direction);
}

/* Whether a path is mirrored where it comes into clear matter. The camera's own ray is decided more evenly
 * than by the part alone, and weighted: a mirrored sky is seen without noise. */
static bool is_mirrored(struct path *p, float part)
{
  float u[2];
  const float chance = p->events > 0 ? part : part < 0.1f ? 0.1f : part > 0.9f ? 0.9f : part;
  sampler_next(p->sampler, u);
  const bool mirrored = u[0] < chance;
  const float scale = mirrored ? part / chance : (1.0f - part) / (1.0f - chance);
  for (int c = 0; c < 3; c++) p->weight[c] *= scale;
  return mirrored;
}

/* The sun in the surface at `at`, as the camera sees it. What water throws onto snow is left out: it would be
 * rare bright specks. */
static void add_glint(struct path *p, const double at[3], const float mirrored[3], float part)
{
  const struct light *light = p->stage->light;
  if (light->sun_cosine > 1.0f) return;
  const float glint = part * surface_glint(dot(mirrored, light->sun));
  if (glint < 1e-4f) return;
  const float size = 6.28318531f * (1.0f - light->sun_cosine);
  leave_from(p, at, light->sun);
  add(p, light->sun_radiance, glint * size * flight_transmittance(&p->ray, &p->medium, 1.0f, p->sampler));
}

/* The ray has flown `way` metres from `start`. Where it came into clear matter on its way and is mirrored
 * there, it leaves from there: true. */
static bool mirror(struct path *p, const double start[3], double way, struct trace_sample *sample)
{
  struct surface_ray ray;
  double distance;
  float n[3];
  surface_begin(&ray, p->surface, start, p->direction);
  while (surface_enter(&ray, way, &distance, n)) {
    const float facing = dot(p->direction, n), part = surface_mirrored(facing);
    const struct ray before = p->ray;
    float back[3];
    double at[3];
    const double off = 0.1 * ray.volume->voxel;
    for (int d = 0; d < 3; d++) {
      back[d] = p->direction[d] - 2.0f * facing * n[d];
      at[d] = start[d] + distance * (double)p->direction[d] + off * (double)n[d];
    }
    if (facing >= 0.0f) continue; /* the slope of a fold, not its outside */
    if (p->events == 0 && sample->depth > (float)distance) sample->depth = (float)distance;
    if (p->events == 0) sample->solid = 1.0f;
    if (p->events == 0) add_glint(p, at, back, part);
    p->ray = before;
    if (!is_mirrored(p, part)) continue;
    memcpy(p->direction, back, sizeof back);
    leave_from(p, at, back);
    p->events++;
    p->in_a_row = 0;
    p->similar = false;
    p->density = 1.0f;
    p->chance = 0.0f; /* no light was drawn: what the ray meets counts whole */
    return true;
  }
  return false;
}

/* Ends dim paths, and with them at last those that no albedo dims. */
static bool survives(struct path *p)
{
  float stay = 2.0f * largest(p->weight), u[2];
  if (p->events < FIRST_EVENTS) return true;
  if (p->events > LONG_WALK && stay > 0.999f) stay = 0.999f;
  if (stay >= 1.0f) return true;
  sampler_next(p->sampler, u);
  if (u[0] >= stay) return false;
  for (int c = 0; c < 3; c++) p->weight[c] /= stay;
  return true;
}

static void note_first(struct path *p, enum flight_end end, struct trace_sample *sample)
{
  const float way = end == FLIGHT_HITS ? p->ray.wall : p->ray.way;
  sample->solid = end == FLIGHT_ESCAPES ? 0.0f : 1.0f;
  sample->snow = end == FLIGHT_COLLIDES ? 1.0f : 0.0f;
  sample->depth = end == FLIGHT_ESCAPES ? INFINITY : way * (float)p->medium.volume->voxel;
}

/* Against the slope of the density where the ray is; 0 where it is even. */
static void slope_at(const struct path *p, float out[3])
{
  const struct volume *v = p->medium.volume;
  float at[3], square = 0.0f;
  for (int d = 0; d < 3; d++) at[d] = p->ray.p[d];
  for (int d = 0; d < 3; d++) {
    const float here = at[d];
    at[d] = here - 1.0f;
    out[d] = volume_extinction(v, at);
    at[d] = here + 1.0f;
    out[d] -= volume_extinction(v, at);
    at[d] = here;
    square += out[d] * out[d];
  }
  for (int d = 0; d < 3; d++) out[d] = square > 0.0f ? out[d] / sqrtf(square) : 0.0f;
}

/* Normal and id of what the camera's ray met. */
static void note_layers(struct path *p, enum flight_end end, struct trace_sample *sample)
{
  const struct solids *solids = p->stage->solids;
  if (end == FLIGHT_ESCAPES) return;
  sample->id = 1;
  if (end == FLIGHT_COLLIDES) {
    slope_at(p, sample->normal);
    return;
  }
  double at[3], normal[3];
  ray_wall(&p->ray, &p->medium, at);
  solids_surface(solids, p->medium.moment, p->ray.body, p->direction, at, normal);
  for (int d = 0; d < 3; d++) sample->normal[d] = (float)normal[d];
  sample->id = 2 + solids->body[p->ray.body];
}

/* Where the ray began (m). */
static void ray_start(const struct path *p, double out[3])
{
  const struct volume *v = p->medium.volume;
  for (int d = 0; d < 3; d++)
    out[d] = v->origin[d] + v->voxel * ((double)p->ray.p[d] - (double)p->ray.way * (double)p->ray.d[d]);
}

/* How far it came (m). */
static double flown(const struct path *p, enum flight_end end)
{
  const float way = end == FLIGHT_HITS ? p->ray.wall : p->ray.way;
  return end == FLIGHT_ESCAPES ? INFINITY : (double)way * p->medium.volume->voxel;
}

void trace_path(const struct trace_stage *stage, const double origin[3], const double direction[3],
                float when, struct sampler *sampler, struct trace_sample *sample)
{
  struct path p = {.stage = stage, .sampler = sampler, .radiance = sample->radiance, .weight = {1, 1, 1}};
  p.medium = (struct medium){.volume = stage->volume[(int)(when * (float)stage->slices)],
                             .solids = stage->solids,
                             .moment = (int)(when * (float)stage->solids->moments)};
  if (stage->surface) p.surface = stage->surface[(int)(when * (float)stage->slices)];
  memset(sample, 0, sizeof *sample);
  for (int d = 0; d < 3; d++) p.direction[d] = (float)direction[d];
  ray_begin(&p.ray, &p.medium, origin, direction);
  for (;;) {
    const float scale = p.similar ? stage->similar_scale : 1.0f;
    double start[3];
    ray_start(&p, start);
    const enum flight_end end = flight(&p.ray, &p.medium, scale, sampler);
    if (p.events == 0) note_first(&p, end, sample);
    if (p.events == 0 && stage->layers) note_layers(&p, end, sample);
    if (p.surface && mirror(&p, start, flown(&p, end), sample)) {
      if (!survives(&p)) return;
      continue;
    }
    if (end == FLIGHT_ESCAPES) {
      add_sky(&p);
      return;
    }
    p.events++;
    if (end == FLIGHT_HITS)
      reflect(&p);
    else
      scatter(&p);
    if (!survives(&p)) return;
  }
}
