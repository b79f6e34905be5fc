/* The liquid's part of a step (docs/method.md, liquid). */
#ifndef FIRN_SIM_LIQUID_STEP_H
#define FIRN_SIM_LIQUID_STEP_H

#include <stdbool.h>

struct sim;

/* Step 6 if there is liquid: pressure and snow in one solve. False: it did not converge. Collective. */
bool liquid_solve(struct sim *sim);

#endif
