/* How long the next step is: the scene's rule, cut to fall on the next frame, the scene's end or a time that
 * the caller gave. */
#ifndef FIRN_SIM_PLAN_H
#define FIRN_SIM_PLAN_H

#include "sim/sim.h"

struct plan {
  double dt, end; /* s: length of the next step, and the time at which it ends */
  double steps;   /* of this length to the next frame */
  bool cut;       /* the scene ends here, before a frame is due */
  bool limited;   /* it ends at the caller's time, between two frames */
};

/* limit: s, a time after the present one that no step passes; INFINITY for none. Not collective, as all here:
 * every rank finds the same. */
struct plan plan_step(const struct sim *sim, double limit);

/* Time must move on, and the next frame must come within a lifetime. */
int plan_check(const struct sim *sim, const struct plan *plan, struct error *err);

/* Whether sound makes the next step shorter than time.step. */
bool plan_is_shortened(const struct sim *sim);

#endif
