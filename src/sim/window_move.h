/* The window's part of a step (seeding/window.h says where it is). */
#ifndef FIRN_SIM_WINDOW_MOVE_H
#define FIRN_SIM_WINDOW_MOVE_H

#include "sim/sim.h"

/* Collective, at the end of a step that goes from sim->clock.time to `time`: removes what is left behind,
 * brings in what comes, and counts both. Does nothing, and communicates nothing, while the window rests. */
void window_move(struct sim *sim, double time);

#endif
