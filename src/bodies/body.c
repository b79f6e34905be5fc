/* Bodies in motion, and the collision rule.
 *
 * A pose is computed from time 0 each time, not advanced: it does not drift, and a restart at time t finds
 * the very same bits without storing anything. Sine and cosine are our own (base/fmath.h), for the same
 * reason. */
#include "bodies/body.h"

#include "base/fmath.h"
#include "base/vec.h"
#include "bodies/free_body.h"
#include "bodies/quaternion.h"
#include "bodies/zones.h"
#include "levelset/keyed.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

void body_finish(struct body *body)
{
  shape_settle(&body->shape);
  if (body->free && !body->free->mass_found) {
    free_body_finish(body->free, &body->shape);
    vec_sub(body->free->center, body->shape.center, body->pivot);
  }
  if (!body->pivot_given) return;
  vec_sub(body->pivot, body->shape.center, body->pivot);
  body->pivot_given = false;
}

void body_destroy(struct body *body)
{
  free_body_destroy(&body->free);
  motion_destroy(&body->motion);
  ramp_destroy(&body->heating);
  zones_destroy(&body->ground.zones);
  shape_destroy(&body->shape);
}

/* Turns what directs the shape, and its centre about the pivot, which is at pose->origin. */
static void turn_shape(const struct body *body, const double turn[9], struct body_pose *pose)
{
  const struct shape *s = &body->shape;
  struct shape *out = &pose->shape;
  memcpy(pose->turn, turn, sizeof pose->turn);
  for (int row = 0; row < 3; row++) {
    const double *t = turn + 3 * row;
    out->axis[row] = vec_dot(t, s->axis);
    out->center[row] = pose->origin[row] - vec_dot(t, body->pivot);
    for (int k = 0; k < 3; k++)
      out->axes[3 * row + k] = t[0] * s->axes[k] + t[1] * s->axes[3 + k] + t[2] * s->axes[6 + k];
  }
}

/* Constant velocity and spin. */
static void steady_pose(const struct body *body, double time, struct body_pose *pose)
{
  double k[3] = {body->spin[0], body->spin[1], body->spin[2]}, sine, cosine, turn[9];
  memcpy(pose->spin, body->spin, sizeof pose->spin);
  vec_axpy(body->shape.center, time, body->velocity, pose->shape.center);
  vec_axpy(pose->shape.center, 1.0, body->pivot, pose->origin);
  const double rate = vec_normalize(k);
  if (rate == 0.0 || time == 0.0) return;
  fmath_sincos(rate * time, &sine, &cosine);
  for (int column = 0; column < 3; column++) {
    const double e[3] = {column == 0, column == 1, column == 2};
    double turned[3];
    fmath_rotate(k, sine, cosine, e, turned);
    for (int row = 0; row < 3; row++) turn[3 * row + column] = turned[row];
  }
  turn_shape(body, turn, pose);
}

static void keyed_pose(const struct body *body, double time, struct body_pose *pose)
{
  struct motion_state state;
  double turn[9];
  motion_at(body->motion, time, &state);
  quaternion_matrix(state.turn, turn);
  memcpy(pose->spin, state.spin, sizeof pose->spin);
  for (int d = 0; d < 3; d++) {
    pose->velocity[d] = body->velocity[d] + state.velocity[d];
    pose->origin[d] = body->shape.center[d] + body->pivot[d] + (state.move[d] + time * body->velocity[d]);
  }
  turn_shape(body, turn, pose);
}

static void scene_pose(const struct body *body, double time, struct body_pose *pose)
{
  *pose = (struct body_pose){.body = body, .shape = body->shape, .turn = {[0] = 1.0, [4] = 1.0, [8] = 1.0}};
  memcpy(pose->velocity, body->velocity, sizeof pose->velocity);
  if (time < body->start || (body->end > 0.0 && time >= body->end)) {
    pose->shape = (struct shape){.kind = SHAPE_NONE};
    return;
  }
  if (body->motion)
    keyed_pose(body, time, pose);
  else
    steady_pose(body, time, pose);
  if (body->shape.kind != SHAPE_KEYS) return;
  const struct keyed_moment moment = keyed_at(body->shape.keys, time);
  pose->shape.key = moment.key;
  pose->shape.gamma = moment.gamma;
  pose->shape.frozen = moment.frozen;
}

/* Where a drive has brought the pivot and the rotation by a time. */
static void drive_at(const struct body_drive *drive, double time, double origin[3], double turn[4])
{
  double swing[3], since[4];
  vec_axpy(drive->origin, time - drive->since, drive->velocity, origin);
  for (int d = 0; d < 3; d++) swing[d] = (time - drive->since) * drive->spin[d];
  quaternion_exp(swing, since);
  quaternion_multiply(since, drive->turn, turn);
}

void body_driven_pose(const struct body *body, const struct body_drive *drive, double time,
                      struct body_pose *pose)
{
  double turn[4], matrix[9];
  scene_pose(body, time, pose);
  if (!drive->on || pose->shape.kind == SHAPE_NONE) return;
  drive_at(drive, time, pose->origin, turn);
  quaternion_matrix(turn, matrix);
  turn_shape(body, matrix, pose);
  memcpy(pose->velocity, drive->velocity, sizeof pose->velocity);
  memcpy(pose->spin, drive->spin, sizeof pose->spin);
}

void body_pose_at(const struct body *body, double time, struct body_pose *pose)
{
  if (body->free)
    body_driven_pose(body, &body->free->placed, time, pose);
  else
    scene_pose(body, time, pose);
}

void body_drive_set(struct body_drive *drive, const struct body *body, double time, const double velocity[3],
                    const double spin[3])
{
  struct body_drive next = {.on = true, .since = time};
  struct motion_state state = {.turn = {1.0}};
  if (drive->on) {
    drive_at(drive, time, next.origin, next.turn);
  } else if (body->motion) {
    motion_at(body->motion, time, &state);
    memcpy(next.turn, state.turn, sizeof next.turn);
  } else {
    double swing[3];
    for (int d = 0; d < 3; d++) swing[d] = time * body->spin[d];
    quaternion_exp(swing, next.turn);
  }
  for (int d = 0; d < 3 && !drive->on; d++)
    next.origin[d] = body->shape.center[d] + body->pivot[d] + (state.move[d] + time * body->velocity[d]);
  quaternion_normalize(next.turn);
  memcpy(next.velocity, velocity, sizeof next.velocity);
  memcpy(next.spin, spin, sizeof next.spin);
  *drive = next;
}

void body_velocity(const struct body_pose *pose, const double x[3], double out[3])
{
  double arm[3], swing[3], own[3];
  vec_sub(x, pose->origin, arm);
  vec_cross(pose->spin, arm, swing);
  vec_axpy(pose->velocity, 1.0, swing, out);
  if (pose->shape.kind != SHAPE_KEYS) return;
  shape_deformation_velocity(&pose->shape, x, own);
  vec_axpy(out, 1.0, own, out);
}

bool body_may_touch(const struct body_pose *pose, const double x[3], double radius)
{
  double least, most;
  shape_range(&pose->shape, x, radius, &least, &most);
  return !(least > pose->body->skin);
}

double body_distance(const struct body_pose *pose, const double x[3], double normal[3])
{
  return shape_distance(&pose->shape, x, normal) - pose->body->skin;
}

bool body_collide(const struct body_pose *pose, const double x[3], double v[3])
{
  return body_collide_with(pose, x, v, pose->body->friction, 0.0, NULL);
}

bool body_sticks(const struct body_pose *pose, const double normal[3])
{
  const struct body *body = pose->body;
  return body->sticky && (!body->sticky_steep || vec_dot(normal, body->up) < body->sticky_cosine);
}

bool body_collide_with(const struct body_pose *pose, const double x[3], double v[3], double friction,
                       double closing, struct body_touch *touch)
{
  double n[3], carried[3], relative[3];
  if (body_distance(pose, x, NULL) > 0.0) return false;
  body_distance(pose, x, n);
  body_velocity(pose, x, carried);
  if (closing > 0.0) vec_axpy(carried, -closing, n, carried);
  vec_sub(v, carried, relative);
  const double normal = vec_dot(relative, n);
  const bool sticks = body_sticks(pose, n);
  if ((closing > 0.0 || !sticks) && normal >= 0.0) return false; /* separating */

  double slide[3];
  vec_axpy(relative, -normal, n, slide);
  const double speed = vec_norm(slide);
  if (pose->body->ground.varies) friction = ground_friction(pose, x, speed);
  const double impulse = -friction * normal;
  const bool slides = !sticks && (friction == 0.0 || speed > impulse);
  if (touch) *touch = (struct body_touch){{n[0], n[1], n[2]}, -normal, sticks, slides};
  if (sticks || speed <= impulse) {
    for (int d = 0; d < 3; d++) v[d] = carried[d];
    return true;
  }
  const double kept = 1.0 - impulse / speed;
  vec_axpy(carried, kept, slide, v);
  return true;
}

double body_temperature(const struct body *body, double time)
{
  return body->heating.count ? ramp_at(&body->heating, time) : body->temperature;
}

/* Largest |velocity + spin x r| in a ball at `middle`: what is across the spin's axis adds to its swing. */
static double ball_speed(const double middle[3], double radius, const double velocity[3],
                         const double spin[3])
{
  double v[3], axis[3] = {spin[0], spin[1], spin[2]}, across[3];
  vec_cross(spin, middle, v);
  vec_axpy(v, 1.0, velocity, v);
  const double rate = vec_normalize(axis), along = vec_dot(v, axis);
  vec_axpy(v, -along, axis, across);
  const double swing = vec_norm(across) + rate * radius;
  return sqrt(along * along + swing * swing);
}

/* The same in the hull of some balls: a norm is convex, so it is largest in one of them. */
static double hull_speed(const struct shape_hull *hull, const double velocity[3], const double spin[3])
{
  double most = 0.0;
  for (int k = 0; k < hull->count; k++)
    most = fmax(most, ball_speed(hull->point[k], hull->radius, velocity, spin));
  return most;
}

/* The body as it is drawn, seen from its pivot. What has no end does not turn: there the pivot will do. */
static void hull_about_pivot(const struct body *body, struct shape_hull *hull)
{
  *hull = (struct shape_hull){.count = 1};
  if (!isfinite(shape_reach(&body->shape))) return;
  shape_hull(&body->shape, hull);
  for (int k = 0; k < hull->count; k++) vec_sub(hull->point[k], body->pivot, hull->point[k]);
}

/* In the body's own axes a point r from the pivot has the velocity R^T V + R^T w x r, which changes by no
 * more than |V'| + |w| |V| + |w'| |r| in a second: so much is added to the speed in the middle of the piece.
 */
static double piece_speed(const struct body *body, const struct shape_hull *hull,
                          const struct motion_piece *piece)
{
  double arm = 0.0, back[4], total[3], velocity[3], spin[3];
  for (int k = 0; k < hull->count; k++) arm = fmax(arm, vec_norm(hull->point[k]) + hull->radius);
  const double speed = piece->speed + vec_norm(body->velocity), crude = speed + piece->rate * arm;
  if (!isfinite(piece->half)) return crude;
  vec_axpy(body->velocity, 1.0, piece->middle.velocity, total);
  quaternion_inverse(piece->middle.turn, back);
  quaternion_rotate(back, total, velocity);
  quaternion_rotate(back, piece->middle.spin, spin);
  const double change = piece->push + piece->rate * speed + piece->twist * arm;
  return fmin(crude, hull_speed(hull, velocity, spin) + piece->half * change);
}

/* Constant velocity and spin as one piece. */
static double steady_speed(const struct body *body, const struct shape_hull *hull, double from, double to)
{
  struct motion_piece piece = {.half = 0.5 * (to - from), .rate = vec_norm(body->spin)};
  double turn[3];
  for (int d = 0; d < 3; d++) turn[d] = 0.5 * (from + to) * body->spin[d];
  memcpy(piece.middle.spin, body->spin, sizeof body->spin);
  if (isfinite(piece.half)) quaternion_exp(turn, piece.middle.turn);
  return piece_speed(body, hull, &piece);
}

static double keyed_speed(const struct body *body, const struct shape_hull *hull, double from, double to)
{
  double most = 0.0;
  struct motion_piece piece;
  to = fmin(to, from + motion_period(body->motion));
  while (from <= to && isfinite(from)) {
    from = motion_piece_from(body->motion, from, to, &piece);
    most = fmax(most, piece_speed(body, hull, &piece));
  }
  return most;
}

double body_max_speed_between(const struct body *body, double from, double to)
{
  if (to < body->start || (body->end > 0.0 && from >= body->end)) return 0.0;
  struct shape_hull hull;
  hull_about_pivot(body, &hull);
  from = fmax(from, body->start);
  if (body->end > 0.0) to = fmin(to, body->end);
  const double speed =
      body->motion ? keyed_speed(body, &hull, from, to) : steady_speed(body, &hull, from, to);
  return body->shape.kind == SHAPE_KEYS ? speed + keyed_max_speed(body->shape.keys, from, to) : speed;
}

double body_driven_speed(const struct body *body, const struct body_drive *drive, double from, double to)
{
  if (!drive->on) return body_max_speed_between(body, from, to);
  struct shape_hull hull;
  double arm = 0.0;
  hull_about_pivot(body, &hull);
  for (int k = 0; k < hull.count; k++) arm = fmax(arm, vec_norm(hull.point[k]) + hull.radius);
  const double speed = vec_norm(drive->velocity) + arm * vec_norm(drive->spin);
  return body->shape.kind == SHAPE_KEYS ? speed + keyed_max_speed(body->shape.keys, from, to) : speed;
}

double body_max_speed(const struct body *body)
{
  return body_max_speed_between(body, -INFINITY, INFINITY);
}
