/* The section `heat` of a scene, and temperatures wherever a scene has them. */
#include "io/scene/scene_read.h"

#include "base/memory.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

enum { MOST_KEYS = 10000 };

/* Only as the method has it: pressure lives on the cells of the cubic kernel, forces follow its gradient. */
static void check_transfer(struct reader *r, const struct yaml_item *root, const struct scene *s)
{
  const struct yaml_item *transfer = yaml_find(root, "transfer");
  if (s->kernel != KERNEL_CUBIC)
    reader_fail_key(r, transfer, "kernel", "'heat' needs the cubic kernel: pressure lives on its cells");
  if (s->force != FORCE_MPM)
    reader_fail_key(r, transfer, "force",
                    "'heat' needs 'mpm': a liquid's forces follow the kernel's gradient");
  if (s->pipelined)
    reader_fail_key(r, yaml_find(root, "integrator"), "solver",
                    "'heat' needs 'cr': the pipelined solve knows no liquid");
}

static void read_capacities(struct reader *r, const struct yaml_item *heat, struct heat_law *law)
{
  static const char *const keys[] = {"solid", "liquid", NULL};
  const struct yaml_item *map = reader_open(r, heat, "heat_capacity", keys);
  law->c_solid = reader_number(r, map, "solid", 2100.0, RANGE_POSITIVE);
  law->c_liquid = reader_number(r, map, "liquid", 4200.0, RANGE_POSITIVE);
  reader_close(r);
}

/* s. Heavier water sinks through lighter water within sqrt(h/g), so what evens out the density of particles
 * must act as fast, whatever the cells are. */
static double usual_spread_time(const struct scene *s)
{
  const double gravity = vec_norm(s->gravity);
  return gravity > 0.0 ? 2.0 * sqrt(s->spacing / gravity) : 0.1;
}

static void read_liquid(struct reader *r, const struct yaml_item *heat, const struct scene *s,
                        struct heat_law *law)
{
  static const char *const keys[] = {
      "density", "stiffness", "conductivity", "spread_time", "spread_threshold", "passes", NULL};
  const struct yaml_item *map = reader_open(r, heat, "liquid", keys);
  law->rho_liquid = reader_number(r, map, "density", 1000.0, RANGE_POSITIVE);
  law->lambda_liquid = reader_number(r, map, "stiffness", 1e7, RANGE_POSITIVE);
  law->kappa_liquid = reader_number(r, map, "conductivity", 0.56, RANGE_NOT_NEGATIVE);
  law->spread_time = reader_number(r, map, "spread_time", usual_spread_time(s), RANGE_POSITIVE);
  law->spread_threshold = reader_number(r, map, "spread_threshold", 0.0, RANGE_NOT_NEGATIVE);
  law->passes = (int)reader_integer(r, map, "passes", 3, 1, 100);
  reader_close(r);
  if (law->spread_threshold >= 1.0)
    reader_fail_key(r, map, "spread_threshold", "expected below 1, a part of the volume; found %g",
                    law->spread_threshold);
}

/* Air that exchanges nothing has no temperature. */
static void read_ambient(struct reader *r, const struct yaml_item *heat, struct heat_law *law)
{
  static const char *const keys[] = {"temperature", "exchange", NULL};
  const struct yaml_item *map = reader_open(r, heat, "ambient", keys);
  law->ambient_exchange = reader_number(r, map, "exchange", 0.0, RANGE_NOT_NEGATIVE);
  law->ambient_temperature = law->melting_point;
  if (law->ambient_exchange > 0.0)
    law->ambient_temperature = scene_read_kelvin(r, map, "temperature", READER_REQUIRED);
  else
    reader_refuse(r, map, "temperature", "without an 'exchange' above 0 (W/(m^2 K), 5 in still air)");
  reader_close(r);
}

void scene_read_heat(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {"melting_point",  "latent_heat", "heat_capacity", "liquid",
                                     "ambient",        "mix",         "contact_cells", "tolerance",
                                     "max_iterations", NULL};
  struct heat_law *law = &s->heat;
  if (!yaml_find(root, "heat")) return;
  s->has_heat = true;
  const struct yaml_item *map = reader_open(r, root, "heat", keys);
  law->melting_point = scene_read_kelvin(r, map, "melting_point", 273.15);
  law->latent = reader_number(r, map, "latent_heat", 334e3, RANGE_POSITIVE);
  read_capacities(r, map, law);
  read_liquid(r, map, s, law);
  read_ambient(r, map, law);
  law->heat_mix = reader_number(r, map, "mix", 1.0, RANGE_NOT_NEGATIVE);
  law->contact_cells = reader_number(r, map, "contact_cells", 1.0, RANGE_POSITIVE);
  law->tolerance = reader_number(r, map, "tolerance", 1e-8, RANGE_POSITIVE);
  law->max_iterations = (int)reader_integer(r, map, "max_iterations", 500, 1, 1000000);
  reader_close(r);
  /* The exchange between particles conducts mix/3 of the heat, and the grid the rest. */
  if (law->heat_mix > 3.0)
    reader_fail_key(r, map, "mix", "expected 0 to 3: beyond it nothing is left for the grid to conduct");
  if (law->tolerance >= 1.0)
    reader_fail_key(r, map, "tolerance", "expected below 1, found %g", law->tolerance);
  check_transfer(r, root, s);
}

double scene_read_kelvin(struct reader *r, const struct yaml_item *map, const char *key, double fallback)
{
  const double value = reader_number(r, map, key, fallback, RANGE_ANY);
  if (!(value > 0.0))
    reader_fail_key(r, map, key, "expected kelvin, above 0 (0 degrees Celsius is 273.15); found %g", value);
  return value;
}

static void read_ramp_keys(struct reader *r, const struct yaml_item *list, const char *along,
                           struct ramp_key *keys)
{
  const char *const words[] = {along, "temperature", NULL};
  for (int k = 0; k < list->count && !r->code; k++) {
    struct yaml_item *map = list->child[k];
    map->used = true;
    reader_check_keys(r, map, words);
    if (r->code) return;
    reader_open_item(r);
    keys[k].at = reader_number(r, map, along, READER_REQUIRED, RANGE_NOT_NEGATIVE);
    keys[k].value = scene_read_kelvin(r, map, "temperature", READER_REQUIRED);
    reader_close(r);
    if (k > 0 && !(keys[k].at > keys[k - 1].at))
      reader_fail_key(r, map, along, "keys are out of order: %g does not come after %g", keys[k].at,
                      keys[k - 1].at);
  }
}

static void read_ramp(struct reader *r, const struct yaml_item *map, const char *along, struct ramp *ramp)
{
  static const char *const words[] = {"keys", NULL};
  const struct yaml_item *section = reader_open(r, map, "temperature", words);
  const struct yaml_item *list = reader_get(r, section, "keys");
  if (!list || list->kind != YAML_LIST || list->count < 2 || list->count > MOST_KEYS)
    reader_fail_key(r, section ? section : map, "keys",
                    "expected a list of at least 2 keys, like [{%s: 0, temperature: 263}, {%s: 1, "
                    "temperature: 293}]",
                    along, along);
  if (!r->code) {
    struct ramp_key *keys = mem_alloc((size_t)list->count, sizeof *keys);
    reader_write(r, "keys:");
    r->depth++;
    read_ramp_keys(r, list, along, keys);
    reader_close(r);
    if (!r->code) ramp_create(ramp, keys, list->count);
    mem_free(keys);
  }
  reader_close(r);
}

double scene_read_temperature(struct reader *r, const struct yaml_item *map, const char *along,
                              double fallback, struct ramp *ramp)
{
  const struct yaml_item *item = yaml_find(map, "temperature");
  if (!item || item->kind != YAML_MAP) return scene_read_kelvin(r, map, "temperature", fallback);
  read_ramp(r, map, along, ramp);
  return ramp->count ? ramp->key[0].value : fallback;
}

bool scene_needs_heat(struct reader *r, const struct yaml_item *map, const struct scene *s,
                      const char *const *keys)
{
  for (; !s->has_heat && *keys; keys++)
    if (yaml_find(map, *keys))
      reader_fail_key(r, map, *keys, "needs the section 'heat'; add 'heat: {}' to the scene, or remove it");
  return s->has_heat;
}
