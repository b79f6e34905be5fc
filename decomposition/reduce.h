/* Sums over all ranks that do not depend on the ranks: integers of the exact accumulators are added. */
#ifndef FIRN_DECOMPOSITION_REDUCE_H
#define FIRN_DECOMPOSITION_REDUCE_H

#include "base/exactsum.h"
#include "decomposition/comm.h"

/* One allreduce for all `count` sums (at most 16). */
void reduce_exact(const struct comm *comm, struct exact_sum *sums, int count);

#endif
