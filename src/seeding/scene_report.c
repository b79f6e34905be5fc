/* The estimates of `firn check`.
 *
 * Everything follows from the scene alone, in well under a second: active nodes by sampling the neighbourhood
 * of each shape, steps from the limits of method.md. */
#include "seeding/scene_report.h"

#include "io/particles/frame_fields.h"

#include "base/rng.h"
#include "base/vec.h"
#include "decomposition/node_memory.h"
#include "seeding/window.h"

#include <math.h>

enum {
  SAMPLES = 200000,
  LEAST_SAMPLES = 200,
  BYTES_A_PARTICLE = 300, /* state, its copy and its order, with what is kept in reserve */
  BYTES_OF_AFFINE = 72,   /* more with APIC, for each copy of B */
  BYTES_OF_HEAT = 80,     /* more with heat, without liquid */
  LEAST_A_PARTICLE = 280,
  BYTES_A_NODE = 200
};
static const int64_t most_on_a_rank = INT32_MAX - 63; /* particles; their index has 31 bits */

/* Nodes that snow inside the shape touches: those within the kernel's support of it, along every axis. */
static double touched_nodes(const struct scene *s, const struct shape *shape)
{
  const int share = SAMPLES / s->snow_count, samples = share < LEAST_SAMPLES ? LEAST_SAMPLES : share;
  const double support = (s->kernel == KERNEL_CUBIC ? 2.0 : 1.5) * s->spacing;
  double lower[3], upper[3], volume = 1.0;
  shape_bounds(shape, lower, upper);
  for (int d = 0; d < 3; d++) {
    lower[d] -= support;
    upper[d] += support;
    volume *= (upper[d] - lower[d]) / s->spacing;
  }
  int touched = 0;
  for (uint64_t k = 0; k < (uint64_t)samples; k++) {
    double x[3], n[3], most = 0.0;
    for (uint64_t d = 0; d < 3; d++) x[d] = lower[d] + (upper[d] - lower[d]) * rng_uniform(0, k, d);
    const double distance = shape_distance(shape, x, n);
    for (int d = 0; d < 3; d++) most = fmax(most, fabs(distance * n[d]));
    touched += distance <= 0.0 || most < support;
  }
  return volume * touched / samples;
}

/* m/s, of a compression wave in undeformed matter. */
static double sound_speed(const struct material *m)
{
  return sqrt(material_stiffness(m) / m->density);
}

/* Whether sound limits the step: in explicit steps of any material, in others of one that has no part in the
 * solve. */
static bool sound_binds(const struct scene *s)
{
  bool binds = s->beta == 0.0;
  for (int k = 0; k < s->material_count; k++) binds |= material_is_explicit(&s->materials[k]);
  return binds;
}

static double fastest_sound(const struct scene *s)
{
  double fastest = 0.0;
  for (int k = 0; k < s->material_count; k++)
    if (s->beta == 0.0 || !sound_binds(s) || material_is_explicit(&s->materials[k]))
      fastest = fmax(fastest, sound_speed(&s->materials[k]));
  return fastest;
}

static double top_speed(const struct scene *s)
{
  double speed = 0.0;
  for (int k = 0; k < s->snow_count; k++)
    if (!s->snow[k].file)
      speed = fmax(speed, vec_norm(s->snow[k].velocity) +
                              vec_norm(s->snow[k].spin) * shape_reach(&s->snow[k].shape));
  for (int k = 0; k < s->body_count; k++) speed = fmax(speed, body_max_speed(&s->bodies[k]));
  return speed;
}

/* Frames fall on k / frame_rate, so each interval is divided evenly; the end may cut the last one short. */
static double count_steps(const struct scene *s, double step)
{
  const double interval = 1.0 / s->frame_rate, each = ceil(interval / step - 1e-6);
  const int64_t last = scene_last_frame(s);
  const double rest = scene_end_time(s) - (double)(last - 1) * interval;
  return (double)(last - 1) * each + ceil(rest * each / interval - 1e-6);
}

/* How much stiffer snow is at half its volume, at most. */
static double hardest(const struct scene *s)
{
  double factor = 1.0;
  for (int k = 0; k < s->material_count; k++) {
    const struct material *m = &s->materials[k];
    if (m->model == MODEL_SNOW && m->snow.plastic != 0)
      factor = fmax(factor, fmin(m->snow.hardening_limit, exp(0.5 * m->snow.hardening)));
  }
  return factor;
}

static double frame_bytes(const struct scene *s)
{
  double bytes = 0.0;
  for (int k = 0; k < FRAME_COLUMNS; k++)
    if (frame_has(s, &frame_columns[k])) bytes += (double)frame_row_size(&frame_columns[k], s->frame_bits);
  return bytes;
}

static int64_t written_frames(const struct scene *s)
{
  const int64_t last = scene_last_frame(s), every = s->frame_every;
  return last / every + 1 + (last % every != 0);
}

static void print_frames(FILE *file, const struct scene *s, const struct scene_estimate *e)
{
  const int64_t last = scene_last_frame(s);
  fprintf(file, "  frames     %lld, %g a second, to the end at %.9g s", (long long)last + 1, s->frame_rate,
          scene_end_time(s));
  if (s->frame_every > 1) fprintf(file, "; %.0f are written", e->frames);
  fprintf(file, "\n  disk       about %.3g MB in frames, before compression\n", 1e-6 * e->disk);
}

/* m^2/s, of heat in an item: its conductivity over what a volume of it takes to warm. */
static double heat_spread(const struct scene *s, const struct snow_source *snow)
{
  const double density = scene_density(s, snow),
               solid = snow->conductivity > 0.0 ? snow->conductivity : heat_snow_conductivity(density);
  if (snow->liquid) return s->heat.kappa_liquid / (density * s->heat.c_liquid);
  return solid / (density * s->heat.c_solid);
}

/* No step is too long for heat or for the liquid to be stable; but a front that crosses a cell in a step
 * melts wrongly. */
static void heat_limits(const struct scene *s, struct scene_estimate *e)
{
  e->melting = INFINITY;
  if (!s->has_heat) return;
  for (int k = 0; k < s->snow_count; k++) e->spread = fmax(e->spread, heat_spread(s, &s->snow[k]));
  e->melting = s->spacing * s->spacing / e->spread;
  e->iterations = 9.0 * sqrt(s->heat.lambda_liquid / s->heat.rho_liquid) * e->step / s->spacing;
}

void scene_step_limits(const struct scene *s, struct scene_estimate *e)
{
  e->advection = s->cfl * s->spacing / top_speed(s); /* infinite at rest */
  e->gravity = sqrt(s->cfl * s->spacing / vec_norm(s->gravity));
  e->sound = s->cfl_sound * s->spacing / fastest_sound(s);
  e->step = fmin(s->max_step, fmin(e->advection, e->gravity));
  e->sound_binds = sound_binds(s);
  if (e->sound_binds) e->step = fmin(e->step, e->sound);
  if (s->step > 0.0) e->step = s->step;
  e->step = fmin(e->step, 1.0 / s->frame_rate);
  e->steps = count_steps(s, e->step);
  e->spread = e->iterations = 0.0;
  heat_limits(s, e);
  e->hardened = e->steps;
  if (e->sound_binds && s->step == 0.0)
    e->hardened = count_steps(s, fmin(e->step, e->sound / sqrt(hardest(s))));
}

/* The part of a shape that a window shows at the start, as far as its bounds tell. */
static double shown_part(const struct scene *s, const struct shape *shape)
{
  if (!s->window.given) return 1.0;
  struct window w = {0};
  window_advance(&w, s, 0.0);
  double lower[3], upper[3];
  shape_bounds(shape, lower, upper);
  const int axis = s->window.axis;
  const double from = s->lower[axis] + s->spacing * (double)w.from;
  const double to = s->lower[axis] + s->spacing * (double)w.to;
  return fmax(0.0, fmin(to, upper[axis]) - fmax(from, lower[axis])) / (upper[axis] - lower[axis]);
}

/* Of an item that is a shape, where a window does not hide it. */
static double count_particles(const struct scene *s, const struct snow_source *snow)
{
  if (snow->count) return (double)snow->count;
  const double cell = s->spacing * s->spacing * s->spacing;
  return snow->per_cell * shown_part(s, &snow->shape) * shape_volume(&snow->shape) / cell;
}

/* Bytes of one of the scene's particles, without the grid's. */
static double particle_bytes(const struct scene *s)
{
  double bytes = BYTES_A_PARTICLE;
  if (s->scheme == SCHEME_APIC) bytes += (scene_affine_once(s) ? 1 : 2) * BYTES_OF_AFFINE;
  if (s->has_heat) bytes += BYTES_OF_HEAT;
  return bytes;
}

void scene_estimate(const struct scene *s, int64_t rows, int ranks, struct scene_estimate *e)
{
  *e = (struct scene_estimate){.exact = true, .particles = (double)rows};
  for (int k = 0; k < s->snow_count; k++) {
    const struct snow_source *snow = &s->snow[k];
    if (snow->file) continue;
    e->particles += count_particles(s, snow);
    e->exact = e->exact && snow->count;
    e->nodes += shown_part(s, &snow->shape) * touched_nodes(s, &snow->shape);
  }
  e->bytes = (e->particles * particle_bytes(s) + e->nodes * BYTES_A_NODE) / ranks;
  e->frames = (double)written_frames(s);
  e->disk = e->frames * e->particles * frame_bytes(s);
  scene_step_limits(s, e);
}

int scene_fits(const struct comm *comm, const struct scene *s, struct error *err)
{
  int64_t rows;
  int code = scene_check_files(s, comm, &rows, err);
  double particles = (double)rows;
  for (int k = 0; k < s->snow_count && !code; k++)
    if (!s->snow[k].file) particles += count_particles(s, &s->snow[k]);
  if (!code && scene_particles_fit(comm, particles, err)) code = error_prefix(err, "%s", s->path);
  return code;
}

int scene_particles_fit(const struct comm *comm, double particles, struct error *err)
{
  if (particles / comm->size > (double)most_on_a_rank)
    return error_set(
        err, FIRN_ELIMIT,
        "%.3g particles are too many for %d rank%s, of which each holds %lld at most; use %.0f ranks or more",
        particles, comm->size, comm->size == 1 ? "" : "s", (long long)most_on_a_rank,
        ceil(1.2 * particles / (double)most_on_a_rank));
  return node_memory_check(comm, particles * LEAST_A_PARTICLE / comm->size, err);
}

static void print_limit(FILE *file, const char *name, double limit, const char *note)
{
  if (isfinite(limit))
    fprintf(file, "    %-10s %.3g s%s\n", name, limit, note);
  else
    fprintf(file, "    %-10s none%s\n", name, note);
}

/* A node of the cluster may be larger than the machine that is asked: a warning, while a run that does not
 * fit is refused. */
static void warn_memory(const struct scene_estimate *e, int ranks, FILE *file)
{
  const double mib = 1048576.0;
  struct node_memory memory;
  node_memory_find(&memory);
  const double nodes = ceil(e->bytes * ranks / (0.9 * memory.node));
  if (e->bytes * ranks > memory.node)
    fprintf(file,
            "  warning: %.0f MiB in all, and %s %.0f MiB: it takes %.0f nodes like this one, or fewer "
            "particles\n",
            e->bytes * ranks / mib, memory.by, memory.node / mib, nodes);
}

void scene_report(const struct scene *s, int64_t rows, int ranks, FILE *file)
{
  struct scene_estimate e;
  scene_estimate(s, rows, ranks, &e);
  fprintf(file, "%s: valid, hash %016llx\n", s->path, (unsigned long long)s->hash);
  fprintf(file, "  domain     %lld x %lld x %lld cells of %g m\n", (long long)s->cells[0],
          (long long)s->cells[1], (long long)s->cells[2], s->spacing);
  fprintf(file, "  particles  %s%.0f", e.exact ? "" : "about ", e.particles);
  if (rows) fprintf(file, ", %lld of them from files", (long long)rows);
  fprintf(file, "\n  nodes      about %.0f active at the start%s\n", e.nodes,
          rows ? ", without those of files" : "");
  fprintf(file, "  memory     about %.1f MiB a rank on %d rank%s\n", e.bytes / 1048576.0, ranks,
          ranks == 1 ? "" : "s");
  fprintf(file, "  step limits at the start\n");
  print_limit(file, "advection", e.advection, "");
  print_limit(file, "gravity", e.gravity, "");
  print_limit(file, "sound", e.sound,
              e.sound_binds ? " (shorter as matter hardens)" : " (does not bind: semi-implicit)");
  if (s->has_heat) print_limit(file, "melting", e.melting, " (beyond it the front of melting is off)");
  if (s->step == 0.0) print_limit(file, "max_step", s->max_step, "");
  print_frames(file, s, &e);
  fprintf(file, "  steps      %s%.0f of %.3g s%s\n", s->step > 0.0 ? "" : "at least ", e.steps, e.step,
          s->step > 0.0 ? " (time.step is fixed)" : "");
  if (s->has_heat)
    fprintf(file, "  liquid     about %.0f iterations a step, of sound at %.3g m/s\n",
            fmax(e.iterations, 2.0), sqrt(s->heat.lambda_liquid / s->heat.rho_liquid));
  if (e.hardened > 1.5 * e.steps)
    fprintf(
        file,
        "             %.0f once some snow is pressed to half its volume, which hardens it\n"
        "  advice     integrator.scheme: semi-implicit is not bound by that, and took a third to a tenth of "
        "the time\n             where snow was hit or fell (docs/transfers.md)\n",
        e.hardened);
  warn_memory(&e, ranks, file);
}
