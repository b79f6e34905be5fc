/* Memory that all ranks of a node see once, for data that every rank reads and none changes after it was
 * made: distance grids, trees of triangles. With a NULL communicator there is one process, and MPI need not
 * be running.
 *
 * If the system gives no shared memory (a small /dev/shm), every rank gets a copy of its own, with a
 * warning; nothing else changes. All calls are collective. */
#ifndef FIRN_DECOMPOSITION_NODE_BLOCK_H
#define FIRN_DECOMPOSITION_NODE_BLOCK_H

#include "decomposition/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node_block {
  void *bytes;
  size_t size;
  bool leader; /* this rank is the one of its memory that may write it all; rank 0 is always one */
  struct node_block_links *links;
};

/* The bytes are zero. */
struct node_block *node_block_create(const struct comm *comm, size_t size);
void node_block_destroy(struct node_block **shared);

/* Rank 0's bytes to all. */
void node_block_broadcast(struct node_block *shared);

/* Of `units` equal pieces of the bytes, those that this rank must fill: [*from, *to). */
void node_block_part(const struct node_block *shared, int64_t units, int64_t *from, int64_t *to);

/* Brings the parts that all ranks filled together, everywhere. */
void node_block_gather(struct node_block *shared, int64_t units, size_t unit_size);

/* What a leader wrote is seen by the other ranks of its node from here on. */
void node_block_settle(struct node_block *shared);

#endif
