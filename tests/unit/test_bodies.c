/* Bodies: where they are, how fast their material moves, and every branch of the collision rule. */
#include "base/rng.h"
#include "base/vec.h"
#include "bodies/body.h"
#include "bodies/gap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct body moving_box(void)
{
  return (struct body){.name = "box",
                       .shape = {.kind = SHAPE_BOX,
                                 .center = {0.5, 1.0, -0.2},
                                 .axis = {0, 1, 0},
                                 .half = {0.4, 0.2, 0.3},
                                 .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                       .velocity = {1.0, -0.5, 0.25},
                       .spin = {0.3, 2.0, -1.0},
                       .friction = 0.5};
}

static struct body floor_body(double friction, bool sticky)
{
  return (struct body){.name = "floor",
                       .shape = {.kind = SHAPE_PLANE, .axis = {0, 1, 0}, .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                       .friction = friction,
                       .sticky = sticky};
}

/* Where a point fixed to the box's frame is at a time. */
static void carried_point(const struct body *body, double time, const double local[3], double out[3])
{
  struct body_pose pose;
  body_pose_at(body, time, &pose);
  for (int i = 0; i < 3; i++) {
    out[i] = pose.shape.center[i];
    for (int j = 0; j < 3; j++) out[i] += pose.shape.axes[3 * i + j] * local[j];
  }
}

static void velocity_is_the_derivative_of_the_motion(void **state)
{
  (void)state;
  const struct body body = moving_box();
  for (uint64_t k = 0; k < 200; k++) {
    const double t = 20.0 * rng_uniform(1, k, 0), e = 1e-5;
    double local[3], here[3], before[3], after[3], v[3];
    for (uint64_t d = 0; d < 3; d++) local[d] = rng_uniform(1, k, 1 + d) - 0.5;
    carried_point(&body, t, local, here);
    carried_point(&body, t - e, local, before);
    carried_point(&body, t + e, local, after);
    struct body_pose pose;
    body_pose_at(&body, t, &pose);
    body_velocity(&pose, here, v);
    for (int d = 0; d < 3; d++) assert_true(fabs((after[d] - before[d]) / (2.0 * e) - v[d]) < 1e-8);
    assert_true(vec_norm(v) <= body_max_speed(&body) + 1e-12 || vec_norm(local) > shape_reach(&body.shape));
  }
}

static void pose_is_rigid_and_exact_at_rest(void **state)
{
  (void)state;
  struct body body = moving_box();
  struct body_pose pose;
  body_pose_at(&body, 0.0, &pose);
  assert_memory_equal(&pose.shape, &body.shape, sizeof pose.shape);
  assert_ptr_equal(pose.body, &body);
  body_pose_at(&body, 1e4, &pose);
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      const double *f = pose.shape.axes;
      const double dot = f[a] * f[b] + f[3 + a] * f[3 + b] + f[6 + a] * f[6 + b];
      assert_true(fabs(dot - (a == b)) < 1e-14);
    }
  memset(body.spin, 0, sizeof body.spin);
  body_pose_at(&body, 2.0, &pose);
  assert_true(pose.shape.center[0] == 2.5 && pose.shape.center[1] == 0.0);
  assert_memory_equal(pose.shape.axes, body.shape.axes, sizeof body.shape.axes);
}

/* A quarter turn about z takes a rod from x to y. */
static void axis_turns_with_the_spin(void **state)
{
  (void)state;
  const struct body rod = {.shape = {.kind = SHAPE_CAPSULE, .axis = {1, 0, 0}, .half = {1.0}, .radius = 0.1},
                           .spin = {0, 0, 0.5}};
  struct body_pose pose;
  body_pose_at(&rod, 3.14159265358979323846, &pose);
  const double tip[3] = {0, 1, 0}, was[3] = {1, 0, 0};
  assert_true(fabs(pose.shape.axis[1] - 1.0) < 1e-15 && fabs(pose.shape.axis[0]) < 1e-15);
  assert_true(fabs(shape_distance(&pose.shape, tip, NULL) + 0.1) < 1e-14);
  assert_true(shape_distance(&pose.shape, was, NULL) > 0.8);
}

static bool collide(const struct body *body, double time, const double x[3], double v[3])
{
  struct body_pose pose;
  body_pose_at(body, time, &pose);
  return body_collide(&pose, x, v);
}

static void floor_cases(void **state)
{
  (void)state;
  const struct body rough = floor_body(0.5, false), smooth = floor_body(0.0, false);
  const double above[3] = {0, 1e-9, 0}, on[3] = {3, 0, 1}, under[3] = {0, -0.1, 0};

  double v[3] = {1, -5, 0};
  assert_false(collide(&rough, 0.0, above, v)); /* outside: nothing, however fast */
  assert_true(v[0] == 1 && v[1] == -5);

  double away[3] = {1, 0.5, 0};
  assert_false(collide(&rough, 0.0, under, away)); /* separating */
  assert_true(away[0] == 1 && away[1] == 0.5);
  double along[3] = {1, 0, 2};
  assert_false(collide(&rough, 0.0, on, along)); /* grazing counts as separating */
  assert_true(along[0] == 1 && along[2] == 2);

  double stick[3] = {1.0, -2.0, 0};
  assert_true(collide(&rough, 0.0, on, stick)); /* |vt| = 1 <= 0.5 * 2: exactly at the limit */
  assert_true(vec_norm(stick) == 0.0);

  double slide[3] = {3.0, -2.0, 4.0};
  assert_true(collide(&rough, 0.0, under, slide)); /* |vt| = 5 loses 1 */
  assert_true(fabs(slide[0] - 2.4) < 1e-15 && slide[1] == 0.0 && fabs(slide[2] - 3.2) < 1e-15);

  double free[3] = {3.0, -2.0, 4.0};
  assert_true(collide(&smooth, 0.0, on, free));
  assert_true(free[0] == 3.0 && free[1] == 0.0 && free[2] == 4.0);
  double straight[3] = {0.0, -2.0, 0.0};
  assert_true(collide(&smooth, 0.0, on, straight));
  assert_true(vec_norm(straight) == 0.0);
}

/* Contact begins at the skin, whatever else the point is near. */
static void skin_is_part_of_the_body(void **state)
{
  (void)state;
  struct body rough = floor_body(0.5, false);
  rough.skin = 1e-8;
  const double in[3] = {0, 0.9e-8, 0}, out[3] = {0, 1.1e-8, 0};
  double v[3] = {0, -1, 0};
  assert_false(collide(&rough, 0.0, out, v));
  assert_true(collide(&rough, 0.0, in, v));
  struct body_pose pose;
  body_pose_at(&rough, 0.0, &pose);
  assert_true(body_may_touch(&pose, in, 0.0) && !body_may_touch(&pose, out, 0.0));
}

/* What the rule tells of a touch: pressed into the floor at 2 m/s, friction stops up to 1 m/s along it. */
static void a_touch_slides_or_holds(void **state)
{
  (void)state;
  const struct body rough = floor_body(0.5, false), smooth = floor_body(0.0, false),
                    sticky = floor_body(0.0, true);
  const struct {
    const struct body *body;
    double along;
    bool sticks, slides;
  } cases[] = {{&rough, 1.5, false, true},
               {&rough, 1.0, false, false},
               {&smooth, 1.0, false, true},
               {&smooth, 0, false, true},
               {&sticky, 1.5, true, false}};
  const double under[3] = {0, -0.1, 0};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    double v[3] = {cases[k].along, -2, 0};
    struct body_pose pose;
    struct body_touch touch;
    body_pose_at(cases[k].body, 0.0, &pose);
    assert_true(body_collide_with(&pose, under, v, cases[k].body->friction, 0.0, &touch));
    assert_true(touch.normal[1] == 1.0 && touch.pressed == 2.0);
    assert_true(touch.sticks == cases[k].sticks && touch.slides == cases[k].slides);
  }
}

static void sticky_holds_even_what_leaves(void **state)
{
  (void)state;
  struct body wall = floor_body(0.0, true);
  wall.velocity[0] = 0.25;
  const double on[3] = {0, 0, 0}, off[3] = {0, 0.01, 0};
  double v[3] = {1, 2, 3}, w[3] = {1, -2, 3};
  assert_true(collide(&wall, 0.0, on, v));
  assert_true(v[0] == 0.25 && v[1] == 0.0 && v[2] == 0.0);
  assert_true(collide(&wall, 0.0, on, v)); /* held already: still in contact */
  assert_false(collide(&wall, 0.0, off, w));
  assert_true(w[1] == -2);
}

/* With a gap that closes at 1 m/s: what is slower passes, sticky or not, and the rest keeps that speed. */
static void a_gap_may_close(void **state)
{
  (void)state;
  const struct body rough = floor_body(0.5, false), sticky = floor_body(0.0, true);
  const double under[3] = {0, -0.1, 0};
  struct body_pose floor, glue;
  struct body_touch touch;
  body_pose_at(&rough, 0.0, &floor);
  body_pose_at(&sticky, 0.0, &glue);
  double slow[3] = {3, -1, 0}, fast[3] = {3, -3, 0}, held[3] = {3, -3, 0};
  assert_false(body_collide_with(&floor, under, slow, 0.5, 1.0, &touch));
  assert_false(body_collide_with(&glue, under, slow, 0.0, 1.0, &touch));
  assert_true(slow[0] == 3.0 && slow[1] == -1.0);
  assert_true(body_collide_with(&floor, under, fast, 0.5, 1.0, &touch));
  assert_true(fast[0] == 2.0 && fast[1] == -1.0 && touch.pressed == 2.0 && touch.slides);
  assert_true(body_collide_with(&glue, under, held, 0.0, 1.0, &touch));
  assert_true(held[0] == 0.0 && held[1] == -1.0 && touch.sticks);
}

static double weight_at(int support, double y)
{
  if (support == 4)
    return y < 1.0 ? 2.0 / 3.0 - y * y * (1.0 - 0.5 * y) : y < 2.0 ? pow(2.0 - y, 3) / 6.0 : 0.0;
  return y < 0.5 ? 0.75 - y * y : y < 1.5 ? 0.5 * pow(1.5 - y, 2) : 0.0;
}

/* Against sums over thin sheets of a half space that a node sees from outside. */
static void touching_matter_has_its_mean_place(void **state)
{
  (void)state;
  enum { SHEETS = 20000 };
  for (int support = 3; support <= 4; support++)
    for (int k = 0; k < 40; k++) {
      const double depth = 0.5 * support * k / 40.0, thick = (0.5 * support - depth) / SHEETS;
      double sum = 0.0, moment = 0.0;
      for (int i = 0; i < SHEETS; i++) {
        const double above = (i + 0.5) * thick, weight = weight_at(support, depth + above);
        sum += weight;
        moment += weight * above;
      }
      assert_true(fabs(gap_of_touching(depth, support) - moment / sum) < 1e-6);
    }
  assert_true(gap_of_touching(2.0, 4) == 0.0 && gap_of_touching(1.5, 3) == 0.0);
}

/* In the frame of a moving floor the rule is the same as at rest. */
static void moving_bodies_push(void **state)
{
  (void)state;
  struct body lift = floor_body(0.5, false);
  lift.velocity[1] = 2.0;
  const double x[3] = {0, 0.9, 0};
  double v[3] = {0.1, 0, 0};
  assert_false(collide(&lift, 0.0, x, v)); /* not there yet */
  assert_true(collide(&lift, 0.5, x, v));
  assert_true(v[0] == 0.0 && v[1] == 2.0);

  const struct body wheel = {.shape = {.kind = SHAPE_SPHERE, .axis = {0, 1, 0}, .radius = 1.0},
                             .spin = {0, 0, -3.0},
                             .friction = 10.0};
  const double top[3] = {0, 1, 0};
  double on[3] = {0, -1, 0};
  assert_true(collide(&wheel, 1.7, top, on));
  assert_true(on[0] == 3.0 && on[1] == 0.0); /* carried along by the top of the wheel */
}

static void friction_never_speeds_up(void **state)
{
  (void)state;
  const struct body body = moving_box();
  int acted = 0;
  for (uint64_t k = 0; k < 20000; k++) {
    double x[3], v[3], carried[3], before[3], after[3], n[3];
    struct body_pose pose;
    body_pose_at(&body, 0.7, &pose);
    for (uint64_t d = 0; d < 3; d++) {
      x[d] = pose.shape.center[d] + rng_uniform(5, k, d) - 0.5;
      v[d] = 6.0 * rng_uniform(5, k, 3 + d) - 3.0;
    }
    body_velocity(&pose, x, carried);
    vec_sub(v, carried, before);
    if (!body_collide(&pose, x, v)) continue;
    acted++;
    assert_true(shape_distance(&pose.shape, x, n) <= 0.0);
    vec_sub(v, carried, after);
    assert_true(fabs(vec_dot(after, n)) < 1e-13);
    assert_true(vec_norm(after) <= vec_norm(before));
  }
  assert_true(acted > 500);
}

static void max_speed(void **state)
{
  (void)state;
  struct body plane = floor_body(0.1, false);
  plane.velocity[2] = -2.0;
  assert_true(body_max_speed(&plane) == 2.0); /* not infinite times zero */
  const struct body ball = {
      .shape = {.kind = SHAPE_SPHERE, .radius = 0.5}, .velocity = {3, 0, 4}, .spin = {0, 2, 0}};
  assert_true(body_max_speed(&ball) == 6.0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(velocity_is_the_derivative_of_the_motion),
      cmocka_unit_test(pose_is_rigid_and_exact_at_rest),
      cmocka_unit_test(axis_turns_with_the_spin),
      cmocka_unit_test(floor_cases),
      cmocka_unit_test(skin_is_part_of_the_body),
      cmocka_unit_test(a_touch_slides_or_holds),
      cmocka_unit_test(sticky_holds_even_what_leaves),
      cmocka_unit_test(a_gap_may_close),
      cmocka_unit_test(touching_matter_has_its_mean_place),
      cmocka_unit_test(moving_bodies_push),
      cmocka_unit_test(friction_never_speeds_up),
      cmocka_unit_test(max_speed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
