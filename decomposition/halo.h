/* Shared node planes: how neighbouring slabs come to the same sums.
 *
 * At a cut b (left owns cell planes < b) the node planes b .. b + support - 2 get contributions from both
 * sides. A node's value is the chain
 * ((Q_{n-3} + Q_{n-2}) + Q_{n-1}) + Q_n over cell planes in order. Left sends its finished start of the chain
 * for each shared plane, right sends its own Q's apart (1 + 2 + 3 planes for the cubic kernel), and both
 * finish the same chain: one exchange, and both hold the same bits on all shared planes. Messages are the
 * planes' active tiles as they lie in memory. */
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
  int64_t pending_bytes;      /* sent with them */
  double *inbox[NODE_FIELDS]; /* parts from the right; NULL until a field is exchanged */
  int64_t inbox_capacity;
  uint64_t *keys[4]; /* tile lists: to the left, to the right, from the left, from the right */
  int64_t key_capacity[4];
  int64_t messages, bytes; /* sent since the start */
};

struct halo *halo_create(const struct comm *comm);
void halo_destroy(struct halo **halo);

/* After grid_collect(): agrees with both neighbours on the tiles of shared planes and numbers the grid's
 * tiles. Called by all ranks. */
void halo_agree(struct halo *halo, const struct slabs *slabs, struct grid *grid);

/* Completes the sums of some fields on all shared planes. halo_begin() when the rank's contributions to
 * shared planes are there, apart on the left; until halo_end() they must not be touched, while the other
 * planes may be worked on. halo_progress() in between moves messages on, if MPI does not do so by itself. */
void halo_begin(struct halo *halo, struct grid *grid, const enum node_field *fields, int count);
void halo_progress(struct halo *halo);
void halo_end(struct halo *halo, struct grid *grid, const enum node_field *fields, int count);

/* Both at once. */
void halo_exchange(struct halo *halo, struct grid *grid, const enum node_field *fields, int count);

/* Words for both neighbours, and theirs; a neighbour that is not there sends none. */
struct halo_words {
  uint64_t *word;
  int64_t count, capacity;
};
void halo_swap(struct halo *halo, const struct halo_words to[2], struct halo_words from[2]);

#endif
