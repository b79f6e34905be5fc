/* Accelerations that a program gives (libfirn), beside gravity.
 *
 * On nodes they act as gravity does, in step 4 of the method. Nodes that two ranks share are computed by both
 * from the same position, so the bits do not depend on the cuts. On particles they change the velocity before
 * the step by dt a; a try that fails puts back what was there. */
#ifndef FIRN_SIM_PUSH_H
#define FIRN_SIM_PUSH_H

#include "sim/sim.h"

/* Not collective, as all here but push_is_refused(). */
void push_nodes(struct sim *sim, double dt);
void push_particles(struct sim *sim, double dt);
void push_take_back(struct sim *sim); /* after a try that failed */

/* Whether some rank was given what is no acceleration in this try; the same on all, with
 * sim->hooks.push.refused. Collective. */
bool push_is_refused(struct sim *sim);
void push_free(struct sim_push *push);

#endif
