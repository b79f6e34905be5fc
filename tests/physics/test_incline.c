/* A block of snow on a slope: gravity is tilted instead of the ground. For mu > tan(angle) it stays; else it
 * slides with g (sin - mu cos). */
#include "support/physics.h"

#include <math.h>
#include <stdio.h>

static const double g = 9.81, pi = 3.14159265358979323846;

/* Mean velocity along the slope. */
static double slide_speed(const struct run *run)
{
  const struct sums s = run_sums(run);
  return s.momentum[0] / s.mass;
}

static void start_block(struct run *run, double degrees, double friction, const char *integrator,
                        const char *transfer, const char *kind)
{
  const double angle = degrees * pi / 180.0;
  run_start(run,
            "domain: {lower: [-0.2, -0.1, -0.2], cells: [80, 20, 20], spacing: 0.02}\n"
            "gravity: [%.17g, %.17g, 0]\ntime: {end: 1}\nintegrator: %s\ntransfer: %s\n"
            "materials: {m: {kind: %s}}\nsnow:\n  - box: {lower: [-0.1, 0, -0.06], upper: [0.1, 0.08, "
            "0.06]}\n    volume: exact\n"
            "bodies:\n  ground: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: %g}\n",
            g * sin(angle), -g * cos(angle), integrator, transfer, kind, friction);
}

static void slide(double degrees, double friction, const char *integrator, const char *transfer,
                  const char *kind, double most)
{
  const double angle = degrees * pi / 180.0, wanted = g * (sin(angle) - friction * cos(angle));
  struct run run;
  start_block(&run, degrees, friction, integrator, transfer, kind);
  run_to(&run, 0.1);
  const double t0 = run.sim->clock.time, v0 = slide_speed(&run);
  run_to(&run, 0.4);
  const double found = (slide_speed(&run) - v0) / (run.sim->clock.time - t0), error = found / wanted - 1.0;
  print_message("%g degrees, mu %g, %s %s, %s: slides with %.4f m/s^2, theory %.4f (%+.3f %%)\n", degrees,
                friction, integrator, transfer, kind, found, wanted, 100.0 * error);
  assert_true(fabs(error) < most);
  run_end(&run);
}

static void block_slides_as_coulomb_says(void **state)
{
  (void)state;
  slide(30, 0.3, "{scheme: explicit}", "{scheme: flip}", "reference", 0.02);
  slide(30, 0.3, "{scheme: semi-implicit}", "{scheme: flip}", "reference", 0.002);
  slide(30, 0.3, "{scheme: semi-implicit}", "{scheme: flip}", "icy", 0.002);
  slide(30, 0.3, "{scheme: explicit}", "{scheme: apic}", "reference", 0.02);
  slide(20, 0.2, "{scheme: semi-implicit}", "{scheme: flip}", "reference", 0.002);
  slide(20, 0.05, "{scheme: explicit}", "{scheme: flip}", "reference", 0.02);
  slide(30, 0.3, "{contact: gap}", "{scheme: flip}", "reference", 0.01);
  slide(20, 0.2, "{contact: gap}", "{scheme: apic}", "icy", 0.01);
  slide(30, 0.3, "{scheme: explicit, contact: gap}", "{scheme: flip}", "reference", 0.02);
}

/* Gravity sets in at once, so the block shudders and slips a little before it holds. */
static void stick(double degrees, double friction, const char *integrator, const char *transfer)
{
  assert_true(friction > tan(degrees * pi / 180.0));
  struct run run;
  start_block(&run, degrees, friction, integrator, transfer, "reference");
  const double start = run_sums(&run).center[0];
  run_to(&run, 0.25);
  const double held = run_sums(&run).center[0];
  run_to(&run, 0.5);
  const double moved = run_sums(&run).center[0] - held, speed = slide_speed(&run);
  print_message(
      "%g degrees, mu %g, %s %s: slipped %.2f mm at the start, then %.1e m in 0.25 s, %.1e m/s left\n",
      degrees, friction, integrator, transfer, 1e3 * (held - start), moved, speed);
  assert_true(held - start < 5e-3 && fabs(moved) < 5e-5 && fabs(speed) < 1e-4);
  run_end(&run);
}

/* Close above tan(30 degrees) = 0.577 the undamped explicit block shudders on (the vibration of sliding
 * friction that makes brakes squeal) and creeps; the semi-implicit one does not. */
static void block_sticks(void **state)
{
  (void)state;
  stick(30, 0.65, "{scheme: semi-implicit}", "{scheme: flip}");
  stick(30, 0.8, "{scheme: semi-implicit}", "{scheme: flip}");
  stick(30, 0.8, "{scheme: explicit}", "{scheme: flip}");
  stick(20, 0.5, "{scheme: explicit}", "{scheme: apic}");
  stick(30, 0.65, "{contact: gap}", "{scheme: flip}");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(block_slides_as_coulomb_says),
    cmocka_unit_test(block_sticks),
};
PHYSICS_MAIN(tests);
