/* The section `air`: wind and the drag of grains. */
#include "io/scene/scene_read.h"

#include "base/memory.h"
#include "base/vec.h"
#include "bodies/air.h"

#include <stdio.h>
#include <string.h>

enum { MOST_GUSTS = 10000 };

static void read_gusts(struct reader *r, const struct yaml_item *map, struct ramp *ramp)
{
  static const char *const words[] = {"keys", NULL}, *const of_key[] = {"time", "factor", NULL};
  if (!yaml_find(map, "gusts")) return;
  const struct yaml_item *section = reader_open(r, map, "gusts", words);
  const struct yaml_item *list = reader_get(r, section, "keys");
  if (!list || list->kind != YAML_LIST || list->count < 1 || list->count > MOST_GUSTS)
    reader_fail_key(r, section ? section : map, "keys",
                    "expected a list of keys, like [{time: 0, factor: 1}, {time: 2, factor: 1.6}]");
  if (!r->code) {
    struct ramp_key *keys = mem_alloc((size_t)list->count, sizeof *keys);
    reader_write(r, "keys:");
    r->depth++;
    for (int k = 0; k < list->count && !r->code; k++) {
      struct yaml_item *item = list->child[k];
      item->used = true;
      reader_check_keys(r, item, of_key);
      reader_open_item(r);
      keys[k].at = reader_number(r, item, "time", READER_REQUIRED, RANGE_NOT_NEGATIVE);
      keys[k].value = reader_number(r, item, "factor", READER_REQUIRED, RANGE_NOT_NEGATIVE);
      reader_close(r);
      if (k > 0 && !r->code && !(keys[k].at > keys[k - 1].at))
        reader_fail_key(r, item, "time", "keys are out of order: %g s does not come after %g s", keys[k].at,
                        keys[k - 1].at);
    }
    reader_close(r);
    if (!r->code) ramp_create(ramp, keys, list->count);
    mem_free(keys);
  }
  reader_close(r);
}

/* What heights are measured from: a body by its name, or a plane. */
static void read_above(struct reader *r, const struct yaml_item *map, const struct scene *s, struct air *air)
{
  static const char *const words[] = {"plane", NULL}, *const of_plane[] = {"point", "normal", NULL};
  const struct yaml_item *above = yaml_find(map, "above");
  air->above = -1;
  if (above && above->kind == YAML_MAP) {
    const struct yaml_item *section = reader_open(r, map, "above", words);
    if (!yaml_find(section, "plane"))
      reader_fail_key(r, section, "plane", "expected a plane or a body's name");
    const struct yaml_item *plane = reader_open(r, section, "plane", of_plane);
    reader_vector(r, plane, "point", NULL, air->point);
    scene_read_direction(r, plane, "normal", air->normal);
    reader_close(r);
    reader_close(r);
    return;
  }
  const char *name = reader_string(r, map, "above", NULL);
  for (int k = 0; k < s->body_count && !r->code; k++)
    if (strcmp(s->bodies[k].name, name) == 0) air->above = k;
  if (!r->code && air->above < 0)
    reader_fail_key(r, map, "above", "there is no body called '%s'; expected one, or a plane", name);
}

static void read_profile(struct reader *r, const struct yaml_item *map, const struct scene *s,
                         struct air *air)
{
  static const char *const profiles[] = {"uniform", "log", "power", NULL};
  static const char *const of_height[] = {"above", "height", "roughness", "exponent", NULL};
  air->profile = (enum air_profile)reader_choice(r, map, "profile", AIR_UNIFORM, profiles);
  if (air->profile == AIR_UNIFORM) {
    for (int k = 0; of_height[k]; k++) reader_refuse(r, map, of_height[k], "with a uniform profile");
    return;
  }
  read_above(r, map, s, air);
  air->height = reader_number(r, map, "height", 10.0, RANGE_POSITIVE);
  air->roughness = reader_number_if(r, air->profile == AIR_LOG, "with 'profile: power'", map, "roughness",
                                    2.4e-4, RANGE_POSITIVE);
  air->exponent = reader_number_if(r, air->profile == AIR_POWER, "with 'profile: log'", map, "exponent",
                                   1.0 / 7.0, RANGE_POSITIVE);
}

static void read_grains(struct reader *r, const struct yaml_item *map, const struct scene *s, struct air *air)
{
  static const char *const of_grain[] = {"grain_size", "grain_density", "drag_coefficient", "density", NULL};
  if (!yaml_find(map, "terminal_speed")) {
    const double size = reader_number(r, map, "grain_size", 5e-4, RANGE_POSITIVE),
                 grain = reader_number(r, map, "grain_density", 917.0, RANGE_POSITIVE),
                 coefficient = reader_number(r, map, "drag_coefficient", 1.2, RANGE_POSITIVE),
                 density = reader_number(r, map, "density", 1.2, RANGE_POSITIVE);
    air->drag = 3.0 * coefficient * density / (4.0 * grain * size);
    return;
  }
  const double speed = reader_number(r, map, "terminal_speed", READER_REQUIRED, RANGE_POSITIVE);
  for (int k = 0; of_grain[k]; k++) reader_refuse(r, map, of_grain[k], "beside 'terminal_speed'");
  if (!(vec_norm(s->gravity) > 0.0))
    reader_fail_key(r, map, "terminal_speed", "there is no gravity, and so nothing falls; give grain_size");
  air->drag = vec_norm(s->gravity) / (speed * speed);
}

void scene_read_air(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  static const char *const keys[] = {
      "wind",     "profile",        "above",      "height",        "roughness",
      "exponent", "gusts",          "grain_size", "grain_density", "drag_coefficient",
      "density",  "terminal_speed", "loose",      "dense",         NULL};
  static const double still[3] = {0.0, 0.0, 0.0};
  if (!yaml_find(root, "air")) return;
  const struct yaml_item *map = reader_open(r, root, "air", keys);
  if (s->has_heat) reader_fail_key(r, root, "air", "wind cannot be beside 'heat'; remove one of the two");
  struct air *air = s->air = mem_alloc(1, sizeof *s->air);
  reader_vector(r, map, "wind", still, air->wind);
  read_profile(r, map, s, air);
  read_gusts(r, map, &air->gusts);
  read_grains(r, map, s, air);
  air->loose = reader_number(r, map, "loose", 0.05, RANGE_NOT_NEGATIVE);
  air->dense = reader_number(r, map, "dense", 0.2, RANGE_POSITIVE);
  if (!r->code && !(air->loose < air->dense && air->dense <= 0.5))
    reader_fail_key(r, map, "dense", "expected more than 'loose', %g, and at most 0.5; found %g", air->loose,
                    air->dense);
  reader_close(r);
}
