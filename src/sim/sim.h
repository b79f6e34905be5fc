/* A simulation: the state of a scene at one time, on all ranks of a communicator, and the step that takes it
 * on.
 *
 * All functions are collective unless they say otherwise. sim_step.c reads as the ten steps of method.md;
 * sim.c sets up, and moves particles between ranks. */
#ifndef FIRN_SIM_H
#define FIRN_SIM_H

#include "base/error.h"
#include "bodies/contact.h"
#include "decomposition/comm.h"
#include "decomposition/halo.h"
#include "decomposition/migrate.h"
#include "decomposition/reduce.h"
#include "decomposition/slabs.h"
#include "grid/grid.h"
#include "grid/particles.h"
#include "grid/reorder.h"
#include "io/particles/checkpoint.h"
#include "io/run/totals.h"
#include "io/scene/scene.h"
#include "io/scene/window.h"
#include "kernels/crew.h"
#include "kernels/kernels.h"
#include "sim/heat_step.h"
#include "sim/instruments.h"
#include "sim/rigid.h"
#include "solver/cr.h"

#include <stdbool.h>
#include <stdint.h>

enum phase {
  PHASE_BUILD, /* tiles */
  PHASE_P2G,
  PHASE_EXCHANGE, /* waiting for neighbours, in whatever part of the step */
  PHASE_NODES,    /* velocities and contact */
  PHASE_SOLVE,
  PHASE_G2P,
  PHASE_REDUCE, /* waiting for all ranks, likewise */
  PHASE_MIGRATE,
  PHASE_ORDER, /* by cell and id */
  PHASES
};
extern const char *const phase_names[PHASES];

/* One accepted step, the same on all ranks but for `seconds`. */
struct step_report {
  int64_t step;    /* number of the step, from 0 */
  double time;     /* s, at which the step began */
  double dt;       /* s */
  int iterations;  /* of the solver */
  int passes;      /* solves, with liquid: more than one finds out which cells push */
  int repeats;     /* solves that were repeated (sim/flow_solve.h) */
  bool pass_limit; /* the last allowed solve was not looked at any more */
  int heat_iterations;
  int halvings;      /* how often this step was cut in two before it was accepted */
  int64_t particles; /* at its end */
  int64_t removed;   /* in all */
  int64_t contact_nodes;
  int64_t contact_particles;
  int64_t plastic;  /* particles whose stretches were clamped */
  int64_t limited;  /* particles in which a limit of ours acted */
  int64_t liquid;   /* particles that are liquid at its end */
  double pressure;  /* Pa, the largest in the liquid */
  double max_speed; /* m/s, particles at its end */
  double imbalance; /* counted work (sim_work()) of the busiest rank over the mean of all */
  bool has_measured;
  double measured[MEASURED_COUNT]; /* of the state at `time` */
  double seconds[PHASES];          /* this rank's, failed tries of the step included */
};

/* Where this rank's part of the domain is, and its nodes. */
struct sim_mesh {
  struct slabs *slabs;
  struct halo *halo;
  struct grid *grid;
};

/* When the cuts were last looked at (sim/balance.h). */
struct sim_balance {
  int every;      /* steps from one look at the cuts to the next; 0 leaves them where they are */
  int64_t looked; /* step of the last look */
  int64_t lost;   /* work that the best cuts would have saved since they last moved */
};

/* Of the next state, those that belong to other ranks (sim/settle.h). */
struct leavers {
  int32_t *particle;
  int32_t count, room;
};

/* Which of the scene's snow is there, and what its particles are numbered by (sim/window_move.h). */
struct sim_seeding {
  uint64_t end_id;      /* no particle of the scene's snow has this id or one above it, or will have */
  bool windowed;        /* it comes through a window: */
  int axis;             /* 0, 1, 2 */
  int direction;        /* 1 or -1 */
  double from, to;      /* m, between which it is there */
  uint64_t first_id;    /* of the points of all samplings */
  uint64_t points_mark; /* seed_samplings_mark() */
};

/* What sources have brought (sim/sources.h): first those of the scene in its order, then those that earlier
 * starts of the run had. */
struct source_record {
  char name[NAME_SIZE];
  int64_t block;   /* of ids */
  int64_t brought; /* particles so far */
};
struct sim_sources {
  struct source_record *records;
  int count;
};

/* What sources brought and has not landed (sim/sources.h). */
struct sim_flight {
  int64_t count; /* of all ranks */
  double *crowd; /* see struct transfer */
  int64_t capacity;
};

struct sim_clock {
  double time;   /* s */
  int64_t step;  /* taken, halves counted one by one */
  int64_t frame; /* last one reached */
  bool on_frame;
  double trusted; /* s: limit of automatic steps after one that was cut (learn_step()); 0: none */
};

/* Accelerations (m/s^2) of `count` points that the caller gives, at a time (s); ids are NULL on nodes. They
 * must follow from these arguments alone, so that bits do not depend on ranks (sim/push.h). */
typedef void sim_acceleration(void *context, double time, int64_t count, const double *const x[3],
                              const uint64_t *id, double *const a[3]);

struct sim_push {
  sim_acceleration *nodes, *particles; /* NULL: none */
  void *nodes_context, *particles_context;
  double *x[3], *a[3], *kept[3]; /* points, what was given, and velocities before it */
  uint64_t *id;
  int64_t capacity;
  struct error refused; /* of the try that is under way: what was given is not to be used */
};

struct sim;
/* What the caller is asked, and what it hears of. */
struct sim_hooks {
  /* Called after every accepted step. `measure_every` n: each n-th step has its energies and momenta
   * measured; 0 never. */
  void (*monitor)(void *context, const struct sim *sim);
  void *monitor_context;
  int measure_every;
  /* Asked on every rank near the end of each step that is tried, at no cost: the answer rides along in a
   * reduction. `request` becomes the greatest answer of any rank, the same on all, until somebody clears it:
   * how all ranks come to stop or write a checkpoint after the same step. */
  double (*poll)(void *context);
  void *poll_context;
  double request;
  struct sim_push push;
};

struct sim {
  struct comm comm;
  const struct scene *scene;
  const struct kernels *kernels;
  struct sim_mesh mesh;
  struct particles *p;
  struct next next;
  struct reorder order;
  struct crew crew;
  struct leavers leavers;
  struct sim_flight flight;
  struct mailbox outgoing, incoming;
  struct reduction reduction; /* of a pipelined solve, while one is under way */
  struct material_constants *constants;
  struct body_pose *poses;
  struct body_drive *drives; /* of each body of the scene (sim/drive.h) */
  struct transfer transfer;
  struct exact_sum measured[MEASURED_COUNT];
  struct exact_sum changed[2]; /* kg that melt and that freeze in this step, of this rank */
  struct sim_heat heat;
  struct contacts contacts;    /* of this step, for its solve */
  double *air_density, *loose; /* for the wind: of materials, of particles (struct transfer) */
  int64_t loose_capacity;
  struct rigid *rigid;         /* free bodies (sim/rigid.h); NULL: there are none */
  int64_t shared_contacts;     /* of this step, counted by this rank */
  double max_speed, max_sound; /* m/s, of the present state */
  struct window window;
  struct sim_seeding seeding;
  struct sim_sources sources;
  struct sim_clock clock;
  struct sim_balance balance;
  struct instruments *instruments; /* NULL: the scene asks for none */
  struct maps *maps;               /* likewise (sim/maps.h) */
  bool *new_probes;                /* for each of the scene: not the one that the run had; NULL: no restart */
  struct step_report report;       /* of the last step */
  bool reported;                   /* the next try begins a report of its own */
  double waited[WAITS];            /* of comm.traffic, as far as phases have it */
  struct sim_totals totals;        /* the same on all ranks */
  struct sim_hooks hooks;
  bool edited;            /* particles were changed from outside and are not placed anew yet (sim/edit.h) */
  unsigned char *dropped; /* of the edit: for each particle, whether it goes */
  int64_t dropped_capacity, first_added;
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

/* What a checkpoint holds besides particles; run_id, generation and finished are the caller's, and so is
 * what checkpoint_forget() frees. Collective. */
void sim_describe(const struct sim *sim, struct checkpoint *info);

/* Whether no id occurs twice on any ranks; debug builds ask after each restart and at each checkpoint.
 * Collective. */
bool sim_ids_are_unique(const struct sim *sim);

/* The step that the scene's rule gives now, cut to fall on the next frame or the scene's end. Not collective,
 * as the next two: every rank computes the same. */
double sim_next_step(const struct sim *sim);

/* Whether the scene's end is reached. */
bool sim_is_over(const struct sim *sim);

/* Whether the next step ends at the scene's end, between two frames: a longer run does not pass through the
 * state that it leads to. */
bool sim_next_is_cut(const struct sim *sim);

/* Whether the time is that of a frame, and not an end between two. */
bool sim_is_on_beat(const struct sim *sim);

/* Makes `frame` the last one at or before the present time. Not collective. */
void sim_find_frame(struct sim *sim);

/* Advances by exactly dt, in halves where a whole step is not accepted. */
int sim_advance(struct sim *sim, double dt, struct error *err);

/* One step of the scene's rule; on_frame tells whether it ended on a frame. */
int sim_step(struct sim *sim, struct error *err);

/* The same, cut if it would pass the time `limit` (s). A step that ends there, between two frames, is one
 * that a run without the limit does not take. */
int sim_step_until(struct sim *sim, double limit, struct error *err);

int sim_advance_to_frame(struct sim *sim, int64_t frame, struct error *err);

/* Ends a phase that began at *since, which becomes now. What was spent on waiting meanwhile is not the
 * phase's but PHASE_EXCHANGE's and PHASE_REDUCE's. Not collective. */
void sim_end_phase(struct sim *sim, enum phase phase, double *since);

/* Particles as they were made or read have J_P: where their model keeps its logarithm, that takes its place.
 * Not collective. */
void sim_begin_history(const struct scene *scene, struct particles *p);

/* The speeds that limit the next step, of a state that no step led to. */
void sim_find_speeds(struct sim *sim);

/* Speed of sound in particle i of p (m/s), where steps depend on it; else 0. Not collective. */
double sim_sound_of(const struct sim *sim, const struct particles *p, int32_t i);

/* The same before there is a simulation: the fields that the scene's particles have besides those that all
 * have, its materials as kernels read them (for mem_free()), and the speed of sound. Not collective. */
unsigned sim_particle_needs(const struct scene *scene);
struct material_constants *sim_constants_create(const struct scene *scene);
double sim_sound_in(const struct scene *scene, const struct material_constants *constants,
                    const struct particles *p, int32_t i);

/* Fields that are sums over blocks: their kernels over all blocks of all ranks, the exchange while they work,
 * and the sums complete on shared bricks. sim_scatter(): one sum over the particles. */
void sim_sum(struct sim *sim, const struct block_sum *sums, int count);
void sim_scatter(struct sim *sim, block_kernel *kernel, void *arguments, enum part_layout layout,
                 const enum node_field *fields, int count);

/* A kernel over all blocks of particles. Not collective. */
void sim_blocks(struct sim *sim, block_kernel *kernel, void *arguments);

/* A solve over the nodes, but for its fields and its product. Not collective. */
struct cr_system sim_system(struct sim *sim);

/* A field's vectors on nodes in contact keep what the solve may move (bodies/contact.h). context: the sim. */
void sim_project(void *context, enum node_field field);

/* Brings the particle arrays into the order (block, cell, id): particle k of this rank is then sim->p's k-th.
 * To be called before the arrays are read from outside; sim_advance() and a step that ends on a frame have
 * done it. Not collective, changes no result. */
void sim_tidy(struct sim *sim);

#endif
