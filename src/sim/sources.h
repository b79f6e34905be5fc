/* Snow that comes in while a run goes on, and snow that is taken out.
 *
 * Particle k of a source is due at a time that follows from k and the rate, at a place that follows from k
 * and the seed. So which particles are there is a function of the time alone: nothing of it is kept, no rank
 * is asked, and a restart goes on with the next one. */
#ifndef FIRN_SIM_SOURCES_H
#define FIRN_SIM_SOURCES_H

#include "sim/sim.h"

/* Ids of particles that sources bring; all others are below. */
#define SOURCE_FIRST_ID ((uint64_t)1 << 52)

/* Collective, after an accepted step from the present time to `time`. */
void sources_act(struct sim *sim, double time);

#endif
