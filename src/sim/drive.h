/* Bodies that a program moves while the simulation runs (libfirn). A checkpoint keeps where they are. */
#ifndef FIRN_SIM_DRIVE_H
#define FIRN_SIM_DRIVE_H

#include "sim/sim.h"

/* From the present time on body k moves with this velocity (m/s) of its pivot and this spin (rad/s). Every
 * rank must give the same. FIRN_EINPUT for the body that a window follows: where the window is follows from
 * the scene alone. */
int drive_set(struct sim *sim, int k, const double velocity[3], const double spin[3], struct error *err);

/* What a checkpoint keeps: a line for each driven body, NULL for none; to be freed with mem_free(). Bodies
 * that the scene no longer has are left out when it is restored. */
char *drive_save(const struct sim *sim);
int drive_restore(struct sim *sim, const char *text, struct error *err);

#endif
