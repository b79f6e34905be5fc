/* Solves that are checked: the operator `flow` of sand, cam_clay and von_mises (docs/method.md, "Checked
 * solves"). */
#ifndef FIRN_SIM_FLOW_SOLVE_H
#define FIRN_SIM_FLOW_SOLVE_H

#include <stdbool.h>

struct sim;

/* Some material of the scene flows, and solves may be repeated. Not collective. */
bool flow_is_checked(const struct sim *sim);

/* Takes `solve`, from v* in NODE_VELOCITY, until no particle creates energy or the scene's repetitions are
 * used up. v* is in NODE_STAR too if solves are checked. False: a solve did not converge. Collective. */
bool flow_solve(struct sim *sim, bool (*solve)(struct sim *sim));

#endif
