/* Nodes inside free bodies, and what contact on them gives the bodies (docs/method.md, "Free bodies"). */
#ifndef FIRN_SIM_RIGID_NODES_H
#define FIRN_SIM_RIGID_NODES_H

#include "sim/rigid.h"
#include "sim/sim.h"

/* The list, from v* of step 4. */
void rigid_nodes_find(struct sim *sim);

/* All bodies act on the list's nodes, from v* on: one round of step 5. Free bodies get the velocities that
 * they have after it. Collective. */
void rigid_nodes_round(struct sim *sim);

/* m/s: of nodes before contact and of free bodies. Collective. */
double rigid_nodes_speed(struct sim *sim);

#endif
