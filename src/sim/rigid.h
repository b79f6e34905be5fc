/* Free bodies in the step (docs/method.md, "Free bodies"). A scene without them has none of this (NULL).
 *
 * The state of a body is the same on all ranks; what it touches is summed exactly over all nodes and
 * particles. sim->drives holds where each free body is, so that poses come from there as those of bodies that
 * a program moves. */
#ifndef FIRN_SIM_RIGID_H
#define FIRN_SIM_RIGID_H

#include "base/error.h"
#include "bodies/body_contact.h"
#include "bodies/free_body.h"
#include "grid/grid.h"
#include "solver/cr.h"

#include <stdbool.h>
#include <stdint.h>

struct sim;

/* A node inside a free body. */
struct rigid_node {
  int32_t at;                 /* tile * TILE_NODES + node of the tile */
  bool owned, left;           /* counts in sums of this rank; shared with the left neighbour */
  bool touched;               /* some free body acted */
  bool slides;                /* along the surface of its holder, which is free and acted alone */
  int32_t holder, acted;      /* the last body that acted, and how many did */
  double mass;                /* kg */
  double x[3], star[3], v[3]; /* m, m/s: before contact, and now */
  double normal[3];           /* of the holder */
  double kept[3], was[3];     /* m/s: what the solve does not change, and a vector of it */
};

/* A node in a body, of those nodes. */
struct rigid_site {
  int32_t node;
  double normal[3];
};
struct rigid_sites {
  struct rigid_site *site;
  int32_t count;
  int64_t capacity;
};

struct rigid_body {
  int body; /* of the scene */
  const struct free_body *free;
  struct free_state state, next;
  struct free_begin begin;
  bool there;           /* its start has come */
  double arm;           /* m, of its farthest point */
  enum shape_kind kind; /* of its pose, while other contact does not see it */
  double u[6];          /* velocities as far as the step is */
  double pressed[6];    /* N s: of other bodies before the solve */
  double slope[36];     /* of what the snow takes, at these velocities */
  bool endless;         /* friction is infinite, with contact decided at `hat` */
  double hat[6];
  double weight[36], inverse[36]; /* of the solve */
  double solved[6];               /* what the solve adds */
  double snow[6], others[6];      /* N s, N m s: of snow and of other bodies in this step */
  double unsolved[3];             /* N s: residual of its equations */
};

/* A row that keeps bodies which press on each other from moving against each other in the solve. */
struct rigid_row {
  double *part; /* six numbers a free body */
};

struct rigid {
  int count, body_count;
  struct rigid_body *body;
  int *index; /* of each body of the scene among the free ones, or -1 */
  int *level; /* of each body of the scene: those of one level share no node unless both follow the scene */
  int levels;
  struct solid *solids; /* of each body of the scene */
  struct balls *balls;
  struct touchings touchings;
  struct rigid_sites *sites;
  struct rigid_node *node;
  int32_t node_count, acted; /* nodes of the list, and those that are counted as in contact */
  int64_t node_capacity;
  double *rows; /* 6 count each */
  int row_count;
  int64_t row_capacity;
  struct cr_coupling coupling;
  struct exact_sum *sums;  /* of the last product */
  int64_t touched, shared; /* nodes in contact of this rank, and of those the left neighbour's too */
  bool crosses;            /* the step that was tried is too long for a body */
  int rounds, presses;     /* of the last step: rounds of contact, contacts that press */
  double work_push;        /* J, of the step */
  double energy[3];        /* J, kinetic, of springs and of height, at the start of the step, */
  double after[3];         /* and at its end */
};

/* NULL without free bodies. The state is that of the start. */
struct rigid *rigid_create(const struct sim *sim);
void rigid_destroy(struct rigid **rigid);

/* The functions below do nothing without free bodies. */

/* Step 5: after sim->poses. Nodes on which free bodies act are done; the others are as they were, and
 * rigid_shield() keeps other contact away from them. Collective. */
void rigid_collide(struct sim *sim);
void rigid_shield(struct sim *sim, bool on);
void rigid_mark(struct sim *sim, struct body_tally *tallies);

/* Step 6. */
void rigid_prepare_solve(struct sim *sim);
void rigid_begin_solve(struct sim *sim);
void rigid_before_product(struct sim *sim, enum node_field in);
void rigid_after_product(struct sim *sim, enum node_field in, enum node_field out);
void rigid_project(struct sim *sim, enum node_field field);
void rigid_end_solve(struct sim *sim);
void rigid_accept_solve(struct sim *sim);
void rigid_hold(struct sim *sim, double factor, struct body_tally *tallies, struct exact_sum unbalanced[3]);

/* Steps 9 and 10. Collective. */
void rigid_finish(struct sim *sim);

/* The step is accepted: after its time. */
void rigid_accept(struct sim *sim);

/* Tells sim->drives where the bodies are. */
void rigid_place(struct sim *sim);

/* J of all free bodies: kinetic, of springs and of height. `next`: of the states that the step leads to. */
void rigid_energy(const struct sim *sim, bool next, double time, double energy[3]);

/* m/s: what gravity adds to the speed of free bodies within this time. */
double rigid_speed(const struct sim *sim, double dt);

/* Nodes of this rank that free bodies act on and bodies of the scene hold. */
int64_t rigid_held(const struct sim *sim);

/* Lines for a frame, likewise (bodies/free_body.h). */
char *rigid_describe(const struct sim *sim);

/* Lines for a checkpoint, one a body, that begin with @; for mem_free(), NULL without free bodies. Restoring
 * takes one line. */
char *rigid_save(const struct sim *sim);
int rigid_restore(struct sim *sim, const char *line, struct error *err);

#endif
