/* The sections `sources` and `sinks`: where snow enters during a run, and where it is removed. */
#include "io/scene/scene_read.h"

#include "base/memory.h"
#include "base/vec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void read_times(struct reader *r, const struct yaml_item *map, double *from, double *until)
{
  *from = reader_number(r, map, "from", 0.0, RANGE_NOT_NEGATIVE);
  *until = INFINITY;
  if (yaml_find(map, "until")) *until = reader_number(r, map, "until", 0.0, RANGE_POSITIVE);
  if (!r->code && !(*until > *from))
    reader_fail_key(r, map, "until", "expected a time after %g s, found %g", *from, *until);
}

/* What it is made of: the only material, or one of several by name. */
static int read_material(struct reader *r, const struct yaml_item *map, const struct scene *s)
{
  const struct yaml_item *item = yaml_find(map, "material");
  if (!item && s->material_count > 1)
    reader_fail(r, map, "the key 'material' is missing; there are several, so say which");
  if (!item || r->code) return 0;
  const char *name = reader_string(r, map, "material", NULL);
  for (int k = 0; k < s->material_count && !r->code; k++)
    if (!strcmp(s->materials[k].name, name)) return k;
  reader_fail_key(r, map, "material", "no material is called '%s'", r->code ? "" : name);
  return 0;
}

static void check_place(struct reader *r, const struct yaml_item *map, const struct scene *s,
                        const struct shape *shape)
{
  double lower[3], upper[3];
  if (r->code) return;
  if (!shape_is_ready(shape)) {
    reader_fail(r, map, "snow cannot come out of files; expected a box, sphere or other plain shape");
    return;
  }
  if (!shape_bounds(shape, lower, upper)) {
    reader_fail(r, map, "expected a shape that has an end");
    return;
  }
  for (int d = 0; d < 3; d++)
    if (lower[d] < s->lower[d] || upper[d] > s->lower[d] + s->spacing * (double)s->cells[d])
      reader_fail(r, map, "the source reaches out of the domain along %c: %g to %g m", 'x' + d, lower[d],
                  upper[d]);
}

/* Phase and temperature, where the scene has heat. */
static void read_heat(struct reader *r, const struct yaml_item *map, const struct scene *s, double density,
                      struct scene_source *source)
{
  static const char *const phases[] = {"solid", "liquid", NULL};
  static const char *const keys[] = {"phase", "temperature", "conductivity", NULL};
  if (!scene_needs_heat(r, map, s, keys)) return;
  source->liquid = reader_choice(r, map, "phase", 0, phases) == 1;
  source->temperature = scene_read_kelvin(r, map, "temperature", s->heat.melting_point);
  source->conductivity =
      reader_number(r, map, "conductivity", heat_snow_conductivity(density), RANGE_NOT_NEGATIVE);
  if (!r->code && (source->liquid ? source->temperature < s->heat.melting_point
                                  : source->temperature > s->heat.melting_point))
    reader_fail_key(r, map, "temperature", "%g K does not go with the phase: the melting point is %g K",
                    source->temperature, s->heat.melting_point);
}

static void read_source(struct reader *r, struct yaml_item *map, int index, const struct scene *s,
                        struct scene_source *source)
{
  static const char *const keys[] = {SCENE_SHAPE_KEYS, "name",         "rate",     "velocity", "from",
                                     "until",          "material",     "per_cell", "seed",     "phase",
                                     "temperature",    "conductivity", NULL};
  static const double rest[3] = {0.0, 0.0, 0.0};
  char name[32];
  map->used = true;
  reader_check_keys(r, map, keys);
  if (r->code) return;
  snprintf(name, sizeof name, "source-%d", index);
  reader_open_item(r);
  const char *given = reader_string(r, map, "name", name);
  reader_check_name(r, map, given, sizeof source->name, false);
  if (!r->code) snprintf(source->name, sizeof source->name, "%s", given);
  source->line = map->line;
  scene_read_shape(r, map, s, &source->shape);
  source->rate = reader_number(r, map, "rate", READER_REQUIRED, RANGE_POSITIVE);
  reader_vector(r, map, "velocity", rest, source->velocity);
  read_times(r, map, &source->from, &source->until);
  source->material = read_material(r, map, s);
  source->per_cell = reader_number(r, map, "per_cell", 8.0, RANGE_POSITIVE);
  source->seed = reader_seed(r, map, "seed", (uint64_t)index);
  const double solid = r->code ? 0.0 : s->materials[source->material].density;
  read_heat(r, map, s, solid, source);
  reader_close(r);
  check_place(r, map, s, &source->shape);
  if (r->code) return;
  for (int k = 0; k < index && !r->stored; k++) /* earlier versions let them be */
    if (strcmp(s->sources[k].name, source->name) == 0)
      reader_fail(r, map, "there is another source called '%s'", source->name);
  shape_settle(&source->shape);
  const double cell = s->spacing * s->spacing * s->spacing;
  source->mass = (source->liquid ? s->heat.rho_liquid : solid) * cell / source->per_cell;
}

static void read_sink(struct reader *r, struct yaml_item *map, const struct scene *s, struct scene_sink *sink)
{
  static const char *const keys[] = {SCENE_SHAPE_KEYS, "from", "until", NULL};
  map->used = true;
  reader_check_keys(r, map, keys);
  if (r->code) return;
  reader_open_item(r);
  scene_read_shape(r, map, s, &sink->shape);
  read_times(r, map, &sink->from, &sink->until);
  reader_close(r);
  if (r->code) return;
  if (!shape_is_ready(&sink->shape))
    reader_fail(r, map, "a sink cannot be made of files; expected a box, plane or other plain shape");
  else
    shape_settle(&sink->shape);
}

/* The list under a key; NULL if there is none. */
static const struct yaml_item *open_list(struct reader *r, const struct yaml_item *root, const char *key,
                                         const struct scene *s)
{
  if (r->code || !yaml_find(root, key)) return NULL;
  const struct yaml_item *list = reader_get(r, root, key);
  if (list->kind != YAML_LIST || list->count == 0 || list->count > SCENE_SOURCES)
    reader_fail(r, list, "expected a list of 1 to %d items, like [{box: {...}}]", SCENE_SOURCES);
  else if (s->copies > 1)
    reader_fail(r, list, "not in copies of a scene; remove domain.copies");
  if (r->code) return NULL;
  reader_write(r, "%s:", key);
  r->depth++;
  return list;
}

double scene_source_fill(const struct scene *s, const struct scene_source *source)
{
  const double speed = vec_norm(source->velocity), gravity = vec_norm(s->gravity),
               density = source->mass * source->per_cell / (s->spacing * s->spacing * s->spacing);
  double lower[3], upper[3], way[3] = {0.0, 0.0, 0.0}, length = 0.0;
  if (!(speed > 0.0 || gravity > 0.0)) return INFINITY;
  vec_axpy(way, speed > 0.0 ? 1.0 / speed : 1.0 / gravity, speed > 0.0 ? source->velocity : s->gravity, way);
  shape_bounds(&source->shape, lower, upper);
  for (int d = 0; d < 3; d++) length += fabs(way[d]) * (upper[d] - lower[d]);
  /* particles start at a random place of the shape, and so fall half its length on average within it */
  const double out = sqrt(speed * speed + fmax(0.0, vec_dot(s->gravity, way)) * length);
  return source->rate * length / (density * shape_volume(&source->shape) * out);
}

bool scene_source_is_thin(const struct scene *s, const struct scene_source *source)
{
  return scene_source_fill(s, source) < 0.9;
}

void scene_read_sources(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  const struct yaml_item *sources = open_list(r, root, "sources", s);
  if (sources) {
    s->sources = mem_alloc((size_t)sources->count, sizeof *s->sources);
    s->source_count = sources->count;
    for (int k = 0; k < sources->count && !r->code; k++)
      read_source(r, sources->child[k], k, s, &s->sources[k]);
    reader_close(r);
  }
  const struct yaml_item *sinks = open_list(r, root, "sinks", s);
  if (!sinks) return;
  s->sinks = mem_alloc((size_t)sinks->count, sizeof *s->sinks);
  s->sink_count = sinks->count;
  for (int k = 0; k < sinks->count && !r->code; k++) read_sink(r, sinks->child[k], s, &s->sinks[k]);
  reader_close(r);
}
