/* The section `probes`: a list of named places where a run measures the snow. */
#include "io/scene/scene_read.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum { MOST_REGIONS = 1000 };

static void read_line(struct reader *r, const struct yaml_item *map, const struct scene *s,
                      struct scene_probe *probe)
{
  static const char *const keys[] = {"from", "to", "count", "radius", NULL};
  const struct yaml_item *line = reader_open(r, map, "line", keys);
  reader_vector(r, line, "from", NULL, probe->low);
  reader_vector(r, line, "to", NULL, probe->high);
  probe->regions = (int)reader_integer(r, line, "count", 10, 2, MOST_REGIONS);
  probe->radius = reader_number(r, line, "radius", s->spacing, RANGE_POSITIVE);
  reader_close(r);
}

static void read_profile(struct reader *r, const struct yaml_item *map, struct scene_probe *probe)
{
  static const char *const keys[] = {"lower", "upper", "axis", "count", NULL};
  static const char *const axes[] = {"x", "y", "z", NULL};
  const struct yaml_item *profile = reader_open(r, map, "profile", keys);
  reader_vector(r, profile, "lower", NULL, probe->low);
  reader_vector(r, profile, "upper", NULL, probe->high);
  probe->axis = reader_choice(r, profile, "axis", 1, axes);
  probe->regions = (int)reader_integer(r, profile, "count", 10, 1, MOST_REGIONS);
  reader_close(r);
  for (int d = 0; d < 3 && !r->code; d++)
    if (!(probe->low[d] < probe->high[d]))
      reader_fail_key(r, profile, "upper", "expected above lower, found %g and %g", probe->high[d],
                      probe->low[d]);
}

static void read_flux(struct reader *r, const struct yaml_item *map, struct scene_probe *probe)
{
  static const char *const keys[] = {"point", "normal", NULL};
  const struct yaml_item *flux = reader_open(r, map, "flux", keys);
  reader_vector(r, flux, "point", NULL, probe->low);
  scene_read_direction(r, flux, "normal", probe->high);
  reader_close(r);
}

static void read_deposit(struct reader *r, const struct yaml_item *map, const struct scene *s,
                         struct scene_probe *probe)
{
  static const char *const keys[] = {"direction", "above", NULL};
  static const char *const shapes[] = {SCENE_SHAPE_KEYS, NULL};
  const struct yaml_item *deposit = reader_open(r, map, "deposit", keys);
  scene_read_direction(r, deposit, "direction", probe->high);
  if (yaml_find(deposit, "above")) {
    const struct yaml_item *above = reader_open(r, deposit, "above", shapes);
    scene_read_shape(r, above, s, &probe->shape);
    reader_close(r);
  }
  reader_close(r);
}

static void read_kind(struct reader *r, const struct yaml_item *map, const struct scene *s,
                      struct scene_probe *probe)
{
  static const double none[3] = {0.0, 0.0, 0.0};
  probe->regions = 1;
  if (probe->kind != PROBE_POINT) reader_refuse(r, map, "radius", "but beside 'point'");
  switch (probe->kind) {
  case PROBE_POINT:
    reader_vector(r, map, "point", none, probe->low);
    memcpy(probe->high, probe->low, sizeof probe->high);
    probe->radius = reader_number(r, map, "radius", s->spacing, RANGE_POSITIVE);
    break;
  case PROBE_INSIDE: {
    static const char *const shapes[] = {SCENE_SHAPE_KEYS, NULL};
    const struct yaml_item *inside = reader_open(r, map, "inside", shapes);
    scene_read_shape(r, inside, s, &probe->shape);
    reader_close(r);
    break;
  }
  case PROBE_LINE: read_line(r, map, s, probe); break;
  case PROBE_PROFILE: read_profile(r, map, probe); break;
  case PROBE_FLUX: read_flux(r, map, probe); break;
  default: read_deposit(r, map, s, probe); break;
  }
  if (!r->code && !shape_is_ready(&probe->shape))
    reader_fail(r, map, "a probe cannot be made of files; expected a box, sphere or other plain shape");
  if (!r->code) shape_settle(&probe->shape);
}

static void read_probe(struct reader *r, struct yaml_item *map, const struct scene *s,
                       struct scene_probe *probe)
{
  static const char *const keys[] = {"name",    "point", "radius",  "inside", "line",
                                     "profile", "flux",  "deposit", NULL};
  static const char *const kinds[] = {"point", "inside", "line", "profile", "flux", "deposit"};
  int found = 0;
  map->used = true;
  reader_check_keys(r, map, keys);
  if (r->code) return;
  for (int k = 0; k < PROBE_KINDS; k++)
    if (yaml_find(map, kinds[k])) {
      probe->kind = (enum probe_kind)k;
      found++;
    }
  if (found != 1)
    reader_fail(r, map, "expected exactly one of point, inside, line, profile, flux and deposit");
  reader_open_item(r);
  const char *name = reader_string(r, map, "name", NULL);
  if (!r->code) {
    reader_check_name(r, map, name, sizeof probe->name, false);
    snprintf(probe->name, sizeof probe->name, "%s", name);
    probe->line = map->line;
    read_kind(r, map, s, probe);
  }
  reader_close(r);
}

/* Whether columns of `one` would have the names of columns of `many`, a line or a profile: those of region 3
 * of `pit` begin with pit_3. */
static bool is_mixed_up(const struct scene_probe *one, const struct scene_probe *many)
{
  const size_t length = strlen(many->name);
  if (many->kind != PROBE_LINE && many->kind != PROBE_PROFILE) return false;
  if (one->kind == PROBE_LINE || one->kind == PROBE_PROFILE) return false;
  const char *rest = one->name + length;
  return strncmp(one->name, many->name, length) == 0 && *rest == '_' && rest[1] &&
         strspn(rest + 1, "0123456789") == strlen(rest + 1);
}

void scene_read_probes(struct reader *r, const struct yaml_item *root, struct scene *s)
{
  if (r->code || !yaml_find(root, "probes")) return;
  const struct yaml_item *list = reader_get(r, root, "probes");
  if (list->kind != YAML_LIST || list->count == 0) {
    reader_fail(r, list, "expected a list of probes, like [{name: core, point: [0, 0.1, 0]}]");
    return;
  }
  s->probes = mem_alloc((size_t)list->count, sizeof *s->probes);
  s->probe_count = list->count;
  reader_write(r, "probes:");
  r->depth++;
  for (int k = 0; k < list->count && !r->code; k++) {
    read_probe(r, list->child[k], s, &s->probes[k]);
    for (int other = 0; other < k && !r->code; other++) {
      const struct scene_probe *a = &s->probes[k], *b = &s->probes[other];
      if (!strcmp(a->name, b->name))
        reader_fail(r, list->child[k], "there is another probe called '%s'", a->name);
      else if (!r->stored && (is_mixed_up(a, b) || is_mixed_up(b, a)))
        reader_fail(r, list->child[k], "'%s' and '%s' would have columns of the same name; rename one",
                    a->name, b->name);
    }
  }
  reader_close(r);
}
