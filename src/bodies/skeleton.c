/* See skeleton.h. A bone's place is that of its parent after its own motion: rigid maps are composed from the
 * root outwards, and their velocities with them, so that a key's velocities are the exact ones of the motion.
 */
#include "bodies/skeleton.h"

#include "base/memory.h"
#include "base/vec.h"
#include "bodies/quaternion.h"
#include "levelset/blend.h"

#include <math.h>
#include <string.h>

void skeleton_destroy(struct skeleton **skeleton)
{
  if (!*skeleton) return;
  for (int b = 0; b < (*skeleton)->count; b++) motion_destroy(&(*skeleton)->bone[b].motion);
  mem_free((*skeleton)->bone);
  mem_free(*skeleton);
  *skeleton = NULL;
}

static void place(const struct bone_pose *p, const double rest[3], double out[3])
{
  quaternion_rotate(p->turn, rest, out);
  vec_axpy(out, 1.0, p->shift, out);
}

/* The bone's own motion on top of its parent's. */
static void move_bone(const struct bone *bone, double time, const struct bone_pose *parent,
                      struct bone_pose *pose)
{
  struct motion_state s;
  double origin[3], shift[3], swing[3], local[3], spin[3], back[3];
  motion_at(bone->motion, time, &s);
  vec_axpy(bone->pivot, 1.0, s.move, origin); /* where the pivot is, in the parent's coordinates */
  quaternion_rotate(s.turn, bone->pivot, shift);
  vec_sub(origin, shift, shift);
  place(parent, shift, pose->shift);
  quaternion_multiply(parent->turn, s.turn, pose->turn);

  quaternion_rotate(parent->turn, s.spin, spin);
  vec_axpy(parent->spin, 1.0, spin, pose->spin);
  vec_cross(s.spin, origin, swing);
  vec_sub(s.velocity, swing, local);
  quaternion_rotate(parent->turn, local, swing);
  vec_cross(spin, parent->shift, back);
  for (int d = 0; d < 3; d++) pose->velocity[d] = parent->velocity[d] + swing[d] - back[d];
}

void skeleton_pose(const struct skeleton *skeleton, double time, struct bone_pose *pose)
{
  const struct bone_pose ground = {.turn = {1.0, 0.0, 0.0, 0.0}};
  for (int b = 0; b < skeleton->count; b++) {
    const struct bone *bone = &skeleton->bone[b];
    const struct bone_pose *parent = bone->parent < 0 ? &ground : &pose[bone->parent];
    pose[b] = *parent;
    if (bone->motion) move_bone(bone, time, parent, &pose[b]);
    place(&pose[b], bone->from, pose[b].from);
    place(&pose[b], bone->to, pose[b].to);
    pose[b].radius = bone->radius;
  }
}

static double capsule_distance(const struct bone_pose *p, const double x[3])
{
  double axis[3], arm[3];
  vec_sub(p->to, p->from, axis);
  vec_sub(x, p->from, arm);
  const double square = vec_dot(axis, axis);
  double f = square > 0.0 ? vec_dot(arm, axis) / square : 0.0;
  f = f > 0.0 ? (f < 1.0 ? f : 1.0) : 0.0;
  vec_axpy(arm, -f, axis, arm);
  return vec_norm(arm) - p->radius;
}

static void velocity_at(const struct bone_pose *p, const double x[3], double v[3])
{
  vec_cross(p->spin, x, v);
  vec_axpy(v, 1.0, p->velocity, v);
}

double skeleton_distance(const struct skeleton *skeleton, const struct bone_pose *pose, const double x[3],
                         double velocity[3])
{
  double distance = capsule_distance(&pose[0], x), share;
  velocity_at(&pose[0], x, velocity);
  for (int b = 1; b < skeleton->count; b++) {
    double v[3];
    distance = smooth_minimum(distance, capsule_distance(&pose[b], x), skeleton->blend, &share);
    if (share == 0.0) continue;
    velocity_at(&pose[b], x, v);
    for (int d = 0; d < 3; d++) velocity[d] += share * (v[d] - velocity[d]);
  }
  return distance;
}

void skeleton_bounds(const struct skeleton *skeleton, const struct bone_pose *pose, double lower[3],
                     double upper[3], double *speed)
{
  *speed = 0.0;
  for (int d = 0; d < 3; d++) {
    lower[d] = INFINITY;
    upper[d] = -INFINITY;
  }
  for (int b = 0; b < skeleton->count; b++) {
    const double *end[2] = {pose[b].from, pose[b].to}, reach = pose[b].radius + skeleton->blend;
    for (int k = 0; k < 2; k++) {
      double v[3];
      velocity_at(&pose[b], end[k], v);
      *speed = fmax(*speed, vec_norm(v) + vec_norm(pose[b].spin) * pose[b].radius);
      for (int d = 0; d < 3; d++) {
        lower[d] = fmin(lower[d], end[k][d] - reach);
        upper[d] = fmax(upper[d], end[k][d] + reach);
      }
    }
  }
}

/* Least distance between the axes of two bones. The squared distance of points on two segments is convex, so
 * moving one point at a time to its best place converges; segments are short, and a hair does not matter. */
static double axis_distance(const struct bone_pose *a, const struct bone_pose *b)
{
  enum { ROUNDS = 64 };
  double at[3] = {a->from[0], a->from[1], a->from[2]}, other[3], gap[3], axis[3], arm[3], best = INFINITY;
  for (int k = 0; k < ROUNDS; k++) {
    const struct bone_pose *p = k & 1 ? a : b;
    vec_sub(p->to, p->from, axis);
    vec_sub(at, p->from, arm);
    const double square = vec_dot(axis, axis);
    double f = square > 0.0 ? vec_dot(arm, axis) / square : 0.0;
    f = f > 0.0 ? (f < 1.0 ? f : 1.0) : 0.0;
    vec_axpy(p->from, f, axis, other);
    vec_sub(at, other, gap);
    best = fmin(best, vec_norm(gap));
    memcpy(at, other, sizeof at);
  }
  return best;
}

static bool are_related(const struct skeleton *s, int a, int b)
{
  const int up = s->bone[b].parent; /* a comes before b */
  if (up < 0) return false;
  return up == a || up == s->bone[a].parent || s->bone[up].parent == a;
}

bool skeleton_touches_itself(const struct skeleton *skeleton, const struct bone_pose *pose, int *a, int *b)
{
  for (*b = 1; *b < skeleton->count; ++*b)
    for (*a = 0; *a < *b; ++*a)
      if (!are_related(skeleton, *a, *b) &&
          axis_distance(&pose[*a], &pose[*b]) < pose[*a].radius + pose[*b].radius)
        return true;
  return false;
}
