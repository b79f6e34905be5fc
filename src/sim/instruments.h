/* What a scene asks to be measured of its steps, beside the totals that every history has: forces on bodies
 * and where on them they act, and where the energy goes.
 *
 * Sums of a step are exact; what is carried from step to step is a number and its rounding error, the same on
 * all ranks, and checkpoints keep it. A scene that asks for nothing has no instruments (NULL) and pays
 * nothing. */
#ifndef FIRN_SIM_INSTRUMENTS_H
#define FIRN_SIM_INSTRUMENTS_H

#include "base/exactsum.h"
#include "bodies/tally.h"
#include "grid/particles.h"
#include "io/scene/scene.h"
#include "kernels/crew.h"

#include <stdbool.h>
#include <stdint.h>

struct sim;

/* J since the start of the run: kinetic + elastic + potential is what it was at first, less what was lost,
 * plus what bodies did and what came in, less what went out. */
enum budget {
  BUDGET_PLASTIC,  /* what yielding took */
  BUDGET_FRICTION, /* in sliding along bodies */
  BUDGET_SCHEME,   /* by the transfers, the integration in time, and the layer of nodes that hits a body */
  BUDGET_BODIES,   /* work of bodies on the snow */
  BUDGET_IN,       /* with particles that entered */
  BUDGET_OUT,      /* with particles that left */
  BUDGET_PHASE,    /* elastic energy that melting and freezing took; a column only where the scene has heat */
  BUDGET_PUSH, /* work on free bodies, of pushes, anchors and locked axes; only where there are such bodies */
  BUDGET_AIR,  /* work of the air on the snow; only where there is some */
  BUDGET_COUNT
};

/* A sum and what rounding kept out of it. */
struct carried {
  double sum, rest;
};

/* Of the step that is tried: this rank's, then of all. */
struct step_sums {
  struct exact_sum unbalanced[3]; /* N s that the error of the solve gives the snow */
  struct exact_sum energy[ENERGY_COUNT];
  struct body_tally body[];
};

/* What a body bore in the steps since instruments_begin_loads(). */
struct body_load {
  double impulse[3], torque[3]; /* N s, N m s, on the body; torque about its pivot */
  double area;                  /* m^2 s */
  double span;                  /* s */
};

struct instruments {
  bool forces, budget, heat, free, air;
  int body_count; /* of the scene: all are tallied */
  int free_count; /* of these, the free ones */
  struct step_sums *step;
  struct exact_sum passing[3]; /* J of particles that came in, that went out, and that changes of phase took,
                                  in this step */
  int columns;                 /* of the history */
  char **names;
  double *row;               /* the columns of the last row that was due */
  struct carried *carried;   /* one a column, and the time that forces are a mean over */
  double *since;             /* s of that time before a column began, which a restart did */
  int flux_count;            /* sums of flux probes, */
  struct exact_sum *crossed; /* of this step, */
  struct carried *flux;      /* and since the start */
  struct body_load *load;    /* of each body */
  bool maps;                 /* some body is mapped */
  struct contact_map map;    /* since the frame before: of what this rank found */
  struct carried map_span;   /* s, that the map is of */
};

/* NULL where the scene asks for nothing. */
struct instruments *instruments_create(const struct scene *scene);
void instruments_destroy(struct instruments **instruments);

/* All below accept a simulation without instruments. Not collective unless they say so. */

/* Before a step is tried: sums are zero, and the crew's workers have some of their own. */
void instruments_begin(struct sim *sim);

/* Where contact on nodes is to be tallied; NULL: nowhere. */
struct body_tally *instruments_bodies(struct sim *sim);

/* After the solve: what the nodes that bodies hold got through it, with v* in NODE_STAR. Takes one product
 * more. Collective. */
void instruments_after_solve(struct sim *sim, double factor,
                             void (*product)(void *context, enum node_field in, enum node_field out));

/* The same of a solve whose product is made. Not collective. */
void instruments_hold(struct sim *sim, double factor);

/* After G2P: the workers' sums, over all ranks. Collective. */
void instruments_collect(struct sim *sim);

/* A particle that enters or leaves: its state, and where what never changes of it is. */
void instruments_pass(struct sim *sim, bool enters, const struct particles *state, int32_t i,
                      const struct particles *constants, int32_t home);
void instruments_pass_gone(struct sim *sim); /* all of the next state that are out of the domain */

/* Whether changes of phase are tallied: their particles' elastic energy (J) before, and after. */
bool instruments_want_phases(const struct sim *sim);
double instruments_elastic(const struct sim *sim, const struct particles *state, int32_t i,
                           const struct particles *constants, int32_t home);
void instruments_change_phase(struct sim *sim, double before, double after);

/* Before a tried step is accepted: what crosses the planes of flux probes. */
void instruments_cross(struct sim *sim);

/* Sum `k` of the flux probes since the start: four of each, mass (kg) and momentum (N s) along its normal. */
double instruments_flux(const struct sim *sim, int k);

/* Where bodies are pushed since the frame before: rank 0's, to be destroyed; NULL on the others, and where no
 * body is mapped. Collective. */
struct contact_table *instruments_contacts(const struct sim *sim);

/* The step was accepted; has_row: a row of the history is due. Collective. */
void instruments_accept(struct sim *sim, double dt, bool has_row);

/* What bodies bear is added up from now on, for a program that looks at it between steps. */
void instruments_begin_loads(struct sim *sim);

/* What a checkpoint keeps: lines of a name and two or three numbers, in hexadecimal, then a line a place of
 * the map; for mem_free(), NULL for nothing. The map is rank 0's alone. It is restored by name: the scene may
 * ask for other things by now. Saving is collective. */
char *instruments_save(const struct sim *sim);
void instruments_restore(struct sim *sim, const char *text);

#endif
