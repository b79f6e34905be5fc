/* The schema: every key of a scene outside its snow and bodies, with its default and its limits, in the order
 * of docs/scene-format.md. Values are checked where they are read, so that a message can name the line. */
#include "io/scene/scene_read.h"

#include "base/memory.h"
#include "base/vec.h"
#include "io/particles/frame_fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A cell's key has 21 bits an axis (src/grid/grid.h), and nodes reach beyond the domain's faces. */
static const int64_t most_cells = (int64_t)1 << 20;

/* The slabs lie along the copies; a window moves through one scene. */
static void read_copies(struct reader *r, const struct yaml_item *map, struct scene *s)
{
  s->copies = 1;
  if (!yaml_find(map, "copies") && yaml_find(map, "copy_cells"))
    reader_fail_key(r, map, "copy_cells", "the distance of copies, but there is one; add domain.copies");
  if (!yaml_find(map, "copies")) return;
  s->copies = (int)reader_integer(r, map, "copies", 1, 1, 1000000);
  s->slab_axis = scene_copy_axis(s);
  s->copy_cells = s->cells[s->slab_axis];
  if (yaml_find(map, "copy_cells"))
    s->copy_cells = reader_integer(r, map, "copy_cells", s->copy_cells, 1, s->copy_cells);
  s->cells[s->slab_axis] += (s->copies - 1) * s->copy_cells;
  if (s->cells[s->slab_axis] > most_cells)
    reader_fail_key(r, map, "copies", "%d copies have %lld cells along %c; expected at most %lld", s->copies,
                    (long long)s->cells[s->slab_axis], 'x' + (int)s->slab_axis, (long long)most_cells);
}

/* Nodes that a particle has weight on along an axis, with the wider kernel. */
enum { LEAST_CELLS = 4 };

static void read_domain(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {"lower", "cells",  "spacing",    "slab_axis",
                                     "leave", "copies", "copy_cells", NULL};
  static const char *const axes[] = {"x", "y", "z", "auto", NULL}; /* enum scene_axis */
  static const char *const leave[] = {"remove", "stop", NULL};     /* enum scene_leave */
  static const double origin[3] = {0.0, 0.0, 0.0};
  const struct yaml_item *map = reader_open(r, root, "domain", keys);
  if (!map) reader_fail(r, root, "the key 'domain' is missing; expected a map with cells and spacing");
  reader_vector(r, map, "lower", origin, s->lower);
  reader_integers(r, map, "cells", 1, most_cells, s->cells);
  s->spacing = reader_number(r, map, "spacing", READER_REQUIRED, RANGE_POSITIVE);
  s->slab_axis = (enum scene_axis)reader_choice(r, map, "slab_axis", AXIS_AUTO, axes);
  s->leave = (enum scene_leave)reader_choice(r, map, "leave", LEAVE_REMOVE, leave);
  read_copies(r, map, s);
  reader_close(r);
  /* A cell's index must keep its fraction: 40 bits for the index leave 13 for the place inside the cell. */
  for (int d = 0; d < 3; d++)
    if (!(fabs(s->lower[d]) / s->spacing < 0x1p40))
      reader_fail_key(r, map, "lower", "%g is too far from 0 for a spacing of %g", s->lower[d], s->spacing);
  for (int d = 0; d < 3 && !r->stored; d++)
    if (s->cells[d] < LEAST_CELLS)
      reader_fail_key(r, map, "cells",
                      "%lld along %c, expected at least %d: a particle reaches over so many, and snow leaves "
                      "through the open faces of the domain; for a slice, hold the snow between two planes "
                      "of friction 0 that lie inside the domain",
                      (long long)s->cells[d], 'x' + d, LEAST_CELLS);
  if (!(s->spacing > 1e-9 && s->spacing < 1e9))
    reader_fail_key(r, map, "spacing", "%g m is not a sensible cell; expected 1e-9 to 1e9", s->spacing);
}

/* Whether integrator.scheme says so, before that section is read. */
static bool is_explicit(const struct yaml_item *root)
{
  const struct yaml_item *scheme = yaml_find(yaml_find(root, "integrator"), "scheme");
  return scheme && scheme->kind == YAML_SCALAR && strcmp(scheme->text, "explicit") == 0;
}

/* Sound also limits a fixed step. There the number is not written unless the scene gives it, so that the
 * hashes of older scenes hold. */
static void read_cfl_sound(struct reader *r, const struct yaml_item *root, const struct yaml_item *map,
                           struct scene *s)
{
  const bool fixed = s->step > 0.0;
  r->unwritten = fixed && !yaml_find(map, "cfl_sound");
  s->cfl_sound =
      reader_number_if(r, is_explicit(root), "with the semi-implicit scheme, which sound does not limit", map,
                       "cfl_sound", 0.3, RANGE_POSITIVE);
  r->unwritten = false;
  if (!fixed && s->cfl_sound > 1.0)
    reader_fail_key(r, map, "cfl_sound", "expected at most 1: beyond it no explicit step is stable");
}

/* The paper's longest step, for cells of its size and up to 2 cm. In larger cells it grows with the time that
 * gravity takes to move matter by a cell: FLIP and APIC take a part of the motion in each step, so in cells
 * of 1 m the same step would stop a flow ten times as soon as in cells of 1 cm. */
static double usual_max_step(const struct scene *s)
{
  static const double usual = 5e-4, largest_cell = 0.02; /* s, m */
  return s->spacing > largest_cell ? usual * sqrt(s->spacing / largest_cell) : usual;
}

static void read_time(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {"end", "step", "max_step", "cfl", "cfl_sound", "frame_rate", NULL};
  const struct yaml_item *map = reader_open(r, root, "time", keys);
  if (!map) reader_fail(r, root, "the key 'time' is missing; expected a map with end");
  s->end = reader_number(r, map, "end", READER_REQUIRED, RANGE_POSITIVE);
  s->step = reader_number_or_auto(r, map, "step");
  const bool free = s->step == 0.0;
  static const char fixed[] = "beside 'step', which says how long steps are";
  s->max_step = reader_number_if(r, free, fixed, map, "max_step", usual_max_step(s), RANGE_POSITIVE);
  s->cfl = reader_number_if(r, free, fixed, map, "cfl", 0.4, RANGE_POSITIVE);
  read_cfl_sound(r, root, map, s);
  s->frame_rate = reader_number(r, map, "frame_rate", 24.0, RANGE_POSITIVE);
  reader_close(r);
  if (s->step > s->end)
    reader_fail_key(r, map, "step", "a step of %g s is longer than the run of %g s", s->step, s->end);
  if (s->step > 0.0 && s->end / s->step > 1e12)
    reader_fail_key(r, map, "step", "%g s means more than 1e12 steps", s->step);
  if (free && s->end / s->max_step > 1e12)
    reader_fail_key(r, map, "max_step", "%g s means more than 1e12 steps", s->max_step);
  if (s->cfl > 1.0)
    reader_fail_key(r, map, "cfl", "expected at most 1: a particle may cross one cell per step");
  if (s->end * s->frame_rate > 1e7)
    reader_fail_key(r, map, "frame_rate", "%g frames are too many; expected at most 1e7",
                    s->end * s->frame_rate);
}

/* Tolerance from which on products in single precision are accurate enough. */
static const double least_mixed = 1e-6;

static const char solves_nothing[] = "with the explicit scheme, which solves nothing";

/* Default tolerances: of the velocities that a solve starts from, and of a cell's strain in a step. */
static const double velocity_tolerance = 1e-4, strain_tolerance = 1e-5;

/* Of solves that are checked (docs/method.md). */
enum { DEFAULT_REPEATS = 2, MOST_REPEATS = 8 };

/* By strain, unless the scene gives a tolerance alone: that is one of velocities, as it was in older scenes.
 * `velocity` is not written, so that the hashes of these hold. */
static void read_stop(struct reader *r, const struct yaml_item *root, const struct yaml_item *map,
                      bool implicit, struct scene *s)
{
  static const char *const stops[] = {"velocity", "strain", NULL};
  if (!implicit || yaml_find(root, "heat")) {
    reader_refuse(r, map, "stop",
                  yaml_find(root, "heat") ? "with 'heat', whose solve has a measure of its own"
                                          : solves_nothing);
    return;
  }
  r->unwritten = true;
  s->stop_by_strain = reader_choice(r, map, "stop", !yaml_find(map, "tolerance"), stops) == 1;
  r->unwritten = false;
  if (s->stop_by_strain) reader_write(r, "stop: %s", stops[1]);
}

/* `all` is not written: it is the rule of older scenes, whose hashes hold. */
static void read_slide(struct reader *r, const struct yaml_item *map, bool solves, struct scene *s)
{
  static const char *const words[] = {"all", "normal", NULL};
  if (!solves) {
    reader_refuse(r, map, "slide", solves_nothing);
    return;
  }
  r->unwritten = true;
  s->slide = reader_choice(r, map, "slide", 1, words) == 1;
  r->unwritten = false;
  if (s->slide) reader_write(r, "slide: %s", words[1]);
}

/* What friction on bodies is in proportion to. `before` is not written: scenes without a choice had it. */
static void read_friction(struct reader *r, const struct yaml_item *map, bool implicit, struct scene *s)
{
  static const char *const words[] = {"before", "whole", NULL};
  if (!implicit) {
    reader_refuse(r, map, "friction", solves_nothing);
    return;
  }
  r->unwritten = true;
  s->whole_friction = reader_choice(r, map, "friction", 0, words) == 1;
  r->unwritten = false;
  if (s->whole_friction) reader_write(r, "friction: %s", words[1]);
  if (s->whole_friction && !s->slide)
    reader_fail_key(r, map, "friction", "whole needs slide: normal, so that nodes can slide in the solve");
  if (s->whole_friction && s->gap)
    reader_fail_key(r, map, "friction", "whole needs contact: nodes, by which the impulse is known");
}

/* `nodes` is not written: it is the rule of older scenes, whose hashes hold. */
static void read_contact(struct reader *r, const struct yaml_item *root, const struct yaml_item *map,
                         struct scene *s)
{
  static const char *const words[] = {"nodes", "gap", NULL};
  if (!yaml_find(root, "bodies") && !yaml_find(root, "terrain")) {
    reader_refuse(r, map, "contact", "without bodies");
    return;
  }
  r->unwritten = true;
  s->gap = reader_choice(r, map, "contact", 0, words) == 1;
  r->unwritten = false;
  if (s->gap) reader_write(r, "contact: %s", words[1]);
}

static void read_integrator(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const conditioners[] = {"none", "jacobi", NULL};
  static const char *const keys[] = {
      "scheme",         "beta",  "stop",         "tolerance", "max_iterations", "solver", "precision",
      "preconditioner", "slide", "flow_repeats", "contact",   "friction",       NULL};
  static const char *const schemes[] = {"explicit", "semi-implicit", NULL};
  static const char *const solvers[] = {"cr", "pipelined", NULL}, *const precisions[] = {"double", "mixed",
                                                                                         NULL};
  const struct yaml_item *map = reader_open(r, root, "integrator", keys);
  const bool implicit = reader_choice(r, map, "scheme", 1, schemes) == 1;
  const bool solves = implicit || yaml_find(root, "heat"); /* liquid is incompressible, whatever the scheme */
  static const char *const why = solves_nothing;
  s->beta = reader_number_if(r, implicit, why, map, "beta", implicit ? 1.0 : 0.0, RANGE_NOT_NEGATIVE);
  read_stop(r, root, map, implicit, s);
  s->tolerance = reader_number_if(r, solves, why, map, "tolerance",
                                  s->stop_by_strain ? strain_tolerance : velocity_tolerance, RANGE_POSITIVE);
  s->max_iterations = (int)reader_integer_if(r, solves, why, map, "max_iterations", 200, 1, 1000000);
  if (!implicit)
    reader_refuse(r, map, "solver", why);
  else if (yaml_find(map, "solver")) /* not written otherwise: the hashes of older scenes hold */
    s->pipelined = reader_choice(r, map, "solver", 0, solvers) == 1;
  s->mixed = implicit && s->tolerance >= least_mixed;
  if (!implicit)
    reader_refuse(r, map, "precision", why);
  else if (yaml_find(map, "precision"))
    s->mixed = reader_choice(r, map, "precision", s->mixed, precisions) == 1;
  if (!implicit || yaml_find(root, "heat"))
    reader_refuse(r, map, "preconditioner",
                  yaml_find(root, "heat") ? "with 'heat', whose solve has none" : why);
  else if (s->stop_by_strain || yaml_find(map, "preconditioner"))
    s->jacobi = reader_choice(r, map, "preconditioner", s->stop_by_strain, conditioners) == 1;
  read_slide(r, map, solves, s);
  read_contact(r, root, map, s);
  read_friction(r, map, implicit, s);
  s->flow_repeats = DEFAULT_REPEATS;
  if (!implicit)
    reader_refuse(r, map, "flow_repeats", why);
  else if (yaml_find(map, "flow_repeats"))
    s->flow_repeats = (int)reader_integer(r, map, "flow_repeats", DEFAULT_REPEATS, 0, MOST_REPEATS);
  reader_close(r);
  if (implicit && (s->beta == 0.0 || s->beta > 1.0))
    reader_fail_key(r, map, "beta",
                    "expected above 0 and at most 1 (1/2 trapezoidal, 1 backward Euler), found %g", s->beta);
  if (s->tolerance >= 1.0) reader_fail_key(r, map, "tolerance", "expected below 1, found %g", s->tolerance);
}

/* After the materials: a key that nothing flows for has no effect. */
static void check_repeats(struct reader *r, const struct yaml_item *root, const struct scene *s)
{
  const struct yaml_item *map = yaml_find(root, "integrator");
  bool flows = false;
  for (int k = 0; k < s->material_count && !r->code; k++) flows |= s->materials[k].flow;
  if (map && !flows && !r->code)
    reader_refuse(r, map, "flow_repeats", "without a material whose operator is 'flow'");
}

/* Whether a material of the scene is sand, before that section is read. */
static bool has_sand(const struct yaml_item *root)
{
  const struct yaml_item *materials = yaml_find(root, "materials");
  for (int k = 0; materials && materials->kind == YAML_MAP && k < materials->count; k++) {
    const struct yaml_item *model = yaml_find(materials->child[k], "model");
    if (model && model->kind == YAML_SCALAR && strcmp(model->text, "sand") == 0) return true;
  }
  return false;
}

/* FLIP takes its part of the motion in each step, and stops sand long before it has come to rest. */
static enum scene_scheme usual_scheme(const struct yaml_item *root, const struct yaml_item *map)
{
  return has_sand(root) && !yaml_find(map, "flip_fraction") ? SCHEME_APIC : SCHEME_FLIP;
}

static void read_transfer(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  enum { PIC = 2 };
  static const char *const keys[] = {"scheme", "kernel", "force", "flip_fraction", NULL};
  static const char *const schemes[] = {"flip", "apic", "pic", NULL}; /* enum scene_scheme, and pic */
  static const char *const kernels[] = {"cubic", "quadratic", NULL};  /* enum scene_kernel */
  static const char *const forces[] = {"mpm", "mls", NULL};           /* enum scene_force */
  const struct yaml_item *map = reader_open(r, root, "transfer", keys);
  const int scheme = reader_choice(r, map, "scheme", (int)usual_scheme(root, map), schemes);
  s->scheme = scheme == PIC ? SCHEME_FLIP : (enum scene_scheme)scheme;
  s->kernel = (enum scene_kernel)reader_choice(r, map, "kernel", KERNEL_CUBIC, kernels);
  s->force = (enum scene_force)reader_choice(r, map, "force", FORCE_MPM, forces);
  s->flip_fraction = reader_number_if(r, scheme == SCHEME_FLIP, "with pic and apic, which have no flip part",
                                      map, "flip_fraction", scheme == PIC ? 0.0 : 0.95, RANGE_NOT_NEGATIVE);
  reader_close(r);
  if (s->flip_fraction > 1.0)
    reader_fail_key(r, map, "flip_fraction", "expected 0 to 1, found %g", s->flip_fraction);
}

/* Frames of a scene without heat have none of its fields. */
static void check_fields(struct reader *r, const struct yaml_item *map, const struct scene *s)
{
  const char *words[FRAME_WORDS + 1];
  const unsigned lost = s->has_heat ? 0 : s->fields & frame_heat_fields();
  frame_words(words);
  for (int k = 0; k < FRAME_WORDS; k++)
    if (lost & 1u << k)
      reader_fail_key(r, map, "fields",
                      "'%s' needs the section 'heat'; add 'heat: {}' to the scene, or remove it", words[k]);
}

static void read_output(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {
      "folder", "fields",    "precision", "every",  "compression", "history_every", "budget", "probes_every",
      "writer", "alignment", "hints",     "vtkhdf", NULL};
  const char *fields[FRAME_WORDS + 1];
  static const char *const precisions[] = {"f32", "f64", NULL};
  frame_words(fields);
  char folder[sizeof s->name + 8];
  snprintf(folder, sizeof folder, "out/%s", s->name);
  const struct yaml_item *map = reader_open(r, root, "output", keys);
  r->unwritten = true; /* where a run writes is not what it computes: frames of two folders compare equal */
  s->output = mem_strdup(reader_string(r, map, "folder", folder));
  r->unwritten = false;
  s->fields = reader_choices(r, map, "fields", frame_default_fields(s->has_heat), fields);
  check_fields(r, map, s);
  s->frame_bits = reader_choice(r, map, "precision", 0, precisions) == 0 ? 32 : 64;
  s->frame_every = (int)reader_integer(r, map, "every", 1, 1, 1000000000);
  s->compression = (int)reader_integer(r, map, "compression", 0, 0, 9);
  s->vtkhdf = true;
  if (yaml_find(map, "vtkhdf")) /* not written otherwise: the hashes of older scenes hold */
    s->vtkhdf = reader_flag(r, map, "vtkhdf", true);
  scene_read_writing(r, map, s->compression, &s->writing);
  s->history_every = (int)reader_integer(r, map, "history_every", 1, 0, 1000000000);
  if (s->history_every == 0) {
    reader_refuse(r, map, "budget", "without a history");
    for (int k = 0; k < s->body_count; k++)
      if (s->bodies[k].measured)
        reader_fail_key(r, map, "history_every",
                        "the force on '%s' goes into the history; expected 1 or more", s->bodies[k].name);
  } else if (yaml_find(map, "budget")) { /* not written otherwise: the hashes of older scenes hold */
    s->budget = reader_flag(r, map, "budget", false);
  }
  s->probes_every = 10;
  if (!s->probe_count)
    reader_refuse(r, map, "probes_every", "without 'probes'");
  else
    s->probes_every = (int)reader_integer(r, map, "probes_every", 10, 1, 1000000000);
  reader_close(r);
}

static void read_name(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  const char *name = reader_string(r, root, "name", s->name);
  const struct yaml_item *item = yaml_find(root, "name");
  reader_check_name(r, item ? item : root, name, sizeof s->name, true);
  if (!r->code && item) snprintf(s->name, sizeof s->name, "%s", name);
}

void scene_read(struct reader *r, struct scene *s)
{
  static const char *const keys[] = {"name",      "domain", "gravity", "time",    "integrator", "transfer",
                                     "materials", "snow",   "bodies",  "output",  "camera",     "checkpoint",
                                     "window",    "sun",    "probes",  "sources", "sinks",      "heat",
                                     "terrain",   "air",    NULL};
  static const double down[3] = {0.0, -9.81, 0.0};
  const struct yaml_item *root = r->yaml->root;
  reader_check_keys(r, root, keys);
  read_name(r, root, s);
  read_domain(r, root, s);
  reader_vector(r, root, "gravity", down, s->gravity);
  read_time(r, root, s);
  read_integrator(r, root, s);
  read_transfer(r, root, s);
  scene_read_heat(r, root, s);
  scene_read_materials(r, root, s);
  check_repeats(r, root, s);
  scene_read_snow(r, root, s);
  scene_read_bodies(r, root, s);
  scene_read_terrain(r, root, s);
  scene_read_air(r, root, s);
  scene_read_window(r, root, s);
  scene_read_sources(r, root, s);
  scene_read_probes(r, root, s);
  read_output(r, root, s);
  scene_read_camera(r, root, &s->camera);
  scene_read_sun(r, root, &s->sun);
  scene_read_checkpoint(r, root, &s->checkpoint);
  s->writing.patience = fmin(s->checkpoint.no_progress / 4.0, 60.0); /* before the watchdog ends them all */
}
