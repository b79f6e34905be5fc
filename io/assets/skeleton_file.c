/* See skeleton_file.h. */
#include "io/assets/skeleton_file.h"

#include "base/memory.h"
#include "io/scene/scene_read.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BONES = 256 };

static int find_bone(const struct skeleton *s, int before, const char *name)
{
  for (int b = 0; b < before; b++)
    if (!strcmp(s->bone[b].name, name)) return b;
  return -1;
}

static void read_bone(struct reader *r, struct yaml_item *map, struct skeleton *s, int index)
{
  static const char *const keys[] = {"name", "parent", "from", "to", "radius", "pivot", "motion", NULL};
  struct bone *bone = &s->bone[index];
  map->used = true;
  reader_check_keys(r, map, keys);
  if (r->code) return;
  reader_open_item(r);
  const char *name = reader_string(r, map, "name", NULL);
  reader_check_name(r, map, name, sizeof bone->name, false);
  if (!r->code && find_bone(s, index, name) >= 0)
    reader_fail_key(r, map, "name", "there is another bone called '%s'", name);
  if (!r->code) snprintf(bone->name, sizeof bone->name, "%s", name);
  bone->parent = -1;
  if (yaml_find(map, "parent")) {
    const char *parent = reader_string(r, map, "parent", NULL);
    bone->parent = r->code ? -1 : find_bone(s, index, parent);
    if (!r->code && bone->parent < 0)
      reader_fail_key(r, map, "parent", "no bone before this one is called '%s'", parent);
  }
  reader_vector(r, map, "from", NULL, bone->from);
  reader_vector(r, map, "to", NULL, bone->to);
  bone->radius = reader_number(r, map, "radius", READER_REQUIRED, RANGE_POSITIVE);
  if (!scene_turns(map)) reader_refuse(r, map, "pivot", "on a bone that does not turn");
  reader_vector(r, map, "pivot", bone->from, bone->pivot);
  bone->motion = scene_read_motion(r, map);
  reader_close(r);
}

static void read_all(struct reader *r, struct skeleton_plan *plan)
{
  static const char *const keys[] = {"spacing", "rate", "end", "blend", "bones", NULL};
  const struct yaml_item *root = r->yaml->root;
  struct skeleton *s = plan->skeleton;
  reader_check_keys(r, root, keys);
  plan->spacing = reader_number(r, root, "spacing", READER_REQUIRED, RANGE_POSITIVE);
  plan->rate = reader_number(r, root, "rate", 24.0, RANGE_POSITIVE);
  plan->end = reader_number(r, root, "end", READER_REQUIRED, RANGE_POSITIVE);
  if (!r->code && !(plan->end * plan->rate <= 1e5))
    reader_fail_key(r, root, "rate", "means %g keys; expected at most 1e5", plan->end * plan->rate);
  const struct yaml_item *list = reader_get(r, root, "bones");
  if (!list || list->kind != YAML_LIST || list->count < 1 || list->count > MOST_BONES)
    reader_fail_key(r, root, "bones", "expected a list of 1 to %d bones", MOST_BONES);
  s->blend = reader_number_if(r, !list || list->count > 1, "on a single bone", root, "blend", 0.0,
                              RANGE_NOT_NEGATIVE);
  if (r->code) return;
  s->bone = mem_alloc((size_t)list->count, sizeof *s->bone);
  s->count = list->count;
  for (int b = 0; b < list->count && !r->code; b++) read_bone(r, list->child[b], s, b);
}

static int parse(struct skeleton_plan *plan, const char *path, const char *text, struct error *err)
{
  struct yaml *yaml = NULL;
  const int code = yaml_parse(&yaml, path, text, err);
  if (code) return code;
  struct reader r = {.yaml = yaml, .err = err};
  read_all(&r, plan);
  mem_free(r.text);
  yaml_destroy(&yaml);
  return r.code;
}

int skeleton_parse(struct skeleton_plan *plan, const char *path, const char *text, struct error *err)
{
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  const locale_t before = uselocale(plain);
  *plan = (struct skeleton_plan){.skeleton = mem_alloc(1, sizeof *plan->skeleton)};
  const int code = parse(plan, path, text, err);
  if (code) skeleton_destroy(&plan->skeleton);
  uselocale(before);
  if (plain) freelocale(plain);
  return code;
}
