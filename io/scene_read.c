/* The schema: every key of a scene outside its snow and bodies, with its default and its limits, in the order
 * of docs/scene-format.md. Values are checked where they are read, so that a message can name the line. */
#include "io/scene_read.h"

#include "base/memory.h"
#include "base/vec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A cell's key has 21 bits an axis (src/grid.h), and nodes reach beyond the domain's faces. */
static const int64_t most_cells = (int64_t)1 << 20;

static void read_domain(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {"lower", "cells", "spacing", "slab_axis", "leave", NULL};
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
  reader_close(r);
  /* A cell's index must keep its fraction: 40 bits for the index leave 13 for the place inside the cell. */
  for (int d = 0; d < 3; d++)
    if (!(fabs(s->lower[d]) / s->spacing < 0x1p40))
      reader_fail_key(r, map, "lower", "%g is too far from 0 for a spacing of %g", s->lower[d], s->spacing);
  if (!(s->spacing > 1e-9 && s->spacing < 1e9))
    reader_fail_key(r, map, "spacing", "%g m is not a sensible cell; expected 1e-9 to 1e9", s->spacing);
}

static void read_time(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {"end", "step", "max_step", "cfl", "cfl_sound", "frame_rate", NULL};
  const struct yaml_item *map = reader_open(r, root, "time", keys);
  if (!map) reader_fail(r, root, "the key 'time' is missing; expected a map with end");
  s->end = reader_number(r, map, "end", READER_REQUIRED, RANGE_POSITIVE);
  s->step = reader_number_or_auto(r, map, "step");
  s->max_step = reader_number(r, map, "max_step", 5e-4, RANGE_POSITIVE);
  s->cfl = reader_number(r, map, "cfl", 0.4, RANGE_POSITIVE);
  s->cfl_sound = reader_number(r, map, "cfl_sound", 0.3, RANGE_POSITIVE);
  s->frame_rate = reader_number(r, map, "frame_rate", 24.0, RANGE_POSITIVE);
  reader_close(r);
  if (s->step > s->end)
    reader_fail_key(r, map, "step", "a step of %g s is longer than the run of %g s", s->step, s->end);
  if (s->step > 0.0 && s->end / s->step > 1e12)
    reader_fail_key(r, map, "step", "%g s means more than 1e12 steps", s->step);
  if (s->end / s->max_step > 1e12)
    reader_fail_key(r, map, "max_step", "%g s means more than 1e12 steps", s->max_step);
  if (s->cfl > 1.0)
    reader_fail_key(r, map, "cfl", "expected at most 1: a particle may cross one cell a step");
  if (s->cfl_sound > 1.0)
    reader_fail_key(r, map, "cfl_sound", "expected at most 1: beyond it no explicit step is stable");
  if (s->end * s->frame_rate > 1e7)
    reader_fail_key(r, map, "frame_rate", "%g frames are too many; expected at most 1e7",
                    s->end * s->frame_rate);
}

static void read_integrator(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {"scheme", "beta", "tolerance", "max_iterations", NULL};
  static const char *const schemes[] = {"explicit", "semi-implicit", NULL};
  const struct yaml_item *map = reader_open(r, root, "integrator", keys);
  const bool implicit = reader_choice(r, map, "scheme", 1, schemes) == 1;
  s->beta = reader_number(r, map, "beta", implicit ? 1.0 : 0.0, RANGE_NOT_NEGATIVE);
  s->tolerance = reader_number(r, map, "tolerance", 1e-4, RANGE_POSITIVE);
  s->max_iterations = (int)reader_integer(r, map, "max_iterations", 200, 1, 1000000);
  reader_close(r);
  if (implicit && (s->beta == 0.0 || s->beta > 1.0))
    reader_fail_key(r, map, "beta",
                    "expected above 0 and at most 1 (1/2 trapezoidal, 1 backward Euler), found %g", s->beta);
  if (!implicit && s->beta != 0.0)
    reader_fail_key(r, map, "beta",
                    "the explicit scheme has beta 0, found %g; leave it out, or choose semi-implicit",
                    s->beta);
  if (s->tolerance >= 1.0) reader_fail_key(r, map, "tolerance", "expected below 1, found %g", s->tolerance);
}

static void read_transfer(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  enum { PIC = 2 };
  static const char *const keys[] = {"scheme", "kernel", "force", "flip_fraction", NULL};
  static const char *const schemes[] = {"flip", "apic", "pic", NULL}; /* enum scene_scheme, and pic */
  static const char *const kernels[] = {"cubic", "quadratic", NULL};  /* enum scene_kernel */
  static const char *const forces[] = {"mpm", "mls", NULL};           /* enum scene_force */
  const struct yaml_item *map = reader_open(r, root, "transfer", keys);
  const int scheme = reader_choice(r, map, "scheme", SCHEME_FLIP, schemes);
  s->scheme = scheme == PIC ? SCHEME_FLIP : (enum scene_scheme)scheme;
  s->kernel = (enum scene_kernel)reader_choice(r, map, "kernel", KERNEL_CUBIC, kernels);
  s->force = (enum scene_force)reader_choice(r, map, "force", FORCE_MPM, forces);
  s->flip_fraction = reader_number(r, map, "flip_fraction", scheme == PIC ? 0.0 : 0.95, RANGE_NOT_NEGATIVE);
  reader_close(r);
  if (s->flip_fraction > 1.0)
    reader_fail_key(r, map, "flip_fraction", "expected 0 to 1, found %g", s->flip_fraction);
  if (scheme == PIC && s->flip_fraction != 0.0)
    reader_fail_key(r, map, "flip_fraction", "pic has no flip part, found %g; leave it out, or choose flip",
                    s->flip_fraction);
}

static void read_output(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {"folder",      "fields",        "precision", "every",
                                     "compression", "history_every", NULL};
  static const char *const fields[] = {"mass",   "density",  "jp", "fe",
                                       "stress", "material", NULL}; /* enum frame_field */
  static const char *const precisions[] = {"f32", "f64", NULL};
  char folder[sizeof s->name + 8];
  snprintf(folder, sizeof folder, "out/%s", s->name);
  const struct yaml_item *map = reader_open(r, root, "output", keys);
  r->unwritten = true; /* where a run writes is not what it computes: frames of two folders compare equal */
  s->output = mem_strdup(reader_string(r, map, "folder", folder));
  r->unwritten = false;
  s->fields = reader_choices(r, map, "fields", FRAME_DENSITY | FRAME_JP, fields);
  s->frame_bits = reader_choice(r, map, "precision", 0, precisions) == 0 ? 32 : 64;
  s->frame_every = (int)reader_integer(r, map, "every", 1, 1, 1000000000);
  s->compression = (int)reader_integer(r, map, "compression", 0, 0, 9);
  s->history_every = (int)reader_integer(r, map, "history_every", 1, 0, 1000000000);
  reader_close(r);
}

static void read_camera(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {"eye", "target", "up", "field_of_view", NULL};
  static const double up[3] = {0.0, 1.0, 0.0};
  struct scene_camera *c = &s->camera;
  c->given = yaml_find(root, "camera") != NULL;
  if (!c->given) return;
  const struct yaml_item *map = reader_open(r, root, "camera", keys);
  reader_vector(r, map, "eye", NULL, c->eye);
  reader_vector(r, map, "target", NULL, c->target);
  reader_vector(r, map, "up", up, c->up);
  c->field_of_view = reader_number(r, map, "field_of_view", 40.0, RANGE_POSITIVE);
  reader_close(r);
  double look[3], side[3];
  vec_sub(c->target, c->eye, look);
  vec_cross(look, c->up, side);
  if (!(vec_norm(look) > 0.0)) reader_fail_key(r, map, "target", "expected a point away from the eye");
  if (!(vec_norm(side) > 1e-9 * vec_norm(look) * vec_norm(c->up)))
    reader_fail_key(r, map, "up", "expected 'up' to point across the line of sight");
  if (c->field_of_view >= 180.0)
    reader_fail_key(r, map, "field_of_view", "expected degrees above 0 and below 180, found %g",
                    c->field_of_view);
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
  static const char *const keys[] = {"name",     "domain",     "gravity", "time",   "integrator",
                                     "transfer", "materials",  "snow",    "bodies", "output",
                                     "camera",   "checkpoint", "window",  NULL};
  static const double down[3] = {0.0, -9.81, 0.0};
  const struct yaml_item *root = r->yaml->root;
  reader_check_keys(r, root, keys);
  read_name(r, root, s);
  read_domain(r, root, s);
  reader_vector(r, root, "gravity", down, s->gravity);
  read_time(r, root, s);
  read_integrator(r, root, s);
  read_transfer(r, root, s);
  scene_read_materials(r, root, s);
  scene_read_snow(r, root, s);
  scene_read_bodies(r, root, s);
  scene_read_window(r, root, s);
  read_output(r, root, s);
  read_camera(r, root, s);
  scene_read_checkpoint(r, root, &s->checkpoint);
}
