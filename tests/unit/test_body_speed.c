/* The bound of a body's speed, which steps are cut by, against the speeds of points of the body: never below
 * them, and over times as short as a step not far above. */
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "bodies/body.h"
#include "bodies/quaternion.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const double pi = 3.14159265358979323846;

enum { KEYS = 6, POINTS = 600 };

enum moves { STEADY, LINEAR, SMOOTH, LINEAR_CYCLE, SMOOTH_CYCLE, SWING, MOVES };

static struct motion *random_motion(uint64_t seed, bool smooth, bool cyclic)
{
  struct motion_key keys[KEYS];
  double time = 0.1;
  for (uint64_t k = 0; k < KEYS; k++) {
    keys[k].time = time;
    time += 0.15 + 0.5 * rng_uniform(seed, k, 0);
    for (uint64_t d = 0; d < 3; d++) keys[k].move[d] = 2.0 * rng_uniform(seed, k, 1 + d) - 1.0;
    for (uint64_t d = 0; d < 4; d++) keys[k].turn[d] = 2.0 * rng_uniform(seed, k, 4 + d) - 1.0;
    quaternion_normalize(keys[k].turn);
  }
  if (cyclic) {
    memcpy(keys[KEYS - 1].move, keys[0].move, sizeof keys[0].move);
    memcpy(keys[KEYS - 1].turn, keys[0].turn, sizeof keys[0].turn);
  }
  return motion_create(keys, KEYS, smooth, cyclic);
}

/* To and fro about one axis, as a pick is swung. */
static struct motion *swing(void)
{
  struct motion_key keys[KEYS];
  for (int k = 0; k < KEYS; k++) {
    const double w[3] = {0.0, 0.0, (k & 1 ? 4.0 : -50.0) * pi / 180.0};
    keys[k] = (struct motion_key){.time = 0.2 * k, .move = {-0.1, k & 1 ? -0.12 : 0.0, 0.0}};
    quaternion_exp(w, keys[k].turn);
  }
  return motion_create(keys, KEYS, true, false);
}

static struct shape make_shape(enum shape_kind kind)
{
  const double sine = sin(0.6), cosine = cos(0.6);
  struct shape s = {.kind = kind,
                    .center = {0.5, 1.0, -0.2},
                    .axis = {0.6, 0.8, 0.0},
                    .half = {0.4, 0.2, 0.3},
                    .radius = 0.25,
                    .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  if (kind == SHAPE_BOX)
    memcpy(s.axes, (double[9]){cosine, -sine, 0, sine, cosine, 0, 0, 0, 1}, sizeof s.axes);
  return s;
}

static struct body make_body(enum shape_kind kind, enum moves moves, bool off_centre)
{
  struct body body = {.name = "body", .shape = make_shape(kind), .pivot = {1.2, 1.4, 0.1}};
  body.pivot_given = off_centre;
  if (!off_centre) memset(body.pivot, 0, sizeof body.pivot);
  memcpy(body.velocity, (double[3]){0.9, -0.4, 0.3}, sizeof body.velocity);
  if (moves == STEADY)
    memcpy(body.spin, (double[3]){2.0, -7.0, 4.0}, sizeof body.spin);
  else if (moves == SWING)
    body.motion = swing();
  else
    body.motion = random_motion((uint64_t)moves, moves == SMOOTH || moves == SMOOTH_CYCLE,
                                moves == LINEAR_CYCLE || moves == SMOOTH_CYCLE);
  body_finish(&body);
  return body;
}

/* Points of the body from its centre, in its axes: a ball's all over its surface, a box's corners, a
 * capsule's two half balls. */
static void surface_point(const struct shape *s, int k, double out[3])
{
  const double height = 1.0 - (2.0 * k + 1.0) / POINTS, angle = 2.399963229728653 * k; /* golden */
  const double ring = sqrt(1.0 - height * height);
  const double unit[3] = {ring * cos(angle), height, ring * sin(angle)};
  for (int d = 0; d < 3; d++) {
    out[d] = s->radius * unit[d];
    if (s->kind == SHAPE_BOX) out[d] = (k >> d & 1 ? 1.0 : -1.0) * s->half[d];
    if (s->kind == SHAPE_CAPSULE)
      out[d] += (vec_dot(unit, s->axis) < 0.0 ? -1.0 : 1.0) * s->half[0] * s->axis[d];
  }
}

static double fastest_point(const struct body *body, double time)
{
  struct body_pose pose;
  double most = 0.0;
  body_pose_at(body, time, &pose);
  for (int k = 0; k < (body->shape.kind == SHAPE_BOX ? 8 : POINTS); k++) {
    double local[3], x[3], v[3];
    surface_point(&body->shape, k, local);
    shape_to_world(&pose.shape, local, x);
    vec_axpy(pose.shape.center, 1.0, x, x);
    body_velocity(&pose, x, v);
    most = fmax(most, vec_norm(v));
  }
  return most;
}

static double fastest_between(const struct body *body, double from, double length)
{
  const int samples = 12;
  double most = 0.0;
  for (int k = 0; k <= samples; k++) most = fmax(most, fastest_point(body, from + length * k / samples));
  return most;
}

static void check_bound(const struct body *body, double factor)
{
  const double always = body_max_speed(body);
  for (uint64_t k = 0; k < 60; k++)
    for (int power = 1; power <= 4; power++) {
      const double from = 3.2 * rng_uniform(9, k, 0), length = pow(10.0, -power);
      const double sampled = fastest_between(body, from, length);
      const double bound = body_max_speed_between(body, from, from + length);
      assert_true(sampled <= bound * (1.0 + 1e-12) && sampled <= always * (1.0 + 1e-12));
      if (power >= 3) assert_true(bound <= factor * sampled);
    }
}

static void bound_holds_and_is_close(void **state)
{
  (void)state;
  static const enum shape_kind kinds[] = {SHAPE_BOX, SHAPE_SPHERE, SHAPE_CAPSULE};
  for (int shape = 0; shape < 3; shape++)
    for (int moves = 0; moves < MOVES; moves++)
      for (int off = 0; off < 2; off++) {
        struct body body = make_body(kinds[shape], (enum moves)moves, off);
        check_bound(&body, 1.08);
        body_destroy(&body);
      }
  assert_int_equal(mem_balance(), 0);
}

/* What the bound is over all of a motion, from which a scene's steps are estimated. */
static void bound_of_all_times_is_close(void **state)
{
  (void)state;
  for (int moves = LINEAR; moves < MOVES; moves++) {
    struct body body = make_body(SHAPE_BOX, (enum moves)moves, true);
    double most = 0.0;
    for (int k = 0; k < 4000; k++) most = fmax(most, fastest_point(&body, 1e-3 * k));
    const double always = body_max_speed(&body);
    assert_true(most <= always && always < 1.2 * most);
    body_destroy(&body);
  }
}

/* Before its first key and after its last a body only drifts; at a key of a linear motion the speed jumps. */
static void bound_knows_where_keys_are(void **state)
{
  (void)state;
  const struct motion_key keys[3] = {{.time = 1.0, .turn = {1, 0, 0, 0}},
                                     {.time = 2.0, .move = {4, 0, 0}, .turn = {1, 0, 0, 0}},
                                     {.time = 4.0, .move = {4, 2, 0}, .turn = {1, 0, 0, 0}}};
  struct body ball = {.shape = {.kind = SHAPE_SPHERE, .radius = 0.5}, .start = 0.5, .end = 3.5};
  ball.motion = motion_create(keys, 3, false, false);
  assert_true(body_max_speed_between(&ball, 0.0, 0.9) == 0.0);
  assert_true(body_max_speed_between(&ball, 0.9, 1.0) == 4.0);
  assert_true(body_max_speed_between(&ball, 1.9, 1.95) == 4.0);
  assert_true(body_max_speed_between(&ball, 1.9, 2.0) == 4.0);
  assert_true(body_max_speed_between(&ball, 2.0, 2.0) == 1.0);
  assert_true(body_max_speed_between(&ball, 3.0, 9.0) == 1.0);
  assert_true(body_max_speed_between(&ball, 3.5, 9.0) == 0.0);
  assert_true(body_max_speed(&ball) == 4.0);
  body_destroy(&ball);
}

/* A drill: spin along the way adds as the other leg of a right angle. */
static void spin_along_the_way(void **state)
{
  (void)state;
  const struct body drill = {
      .shape = {.kind = SHAPE_SPHERE, .radius = 0.5}, .velocity = {3, 0, 0}, .spin = {8, 0, 0}};
  const double bound = body_max_speed_between(&drill, 1.0, 1.0);
  assert_true(fabs(bound - 5.0) < 1e-14);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bound_holds_and_is_close),
      cmocka_unit_test(bound_of_all_times_is_close),
      cmocka_unit_test(bound_knows_where_keys_are),
      cmocka_unit_test(spin_along_the_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
