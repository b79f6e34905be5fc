/* The materials of a scene, read by the rows of their models (material/material.h).
 *
 * A material is a model or a kind, by name, and what the scene changes of it. A kind belongs to a model and
 * implies it. Parameters that the others leave without effect are neither read nor written, so that giving
 * one is an error and what is written reads back. */
#include "io/scene/scene_read.h"

#include "base/memory.h"
#include "material/look.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = MATERIAL_VALUES + KIND_WORDS + 7, KINDS = 64 };

/* The names of all models. */
static void model_names(const char *names[MODEL_COUNT + 1])
{
  for (int k = 0; k < MODEL_COUNT; k++) names[k] = material_words((enum material_model)k)->name;
  names[MODEL_COUNT] = NULL;
}

/* Appends the names of a model's kinds to a list that ends in NULL. */
static int add_kinds(const struct material_words *words, const char *names[KINDS], int count)
{
  for (int k = 0; k < words->kind_count && count < KINDS - 1; k++) names[count++] = words->kinds[k].name;
  names[count] = NULL;
  return count;
}

/* The model that has this kind, or MODEL_COUNT. */
static enum material_model model_of_kind(const char *kind)
{
  int model = 0;
  for (; model < MODEL_COUNT; model++) {
    const struct material_words *words = material_words((enum material_model)model);
    for (int k = 0; k < words->kind_count; k++)
      if (!strcmp(words->kinds[k].name, kind)) return (enum material_model)model;
  }
  return MODEL_COUNT;
}

/* The text of a key of map, or NULL. */
static const char *text_of(const struct yaml_item *map, const char *key)
{
  const struct yaml_item *item = yaml_find(map, key);
  return item && item->kind == YAML_SCALAR ? item->text : NULL;
}

/* `model` as given, else that of the kind, else snow. A kind that no model has is as wrong as one of another
 * model. */
static enum material_model read_model(struct reader *r, const struct yaml_item *map)
{
  const char *names[MODEL_COUNT + 1], *kinds[KINDS], *kind = text_of(map, "kind");
  model_names(names);
  const enum material_model of_kind = kind ? model_of_kind(kind) : MODEL_COUNT;
  const enum material_model fallback = of_kind < MODEL_COUNT ? of_kind : MODEL_SNOW;
  const enum material_model model = (enum material_model)reader_choice(r, map, "model", (int)fallback, names);
  if (r->code) return MODEL_SNOW;
  if (of_kind < MODEL_COUNT && of_kind != model)
    reader_fail_key(r, map, "kind", "'%s' is a kind of %s, and 'model' is %s; remove one of the two", kind,
                    names[of_kind], names[model]);
  if (kind && of_kind == MODEL_COUNT && !yaml_find(map, "model")) {
    int count = 0;
    for (int k = 0; k < MODEL_COUNT; k++)
      count = add_kinds(material_words((enum material_model)k), kinds, count);
    reader_choice(r, map, "kind", 0, kinds);
  }
  return model;
}

/* NULL where the model has no kinds. */
static const struct material_kind *read_kind(struct reader *r, const struct yaml_item *map,
                                             const struct material_words *words)
{
  const char *names[KINDS];
  if (!words->kinds) {
    if (yaml_find(map, "kind"))
      reader_fail_key(r, map, "kind", "%s has no kinds; remove it, and set the parameters that differ",
                      words->name);
    return NULL;
  }
  add_kinds(words, names, 0);
  r->unwritten = true; /* no more than defaults, and these are written out */
  const int kind = reader_choice(r, map, "kind", 0, names);
  r->unwritten = false;
  return &words->kinds[kind];
}

/* The keys of a model and of one of its kinds (NULL: none); returns their number. */
static int list_keys(const struct material_words *words, const struct material_kind *kind,
                     const char *keys[KEYS])
{
  int count = 0;
  keys[count++] = "model";
  keys[count++] = "kind";
  keys[count++] = "density";
  keys[count++] = "look";
  keys[count++] = "color";
  for (int k = 0; k < words->key_count; k++) keys[count++] = words->keys[k].word;
  for (int k = 0; kind && k < kind->word_count; k++) keys[count++] = kind->words[k].word;
  if (words->flows) keys[count++] = "operator";
  keys[count] = NULL;
  return count;
}

static bool has_key(const struct material_words *words, const char *key)
{
  const char *keys[KEYS];
  const int count = list_keys(words, NULL, keys);
  for (int k = 0; k < count; k++)
    if (!strcmp(keys[k], key)) return true;
  return false;
}

/* The kind that has this key of its own, or NULL. */
static const struct material_kind *kind_of_word(const struct material_words *words, const char *key)
{
  for (int k = 0; k < words->kind_count; k++)
    for (int w = 0; w < words->kinds[k].word_count; w++)
      if (!strcmp(words->kinds[k].words[w].word, key)) return &words->kinds[k];
  return NULL;
}

/* A key of another model or kind is no typing mistake: the message names it. */
static void check_keys(struct reader *r, const struct yaml_item *map, const struct material_words *words,
                       const struct material_kind *kind)
{
  for (int k = 0; map->kind == YAML_MAP && k < map->count; k++) {
    const char *key = map->child[k]->key;
    const struct material_kind *owner = has_key(words, key) ? NULL : kind_of_word(words, key);
    if (owner && owner != kind) {
      reader_fail(r, map->child[k], "is a key of 'kind: %s'; remove it, or choose that kind", owner->name);
      return;
    }
    if (owner) continue;
    for (int model = 0; model < MODEL_COUNT && !has_key(words, key); model++) {
      const struct material_words *other = material_words((enum material_model)model);
      if (!has_key(other, key)) continue;
      reader_fail(r, map->child[k],
                  "is a key of %s, and this material is %s; remove it, or choose 'model: %s'", other->name,
                  words->name, other->name);
      return;
    }
  }
  const char *keys[KEYS];
  list_keys(words, kind, keys);
  reader_check_keys(r, map, keys);
}

static void read_number(struct reader *r, const struct yaml_item *map, const struct material_key *key,
                        double *value)
{
  char text[64];
  *value = reader_number(r, map, key->word, *value, RANGE_ANY);
  if (!material_allows(&key->allowed, *value))
    reader_fail_key(r, map, key->word, "expected %s, found %g", material_range_text(&key->allowed, text),
                    *value);
  if (*value != 0.0 && fabs(*value) < 1e-30)
    reader_fail_key(r, map, key->word, "%g is too small to compute with; expected at least 1e-30 in size",
                    *value);
}

/* Whether particles of files are made of a material. From the tree, since snow is read after its materials;
 * what is wrong there is found then. */
static bool is_in_files(const struct reader *r, const char *name, bool only)
{
  const struct yaml_item *list = yaml_find(r->yaml->root, "snow");
  for (int k = 0; list && k < list->count; k++) {
    const char *material = text_of(list->child[k], "material");
    if (yaml_find(list->child[k], "file") && (material ? !strcmp(material, name) : only)) return true;
  }
  return false;
}

static void refuse_parameter(struct reader *r, const struct yaml_item *map, const struct material *m,
                             const struct material_key *key, const struct material_key *other)
{
  const double value = m->value[other->at];
  char why[128];
  if (other->type == MATERIAL_FLAG)
    snprintf(why, sizeof why, "with '%s: %s'", other->word, value != 0.0 ? "true" : "false");
  else
    snprintf(why, sizeof why, "with '%s: %g'", other->word, value);
  reader_refuse(r, map, key->word, why);
}

static void read_parameter(struct reader *r, const struct yaml_item *map, const struct material_key *key,
                           bool from_files, struct material *m)
{
  const struct material_key *other;
  double *value = &m->value[key->at];
  if (!material_has_effect(m, key, from_files, &other)) {
    refuse_parameter(r, map, m, key, other);
    *value = key->standard; /* whatever the kind: it is not written, and this is what it reads back as */
  } else if (key->type == MATERIAL_FLAG) {
    *value = reader_flag(r, map, key->word, *value != 0.0);
  } else if (key->type == MATERIAL_CHOICE) {
    *value = reader_choice(r, map, key->word, (int)*value, key->words);
  } else if (key->quiet) {
    const double silent = key->derive ? key->derive(m) : key->standard;
    r->unwritten = true;
    read_number(r, map, key, value);
    r->unwritten = false;
    if (*value != silent) reader_write_number(r, key->word, *value);
  } else {
    read_number(r, map, key, value);
  }
}

/* The keys that a kind has of its own, and what follows from them and the density. They are not written: what
 * they set is. */
static void read_kind_words(struct reader *r, const struct yaml_item *map, const struct material_kind *kind,
                            struct material *m)
{
  double values[KIND_WORDS] = {0.0};
  char text[64];
  if (!kind || !kind->derive || r->code) return;
  if (kind->densities.low < kind->densities.high && !material_allows(&kind->densities, m->density)) {
    reader_fail_key(r, map, "density", "'kind: %s' has %s kg/m^3, found %g", kind->name,
                    material_range_text(&kind->densities, text), m->density);
    return;
  }
  r->unwritten = true;
  for (int k = 0; k < kind->word_count; k++) {
    const struct material_key *key = &kind->words[k];
    values[key->at] = key->standard;
    read_number(r, map, key, &values[key->at]);
  }
  r->unwritten = false;
  if (!r->code) material_derive_kind(m, kind, values);
}

/* Flags come first: they decide what else has an effect. */
static void read_parameters(struct reader *r, const struct yaml_item *map, const struct material_kind *kind,
                            bool from_files, struct material *m)
{
  const struct material_words *words = material_words(m->model);
  for (int numbers = 0; numbers < 2; numbers++)
    for (int k = 0; k < words->key_count && !r->code; k++) {
      const struct material_key *key = &words->keys[k];
      if ((key->type == MATERIAL_NUMBER) != numbers) continue;
      if (key->derive && !material_kind_sets(kind, key)) m->value[key->at] = key->derive(m);
      read_parameter(r, map, key, from_files, m);
    }
}

/* A kind that sets nothing would be passed over in silence. */
static void check_kind(struct reader *r, const struct yaml_item *map, const struct material_kind *kind,
                       bool from_files, const struct material *m)
{
  const struct material_words *words = material_words(m->model);
  const struct material_key *other;
  if (!yaml_find(map, "kind") || !yaml_find(map, "density")) return;
  for (int k = 0; k < words->key_count; k++)
    for (int c = 0; c < kind->changes; c++)
      if (kind->change[c].at == words->keys[k].at && !yaml_find(map, words->keys[k].word) &&
          material_has_effect(m, &words->keys[k], from_files, &other))
        return;
  reader_refuse(r, map, "kind", "beside all the keys that a kind sets");
}

/* What the solve of a semi-implicit step takes a material that flows for. */
static void read_operator(struct reader *r, const struct yaml_item *map, const struct scene *s,
                          struct material *m)
{
  static const char *const operators[] = {"elastic", "flow", NULL};
  if (s->beta > 0.0)
    m->flow = reader_choice(r, map, "operator", m->flow, operators);
  else
    reader_refuse(r, map, "operator", "with explicit steps, which solve nothing");
}

/* Values that are each allowed, but not together or not in this scene. */
static void check_together(struct reader *r, const struct yaml_item *map, const struct scene *s,
                           const struct material *m)
{
  const struct material_words *words = material_words(m->model);
  const char *key;
  char text[256];
  if (words->fits && !words->fits(m, &key, text)) reader_fail_key(r, map, key, "%s", text);
  if (m->model == MODEL_WATER && m->water.viscosity > 0.0 && s->scheme != SCHEME_APIC)
    reader_fail_key(r, map, "viscosity", "needs the velocity gradient of 'transfer: {scheme: apic}'");
  if (s->has_heat && m->model != MODEL_SNOW)
    reader_fail_key(r, map, yaml_find(map, "model") ? "model" : "kind",
                    "in a scene with 'heat' all is snow, which melts and freezes; %s does not", words->name);
}

/* How pictures show it. */
static void read_look(struct reader *r, const struct yaml_item *map, struct material *m)
{
  const char *names[LOOKS + 1] = {NULL};
  for (int k = 0; k < LOOKS; k++) names[k] = looks[k].name;
  if (yaml_find(map, "look")) m->look = reader_choice(r, map, "look", m->look, names);
  m->color_given = scene_read_color(r, map, m->color);
}

/* map may be NULL: the one material of a scene that names none. */
static void read_material(struct reader *r, const struct yaml_item *map, const char *name,
                          const struct scene *s, struct material *m)
{
  const bool from_files = is_in_files(r, name, s->material_count == 1);
  if (map) reader_check_name(r, map, name, sizeof m->name, false);
  if (r->code) return;
  snprintf(m->name, sizeof m->name, "%s", name);
  reader_write(r, "%s:", name);
  r->depth++;
  const enum material_model model = read_model(r, map);
  const struct material_words *words = material_words(model);
  const struct material_kind *kind = read_kind(r, map, words);
  if (map) check_keys(r, map, words, kind);
  material_set_defaults(m, model, kind);
  m->density = reader_number(r, map, "density", m->density, RANGE_POSITIVE);
  read_kind_words(r, map, kind, m);
  read_parameters(r, map, kind, from_files, m);
  if (words->flows) read_operator(r, map, s, m);
  read_look(r, map, m);
  reader_close(r);
  if (!r->code) check_kind(r, map, kind, from_files, m);
  if (!r->code) check_together(r, map, s, m);
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
  if (!map) read_material(r, NULL, "snow", s, &s->materials[0]);
  for (int k = 0; map && k < map->count; k++) {
    map->child[k]->used = true;
    read_material(r, map->child[k], map->child[k]->key, s, &s->materials[k]);
  }
  reader_close(r);
}
