/* After a step: particles to the ranks that own their cells, all into order, and the grid anew. */
#ifndef FIRN_SIM_SETTLE_H
#define FIRN_SIM_SETTLE_H

#include "sim/sim.h"

/* Copies the arrays, which are in any order, to the next state with keys of their positions, as a step would
 * have left them; sim_settle() comes next. Not collective. */
void sim_stage(struct sim *sim);

/* Lists the particles of the next state that belong to other ranks, in sim->leavers: last of all before
 * sim_settle(), and again if the cuts move after it. Whether one goes farther than to a neighbour. Not
 * collective. */
bool sim_find_leavers(struct sim *sim);

/* Sends those particles to the owners of their new cells, brings all into order and rebuilds the grid;
 * `anywhere` as in migrate.h. */
void sim_settle(struct sim *sim, bool anywhere);

/* Threads that this rank's particles are worth. Not collective. */
int sim_worthwhile(const struct sim *sim);

#endif
