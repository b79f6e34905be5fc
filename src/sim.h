/* A simulation: the state of a scene at one time, on all ranks of a communicator, and the step that takes it
 * on.
 *
 * All functions are collective unless they say otherwise. sim_step.c reads as the ten steps of method.md;
 * sim.c sets up, and moves particles between ranks. */
#ifndef FIRN_SIM_H
#define FIRN_SIM_H

#include "base/error.h"
#include "crew.h"
#include "decomposition/comm.h"
#include "decomposition/halo.h"
#include "decomposition/migrate.h"
#include "decomposition/slabs.h"
#include "grid.h"
#include "io/checkpoint.h"
#include "io/scene.h"
#include "kernels.h"
#include "particles.h"
#include "reorder.h"
#include "window.h"

#include <stdbool.h>
#include <stdint.h>

enum phase {
  PHASE_BUILD, /* tiles */
  PHASE_P2G,
  PHASE_EXCHANGE, /* shared planes, outside the solve */
  PHASE_NODES,    /* velocities and contact */
  PHASE_SOLVE,
  PHASE_G2P,
  PHASE_REDUCE,
  PHASE_MIGRATE,
  PHASE_ORDER, /* by cell and id */
  PHASES
};
extern const char *const phase_names[PHASES];

/* One accepted step, the same on all ranks but for `seconds`. */
struct step_report {
  int64_t step;      /* number of the step, from 0 */
  double time;       /* s, at which the step began */
  double dt;         /* s */
  int iterations;    /* of the solver */
  int halvings;      /* how often this step was cut in two before it was accepted */
  int64_t particles; /* at its end */
  int64_t removed;   /* in all */
  int64_t contact_nodes;
  int64_t contact_particles;
  int64_t plastic; /* particles whose stretches were clamped */
  int64_t hardened_to_limit;
  double max_speed; /* m/s, particles at its end */
  double imbalance; /* counted work (sim_work()) of the busiest rank over the mean of all */
  bool has_measured;
  double measured[MEASURED_COUNT]; /* of the state at `time` */
  double seconds[PHASES];          /* this rank's */
};

/* What happened at the cuts, for tests and the log; the same on all ranks. */
struct sim_totals {
  int64_t migrated; /* particles that stepped into another rank's slab; not those that a cut passed over */
  int64_t shared_contacts; /* nodes in contact on shared planes, summed over steps */
  int64_t shared_plastic;  /* particles clamped whose stencil touches a shared plane, summed over steps */
  int64_t rebalanced;      /* how often the cuts moved */
  int64_t halvings;
  int64_t iterations;
  int64_t solves;
};

struct sim {
  struct comm comm;
  const struct scene *scene;
  const struct kernels *kernels;
  struct slabs *slabs;
  struct halo *halo;
  struct grid *grid;
  struct particles *p;
  struct scratch next;
  struct reorder order;
  struct crew crew;
  struct mailbox outgoing, incoming;
  struct snow_constants *constants;
  struct body_pose *poses;
  struct transfer transfer;
  struct exact_sum measured[MEASURED_COUNT];
  int64_t shared_contacts; /* of this step, counted by this rank */

  double time;   /* s */
  int64_t step;  /* taken, halves counted one by one */
  int64_t frame; /* last one reached */
  bool on_frame;
  double max_speed, max_sound; /* m/s, of the present state */
  int64_t particles, removed;  /* all ranks */
  int64_t entered;             /* through the window, all ranks */
  struct window window;
  struct step_report report; /* of the last step */
  struct sim_totals totals;

  /* Called after every accepted step. `measure_every` n: each n-th step has its energies and momenta
   * measured; 0 never. */
  void (*monitor)(void *context, const struct sim *sim);
  void *monitor_context;
  int measure_every;
  int balance_every; /* steps from one look at the cuts to the next; 0 leaves them where they are */
  int64_t looked;    /* step of the last look */
  int64_t lost;      /* work that the best cuts would have saved since they last moved */

  /* Asked on every rank near the end of each step that is tried, at no cost: the answer rides along in a
   * reduction. `request` becomes the greatest answer of any rank, the same on all, until somebody clears it:
   * how all ranks come to stop or write a checkpoint after the same step. */
  double (*poll)(void *context);
  void *poll_context;
  double request;
};

/* Scene and communicator must live as long as the simulation. *out is NULL on failure. isa: ISA_COUNT for the
 * best that all ranks run. */
int sim_create(struct sim **out, const struct comm *comm, const struct scene *scene, enum isa isa,
               struct error *err);

/* The state of a checkpoint instead of the scene's snow, bit for bit; `from` is what checkpoint_open() read
 * of the file at `path`. isa: ISA_COUNT for the checkpoint's. With lenient, instruction sets and fields may
 * differ from the checkpoint's. */
int sim_create_from(struct sim **out, const struct comm *comm, const struct scene *scene, enum isa isa,
                    const char *path, const struct checkpoint *from, bool lenient, struct error *err);

void sim_destroy(struct sim **sim);

/* What a checkpoint holds besides particles; run_id, generation and finished are the caller's. Not
 * collective. */
void sim_describe(const struct sim *sim, struct checkpoint *info);

/* The step that the scene's rule gives now, cut to fall on the next frame. Not collective: every rank
 * computes the same. */
double sim_next_step(const struct sim *sim);

/* Advances by exactly dt, in halves where a whole step is not accepted. */
int sim_advance(struct sim *sim, double dt, struct error *err);

/* One step of the scene's rule; on_frame tells whether it ended on a frame. */
int sim_step(struct sim *sim, struct error *err);

int sim_advance_to_frame(struct sim *sim, int64_t frame, struct error *err);

/* Rank that must count node plane k of its grid in global sums; tiles [0, this) are the rank's own. Not
 * collective. */
int32_t sim_owned_tiles(const struct sim *sim);

/* Copies the arrays, which are in any order, to the scratch with keys of their positions, as a step would
 * have left them; sim_settle() comes next. Not collective. */
void sim_stage(struct sim *sim);

/* Sends particles to the owners of their new cells, brings all into order and rebuilds the grid; `anywhere`
 * as in migrate.h. */
void sim_settle(struct sim *sim, bool anywhere);

/* Work of this rank in a step like the last one: counted, not measured, so that every rank and run sees the
 * same. sim_plane_work() is the part of one of its cell planes but for nodes. Not collective. */
int64_t sim_work(const struct sim *sim);
int64_t sim_plane_work(const struct sim *sim, int32_t plane);

/* At the end of each step, before its particles settle: every balance_every steps (rarer in domains of
 * thousands of planes) looks at what the best cuts for the step would have saved, and takes them once they
 * would have saved more than it costs to send the particles. Returns whether they moved; sim_settle(sim,
 * true) then brings particles straight to their new owners. Every rank computes the same cuts.
 * sim_balance_now() does all this at once if it saves anything at all. Changes no result. */
bool sim_balance(struct sim *sim);
void sim_balance_now(struct sim *sim);

/* Brings the particle arrays into the order (cell, id): particle k of this rank is then sim->p's k-th. To be
 * called before the arrays are read from outside; sim_advance() and a step that ends on a frame have done it.
 * Not collective, changes no result. */
void sim_tidy(struct sim *sim);

#endif
