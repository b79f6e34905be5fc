/* The estimates of `firn check`.
 *
 * Everything follows from the scene alone, in well under a second: active nodes by sampling the neighbourhood
 * of each shape, steps from the limits of method.md. */
#include "io/scene/scene_report.h"

#include "io/particles/frame_fields.h"
#include "io/particles/frame_vtk.h"

#include "base/rng.h"
#include "base/vec.h"
#include "bodies/free_body.h"
#include "decomposition/node_memory.h"
#include "io/scene/window.h"

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

/* Whether the sound of this material counts: all, unless only those bind that have no part in the solve. */
static bool is_heard(const struct scene *s, const struct material *m)
{
  return s->beta == 0.0 || !scene_sound_binds(s) || material_is_explicit(m);
}

/* The least density that can be estimated for a particle (method.md, step 2), over that of its own mass in
 * one cell: it is alone and lies where its weights are most even. */
static double least_estimate(const struct scene *s)
{
  const double squares = s->kernel == KERNEL_CUBIC ? 530.0 / 1152.0 : 0.5; /* sum of w^2 along an axis */
  return squares * squares * squares;
}

static double per_cell(const struct scene *s, const struct snow_source *snow)
{
  const double cell = s->spacing * s->spacing * s->spacing;
  return snow->count ? (double)snow->count * cell / shape_volume(&snow->shape) : snow->per_cell;
}

/* (m/s)^2, in undeformed particles of one zone, with all that noise may do. */
static double zone_sound2(const struct scene *s, const struct snow_source *snow, const struct snow_zone *zone)
{
  const struct material *m = &s->materials[zone->material];
  if (!is_heard(s, m)) return 0.0;
  double density = m->density * zone->density / snow->noise.density;
  if (scene_estimates_volume(s, snow)) density *= least_estimate(s) / per_cell(s, snow);
  return material_stiffness(m) * zone->stiffness * snow->noise.stiffness / density;
}

/* m/s, of compression waves in undeformed matter; 0 if there is no solid. Of files only the material counts.
 */
static double fastest_sound(const struct scene *s)
{
  double fastest = 0.0; /* squared */
  for (int k = 0; k < s->snow_count; k++) {
    const struct snow_source *snow = &s->snow[k];
    const struct material *m = &s->materials[snow->material];
    if (snow->file && is_heard(s, m)) fastest = fmax(fastest, material_stiffness(m) / m->density);
    for (int z = 0; z < snow->zone_count && !snow->liquid; z++)
      if (z == ZONE_INSIDE || snow->zone[z].depth > 0.0)
        fastest = fmax(fastest, zone_sound2(s, snow, &snow->zone[z]));
  }
  for (int k = 0; k < s->source_count; k++) {
    const struct material *m = &s->materials[s->sources[k].material];
    if (!s->sources[k].liquid && is_heard(s, m)) fastest = fmax(fastest, material_stiffness(m) / m->density);
  }
  return sqrt(fastest);
}

/* What fastest_sound() is worth: particles of files may be harder or lighter than their material, and
 * estimated volumes are known only once the snow is seeded. */
static enum sound_from sound_is_from(const struct scene *s)
{
  enum sound_from from = SOUND_KNOWN;
  for (int k = 0; k < s->snow_count; k++)
    if (s->snow[k].file)
      from = SOUND_GUESSED;
    else if (from == SOUND_KNOWN && scene_estimates_volume(s, &s->snow[k]))
      from = SOUND_BOUND;
  return from;
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
  double bytes = s->vtkhdf ? FRAME_VTK_BYTES : 0.0;
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
  fprintf(file, "  frames     %lld, %g per second, to the end at %.9g s", (long long)last + 1, s->frame_rate,
          scene_end_time(s));
  if (s->frame_every > 1) fprintf(file, "; %.0f are written", e->frames);
  fprintf(file, "\n  disk       about %.3g MB in frames, before compression\n", 1e-6 * e->disk);
}

/* m^2/s, of heat in an item: its conductivity over what a volume of it takes to warm. Liquid may freeze, and
 * ice conducts better. */
static double heat_spread(const struct scene *s, const struct snow_source *snow)
{
  const double density = scene_density(s, snow),
               solid = snow->conductivity > 0.0 ? snow->conductivity : heat_snow_conductivity(density);
  const double frozen = solid / (density * s->heat.c_solid);
  return snow->liquid ? fmax(frozen, s->heat.kappa_liquid / (density * s->heat.c_liquid)) : frozen;
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

/* Step and steps that follow from the limits. */
static void count_all_steps(const struct scene *s, struct scene_estimate *e)
{
  e->step = s->step > 0.0 ? s->step : fmin(s->max_step, fmin(e->advection, e->gravity));
  if (e->sound_binds) e->step = fmin(e->step, e->sound);
  e->step = fmin(e->step, 1.0 / s->frame_rate);
  e->steps = e->hardened = count_steps(s, e->step);
  if (e->sound_binds) e->hardened = count_steps(s, fmin(e->step, e->sound / sqrt(hardest(s))));
}

void scene_step_limits(const struct scene *s, struct scene_estimate *e)
{
  e->advection = s->cfl * s->spacing / top_speed(s); /* infinite at rest */
  e->gravity = scene_gravity_step(s);
  e->sound_binds = scene_sound_binds(s);
  e->sound_from = sound_is_from(s);
  e->sound = s->cfl_sound * s->spacing / fastest_sound(s);
  e->spread = e->iterations = 0.0;
  count_all_steps(s, e);
  heat_limits(s, e);
}

void scene_set_sound(const struct scene *s, double speed, struct scene_estimate *e)
{
  e->sound = s->cfl_sound * s->spacing / speed;
  e->sound_from = SOUND_SEEDED;
  count_all_steps(s, e);
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
  e->bytes = SCENE_PROCESS_BYTES + (e->particles * particle_bytes(s) + e->nodes * BYTES_A_NODE) / ranks;
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

/* What the limit of sound means, and how it was found. */
static void print_sound(FILE *file, const struct scene_estimate *e)
{
  static const char *const from[] = {
      [SOUND_KNOWN] = "",
      [SOUND_SEEDED] = "; from the volumes that the first step will estimate",
      [SOUND_BOUND] = "; at least, since volumes are estimated in the first step: too many particles to try",
      [SOUND_GUESSED] = "; a guess, since the files hold too many particles to try"};
  char note[160];
  snprintf(note, sizeof note, " (%s%s)",
           !e->sound_binds ? "does not bind: semi-implicit" : "shorter as matter hardens",
           e->sound_binds ? from[e->sound_from] : "");
  print_limit(file, "sound", e->sound, note);
}

static void print_steps(FILE *file, const struct scene *s, const struct scene_estimate *e)
{
  const bool cut = s->step > e->step;
  fprintf(file, "  steps      %s%.0f of %.3g s%s\n", s->step > 0.0 && !e->sound_binds ? "" : "at least ",
          e->steps, e->step,
          cut             ? " (sound cuts time.step)"
          : s->step > 0.0 ? " (time.step is fixed)"
                          : "");
}

/* What free bodies weigh, and how they resist a turn. */
static void print_free(const struct scene *s, FILE *file)
{
  for (int k = 0; k < s->body_count; k++) {
    const struct free_body *free = s->bodies[k].free;
    if (!free) continue;
    fprintf(file,
            "  free body  %s: %.4g kg, centre of mass (%.4g, %.4g, %.4g) m, moments of inertia %.3g, %.3g, "
            "%.3g kg "
            "m^2\n",
            s->bodies[k].name, free->mass, free->center[0], free->center[1], free->center[2], free->moment[0],
            free->moment[1], free->moment[2]);
  }
}

void scene_report(const struct scene *s, const struct scene_estimate *found, int64_t rows, int ranks,
                  FILE *file)
{
  const struct scene_estimate e = *found;
  fprintf(file, "%s: valid, hash %016llx\n", s->path, (unsigned long long)s->hash);
  fprintf(file, "  domain     %lld x %lld x %lld cells of %g m\n", (long long)s->cells[0],
          (long long)s->cells[1], (long long)s->cells[2], s->spacing);
  fprintf(file, "  particles  %s%.0f", e.exact ? "" : "about ", e.particles);
  if (rows) fprintf(file, ", %lld of them from files", (long long)rows);
  fprintf(file, "\n  nodes      about %.0f active at the start%s\n", e.nodes,
          rows ? ", without those of files" : "");
  fprintf(file, "  memory     about %.1f MiB per rank on %d rank%s\n", e.bytes / 1048576.0, ranks,
          ranks == 1 ? "" : "s");
  print_free(s, file);
  fprintf(file, "  step limits at the start\n");
  print_limit(file, "advection", e.advection, "");
  print_limit(file, "gravity", e.gravity, "");
  print_sound(file, &e);
  if (s->has_heat) print_limit(file, "melting", e.melting, " (beyond it the front of melting is off)");
  if (s->step == 0.0) print_limit(file, "max_step", s->max_step, "");
  print_frames(file, s, &e);
  print_steps(file, s, &e);
  if (s->has_heat)
    fprintf(file, "  liquid     about %.0f iterations per step, of sound at %.3g m/s\n",
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
