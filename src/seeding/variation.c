/* Zones and noise.
 *
 * A point belongs to a layer by its depth straight below the surface, measured by walking up; or to the shell
 * by its distance to the surface; or to the inside. A zone may be much thinner than whatever one would sample
 * the shape with, so none is sampled. Layers are measured in columns: what a column of snow has of each layer
 * is known from its length. Ranks share the columns, and the lengths are summed exactly. The shell is a shape
 * like others, and so is what is inside it: every rank measures their volumes as such
 * (levelset/shape_volume.h).
 *
 * Noise moves mass and stiffness about inside a zone; the zone keeps its mass. */
#include "seeding/variation.h"

#include "base/exactsum.h"
#include "base/memory.h"
#include "base/vec.h"
#include "decomposition/reduce.h"
#include "levelset/inside_map.h"
#include "levelset/ray.h"
#include "levelset/shape_volume.h"
#include "seeding/noise.h"

#include <math.h>

enum {
  COLUMNS = 1 << 14, /* to measure layers */
  FINER = 3,         /* times that they are made half as wide where none meets the snow */
  A_CELL = 12,       /* particles in a cell of the map, about, */
  CELLS = 1 << 21    /* but no more cells than these */
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

/* An item and what is prepared for many of its particles. */
struct variation {
  const struct scene *scene;
  const struct snow_source *source;
  bool zoned;
  struct inside_map map; /* what is deep in it is in no layer and not in the shell */
  struct noise_field noise;
};

/* For so many particles, which are inside the item's shape. */
static void variation_begin(struct variation *v, const struct scene *scene, const struct snow_source *source,
                            int64_t particles, int threads)
{
  const double bottom = bottom_of_layers(source), shell = source->zone[ZONE_SHELL].depth;
  const struct snow_noise *noise = &source->noise;
  *v = (struct variation){.scene = scene, .source = source, .zoned = shell > 0.0 || bottom > 0.0};
  const double wanted = fmin((double)particles / A_CELL, CELLS);
  if (v->zoned && wanted >= 1.0)
    inside_map_cover(&v->map, &source->shape, wanted, &(struct inside_depth){bottom, shell}, threads);
  if (noise->scale == 0.0) return;
  double lower[3], upper[3];
  shape_bounds(&source->shape, lower, upper);
  for (int d = 0; d < 3; d++) {
    lower[d] /= noise->scale;
    upper[d] = particles ? upper[d] / noise->scale : lower[d];
  }
  noise_field_create(&v->noise, noise->seed, noise->period, noise->octaves, lower, upper);
}

static void variation_end(struct variation *v)
{
  inside_map_destroy(&v->map);
  noise_field_destroy(&v->noise);
}

static int zone_here(const struct variation *v, const double x[3])
{
  if (!v->zoned || inside_map_find(&v->map, x) == INSIDE_DEEP) return ZONE_INSIDE;
  return variation_zone(v->scene, v->source, x);
}

static double noise_here(const struct variation *v, const struct particles *p, int32_t i)
{
  const double scale = v->source->noise.scale;
  const double x[3] = {p->x[0][i] / scale, p->x[1][i] / scale, p->x[2][i] / scale};
  return noise_field_at(&v->noise, x);
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
static double make_particle(const struct variation *v, struct particles *p, int32_t i, int z)
{
  const struct scene *scene = v->scene;
  const struct snow_source *source = v->source;
  const struct snow_zone *zone = &source->zone[z];
  const double n = source->noise.scale > 0.0 ? noise_here(v, p, i) : 0.0;
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

/* What the particles of a rank, or of a part of them, come to. */
struct tally {
  int64_t count[SNOW_ZONES];
  struct exact_sum weight[SNOW_ZONES];
};

/* Zone and all that follows from it, but for the mass: that becomes the particle's weight in its zone. */
static void weigh(const struct variation *v, struct particles *p, int32_t first, int32_t begin, int32_t end,
                  unsigned char *zone, struct tally *tally)
{
  const bool alike = v->source->noise.scale == 0.0;
  for (int32_t i = begin; i < end; i++) {
    const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
    const int z = zone_here(v, x);
    zone[i - first] = (unsigned char)z;
    tally->count[z]++;
    p->mass[i] = make_particle(v, p, i, z);
    if (!alike) exact_add(&tally->weight[z], p->mass[i]);
  }
  for (int z = 0; z < SNOW_ZONES && alike; z++) exact_add(&tally->weight[z], (double)tally->count[z]);
}

/* All of it by the rank's threads; sums are exact, so their number does not matter. */
static void weigh_all(const struct comm *comm, const struct variation *v, struct particles *p, int32_t first,
                      unsigned char *zone, struct tally *sum)
{
  const int threads = comm->threads;
  const int64_t all = p->count - first;
  struct tally *part = mem_alloc((size_t)threads, sizeof *part);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int w = 0; w < threads; w++)
    weigh(v, p, first, first + (int32_t)(all * w / threads), first + (int32_t)(all * (w + 1) / threads), zone,
          &part[w]);
  for (int w = 0; w < threads; w++)
    for (int z = 0; z < SNOW_ZONES; z++) {
      sum->count[z] += part[w].count[z];
      exact_join(&sum->weight[z], &part[w].weight[z]);
    }
  mem_free(part);
  comm_sum_i64(comm, sum->count, SNOW_ZONES);
  reduce_exact(comm, sum->weight, SNOW_ZONES);
}

static int check_zones(const struct scene *scene, const struct snow_source *source,
                       const double share[SNOW_ZONES], const int64_t count[SNOW_ZONES], struct error *err)
{
  for (int z = 0; z < source->zone_count; z++)
    if (share[z] > 1e-4 && count[z] == 0)
      return error_set(err, FIRN_EINPUT,
                       "%s:%d: snow \"%s\": its %s holds no particle; make it thicker or use more particles",
                       scene->path, source->line, source->name,
                       z == ZONE_INSIDE  ? "inside"
                       : z == ZONE_SHELL ? "shell"
                                         : "layer");
  return FIRN_OK;
}

int variation_apply(const struct comm *comm, const struct scene *scene, const struct snow_source *source,
                    struct particles *p, int32_t first, int64_t total, struct error *err)
{
  struct variation v;
  struct tally sum = {0};
  double share[SNOW_ZONES] = {1.0}, own[SNOW_ZONES], mass[SNOW_ZONES]; /* of a particle; of a unit weight */
  unsigned char *zone = mem_alloc((size_t)(p->count - first), 1);
  variation_begin(&v, scene, source, p->count - first, comm->threads);
  if (v.zoned) measure_zones(comm, scene, source, share);
  weigh_all(comm, &v, p, first, zone, &sum);
  variation_end(&v);
  trust_particles(share, sum.count, total);
  const int code = check_zones(scene, source, share, sum.count, err);
  for (int z = 0; z < source->zone_count; z++) {
    const double part_of_zone = shape_volume(&source->shape) * share[z];
    own[z] = part_of_zone / (double)sum.count[z];
    mass[z] = zone_density(scene, source, &source->zone[z]) * part_of_zone / exact_value(&sum.weight[z]);
  }
  const int32_t end = code ? first : p->count;
#pragma omp parallel for num_threads(comm->threads) schedule(static)
  for (int32_t i = first; i < end; i++) {
    const int z = zone[i - first];
    p->mass[i] *= mass[z];
    if (source->exact_volume) p->volume[i] = own[z];
    if (source->liquid) p->volume[i] = p->mass[i] / scene->heat.rho_liquid;
    variation_conduct(scene, source, p, i, own[z]);
  }
  mem_free(zone);
  return code;
}

void variation_apply_each(const struct scene *scene, const struct snow_source *source, struct particles *p,
                          int32_t first, double volume)
{
  struct variation v;
  variation_begin(&v, scene, source, 0, 1);
  for (int32_t i = first; i < p->count; i++) {
    const double x[3] = {p->x[0][i], p->x[1][i], p->x[2][i]};
    const int z = variation_zone(scene, source, x);
    const double factor = make_particle(&v, p, i, z);
    p->mass[i] = zone_density(scene, source, &source->zone[z]) * factor * volume;
    p->volume[i] = source->liquid ? p->mass[i] / scene->heat.rho_liquid : volume;
    variation_conduct(scene, source, p, i, volume);
  }
  variation_end(&v);
}
