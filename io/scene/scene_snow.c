/* The snow of a scene: which shapes it fills, with how much of what, and how its material varies inside. */
#include "io/scene/scene_read.h"

#include "base/memory.h"
#include "base/vec.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t max_particles = (int64_t)1 << 40;

/* Places in the shape's bounds that are tried for particles are counted in 64 bits, and a shape that was
 * measured too large gets a hundred times as many tries. */
static const double most_places = 0x1p55;

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

static double bounds_volume(const struct shape *shape)
{
  double lower[3], upper[3];
  shape_bounds(shape, lower, upper);
  return (upper[0] - lower[0]) * (upper[1] - lower[1]) * (upper[2] - lower[2]);
}

bool scene_snow_fits(const struct scene *s, const struct snow_source *snow, const char **key, char text[256])
{
  const double cell = s->spacing * s->spacing * s->spacing, volume = shape_volume(&snow->shape);
  const double number = snow->per_cell * volume / cell;
  const double speed = vec_norm(snow->velocity) + vec_norm(snow->spin) * shape_reach(&snow->shape);
  const double places = fmax(number, (double)snow->count) * bounds_volume(&snow->shape) / volume;
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
  } else if (!(places <= most_places)) {
    snprintf(text, 256, "fills too little of its bounds: %g places would be tried for particles; divide it",
             places);
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

static const char *const heat_keys[] = {"phase", "temperature", "conductivity", NULL};

/* A solid is not warmer than the melting point, a liquid not colder. */
static void check_phase(struct reader *r, const struct yaml_item *map, const struct scene *s, bool liquid,
                        double kelvin)
{
  const double melting = s->heat.melting_point;
  if (!liquid && kelvin > melting)
    reader_fail_key(r, map, "temperature",
                    "%g K is above the melting point of %g K; lower it, or make it 'phase: liquid'", kelvin,
                    melting);
  if (liquid && kelvin < melting)
    reader_fail_key(r, map, "temperature",
                    "%g K is below the melting point of %g K, where liquid freezes; raise it, or remove "
                    "'phase: liquid'",
                    kelvin, melting);
}

static void read_phase(struct reader *r, const struct yaml_item *map, struct snow_source *snow)
{
  static const char *const phases[] = {"solid", "liquid", NULL};
  snow->phase_given = yaml_find(map, "phase") != NULL;
  snow->liquid = reader_choice(r, map, "phase", 0, phases) == 1;
}

/* At the melting point by default, as liquid or as solid. */
static void read_heat(struct reader *r, const struct yaml_item *map, const struct scene *s,
                      struct snow_source *snow)
{
  if (!scene_needs_heat(r, map, s, heat_keys)) return;
  read_phase(r, map, snow);
  snow->temperature_given = yaml_find(map, "temperature") != NULL;
  snow->temperature = scene_read_temperature(r, map, "depth", s->heat.melting_point, &snow->by_depth);
  if (!r->code) check_phase(r, map, s, snow->liquid, snow->temperature);
  for (int k = 0; k < snow->by_depth.count && !r->code; k++)
    check_phase(r, map, s, snow->liquid, snow->by_depth.key[k].value);
  if (yaml_find(map, "conductivity"))
    snow->conductivity = reader_number(r, map, "conductivity", READER_REQUIRED, RANGE_POSITIVE);
}

/* What the file does not say; read and written only where the scene has it. */
static void read_file_heat(struct reader *r, const struct yaml_item *map, const struct scene *s,
                           struct snow_source *snow)
{
  if (!scene_needs_heat(r, map, s, heat_keys)) return;
  const struct yaml_item *temperature = yaml_find(map, "temperature");
  if (yaml_find(map, "phase")) read_phase(r, map, snow);
  if (temperature && temperature->kind == YAML_MAP)
    reader_fail(r, temperature, "a file has no surface to measure a depth from; expected kelvin");
  snow->temperature = s->heat.melting_point;
  snow->temperature_given = temperature != NULL;
  if (temperature) snow->temperature = scene_read_kelvin(r, map, "temperature", READER_REQUIRED);
  if (temperature && snow->phase_given) check_phase(r, map, s, snow->liquid, snow->temperature);
  if (yaml_find(map, "conductivity"))
    snow->conductivity = reader_number(r, map, "conductivity", READER_REQUIRED, RANGE_POSITIVE);
}

static void read_file_source(struct reader *r, const struct yaml_item *map, const struct scene *s,
                             struct snow_source *snow)
{
  static const char *const keys[] = {"name",        "file",         "material", "phase",
                                     "temperature", "conductivity", NULL};
  for (int k = 0; k < map->count; k++) {
    bool known = false;
    for (const char *const *key = keys; *key && !known; key++) known = !strcmp(map->child[k]->key, *key);
    if (!known) reader_refuse(r, map, map->child[k]->key, "beside 'file', which brings its own particles");
  }
  reader_check_keys(r, map, keys);
  const char *file = reader_string(r, map, "file", NULL);
  if (!r->code) snow->file = scene_path_beside(s->path, file);
  snow->material = read_material_name(r, map, s);
  read_file_heat(r, map, s, snow);
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
  static const char *const warm[] = {"temperature", NULL};
  if (!scene_needs_heat(r, map, s, warm) || !yaml_find(map, "temperature")) return;
  zone->temperature = scene_read_kelvin(r, map, "temperature", READER_REQUIRED);
  check_phase(r, map, s, false, zone->temperature);
}

/* Whether a zone differs from what is around it, or may. */
static bool is_special(const struct yaml_item *zone)
{
  return yaml_find(zone, "material") || yaml_find(zone, "stiffness_factor") ||
         yaml_find(zone, "density_factor") || yaml_find(zone, "temperature");
}

static const char of_the_same[] =
    "has no effect: it is made of the same; expected a material, stiffness_factor or density_factor";

static void read_shell(struct reader *r, const struct yaml_item *vary, const struct scene *s,
                       struct snow_source *snow)
{
  static const char *const keys[] = {"thickness",      "material",    "stiffness_factor",
                                     "density_factor", "temperature", NULL};
  if (!yaml_find(vary, "shell")) return;
  const struct yaml_item *map = reader_open(r, vary, "shell", keys);
  struct snow_zone *shell = &snow->zone[ZONE_SHELL];
  shell->depth = reader_number(r, map, "thickness", READER_REQUIRED, RANGE_POSITIVE);
  read_zone(r, map, s, snow->material, shell);
  reader_close(r);
  if (!is_special(map)) reader_fail_key(r, vary, "shell", "%s", of_the_same);
}

static void read_layers(struct reader *r, const struct yaml_item *vary, const struct scene *s,
                        struct snow_source *snow)
{
  static const char *const keys[] = {"depth",          "material",    "stiffness_factor",
                                     "density_factor", "temperature", NULL};
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
  /* Higher ones push down what lies below them, and all cut through a shell. */
  const struct yaml_item *last = list->child[list->count - 1];
  if (!r->code && !is_special(last) && !yaml_find(vary, "shell")) reader_fail(r, last, "%s", of_the_same);
}

static void read_noise(struct reader *r, const struct yaml_item *vary, const struct scene *s,
                       struct snow_source *snow)
{
  static const char *const keys[] = {"stiffness", "density", "temperature", "scale",
                                     "octaves",   "period",  "seed",        NULL};
  static const char *const warm[] = {"temperature", NULL};
  struct snow_noise *noise = &snow->noise;
  if (!yaml_find(vary, "noise")) return;
  const struct yaml_item *map = reader_open(r, vary, "noise", keys);
  noise->scale = reader_number(r, map, "scale", READER_REQUIRED, RANGE_POSITIVE);
  noise->stiffness = reader_number(r, map, "stiffness", 1.0, RANGE_POSITIVE);
  noise->density = reader_number(r, map, "density", 1.0, RANGE_POSITIVE);
  if (scene_needs_heat(r, map, s, warm) && yaml_find(map, "temperature"))
    noise->temperature = reader_number(r, map, "temperature", READER_REQUIRED, RANGE_POSITIVE);
  noise->octaves = (int)reader_integer(r, map, "octaves", 2, 1, 8);
  noise->period = reader_integer(r, map, "period", 0, 0, 1 << 20);
  noise->seed = reader_seed(r, map, "seed", 0);
  reader_close(r);
  if (!yaml_find(map, "stiffness") && !yaml_find(map, "density") && !yaml_find(map, "temperature"))
    reader_fail_key(r, vary, "noise",
                    "has no effect: expected how much of 'stiffness' or 'density' it changes");
  for (int d = 0; d < 3; d++) {
    const double farthest = fmax(fabs(s->lower[d]), fabs(s->lower[d] + s->spacing * (double)s->cells[d]));
    if (!(farthest / noise->scale < 0x1p40)) /* the place inside a patch must keep its digits */
      reader_fail_key(r, map, "scale", "%g m is nothing beside the domain", noise->scale);
  }
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
  snow->zone[ZONE_INSIDE] = (struct snow_zone){0.0, snow->material, 1.0, 1.0, 0.0};
  snow->noise.stiffness = snow->noise.density = 1.0;
  if (snow->liquid) reader_refuse(r, map, "vary", "on liquid, which is the same throughout");
  if (!yaml_find(map, "vary")) return;
  const struct yaml_item *vary = reader_open(r, map, "vary", keys);
  read_shell(r, vary, s, snow);
  read_layers(r, vary, s, snow);
  read_noise(r, vary, s, snow);
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
  read_heat(r, map, s, snow);
  read_amount(r, map, snow);
  /* Liquid at rest wants its particles even. */
  const enum snow_sampling usual = snow->count    ? SAMPLING_SEQUENCE
                                   : snow->liquid ? SAMPLING_JITTERED
                                                  : SAMPLING_RANDOM;
  snow->sampling = (enum snow_sampling)reader_choice(r, map, "sampling", (int)usual, samplings);
  reader_vector(r, map, "velocity", rest, snow->velocity);
  reader_vector(r, map, "spin", rest, snow->spin);
  if (snow->liquid)
    reader_refuse(r, map, "volume", "on liquid, whose volume is its mass over its density");
  else if (yaml_find(r->yaml->root, "window"))
    reader_refuse(r, map, "volume", "in a scene with a window, where volumes are always exact");
  else
    snow->exact_volume = reader_choice(r, map, "volume", 1, volumes) == 1;
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
      "name", "file", SCENE_SHAPE_KEYS, "material", "particles", "per_cell",    "sampling",     "velocity",
      "spin", "seed", "volume",         "vary",     "phase",     "temperature", "conductivity", NULL};
  struct snow_source *snow = &s->snow[index];
  map->used = true;
  reader_check_keys(r, map, keys);
  if (r->code) return;
  char name[32];
  snprintf(name, sizeof name, "snow-%d", index);
  reader_open_item(r);
  const char *given = reader_string(r, map, "name", name);
  reader_check_name(r, map, given, NAME_SIZE, false);
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
