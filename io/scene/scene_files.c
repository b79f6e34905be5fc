/* See scene_files.h. */
#include "io/scene/scene_files.h"

#include "base/memory.h"
#include "io/assets/font.h"
#include "io/file.h"
#include "io/run/seal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { HASH_DIGITS = 16 };

struct list {
  const struct scene *scene;
  char *text;
  size_t length;
};

/* The line of a file in a list; NULL if it is not named. */
static const char *find_line(const char *text, const char *name)
{
  const size_t length = strlen(name);
  for (const char *line = text; line && *line;) {
    const char *end = strchr(line, '\n');
    if (!end) return NULL;
    if (end - line == (ptrdiff_t)(HASH_DIGITS + 1 + length) &&
        memcmp(line + HASH_DIGITS + 1, name, length) == 0)
      return line;
    line = end + 1;
  }
  return NULL;
}

/* A path that scene_path_beside() made, as the scene gives it: it does not matter where the scene lies. */
static const char *given_name(const struct scene *scene, const char *path)
{
  const char *slash = strrchr(scene->path, '/');
  const size_t folder = slash ? (size_t)(slash - scene->path) + 1 : 0;
  return strncmp(path, scene->path, folder) == 0 ? path + folder : path;
}

/* A sealed file is known by its seal, which accounts for the rest: large ones need not be read for it. */
static int add_file(struct list *list, const char *name, const char *path, struct error *err)
{
  uint64_t hash;
  if (find_line(list->text, name)) return FIRN_OK;
  const int code = file_hash(path, seal_is_there(path) ? SEAL_BYTES : SIZE_MAX, &hash, err);
  if (code) return code;
  const size_t size = HASH_DIGITS + strlen(name) + 3;
  list->text = mem_resize(list->text, list->length, list->length + size, 1);
  list->length +=
      (size_t)snprintf(list->text + list->length, size, "%016llx %s\n", (unsigned long long)hash, name);
  return FIRN_OK;
}

static int add_font(struct list *list, const char *font, struct error *err)
{
  char *path = NULL;
  int code = font_find(&path, font, err);
  if (!code) code = add_file(list, given_name(list->scene, font), path, err);
  mem_free(path);
  return code;
}

static int add_shape(struct list *list, const struct shape *shape, struct error *err)
{
  int code = FIRN_OK;
  for (int c = 0; c < shape->child_count && !code; c++) code = add_shape(list, &shape->child[c], err);
  const char *path = shape->source ? shape->source->path : NULL;
  if (code || !path) return code;
  if (shape->kind == SHAPE_TEXT) return add_font(list, path, err);
  return add_file(list, given_name(list->scene, path), path, err);
}

static int add_all(struct list *list, struct error *err)
{
  const struct scene *s = list->scene;
  int code = FIRN_OK;
  for (int k = 0; k < s->snow_count && !code; k++) {
    const char *file = s->snow[k].file;
    if (!file)
      code = add_shape(list, &s->snow[k].shape, err);
    else if (access(file, R_OK) == 0)
      code = add_file(list, given_name(s, file), file, err);
  }
  for (int k = 0; k < s->body_count && !code; k++) code = add_shape(list, &s->bodies[k].shape, err);
  return code;
}

int scene_list_files(struct scene *scene, const struct comm *comm, struct error *err)
{
  struct list list = {.scene = scene};
  if (scene->files) return FIRN_OK;
  int code = !comm || comm->rank == 0 ? add_all(&list, err) : FIRN_OK;
  if (comm) code = comm_agree(comm, code, err);
  if (!code && comm) comm_broadcast_text(comm, &list.text);
  if (code) {
    mem_free(list.text);
  } else if (list.text) {
    scene->files = list.text;
    scene->hash = XXH3_64bits_withSeed(scene->files, strlen(scene->files), scene->hash);
  }
  return code;
}

int scene_compare_files(const char *before, const char *after,
                        void (*changed)(const char *name, void *context), void *context)
{
  int count = 0;
  for (const char *line = before; line && *line;) {
    const char *end = strchr(line, '\n');
    if (!end || end - line < HASH_DIGITS + 2) break;
    char *name = mem_strdup(line + HASH_DIGITS + 1);
    name[end - line - HASH_DIGITS - 1] = '\0';
    const char *now = find_line(after, name);
    if (now && memcmp(now, line, HASH_DIGITS) != 0) {
      changed(name, context);
      count++;
    }
    mem_free(name);
    line = end + 1;
  }
  return count;
}
