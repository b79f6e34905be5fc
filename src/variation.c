/* Zones and noise.
 *
 * A point belongs to a layer by its depth straight below the surface, measured by walking up; or to the shell
 * by its distance to the surface; or to the inside. Zones share the item's volume by a quadrature over the
 * shape's bounds: midpoints of a lattice, each counting for the part of its cube on the right side of the
 * surfaces as the distances tell it (second order in the lattice's step, about 1e-4 of a zone). The parts
 * are rounded to integers before they are added: the sum does not depend on the ranks.
 *
 * Noise moves mass and stiffness about inside a zone; the zone keeps its mass. */
#include "variation.h"

#include "base/exactsum.h"
#include "base/memory.h"
#include "base/vec.h"
#include "decomposition/reduce.h"
#include "noise.h"

#include <math.h>

enum { QUADRATURE = 80 }; /* midpoints along the longest side of the bounds */

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

/* The part of a cube of edge `width` that lies on the negative side of a surface at this distance. */
static double part(double distance, double width)
{
  return fmin(1.0, fmax(0.0, 0.5 - distance / width));
}

/* Adds the parts of a midpoint's cube that fall into each zone, in units of 2^-20. */
static void add_parts(const struct scene *scene, const struct snow_source *source, const double x[3],
                      double width, int64_t parts[SNOW_ZONES])
{
  const double distance = shape_distance(&source->shape, x, NULL), inside = part(distance, width);
  double left = inside, up[3];
  if (left == 0.0) return;
  const double bottom = bottom_of_layers(source), shell = source->zone[ZONE_SHELL].depth;
  if (bottom > 0.0) {
    upwards(scene, up);
    /* Outside the surface, but with a part of the cube inside, the depth is less than nothing. */
    const double depth = distance > 0.0 ? -distance : depth_below(&source->shape, up, x, bottom + width);
    double above = 0.0;
    for (int k = ZONE_LAYERS; k < source->zone_count; k++) {
      const double reached = inside * part(depth - source->zone[k].depth, width);
      parts[k] += (int64_t)((reached - above) * 0x1p20);
      above = reached;
    }
    left -= above;
  }
  const double shelled = shell > 0.0 ? left * part(-distance - shell, width) : 0.0;
  parts[ZONE_SHELL] += (int64_t)(shelled * 0x1p20);
  parts[ZONE_INSIDE] += (int64_t)((left - shelled) * 0x1p20);
}

/* Share of the shape's volume in each zone. */
static void measure_zones(const struct comm *comm, const struct scene *scene,
                          const struct snow_source *source, double share[SNOW_ZONES])
{
  double lower[3], upper[3];
  shape_bounds(&source->shape, lower, upper);
  double width = 0.0;
  for (int d = 0; d < 3; d++) width = fmax(width, (upper[d] - lower[d]) / QUADRATURE);
  int64_t n[3], parts[SNOW_ZONES] = {0}, sum = 0;
  for (int d = 0; d < 3; d++) n[d] = (int64_t)ceil((upper[d] - lower[d]) / width) + 2;
  const int64_t begin = n[0] * comm->rank / comm->size, end = n[0] * (comm->rank + 1) / comm->size;
  for (int64_t k = begin * n[1] * n[2]; k < end * n[1] * n[2]; k++) {
    const int64_t at[3] = {k / (n[1] * n[2]), k / n[2] % n[1], k % n[2]};
    double x[3];
    for (int d = 0; d < 3; d++) x[d] = lower[d] + width * ((double)at[d] - 0.5);
    add_parts(scene, source, x, width, parts);
  }
  comm_sum_i64(comm, parts, SNOW_ZONES);
  for (int z = 0; z < SNOW_ZONES; z++) sum += parts[z];
  for (int z = 0; z < SNOW_ZONES; z++) share[z] = sum ? (double)parts[z] / (double)sum : 0.0;
}

static double noise_here(const struct snow_source *source, const struct particles *p, int32_t i)
{
  const struct snow_noise *noise = &source->noise;
  const double x[3] = {p->x[0][i] / noise->scale, p->x[1][i] / noise->scale, p->x[2][i] / noise->scale};
  return noise_at(noise->seed, noise->period, noise->octaves, x);
}

/* Material and stiffness of a particle; returns the factor that noise puts on its density. */
static double make_particle(const struct snow_source *source, struct particles *p, int32_t i, int z)
{
  const struct snow_zone *zone = &source->zone[z];
  p->material[i] = (uint32_t)zone->material;
  p->stiffness[i] = zone->stiffness;
  if (source->noise.scale == 0.0) return 1.0;
  const double n = noise_here(source, p, i);
  p->stiffness[i] *= noise_factor(n, source->noise.stiffness);
  return noise_factor(n, source->noise.density);
}

static double zone_density(const struct scene *scene, const struct snow_zone *zone)
{
  return scene->materials[zone->material].density * zone->density;
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
    p->mass[i] = make_particle(source, p, i, z);
    exact_add(&weight[z], p->mass[i]);
  }
  if (zoned) comm_sum_i64(comm, count, SNOW_ZONES);
  reduce_exact(comm, weight, SNOW_ZONES);
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
    const double part_of_zone = volume * share[z];
    p->mass[i] *= zone_density(scene, &source->zone[z]) * part_of_zone / exact_value(&weight[z]);
    if (source->exact_volume) p->volume[i] = part_of_zone / (double)count[z];
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
    const double factor = make_particle(source, p, i, z);
    p->mass[i] = zone_density(scene, &source->zone[z]) * factor * volume;
    p->volume[i] = volume;
  }
}
