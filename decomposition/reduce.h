/* Sums over all ranks that do not depend on the ranks: integers of the exact accumulators are added. */
#ifndef FIRN_DECOMPOSITION_REDUCE_H
#define FIRN_DECOMPOSITION_REDUCE_H

#include "base/exactsum.h"
#include "decomposition/comm.h"

/* One allreduce for all `count` sums (at most 16). */
void reduce_exact(const struct comm *comm, struct exact_sum *sums, int count);

/* The same in two halves: until the end the sums must not be touched, while other work continues. In between
 * reduce_progress() moves the messages on, if MPI does not do so by itself. */
struct reduction {
  const struct comm *comm;
  MPI_Request request; /* MPI_REQUEST_NULL unless one is under way */
  int64_t bytes;
};

void reduce_begin(struct reduction *reduction, const struct comm *comm, struct exact_sum *sums, int count);
void reduce_progress(struct reduction *reduction);
void reduce_end(struct reduction *reduction);

#endif
