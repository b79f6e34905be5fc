/* Shared bricks: how neighbouring slabs come to the same sums.
 *
 * At a cut before layer b (left owns the blocks of layers < b) the bricks of layer b are reached from both
 * sides: their first three node planes from the left, all four from the right. A node is the sum of two
 * parts, that of the blocks of layer b - 1 and that of layer b, the last pair of the sum that it is on one
 * rank. Each side sends its own part and adds the other's, and a + b is b + a: both hold the same bits. */
#ifndef FIRN_DECOMPOSITION_HALO_H
#define FIRN_DECOMPOSITION_HALO_H

#include "decomposition/comm.h"
#include "decomposition/slabs.h"
#include "grid/grid.h"

struct halo {
  const struct comm *comm;
  int left, right; /* ranks, or -1 */
  MPI_Request pending[4 * NODE_FIELDS];
  int pending_count;
  int64_t pending_bytes;                                  /* sent with them */
  double *inbox[2][NODE_FIELDS], *outbox[2][NODE_FIELDS]; /* by side; NULL until a field is exchanged */
  int64_t box_capacity[2];
  uint64_t *keys[4]; /* bricks: to the left, to the right, from the left, from the right */
  int64_t key_capacity[4];
  int64_t messages, bytes; /* sent since the start */
};

struct halo *halo_create(const struct comm *comm);
void halo_destroy(struct halo **halo);

/* After grid_collect(): agrees with both neighbours on the shared bricks and numbers the grid's. Called by
 * all ranks. */
void halo_agree(struct halo *halo, const struct slabs *slabs, struct grid *grid);

/* Fields of an exchange; `vector`: all but the scalar, which is zero. */
struct halo_field {
  enum node_field field;
  bool vector;
};

/* Completes the sums of some fields on all shared bricks. halo_begin() when the rank's parts of these are
 * there; until halo_end() they must not be touched, while other bricks may be worked on. halo_progress() in
 * between moves messages on, if MPI does not do so by itself. */
void halo_begin(struct halo *halo, struct grid *grid, const struct halo_field *fields, int count);
void halo_progress(struct halo *halo);
void halo_end(struct halo *halo, struct grid *grid, const struct halo_field *fields, int count);

/* Both at once. */
void halo_exchange(struct halo *halo, struct grid *grid, const struct halo_field *fields, int count);

/* Words for both neighbours, and theirs; a neighbour that is not there sends none. */
struct halo_words {
  uint64_t *word;
  int64_t count, capacity;
};
void halo_swap(struct halo *halo, const struct halo_words to[2], struct halo_words from[2]);

#endif
