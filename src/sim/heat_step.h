/* Heat, melting and freezing as parts of a step (docs/method.md, heat).
 *
 * Nothing here is called, and no memory taken, for a scene without `heat`. */
#ifndef FIRN_SIM_HEAT_STEP_H
#define FIRN_SIM_HEAT_STEP_H

#include "decomposition/halo.h"
#include "kernels/kernels.h"

#include <stdbool.h>
#include <stdint.h>

struct sim;

/* What a step's heat and liquid work with. */
struct sim_heat {
  double *conduction; /* of heat_arguments */
  int64_t conduction_capacity;
  struct liquid liquid;
  unsigned char *cell_state; /* of each grid cell: what its particles are */
  unsigned char *cell_solid; /* whether it has any that are solid */
  double *cell_j;
  int64_t cell_state_capacity, cell_solid_capacity, cell_j_capacity;
  struct halo_words own[2], other[2], own_j[2], other_j[2]; /* liquid cells beside the cuts */
  int64_t count;                                            /* liquid particles on all ranks */
  double heat_in;   /* J, that bodies and air gave in the step that is tried */
  double pressure;  /* Pa, the largest of this rank */
  double before[3]; /* totals at the step's start: heat that came in, mass that melted and that froze */
};

/* Counts the liquid; for a new state. Collective. */
void heat_begin(struct sim *sim);
void heat_free(struct sim_heat *heat);

/* Part of step 1: heat and liquid mass of the nodes. Collective. */
void heat_rasterise(struct sim *sim);

/* The heat solve, and what particles will gather of it. False: it did not converge. Collective. */
bool heat_solve(struct sim *sim);

/* Steps 7 and 10 of liquid particles, and the enthalpies of all, after the ordinary ones. */
void heat_update_particles(struct sim *sim);

/* At the end of an accepted step: the particles of the next state whose enthalpy is beyond the limits of
 * their phase change it. Not collective. */
void heat_change_phases(struct sim *sim);

#endif
