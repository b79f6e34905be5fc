/* See scene_writing.h. */
#include "io/scene/scene_writing.h"

#include "io/scene/reader.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_hint_name(const char *name)
{
  for (const char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-' && *c != '.') return false;
  return *name && strlen(name) < sizeof((struct scene_hint *)0)->key;
}

static void read_hints(struct reader *r, const struct yaml_item *map, struct scene_writing *out)
{
  const struct yaml_item *hints = reader_get(r, map, "hints");
  if (!hints || r->code) return;
  if (hints->kind != YAML_MAP || hints->count > WRITER_HINTS) {
    reader_fail(r, hints, "expected a map of at most %d MPI-IO hints, like {cb_nodes: 4}", WRITER_HINTS);
    return;
  }
  for (int k = 0; k < hints->count && !r->code; k++) {
    const char *name = hints->child[k]->key;
    struct scene_hint *hint = &out->hints[out->hint_count++];
    if (!is_hint_name(name))
      reader_fail(r, hints->child[k],
                  "the name of an MPI-IO hint has at most 35 letters, digits, '_', '-' or '.'");
    const char *value = reader_string(r, hints, name, NULL);
    if (strlen(value) >= sizeof hint->value)
      reader_fail(r, hints->child[k], "the value of an MPI-IO hint has at most 63 characters");
    snprintf(hint->key, sizeof hint->key, "%s", name);
    snprintf(hint->value, sizeof hint->value, "%s", value);
  }
}

void scene_read_writing(struct reader *r, const struct yaml_item *map, int compression,
                        struct scene_writing *out)
{
  static const char *const writers[] = {"auto", "parallel_hdf5", "direct", NULL}; /* enum scene_writer */
  const bool before = r->unwritten;
  r->unwritten = true;
  out->writer = (enum scene_writer)reader_choice(r, map, "writer", WRITER_AUTO, writers);
  out->alignment = reader_integer(r, map, "alignment", 1 << 20, 1, 1 << 30);
  if (out->writer == WRITER_DIRECT && compression == 0)
    reader_refuse(r, map, "hints", "with 'writer: direct', which does not use MPI-IO");
  else
    read_hints(r, map, out);
  r->unwritten = before;
}
