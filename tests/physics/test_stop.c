/* Where the solve stops (integrator.stop): by strain it takes as many iterations in a frame that moves as in
 * one at rest, and snow in flight stays as it is. */
#include "support/physics.h"

#include <math.h>
#include <stdlib.h>

/* Iterations of two balls that meet, seen from a frame that moves at -speed. */
static int64_t collide(const char *integrator, double speed)
{
  struct run run;
  run_start(&run,
            "domain: {lower: [-1, -1, -1], cells: [100, 100, 100], spacing: 0.02}\n"
            "gravity: [0, 0, 0]\ntime: {end: 2, step: 4e-4}\nintegrator: %s\n"
            "snow:\n"
            "  - {sphere: {center: [-0.09, 0.02, 0], radius: 0.08}, velocity: [2, 0, %g]}\n"
            "  - {sphere: {center: [0.09, -0.02, 0], radius: 0.08}, velocity: [-2, 0, %g]}\n",
            integrator, speed, speed);
  for (int n = 0; n < 80; n++) run_advance(&run, 4e-4);
  const int64_t iterations = run.sim->totals.iterations;
  assert_int_equal(run.sim->totals.halvings, 0);
  run_end(&run);
  return iterations;
}

/* The nodes lie elsewhere in each frame, so that the counts are alike and not the same. */
static void a_moving_frame_costs_the_same(void **state)
{
  (void)state;
  static const char *const integrators[] = {"{stop: strain}", "{stop: strain, solver: pipelined}",
                                            "{stop: strain, preconditioner: none}", "{stop: velocity}"};
  for (int k = 0; k < 4; k++) {
    const int64_t rest = collide(integrators[k], 0.0), moving = collide(integrators[k], 10.0);
    print_message("%s: %lld iterations at rest, %lld at 10 m/s\n", integrators[k], (long long)rest,
                  (long long)moving);
    if (k < 3)
      assert_true(llabs((long long)(moving - rest)) * 25 < rest);
    else
      assert_true(5 * moving < 4 * rest); /* it sees the flight */
  }
}

/* The largest entry of |F_E - I| of a ball that has flown for half a second, at 8 m/s. */
static double ring(const char *integrator, double *iterations)
{
  struct run run;
  run_start(&run,
            "domain: {lower: [-0.1, -2, -0.1], cells: [500, 300, 20], spacing: 0.01}\n"
            "time: {end: 2, step: 5e-4}\nintegrator: %s\n"
            "snow:\n  - {sphere: {center: [0, 0, 0], radius: 0.05}, velocity: [8, 0, 0]}\n",
            integrator);
  for (int n = 0; n < 1000; n++) run_advance(&run, 5e-4);
  const struct particles *p = run.sim->p;
  double most = 0.0;
  for (int32_t i = 0; i < p->count; i++)
    for (int k = 0; k < 9; k++) most = fmax(most, fabs(p->fe[k][i] - (k % 4 == 0)));
  *iterations = (double)run.sim->totals.iterations / 1000.0;
  run_end(&run);
  return most;
}

static void flight_leaves_snow_alone(void **state)
{
  (void)state;
  double by_strain, by_velocity;
  const double strain = ring("{stop: strain}", &by_strain), before = ring("{stop: velocity}", &by_velocity);
  print_message("flight at 8 m/s: strain %.1e with %.2f iterations a step; stop: velocity %.1e with %.2f\n",
                strain, by_strain, before, by_velocity);
  assert_true(strain < 5e-5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_moving_frame_costs_the_same),
    cmocka_unit_test(flight_leaves_snow_alone),
};
PHYSICS_MAIN(tests);
