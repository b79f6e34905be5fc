/* The estimates of `firn check`.
 *
 * Everything follows from the scene alone, in well under a second: active nodes by sampling the neighbourhood
 * of each shape, steps from the limits of method.md. The ranges that count as sensible are those of
 * chapter 4.2 of the 2017 thesis, and for the critical stretches, which it leaves open, a factor of a few
 * around the paper's table 2. */
#include "scene_report.h"

#include "base/rng.h"
#include "base/vec.h"
#include "window.h"

#include <math.h>

enum { SAMPLES = 200000, BYTES_A_PARTICLE = 350, BYTES_A_NODE = 200 };

/* Nodes that snow inside the shape touches: those within the kernel's support of it, along every axis. */
static double touched_nodes(const struct scene *s, const struct shape *shape)
{
  const double support = (s->kernel == KERNEL_CUBIC ? 2.0 : 1.5) * s->spacing;
  double lower[3], upper[3], volume = 1.0;
  shape_bounds(shape, lower, upper);
  for (int d = 0; d < 3; d++) {
    lower[d] -= support;
    upper[d] += support;
    volume *= (upper[d] - lower[d]) / s->spacing;
  }
  int touched = 0;
  for (uint64_t k = 0; k < SAMPLES; k++) {
    double x[3], n[3], most = 0.0;
    for (uint64_t d = 0; d < 3; d++) x[d] = lower[d] + (upper[d] - lower[d]) * rng_uniform(0, k, d);
    const double distance = shape_distance(shape, x, n);
    for (int d = 0; d < 3; d++) most = fmax(most, fabs(distance * n[d]));
    touched += distance <= 0.0 || most < support;
  }
  return volume * touched / SAMPLES;
}

/* m/s, of a compression wave in snow that has not hardened yet. */
static double sound_speed(const struct material *m)
{
  const double mu = m->young / (2.0 * (1.0 + m->poisson));
  const double lambda = m->young * m->poisson / ((1.0 + m->poisson) * (1.0 - 2.0 * m->poisson));
  return sqrt((lambda + 2.0 * mu) / m->density);
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

/* Frames fall on k / frame_rate, so each interval is divided evenly; the last may be shorter. */
static double count_steps(const struct scene *s, double step)
{
  const double interval = 1.0 / s->frame_rate, whole = floor(s->end * s->frame_rate * (1.0 + 1e-12));
  const double rest = s->end - whole * interval;
  return whole * ceil(interval / step - 1e-9) + (rest > 1e-9 * interval ? ceil(rest / step - 1e-9) : 0.0);
}

static void estimate_steps(const struct scene *s, struct scene_estimate *e)
{
  double fastest = 0.0;
  for (int k = 0; k < s->material_count; k++) fastest = fmax(fastest, sound_speed(&s->materials[k]));
  e->advection = s->cfl * s->spacing / top_speed(s); /* infinite at rest */
  e->gravity = sqrt(s->cfl * s->spacing / vec_norm(s->gravity));
  e->sound = s->cfl_sound * s->spacing / fastest;
  e->step = fmin(s->max_step, fmin(e->advection, e->gravity));
  if (s->beta == 0.0) e->step = fmin(e->step, e->sound);
  if (s->step > 0.0) e->step = s->step;
  e->step = fmin(e->step, fmin(s->end, 1.0 / s->frame_rate));
  e->steps = count_steps(s, e->step);
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

void scene_estimate(const struct scene *s, int ranks, struct scene_estimate *e)
{
  *e = (struct scene_estimate){.exact = true};
  const double cell = s->spacing * s->spacing * s->spacing;
  for (int k = 0; k < s->snow_count; k++) {
    const struct snow_source *snow = &s->snow[k];
    if (snow->file) {
      e->files++;
      continue;
    }
    const double part = shown_part(s, &snow->shape);
    e->particles +=
        snow->count ? (double)snow->count : snow->per_cell * part * shape_volume(&snow->shape) / cell;
    e->exact = e->exact && snow->count;
    e->nodes += part * touched_nodes(s, &snow->shape);
  }
  e->bytes = (e->particles * BYTES_A_PARTICLE + e->nodes * BYTES_A_NODE) / ranks;
  estimate_steps(s, e);
}

static int warn_range(FILE *file, const struct material *m, const char *key, double value, double low,
                      double high, const char *why)
{
  if (value >= low && value <= high) return 0;
  fprintf(file, "  warning: materials.%s.%s is %g, outside the sensible %g to %g: %s\n", m->name, key, value,
          low, high, why);
  return 1;
}

static int warn_material(FILE *file, const struct material *m)
{
  int warnings = 0;
  warnings += warn_range(file, m, "density", m->density, 50.0, 917.0,
                         "fresh snow has 50 to 100 kg/m^3, firn 400 and more, ice 917");
  warnings += warn_range(file, m, "young", m->young, 1.4e3, 5e5,
                         "softer flows like mud, stiffer needs shorter steps");
  warnings += warn_range(file, m, "poisson", m->poisson, 0.2, 0.35, "measured snow lies between");
  if (!m->plastic) return warnings;
  if (m->hardening == 0.0) {
    fprintf(file, "  warning: materials.%s.hardening is 0: packed snow will be no stiffer than loose snow\n",
            m->name);
    warnings++;
  } else {
    warnings +=
        warn_range(file, m, "hardening", m->hardening, 0.0, 20.0, "stiffness grows as its exponential");
  }
  warnings += warn_range(file, m, "critical_compression", m->critical_compression, 5e-3, 0.1,
                         "the paper uses 2.5e-2; it sets the greatest stress");
  warnings += warn_range(file, m, "critical_stretch", m->critical_stretch, 1e-3, 5e-2,
                         "the paper uses 7.5e-3; it sets when snow breaks");
  return warnings;
}

static int warn_snow(FILE *file, const struct scene *s, const struct snow_source *snow)
{
  if (snow->file) return 0;
  const double cells = shape_volume(&snow->shape) / (s->spacing * s->spacing * s->spacing);
  const double density = snow->count ? (double)snow->count / cells : snow->per_cell;
  if (density >= 4.0 && density <= 64.0) return 0;
  fprintf(file, "  warning: %s has %.3g particles a cell; %s\n", snow->name, density,
          density < 4.0 ? "below 4 it falls apart numerically" : "4 to 10 are enough, more only cost time");
  return 1;
}

static int warn_steps(FILE *file, const struct scene *s, const struct scene_estimate *e)
{
  int warnings = 0;
  if (s->step > e->advection) {
    fprintf(file, "  warning: time.step %g s is beyond the advection limit of %g s\n", s->step, e->advection);
    warnings++;
  }
  if (s->step > e->sound && s->beta == 0.0) {
    fprintf(file,
            "  warning: time.step %g s is beyond the sound limit of %g s: the explicit scheme will blow up\n",
            s->step, e->sound);
    warnings++;
  }
  return warnings;
}

static void print_limit(FILE *file, const char *name, double limit, const char *note)
{
  if (isfinite(limit))
    fprintf(file, "    %-10s %.3g s%s\n", name, limit, note);
  else
    fprintf(file, "    %-10s none%s\n", name, note);
}

int scene_report(const struct scene *s, int ranks, FILE *file)
{
  struct scene_estimate e;
  scene_estimate(s, ranks, &e);
  fprintf(file, "%s: valid, hash %016llx\n", s->path, (unsigned long long)s->hash);
  fprintf(file, "  domain     %lld x %lld x %lld cells of %g m\n", (long long)s->cells[0],
          (long long)s->cells[1], (long long)s->cells[2], s->spacing);
  fprintf(file, "  particles  %s%.0f", e.exact ? "" : "about ", e.particles);
  for (int k = 0; k < s->snow_count; k++)
    if (s->snow[k].file) fprintf(file, " + those of %s", s->snow[k].file);
  fprintf(file, "\n  nodes      about %.0f active at the start\n", e.nodes);
  fprintf(file, "  memory     about %.1f MiB a rank on %d rank%s\n", e.bytes / 1048576.0, ranks,
          ranks == 1 ? "" : "s");
  fprintf(file, "  step limits at the start\n");
  print_limit(file, "advection", e.advection, "");
  print_limit(file, "gravity", e.gravity, "");
  print_limit(file, "sound", e.sound,
              s->beta > 0.0 ? " (does not bind: semi-implicit)" : " (shorter as snow hardens)");
  print_limit(file, "max_step", s->max_step, "");
  fprintf(file, "  steps      %s%.0f of %.3g s to %g s%s\n", s->step > 0.0 ? "" : "at least ", e.steps,
          e.step, s->end, s->step > 0.0 ? " (time.step is fixed)" : "");
  int warnings = warn_steps(file, s, &e);
  for (int k = 0; k < s->material_count; k++) warnings += warn_material(file, &s->materials[k]);
  for (int k = 0; k < s->snow_count; k++) warnings += warn_snow(file, s, &s->snow[k]);
  return warnings;
}
