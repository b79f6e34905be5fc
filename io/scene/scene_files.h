/* The files that a scene is made of, by what they hold: part of what the scene is.
 *
 * A list in text, one line per file: XXH3 of its bytes in 16 hexadecimal digits, a space, and its name as the
 * scene gives it. It goes into the scene's hash, into frames and into checkpoints, so that a restart notices
 * a mesh that was saved again. */
#ifndef FIRN_IO_SCENE_FILES_H
#define FIRN_IO_SCENE_FILES_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/scene/scene.h"

#include <stdbool.h>

/* Collective over comm, NULL for this process alone. Rank 0 reads the files; sets scene->files and takes it
 * into scene->hash. A particle file that is not there is left out: seeding says so, and a restart does not
 * need it. */
int scene_list_files(struct scene *scene, const struct comm *comm, struct error *err);

/* Goes through the files that two such lists (NULL: none) both name. Calls changed() for each that differs;
 * returns how many. */
int scene_compare_files(const char *before, const char *after,
                        void (*changed)(const char *name, void *context), void *context);

#endif
