/* What makes a step or a state unacceptable, and the words for it. */
#ifndef FIRN_SIM_TROUBLE_H
#define FIRN_SIM_TROUBLE_H

#include "sim/sim.h"

/* What all ranks must know of the step that was tried. */
struct verdict {
  enum trouble trouble;
  bool farther;
  int64_t outside;
};

/* The error that ends a run: which particle, where, why. All ranks agree on the lowest rank that has one to
 * show. Collective. */
int trouble_give_up(struct sim *sim, double dt, const struct step_result *result,
                    const struct verdict *verdict, const char *advice, struct error *err);

/* The first particle of a rank that left the domain, as an error. Collective. */
int trouble_leaving(struct sim *sim, struct error *err);

/* The error of a state whose energy or momentum is not finite. Not collective. */
int trouble_not_finite(const struct sim *sim, struct error *err);

/* What a frame shows must be numbers, and so must its energy. G2P checks the state itself in every step;
 * this is about what overflows when it is made from the state. Collective. */
int trouble_check_finite(const struct sim *sim, struct error *err);

#endif
