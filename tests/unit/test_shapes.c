/* Distances against the nearest of many surface points, normals against finite differences, volumes and
 * bounds against random points. The surface points come from each shape's own parametrisation, not from its
 * distance function. */
#include "base/fmath.h"
#include "base/rng.h"
#include "base/vec.h"
#include "levelset/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SURFACE = 200000, SHAPES = 7 };
static const double pi = 3.14159265358979323846;

static struct shape make_box(void)
{
  struct shape box = {
      .kind = SHAPE_BOX, .center = {0.2, -0.1, 0.3}, .half = {0.5, 0.2, 0.35}, .axis = {0, 1, 0}};
  double k[3] = {1.0, 2.0, -0.5}, s, c;
  vec_normalize(k);
  fmath_sincos_degrees(37.0, &s, &c);
  for (int j = 0; j < 3; j++) {
    const double e[3] = {j == 0, j == 1, j == 2};
    double out[3];
    fmath_rotate(k, s, c, e, out);
    for (int i = 0; i < 3; i++) box.axes[3 * i + j] = out[i];
  }
  return box;
}

static void make_shapes(struct shape out[SHAPES])
{
  static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  out[0] = (struct shape){.kind = SHAPE_SPHERE, .center = {0.1, 0.2, -0.3}, .axis = {0, 1, 0}, .radius = 0.6};
  out[1] = make_box();
  out[2] = (struct shape){.kind = SHAPE_BOX, .center = {0, 0, 0}, .half = {0.3, 0.3, 0.3}, .axis = {0, 1, 0}};
  out[3] = (struct shape){
      .kind = SHAPE_CAPSULE, .center = {0, 0.1, 0}, .axis = {2, 1, -1}, .radius = 0.25, .half = {0.4}};
  out[4] = (struct shape){
      .kind = SHAPE_CYLINDER, .center = {0, 0.1, 0}, .axis = {-1, 3, 1}, .radius = 0.3, .half = {0.4}};
  out[5] = (struct shape){
      .kind = SHAPE_CYLINDER, .center = {0, 0, 0}, .axis = {0, 0, 1}, .radius = 0.5, .half = {0.1}};
  out[6] = (struct shape){
      .kind = SHAPE_CAPSULE, .center = {0, 0, 0}, .axis = {1, 0, 0}, .radius = 0.5, .half = {0.1}};
  for (int k = 0; k < SHAPES; k++) {
    vec_normalize(out[k].axis);
    if (k != 1) memcpy(out[k].axes, identity, sizeof identity);
  }
}

static void random_point(uint64_t k, uint64_t stream, double size, double x[3])
{
  for (uint64_t d = 0; d < 3; d++) x[d] = size * (2.0 * rng_uniform(7, k, 8 * stream + d) - 1.0);
}

static void random_direction(uint64_t k, double out[3])
{
  const double z = 2.0 * rng_uniform(3, k, 0) - 1.0, a = 2.0 * pi * rng_uniform(3, k, 1),
               r = sqrt(1.0 - z * z);
  out[0] = r * cos(a), out[1] = r * sin(a), out[2] = z;
}

/* Two unit vectors that make a frame with the axis. */
static void cross_frame(const double axis[3], double u[3], double v[3])
{
  const double e[3] = {fabs(axis[0]) < 0.5, fabs(axis[0]) >= 0.5, 0.0};
  vec_cross(axis, e, u);
  vec_normalize(u);
  vec_cross(axis, u, v);
}

static void surface_point(const struct shape *s, uint64_t k, double x[3])
{
  double d[3], u[3], v[3];
  random_direction(k, d);
  const double p = 2.0 * rng_uniform(3, k, 2) - 1.0, q = 2.0 * rng_uniform(3, k, 3) - 1.0;
  const double side = k & 1 ? 1.0 : -1.0, a = pi * q;
  memcpy(x, s->center, 3 * sizeof *x);
  cross_frame(s->axis, u, v);
  switch (s->kind) {
  case SHAPE_SPHERE: vec_axpy(x, s->radius, d, x); break;
  case SHAPE_BOX: {
    double local[3];
    const int face = (int)(k / 2 % 3);
    local[face] = side * s->half[face];
    local[(face + 1) % 3] = p * s->half[(face + 1) % 3];
    local[(face + 2) % 3] = q * s->half[(face + 2) % 3];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) x[i] += s->axes[3 * i + j] * local[j];
    break;
  }
  case SHAPE_CAPSULE: /* a ball at either end, and the mantle between */
    if (k & 2) {
      vec_axpy(x, copysign(s->half[0], vec_dot(d, s->axis)), s->axis, x);
      vec_axpy(x, s->radius, d, x);
      break;
    } /* fall through */
  default: {
    const bool cap = s->kind == SHAPE_CYLINDER && (k & 2);
    const double r = cap ? s->radius * sqrt(fabs(p)) : s->radius, along = cap ? side : p;
    vec_axpy(x, along * s->half[0], s->axis, x);
    vec_axpy(x, r * cos(a), u, x);
    vec_axpy(x, r * sin(a), v, x);
  }
  }
}

static void distance_is_to_the_nearest_surface_point(void **state)
{
  (void)state;
  static double surface[SURFACE][3];
  struct shape shapes[SHAPES];
  make_shapes(shapes);
  for (int k = 0; k < SHAPES; k++) {
    for (int i = 0; i < SURFACE; i++) {
      surface_point(&shapes[k], (uint64_t)i, surface[i]);
      assert_true(fabs(shape_distance(&shapes[k], surface[i], NULL)) < 1e-14);
    }
    for (uint64_t i = 0; i < 40; i++) {
      double x[3], least = INFINITY;
      random_point(i, (uint64_t)k, 1.2, x);
      for (int j = 0; j < SURFACE; j++) {
        double d[3];
        vec_sub(x, surface[j], d);
        least = fmin(least, vec_dot(d, d));
      }
      const double distance = fabs(shape_distance(&shapes[k], x, NULL));
      assert_true(sqrt(least) >= distance - 1e-12); /* a lower bound for every point of the surface */
      assert_true(sqrt(least) <= distance + 0.03);  /* and nearly attained by one */
    }
  }
}

static void normals_are_gradients(void **state)
{
  (void)state;
  struct shape shapes[SHAPES + 1];
  make_shapes(shapes);
  shapes[SHAPES] = (struct shape){.kind = SHAPE_PLANE, .center = {1, 2, 3}, .axis = {0.6, 0.0, 0.8}};
  for (int k = 0; k <= SHAPES; k++) {
    int compared = 0;
    for (uint64_t i = 0; i < 2000; i++) {
      const double e = 1e-5;
      double x[3], n[3], g[3], bend = 0.0;
      random_point(i, 16 + (uint64_t)k, 1.2, x);
      const double here = shape_distance(&shapes[k], x, n);
      assert_true(fabs(vec_norm(n) - 1.0) < 1e-14);
      for (int d = 0; d < 3; d++) {
        double up[3] = {x[0], x[1], x[2]}, down[3] = {x[0], x[1], x[2]};
        up[d] += e, down[d] -= e;
        const double a = shape_distance(&shapes[k], up, NULL), b = shape_distance(&shapes[k], down, NULL);
        g[d] = (a - b) / (2.0 * e);
        bend = fmax(bend, fabs(a + b - 2.0 * here) / e);
      }
      if (bend > 1e-3) continue; /* across a ridge, where there is no gradient */
      compared++;
      for (int d = 0; d < 3; d++) assert_true(fabs(g[d] - n[d]) < 1e-6);
    }
    assert_true(compared > 1900);
  }
}

static void volumes_bounds_and_reach(void **state)
{
  (void)state;
  enum { POINTS = 400000 };
  struct shape shapes[SHAPES];
  make_shapes(shapes);
  for (int k = 0; k < SHAPES; k++) {
    double lower[3], upper[3], seen_lower[3] = {9, 9, 9}, seen_upper[3] = {-9, -9, -9}, farthest = 0.0;
    assert_true(shape_bounds(&shapes[k], lower, upper));
    int inside = 0;
    for (uint64_t i = 0; i < POINTS; i++) {
      double x[3], d[3];
      random_point(i, 32, 1.5, x);
      inside += shape_distance(&shapes[k], x, NULL) <= 0.0;
      surface_point(&shapes[k], i, x);
      vec_sub(x, shapes[k].center, d);
      farthest = fmax(farthest, vec_norm(d));
      for (int a = 0; a < 3; a++) {
        seen_lower[a] = fmin(seen_lower[a], x[a]);
        seen_upper[a] = fmax(seen_upper[a], x[a]);
      }
    }
    const double volume = 27.0 * inside / POINTS;
    assert_true(fabs(volume - shape_volume(&shapes[k])) < 0.02);
    assert_true(farthest <= shape_reach(&shapes[k]) + 1e-14 && farthest > shape_reach(&shapes[k]) - 0.01);
    for (int a = 0; a < 3; a++) {
      assert_true(seen_lower[a] >= lower[a] - 1e-14 && seen_lower[a] < lower[a] + 0.02);
      assert_true(seen_upper[a] <= upper[a] + 1e-14 && seen_upper[a] > upper[a] - 0.02);
    }
  }
}

static void plane_has_no_end(void **state)
{
  (void)state;
  const struct shape plane = {.kind = SHAPE_PLANE, .center = {0, 1, 0}, .axis = {0, 1, 0}};
  double lower[3], upper[3], n[3];
  const double x[3] = {5, 3, -2};
  assert_false(shape_bounds(&plane, lower, upper));
  assert_true(isinf(shape_volume(&plane)) && isinf(shape_reach(&plane)));
  assert_true(shape_distance(&plane, x, n) == 2.0 && n[1] == 1.0);
}

/* Centres, axes, corners and edges: a unit normal and the right distance, not NaN. */
static void degenerate_points(void **state)
{
  (void)state;
  struct shape shapes[SHAPES];
  make_shapes(shapes);
  for (int k = 0; k < SHAPES; k++) {
    double n[3], x[3], inner = shapes[k].radius;
    if (shapes[k].kind == SHAPE_BOX)
      inner = fmin(shapes[k].half[0], fmin(shapes[k].half[1], shapes[k].half[2]));
    if (shapes[k].kind == SHAPE_CYLINDER) inner = fmin(inner, shapes[k].half[0]);
    assert_true(fabs(shape_distance(&shapes[k], shapes[k].center, n) + inner) < 1e-14);
    assert_true(fabs(vec_norm(n) - 1.0) < 1e-14);
    vec_axpy(shapes[k].center, 1e-170, shapes[k].axis, x);
    shape_distance(&shapes[k], x, n);
    assert_true(fabs(vec_norm(n) - 1.0) < 1e-14);
    for (int i = 0; i < 100; i++) { /* along the axis and beyond its ends */
      vec_axpy(shapes[k].center, 0.02 * (i - 50), shapes[k].axis, x);
      assert_true(isfinite(shape_distance(&shapes[k], x, n)));
      assert_true(fabs(vec_norm(n) - 1.0) < 1e-14);
    }
  }
  const double corner[3] = {0.3, -0.3, 0.3}, out[3] = {0.6, -0.7, 0.3};
  double n[3];
  assert_true(shape_distance(&shapes[2], corner, n) == 0.0 && vec_norm(n) == 1.0);
  assert_true(fabs(shape_distance(&shapes[2], out, n) - 0.5) < 1e-15);
  assert_true(fabs(n[0] - 0.6) < 1e-15 && fabs(n[1] + 0.8) < 1e-15 && n[2] == 0.0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distance_is_to_the_nearest_surface_point),
      cmocka_unit_test(normals_are_gradients),
      cmocka_unit_test(volumes_bounds_and_reach),
      cmocka_unit_test(plane_has_no_end),
      cmocka_unit_test(degenerate_points),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
