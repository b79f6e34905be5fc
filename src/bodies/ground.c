#include "bodies/ground.h"

#include "base/simd.h"
#include "base/vec.h"
#include "bodies/body.h"
#include "bodies/zones.h"

#include <math.h>

const struct ground_law *ground_law_at(const struct body_pose *pose, const double x[3])
{
  const struct ground *ground = &pose->body->ground;
  const struct ground_law *zone = ground->zones ? zones_law_at(ground->zones, x) : NULL;
  return zone ? zone : &ground->law;
}

static double law_friction(const struct ground_law *law, double speed)
{
  if (law->friction_speed == 0.0) return law->friction;
  return law->friction + (law->fast_friction - law->friction) * speed / (speed + law->friction_speed);
}

double ground_friction(const struct body_pose *pose, const double x[3], double speed)
{
  return law_friction(ground_law_at(pose, x), speed);
}

/* 1 - exp(-x), x >= 0; our own, since libm chooses its variants by CPU. */
static double saturation(double x)
{
  return x < 1.0 ? -vd_expm1(vd_set(-x))[0] : 1.0 - vd_exp(vd_set(-fmin(x, 700.0)))[0];
}

/* m/s that Coulomb and cohesion can take from the slip, with `pressed` (m/s) taken along the normal. A node
 * has the area h^2 / n_max: along the normal's largest axis exactly one node of each grid line lies in the
 * layer, and its line crosses so much of the surface. At the rim it is less by the volume that is missing. */
static double most_stopped(const struct ground_law *law, const struct ground_node *node, double friction,
                           double pressed, double steepest, double half_space)
{
  double stop = friction * pressed;
  if (law->cohesion == 0.0) return stop;
  const double cell = node->spacing * node->spacing * node->spacing;
  const double area =
      node->spacing * node->spacing / steepest * fmin(1.0, node->volume / (half_space * cell));
  if (!(area > 0.0)) return stop;
  const double push = node->mass * pressed / (node->dt * area);
  stop += node->dt * area / node->mass * (1.0 - friction) * law->cohesion * saturation(push / law->cohesion);
  return stop;
}

/* The root of u + k u^2 = speed. */
static double dragged(const struct ground_law *law, const struct ground_node *node, double weight,
                      double speed, double steepest, double half_space)
{
  const double cell = node->spacing * node->spacing * node->spacing;
  const double cells = node->volume > 0.0 ? fmin(cell / node->volume, 1.0 / half_space) : 1.0 / half_space;
  const double k = node->dt * weight / (law->turbulence * node->spacing * steepest) * cells;
  return 2.0 * speed / (1.0 + sqrt(1.0 + 4.0 * k * speed));
}

bool ground_collide(const struct body_pose *pose, const double x[3], double v[3],
                    const struct ground_node *node, double closing, struct body_touch *touch)
{
  double n[3], carried[3], relative[3], slide[3];
  const double distance = body_distance(pose, x, NULL);
  if (distance > 0.0) return false;
  body_distance(pose, x, n);
  if (body_sticks(pose, n)) return body_collide_with(pose, x, v, 0.0, closing, touch);
  body_velocity(pose, x, carried);
  if (closing > 0.0) vec_axpy(carried, -closing, n, carried);
  vec_sub(v, carried, relative);
  const double normal = vec_dot(relative, n);
  if (normal >= 0.0) return false;

  vec_axpy(relative, -normal, n, slide);
  const struct ground_law *law = ground_law_at(pose, x);
  const double speed = vec_norm(slide), friction = law_friction(law, speed);
  const double steepest = fmax(fmax(fabs(n[0]), fabs(n[1])), fabs(n[2]));
  const double half_space = node->support == 4 ? 1.0 / 24.0 : 1.0 / 48.0; /* one cell below its surface */
  const bool top = -distance < steepest * node->spacing;
  const double stop =
      top ? most_stopped(law, node, friction, -normal, steepest, half_space) : -friction * normal;
  double left = fmax(speed - stop, 0.0);
  if (top && law->turbulence > 0.0)
    left = dragged(law, node, pose->body->ground.weight, left, steepest, half_space);
  const bool slides = left > 0.0 || stop == 0.0;
  if (touch) *touch = (struct body_touch){{n[0], n[1], n[2]}, -normal, false, slides};
  for (int d = 0; d < 3; d++) v[d] = carried[d];
  if (left > 0.0) vec_axpy(carried, left / speed, slide, v);
  return true;
}
