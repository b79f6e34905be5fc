/* Friction of the ground on nodes: the wall shear stress is Voellmy's, a step never turns a motion round, one
 * node of each grid line has an area, and zones say which law acts where. */
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "bodies/body.h"
#include "bodies/zones.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const double gravity = 9.81, spacing = 0.05;

static struct body plane_body(const double normal[3], const struct ground_law *law)
{
  struct body body = {
      .shape = {.kind = SHAPE_PLANE, .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1}},
      .friction = law->friction,
      .ground = {.layered = true, .varies = law->friction_speed > 0.0, .weight = gravity, .law = *law},
      .skin = BODY_SKIN * spacing};
  memcpy(body.shape.axis, normal, sizeof body.shape.axis);
  vec_normalize(body.shape.axis);
  body_finish(&body);
  return body;
}

/* A node at this depth (m) below the plane through 0. */
static void place(const struct body *body, double depth, double x[3])
{
  for (int d = 0; d < 3; d++) x[d] = -depth * body->shape.axis[d];
}

/* Velocity with a part into the plane and one along it. */
static void approach(const struct body *body, double into, double along, double v[3])
{
  const double *n = body->shape.axis;
  double side[3] = {n[1], -n[0], 0.0};
  vec_normalize(side);
  for (int d = 0; d < 3; d++) v[d] = -into * n[d] + along * side[d];
}

static double slip(const struct body *body, const double v[3])
{
  double along[3];
  vec_axpy(v, -vec_dot(v, body->shape.axis), body->shape.axis, along);
  return vec_norm(along);
}

/* m (s - u) / (dt A) is f N + rho g u^2 / xi + (1 - f) C (1 - exp(-N / C)), whatever the step. */
static void stress_is_that_of_voellmy(void **unused)
{
  (void)unused;
  static const double normals[3][3] = {{0, 1, 0}, {0.3, 1, 0.12}, {1, 2, 3}};
  for (int k = 0; k < 3; k++)
    for (double dt = 1e-5; dt < 2e-2; dt *= 10.0)
      for (int slow = 0; slow < 2; slow++) {
        const struct ground_law law = {.friction = 0.3,
                                       .fast_friction = slow ? 0.15 : 0.0,
                                       .friction_speed = slow ? 2.0 : 0.0,
                                       .turbulence = 400.0,
                                       .cohesion = 150.0};
        struct body body = plane_body(normals[k], &law);
        struct body_pose pose;
        struct body_touch touch;
        body_pose_at(&body, 0.0, &pose);
        const double volume = 0.6 * spacing * spacing * spacing, mass = 300.0 * volume, push = 900.0;
        const double *n = body.shape.axis;
        const double steepest = fmax(fmax(fabs(n[0]), fabs(n[1])), fabs(n[2])),
                     area = spacing * spacing / steepest, into = push * dt * area / mass;
        const struct ground_node node = {dt, spacing, 4, mass, volume};
        double x[3], v[3];
        place(&body, 0.3 * spacing, x);
        approach(&body, into, 20.0, v);
        assert_true(ground_collide(&pose, x, v, &node, 0.0, &touch));
        const double left = slip(&body, v), stress = mass * (20.0 - left) / (dt * area);
        const double f = slow ? 0.3 - 0.15 * 20.0 / 22.0 : 0.3;
        const double wanted = f * push + mass / volume * gravity * left * left / 400.0 +
                              (1.0 - f) * 150.0 * (1.0 - exp(-push / 150.0));
        if (left > 0.0) assert_true(fabs(stress - wanted) < 1e-8 * wanted);
        assert_true(fabs(vec_dot(v, n)) < 1e-12 && touch.pressed > 0.0 && touch.slides == (left > 0.0));
      }
}

/* It stops, and does not turn round; without load nothing acts. */
static void friction_only_stops(void **unused)
{
  (void)unused;
  const struct ground_law law = {.friction = 0.5, .turbulence = 10.0, .cohesion = 5000.0};
  struct body body = plane_body((const double[3]){0, 1, 0}, &law);
  struct body_pose pose;
  struct body_touch touch;
  body_pose_at(&body, 0.0, &pose);
  const struct ground_node node = {1e-2, spacing, 4, 0.01, 0.5 * spacing * spacing * spacing};
  double x[3], v[3];
  place(&body, 0.2 * spacing, x);
  approach(&body, 0.4, 0.1, v);
  assert_true(ground_collide(&pose, x, v, &node, 0.0, &touch) && !touch.slides);
  assert_true(vec_norm(v) == 0.0);
  approach(&body, -0.1, 3.0, v); /* it leaves */
  assert_false(ground_collide(&pose, x, v, &node, 0.0, &touch));
  place(&body, -0.2 * spacing, x);
  approach(&body, 0.4, 3.0, v);
  assert_false(ground_collide(&pose, x, v, &node, 0.0, &touch));
}

/* Along the normal's largest axis exactly one node of each grid line is dragged; deeper ones feel Coulomb
 * alone. */
static void one_node_of_a_line_has_an_area(void **unused)
{
  (void)unused;
  const struct ground_law law = {.friction = 0.0, .turbulence = 1.0};
  for (uint64_t k = 0; k < 300; k++) {
    double normal[3];
    for (uint64_t d = 0; d < 3; d++) normal[d] = 2.0 * rng_uniform(71, k, d) - 1.0;
    struct body body = plane_body(normal, &law);
    struct body_pose pose;
    body_pose_at(&body, 0.0, &pose);
    const double *n = body.shape.axis;
    int axis = 0, dragged = 0;
    for (int d = 1; d < 3; d++)
      if (fabs(n[d]) > fabs(n[axis])) axis = d;
    for (int i = -20; i <= 20; i++) {
      double x[3] = {0.37 * spacing, -0.21 * spacing, 0.13 * spacing}, v[3];
      x[axis] = (i + 0.123) * spacing;
      const struct ground_node node = {1e-2, spacing, 4, 0.01, spacing * spacing * spacing};
      approach(&body, 0.1, 5.0, v);
      if (!ground_collide(&pose, x, v, &node, 0.0, NULL)) continue;
      dragged += slip(&body, v) < 4.999;
    }
    assert_int_equal(dragged, 1);
  }
}

static void zones_have_laws_of_their_own(void **unused)
{
  (void)unused;
  uint8_t number[6] = {0, 1, 2, 2, 1, 0};
  struct ground_law laws[2] = {{.friction = 0.1}, {.friction = 0.7, .turbulence = 9.0}};
  struct zones zones = {.axis = {0, 2},
                        .corner = {10.0, 20.0},
                        .step = {2.0, 2.0},
                        .columns = 3,
                        .rows = 2,
                        .number = number,
                        .count = 2,
                        .law = laws};
  const struct ground_law base = {.friction = 0.4};
  struct body body = plane_body((const double[3]){0, 1, 0}, &base);
  struct body_pose pose;
  body.ground.zones = &zones;
  body.ground.varies = true;
  body_pose_at(&body, 0.0, &pose);
  static const struct {
    double x, z, friction;
  } places[] = {{11, 21, 0.4}, {13, 21, 0.1},  {15, 21, 0.7},   {11, 23, 0.7},  {13, 23, 0.1},
                {15, 23, 0.4}, {9.9, 21, 0.4}, {16.1, 21, 0.4}, {13, 19.9, 0.4}};
  for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
    const double x[3] = {places[k].x, 5.0, places[k].z};
    assert_true(ground_friction(&pose, x, 3.0) == places[k].friction);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stress_is_that_of_voellmy),
      cmocka_unit_test(friction_only_stops),
      cmocka_unit_test(one_node_of_a_line_has_an_area),
      cmocka_unit_test(zones_have_laws_of_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
