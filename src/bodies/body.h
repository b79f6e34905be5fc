/* Collision bodies: a shape in motion that snow may not enter.
 *
 * A body moves rigidly, with constant velocity and spin or through keys, and a shape of keyed grids deforms
 * besides. The collision rule is that of section 8 of the 2013 paper: inelastic, Coulomb friction, or sticky.
 * The same rule is applied to grid velocities and to particle velocities (method.md, steps 5 and 9). */
#ifndef FIRN_BODIES_BODY_H
#define FIRN_BODIES_BODY_H

#include "base/ramp.h"
#include "bodies/ground.h"
#include "bodies/motion.h"
#include "levelset/shape.h"

#include <stdbool.h>

/* Names of a scene have less than NAME_SIZE bytes; that of a copy (domain.copies) has its number behind it.
 */
enum { NAME_SIZE = 64, BODY_NAME = NAME_SIZE + 8 };

struct free_body;

struct body {
  char name[BODY_NAME];
  int line;               /* in the scene file, for messages */
  struct shape shape;     /* where it is at time 0, before its motion; owned */
  double velocity[3];     /* m/s; beside a motion it is added to it */
  double spin[3];         /* rad/s, about the pivot; not beside a motion */
  struct motion *motion;  /* keys; owned, NULL for none */
  double pivot[3];        /* m, from the shape's centre: the point that turns stay about */
  bool pivot_given;       /* `pivot` is still the scene's point: body_finish() makes it relative */
  double start, end;      /* s: the body is there for start <= time < end; 0 is no end */
  double skin;            /* m, above the surface: contact begins there */
  double friction;        /* Coulomb coefficient */
  struct ground ground;   /* and what depends on speed, place and area */
  double rub, bounce;     /* friction and restitution against other bodies, of which one is free */
  struct free_body *free; /* what makes it move freely; owned, NULL for a body that follows the scene */
  bool sticky;            /* snow keeps the body's velocity wherever the distance is <= 0 */
  bool sticky_steep;      /* only where the normal has less than this part along `up` */
  double sticky_cosine;
  double up[3];           /* against gravity */
  double liquid_friction; /* Coulomb coefficient of liquid */
  bool has_temperature;   /* else no heat passes into it */
  double temperature;     /* K; that of the first key where there are keys */
  struct ramp heating;    /* keys of the temperature over time (s); owned, empty for none */
  bool measured;          /* force, torque and area are in the history */
  bool mapped;            /* frames say where on it contact pushes */
  bool color_given;       /* else pictures choose one */
  double color[3];        /* linear reflectance, for pictures */
  bool snow_covered;      /* for pictures: it looks like ground under old snow */
};

/* Cells of the grid that the skin is thick. Without it, rounding would decide whether a surface on a plane of
 * nodes holds them. */
#define BODY_SKIN 1e-6

/* A body where it is at one moment. Cheap to make: once a body and time, not once a point. */
struct body_pose {
  const struct body *body;
  struct shape shape;          /* borrows what the body's shape owns; SHAPE_NONE outside the body's time */
  double origin[3];            /* m, where the pivot is */
  double turn[9];              /* rotation about it, by rows */
  double velocity[3], spin[3]; /* of the pivot, and about it */
  double dt;                   /* s, of the step that is taken; a ground that is layered asks for it */
};

/* Once, when the shape is ready: finishes it and makes the pivot relative to its centre. */
void body_finish(struct body *body);

/* Frees what the body owns, not the struct. */
void body_destroy(struct body *body);

void body_pose_at(const struct body *body, double time, struct body_pose *pose);

/* A motion that a program sets while a simulation runs: from `since` on the body moves on from where it was
 * with constant velocity and spin. The scene's motion ends there. */
struct body_drive {
  bool on;
  double since;                /* s */
  double origin[3], turn[4];   /* m, where the pivot was then; rotation since time 0, a quaternion */
  double velocity[3], spin[3]; /* m/s, rad/s */
};

/* The pose of a body with its drive, which may be off. */
void body_driven_pose(const struct body *body, const struct body_drive *drive, double time,
                      struct body_pose *pose);

/* From `time` on the body moves so. */
void body_drive_set(struct body_drive *drive, const struct body *body, double time, const double velocity[3],
                    const double spin[3]);

/* Upper bound of the speed of any point of the body over the times from .. to (m/s), with its drive. */
double body_driven_speed(const struct body *body, const struct body_drive *drive, double from, double to);

/* K, of a body that has one. */
double body_temperature(const struct body *body, double time);

/* Velocity of the body's material at x (m/s). */
void body_velocity(const struct body_pose *pose, const double x[3], double out[3]);

/* The distance that decides contact (m): that of the shape less the skin. normal: see shape_distance(). */
double body_distance(const struct body_pose *pose, const double x[3], double normal[3]);

/* False only if no point within radius of x is in contact with the body. */
bool body_may_touch(const struct body_pose *pose, const double x[3], double radius);

/* Applies the collision to velocity v at x; returns true if the rule acted (v was changed, or held to the
 * body). */
bool body_collide(const struct body_pose *pose, const double x[3], double v[3]);

/* The same with another friction, for matter that may still approach the body at the speed `closing` (m/s).
 * Where the rule acts and `touch` is not NULL, it gets what the rule saw. */
struct body_touch {
  double normal[3];
  double pressed; /* m/s, into the body, that the rule took */
  bool sticks;    /* the body holds whatever touches it here */
  bool slides;    /* neither that nor friction stops it: without friction, what rests is free to slide */
};
bool body_collide_with(const struct body_pose *pose, const double x[3], double v[3], double friction,
                       double closing, struct body_touch *touch);

/* Whether snow keeps the body's velocity where its surface has this normal. */
bool body_sticks(const struct body_pose *pose, const double normal[3]);

/* Upper bound of the speed of any point of the body (m/s): at all times, and over the times from .. to. */
double body_max_speed(const struct body *body);
double body_max_speed_between(const struct body *body, double from, double to);

#endif
