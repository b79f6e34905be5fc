/* Rigid motion through keys: displacement and rotation at given times, and what lies between them.
 *
 * Linear: constant velocity and constant spin from key to key. Smooth: cubic in the displacement, and for the
 * rotation a product of three turns about fixed axes whose angles follow the cumulative Bernstein polynomials
 * of degree three (a Bezier curve on the rotations), with velocity and spin continuous at the keys.
 * Velocities are the exact derivatives. Before the first key and after the last the body rests, unless the
 * motion is cyclic. */
#ifndef FIRN_BODIES_MOTION_H
#define FIRN_BODIES_MOTION_H

#include <stdbool.h>

struct motion_key {
  double time;    /* s */
  double move[3]; /* m, from where the body is drawn in the scene */
  double turn[4]; /* unit quaternion, about the pivot */
};

struct motion_segment { /* from one key to the next */
  double start, span;   /* s */
  double move[4][3];    /* Bezier points; linear: the first and the last are used */
  double turn[4];       /* at the start */
  double spin[3][3];    /* rotation vectors of the three turns, in the body's axes; linear: the first */
};

struct motion {
  struct motion_key *key;
  int count;
  bool smooth, cyclic;
  struct motion_segment *segment; /* made from the keys; cyclic: the last key closes the circle */
  int segment_count;
};

/* Where a motion is: x = move + turn (x0 - pivot) + pivot, with these derivatives. */
struct motion_state {
  double move[3], turn[4];
  double velocity[3]; /* m/s, of the pivot */
  double spin[3];     /* rad/s, in the world's axes */
};

/* Copies the keys, whose times rise. */
struct motion *motion_create(const struct motion_key *keys, int count, bool smooth, bool cyclic);
void motion_destroy(struct motion **motion);

void motion_at(const struct motion *motion, double time, struct motion_state *state);

/* Bounds of |velocity| and |spin| over the times from .. to (s). */
void motion_bounds(const struct motion *motion, double from, double to, double *speed, double *rate);

#endif
