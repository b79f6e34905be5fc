#include "sim/probes.h"

#include "base/memory.h"
#include "base/vec.h"
#include "decomposition/reduce.h"
#include "io/particles/frame_fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char probes_beginning[] = "step,time,particles";

/* What a region's particles are asked. The spread of the velocity is that of the vector. */
enum quantity {
  Q_DENSITY,
  Q_PRESSURE,
  Q_VON_MISES,
  Q_JP,
  Q_TEMPERATURE, /* with heat only */
  Q_VX,
  Q_VY,
  Q_VZ,
  Q_SPEED2,
  QUANTITIES
};
static const char *const region_names[] = {"count",       "mass",
                                           "density",     "density_spread",
                                           "pressure",    "pressure_spread",
                                           "von_mises",   "von_mises_spread",
                                           "jp",          "jp_spread",
                                           "vx",          "vy",
                                           "vz",          "v_spread",
                                           "temperature", "temperature_spread"};
static const char *const flux_names[] = {"mass", "momentum_x", "momentum_y", "momentum_z"};
static const char *const deposit_names[] = {"front", "back", "highest", "mass", "volume"};
enum {
  REGION_COLUMNS = sizeof region_names / sizeof *region_names,
  FLUX_COLUMNS = sizeof flux_names / sizeof *flux_names,
  DEPOSIT_COLUMNS = sizeof deposit_names / sizeof *deposit_names,
  SCALARS = 5 /* quantities with a spread of their own */
};

/* Exact sums over a region. */
struct region {
  struct exact_sum count, mass, first[QUANTITIES], second[SCALARS];
};
enum { REGION_SUMS = sizeof(struct region) / sizeof(struct exact_sum) };

/* Of a deposit. */
struct extent {
  double most[3]; /* front, minus back, highest */
  struct exact_sum mass, volume;
};

static const char *const *names_of(const struct scene *scene, const struct scene_probe *probe, int *count)
{
  if (probe->kind == PROBE_FLUX) {
    *count = FLUX_COLUMNS;
    return flux_names;
  }
  *count = probe->kind == PROBE_DEPOSIT ? DEPOSIT_COLUMNS : REGION_COLUMNS - (scene->has_heat ? 0 : 2);
  return probe->kind == PROBE_DEPOSIT ? deposit_names : region_names;
}

int probes_columns(const struct scene *scene)
{
  int columns = 0;
  for (int k = 0; k < scene->probe_count; k++) {
    int count;
    names_of(scene, &scene->probes[k], &count);
    columns += count * scene->probes[k].regions;
  }
  return columns;
}

int probes_flux_count(const struct scene *scene)
{
  int count = 0;
  for (int k = 0; k < scene->probe_count; k++) count += scene->probes[k].kind == PROBE_FLUX;
  return count;
}

enum { COLUMN = 96 }; /* characters */

static int name_column(const struct scene_probe *probe, int region, const char *name, char out[COLUMN])
{
  return probe->kind == PROBE_LINE || probe->kind == PROBE_PROFILE
             ? snprintf(out, COLUMN, "%s_%d_%s", probe->name, region, name)
             : snprintf(out, COLUMN, "%s_%s", probe->name, name);
}

char *probes_header(const struct scene *scene)
{
  char *header = mem_alloc(sizeof probes_beginning + (COLUMN + 1) * (size_t)probes_columns(scene) + 2, 1);
  char *at = header + sprintf(header, "%s", probes_beginning);
  for (int k = 0; k < scene->probe_count; k++) {
    const struct scene_probe *probe = &scene->probes[k];
    int count;
    const char *const *names = names_of(scene, probe, &count);
    for (int region = 0; region < probe->regions; region++)
      for (int n = 0; n < count; n++) {
        *at++ = ',';
        at += name_column(probe, region, names[n], at);
      }
  }
  memcpy(at, "\n", 2);
  return header;
}

bool probes_is_new(const struct sim *sim, const char *column)
{
  for (int k = 0; sim->new_probes && k < sim->scene->probe_count; k++) {
    const struct scene_probe *probe = &sim->scene->probes[k];
    int count;
    const char *const *names = names_of(sim->scene, probe, &count);
    for (int region = 0; region < probe->regions && sim->new_probes[k]; region++)
      for (int n = 0; n < count; n++) {
        char own[COLUMN];
        name_column(probe, region, names[n], own);
        if (strcmp(own, column) == 0) return true;
      }
  }
  return false;
}

/* Point k of a line, or the point. */
static bool is_near(const struct scene_probe *probe, int k, const double x[3])
{
  const double at = probe->regions > 1 ? (double)k / (probe->regions - 1) : 0.0;
  double center[3], away[3];
  for (int d = 0; d < 3; d++) center[d] = (1.0 - at) * probe->low[d] + at * probe->high[d];
  vec_sub(x, center, away);
  return vec_dot(away, away) <= probe->radius * probe->radius;
}

static bool is_in_slice(const struct scene_probe *probe, int k, const double x[3])
{
  const double *low = probe->low, *high = probe->high;
  for (int d = 0; d < 3; d++)
    if (x[d] < low[d] || x[d] >= high[d]) return false;
  const int a = probe->axis;
  return (int)(probe->regions * ((x[a] - low[a]) / (high[a] - low[a]))) == k;
}

static bool is_inside(const struct scene_probe *probe, int k, const double x[3])
{
  switch (probe->kind) {
  case PROBE_POINT:
  case PROBE_LINE: return is_near(probe, k, x);
  case PROBE_INSIDE: return shape_contains(&probe->shape, x);
  case PROBE_PROFILE: return is_in_slice(probe, k, x);
  default: return false;
  }
}

static const struct frame_column *column_of(const char *word)
{
  int k = FRAME_ALWAYS;
  while (strcmp(frame_columns[k].word, word) != 0) k++;
  return &frame_columns[k];
}

static double derive_one(const struct sim *sim, const char *word, int32_t i, double out[9])
{
  double rows[LANES][9] = {{0.0}};
  int32_t index[LANES];
  for (int l = 0; l < LANES; l++) index[l] = i;
  const struct frame_state state = {sim->p, sim->constants, sim->transfer.heat};
  column_of(word)->derive(&state, index, rows);
  memcpy(out, rows[0], sizeof rows[0]);
  return out[0];
}

static void ask_particle(const struct sim *sim, int32_t i, double q[QUANTITIES])
{
  double s[9], one[9];
  q[Q_DENSITY] = derive_one(sim, "density", i, one);
  q[Q_JP] = derive_one(sim, "jp", i, one);
  q[Q_TEMPERATURE] = sim->transfer.heat ? derive_one(sim, "temperature", i, one) : 0.0;
  derive_one(sim, "stress", i, s);
  const double a = s[0] - s[4], b = s[4] - s[8], c = s[8] - s[0],
               shear = s[1] * s[1] + s[2] * s[2] + s[5] * s[5];
  q[Q_PRESSURE] = -(s[0] + s[4] + s[8]) / 3.0;
  q[Q_VON_MISES] = sqrt(0.5 * (a * a + b * b + c * c) + 3.0 * shear);
  q[Q_SPEED2] = 0.0;
  for (int d = 0; d < 3; d++) {
    q[Q_VX + d] = sim->p->v[d][i];
    q[Q_SPEED2] += sim->p->v[d][i] * sim->p->v[d][i];
  }
}

static void add_particle(struct region *region, double mass, const double q[QUANTITIES])
{
  exact_add(&region->count, 1.0);
  exact_add(&region->mass, mass);
  for (int k = 0; k < QUANTITIES; k++) exact_add(&region->first[k], mass * q[k]);
  for (int k = 0; k < SCALARS; k++) exact_add(&region->second[k], mass * q[k] * q[k]);
}

static void add_to_regions(const struct sim *sim, int32_t i, struct region *region)
{
  const double x[3] = {sim->p->x[0][i], sim->p->x[1][i], sim->p->x[2][i]};
  double q[QUANTITIES];
  bool asked = false;
  for (int k = 0; k < sim->scene->probe_count; k++) {
    const struct scene_probe *probe = &sim->scene->probes[k];
    if (probe->kind == PROBE_FLUX || probe->kind == PROBE_DEPOSIT) continue;
    for (int n = 0; n < probe->regions; n++, region++) {
      if (!is_inside(probe, n, x)) continue;
      if (!asked) ask_particle(sim, i, q);
      asked = true;
      add_particle(region, sim->p->mass[i], q);
    }
  }
}

static void up_of(const struct scene *scene, double up[3])
{
  for (int d = 0; d < 3; d++) up[d] = -scene->gravity[d];
  if (!(vec_normalize(up) > 0.0)) up[1] = 1.0;
}

static void add_to_deposits(const struct sim *sim, int32_t i, const double up[3], struct extent *extent)
{
  const double x[3] = {sim->p->x[0][i], sim->p->x[1][i], sim->p->x[2][i]};
  for (int k = 0; k < sim->scene->probe_count; k++) {
    const struct scene_probe *probe = &sim->scene->probes[k];
    if (probe->kind != PROBE_DEPOSIT) continue;
    struct extent *e = extent++;
    if (shape_contains(&probe->shape, x)) continue;
    const double along = vec_dot(x, probe->high);
    double density[9];
    e->most[0] = fmax(e->most[0], along);
    e->most[1] = fmax(e->most[1], -along);
    e->most[2] = fmax(e->most[2], vec_dot(x, up));
    exact_add(&e->mass, sim->p->mass[i]);
    exact_add(&e->volume, sim->p->mass[i] / derive_one(sim, "density", i, density));
  }
}

static double spread_of(double mean, double square)
{
  return sqrt(fmax(0.0, square - mean * mean));
}

/* Where nothing is, means are 0, as the count says. */
static double *put_region(const struct region *region, bool heat, double *row)
{
  const double mass = exact_value(&region->mass), by = mass > 0.0 ? 1.0 / mass : 0.0;
  double mean[QUANTITIES], spread[SCALARS], speed2 = 0.0;
  for (int k = 0; k < QUANTITIES; k++) mean[k] = by * exact_value(&region->first[k]);
  *row++ = exact_value(&region->count);
  *row++ = mass;
  for (int k = 0; k < SCALARS; k++) spread[k] = spread_of(mean[k], by * exact_value(&region->second[k]));
  for (int k = 0; k < Q_TEMPERATURE; k++) {
    *row++ = mean[k];
    *row++ = spread[k];
  }
  for (int d = 0; d < 3; d++) {
    *row++ = mean[Q_VX + d];
    speed2 += mean[Q_VX + d] * mean[Q_VX + d];
  }
  *row++ = sqrt(fmax(0.0, mean[Q_SPEED2] - speed2));
  if (!heat) return row;
  *row++ = mean[Q_TEMPERATURE];
  *row++ = spread[Q_TEMPERATURE];
  return row;
}

static double *put_extent(const struct extent *e, double *row)
{
  const bool any = exact_value(&e->mass) > 0.0;
  *row++ = any ? e->most[0] : 0.0;
  *row++ = any ? -e->most[1] : 0.0;
  *row++ = any ? e->most[2] : 0.0;
  *row++ = exact_value(&e->mass);
  *row++ = exact_value(&e->volume);
  return row;
}

static void put_row(const struct sim *sim, const struct region *region, const struct extent *extent,
                    double *row)
{
  int flux = 0;
  for (int k = 0; k < sim->scene->probe_count; k++) {
    const struct scene_probe *probe = &sim->scene->probes[k];
    if (probe->kind == PROBE_DEPOSIT)
      row = put_extent(extent++, row);
    else if (probe->kind == PROBE_FLUX)
      for (int n = 0; n < FLUX_COLUMNS; n++) *row++ = instruments_flux(sim, flux++);
    else
      for (int n = 0; n < probe->regions; n++) row = put_region(region++, sim->scene->has_heat, row);
  }
}

void probes_measure(struct sim *sim, double *row)
{
  int regions = 0, deposits = 0;
  double up[3];
  up_of(sim->scene, up);
  for (int k = 0; k < sim->scene->probe_count; k++) {
    const struct scene_probe *probe = &sim->scene->probes[k];
    deposits += probe->kind == PROBE_DEPOSIT;
    regions += probe->kind == PROBE_DEPOSIT || probe->kind == PROBE_FLUX ? 0 : probe->regions;
  }
  struct region *region = mem_alloc((size_t)regions, sizeof *region);
  struct extent *extent = mem_alloc((size_t)deposits, sizeof *extent);
  for (int k = 0; k < deposits; k++)
    for (int d = 0; d < 3; d++) extent[k].most[d] = -INFINITY;
  sim_tidy(sim);
  for (int32_t i = 0; i < sim->p->count; i++) {
    if (regions) add_to_regions(sim, i, region);
    if (deposits) add_to_deposits(sim, i, up, extent);
  }
  for (int k = 0; k < regions; k++) reduce_exact(&sim->comm, &region[k].count, REGION_SUMS);
  for (int k = 0; k < deposits; k++) {
    comm_max(&sim->comm, extent[k].most, 3);
    reduce_exact(&sim->comm, &extent[k].mass, 2);
  }
  put_row(sim, region, extent, row);
  mem_free(region);
  mem_free(extent);
}

void probes_cross(const struct sim *sim, struct exact_sum *sums)
{
  for (int k = 0; k < sim->scene->probe_count; k++) {
    const struct scene_probe *probe = &sim->scene->probes[k];
    if (probe->kind != PROBE_FLUX) continue;
    for (int32_t i = 0; i < sim->p->count; i++) {
      const int32_t slot = sim->order.slot[i], home = sim->order.home[i];
      double before = 0.0, after = 0.0;
      for (int d = 0; d < 3; d++) {
        before += probe->high[d] * (sim->p->x[d][slot] - probe->low[d]);
        after += probe->high[d] * (sim->next.p->x[d][i] - probe->low[d]);
      }
      if ((before >= 0.0) == (after >= 0.0)) continue;
      const double mass = after >= 0.0 ? sim->p->mass[home] : -sim->p->mass[home];
      exact_add(&sums[0], mass);
      for (int d = 0; d < 3; d++) exact_add(&sums[1 + d], mass * sim->next.p->v[d][i]);
    }
    sums += FLUX_COLUMNS;
  }
}
