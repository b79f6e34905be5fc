/* Animated skeletons of capsules: bones that hang from each other, each with a motion of its own in the
 * coordinates of its parent. A figure that walks is made of them by `firn levelset`. */
#ifndef FIRN_BODIES_SKELETON_H
#define FIRN_BODIES_SKELETON_H

#include "bodies/motion.h"
#include "levelset/sdf.h"

#include <stdint.h>

struct bone {
  char name[64];
  int parent;            /* a bone before this one, or -1 */
  double from[3], to[3]; /* m, at rest, in the world's axes */
  double radius;         /* m */
  double pivot[3];       /* m, at rest: what it turns about */
  struct motion *motion; /* NULL: moves with its parent; owned */
};

struct skeleton {
  struct bone *bone;
  int count;
  double blend; /* m, width over which bones flow together; 0: they do not */
};

void skeleton_destroy(struct skeleton **skeleton);

/* Bones where they are at one time. Velocity at x: velocity + spin x x. */
struct bone_pose {
  double turn[4], shift[3]; /* x = turn x0 + shift */
  double spin[3], velocity[3];
  double from[3], to[3], radius;
};

void skeleton_pose(const struct skeleton *skeleton, double time, struct bone_pose *pose);

/* Distance (m) and velocity (m/s) at x; a point belongs to the bones that are near. */
double skeleton_distance(const struct skeleton *skeleton, const struct bone_pose *pose, const double x[3],
                         double velocity[3]);

/* Bounds (m) and largest speed (m/s) of the figure. */
void skeleton_bounds(const struct skeleton *skeleton, const struct bone_pose *pose, double lower[3],
                     double upper[3], double *speed);

/* Two bones that overlap though they are farther related than by one bone between them: a figure that runs
 * into itself has no velocity there. True if there are such; then their indices. */
bool skeleton_touches_itself(const struct skeleton *skeleton, const struct bone_pose *pose, int *a, int *b);

#endif
