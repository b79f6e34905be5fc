/* What is in a scene: the sources of snow and the bodies, and whether they fit the domain and the step. */
#include "io/scene_read.h"

#include "base/memory.h"
#include "base/vec.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t max_particles = (int64_t)1 << 40;

static void check_inside(struct reader *r, const struct yaml_item *map, const struct scene *s,
                         const struct shape *shape)
{
  double lower[3], upper[3];
  shape_bounds(shape, lower, upper);
  for (int d = 0; d < 3; d++) {
    const double top = s->lower[d] + s->spacing * (double)s->cells[d];
    /* A box that fills the domain must fit whichever way its corners were rounded. */
    const double slack = 4.0 * DBL_EPSILON * fmax(fabs(s->lower[d]), fabs(top));
    if (lower[d] >= s->lower[d] - slack && upper[d] <= top + slack) continue;
    reader_fail(r, map, "the snow reaches from %g to %g m along %c, outside the domain's %g to %g m",
                lower[d], upper[d], "xyz"[d], s -> lower[d], top);
  }
}

/* particles or per_cell, not both; also bounds the number of ids. */
static void read_amount(struct reader *r, const struct yaml_item *map, const struct scene *s,
                        struct snow_source *snow)
{
  const bool counted = yaml_find(map, "particles") != NULL;
  if (counted && yaml_find(map, "per_cell"))
    reader_fail_key(r, map, "per_cell", "there is 'particles' already; expected one of the two");
  const double cell = s->spacing * s->spacing * s->spacing, volume = shape_volume(&snow->shape);
  if (!(volume > 1e-12 * cell))
    reader_fail(r, map, "the snow's volume of %g m^3 is nothing beside a cell's %g", volume, cell);
  if (counted) {
    snow->count = reader_integer(r, map, "particles", 0, 1, max_particles);
    return;
  }
  snow->per_cell = reader_number(r, map, "per_cell", 8.0, RANGE_POSITIVE);
  const double number = snow->per_cell * volume / cell;
  if (!(number <= (double)max_particles))
    reader_fail_key(r, map, "per_cell", "means %g particles; expected at most 2^40", number);
  if (!(number >= 1.0))
    reader_fail_key(r, map, "per_cell", "means less than one particle; use more, or a smaller spacing");
}

static void read_motion(struct reader *r, const struct yaml_item *map, double velocity[3], double spin[3])
{
  static const double rest[3] = {0.0, 0.0, 0.0};
  reader_vector(r, map, "velocity", rest, velocity);
  reader_vector(r, map, "spin", rest, spin);
}

/* Without the key the scene's only material is meant. */
static int read_material_name(struct reader *r, const struct yaml_item *map, const struct scene *s)
{
  const char *fallback = s->material_count == 1 ? s->materials[0].name : NULL;
  if (!yaml_find(map, "material") && !fallback)
    reader_fail(r, map,
                "the key 'material' is missing; expected a name, since the scene has several materials");
  const char *name = reader_string(r, map, "material", fallback);
  if (r->code) return 0;
  const char **names = mem_alloc((size_t)s->material_count + 1, sizeof *names);
  int index = -1;
  for (int k = 0; k < s->material_count; k++) {
    names[k] = s->materials[k].name;
    if (!strcmp(name, names[k])) index = k;
  }
  if (index < 0) {
    char word[64], hint[96] = "";
    const char *nearest = reader_nearest(name, names);
    snprintf(hint, sizeof hint, "; did you mean '%s'?", nearest ? nearest : names[0]);
    reader_fail_key(r, map, "material", "no material is called '%s'%s", yaml_clean(name, word, sizeof word),
                    hint);
  }
  mem_free(names);
  return index;
}

/* Resolves a relative path against the scene's folder. */
static char *beside_scene(const char *scene, const char *file)
{
  const char *slash = strrchr(scene, '/');
  if (file[0] == '/' || !slash) return mem_strdup(file);
  const size_t folder = (size_t)(slash - scene) + 1;
  char *path = mem_alloc(folder + strlen(file) + 1, 1);
  memcpy(path, scene, folder);
  strcpy(path + folder, file);
  return path;
}

static void read_file_source(struct reader *r, const struct yaml_item *map, const struct scene *s,
                             struct snow_source *snow)
{
  static const char *const keys[] = {"name", "file", "material", NULL};
  for (int k = 0; k < map->count; k++)
    if (strcmp(map->child[k]->key, "name") && strcmp(map->child[k]->key, "file") &&
        strcmp(map->child[k]->key, "material"))
      reader_fail(r, map->child[k], "has no effect beside 'file', which brings its own particles");
  reader_check_keys(r, map, keys);
  const char *file = reader_string(r, map, "file", NULL);
  if (!r->code) snow->file = beside_scene(s->path, file);
  snow->material = read_material_name(r, map, s);
}

static void read_shape_source(struct reader *r, const struct yaml_item *map, const struct scene *s,
                              struct snow_source *snow)
{
  static const char *const volumes[] = {"estimated", "exact", NULL};
  if (yaml_find(map, "plane")) reader_fail_key(r, map, "plane", "a plane holds no snow; use a box");
  scene_read_shape(r, map, &snow->shape);
  if (r->code) return;
  check_inside(r, map, s, &snow->shape);
  snow->material = read_material_name(r, map, s);
  read_amount(r, map, s, snow);
  read_motion(r, map, snow->velocity, snow->spin);
  snow->exact_volume = reader_choice(r, map, "volume", 0, volumes) == 1;
  const double speed = vec_norm(snow->velocity) + vec_norm(snow->spin) * shape_reach(&snow->shape);
  if (!(speed * s->step <= s->spacing))
    reader_fail(r, map,
                "at %g m/s snow crosses more than a cell in a step of %g s; use a shorter time.step, or auto",
                speed, s->step);
}

static void read_source(struct reader *r, struct yaml_item *map, const struct scene *s, int index)
{
  static const char *const keys[] = {"name",     "file",     SCENE_SHAPE_KEYS, "material", "particles",
                                     "per_cell", "velocity", "spin",           "seed",     "volume",
                                     NULL};
  struct snow_source *snow = &s->snow[index];
  map->used = true;
  reader_check_keys(r, map, keys);
  if (r->code) return;
  char name[32];
  snprintf(name, sizeof name, "snow-%d", index);
  reader_open_item(r);
  const char *given = reader_string(r, map, "name", name);
  reader_check_name(r, map, given, sizeof snow->name, false);
  if (!r->code) snprintf(snow->name, sizeof snow->name, "%s", given);
  snow->line = map->line;
  if (yaml_find(map, "file")) {
    read_file_source(r, map, s, snow);
  } else {
    read_shape_source(r, map, s, snow);
    snow->seed = reader_seed(r, map, "seed", (uint64_t)index);
  }
  reader_close(r);
  for (int k = 0; k < index; k++)
    if (!strcmp(s->snow[k].name, snow->name))
      reader_fail(r, map, "there is another snow called '%s'", snow->name);
}

void scene_read_snow(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  const struct yaml_item *list = reader_get(r, root, "snow");
  if (!list) reader_fail(r, root, "the key 'snow' is missing; expected a list of shapes or files");
  if (list && (list->kind != YAML_LIST || !list->count))
    reader_fail(r, list, "expected a list with at least one shape or file, each behind a dash");
  if (r->code) return;
  s->snow = mem_alloc((size_t)list->count, sizeof *s->snow);
  s->snow_count = list->count;
  reader_write(r, "snow:");
  r->depth++;
  double total = 0.0;
  for (int k = 0; k < list->count && !r->code; k++) {
    read_source(r, list->child[k], s, k);
    total += (double)s->snow[k].count;
  }
  if (total > (double)max_particles) reader_fail(r, list, "means %g particles; expected at most 2^40", total);
  reader_close(r);
}

static void read_body(struct reader *r, struct yaml_item *map, const char *name, struct body *body)
{
  map->used = true;
  reader_check_name(r, map, name, sizeof body->name, false);
  if (r->code) return;
  snprintf(body->name, sizeof body->name, "%s", name);
  reader_write(r, "%s:", name);
  r->depth++;
  scene_read_shape(r, map, &body->shape);
  body->friction = reader_number(r, map, "friction", 0.3, RANGE_NOT_NEGATIVE);
  body->sticky = reader_flag(r, map, "sticky", false);
  read_motion(r, map, body->velocity, body->spin);
  if (body->shape.kind == SHAPE_PLANE && vec_norm(body->spin) != 0.0)
    reader_fail_key(r, map, "spin", "a plane cannot spin: it has no end; use a box");
  reader_close(r);
}

/* Bodies come as a map by name, or as a list whose items have a name. The canonical form is the map. */
void scene_read_bodies(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const map_keys[] = {SCENE_SHAPE_KEYS, "friction", "sticky", "velocity", "spin", NULL};
  static const char *const list_keys[] = {"name",     SCENE_SHAPE_KEYS, "friction", "sticky",
                                          "velocity", "spin",           NULL};
  const struct yaml_item *all = reader_get(r, root, "bodies");
  if (all && all->kind == YAML_SCALAR)
    reader_fail(r, all,
                "expected a map of bodies by name, like {floor: {plane: {...}}}; leave it out for none");
  if (r->code || !all || !all->count) return;
  s->bodies = mem_alloc((size_t)all->count, sizeof *s->bodies);
  s->body_count = all->count;
  reader_write(r, "bodies:");
  r->depth++;
  for (int k = 0; k < all->count && !r->code; k++) {
    struct yaml_item *map = all->child[k];
    reader_check_keys(r, map, all->kind == YAML_MAP ? map_keys : list_keys);
    const char *name = map->key;
    if (all->kind == YAML_LIST && !r->code) {
      const struct yaml_item *given = reader_get(r, map, "name");
      if (!given || given->kind != YAML_SCALAR)
        reader_fail(r, map, "the key 'name' is missing; expected a name of the body");
      if (!r->code) name = given->text;
    }
    for (int other = 0; other < k && !r->code; other++)
      if (!strcmp(s->bodies[other].name, name))
        reader_fail(r, map, "there is another body called '%s'", name);
    if (!r->code) read_body(r, map, name, &s->bodies[k]);
  }
  reader_close(r);
}
