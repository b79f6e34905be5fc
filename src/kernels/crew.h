/* The threads of a rank.
 *
 * They take blocks one by one: each begins with a range of its own, so that it works where it worked before,
 * and takes blocks of others when that is done. What a block adds to nodes is a part in a buffer of its own.
 * A brick counts its blocks that are not finished; the thread that finishes the last one sums the brick, in
 * an order that does not depend on who did what, and gives back the buffers that no other brick waits for.
 * Node updates are shared out by tiles; their sums are exact. So threads, like ranks, cannot change a bit. */
#ifndef FIRN_KERNELS_CREW_H
#define FIRN_KERNELS_CREW_H

#include "base/timeline.h"
#include "kernels/kernels.h"

#include <stdint.h>

/* What the blocks of a set add to some fields. */
struct block_sum {
  const struct block_set *set;
  block_kernel *kernel;
  void *arguments;
  enum part_layout layout;
  int fields;
  enum node_field field[WORKER_PARTS];
  bool vector; /* they have no scalar: it becomes 0, and stays here at a cut */
};

/* A sum that is under way. */
struct sum_state {
  double **part; /* [blocks] where its parts are, one field behind the other */
  int32_t *left; /* [blocks] bricks that still need them */
  int32_t *wait; /* [bricks] blocks that are not finished */
  int64_t part_capacity, left_capacity, wait_capacity;
};

/* Buffers for parts: one store for all threads, since who merges a brick gets buffers that others filled. */
struct part_store {
  double **made, **spare; /* all, and those that are free */
  int32_t made_count, spare_count;
  int64_t made_capacity, spare_capacity;
};

enum { CREW_SUMS = 2 }; /* at once */

struct share; /* a thread's range of blocks */

struct crew {
  int size; /* threads */
  const struct kernels *kernels;
  struct worker *workers; /* one a thread */
  struct share *shares;   /* likewise */
  struct sum_state sum[CREW_SUMS];
  struct part_store store[WORKER_PARTS]; /* of buffers for one field, and for two */
  void (*meanwhile)(
      void *context); /* called by the first worker between blocks while messages travel; may be NULL */
  void *context;
  struct timeline *timeline; /* NULL unless the run is traced */
  int bodies;                /* that the workers tally */
  const char *label;         /* what blocks are worked on for, for the timeline: static */
};

/* What neighbours wait for comes first, the rest while it travels; or all at once. */
enum pass { PASS_EDGES, PASS_INSIDE, PASS_ALL };

void crew_create(struct crew *crew, int threads, const struct kernels *kernels);
void crew_free(struct crew *crew);

/* After grid_number(): buffers for the grid's cells. */
void crew_fit(struct crew *crew, const struct grid *grid);

/* A kernel over all blocks of a set. */
void crew_blocks(struct crew *crew, const struct grid *grid, const struct block_set *set,
                 block_kernel *kernel, void *arguments);

/* The n-th sum of those under way, over the blocks of a pass: PASS_EDGES and then PASS_INSIDE, or PASS_ALL.
 * Bricks whose blocks are all done have their fields; the others follow. Bricks that no block of the set
 * reaches become zero. */
void crew_sum(struct crew *crew, struct grid *grid, const struct block_sum *sum, int n, enum pass pass);

/* A kernel over all tiles; the first `owned` ones enter its sums, of which the first `count` are added to
 * sums. */
void crew_tiles(struct crew *crew, const struct grid *grid, tile_kernel *kernel, void *arguments,
                int32_t owned, struct exact_sum *sums, int count);

/* Around the block kernels of a step: the workers' results start anew, and are brought together. `changed`:
 * mass that melted and that froze. */
void crew_begin(struct crew *crew);
void crew_collect(const struct crew *crew, struct step_result *result,
                  struct exact_sum measured[MEASURED_COUNT], struct exact_sum changed[2]);

/* Around them likewise, for steps whose bodies and energies are tallied: each body by place too where `like`
 * is, always the same ones. */
void crew_tally(struct crew *crew, int bodies, const struct body_tally *like);
void crew_collect_tallies(const struct crew *crew, int bodies, struct body_tally *tallies,
                          struct exact_sum energy[ENERGY_COUNT]);

#endif
