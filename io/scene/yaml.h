/* YAML as a small tree that remembers where everything stood.
 *
 * libyaml finds the tokens; this keeps maps (in file order), lists and scalars with their line, so that any
 * later message can say file, line and key. Duplicate keys, several documents, deep nesting and alias bombs
 * end here. Overrides from the command line become part of the tree and are told apart from the file in
 * messages. */
#ifndef FIRN_IO_YAML_H
#define FIRN_IO_YAML_H

#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_item {
  enum yaml_kind kind;
  char *key;                /* in the map that holds it; NULL elsewhere */
  char *text;               /* scalar only */
  bool quoted;              /* scalar only: '5' and "5" are strings, 5 is a number */
  bool used;                /* somebody asked for it */
  int line;                 /* from 1 */
  int key_line;             /* of the key, where there is one */
  int override;             /* 0: from the file; k: from the k-th --set */
  struct yaml_item *parent; /* NULL at the root */
  struct yaml_item **child;
  int count, capacity;
  struct yaml_item **slot; /* maps of many keys: children by the hash of their key; NULL if there are few */
  int slot_count;
};

struct yaml {
  char *path; /* for messages */
  struct yaml_item *root;
  char **overrides; /* as given */
  int override_count;
  long items; /* made so far, aliases expanded */
};

/* On success *out belongs to the caller. The root may be of any kind. */
int yaml_parse(struct yaml **out, const char *path, const char *text, struct error *err);

/* Applies "path=value": keys joined by dots, a list's item by its index or its `name`. Missing keys are made;
 * the value null removes the key, which must be there. */
int yaml_override(struct yaml *yaml, const char *assignment, struct error *err);

/* The same with a copy of an entry that stands in the tree itself: its key is the path. */
int yaml_assign(struct yaml *yaml, const struct yaml_item *entry, struct error *err);

/* Removes a key of the root, if it is there. */
void yaml_remove(struct yaml *yaml, const char *key);

void yaml_destroy(struct yaml **yaml);

/* NULL if the map (which may be NULL) has no such key. */
struct yaml_item *yaml_find(const struct yaml_item *map, const char *key);

/* A plain scalar that YAML calls null: nothing, ~ or null. */
bool yaml_is_null(const struct yaml_item *item);

/* Sets "file:line: path.of.the.key: message" and returns FIRN_EINPUT. At the key's line for a map's entry. */
int yaml_error(const struct yaml *yaml, const struct yaml_item *item, struct error *err, const char *format,
               ...) __attribute__((format(printf, 4, 5)));
int yaml_verror(const struct yaml *yaml, const struct yaml_item *item, struct error *err, const char *format,
                va_list args);

/* The text made fit for a one-line message: control characters replaced, long ones cut. Returns buffer. */
const char *yaml_clean(const char *text, char *buffer, size_t size);

#endif
