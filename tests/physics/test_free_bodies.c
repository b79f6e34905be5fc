/* Free bodies against known motions, and what snow and bodies keep together. */
#include "base/memory.h"
#include "base/vec.h"
#include "support/physics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A crumb of snow far from the body, which falls freely: a scene needs snow. */
#define CRUMB "snow: [{box: {center: [-0.7, 1.6, 0], size: [0.04, 0.04, 0.04]}, velocity: [%.17g, 0, 0]}]\n"

static const struct rigid_body *only_body(const struct run *run)
{
  return &run->sim->rigid->body[0];
}

/* A body on a plane, with gravity turned instead of it: the acceleration along the plane. */
static double slides_down(const char *shape, double degrees, double rub, double *off)
{
  const double angle = degrees * acos(-1.0) / 180.0, dt = 5e-4;
  struct run run;
  run_start(&run,
            "domain: {lower: [-2, -0.2, -1], cells: [200, 100, 100], spacing: 0.02}\n"
            "gravity: [%.17g, %.17g, 0]\ntime: {end: 2, step: %g}\nintegrator: {scheme: explicit}\n" CRUMB
            "bodies:\n  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, rub: %g}\n"
            "  body: {%s, mass: 3, rub: %g}\n",
            9.81 * sin(angle), -9.81 * cos(angle), dt, 0.0, rub, shape, rub);
  for (int n = 0; n < 100; n++) run_advance(&run, dt);
  const double before = only_body(&run)->state.velocity[0];
  for (int n = 0; n < 100; n++) run_advance(&run, dt);
  const struct free_state *state = &only_body(&run)->state;
  const double a = (state->velocity[0] - before) / (100 * dt);
  *off = fmax(fabs(state->velocity[1]), fabs(state->velocity[2]));
  run_end(&run);
  return a;
}

static void bodies_on_a_slope(void **state)
{
  (void)state;
  const char *box = "box: {center: [0, 0.05, 0], size: [0.2, 0.1, 0.2]}",
             *ball = "sphere: {center: [0, 0.1, 0], radius: 0.1}";
  const double g = 9.81, pi = acos(-1.0);
  const struct {
    const char *shape;
    double degrees, rub, expected;
  } cases[] = {{box, 30.0, 0.3, g * (sin(pi / 6) - 0.3 * cos(pi / 6))},
               {box, 30.0, 0.1, g * (sin(pi / 6) - 0.1 * cos(pi / 6))},
               {box, 20.0, 0.5, 0.0},
               {ball, 30.0, 0.5, g * sin(pi / 6) * 5.0 / 7.0},
               {ball, 30.0, 0.1, g * (sin(pi / 6) - 0.1 * cos(pi / 6))}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    double off;
    const double a = slides_down(cases[k].shape, cases[k].degrees, cases[k].rub, &off);
    print_message("%.3s, %g degrees, friction %g: %.12f m/s^2 (%.12f), off the plane %.1e m/s\n",
                  cases[k].shape, cases[k].degrees, cases[k].rub, a, cases[k].expected, off);
    assert_true(fabs(a - cases[k].expected) < 1e-10 && off < 1e-12);
  }
}

/* Heights of a ball that bounces, over the first. */
static void ball_bounces(void **state)
{
  (void)state;
  const double dt = 5e-4, expected[2] = {0.640, 0.410};
  struct run run;
  run_start(&run,
            "domain: {lower: [-1, -0.2, -1], cells: [100, 140, 100], spacing: 0.02}\n"
            "time: {end: 4, step: %g}\nintegrator: {scheme: explicit}\n" CRUMB
            "bodies:\n  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
            "  ball: {sphere: {center: [0, 0.4, 0], radius: 0.1}, density: 500, bounce: 0.8}\n",
            dt, 0.0);
  double highest = 0.0, last = 0.0;
  int bounces = 0;
  double heights[3] = {0.3, 0.0, 0.0};
  for (int n = 0; n < 2400 && bounces < 3; n++) {
    run_advance(&run, dt);
    const double v = only_body(&run)->state.velocity[1], y = only_body(&run)->state.center[1] - 0.1;
    if (last < 0.0 && v > 0.0) {
      if (bounces > 0) heights[bounces] = highest;
      bounces++;
      highest = 0.0;
    }
    highest = fmax(highest, y);
    last = v;
  }
  print_message("ball that bounces: %.3f, %.3f of the first height\n", heights[1] / 0.3, heights[2] / 0.3);
  for (int k = 0; k < 2; k++) assert_true(fabs(heights[k + 1] / 0.3 - expected[k]) < 0.006);
  run_end(&run);
}

/* Snow that meets a free box in space: nothing comes from outside. */
static void momentum_of_both(void **state)
{
  (void)state;
  static const struct {
    const char *integrator, *transfer;
    bool angular; /* the transfer keeps it */
  } cases[] = {{"{scheme: explicit}", "{scheme: apic}", true},
               {"{scheme: explicit}", "{scheme: flip}", false},
               {"{tolerance: 1e-4, precision: double}", "{scheme: flip}", false},
               {"{stop: strain, precision: double}", "{scheme: apic}", false}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct run run;
    run_start(&run,
              "domain: {lower: [-0.4, -0.4, -0.4], cells: [40, 40, 40], spacing: 0.02}\n"
              "gravity: [0, 0, 0]\ntime: {end: 2, step: 2e-4}\nintegrator: %s\ntransfer: %s\n"
              "snow: [{box: {center: [-0.12, 0.01, 0], size: [0.12, 0.12, 0.12]}, velocity: [4, 0.5, 0]}]\n"
              "bodies: {box: {box: {center: [0.04, 0, 0.01], size: [0.12, 0.16, 0.14]}, density: 200,\n"
              "  velocity: [-2, 0, 0], spin: [0, 3, 5]}}\n",
              cases[k].integrator, cases[k].transfer);
    const struct rigid_body *b = only_body(&run);
    double before[6], after[6], turned = 0.0;
    struct sums sums = run_sums(&run);
    double *to = before;
    for (int when = 0; when < 2; when++, to = after) {
      if (when) {
        for (int n = 0; n < 120; n++) run_advance(&run, 2e-4);
        sums = run_sums(&run);
      }
      double orbit[3];
      vec_cross(b->state.center, b->state.velocity, orbit);
      for (int d = 0; d < 3; d++) {
        to[d] = sums.momentum[d] + b->free->mass * b->state.velocity[d];
        to[3 + d] = sums.angular[d] + b->free->mass * orbit[d] + b->state.angular[d];
      }
    }
    const double size = sums.size + b->free->mass * vec_norm(b->state.velocity);
    double linear = 0.0, angular = 0.0;
    for (int d = 0; d < 3; d++) {
      linear = fmax(linear, fabs(after[d] - before[d]) / size);
      angular = fmax(angular, fabs(after[3 + d] - before[3 + d]) / (0.1 * size));
      turned += fabs(b->state.velocity[d] - b->free->velocity[d]);
    }
    print_message("%s, %s: momentum %.1e, angular %.1e\n", cases[k].integrator, cases[k].transfer, linear,
                  angular);
    assert_true(turned > 0.5); /* they met */
    assert_true(linear < 1e-12);
    if (cases[k].angular) assert_true(angular < 1e-12);
    run_end(&run);
  }
}

/* Light and heavy balls laid on stiff snow stay without jitter. */
static void rests_without_jitter(void **state)
{
  (void)state;
  const double densities[2] = {50.0, 7800.0}, allowed[2] = {2e-3, 2e-2};
  for (int k = 0; k < 2; k++) {
    struct run run;
    run_start(&run,
              "domain: {lower: [-0.2, -0.06, -0.2], cells: [20, 20, 20], spacing: 0.02}\n"
              "time: {end: 2, max_step: 1e-3}\nmaterials: {snow: {young: 5e6}}\n"
              "snow: [{box: {lower: [-0.16, 0, -0.16], upper: [0.16, 0.08, 0.16]}}]\n"
              "bodies:\n  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
              "  ball: {sphere: {center: [0, 0.141, 0], radius: 0.06}, density: %g}\n",
              densities[k]);
    run_to(&run, 0.35);
    double square = 0.0, steps = 0.0, force = 0.0, momentum = only_body(&run)->state.velocity[1];
    const double begin = run.sim->clock.time;
    while (run.sim->clock.time < 0.55) {
      run_step(&run);
      square += vec_dot(only_body(&run)->state.velocity, only_body(&run)->state.velocity);
      steps += 1.0;
    }
    force = 1.0 + (only_body(&run)->state.velocity[1] - momentum) / (9.81 * (run.sim->clock.time - begin));
    print_message(
        "ball of %g kg/m^3 on stiff snow: rms %.1e m/s, bears %.4f of its weight, %.0f steps, at %.4f m\n",
        densities[k], sqrt(square / steps), force, steps, only_body(&run)->state.center[1]);
    assert_true(sqrt(square / steps) < allowed[k] && fabs(force - 1.0) < 0.02);
    run_end(&run);
  }
}

/* One grain that falls through still air, and one that the wind takes along. */
static void grains_in_air(void **state)
{
  (void)state;
  struct run run;
  run_start(&run,
            "domain: {lower: [-1, -4, -1], cells: [40, 100, 40], spacing: 0.05}\n"
            "time: {end: 3, step: 1e-3}\nintegrator: {scheme: explicit}\n"
            "snow: [{box: {center: [0, 0.5, 0], size: [0.025, 0.025, 0.025]}, per_cell: 8}]\nair: {}\n");
  for (int n = 0; n < 1500; n++) run_advance(&run, 1e-3);
  const double fall = -run.sim->p->v[1][0];
  run_end(&run);
  run_start(&run, "domain: {lower: [-1, -1, -1], cells: [200, 40, 40], spacing: 0.05}\ngravity: [0, 0, 0]\n"
                  "time: {end: 3, step: 1e-3}\nintegrator: {scheme: explicit}\n"
                  "snow: [{box: {center: [0, 0, 0], size: [0.025, 0.025, 0.025]}, per_cell: 8}]\n"
                  "air: {wind: [4, 0, 1]}\n");
  for (int n = 0; n < 1000; n++) run_advance(&run, 1e-3);
  const double along = run.sim->p->v[0][0], across = run.sim->p->v[2][0];
  run_end(&run);
  print_message("a grain falls at %.6f m/s (2.040759), drifts at %.3f, %.3f m/s\n", fall, along, across);
  assert_true(fabs(fall - 2.040759) < 1e-5);
  assert_true(along > 3.5 && along < 4.0 && fabs(across - along / 4.0) < 1e-12);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(bodies_on_a_slope), cmocka_unit_test(ball_bounces),
    cmocka_unit_test(momentum_of_both),  cmocka_unit_test(rests_without_jitter),
    cmocka_unit_test(grains_in_air),
};

PHYSICS_MAIN(tests);
