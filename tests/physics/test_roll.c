/* An elastic ball on a rough slope: it rolls with 5/7 g sin(angle), its lowest point at rest. Gravity is
 * turned instead of the ground. Contact by nodes holds it instead: the ball stands on all nodes that feel it,
 * a plate nearly as wide as itself. */
#include "support/physics.h"

#include <math.h>
#include <stdio.h>

static const double g = 9.81, pi = 3.14159265358979323846, h = 0.01;

struct rolled {
  double speed; /* over that of theory */
  double turn;  /* speed of the surface by its spin, over its own */
};

/* A ball of so many cells radius after 0.2 s. */
static struct rolled roll(int cells, double degrees, const char *contact, const char *kernel)
{
  const double angle = degrees * pi / 180.0, end = 0.2, radius = cells * h;
  const double wanted = 5.0 / 7.0 * g * sin(angle) * end;
  struct run run;
  run_start(&run,
            "domain: {lower: [%.17g, -0.04, %.17g], cells: [%d, %d, %d], spacing: %.17g}\n"
            "gravity: [%.17g, %.17g, 0]\ntime: {end: 1, frame_rate: 10}\n"
            "integrator: {contact: %s}\ntransfer: {scheme: apic, force: mls, kernel: %s}\n"
            "materials: {m: {model: neo_hookean, density: 400, young: 5e5}}\n"
            "snow:\n  - {sphere: {center: [0, %.17g, 0], radius: %.17g}, sampling: jittered, per_cell: 4}\n"
            "bodies:\n  ground: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.5}\n",
            -(cells + 5) * h, -(cells + 4) * h, 2 * cells + 18, 2 * cells + 12, 2 * cells + 8, h,
            g * sin(angle), -g * cos(angle), contact, kernel, radius, radius);
  run_to(&run, end);
  const struct sums s = run_sums(&run);
  double about = s.angular[2]; /* the run's are about the origin */
  about -= s.center[0] * s.momentum[1] - s.center[1] * s.momentum[0];
  const double spin = -about / (0.4 * s.mass * radius * radius), speed = s.momentum[0] / s.mass;
  const struct rolled found = {speed / wanted, speed > 0.0 ? spin * radius / speed : 0.0};
  print_message("radius %d cells, %g degrees, contact by %s, %s: speed %.3f of theory, surface %.3f of it\n",
                cells, degrees, contact, kernel, found.speed, found.turn);
  run_end(&run);
  return found;
}

static void balls_roll_by_the_gap(void **state)
{
  (void)state;
  const struct rolled large = roll(10, 20, "gap", "cubic"), small = roll(5, 20, "gap", "cubic"),
                      quick = roll(5, 20, "gap", "quadratic");
  assert_true(fabs(large.speed - 1.0) < 0.1 && fabs(large.turn - 1.0) < 0.1);
  assert_true(fabs(small.speed - 1.0) < 0.2 && fabs(small.turn - 1.0) < 0.1);
  assert_true(fabs(quick.speed - 1.0) < 0.2 && fabs(quick.turn - 1.0) < 0.1);
}

/* The limit that docs/accuracy.md gives, and the reason for the warning. */
static void nodes_hold_them(void **state)
{
  (void)state;
  assert_true(fabs(roll(5, 20, "nodes", "cubic").speed) < 0.1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(balls_roll_by_the_gap),
    cmocka_unit_test(nodes_hold_them),
};
PHYSICS_MAIN(tests);
