/* Free bodies by themselves: mass and inertia from shapes, flight, springs, contact of balls. */
#include "base/memory.h"
#include "base/vec.h"
#include "bodies/body_contact.h"
#include "bodies/free_body.h"
#include "io/scene/scene.h"
#include "levelset/shape_moments.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct scene *parse(const char *shape)
{
  char text[1024];
  struct scene *scene = NULL;
  struct error err = {0};
  snprintf(text, sizeof text,
           "domain: {lower: [-1, -1, -1], cells: [50, 50, 50], spacing: 0.04}\ntime: {end: 1}\n"
           "snow: [{sphere: {center: [0.7, 0.7, 0.7], radius: 0.1}}]\nbodies: {b: {%s, density: 1}}\n",
           shape);
  if (scene_parse(&scene, "free.yml", text, NULL, 0, &err)) fail_msg("%s", err.text);
  return scene;
}

/* Mass, centre and inertia by a lattice of points in the shape. */
static void sample(const struct shape *shape, double *mass, double center[3], double inertia[9])
{
  enum { N = 160 };
  double lower[3], upper[3], first[3] = {0.0}, second[9] = {0.0}, count = 0.0;
  assert_true(shape_bounds(shape, lower, upper));
  for (int k = 0; k < N * N * N; k++) {
    const int at[3] = {k % N, k / N % N, k / N / N};
    double x[3];
    for (int d = 0; d < 3; d++) x[d] = lower[d] + (upper[d] - lower[d]) * (at[d] + 0.5) / N;
    if (!shape_contains(shape, x)) continue;
    count += 1.0;
    for (int d = 0; d < 3; d++) {
      first[d] += x[d];
      for (int e = 0; e < 3; e++) second[3 * d + e] += x[d] * x[e];
    }
  }
  *mass = count;
  for (int d = 0; d < 3; d++) *mass *= (upper[d] - lower[d]) / N;
  for (int d = 0; d < 3; d++) center[d] = first[d] / count;
  double trace = 0.0;
  for (int d = 0; d < 3; d++) trace += second[4 * d] / count - center[d] * center[d];
  for (int d = 0; d < 3; d++)
    for (int e = 0; e < 3; e++)
      inertia[3 * d + e] = *mass * ((d == e) * trace - (second[3 * d + e] / count - center[d] * center[e]));
}

static void inertia_of_shapes(void **state)
{
  (void)state;
  static const struct {
    const char *shape;
    double exact; /* what the lattice allows */
  } cases[] = {
      {"sphere: {center: [0.1, 0, 0], radius: 0.3}", 3e-3},
      {"box: {center: [0.1, -0.1, 0], size: [0.4, 0.2, 0.6], rotate: {axis: [1, 2, 3], degrees: 40}}", 6e-3},
      {"capsule: {from: [-0.2, 0, 0], to: [0.3, 0.2, 0.1], radius: 0.1}", 6e-3},
      {"cylinder: {from: [-0.2, 0, 0], to: [0.3, 0.2, 0.1], radius: 0.15}", 6e-3},
      {"cone: {from: [-0.2, 0, 0], to: [0.3, 0.2, 0.1], radius: 0.2, end_radius: 0.05}", 6e-3},
      {"wedge: {center: [0.1, 0, 0], size: [0.4, 0.3, 0.2], rotate: {axis: [0, 1, 1], degrees: 25}}", 6e-3},
      {"offset: {of: {box: {center: [0.1, 0, 0], size: [0.3, 0.2, 0.4]}}, distance: 0.05}", 6e-3},
      {"difference: [{sphere: {center: [0, 0, 0], radius: 0.3}}, {box: {center: [0.2, 0, 0], size: [0.3, "
       "0.2, "
       "0.4]}}]",
       6e-3},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct scene *scene = parse(cases[k].shape);
    const struct body *body = &scene->bodies[0];
    double mass, center[3], inertia[9], worst = 0.0, gap[3];
    sample(&body->shape, &mass, center, inertia);
    vec_sub(body->free->center, center, gap);
    for (int n = 0; n < 9; n++) worst = fmax(worst, fabs(body->free->spread[n] - inertia[n]));
    worst /= body->free->moment[2];
    print_message("%-60.60s mass %.1e  centre %.1e m  inertia %.1e\n", cases[k].shape,
                  fabs(body->free->mass / mass - 1.0), vec_norm(gap), worst);
    assert_true(fabs(body->free->mass / mass - 1.0) < cases[k].exact && vec_norm(gap) < 1e-3);
    assert_true(worst < cases[k].exact);
    scene_destroy(&scene);
  }
}

/* The sum over boxes against the closed formula of the same body. */
static void sums_are_as_good_as_formulas(void **state)
{
  (void)state;
  struct scene *exact = parse("sphere: {center: [0, 0, 0], radius: 0.3}"),
               *summed = parse("offset: {of: {sphere: {center: [0, 0, 0], radius: 0.25}}, distance: 0.05}");
  const struct free_body *a = exact->bodies[0].free, *b = summed->bodies[0].free;
  print_message("sphere as an offset: mass %.1e, inertia %.1e\n", fabs(b->mass / a->mass - 1.0),
                fabs(b->moment[1] / a->moment[1] - 1.0));
  assert_true(fabs(b->mass / a->mass - 1.0) < 1e-3 && fabs(b->moment[1] / a->moment[1] - 1.0) < 1e-3);
  scene_destroy(&exact);
  scene_destroy(&summed);
}

/* 10^5 steps of 0.5 ms: the angular momentum keeps its bits, and the energy does not drift. */
static void flight_does_not_drift(void **state)
{
  (void)state;
  static const double still[3] = {0.0, 0.0, 0.0};
  const double moments[2][3] = {{1.0, 2.0, 3.0}, {0.3, 1.0, 1.0}}, allowed[2] = {1e-6, 1e-12};
  for (int k = 0; k < 2; k++) {
    struct free_body body = {.mass = 2.0, .spin = {8.0, 12.0, 5.0}, .velocity = {1.0, 2.0, 3.0}};
    for (int d = 0; d < 3; d++) {
      body.spread[4 * d] = body.moment[d] = moments[k][d];
      body.axes[d][d] = 1.0;
    }
    struct free_state now, next, first;
    free_state_begin(&body, &now);
    first = now;
    const double energy = free_kinetic(&body, &now);
    double worst = 0.0, late = 0.0;
    for (int n = 0; n < 100000; n++) {
      struct free_begin begin;
      free_begin(&body, &now, still, n * 5e-4, 5e-4, &begin);
      free_advance(&body, &now, begin.before, begin.free, 5e-4, &next);
      now = next;
      const double off = fabs(free_kinetic(&body, &now) / energy - 1.0);
      worst = fmax(worst, off);
      if (n >= 90000) late = fmax(late, off);
    }
    print_message("flight, moments %g %g %g: energy within %.1e, of the last tenth %.1e\n", moments[k][0],
                  moments[k][1], moments[k][2], worst, late);
    assert_memory_equal(now.angular, first.angular, sizeof now.angular);
    assert_true(worst < allowed[k] && late < allowed[k]);
    assert_true(fabs(now.center[0] - 50.0) < 1e-9 && now.turn[0] != 1.0);
  }
}

/* A taut spring far stiffer than the step allows an explicit one: it comes to rest at its length. */
static void springs_are_implicit(void **state)
{
  (void)state;
  static const double down[3] = {0.0, -10.0, 0.0};
  struct free_spring spring = {.stiffness = 1e6, .damping = 100.0, .length = 0.5};
  struct free_body body = {.mass = 1.0, .center = {0.3, -0.4, 0.0}, .spring = &spring, .spring_count = 1};
  for (int d = 0; d < 3; d++) body.spread[4 * d] = body.moment[d] = body.axes[d][d] = 1.0;
  struct free_state now, next;
  free_state_begin(&body, &now);
  double most = 0.0;
  for (int n = 0; n < 20000; n++) {
    struct free_begin begin;
    free_begin(&body, &now, down, n * 1e-2, 1e-2, &begin);
    free_advance(&body, &now, begin.before, begin.free, 1e-2, &next);
    now = next;
    most = fmax(most, fabs(vec_norm(now.center) - 0.5));
  }
  print_message("pendulum on a spring: %.1e m off its length at most, ends at %.4f %.6f\n", most,
                now.center[0], now.center[1]);
  assert_true(most < 0.02 && fabs(now.center[1] + 0.50001) < 1e-4 && fabs(now.center[0]) < 0.05);
}

/* A locked turn keeps its first spin, and drives nothing else. */
static void locks_hold(void **state)
{
  (void)state;
  static const double down[3] = {0.0, -10.0, 0.0};
  struct free_push push = {.torque = {1.0, 2.0, 3.0}, .force = {5.0, 0.0, 0.0}};
  struct free_body body = {.mass = 1.0,
                           .spin = {0.0, 7.0, 0.0},
                           .velocity = {3.0, 0.0, 0.0},
                           .push = &push,
                           .push_count = 1,
                           .lock = {true, true, false, true, true, true}};
  for (int d = 0; d < 3; d++) {
    body.spread[4 * d] = body.moment[d] = 1.0 + d;
    body.axes[d][d] = 1.0;
  }
  struct free_state now, next;
  free_state_begin(&body, &now);
  for (int n = 0; n < 1000; n++) {
    struct free_begin begin;
    double spin[3];
    free_begin(&body, &now, down, n * 1e-3, 1e-3, &begin);
    free_advance(&body, &now, begin.before, begin.free, 1e-3, &next);
    now = next;
    free_spin(&body, &now, spin);
    assert_true(spin[0] == 0.0 && spin[1] == 7.0 && spin[2] == 0.0);
    assert_true(now.velocity[0] == 3.0 && now.velocity[1] == 0.0 && now.velocity[2] == 0.0);
  }
  assert_true(fabs(now.center[0] - 3.0) < 1e-12 && now.center[1] == 0.0);
}

/* Outside of shapes made of parts the distance is a bound: a ball above the mouth of a tray touches nothing,
 * and one on its floor or at its wall does. */
static void balls_touch_real_surfaces(void **state)
{
  (void)state;
  static const double heights[3] = {0.3, 0.074, 0.15}, sides[3] = {0.0, 0.0, 0.176},
                      down[3] = {0.0, -9.81, 0.0};
  for (int k = 0; k < 3; k++) {
    char text[512];
    snprintf(
        text, sizeof text,
        "sphere: {center: [%g, %g, 0], radius: 0.075}, density: 500},\n  tray: {difference: [{box: {lower: "
        "[-0.3, -0.05, -0.3], upper: [0.3, 0.25, 0.3]}}, {box: {lower: [-0.25, 0, -0.25], upper: [0.25, 0.3, "
        "0.25]}}], density: 1}, c: {sphere: {center: [0.7, -0.7, 0.7], radius: 0.1}",
        sides[k], heights[k]);
    struct scene *scene = parse(text);
    struct body_pose pose[2];
    struct balls balls[2] = {{0}, {0}};
    struct touchings touchings = {0};
    struct solid solids[2];
    memset(solids, 0, sizeof solids);
    for (int b = 0; b < 2; b++) {
      body_pose_at(&scene->bodies[b], 0.0, &pose[b]);
      balls_create(&balls[b], &scene->bodies[b], scene->spacing);
      solids[b].pose = &pose[b];
    }
    solids[0].free = true;
    touchings_find(&touchings, solids, balls, 2, 0.025, 5e-4, down);
    double least = 1.0;
    for (int32_t t = 0; t < touchings.count; t++) least = fmin(least, touchings.touching[t].gap);
    print_message("ball at %g, %g in a tray: %d contacts, nearest %.4f m\n", sides[k], heights[k],
                  touchings.count, least);
    if (k == 0)
      assert_int_equal(touchings.count, 0);
    else
      assert_true(touchings.count > 0 && fabs(least + 0.001) < 5e-4);
    for (int b = 0; b < 2; b++) balls_free(&balls[b]);
    mem_free(touchings.touching);
    scene_destroy(&scene);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(inertia_of_shapes),
      cmocka_unit_test(sums_are_as_good_as_formulas),
      cmocka_unit_test(flight_does_not_drift),
      cmocka_unit_test(springs_are_implicit),
      cmocka_unit_test(locks_hold),
      cmocka_unit_test(balls_touch_real_surfaces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
