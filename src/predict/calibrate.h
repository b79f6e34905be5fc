/* The speed of this machine, in a twentieth of a second and without MPI: the bare transfer pair is timed, and
 * what a step takes beside it is known from `firn bench` and `firn model`. */
#ifndef FIRN_CALIBRATE_H
#define FIRN_CALIBRATE_H

#include "kernels/kernels.h"
#include "predict/time_model.h"

#include <stdbool.h>
#include <stdint.h>

/* The bare transfer pair on cells^3 cells (kernels.h). */
struct bare *bare_create(int32_t cells);
void bare_destroy(struct bare **bare);
int64_t bare_count(const struct bare *bare); /* particles */

/* s per particle of the bare pair, on one core. */
double calibrate_pair(const struct kernels *kernels);

/* A unit of counted work (sim/cost.h) over a particle's bare pair: [0] of explicit, [1] of semi-implicit
 * steps. The one source of speeds for whatever was not measured. */
struct model_ratios {
  double parallel, serial, product;
};
extern const struct model_ratios calibrate_ratios[2];

/* One core, with this machine's best kernels. */
struct model_speed calibrate(bool implicit);

#endif
