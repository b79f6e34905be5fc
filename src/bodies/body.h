/* Collision bodies: a shape in rigid motion that snow may not enter.
 *
 * The collision rule is that of section 8 of the 2013 paper: inelastic, Coulomb friction, or sticky. The same
 * rule is applied to grid velocities and to particle velocities (method.md, steps 5 and 9). */
#ifndef FIRN_BODIES_BODY_H
#define FIRN_BODIES_BODY_H

#include "levelset/shape.h"

#include <stdbool.h>

struct body {
  char name[64];
  struct shape shape; /* where it is at time 0 */
  double velocity[3]; /* m/s, of the shape's centre */
  double spin[3];     /* rad/s, about the shape's centre */
  double friction;    /* Coulomb coefficient */
  bool sticky;        /* snow keeps the body's velocity wherever the distance is <= 0 */
};

/* A body where it is at one moment. Cheap to make: once a body and time, not once a point. */
struct body_pose {
  const struct body *body;
  struct shape shape;
};

void body_pose_at(const struct body *body, double time, struct body_pose *pose);

/* Velocity of the body's material at x (m/s). */
void body_velocity(const struct body_pose *pose, const double x[3], double out[3]);

/* Applies the collision to velocity v at x; returns true if the rule acted (v was changed, or held to the
 * body). */
bool body_collide(const struct body_pose *pose, const double x[3], double v[3]);

/* Upper bound of the speed of any point of the body (m/s). */
double body_max_speed(const struct body *body);

#endif
