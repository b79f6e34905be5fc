/* From libyaml's events to the tree.
 *
 * An alias is expanded into a copy, so that every item has one parent and one path; the limit on items bounds
 * what that can grow to. Limits are far above any scene a person writes, and far below what would hurt. */
#include "io/scene/yaml.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <yaml.h>

enum { MAX_DEPTH = 24, MAX_ITEMS = 200000, MAX_ANCHORS = 256, FEW_KEYS = 16 };

struct anchor {
  char *name;
  const struct yaml_item *item;
};

struct builder {
  struct yaml *yaml;
  yaml_parser_t parser;
  struct error *err;
  const char *text;
  int override; /* number of the --set that is being read, 0 for the file */
  struct yaml_item *root;
  struct anchor anchors[MAX_ANCHORS];
  int anchor_count;
};

const char *yaml_clean(const char *text, char *buffer, size_t size)
{
  size_t used = 0;
  while (text[used] && used + 4 < size) {
    const unsigned char c = (unsigned char)text[used];
    buffer[used++] = (char)(c < 32 || c == 127 ? ' ' : c);
  }
  buffer[used] = '\0';
  if (!text[used]) return buffer;
  while (used > 0 && ((unsigned char)buffer[used] & 0xc0) == 0x80)
    used--; /* never cut inside a UTF-8 character */
  strcpy(buffer + used, "...");
  return buffer;
}

/* "snow.0.sphere.radius" */
static void item_path(const struct yaml_item *item, char *buffer, size_t size)
{
  const struct yaml_item *up = item->parent;
  buffer[0] = '\0';
  if (!up) return;
  item_path(up, buffer, size);
  const size_t used = strlen(buffer);
  const char *dot = used ? "." : "";
  if (up->kind == YAML_MAP) {
    char key[64];
    snprintf(buffer + used, size - used, "%s%s", dot, yaml_clean(item->key, key, sizeof key));
    return;
  }
  for (int k = 0; k < up->count; k++)
    if (up->child[k] == item) snprintf(buffer + used, size - used, "%s%d", dot, k);
}

int yaml_verror(const struct yaml *yaml, const struct yaml_item *item, struct error *err, const char *format,
                va_list args)
{
  char where[256], file[256], set[128], message[512], clean[512];
  item_path(item, where, sizeof where);
  vsnprintf(message, sizeof message, format, args);
  yaml_clean(message, clean, sizeof clean);
  yaml_clean(yaml->path, file, sizeof file);
  const char *colon = where[0] ? ": " : "";
  if (item->override)
    return error_set(err, FIRN_EINPUT, "%s: --set %s: %s%s%s", file,
                     yaml_clean(yaml->overrides[item->override - 1], set, sizeof set), where, colon, clean);
  return error_set(err, FIRN_EINPUT, "%s:%d: %s%s%s", file, item->key_line ? item->key_line : item->line,
                   where, colon, clean);
}

int yaml_error(const struct yaml *yaml, const struct yaml_item *item, struct error *err, const char *format,
               ...)
{
  va_list args;
  va_start(args, format);
  const int code = yaml_verror(yaml, item, err, format, args);
  va_end(args);
  return code;
}

/* The slot that holds the key's entry, or the empty one where it belongs. The table is never full. */
static struct yaml_item **slot_of(const struct yaml_item *map, const char *key)
{
  const size_t mask = (size_t)map->slot_count - 1;
  size_t at = (size_t)XXH3_64bits(key, strlen(key)) & mask;
  while (map->slot[at] && strcmp(map->slot[at]->key, key) != 0) at = (at + 1) & mask;
  return &map->slot[at];
}

/* Enters the map's last child. A table that is half full is made again, twice as large. */
static void index_last(struct yaml_item *map)
{
  if (map->kind != YAML_MAP || (!map->slot && map->count <= FEW_KEYS)) return;
  int first = map->count - 1;
  if (2 * map->count > map->slot_count) {
    mem_free(map->slot);
    map->slot_count = map->slot_count ? 2 * map->slot_count : 4 * FEW_KEYS;
    map->slot = mem_alloc((size_t)map->slot_count, sizeof *map->slot);
    first = 0;
  }
  for (int k = first; k < map->count; k++) *slot_of(map, map->child[k]->key) = map->child[k];
}

/* Takes an entry out. Those behind it in its run of full slots may have been pushed on by it: they are
 * entered again. */
static void index_remove(struct yaml_item *map, const struct yaml_item *item)
{
  if (!map->slot) return;
  struct yaml_item **slot = slot_of(map, item->key);
  const size_t mask = (size_t)map->slot_count - 1;
  *slot = NULL;
  for (size_t at = ((size_t)(slot - map->slot) + 1) & mask; map->slot[at]; at = (at + 1) & mask) {
    struct yaml_item *moved = map->slot[at];
    map->slot[at] = NULL;
    *slot_of(map, moved->key) = moved;
  }
}

struct yaml_item *yaml_find(const struct yaml_item *map, const char *key)
{
  if (!map || map->kind != YAML_MAP) return NULL;
  if (map->slot) return *slot_of(map, key);
  for (int k = 0; k < map->count; k++)
    if (!strcmp(map->child[k]->key, key)) return map->child[k];
  return NULL;
}

bool yaml_is_null(const struct yaml_item *item)
{
  return item->kind == YAML_SCALAR && !item->quoted &&
         (!item->text[0] || !strcmp(item->text, "~") || !strcmp(item->text, "null"));
}

static void item_destroy(struct yaml_item *item)
{
  if (!item) return;
  for (int k = 0; k < item->count; k++) item_destroy(item->child[k]);
  mem_free(item->child);
  mem_free(item->slot);
  mem_free(item->key);
  mem_free(item->text);
  mem_free(item);
}

void yaml_destroy(struct yaml **yaml)
{
  if (!*yaml) return;
  item_destroy((*yaml)->root);
  for (int k = 0; k < (*yaml)->override_count; k++) mem_free((*yaml)->overrides[k]);
  mem_free((*yaml)->overrides);
  mem_free((*yaml)->path);
  mem_free(*yaml);
  *yaml = NULL;
}

/* A message about a place that is not an item yet. */
static int fail_at(struct builder *b, size_t line, const char *message)
{
  char file[256], set[128];
  yaml_clean(b->yaml->path, file, sizeof file);
  if (b->override)
    return error_set(b->err, FIRN_EINPUT, "%s: --set %s: %s", file,
                     yaml_clean(b->yaml->overrides[b->override - 1], set, sizeof set), message);
  return error_set(b->err, FIRN_EINPUT, "%s:%zu: %s", file, line, message);
}

/* The first line that is indented by a tab, or 0: libyaml's own message does not say so. */
static size_t tab_line(const char *text)
{
  size_t line = 1;
  for (const char *at = text; *at; line++) {
    const size_t blanks = strspn(at, " ");
    if (at[blanks] == '\t' && at[blanks + strspn(at + blanks, " \t")] > ' ') return line;
    at += strcspn(at, "\n");
    if (*at) at++;
  }
  return 0;
}

static int fail_syntax(struct builder *b)
{
  const yaml_parser_t *p = &b->parser;
  char message[256];
  if (p->error == YAML_READER_ERROR) { /* libyaml gives a byte offset and no line */
    size_t line = 1;
    const size_t length = strnlen(b->text, p->problem_offset);
    for (size_t k = 0; k < length; k++) line += b->text[k] == '\n';
    snprintf(message, sizeof message, "not readable as UTF-8 text (%s)", p->problem ? p->problem : "damaged");
    return fail_at(b, line, message);
  }
  const size_t line = p->problem_mark.line + 1, tab = tab_line(b->text);
  const char *hint = tab && tab <= line ? "; indent with spaces, not tabs" : "";
  snprintf(message, sizeof message, "not valid YAML: %s%s%s%s", p->problem ? p->problem : "damaged",
           p->context ? " " : "", p->context ? p->context : "", hint);
  return fail_at(b, line, message);
}

static void item_append(struct yaml_item *parent, struct yaml_item *child)
{
  if (parent->count == parent->capacity) {
    parent->capacity = parent->capacity ? 2 * parent->capacity : 4;
    parent->child =
        mem_resize(parent->child, (size_t)parent->count, (size_t)parent->capacity, sizeof *parent->child);
  }
  child->parent = parent;
  parent->child[parent->count++] = child;
  index_last(parent);
}

/* Where the next item belongs: its parent (NULL for the root) and its key, if the parent is a map. */
struct place {
  struct yaml_item *parent;
  const char *key;
  size_t key_line;
};

/* The new item hangs in the tree at once, so that a failure further down needs no clean-up of its own. */
static struct yaml_item *item_create(struct builder *b, enum yaml_kind kind, size_t line,
                                     const struct place *place)
{
  struct yaml_item *item = mem_alloc(1, sizeof *item);
  item->kind = kind;
  item->line = (int)line;
  item->override = b->override;
  if (place->key) item->key = mem_strdup(place->key);
  item->key_line = (int)place->key_line;
  if (place->parent)
    item_append(place->parent, item);
  else
    b->root = item;
  b->yaml->items++;
  return item;
}

static int fail_too_many(struct builder *b, size_t line)
{
  char message[96];
  snprintf(message, sizeof message, "more than %d entries: this is not a scene, or its aliases explode",
           MAX_ITEMS);
  return fail_at(b, line, message);
}

/* `line` is that of the alias, for the message. The copy's children keep the lines they were written on. */
static int item_copy(struct builder *b, const struct yaml_item *from, const struct place *place, size_t line)
{
  if (b->yaml->items >= MAX_ITEMS) return fail_too_many(b, line);
  struct yaml_item *item = item_create(b, from->kind, (size_t)from->line, place);
  item->quoted = from->quoted;
  if (from->text) item->text = mem_strdup(from->text);
  int code = 0;
  for (int k = 0; k < from->count && !code; k++) {
    const struct yaml_item *child = from->child[k];
    code = item_copy(b, child, &(struct place){item, child->key, (size_t)child->key_line}, line);
  }
  return code;
}

static int remember_anchor(struct builder *b, const yaml_char_t *name, const struct yaml_item *item)
{
  if (!name) return 0;
  if (b->anchor_count == MAX_ANCHORS) return fail_at(b, (size_t)item->line, "more than 256 anchors");
  b->anchors[b->anchor_count++] = (struct anchor){mem_strdup((const char *)name), item};
  return 0;
}

static int read_alias(struct builder *b, const yaml_event_t *event, const struct place *place)
{
  const char *name = (const char *)event->data.alias.anchor;
  const size_t line = event->start_mark.line + 1;
  for (int k = b->anchor_count; k-- > 0;)
    if (!strcmp(b->anchors[k].name, name)) return item_copy(b, b->anchors[k].item, place, line);
  char message[128], clean[64];
  snprintf(message, sizeof message, "no complete anchor '%s' comes before this alias",
           yaml_clean(name, clean, sizeof clean));
  return fail_at(b, line, message);
}

static int next_event(struct builder *b, yaml_event_t *event)
{
  return yaml_parser_parse(&b->parser, event) ? 0 : fail_syntax(b);
}

static int read_item(struct builder *b, const yaml_event_t *event, int depth, const struct place *place);

/* One "key:" of a map, whose event is given, and the item that follows. */
static int read_entry(struct builder *b, const yaml_event_t *key, int depth, struct yaml_item *map)
{
  const size_t line = key->start_mark.line + 1;
  if (key->type != YAML_SCALAR_EVENT) return fail_at(b, line, "a key must be a plain word");
  char *name = (char *)key->data.scalar.value;
  if (strlen(name) != key->data.scalar.length) return fail_at(b, line, "a key holds a NUL character");
  const struct yaml_item *twin = yaml_find(map, name);
  if (twin) {
    const struct yaml_item again = {
        .key = name, .key_line = (int)line, .override = b->override, .parent = map};
    return yaml_error(b->yaml, &again, b->err, "this key is there twice, first on line %d; keep one",
                      twin->key_line);
  }
  yaml_event_t event;
  if (next_event(b, &event)) return FIRN_EINPUT;
  const int code = read_item(b, &event, depth, &(struct place){map, name, line});
  yaml_event_delete(&event);
  return code;
}

static int read_children(struct builder *b, int depth, struct yaml_item *parent)
{
  const bool map = parent->kind == YAML_MAP;
  const yaml_event_type_t end = map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
  for (;;) {
    yaml_event_t event;
    if (next_event(b, &event)) return FIRN_EINPUT;
    const bool done = event.type == end;
    int code = 0;
    if (!done)
      code = map ? read_entry(b, &event, depth, parent)
                 : read_item(b, &event, depth, &(struct place){.parent = parent});
    yaml_event_delete(&event);
    if (done || code) return code;
  }
}

static int read_scalar(struct builder *b, const yaml_event_t *event, const struct place *place)
{
  struct yaml_item *item = item_create(b, YAML_SCALAR, event->start_mark.line + 1, place);
  const char *value = (const char *)event->data.scalar.value;
  item->text = mem_strdup(value);
  item->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  if (strlen(value) != event->data.scalar.length)
    return fail_at(b, (size_t)item->line, "a value holds a NUL character");
  if (event->data.scalar.tag)
    return fail_at(b, (size_t)item->line, "tags (words that begin with !) mean nothing in a scene");
  return remember_anchor(b, event->data.scalar.anchor, item);
}

static int read_item(struct builder *b, const yaml_event_t *event, int depth, const struct place *place)
{
  const size_t line = event->start_mark.line + 1;
  if (depth > MAX_DEPTH) return fail_at(b, line, "nested more than 24 levels deep: this is not a scene");
  if (b->yaml->items >= MAX_ITEMS) return fail_too_many(b, line);
  if (event->type == YAML_ALIAS_EVENT) return read_alias(b, event, place);
  if (event->type == YAML_SCALAR_EVENT) return read_scalar(b, event, place);

  const bool map = event->type == YAML_MAPPING_START_EVENT;
  if (map ? event->data.mapping_start.tag : event->data.sequence_start.tag)
    return fail_at(b, line, "tags (words that begin with !) mean nothing in a scene");
  struct yaml_item *item = item_create(b, map ? YAML_MAP : YAML_LIST, line, place);
  const int code = read_children(b, depth + 1, item);
  /* Known only from here on: an alias inside its own anchor finds nothing. */
  return code ? code
              : remember_anchor(b, map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor,
                                item);
}

/* Stream start, document start, the root, document end, stream end. */
static int read_stream(struct builder *b)
{
  yaml_event_t event;
  for (;;) {
    if (next_event(b, &event)) return FIRN_EINPUT;
    const yaml_event_type_t type = event.type;
    const size_t line = event.start_mark.line + 1;
    int code = 0;
    if (type == YAML_DOCUMENT_START_EVENT && b->root)
      code = fail_at(b, line, "a second document begins; one file is one scene");
    if (type == YAML_SCALAR_EVENT || type == YAML_ALIAS_EVENT || type == YAML_MAPPING_START_EVENT ||
        type == YAML_SEQUENCE_START_EVENT)
      code = read_item(b, &event, 0, &(struct place){.parent = NULL});
    yaml_event_delete(&event);
    if (code) return code;
    if (type == YAML_STREAM_END_EVENT)
      return b->root ? 0 : fail_at(b, 1, "empty: there is nothing in it to simulate");
  }
}

static const char byte_order_mark[] = "\xef\xbb\xbf"; /* some editors begin a UTF-8 text with it */

/* Reads one text into one tree; also used for the value of an override. */
static int build(struct yaml *yaml, const char *text, int override, struct yaml_item **out, struct error *err)
{
  struct builder *b = mem_alloc(1, sizeof *b);
  if (strncmp(text, byte_order_mark, 3) == 0) text += 3;
  *b = (struct builder){.yaml = yaml, .err = err, .text = text, .override = override};
  int code = FIRN_ELIMIT;
  if (yaml_parser_initialize(&b->parser)) {
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)text, strlen(text));
    code = read_stream(b);
    yaml_parser_delete(&b->parser);
  } else {
    error_set(err, code, "%s: libyaml cannot allocate its parser", yaml->path);
  }
  for (int k = 0; k < b->anchor_count; k++) mem_free(b->anchors[k].name);
  if (code)
    item_destroy(b->root);
  else
    *out = b->root;
  mem_free(b);
  return code;
}

int yaml_parse(struct yaml **out, const char *path, const char *text, struct error *err)
{
  struct yaml *yaml = mem_alloc(1, sizeof *yaml);
  yaml->path = mem_strdup(path);
  const int code = build(yaml, text, 0, &yaml->root, err);
  if (code) yaml_destroy(&yaml);
  *out = yaml;
  return code;
}

static int fail_override(const struct yaml *yaml, struct error *err, const char *why)
{
  char file[256], set[128];
  return error_set(err, FIRN_EINPUT, "%s: --set %s: %s", yaml_clean(yaml->path, file, sizeof file),
                   yaml_clean(yaml->overrides[yaml->override_count - 1], set, sizeof set), why);
}

/* The list's item with this index or this name. */
static struct yaml_item *list_item(const struct yaml_item *list, const char *step)
{
  const size_t digits = strspn(step, "0123456789");
  if (digits && !step[digits] && digits < 9) {
    int index = 0;
    for (size_t k = 0; k < digits; k++) index = 10 * index + (step[k] - '0');
    return index < list->count ? list->child[index] : NULL;
  }
  for (int k = 0; k < list->count; k++) {
    const struct yaml_item *name = yaml_find(list->child[k], "name");
    if (name && name->kind == YAML_SCALAR && !strcmp(name->text, step)) return list->child[k];
  }
  return NULL;
}

static struct yaml_item *add_child(struct yaml *yaml, struct yaml_item *map, const char *key, int line)
{
  struct builder b = {.yaml = yaml, .override = yaml->override_count};
  return item_create(&b, YAML_MAP, (size_t)line, &(struct place){map, key, (size_t)line});
}

enum { WHY = 192 };

/* Walks the path, whose dots are cut into ends of strings here. What is missing is made, as of this line of
 * the file; not so for a value of null, which removes. NULL and a reason where it cannot. */
static struct yaml_item *walk(struct yaml *yaml, char *path, const struct yaml_item *value, int line,
                              char why[WHY])
{
  struct yaml_item *at = yaml->root;
  int depth = 0;
  for (char *rest = path, *step; (step = strsep(&rest, "."));) {
    char name[64];
    yaml_clean(step, name, sizeof name);
    struct yaml_item *next = at->kind == YAML_MAP    ? yaml_find(at, step)
                             : at->kind == YAML_LIST ? list_item(at, step)
                                                     : NULL;
    if (!*step)
      snprintf(why, WHY, "the path has an empty part; write it like time.end=2");
    else if (++depth > MAX_DEPTH)
      snprintf(why, WHY, "the path is more than 24 keys deep");
    else if (at->kind == YAML_LIST && !next)
      snprintf(why, WHY, "'%s' is neither an index below %d nor a name in this list", name, at->count);
    else if (at->kind == YAML_SCALAR)
      snprintf(why, WHY, "'%s' is a key of a plain value, which has none", name);
    else if (!next && yaml_is_null(value))
      snprintf(why, WHY, "has no effect: there is no '%s' that could be removed", name);
    else {
      at = next ? next : add_child(yaml, at, step, line);
      continue;
    }
    return NULL;
  }
  return at;
}

static void detach(struct yaml_item *item)
{
  struct yaml_item *parent = item->parent;
  int k = 0;
  while (parent->child[k] != item) k++;
  if (item->key) index_remove(parent, item);
  memmove(parent->child + k, parent->child + k + 1, (size_t)(parent->count - k - 1) * sizeof *parent->child);
  parent->count--;
  item_destroy(item);
}

/* Puts value in the place of old, in the same position of the same parent. */
static void replace(struct yaml_item *old, struct yaml_item *value)
{
  struct yaml_item *parent = old->parent;
  value->parent = parent;
  value->key = old->key;
  old->key = NULL;
  for (int k = 0; k < parent->count; k++)
    if (parent->child[k] == old) parent->child[k] = value;
  if (parent->slot) *slot_of(parent, value->key) = value;
  item_destroy(old);
}

/* Null removes the place. */
static void put(struct yaml_item *place, struct yaml_item *value)
{
  if (yaml_is_null(value)) {
    detach(place);
    item_destroy(value);
  } else {
    replace(place, value);
  }
}

int yaml_override(struct yaml *yaml, const char *assignment, struct error *err)
{
  const size_t n = (size_t)yaml->override_count;
  yaml->overrides = mem_resize(yaml->overrides, n, n + 1, sizeof *yaml->overrides);
  yaml->overrides[yaml->override_count++] = mem_strdup(assignment);
  const char *equals = strchr(assignment, '=');
  if (!equals || equals == assignment)
    return fail_override(yaml, err, "expected path=value, like time.end=2");
  if (yaml->root->kind != YAML_MAP) return fail_override(yaml, err, "the scene itself is not a map");

  struct yaml_item *value = NULL;
  int code = build(yaml, equals[1] ? equals + 1 : "null", yaml->override_count, &value, err);
  if (code) return code;
  char *path = mem_strdup(assignment);
  path[equals - assignment] = '\0';
  char why[WHY];
  struct yaml_item *place = walk(yaml, path, value, 0, why);
  mem_free(path);
  if (!place) {
    item_destroy(value);
    return fail_override(yaml, err, why);
  }
  put(place, value);
  return 0;
}

int yaml_assign(struct yaml *yaml, const struct yaml_item *entry, struct error *err)
{
  struct builder b = {.yaml = yaml, .err = err, .override = entry->override};
  int code = item_copy(&b, entry, &(struct place){.parent = NULL}, (size_t)entry->line);
  char *path = mem_strdup(entry->key), why[WHY];
  struct yaml_item *place = code ? NULL : walk(yaml, path, entry, entry->key_line, why);
  mem_free(path);
  if (!code && !place) code = yaml_error(yaml, entry, err, "%s", why);
  if (code)
    item_destroy(b.root);
  else
    put(place, b.root);
  return code;
}

void yaml_remove(struct yaml *yaml, const char *key)
{
  struct yaml_item *item = yaml_find(yaml->root, key);
  if (item) detach(item);
}
