/* Bodies against bodies, of which at least one is free (docs/method.md, "Free bodies").
 *
 * Balls that are fixed to a body meet the signed distance of another. All ranks do the same in the same
 * order. */
#ifndef FIRN_BODIES_BODY_CONTACT_H
#define FIRN_BODIES_BODY_CONTACT_H

#include "bodies/body.h"

#include <stdbool.h>
#include <stdint.h>

/* Balls of a body, from its pivot at time 0. */
struct ball {
  double place[3], radius; /* m */
};
struct balls {
  struct ball *ball;
  int64_t count, capacity;
};

/* Made once, for the grid's spacing. */
void balls_create(struct balls *balls, const struct body *body, double spacing);
void balls_free(struct balls *balls);

/* A body in a step. */
struct solid {
  const struct body_pose *pose;
  bool free;
  double u[6];                      /* of a free one: velocities about the pose's origin */
  double response[36], inverse[36]; /* what an impulse changes u by, with what the body touches, and alone */
  double given[6];                  /* N s: by the sweeps */
};

struct body_touching {
  int32_t body[2]; /* whose ball, and against whom */
  double at[3], normal[3];
  double gap;              /* m */
  double friction, target; /* m/s: the least velocity apart */
  double lambda[3];        /* N s, on body[0] */
};
struct touchings {
  struct body_touching *touching;
  int32_t count;
  int64_t capacity;
};

/* Contacts nearer than a cell, in order; `balls`: one set per body. Targets are those of velocities u. */
void touchings_find(struct touchings *touchings, const struct solid *solids, const struct balls *balls,
                    int body_count, double spacing, double dt, const double gravity[3]);

/* Rounds over the contacts from their lambda and the velocities u. z (m/s): what velocities are small beside.
 * `given` gets the change. Returns the sweeps. */
int touchings_sweep(struct touchings *touchings, struct solid *solids, double z);

/* Distance and normal of a body's surface at x. Distances to shapes made of parts may be too small, so a ball
 * would touch what is not there: then a point of the surface is found that is, and its distance taken. False:
 * none was found, and nothing touches. */
bool touching_distance(const struct shape *shape, const double x[3], double spacing, double *distance,
                       double n[3]);

/* Two directions across a unit normal. */
void touching_tangents(const double n[3], double t1[3], double t2[3]);

#endif
