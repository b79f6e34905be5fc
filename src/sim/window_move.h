/* The window's part of a step (io/scene/window.h says where it is), and the numbers of the scene's snow.
 *
 * Snow that enters is numbered by its points. A checkpoint keeps the numbers that are used up, where the
 * window is, and what the points are. So a restart with another scene brings nothing in twice: the window
 * goes on from where it was, and other points get numbers that no particle had. */
#ifndef FIRN_SIM_WINDOW_MOVE_H
#define FIRN_SIM_WINDOW_MOVE_H

#include "io/particles/checkpoint.h"
#include "sim/sim.h"

/* Collective, at the end of a step that goes from sim->clock.time to `time`: removes what is left behind,
 * brings in what comes, and counts both. Does nothing, and communicates nothing, while the window rests. */
void window_move(struct sim *sim, double time);

/* Collective, once particles are there: for a run that begins with its scene, and for one that goes on.
 * `path` is the checkpoint's; `lenient`: its scene may be another one. */
int window_begin(struct sim *sim, struct error *err);
int window_restore(struct sim *sim, const struct checkpoint *from, const char *path, bool lenient,
                   struct error *err);

/* What a checkpoint keeps, for mem_free(): a line with the first id that is free, and one of the window:
 * axis, direction, its ends in m, the first id of its points and their mark. */
char *window_save(const struct sim *sim);

#endif
