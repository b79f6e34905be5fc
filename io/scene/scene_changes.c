/* See scene_changes.h. Both trees become lists of (path, value), sorted by path and merged. A list of plain
 * values is one value; an item of a list of maps goes by its `name`, or by its place where it has none. The
 * order of named items is compared apart, among those that both trees have. */
#include "io/scene/scene_changes.h"

#include "base/memory.h"
#include "io/scene/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct leaf {
  char *path, *value;
};

struct leaves {
  struct leaf *items;
  size_t count, capacity;
};

/* Keys that a state does not depend on; whole sections where a section is named. */
static const char *const safe_keys[] = {"name",       "time.end", "output", "camera",
                                        "checkpoint", "sun",      "probes", NULL};
/* Keys of any body or material. */
static const char *const safe_names[] = {"color", "cover", "look", "measure", "pressure_map", NULL};

static bool is_safe(const char *path)
{
  for (const char *const *key = safe_keys; *key; key++) {
    const size_t length = strlen(*key);
    if (strncmp(path, *key, length) == 0 && (path[length] == '\0' || path[length] == '.')) return true;
  }
  const char *last = strrchr(path, '.');
  const bool named = strncmp(path, "bodies.", 7) == 0 || strncmp(path, "materials.", 10) == 0;
  for (const char *const *name = safe_names; last && named && *name; name++)
    if (strcmp(last + 1, *name) == 0) return true;
  return false;
}

static void add_leaf(struct leaves *leaves, const char *path, char *value)
{
  if (leaves->count == leaves->capacity) {
    const size_t capacity = 2 * leaves->capacity + 64;
    leaves->items = mem_resize(leaves->items, leaves->count, capacity, sizeof *leaves->items);
    leaves->capacity = capacity;
  }
  leaves->items[leaves->count++] = (struct leaf){mem_strdup(path), value};
}

/* A scalar, or a list of them in brackets. */
static char *value_of(const struct yaml_item *item)
{
  if (item->kind == YAML_SCALAR) return mem_strdup(item->text);
  size_t size = 3;
  for (int k = 0; k < item->count; k++) size += 2 + (item->child[k]->text ? strlen(item->child[k]->text) : 0);
  char *text = mem_alloc(size, 1), *at = text;
  *at++ = '[';
  for (int k = 0; k < item->count; k++)
    at += sprintf(at, "%s%s", k ? ", " : "", item->child[k]->text ? item->child[k]->text : "");
  memcpy(at, "]", 2);
  return text;
}

static bool is_plain(const struct yaml_item *item)
{
  for (int k = 0; item->kind != YAML_SCALAR && k < item->count; k++)
    if (item->kind == YAML_MAP || item->child[k]->kind != YAML_SCALAR) return false;
  return true;
}

/* What the k-th entry of a map or list goes by; `place` is room for a number. */
static const char *key_of(const struct yaml_item *item, int k, char place[32])
{
  const struct yaml_item *child = item->child[k], *name = yaml_find(child, "name");
  snprintf(place, 32, "%d", k);
  return item->kind == YAML_MAP ? child->key : name && name->text ? name->text : place;
}

/* The parser bounds how deep a tree can be. */
static void flatten(const struct yaml_item *item, const char *path, struct leaves *leaves)
{
  if (is_plain(item)) {
    add_leaf(leaves, path, value_of(item));
    return;
  }
  for (int k = 0; k < item->count; k++) {
    const struct yaml_item *child = item->child[k];
    char place[32];
    const char *key = key_of(item, k, place);
    const size_t size = strlen(path) + strlen(key) + 2;
    char *longer = mem_alloc(size, 1);
    snprintf(longer, size, "%s%s%s", path, *path ? "." : "", key);
    flatten(child, longer, leaves);
    mem_free(longer);
  }
}

static int compare_leaves(const void *a, const void *b)
{
  return strcmp(((const struct leaf *)a)->path, ((const struct leaf *)b)->path);
}

static int collect(const char *text, const char *which, struct leaves *leaves, struct error *err)
{
  struct yaml *yaml = NULL;
  const int code = yaml_parse(&yaml, which, text, err);
  if (code == FIRN_OK) {
    flatten(yaml->root, "", leaves);
    if (leaves->count) qsort(leaves->items, leaves->count, sizeof *leaves->items, compare_leaves);
  }
  yaml_destroy(&yaml);
  return code;
}

static void drop(struct leaves *leaves)
{
  for (size_t k = 0; k < leaves->count; k++) {
    mem_free(leaves->items[k].path);
    mem_free(leaves->items[k].value);
  }
  mem_free(leaves->items);
}

static void add_change(struct scene_changes *changes, const struct leaf *before, const struct leaf *after)
{
  struct scene_change *change = &changes->items[changes->count++];
  change->path = mem_strdup(before ? before->path : after->path);
  change->before = before ? mem_strdup(before->value) : NULL;
  change->after = after ? mem_strdup(after->value) : NULL;
  change->safe = is_safe(change->path);
  changes->unsafe += !change->safe;
}

static struct scene_changes *merge(const struct leaves *before, const struct leaves *after)
{
  struct scene_changes *changes = mem_alloc(1, sizeof *changes);
  changes->items = mem_alloc(before->count + after->count, sizeof *changes->items);
  size_t i = 0, j = 0;
  while (i < before->count || j < after->count) {
    const int order = i == before->count  ? 1
                      : j == after->count ? -1
                                          : strcmp(before->items[i].path, after->items[j].path);
    if (order < 0)
      add_change(changes, &before->items[i++], NULL);
    else if (order > 0)
      add_change(changes, NULL, &after->items[j++]);
    else if (strcmp(before->items[i++].value, after->items[j++].value) != 0)
      add_change(changes, &before->items[i - 1], &after->items[j - 1]);
  }
  return changes;
}

int scene_names_create(struct scene_names **out, const char *resolved, const char *section, struct error *err)
{
  struct yaml *yaml = NULL;
  const int code = yaml_parse(&yaml, "the scene in the file", resolved, err);
  if (code == FIRN_OK) {
    const struct yaml_item *item = yaml_find(yaml->root, section);
    const bool any = item && item->kind != YAML_SCALAR;
    struct scene_names *names = mem_alloc(1, sizeof *names);
    char place[32];
    names->count = any ? item->count : 0;
    names->names = mem_alloc((size_t)names->count, sizeof *names->names);
    for (int k = 0; k < names->count; k++) names->names[k] = mem_strdup(key_of(item, k, place));
    *out = names;
  }
  yaml_destroy(&yaml);
  return code;
}

void scene_names_destroy(struct scene_names **names)
{
  if (!names || !*names) return;
  for (int k = 0; k < (*names)->count; k++) mem_free((*names)->names[k]);
  mem_free((*names)->names);
  mem_free(*names);
  *names = NULL;
}

static bool has_name(const struct scene_names *names, const char *name)
{
  for (int k = 0; k < names->count; k++)
    if (strcmp(names->names[k], name) == 0) return true;
  return false;
}

/* "[floor, wall]": those that are in both, in the order of the first. */
static char *common_order(const struct scene_names *names, const struct scene_names *others)
{
  size_t size = 3;
  for (int k = 0; k < names->count; k++) size += strlen(names->names[k]) + 2;
  char *text = mem_alloc(size, 1), *at = text + sprintf(text, "[");
  for (int k = 0; k < names->count; k++)
    if (has_name(others, names->names[k]))
      at += sprintf(at, "%s%s", at == text + 1 ? "" : ", ", names->names[k]);
  memcpy(at, "]", 2);
  return text;
}

static void add_order(struct scene_changes *changes, const char *section, const struct scene_names *old,
                      const struct scene_names *new, bool safe)
{
  char *before = common_order(old, new), *after = common_order(new, old);
  if (strcmp(before, after) == 0) {
    mem_free(before);
    mem_free(after);
    return;
  }
  changes->items =
      mem_resize(changes->items, (size_t)changes->count, (size_t)changes->count + 1, sizeof *changes->items);
  struct scene_change *change = &changes->items[changes->count++];
  const size_t size = strlen(section) + 16;
  *change = (struct scene_change){.path = mem_alloc(size, 1), .before = before, .after = after, .safe = safe};
  snprintf(change->path, size, "order of %s", section);
  changes->unsafe += !safe;
}

/* Sections whose order is part of the scene. */
static int compare_orders(struct scene_changes *changes, const char *before, const char *after,
                          struct error *err)
{
  static const struct {
    const char *name;
    bool safe;
  } sections[] = {{"materials", true}, {"snow", false}, {"bodies", false}, {"sources", false}};
  int code = FIRN_OK;
  for (size_t k = 0; k < sizeof sections / sizeof *sections && code == FIRN_OK; k++) {
    struct scene_names *old = NULL, *new = NULL;
    code = scene_names_create(&old, before, sections[k].name, err);
    if (code == FIRN_OK) code = scene_names_create(&new, after, sections[k].name, err);
    if (code == FIRN_OK) add_order(changes, sections[k].name, old, new, sections[k].safe);
    scene_names_destroy(&old);
    scene_names_destroy(&new);
  }
  return code;
}

int scene_changes_create(struct scene_changes **out, const char *before, const char *after, struct error *err)
{
  struct leaves old = {0}, new = {0};
  struct scene_changes *changes = NULL;
  int code = collect(before, "the scene in the file", &old, err);
  if (code == FIRN_OK) code = collect(after, "the scene", &new, err);
  if (code == FIRN_OK) {
    changes = merge(&old, &new);
    code = compare_orders(changes, before, after, err);
  }
  if (code == FIRN_OK)
    *out = changes;
  else
    scene_changes_destroy(&changes);
  drop(&old);
  drop(&new);
  return code;
}

bool scene_changes_touch(const struct scene_changes *changes, const char *section, const char *name)
{
  const size_t first = strlen(section), second = strlen(name);
  for (int k = 0; k < changes->count; k++) {
    const char *path = changes->items[k].path;
    if (strncmp(path, section, first) == 0 && path[first] == '.' &&
        strncmp(path + first + 1, name, second) == 0 && path[first + 1 + second] == '.')
      return true;
  }
  return false;
}

void scene_changes_destroy(struct scene_changes **changes)
{
  if (!changes || !*changes) return;
  for (int k = 0; k < (*changes)->count; k++) {
    mem_free((*changes)->items[k].path);
    mem_free((*changes)->items[k].before);
    mem_free((*changes)->items[k].after);
  }
  mem_free((*changes)->items);
  mem_free(*changes);
  *changes = NULL;
}
