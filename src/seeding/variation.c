/* Zones and noise.
 *
 * A point belongs to a layer by its depth straight below the surface, measured by walking up; or to the shell
 * by its distance to the surface; or to the inside. A zone may be much thinner than whatever one would sample
 * the shape with, so none is sampled. Layers are measured in columns: what a column of snow has of each layer
 * is known from its length. Ranks share the columns, and the lengths are summed exactly. The shell is a shape
 * like others, and so is what is inside it: every rank measures their volumes as such (volume.h).
 *
 * Noise moves mass and stiffness about inside a zone; the zone keeps its mass. */
#include "seeding/variation.h"

#include "base/exactsum.h"
#include "base/memory.h"
#include "base/vec.h"
#include "decomposition/reduce.h"
#include "levelset/ray.h"
#include "levelset/volume.h"
#include "seeding/noise.h"

#include <math.h>

enum {
  COLUMNS = 1 << 14, /* to measure layers */
  FINER = 3          /* times that they are made half as wide where none meets the snow */
};

static void upwards(const struct scene *scene, double up[3])
{
  for (int d = 0; d < 3; d++) up[d] = -scene->gravity[d];
  if (vec_normalize(up) == 0.0) up[1] = 1.0;
}

static double bottom_of_layers(const struct snow_source *source)
{
  return source->zone_count > ZONE_LAYERS ? source->zone[source->zone_count - 1].depth : 0.0;
}

static bool inside_at(const struct shape *shape, const double x[3], const double up[3], double height,
                      double *distance)
{
  double at[3];
  vec_axpy(x, height, up, at);
  *distance = shape_distance(shape, at, NULL);
  return *distance < 0.0;
}

/* How far x, which is inside, lies below the shape's surface, but not beyond `most`. Beside a steep wall
 * distances are short all the way up: no step is shorter than a part of `most`, and the last one is halved
 * until the surface is found. */
static double depth_below(const struct shape *shape, const double up[3], const double x[3], double most)
{
  double depth = 0.0, beyond = 0.0, distance;
  if (!inside_at(shape, x, up, 0.0, &distance)) return 0.0;
  for (;;) {
    if (depth >= most) return most;
    beyond = depth + fmax(-distance, most / 64.0);
    if (!inside_at(shape, x, up, beyond, &distance)) break;
    depth = beyond;
  }
  for (int k = 0; k < 24; k++) {
    const double middle = 0.5 * (depth + beyond);
    if (inside_at(shape, x, up, middle, &distance))
      depth = middle;
    else
      beyond = middle;
  }
  return fmin(beyond, most);
}

int variation_zone(const struct scene *scene, const struct snow_source *source, const double x[3])
{
  const double bottom = bottom_of_layers(source), shell = source->zone[ZONE_SHELL].depth;
  if (bottom > 0.0) {
    double up[3];
    upwards(scene, up);
    const double depth = depth_below(&source->shape, up, x, bottom);
    for (int k = ZONE_LAYERS; k < source->zone_count; k++)
      if (depth < source->zone[k].depth) return k;
  }
  return shell > 0.0 && -shape_distance(&source->shape, x, NULL) < shell ? ZONE_SHELL : ZONE_INSIDE;
}

/* Columns over the shape's bounds, along `up`. */
struct columns {
  double side[2][3]; /* unit vectors across */
  double low[3];     /* of the bounds, along the two sides and up */
  double size[3];
  int count[2];
};

static void columns_set(struct columns *c, const struct shape *shape, const double up[3], int columns)
{
  const double e[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  double lower[3], upper[3];
  int most = 0;
  for (int d = 1; d < 3; d++)
    if (fabs(up[d]) > fabs(up[most])) most = d;
  vec_cross(up, e[(most + 1) % 3], c->side[0]); /* along an axis if `up` is */
  vec_normalize(c->side[0]);
  vec_cross(up, c->side[0], c->side[1]);
  shape_bounds(shape, lower, upper);
  for (int k = 0; k < 3; k++) {
    const double *axis = k < 2 ? c->side[k] : up;
    c->low[k] = c->size[k] = 0.0;
    for (int d = 0; d < 3; d++) {
      c->low[k] += fmin(axis[d] * lower[d], axis[d] * upper[d]);
      c->size[k] += fabs(axis[d]) * (upper[d] - lower[d]);
    }
  }
  const double width = sqrt(c->size[0] * c->size[1] / columns);
  for (int k = 0; k < 2; k++) c->count[k] = (int)fmin(columns, ceil(c->size[k] / width));
}

/* Adds the length of the column's snow in each layer, and of what is below them, to `sum`. */
static void add_column(const struct snow_source *source, const struct shape_ray *column,
                       struct exact_sum sum[SNOW_ZONES])
{
  struct ray_place here = shape_ray_begin(column);
  double bottom = here.distance <= 0.0 ? 0.0 : shape_ray_next(column, &here);
  for (; here.at < column->length; bottom = shape_ray_next(column, &here)) {
    const double length = shape_ray_next(column, &here) - bottom;
    double above = 0.0;
    for (int k = ZONE_LAYERS; k < source->zone_count; k++) {
      const double reached = fmin(length, source->zone[k].depth);
      exact_add(&sum[k], reached - above);
      above = reached;
    }
    exact_add(&sum[ZONE_INSIDE], length - above);
  }
}

/* Of all columns, each rank takes its share. */
static void add_columns(const struct comm *comm, const struct snow_source *source, const struct columns *c,
                        const double up[3], struct exact_sum sum[SNOW_ZONES])
{
  const int64_t all = (int64_t)c->count[0] * c->count[1];
  for (int64_t k = all * comm->rank / comm->size; k < all * (comm->rank + 1) / comm->size; k++) {
    struct shape_ray column = {.shape = &source->shape, .length = c->size[2]};
    for (int d = 0; d < 3; d++) {
      const double across = c->low[0] + c->size[0] * ((double)(k / c->count[1]) + 0.5) / c->count[0],
                   along = c->low[1] + c->size[1] * ((double)(k % c->count[1]) + 0.5) / c->count[1];
      column.from[d] = c->low[2] * up[d] + across * c->side[0][d] + along * c->side[1][d];
      column.along[d] = up[d];
    }
    add_column(source, &column, sum);
  }
  reduce_exact(comm, sum, SNOW_ZONES);
}

/* Shares of the layers in the shape's volume; the inside gets the rest. */
static void measure_layers(const struct comm *comm, const struct scene *scene,
                           const struct snow_source *source, double share[SNOW_ZONES])
{
  double up[3], total = 0.0;
  upwards(scene, up);
  for (int finer = 0, count = COLUMNS; finer <= FINER && total == 0.0; finer++, count *= 4) {
    struct exact_sum sum[SNOW_ZONES] = {0};
    struct columns columns;
    columns_set(&columns, &source->shape, up, count);
    add_columns(comm, source, &columns, up, sum);
    for (int z = 0; z < SNOW_ZONES; z++) total += share[z] = exact_value(&sum[z]);
  }
  for (int z = 0; z < SNOW_ZONES; z++) share[z] = total > 0.0 ? share[z] / total : z == ZONE_INSIDE;
}

struct below_layers {
  const struct scene *scene;
  const struct snow_source *source;
};

static bool is_below_layers(const void *context, const double x[3])
{
  const struct below_layers *b = context;
  return variation_zone(b->scene, b->source, x) < ZONE_LAYERS;
}

/* The shell's part of what is not in a layer. */
static double measure_shell(const struct scene *scene, const struct snow_source *source)
{
  const struct below_layers context = {scene, source};
  const bool layered = source->zone_count > ZONE_LAYERS;
  struct shape part = source->shape; /* as a child of the two below: a copy that owns nothing */
  struct shape around = {.amount = source->zone[ZONE_SHELL].depth, .child = &part, .child_count = 1};
  double volume[2];
  for (int d = 0; d < 3; d++) around.axes[4 * d] = 1.0;
  shape_bounds(&part, around.low, around.high);
  for (int k = 0; k < 2; k++) {
    around.kind = k == 0 ? SHAPE_SHELL : SHAPE_OFFSET;
    if (k == 1) around.amount = -around.amount;
    volume[k] = volume_where(&around, layered ? is_below_layers : NULL, &context);
  }
  return volume[0] > 0.0 ? volume[0] / (volume[0] + volume[1]) : 0.0;
}

/* Share of the shape's volume in each zone. */
static void measure_zones(const struct comm *comm, const struct scene *scene,
                          const struct snow_source *source, double share[SNOW_ZONES])
{
  for (int z = 0; z < SNOW_ZONES; z++) share[z] = z == ZONE_INSIDE;
  if (source->zone_count > ZONE_LAYERS) measure_layers(comm, scene, source, share);
  if (source->zone[ZONE_SHELL].depth > 0.0) {
    const double shell = measure_shell(scene, source);
    share[ZONE_SHELL] = shell * share[ZONE_INSIDE];
    share[ZONE_INSIDE] -= share[ZONE_SHELL];
  }
}

static double noise_here(const struct snow_source *source, const struct particles *p, int32_t i)
{
  const struct snow_noise *noise = &source->noise;
  const double x[3] = {p->x[0][i] / noise->scale, p->x[1][i] / noise->scale, p->x[2][i] / noise->scale};
  return noise_at(noise->seed, noise->period, noise->octaves, x);
}

/* K, without noise. */
static double temperature_here(const struct scene *scene, const struct snow_source *source,
                               const struct snow_zone *zone, const double x[3])
{
  const struct ramp *keys = &source->by_depth;
  if (zone->temperature > 0.0) return zone->temperature;
  if (!keys->count) return source->temperature;
  double up[3];
  upwards(scene, up);
  return ramp_at(keys, depth_below(&source->shape, up, x, keys->key[keys->count - 1].at));
}

/* Phase and enthalpy. Noise warms a solid no further than to its melting point. */
static void warm_particle(const struct scene *scene, const struct snow_source *source,
                          const struct snow_zone *zone, double noise, struct particles *p, int32_t i)
{
  const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
  const double above = temperature_here(scene, source, zone, x) - scene->heat.melting_point,
               warmer = above + noise * source->noise.temperature;
  p->liquid[i] = source->liquid;
  p->enthalpy[i] = heat_enthalpy(&scene->heat, source->liquid ? above : fmin(warmer, 0.0), source->liquid);
}

/* Material, stiffness and enthalpy of a particle; returns the factor that noise puts on its density. */
static double make_particle(const struct scene *scene, const struct snow_source *source, struct particles *p,
                            int32_t i, int z)
{
  const struct snow_zone *zone = &source->zone[z];
  const double n = source->noise.scale > 0.0 ? noise_here(source, p, i) : 0.0;
  if (p->material) p->material[i] = (uint32_t)zone->material;
  if (p->stiffness) p->stiffness[i] = zone->stiffness;
  if (scene->has_heat) warm_particle(scene, source, zone, n, p, i);
  if (source->noise.scale == 0.0) return 1.0;
  if (p->stiffness) p->stiffness[i] *= noise_factor(n, source->noise.stiffness);
  return noise_factor(n, source->noise.density);
}

static double zone_density(const struct scene *scene, const struct snow_source *source,
                           const struct snow_zone *zone)
{
  if (source->liquid) return scene->heat.rho_liquid;
  return scene->materials[zone->material].density * zone->density;
}

void variation_conduct(const struct scene *scene, const struct snow_source *source, struct particles *p,
                       int32_t i, double volume)
{
  if (!scene->has_heat) return;
  p->conductivity[i] =
      source->conductivity > 0.0 ? source->conductivity : heat_snow_conductivity(p->mass[i] / volume);
}

/* A zone too small to be measured, in which particles are all the same, is as large as they say. */
static void trust_particles(double share[SNOW_ZONES], const int64_t count[SNOW_ZONES], int64_t total)
{
  double sum = 0.0;
  for (int z = 0; z < SNOW_ZONES; z++) {
    if (!(share[z] > 0.0) && count[z] > 0) share[z] = (double)count[z] / (double)total;
    sum += share[z];
  }
  for (int z = 0; z < SNOW_ZONES && sum > 1.0; z++) share[z] /= sum;
}

int variation_apply(const struct comm *comm, const struct scene *scene, const struct snow_source *source,
                    struct particles *p, int32_t first, int64_t total, struct error *err)
{
  const bool zoned = source->zone[ZONE_SHELL].depth > 0.0 || source->zone_count > ZONE_LAYERS;
  double share[SNOW_ZONES] = {1.0};
  int64_t count[SNOW_ZONES] = {total};
  struct exact_sum weight[SNOW_ZONES] = {0};
  unsigned char *zone = mem_alloc((size_t)(p->count - first), 1);
  if (zoned) {
    measure_zones(comm, scene, source, share);
    count[ZONE_INSIDE] = 0;
  }
  for (int32_t i = first; i < p->count; i++) {
    const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
    const int z = zoned ? variation_zone(scene, source, x) : ZONE_INSIDE;
    zone[i - first] = (unsigned char)z;
    if (zoned) count[z]++;
    p->mass[i] = make_particle(scene, source, p, i, z);
    exact_add(&weight[z], p->mass[i]);
  }
  if (zoned) comm_sum_i64(comm, count, SNOW_ZONES);
  reduce_exact(comm, weight, SNOW_ZONES);
  trust_particles(share, count, total);
  const double volume = shape_volume(&source->shape);
  int code = FIRN_OK;
  for (int z = 0; z < source->zone_count && !code; z++)
    if (share[z] > 1e-4 && count[z] == 0)
      code = error_set(err, FIRN_EINPUT,
                       "%s:%d: snow \"%s\": its %s holds no particle; make it thicker or use more particles",
                       scene->path, source->line, source->name,
                       z == ZONE_INSIDE  ? "inside"
                       : z == ZONE_SHELL ? "shell"
                                         : "layer");
  for (int32_t i = first; i < p->count && !code; i++) {
    const int z = zone[i - first];
    const double part_of_zone = volume * share[z], own = part_of_zone / (double)count[z];
    p->mass[i] *= zone_density(scene, source, &source->zone[z]) * part_of_zone / exact_value(&weight[z]);
    if (source->exact_volume) p->volume[i] = own;
    if (source->liquid) p->volume[i] = p->mass[i] / scene->heat.rho_liquid;
    variation_conduct(scene, source, p, i, own);
  }
  mem_free(zone);
  return code;
}

void variation_apply_each(const struct scene *scene, const struct snow_source *source, struct particles *p,
                          int32_t first, double volume)
{
  for (int32_t i = first; i < p->count; i++) {
    const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
    const int z = variation_zone(scene, source, x);
    const double factor = make_particle(scene, source, p, i, z);
    p->mass[i] = zone_density(scene, source, &source->zone[z]) * factor * volume;
    p->volume[i] = source->liquid ? p->mass[i] / scene->heat.rho_liquid : volume;
    variation_conduct(scene, source, p, i, volume);
  }
}
