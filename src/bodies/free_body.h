/* Bodies that snow and other bodies move: what they are made of, and how one turns and falls (docs/method.md,
 * "Free bodies").
 *
 * State and arithmetic are the same on all ranks. Six numbers are three of the motion, then three of the
 * turn. Nothing here uses a library's sine or a fused multiply-add that we did not write. */
#ifndef FIRN_BODIES_FREE_BODY_H
#define FIRN_BODIES_FREE_BODY_H

#include "bodies/body.h"

#include <stdbool.h>

struct free_push {
  double force[3], torque[3]; /* N, N m, in the world's axes */
  double at[3];               /* m, at time 0: where the force acts */
  bool at_given;              /* else at the centre of mass */
  double start, end;          /* s; an end of 0 is none */
};

struct free_spring {
  double anchor[3], velocity[3]; /* m at time 0, m/s */
  double at[3];                  /* m, at time 0 */
  bool at_given;
  double stiffness, damping, length; /* N/m, N s/m, m */
  bool rope;                         /* only pulls */
};

/* What makes a body free; the scene's, beside its shape. */
struct free_body {
  double density;     /* kg/m^3; 0: the mass is given */
  double mass;        /* kg */
  bool center_given;  /* else the centre of mass is that of the shape */
  double center[3];   /* m, at time 0 */
  int inertia_given;  /* 0, or 3 moments along the shape's axes, or 6 numbers xx, yy, zz, xy, yz, zx */
  double inertia[6];  /* kg m^2, as given */
  double spread[9];   /* kg m^2 about the centre of mass, in the world's axes at time 0 */
  double moment[3];   /* kg m^2, in rising order */
  double axes[3][3];  /* unit, at time 0, of each moment */
  bool lock[6];       /* components that keep their first value */
  double velocity[3]; /* m/s, at the start */
  double spin[3];     /* rad/s, at the start */
  struct free_push *push;
  struct free_spring *spring; /* both owned */
  int push_count, spring_count;
  bool mass_found;
  struct body_drive placed; /* where a frame has it, for pictures; else off */
  char why[256];            /* what is wrong with it, once the shape is ready */
};

void free_body_destroy(struct free_body **free);

/* Mass, centre of mass and inertia, from the shape where they are not given. free->why is empty if all is
 * well. */
void free_body_finish(struct free_body *free, const struct shape *shape);

/* Of the bodies of a scene: lines of a name, a place, a turn, a velocity and a spin, as frames have them, put
 * the free ones where they were at a time (s). */
void free_bodies_place(const struct body *bodies, int count, const char *lines, double time);

/* Such a line into text, which has room for FREE_LINE characters; returns its length. */
enum { FREE_LINE = BODY_NAME + 13 * 26 + 2 };
int free_body_line(char *text, const char *name, const struct body_drive *place);

/* Where it is and how it moves. */
struct free_state {
  double center[3];   /* m */
  double turn[4];     /* unit quaternion, since time 0 */
  double velocity[3]; /* m/s */
  double angular[3];  /* kg m^2/s about the centre of mass, in the world's axes */
};

void free_state_begin(const struct free_body *free, struct free_state *state);

/* kg m^2, in the world's axes now. */
void free_inertia(const struct free_body *free, const double turn[4], double inertia[9]);

/* rad/s, in the world's axes. */
void free_spin(const struct free_body *free, const struct free_state *state, double spin[3]);

/* J: of motion and turn. */
double free_kinetic(const struct free_body *free, const struct free_state *state);

/* J, of springs at a time. */
double free_elastic(const struct free_body *free, const struct free_state *state, double time);

/* What a step begins with. */
struct free_begin {
  double k[36], inverse[36]; /* mass, inertia and springs; its inverse on the axes that are not locked */
  double before[6], free[6]; /* velocities at the start, and what they would become without contact */
  double pushed[6];          /* N s: gravity, push and springs, as far as they do not follow the velocity */
};

void free_begin(const struct free_body *free, const struct free_state *state, const double gravity[3],
                double time, double dt, struct free_begin *begin);

/* Work on the body in a step whose velocities end as `after`: of pushes, anchors and locked axes (J).
 * `borne`: impulses (N s, N m s) of snow and other bodies. */
double free_work(const struct free_body *free, const struct free_state *state, const struct free_begin *begin,
                 const double gravity[3], const double after[6], const double borne[6], double time,
                 double dt);

/* Step 10: the state after dt with velocities `after` that were `before`. */
void free_advance(const struct free_body *free, const struct free_state *state, const double before[6],
                  const double after[6], double dt, struct free_state *next);

/* --- six numbers --- */

/* The inverse on the axes that are not locked, 0 elsewhere. False for a zero pivot. */
bool six_invert(const double a[36], const bool lock[6], double out[36]);
void six_multiply(const double a[36], const double x[6], double out[6]);
double six_dot(const double a[6], const double b[6]);

/* The velocity that u is at `arm` from the centre, and the six numbers of an impulse there. */
void six_velocity(const double u[6], const double arm[3], double out[3]);
void six_impulse(const double impulse[3], const double arm[3], double out[6]);

/* a += E^T s E for the matrix s at `arm`. */
void six_add(double a[36], const double arm[3], const double s[9]);

#endif
