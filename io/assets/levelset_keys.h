/* Level-set keys from what moves: a sequence of meshes, or a skeleton. What `firn levelset` does, and what
 * scenes do that name a skeleton. Collective, all ranks fill planes of each key and rank 0 writes; a NULL
 * comm is this process alone. */
#ifndef FIRN_IO_LEVELSET_KEYS_H
#define FIRN_IO_LEVELSET_KEYS_H

#include "base/error.h"
#include "decomposition/comm.h"

struct mesh_sequence {
  char *const *path;
  int count;
  double rate;    /* meshes per second; the first is at time 0 */
  double spacing; /* m */
  double scale;   /* m a unit of the files */
};

/* All meshes have the same vertices and faces in the same order: that is how velocities are known. */
int levelset_from_meshes(const struct comm *comm, const struct mesh_sequence *sequence, const char *output,
                         struct error *err);

int levelset_from_skeleton(const struct comm *comm, const char *path, const char *output, struct error *err);

#endif
