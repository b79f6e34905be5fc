/* The materials of a scene.
 *
 * A material is a kind, by name, and what the scene changes of it. The kinds are the reference of the 2013
 * paper (table 2), its neighbours one parameter at a time as in figure 8, and the snow that section 5
 * describes in words: dry powder breaks early (small critical compression and stretch), wet snow late and in
 * chunks; icy snow is stiff and hardens fast, muddy snow is soft and hardens slowly. The figure tells values
 * below the reference; those above it lie as far away on the other side. */
#include "io/scene_read.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

struct kind {
  const char *name;
  double density, young, hardening, compression, stretch;
};

static const struct kind kinds[] = {
    {"reference", 400.0, 1.4e5, 10.0, 2.5e-2, 7.5e-3},
    {"lower_compression", 400.0, 1.4e5, 10.0, 1.9e-2, 7.5e-3},
    {"higher_compression", 400.0, 1.4e5, 10.0, 3.3e-2, 7.5e-3},
    {"lower_stretch", 400.0, 1.4e5, 10.0, 2.5e-2, 5.0e-3},
    {"higher_stretch", 400.0, 1.4e5, 10.0, 2.5e-2, 1.1e-2},
    {"lower_hardening", 400.0, 1.4e5, 5.0, 2.5e-2, 7.5e-3},
    {"higher_hardening", 400.0, 1.4e5, 20.0, 2.5e-2, 7.5e-3},
    {"lower_stiffness", 400.0, 4.8e4, 10.0, 2.5e-2, 7.5e-3},
    {"higher_stiffness", 400.0, 4.1e5, 10.0, 2.5e-2, 7.5e-3},
    {"powder", 300.0, 1.4e5, 10.0, 1.9e-2, 5.0e-3},
    {"chunky", 450.0, 1.4e5, 10.0, 3.3e-2, 1.1e-2},
    {"icy", 500.0, 4.1e5, 15.0, 2.5e-2, 7.5e-3},
    {"muddy", 550.0, 4.8e4, 5.0, 2.5e-2, 7.5e-3},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct kind *read_kind(struct reader *r, const struct yaml_item *map)
{
  const char *names[KINDS + 1] = {NULL};
  for (int k = 0; k < KINDS; k++) names[k] = kinds[k].name;
  return &kinds[reader_choice(r, map, "kind", 0, names)];
}

/* map may be NULL: the one material of a scene that names none. */
static void read_material(struct reader *r, const struct yaml_item *map, const char *name, struct material *m)
{
  static const char *const keys[] = {"kind",
                                     "density",
                                     "young",
                                     "poisson",
                                     "hardening",
                                     "critical_compression",
                                     "critical_stretch",
                                     "hardening_limit",
                                     "plastic",
                                     NULL};
  if (map) reader_check_name(r, map, name, sizeof m->name, false);
  if (map) reader_check_keys(r, map, keys);
  if (r->code) return;
  snprintf(m->name, sizeof m->name, "%s", name);
  reader_write(r, "%s:", name);
  r->depth++;
  const struct kind *kind = read_kind(r, map);
  m->density = reader_number(r, map, "density", kind->density, RANGE_POSITIVE);
  m->young = reader_number(r, map, "young", kind->young, RANGE_POSITIVE);
  m->poisson = reader_number(r, map, "poisson", 0.2, RANGE_ANY);
  m->hardening = reader_number(r, map, "hardening", kind->hardening, RANGE_NOT_NEGATIVE);
  m->critical_compression =
      reader_number(r, map, "critical_compression", kind->compression, RANGE_NOT_NEGATIVE);
  m->critical_stretch = reader_number(r, map, "critical_stretch", kind->stretch, RANGE_NOT_NEGATIVE);
  m->hardening_limit = reader_number(r, map, "hardening_limit", 1e3, RANGE_POSITIVE);
  m->plastic = reader_flag(r, map, "plastic", true);
  reader_close(r);
  if (!(m->poisson > -1.0 && m->poisson < 0.5))
    reader_fail_key(r, map, "poisson", "expected above -1 and below 0.5, found %g", m->poisson);
  if (m->critical_compression >= 1.0)
    reader_fail_key(r, map, "critical_compression", "expected below 1 (all of the length), found %g",
                    m->critical_compression);
  if (m->hardening_limit < 1.0)
    reader_fail_key(r, map, "hardening_limit", "expected at least 1, found %g", m->hardening_limit);
}

void scene_read_materials(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  struct yaml_item *map = reader_get(r, root, "materials");
  if (map && (map->kind != YAML_MAP || !map->count))
    reader_fail(
        r, map,
        "expected a map of materials by name, like {snow: {density: 400}}; leave it out for the default one");
  if (r->code) return;
  s->material_count = map ? map->count : 1;
  s->materials = mem_alloc((size_t)s->material_count, sizeof *s->materials);
  reader_write(r, "materials:");
  r->depth++;
  if (!map) read_material(r, NULL, "snow", &s->materials[0]);
  for (int k = 0; map && k < map->count; k++) {
    map->child[k]->used = true;
    read_material(r, map->child[k], map->child[k]->key, &s->materials[k]);
  }
  reader_close(r);
}
