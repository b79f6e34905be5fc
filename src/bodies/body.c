/* Bodies in rigid motion, and the collision rule.
 *
 * A pose is computed from time 0 each time, not advanced: it does not drift, and a restart at time t finds
 * the very same bits without storing anything. Sine and cosine are our own (base/fmath.h), for the same
 * reason. */
#include "bodies/body.h"

#include "base/fmath.h"
#include "base/vec.h"

void body_pose_at(const struct body *body, double time, struct body_pose *pose)
{
  pose->body = body;
  pose->shape = body->shape;
  vec_axpy(body->shape.center, time, body->velocity, pose->shape.center);
  double k[3] = {body->spin[0], body->spin[1], body->spin[2]};
  const double rate = vec_normalize(k);
  if (rate == 0.0 || time == 0.0) return;

  double sine, cosine;
  fmath_sincos(rate * time, &sine, &cosine);
  fmath_rotate(k, sine, cosine, body->shape.axis, pose->shape.axis);
  for (int column = 0; column < 3; column++) {
    const double *f = body->shape.frame + column;
    const double a[3] = {f[0], f[3], f[6]};
    double turned[3];
    fmath_rotate(k, sine, cosine, a, turned);
    for (int row = 0; row < 3; row++) pose->shape.frame[3 * row + column] = turned[row];
  }
}

void body_velocity(const struct body_pose *pose, const double x[3], double out[3])
{
  double arm[3], swing[3];
  vec_sub(x, pose->shape.center, arm);
  vec_cross(pose->body->spin, arm, swing);
  vec_axpy(pose->body->velocity, 1.0, swing, out);
}

bool body_collide(const struct body_pose *pose, const double x[3], double v[3])
{
  const struct body *body = pose->body;
  double n[3], carried[3], relative[3];
  if (shape_distance(&pose->shape, x, n) > 0.0) return false;
  body_velocity(pose, x, carried);
  vec_sub(v, carried, relative);
  const double normal = vec_dot(relative, n);
  if (!body->sticky && normal >= 0.0) return false; /* separating */

  double slide[3];
  vec_axpy(relative, -normal, n, slide);
  const double speed = vec_norm(slide), impulse = -body->friction * normal;
  if (body->sticky || speed <= impulse) {
    for (int d = 0; d < 3; d++) v[d] = carried[d];
    return true;
  }
  const double kept = 1.0 - impulse / speed;
  vec_axpy(carried, kept, slide, v);
  return true;
}

double body_max_speed(const struct body *body)
{
  const double rate = vec_norm(body->spin), speed = vec_norm(body->velocity);
  return rate > 0.0 ? speed + rate * shape_reach(&body->shape)
                    : speed; /* a plane has no reach, and no spin either */
}
