/* What a body takes from the snow in a step: impulse, torque and energy, from the velocities that contact
 * changes. Every contribution is added exactly, so neither ranks nor threads change a bit. */
#ifndef FIRN_BODIES_TALLY_H
#define FIRN_BODIES_TALLY_H

#include "base/exactsum.h"
#include "bodies/body.h"
#include "bodies/contact_map.h"

enum taken {
  TAKEN_IMPULSE,                    /* N s, on the body */
  TAKEN_TORQUE = TAKEN_IMPULSE + 3, /* N m s, on the body about its pivot */
  TAKEN_COVER = TAKEN_TORQUE + 3,   /* see tally_area() */
  TAKEN_COVER2,
  TAKEN_WORK,     /* J, done by the body on the snow */
  TAKEN_FRICTION, /* J, lost in sliding along it */
  TAKEN_COUNT
};

struct body_tally {
  struct exact_sum sum[TAKEN_COUNT];
  struct push_log *log; /* by place; NULL unless the body is mapped */
};

/* Nothing is taken yet. */
void tally_clear(struct body_tally *tally);

/* Contact changed the velocity of a mass (kg) at x from `before` to `after`. */
void tally_collision(struct body_tally *tally, const struct body_pose *pose, const double x[3], double mass,
                     const double before[3], const double after[3]);

/* The body gave this impulse (N s) to snow at x that it holds at a velocity. */
void tally_hold(struct body_tally *tally, const struct body_pose *pose, const double x[3],
                const double impulse[3], const double velocity[3]);

/* The body's surface gave liquid at x this impulse (N s) by its pressure. Liquid does not slide in that: what
 * the body's velocity does not give is work of the pressure. */
void tally_pressure(struct body_tally *tally, const struct body_pose *pose, const double x[3],
                    const double impulse[3]);

/* A node in contact, for the area: its mass, and the spacing and support of the kernel. */
void tally_cover(struct body_tally *tally, const struct body_pose *pose, const double x[3], double mass,
                 double spacing, int support);

/* The area in contact (m^2). A node that lies less than a cell below the surface is one square of the grid's
 * spacing. Its mass over what snow up to the surface would leave at its depth says how much of that square is
 * covered, up to a factor that all nodes share: (sum q)^2 / sum q^2 needs no factor, and a rim of nodes with
 * little mass adds little. */
double tally_area(const struct body_tally *tally, double spacing);

#endif
