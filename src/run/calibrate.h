/* The speed of this machine, in a twentieth of a second and without MPI: the bare transfer pair is timed, and
 * what a step takes beside it is known from `firn bench` and `firn model`. */
#ifndef FIRN_CALIBRATE_H
#define FIRN_CALIBRATE_H

#include "kernels/kernels.h"
#include "run/model.h"

#include <stdbool.h>
#include <stdint.h>

/* The bare transfer pair on cells^3 cells (kernels.h). */
struct bare *bare_create(int32_t cells);
void bare_destroy(struct bare **bare);
int64_t bare_count(const struct bare *bare); /* particles */

/* One core, with this machine's best kernels. */
struct model_speed calibrate(bool implicit);

#endif
