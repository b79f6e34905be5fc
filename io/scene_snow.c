/* The snow of a scene: which shapes it fills, with how much of what, and how its material varies inside. */
#include "io/scene_read.h"

#include "base/memory.h"
#include "base/vec.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t max_particles = (int64_t)1 << 40;

static bool is_inside(const struct scene *s, const struct shape *shape, char text[256])
{
  double lower[3], upper[3];
  shape_bounds(shape, lower, upper);
  for (int d = 0; d < 3; d++) {
    const double top = s->lower[d] + s->spacing * (double)s->cells[d];
    /* A box that fills the domain must fit whichever way its corners were rounded. */
    const double slack = 4.0 * DBL_EPSILON * fmax(fabs(s->lower[d]), fabs(top));
    if (lower[d] >= s->lower[d] - slack && upper[d] <= top + slack) continue;
    snprintf(text, 256, "the snow reaches from %g to %g m along %c, outside the domain's %g to %g m",
             lower[d], upper[d], "xyz"[d], s -> lower[d], top);
    return false;
  }
  return true;
}

bool scene_snow_fits(const struct scene *s, const struct snow_source *snow, const char **key, char text[256])
{
  const double cell = s->spacing * s->spacing * s->spacing, volume = shape_volume(&snow->shape);
  const double number = snow->per_cell * volume / cell;
  const double speed = vec_norm(snow->velocity) + vec_norm(snow->spin) * shape_reach(&snow->shape);
  *key = NULL;
  if (!is_inside(s, &snow->shape, text)) return false;
  if (!(volume > 1e-12 * cell)) {
    snprintf(text, 256, "the snow's volume of %g m^3 is nothing beside a cell's %g", volume, cell);
  } else if (!(number <= (double)max_particles)) {
    *key = "per_cell";
    snprintf(text, 256, "means %g particles; expected at most 2^40", number);
  } else if (snow->per_cell > 0.0 && !(number >= 1.0)) {
    *key = "per_cell";
    snprintf(text, 256, "means less than one particle; use more, or a smaller spacing");
  } else if (!(speed * s->step <= s->spacing)) {
    snprintf(text, 256,
             "at %g m/s snow crosses more than a cell in a step of %g s; use a shorter time.step, or auto",
             speed, s->step);
  } else {
    return true;
  }
  return false;
}

/* particles or per_cell, not both. */
static void read_amount(struct reader *r, const struct yaml_item *map, struct snow_source *snow)
{
  const bool counted = yaml_find(map, "particles") != NULL;
  if (counted && yaml_find(map, "per_cell"))
    reader_fail_key(r, map, "per_cell", "there is 'particles' already; expected one of the two");
  if (counted)
    snow->count = reader_integer(r, map, "particles", 0, 1, max_particles);
  else
    snow->per_cell = reader_number(r, map, "per_cell", 8.0, RANGE_POSITIVE);
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
  if (!r->code) snow->file = scene_path_beside(s->path, file);
  snow->material = read_material_name(r, map, s);
}

/* What a zone is made of; the item's own material by default. */
static void read_zone(struct reader *r, const struct yaml_item *map, const struct scene *s, int fallback,
                      struct snow_zone *zone)
{
  zone->material = fallback;
  if (yaml_find(map, "material"))
    zone->material = read_material_name(r, map, s);
  else if (!r->code)
    reader_write(r, "material: \"%s\"", s->materials[fallback].name);
  zone->stiffness = reader_number(r, map, "stiffness_factor", 1.0, RANGE_POSITIVE);
  zone->density = reader_number(r, map, "density_factor", 1.0, RANGE_POSITIVE);
}

static void read_shell(struct reader *r, const struct yaml_item *vary, const struct scene *s,
                       struct snow_source *snow)
{
  static const char *const keys[] = {"thickness", "material", "stiffness_factor", "density_factor", NULL};
  if (!yaml_find(vary, "shell")) return;
  const struct yaml_item *map = reader_open(r, vary, "shell", keys);
  struct snow_zone *shell = &snow->zone[ZONE_SHELL];
  shell->depth = reader_number(r, map, "thickness", READER_REQUIRED, RANGE_POSITIVE);
  read_zone(r, map, s, snow->material, shell);
  reader_close(r);
}

static void read_layers(struct reader *r, const struct yaml_item *vary, const struct scene *s,
                        struct snow_source *snow)
{
  static const char *const keys[] = {"depth", "material", "stiffness_factor", "density_factor", NULL};
  struct yaml_item *list = reader_get(r, vary, "layers");
  if (!list) return;
  if (list->kind != YAML_LIST || !list->count || list->count > SNOW_LAYERS)
    reader_fail(r, list, "expected a list of 1 to %d layers, from the top down", SNOW_LAYERS);
  if (r->code) return;
  reader_write(r, "layers:");
  r->depth++;
  for (int k = 0; k < list->count && !r->code; k++) {
    struct snow_zone *layer = &snow->zone[ZONE_LAYERS + k];
    list->child[k]->used = true;
    reader_check_keys(r, list->child[k], keys);
    if (r->code) break;
    reader_open_item(r);
    layer->depth = reader_number(r, list->child[k], "depth", READER_REQUIRED, RANGE_POSITIVE);
    read_zone(r, list->child[k], s, snow->material, layer);
    reader_close(r);
    if (k && layer->depth <= layer[-1].depth)
      reader_fail_key(r, list->child[k], "depth",
                      "expected below the layer before, which reaches down to %g m", layer[-1].depth);
    snow->zone_count++;
  }
  reader_close(r);
}

static void read_noise(struct reader *r, const struct yaml_item *vary, struct snow_source *snow)
{
  static const char *const keys[] = {"stiffness", "density", "scale", "octaves", "period", "seed", NULL};
  struct snow_noise *noise = &snow->noise;
  if (!yaml_find(vary, "noise")) return;
  const struct yaml_item *map = reader_open(r, vary, "noise", keys);
  noise->scale = reader_number(r, map, "scale", READER_REQUIRED, RANGE_POSITIVE);
  noise->stiffness = reader_number(r, map, "stiffness", 1.0, RANGE_POSITIVE);
  noise->density = reader_number(r, map, "density", 1.0, RANGE_POSITIVE);
  noise->octaves = (int)reader_integer(r, map, "octaves", 2, 1, 8);
  noise->period = reader_integer(r, map, "period", 0, 0, 1 << 20);
  noise->seed = reader_seed(r, map, "seed", 0);
  reader_close(r);
  if (noise->stiffness < 1.0 || noise->stiffness > 1e3)
    reader_fail_key(r, map, "stiffness",
                    "expected a factor from 1 to 1000 (2 means half to double), found %g", noise->stiffness);
  if (noise->density < 1.0 || noise->density > 10.0)
    reader_fail_key(r, map, "density",
                    "expected a factor from 1 to 10 (1.1 means a tenth either way), found %g",
                    noise->density);
}

static void read_vary(struct reader *r, const struct yaml_item *map, const struct scene *s,
                      struct snow_source *snow)
{
  static const char *const keys[] = {"shell", "layers", "noise", NULL};
  snow->zone_count = ZONE_LAYERS;
  snow->zone[ZONE_INSIDE] = (struct snow_zone){0.0, snow->material, 1.0, 1.0};
  snow->noise.stiffness = snow->noise.density = 1.0;
  if (!yaml_find(map, "vary")) return;
  const struct yaml_item *vary = reader_open(r, map, "vary", keys);
  read_shell(r, vary, s, snow);
  read_layers(r, vary, s, snow);
  read_noise(r, vary, snow);
  reader_close(r);
}

static void read_shape_source(struct reader *r, const struct yaml_item *map, const struct scene *s,
                              struct snow_source *snow)
{
  static const char *const volumes[] = {"estimated", "exact", NULL};
  static const char *const samplings[] = {"sequence", "random", "jittered", "poisson",
                                          NULL}; /* enum snow_sampling */
  static const double rest[3] = {0.0, 0.0, 0.0};
  if (yaml_find(map, "plane")) reader_fail_key(r, map, "plane", "a plane holds no snow; use a box");
  if (yaml_find(map, "levelset")) reader_fail_key(r, map, "levelset", "deforms, so it holds no snow");
  scene_read_shape(r, map, s, &snow->shape);
  if (r->code) return;
  snow->material = read_material_name(r, map, s);
  read_amount(r, map, snow);
  snow->sampling = (enum snow_sampling)reader_choice(
      r, map, "sampling", snow->count ? SAMPLING_SEQUENCE : SAMPLING_RANDOM, samplings);
  reader_vector(r, map, "velocity", rest, snow->velocity);
  reader_vector(r, map, "spin", rest, snow->spin);
  snow->exact_volume = reader_choice(r, map, "volume", 0, volumes) == 1;
  read_vary(r, map, s, snow);
  const char *key;
  char text[256];
  if (r->code || !shape_is_ready(&snow->shape)) return; /* scene_load() asks again */
  shape_finish(&snow->shape);
  if (!scene_snow_fits(s, snow, &key, text)) reader_fail_key(r, map, key ? key : "", "%s", text);
}

static void read_source(struct reader *r, struct yaml_item *map, const struct scene *s, int index)
{
  static const char *const keys[] = {
      "name",     "file", SCENE_SHAPE_KEYS, "material", "particles", "per_cell", "sampling",
      "velocity", "spin", "seed",           "volume",   "vary",      NULL};
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
