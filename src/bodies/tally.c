#include "bodies/tally.h"

#include "base/vec.h"

#include <stddef.h>
#include <string.h>

void tally_clear(struct body_tally *t)
{
  memset(t->sum, 0, sizeof t->sum);
  if (t->log) t->log->count = 0;
}

static void add_vector(struct exact_sum sum[3], const double value[3])
{
  for (int d = 0; d < 3; d++) exact_add(&sum[d], value[d]);
}

/* The snow gets `impulse` at x and moves with `velocity` afterwards. Its energy grows by their product; what
 * the body's own velocity does not give is lost in sliding. */
static void add_impulse(struct body_tally *t, const struct body_pose *pose, const double x[3],
                        const double impulse[3], const double velocity[3])
{
  double arm[3], on_body[3], torque[3], carried[3];
  for (int d = 0; d < 3; d++) on_body[d] = -impulse[d];
  vec_sub(x, pose->origin, arm);
  vec_cross(arm, on_body, torque);
  add_vector(&t->sum[TAKEN_IMPULSE], on_body);
  add_vector(&t->sum[TAKEN_TORQUE], torque);
  body_velocity(pose, x, carried);
  const double work = vec_dot(impulse, carried);
  exact_add(&t->sum[TAKEN_WORK], work);
  exact_add(&t->sum[TAKEN_FRICTION], work - vec_dot(impulse, velocity));
  if (t->log) push_log_add(t->log, pose, x, on_body, 0.0);
}

void tally_collision(struct body_tally *t, const struct body_pose *pose, const double x[3], double mass,
                     const double before[3], const double after[3])
{
  double impulse[3];
  for (int d = 0; d < 3; d++) impulse[d] = mass * (after[d] - before[d]);
  add_impulse(t, pose, x, impulse, after);
}

void tally_hold(struct body_tally *t, const struct body_pose *pose, const double x[3],
                const double impulse[3], const double velocity[3])
{
  add_impulse(t, pose, x, impulse, velocity);
}

void tally_pressure(struct body_tally *t, const struct body_pose *pose, const double x[3],
                    const double impulse[3])
{
  double carried[3];
  body_velocity(pose, x, carried);
  add_impulse(t, pose, x, impulse, carried);
}

/* Share of the kernel's weight that lies more than `depth` cells, 0 to 1, to one side. */
static double beyond(double depth, int support)
{
  const double d = depth;
  if (support == 4) return 0.5 - d * (2.0 / 3.0 - d * d * (1.0 / 3.0 - 0.125 * d));
  if (d < 0.5) return 0.5 - d * (0.75 - d * d / 3.0);
  return (1.5 - d) * (1.5 - d) * (1.5 - d) / 6.0;
}

void tally_cover(struct body_tally *t, const struct body_pose *pose, const double x[3], double mass,
                 double spacing, int support)
{
  const double depth = -body_distance(pose, x, NULL) / spacing;
  if (!(depth < 1.0)) return;
  const double q = mass / beyond(depth, support);
  exact_add(&t->sum[TAKEN_COVER], q);
  exact_add(&t->sum[TAKEN_COVER2], q * q);
  if (t->log) push_log_add(t->log, pose, x, NULL, q);
}

double tally_area(const struct body_tally *t, double spacing)
{
  const double q = exact_value(&t->sum[TAKEN_COVER]), q2 = exact_value(&t->sum[TAKEN_COVER2]);
  return q2 > 0.0 ? spacing * spacing * q * (q / q2) : 0.0;
}
