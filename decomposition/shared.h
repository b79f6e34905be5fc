/* Memory that all ranks of a node see once, for what every rank reads and nobody changes after it was made:
 * distance grids, trees of triangles. With a NULL communicator there is one process, and MPI need not be
 * running.
 *
 * Where the system gives no shared memory (a small /dev/shm) every rank gets a copy of its own, with a
 * warning; nothing else changes. All calls are collective. */
#ifndef FIRN_DECOMPOSITION_SHARED_H
#define FIRN_DECOMPOSITION_SHARED_H

#include "decomposition/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared {
  void *bytes;
  size_t size;
  bool leader; /* this rank is the one of its memory that may write it all; rank 0 is always one */
  struct shared_links *links;
};

/* The bytes are zero. */
struct shared *shared_create(const struct comm *comm, size_t size);
void shared_destroy(struct shared **shared);

/* Rank 0's bytes to all. */
void shared_broadcast(struct shared *shared);

/* Of `units` equal pieces of the bytes, those that this rank shall fill: [*from, *to). */
void shared_part(const struct shared *shared, int64_t units, int64_t *from, int64_t *to);

/* Brings the parts that all ranks filled together, everywhere. */
void shared_gather(struct shared *shared, int64_t units, size_t unit_size);

/* What a leader wrote is seen by the other ranks of its node from here on. */
void shared_settle(struct shared *shared);

#endif
