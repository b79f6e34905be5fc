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

/* A piece of a motion without a key inside it: its middle, and bounds over all of it. */
struct motion_piece {
  struct motion_state middle;
  double half;        /* s, from the middle to either end */
  double speed, rate; /* of |velocity| (m/s) and |spin| (rad/s) */
  double push, twist; /* of the derivatives of velocity (m/s^2) and spin (rad/s^2) */
};

/* The piece that begins at `from` and ends at `to` or before; returns where the next one begins, which is
 * later than `from`. A piece is short beside the keys around it, so that its bounds are close. */
double motion_piece_from(const struct motion *motion, double from, double to, struct motion_piece *piece);

bool motion_turns(const struct motion *motion);

/* s; infinite for a motion that does not repeat. */
double motion_period(const struct motion *motion);

#endif
