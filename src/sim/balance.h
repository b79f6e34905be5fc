/* Equal work for all ranks: the cuts between slabs move with the snow. */
#ifndef FIRN_SIM_BALANCE_H
#define FIRN_SIM_BALANCE_H

#include "sim/sim.h"

/* Work of this rank in a step like the last one: counted, not measured, so that every rank and run sees the
 * same. sim_blocks_work() is the part of its blocks [from, to) but for nodes. Not collective. */
int64_t sim_work(const struct sim *sim);
int64_t sim_blocks_work(const struct sim *sim, int32_t from, int32_t to);

/* Steps from one look at the cuts to the next: a look sums the work of all layers of the domain over all
 * ranks, so it is rarer if there are many. */
static inline int64_t balance_interval(int64_t layers)
{
  return 1 + layers / 1024;
}

/* At the end of each step, before its particles settle: every `every` steps (rarer in domains of
 * more than a thousand layers) looks at what the best cuts for the step would have saved, and takes them once
 * they would have saved more than it costs to send the particles. Returns whether they moved; sim_settle(sim,
 * true) then brings particles straight to their new owners. Every rank computes the same cuts.
 * sim_balance_now() does all this at once if it saves anything at all. Changes no result. */
bool sim_balance(struct sim *sim);
void sim_balance_now(struct sim *sim);

#endif
