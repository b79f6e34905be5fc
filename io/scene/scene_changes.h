/* What changed between two scenes, key by key, and whether a run may continue with it.
 *
 * Compares two resolved scenes (scene.h), so that comments, the order of keys and defaults do not count. The
 * order of bodies and snow does: bodies act on the snow in turn, and snow is numbered in turn. A change is
 * safe if the state at a time does not depend on the key: the end, the output, the camera; and the order of
 * materials, which a restart finds by their names. */
#ifndef FIRN_IO_SCENE_CHANGES_H
#define FIRN_IO_SCENE_CHANGES_H

#include "base/error.h"

#include <stdbool.h>

struct scene_change {
  char *path;           /* "time.end" */
  char *before, *after; /* values; NULL if the key was not there */
  bool safe;
};

struct scene_changes {
  int count;
  int unsafe;
  struct scene_change *items; /* by path; changes of order come last */
};

/* The names of a section's items in order: "materials", "bodies" or "snow". */
struct scene_names {
  int count;
  char **names;
};

int scene_names_create(struct scene_names **out, const char *resolved, const char *section,
                       struct error *err);
void scene_names_destroy(struct scene_names **names);

int scene_changes_create(struct scene_changes **out, const char *before, const char *after,
                         struct error *err);
void scene_changes_destroy(struct scene_changes **changes);

/* Whether a key of the section `section.name` changed, as "probes" and "gate"; also one that came or went. */
bool scene_changes_touch(const struct scene_changes *changes, const char *section, const char *name);

#endif
