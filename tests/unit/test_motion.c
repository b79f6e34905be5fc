/* Motion through keys: velocities against finite differences of the motion, keys met exactly, bounds that
 * hold; and what bodies add: pivots, times of being there, sticking on steep parts. */
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "bodies/body.h"
#include "bodies/quaternion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { KEYS = 6 };

static void random_keys(uint64_t seed, bool closed, struct motion_key keys[KEYS])
{
  double time = 0.3;
  for (uint64_t k = 0; k < KEYS; k++) {
    keys[k].time = time;
    time += 0.2 + rng_uniform(seed, k, 0);
    for (uint64_t d = 0; d < 3; d++) keys[k].move[d] = 2.0 * rng_uniform(seed, k, 1 + d) - 1.0;
    for (uint64_t d = 0; d < 4; d++) keys[k].turn[d] = 2.0 * rng_uniform(seed, k, 4 + d) - 1.0;
    quaternion_normalize(keys[k].turn);
  }
  if (!closed) return;
  memcpy(keys[KEYS - 1].move, keys[0].move, sizeof keys[0].move);
  memcpy(keys[KEYS - 1].turn, keys[0].turn, sizeof keys[0].turn);
}

static struct body make_body(uint64_t seed, bool smooth, bool cyclic)
{
  struct motion_key keys[KEYS];
  random_keys(seed, cyclic, keys);
  struct body body = {.name = "box",
                      .shape = {.kind = SHAPE_BOX,
                                .center = {0.5, 1.0, -0.2},
                                .axis = {0, 1, 0},
                                .half = {0.4, 0.2, 0.3},
                                .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                      .velocity = {0.3, 0.0, -0.1},
                      .pivot = {0.9, 1.3, 0.1},
                      .pivot_given = true};
  body.motion = motion_create(keys, KEYS, smooth, cyclic);
  body_finish(&body);
  return body;
}

static void carried_point(const struct body *body, double time, const double local[3], double out[3])
{
  struct body_pose pose;
  body_pose_at(body, time, &pose);
  shape_to_world(&pose.shape, local, out);
  vec_axpy(out, 1.0, pose.shape.center, out);
}

/* Distance in time to the nearest key: velocities of linear motions jump there. */
static double key_gap(const struct motion *m, double time)
{
  const double first = m->key[0].time, period = m->key[m->count - 1].time - first;
  double gap = INFINITY;
  if (m->cyclic) time = first + fmod(fmod(time - first, period) + period, period);
  for (int k = 0; k < m->count; k++) gap = fmin(gap, fabs(time - m->key[k].time));
  return gap;
}

static void velocity_is_the_derivative_of_the_motion(void **state)
{
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    struct body body = make_body((uint64_t)kind, kind & 1, kind & 2);
    const double e = 1e-5, reach = shape_reach(&body.shape);
    for (uint64_t k = 0; k < 400; k++) {
      const double t = 8.0 * rng_uniform(1, k, 0);
      double local[3], here[3], before[3], after[3], v[3];
      if (key_gap(body.motion, t) < 2.0 * e) continue;
      for (uint64_t d = 0; d < 3; d++) local[d] = 0.4 * (rng_uniform(1, k, 1 + d) - 0.5);
      carried_point(&body, t, local, here);
      carried_point(&body, t - e, local, before);
      carried_point(&body, t + e, local, after);
      struct body_pose pose;
      body_pose_at(&body, t, &pose);
      body_velocity(&pose, here, v);
      for (int d = 0; d < 3; d++) assert_true(fabs((after[d] - before[d]) / (2.0 * e) - v[d]) < 1e-6);
      assert_true(vec_norm(local) > reach || vec_norm(v) <= body_max_speed(&body) + 1e-12);
      assert_true(vec_norm(local) > reach ||
                  vec_norm(v) <= body_max_speed_between(&body, t, t + 1e-3) + 1e-12);
    }
    body_destroy(&body);
  }
  assert_int_equal(mem_balance(), 0);
}

static double gap_of(const double a[3], const double b[3])
{
  double gap[3];
  vec_sub(a, b, gap);
  return vec_norm(gap);
}

/* Pieces cover a motion from before it to behind it, and their bounds hold at every moment of them. */
static void pieces_hold(void **state)
{
  (void)state;
  enum { MOMENTS = 20 };
  for (int kind = 0; kind < 4; kind++) {
    struct motion_key keys[KEYS];
    random_keys(20 + (uint64_t)kind, kind & 2, keys);
    struct motion *m = motion_create(keys, KEYS, kind & 1, kind & 2);
    const double end = keys[KEYS - 1].time + 1.0;
    int pieces = 0;
    for (double from = 0.0, next; from < end; from = next, pieces++) {
      struct motion_piece piece;
      next = fmin(end, motion_piece_from(m, from, end, &piece));
      assert_true(next > from && (piece.speed == 0.0 || next - from <= 2.0 * piece.half + 1e-12));
      for (int k = 0; k < MOMENTS && next - from > 1e-12; k++) { /* else rounding takes it past a key */
        const double f = (k + 0.5) / MOMENTS, away = fabs(f - 0.5) * (next - from);
        struct motion_state s;
        motion_at(m, from + f * (next - from), &s);
        assert_true(vec_norm(s.velocity) <= piece.speed * (1.0 + 1e-12));
        assert_true(vec_norm(s.spin) <= piece.rate * (1.0 + 1e-12));
        assert_true(gap_of(s.velocity, piece.middle.velocity) <= away * piece.push + 1e-11);
        assert_true(gap_of(s.spin, piece.middle.spin) <= away * piece.twist + 1e-11);
      }
    }
    assert_true(pieces > 16 * (KEYS - 1) && pieces < 20 * KEYS * (kind & 2 ? 2 : 1));
    motion_destroy(&m);
  }
}

static void keys_are_met_and_smooth_motion_has_no_kinks(void **state)
{
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    struct motion_key keys[KEYS];
    random_keys(10 + (uint64_t)kind, kind & 2, keys);
    struct motion *m = motion_create(keys, KEYS, kind & 1, kind & 2);
    for (int k = 0; k < KEYS; k++) {
      struct motion_state s, left, right;
      motion_at(m, keys[k].time, &s);
      double along = 0.0;
      for (int d = 0; d < 3; d++) assert_true(fabs(s.move[d] - keys[k].move[d]) < 1e-14);
      for (int d = 0; d < 4; d++) along += s.turn[d] * keys[k].turn[d];
      assert_true(fabs(fabs(along) - 1.0) < 1e-14);
      motion_at(m, keys[k].time - 1e-9, &left);
      motion_at(m, keys[k].time + 1e-9, &right);
      for (int d = 0; d < 3 && (kind & 1); d++) {
        assert_true(fabs(left.velocity[d] - right.velocity[d]) < 1e-6);
        assert_true(fabs(left.spin[d] - right.spin[d]) < 1e-6);
      }
    }
    struct motion_state rest;
    motion_at(m, -5.0, &rest);
    assert_true((kind & 2) || (vec_norm(rest.velocity) == 0.0 && vec_norm(rest.spin) == 0.0));
    motion_at(m, 100.0, &rest);
    assert_true((kind & 2) || (vec_norm(rest.velocity) == 0.0 && vec_norm(rest.spin) == 0.0));
    motion_destroy(&m);
  }
}

/* A third of a turn in equal steps: linear interpolation turns at a constant rate about the axis. */
static void linear_turns_evenly(void **state)
{
  (void)state;
  struct motion_key keys[2] = {{.time = 1.0, .turn = {1, 0, 0, 0}},
                               {.time = 3.0, .turn = {0.5, 0, sqrt(0.75), 0}}};
  struct motion *m = motion_create(keys, 2, false, false);
  for (int k = 1; k < 20; k++) {
    struct motion_state s;
    motion_at(m, 1.0 + 0.1 * k, &s);
    const double angle = 2.0 * 3.14159265358979323846 / 3.0;
    assert_true(fabs(s.spin[1] - angle / 2.0) < 1e-14 && fabs(s.spin[0]) < 1e-15);
    assert_true(fabs(2.0 * acos(s.turn[0]) - angle * 0.05 * k) < 1e-14);
  }
  motion_destroy(&m);
}

static void cycles_repeat(void **state)
{
  (void)state;
  struct motion_key keys[KEYS];
  random_keys(3, true, keys);
  struct motion *m = motion_create(keys, KEYS, true, true);
  const double period = keys[KEYS - 1].time - keys[0].time;
  for (uint64_t k = 0; k < 50; k++) {
    const double t = keys[0].time + period * rng_uniform(2, k, 0);
    struct motion_state a, b;
    motion_at(m, t, &a);
    motion_at(m, t + 7.0 * period, &b);
    for (int d = 0; d < 3; d++)
      assert_true(fabs(a.move[d] - b.move[d]) < 1e-11 && fabs(a.spin[d] - b.spin[d]) < 1e-10);
  }
  motion_destroy(&m);
}

static void body_comes_and_goes(void **state)
{
  (void)state;
  const struct body wall = {.shape = {.kind = SHAPE_PLANE, .axis = {0, 1, 0}}, .start = 1.0, .end = 2.0};
  const double under[3] = {0, -1, 0};
  for (int k = 0; k < 4; k++) {
    static const double times[] = {0.999, 1.0, 1.999, 2.0};
    struct body_pose pose;
    double v[3] = {0, -1, 0};
    body_pose_at(&wall, times[k], &pose);
    const bool there = k == 1 || k == 2;
    assert_int_equal(body_may_touch(&pose, under, 0.1), there);
    assert_int_equal(body_collide(&pose, under, v), there);
  }
  assert_true(body_max_speed_between(&wall, 3.0, 4.0) == 0.0);
}

/* A ball that holds snow on its sides and below, not on top. */
static void sticks_where_it_is_steep(void **state)
{
  (void)state;
  const struct body ball = {.shape = {.kind = SHAPE_SPHERE, .axis = {0, 1, 0}, .radius = 1.0},
                            .sticky = true,
                            .sticky_steep = true,
                            .sticky_cosine = 0.5, /* beyond 60 degrees */
                            .up = {0, 1, 0}};
  const double top[3] = {0, 0.9, 0}, side[3] = {0.9, 0, 0}, below[3] = {0, -0.9, 0};
  const double flat[3] = {0.4, 0.8, 0}, steep[3] = {0.8, 0.4, 0};
  const double *const at[5] = {top, flat, steep, side, below};
  for (int k = 0; k < 5; k++) {
    struct body_pose pose;
    double v[3] = {at[k][0], at[k][1], at[k][2]}; /* away from the centre: a smooth ball lets go */
    body_pose_at(&ball, 0.0, &pose);
    assert_int_equal(body_collide(&pose, at[k], v), k >= 2);
    assert_true(vec_norm(v) == 0.0 || k < 2);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(velocity_is_the_derivative_of_the_motion),
      cmocka_unit_test(pieces_hold),
      cmocka_unit_test(keys_are_met_and_smooth_motion_has_no_kinks),
      cmocka_unit_test(linear_turns_evenly),
      cmocka_unit_test(cycles_repeat),
      cmocka_unit_test(body_comes_and_goes),
      cmocka_unit_test(sticks_where_it_is_steep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
