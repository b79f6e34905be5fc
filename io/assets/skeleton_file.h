/* Skeletons of capsules from YAML, as strict as scenes (docs/scene-format.md). */
#ifndef FIRN_IO_SKELETON_FILE_H
#define FIRN_IO_SKELETON_FILE_H

#include "base/error.h"
#include "bodies/skeleton.h"

struct skeleton_plan {
  struct skeleton *skeleton; /* owned */
  double spacing;            /* m, of the grids */
  double rate, end;          /* keys a second from time 0 to end (s) */
};

/* Parses text (the contents of path). On success plan->skeleton is the caller's. */
int skeleton_parse(struct skeleton_plan *plan, const char *path, const char *text, struct error *err);

#endif
