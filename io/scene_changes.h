/* What changed between two scenes, key by key, and whether a run may go on with it.
 *
 * Compares two resolved scenes (scene.h), so that comments, order and defaults do not count. A change is safe
 * if the state at a time does not depend on the key: the end, the output, the camera. */
#ifndef FIRN_IO_SCENE_CHANGES_H
#define FIRN_IO_SCENE_CHANGES_H

#include "base/error.h"

#include <stdbool.h>

struct scene_change {
  char *path;           /* "time.end" */
  char *before, *after; /* values; NULL where the key was not there */
  bool safe;
};

struct scene_changes {
  int count;
  int unsafe;
  struct scene_change *items; /* by path */
};

int scene_changes_create(struct scene_changes **out, const char *before, const char *after,
                         struct error *err);
void scene_changes_destroy(struct scene_changes **changes);

#endif
