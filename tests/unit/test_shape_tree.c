/* Shapes that are more than the five simplest: what every kind must keep (bounds over balls, the metric,
 * normals, volumes, bounds, rigid copies), and the exact distances of cones and wedges against their
 * surfaces. */
#include "base/fmath.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "levelset/heights.h"
#include "levelset/inside_map.h"
#include "levelset/prune.h"
#include "levelset/shape.h"
#include "render/raycast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { KINDS = 12 };
static const double pi = 3.14159265358979323846;
static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

static struct shape plain(enum shape_kind kind)
{
  struct shape s = {.kind = kind, .axis = {0, 1, 0}};
  memcpy(s.axes, identity, sizeof identity);
  return s;
}

static void turn(struct shape *s, double degrees)
{
  double k[3] = {1.0, 2.0, -0.5}, sine, cosine;
  vec_normalize(k);
  fmath_sincos_degrees(degrees, &sine, &cosine);
  for (int j = 0; j < 3; j++) {
    const double e[3] = {j == 0, j == 1, j == 2};
    double out[3];
    fmath_rotate(k, sine, cosine, e, out);
    for (int i = 0; i < 3; i++) s->axes[3 * i + j] = out[i];
  }
}

static struct shape ball(double x, double y, double z, double radius)
{
  struct shape s = plain(SHAPE_SPHERE);
  s.center[0] = x, s.center[1] = y, s.center[2] = z;
  s.radius = radius;
  return s;
}

static struct shape box(double x, double y, double z, double a, double b, double c)
{
  struct shape s = plain(SHAPE_BOX);
  s.center[0] = x, s.center[1] = y, s.center[2] = z;
  s.half[0] = a, s.half[1] = b, s.half[2] = c;
  return s;
}

static struct shape cone(double top)
{
  struct shape s = plain(SHAPE_CONE);
  s.axis[0] = 1.0, s.axis[1] = 2.0, s.axis[2] = -1.0;
  vec_normalize(s.axis);
  s.center[1] = 0.1;
  s.radius = 0.4;
  s.amount = top;
  s.half[0] = 0.5;
  return s;
}

static struct shape wedge(void)
{
  struct shape s = plain(SHAPE_WEDGE);
  s.half[0] = 0.3, s.half[1] = 0.4, s.half[2] = 0.5;
  turn(&s, 40.0);
  return s;
}

static struct shape family(enum shape_kind kind, double amount, int count, const struct shape *children)
{
  struct shape s = plain(kind);
  s.amount = amount;
  s.child_count = count;
  s.child = mem_alloc((size_t)count, sizeof *s.child);
  memcpy(s.child, children, (size_t)count * sizeof *children);
  return s;
}

static struct shape terrain(enum heights_form form)
{
  struct shape s = plain(SHAPE_HEIGHTFIELD);
  const struct heights_parameters p = {
      .form = form, .height = 0.3, .wavelength = 0.7, .octaves = 3, .seed = 5};
  const double half[2] = {0.9, 0.8};
  s.half[0] = half[0], s.half[1] = 0.2, s.half[2] = half[1];
  s.heights = heights_create(&p, half, 0.02);
  return s;
}

/* Made once for all tests: volumes of terrain and layers take a while. */
static struct shape shapes[KINDS];

static int make(void **state)
{
  (void)state;
  const struct shape two[] = {ball(-0.2, 0, 0.1, 0.4), box(0.3, 0.1, 0, 0.4, 0.3, 0.35)};
  const struct shape three[] = {box(0, 0, 0, 0.6, 0.5, 0.4), ball(0.5, 0.4, 0, 0.3),
                                ball(-0.5, -0.3, 0.1, 0.35)};
  shapes[0] = cone(0.0);
  shapes[1] = cone(0.15);
  shapes[2] = wedge();
  shapes[3] = terrain(HEIGHTS_BUMPS);
  shapes[4] = terrain(HEIGHTS_NOISE);
  shapes[5] = family(SHAPE_UNION, 0.0, 2, two);
  shapes[6] = family(SHAPE_INTERSECTION, 0.0, 2, two);
  shapes[7] = family(SHAPE_DIFFERENCE, 0.0, 3, three);
  shapes[8] = family(SHAPE_SMOOTH_UNION, 0.2, 2, two);
  shapes[9] = family(SHAPE_SHELL, 0.08, 1, two);
  const struct shape nested[] = {family(SHAPE_DIFFERENCE, 0.0, 2, three)};
  shapes[10] = family(SHAPE_OFFSET, 0.05, 1, nested);
  const struct shape on[] = {terrain(HEIGHTS_HILL), box(0.1, 0, 0, 0.5, 0.6, 0.5)};
  shapes[11] = family(SHAPE_LAYER, 0.1, 2, on);
  for (int k = 0; k < KINDS; k++) shape_finish(&shapes[k]);
  return 0;
}

/* The last test: a teardown's answer would not count. */
static void all_is_freed(void **state)
{
  (void)state;
  for (int k = 0; k < KINDS; k++) shape_destroy(&shapes[k]);
  assert_int_equal(mem_balance(), 0);
}

static bool has_heights(const struct shape *s)
{
  bool has = s->heights != NULL;
  for (int c = 0; c < s->child_count; c++) has |= has_heights(&s->child[c]);
  return has;
}

static void random_point(uint64_t k, uint64_t stream, double size, double x[3])
{
  for (uint64_t d = 0; d < 3; d++) x[d] = size * (2.0 * rng_uniform(7, k, 8 * stream + d) - 1.0);
}

static void distances_keep_the_metric_and_the_ranges(void **state)
{
  (void)state;
  for (int k = 0; k < KINDS; k++)
    for (uint64_t i = 0; i < 4000; i++) {
      double x[3], step[3], y[3], least, most;
      const double radius = 0.5 * rng_uniform(9, i, 0);
      random_point(i, (uint64_t)k, 1.3, x);
      random_point(i, 32 + (uint64_t)k, 1.0, step);
      vec_normalize(step);
      const double way = radius * rng_uniform(9, i, 1);
      vec_axpy(x, way, step, y);
      const double a = shape_distance(&shapes[k], x, NULL), b = shape_distance(&shapes[k], y, NULL);
      if (!has_heights(&shapes[k])) assert_true(fabs(a - b) <= way * (1.0 + 1e-12) + 1e-14);
      shape_range(&shapes[k], x, radius, &least, &most);
      assert_true(least <= a + 1e-14 && a <= most + 1e-14);
      assert_true(least <= b + 1e-14 && b <= most + 1e-14);
    }
}

/* A map of cells says of every point what the shape says, whether or not it was asked; and of deep ones that
 * all around them is inside. */
static void maps_agree_with_shapes(void **state)
{
  (void)state;
  const struct inside_depth depth = {0.06, 0.04};
  int below = 0;
  for (int k = 0; k < KINDS; k++) {
    struct inside_map map, alone, deep;
    inside_map_cover(&map, &shapes[k], 20000.0, NULL, 2);
    inside_map_cover(&alone, &shapes[k], 20000.0, NULL, 1);
    inside_map_cover(&deep, &shapes[k], 20000.0, &depth, 1);
    const size_t cells = (size_t)(map.n[0] * map.n[1] * map.n[2]);
    assert_true(cells <= 20000 && cells > 2000);
    assert_memory_equal(map.state, alone.state, cells);
    int decided = 0;
    for (uint64_t i = 0; i < 40000; i++) {
      double x[3], up[3];
      random_point(i, (uint64_t)k, 1.2, x);
      const enum inside_state state_of = inside_map_find(&map, x);
      assert_true(inside_map_contains(&map, state_of, x) == shape_contains(&shapes[k], x));
      decided += state_of != INSIDE_UNKNOWN;
      if (inside_map_find(&deep, x) != INSIDE_DEEP) continue;
      below++;
      assert_true(shape_distance(&shapes[k], x, NULL) < -depth.shell);
      random_point(i, 64 + (uint64_t)k, 1.0, up);
      vec_normalize(up);
      vec_axpy(x, depth.below * rng_uniform(9, i, 2), up, x);
      assert_true(shape_contains(&shapes[k], x));
    }
    assert_true(decided > 100);
    inside_map_destroy(&map);
    inside_map_destroy(&alone);
    inside_map_destroy(&deep);
  }
  assert_true(below > 1000);
}

/* What is left of a tree near a place is the same there, bit for bit. */
static void pruned_trees_are_the_same(void **state)
{
  (void)state;
  int dropped = 0;
  for (int k = 0; k < KINDS; k++) {
    const int nodes = prune_count(&shapes[k]);
    assert_int_equal(nodes, k < 3 ? 1 : k == 5 || k == 6 ? 3 : k == 7 ? 4 : 0);
    struct shape near[4];
    for (uint64_t i = 0; i < 4000 && nodes; i++) {
      double x[3], step[3], a[3], b[3], range[4];
      const double radius = 0.3 * rng_uniform(9, i, 3);
      random_point(i, (uint64_t)k, 1.0, x);
      prune(&shapes[k], x, radius, near);
      dropped += shapes[k].child_count - near->child_count;
      random_point(i, 32 + (uint64_t)k, 1.0, step);
      vec_normalize(step);
      const double part = rng_uniform(9, i, 4);
      vec_axpy(x, part * radius, step, x);
      assert_true(shape_distance(&shapes[k], x, a) == shape_distance(near, x, b));
      assert_memory_equal(a, b, sizeof a);
      assert_true(shape_distance(&shapes[k], x, NULL) == shape_distance(near, x, NULL));
      shape_range(&shapes[k], x, (1.0 - part) * radius, &range[0], &range[1]);
      shape_range(near, x, (1.0 - part) * radius, &range[2], &range[3]);
      assert_true(range[0] == range[2] && range[1] == range[3]);
    }
  }
  assert_true(dropped > 1000);
}

static void normals_are_gradients(void **state)
{
  (void)state;
  for (int k = 0; k < KINDS; k++) {
    if (has_heights(&shapes[k])) continue; /* by construction smoother than the surface */
    int compared = 0;
    for (uint64_t i = 0; i < 2000; i++) {
      const double e = 1e-5;
      double x[3], n[3], g[3], bend = 0.0;
      random_point(i, 64 + (uint64_t)k, 1.2, x);
      const double here = shape_distance(&shapes[k], x, n);
      assert_true(here == shape_distance(&shapes[k], x, NULL));
      assert_true(fabs(vec_norm(n) - 1.0) < 1e-13);
      for (int d = 0; d < 3; d++) {
        double a[3] = {x[0], x[1], x[2]}, b[3] = {x[0], x[1], x[2]};
        a[d] -= e;
        b[d] += e;
        const double low = shape_distance(&shapes[k], a, NULL), high = shape_distance(&shapes[k], b, NULL);
        g[d] = (high - low) / (2.0 * e);
        bend = fmax(bend, fabs(high - 2.0 * here + low) / e);
      }
      if (bend > 0.02) continue; /* a crease */
      vec_normalize(g);
      for (int d = 0; d < 3; d++) assert_true(fabs(g[d] - n[d]) < 2e-3);
      compared++;
    }
    assert_true(compared > 1500);
  }
}

/* Where the walls do not count, the normal of a terrain is that of its smooth form. */
static void terrain_follows_its_form(void **state)
{
  (void)state;
  struct shape s = terrain(HEIGHTS_BUMPS);
  shape_finish(&s);
  for (uint64_t i = 0; i < 500; i++) {
    const double x = 1.4 * rng_uniform(1, i, 0) - 0.7, z = 1.2 * rng_uniform(1, i, 1) - 0.6,
                 w = 2.0 * pi / 0.7;
    const double height = 0.075 * (1.0 + cos(w * x)) * (1.0 + cos(w * z));
    const double at[3] = {x, height, z};
    double n[3], form[3] = {0.075 * w * sin(w * x) * (1.0 + cos(w * z)), 1.0,
                            0.075 * w * (1.0 + cos(w * x)) * sin(w * z)};
    vec_normalize(form);
    assert_true(fabs(shape_distance(&s, at, n)) < 3e-3);
    assert_true(vec_dot(n, form) > 0.998);
    const double above[3] = {x, height + 0.01, z}, below[3] = {x, height - 0.01, z};
    assert_true(shape_distance(&s, above, NULL) > 0.0 && shape_distance(&s, below, NULL) < 0.0);
  }
  shape_destroy(&s);
}

static void volumes_and_bounds(void **state)
{
  (void)state;
  for (int k = 0; k < KINDS; k++) {
    enum { SAMPLES = 100000 };
    double lower[3], upper[3], volume = 1.0;
    int inside = 0;
    assert_true(shape_bounds(&shapes[k], lower, upper));
    for (int d = 0; d < 3; d++) volume *= 2.8;
    for (uint64_t i = 0; i < SAMPLES; i++) {
      double x[3], arm[3];
      random_point(i, 96 + (uint64_t)k, 1.4, x);
      if (shape_distance(&shapes[k], x, NULL) > 0.0) continue;
      inside++;
      for (int d = 0; d < 3; d++) assert_true(x[d] >= lower[d] - 1e-12 && x[d] <= upper[d] + 1e-12);
      vec_sub(x, shapes[k].center, arm);
      assert_true(vec_norm(arm) <= shape_reach(&shapes[k]) + 1e-12);
    }
    const double part = (double)inside / SAMPLES, error = sqrt(part * (1.0 - part) / SAMPLES);
    assert_true(inside > 250);
    assert_true(fabs(shape_volume(&shapes[k]) / volume - part) < 5.0 * error);
  }
}

/* Sums against formulas: two balls apart, a shell, a ball in a cube taken away. */
static void volumes_are_exact_enough(void **state)
{
  (void)state;
  const double whole = 4.0 / 3.0 * pi * 0.027;
  const struct shape apart[] = {ball(-0.4, 0, 0, 0.3), ball(0.4, 0, 0, 0.3)};
  const struct shape cut[] = {box(0, 0, 0, 0.4, 0.4, 0.4), ball(0, 0, 0, 0.3)};
  struct shape s[] = {family(SHAPE_UNION, 0.0, 2, apart), family(SHAPE_SHELL, 0.05, 1, apart),
                      family(SHAPE_DIFFERENCE, 0.0, 2, cut)};
  const double wanted[] = {2.0 * whole, whole - 4.0 / 3.0 * pi * 0.25 * 0.25 * 0.25, 0.512 - whole};
  for (int k = 0; k < 3; k++) {
    shape_finish(&s[k]);
    assert_true(fabs(shape_volume(&s[k]) / wanted[k] - 1.0) < 1e-4);
    shape_destroy(&s[k]);
  }
}

/* A copy with another centre and frame is the same shape elsewhere, whatever it holds. */
static void copies_move_rigidly(void **state)
{
  (void)state;
  for (int k = 3; k < KINDS; k++) {
    struct shape moved = shapes[k];
    moved.center[0] += 1.0;
    turn(&moved, 70.0);
    for (uint64_t i = 0; i < 500; i++) {
      double x[3], own[3], at[3], n[3], m[3], back[3];
      random_point(i, 128 + (uint64_t)k, 1.2, x);
      const double here = shape_distance(&shapes[k], x, n);
      vec_sub(x, shapes[k].center, own);
      shape_to_world(&moved, own, at);
      vec_axpy(at, 1.0, moved.center, at);
      assert_true(fabs(shape_distance(&moved, at, m) - here) < 1e-13);
      shape_to_world(&moved, n, back);
      if (fabs(here) > 1e-3) assert_true(vec_dot(back, m) > 0.9 || has_heights(&moved));
    }
  }
}

static void cone_surface(uint64_t k, double top, double x[3])
{
  const struct shape s = cone(top);
  double u[3], v[3];
  const double e[3] = {1, 0, 0};
  vec_cross(s.axis, e, u);
  vec_normalize(u);
  vec_cross(s.axis, u, v);
  const double p = rng_uniform(4, k, 0), angle = 2.0 * pi * rng_uniform(4, k, 1);
  double along = 2.0 * p - 1.0, r = 0.4 + (top - 0.4) * p;
  if (k % 3 == 1) along = -1.0, r = 0.4 * sqrt(p);
  if (k % 3 == 2) along = 1.0, r = top * sqrt(p);
  for (int d = 0; d < 3; d++)
    x[d] = s.center[d] + along * 0.5 * s.axis[d] + r * (cos(angle) * u[d] + sin(angle) * v[d]);
}

static void wedge_surface(uint64_t k, double x[3])
{
  const struct shape s = wedge();
  double p = rng_uniform(4, k, 0), q = rng_uniform(4, k, 1), local[3] = {0, 0, 0.5 * (2.0 * q - 1.0)};
  switch (k % 4) {
  case 0: local[0] = 0.3 * (2.0 * p - 1.0), local[1] = -0.4; break;
  case 1: local[0] = 0.3 * (1.0 - p), local[1] = -0.4 + 0.8 * p; break;
  case 2: local[0] = -0.3 * (1.0 - p), local[1] = -0.4 + 0.8 * p; break;
  default: /* an end: a point of the triangle */
    local[1] = -0.4 + 0.8 * (1.0 - sqrt(p));
    local[0] = 0.3 * sqrt(p) * (2.0 * q - 1.0);
    local[2] = k % 8 == 3 ? 0.5 : -0.5;
  }
  shape_to_world(&s, local, x);
}

static void cones_and_wedges_are_exact(void **state)
{
  (void)state;
  enum { SURFACE = 60000 };
  static double surface[SURFACE][3];
  for (int k = 0; k < 3; k++) {
    for (uint64_t i = 0; i < SURFACE; i++) {
      if (k < 2)
        cone_surface(i, k == 0 ? 0.0 : 0.15, surface[i]);
      else
        wedge_surface(i, surface[i]);
      assert_true(fabs(shape_distance(&shapes[k], surface[i], NULL)) < 1e-14);
    }
    for (uint64_t i = 0; i < 60; i++) {
      double x[3], least = INFINITY;
      random_point(i, 160 + (uint64_t)k, 1.0, x);
      for (int j = 0; j < SURFACE; j++) {
        double d[3];
        vec_sub(x, surface[j], d);
        least = fmin(least, vec_dot(d, d));
      }
      const double distance = fabs(shape_distance(&shapes[k], x, NULL));
      assert_true(sqrt(least) >= distance - 1e-12);
      assert_true(sqrt(least) <= distance + 0.03);
    }
  }
}

/* Rays end on the surface, and where one misses no point on it is inside. */
static void rays_find_the_surface(void **state)
{
  (void)state;
  for (int k = 0; k < KINDS; k++) {
    int hits = 0;
    for (uint64_t i = 0; i < 300; i++) {
      double origin[3], target[3], direction[3], x[3], t;
      random_point(i, 192 + (uint64_t)k, 1.0, origin);
      vec_normalize(origin);
      for (int d = 0; d < 3; d++) origin[d] *= 3.0;
      random_point(i, 224 + (uint64_t)k, 0.6, target);
      vec_sub(target, origin, direction);
      const bool hit = raycast_shape(&shapes[k], origin, direction, &t);
      hits += hit;
      for (int j = 0; j < 400; j++) {
        vec_axpy(origin, (hit ? t : 2.0) * (j / 400.0), direction, x);
        assert_true(shape_distance(&shapes[k], x, NULL) > -0.03);
      }
      if (!hit) continue;
      vec_axpy(origin, t, direction, x);
      assert_true(fabs(shape_distance(&shapes[k], x, NULL)) < 0.01);
    }
    assert_true(hits > 30);
  }
}

static void nothing_is_nowhere(void **state)
{
  (void)state;
  const struct shape none = {0}; /* what is never given must be nothing */
  const double x[3] = {0, 0, 0}, d[3] = {0, 0, 1};
  double least, most, t;
  assert_true(isinf(shape_distance(&none, x, NULL)));
  shape_range(&none, x, 5.0, &least, &most);
  assert_true(least > 0.0);
  assert_int_equal(none.kind, SHAPE_NONE);
  assert_false(shape_contains(&none, x));
  assert_true(shape_volume(&none) == 0.0 && shape_reach(&none) == 0.0);
  assert_false(raycast_shape(&none, x, d, &t));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distances_keep_the_metric_and_the_ranges),
      cmocka_unit_test(maps_agree_with_shapes),
      cmocka_unit_test(pruned_trees_are_the_same),
      cmocka_unit_test(normals_are_gradients),
      cmocka_unit_test(terrain_follows_its_form),
      cmocka_unit_test(volumes_and_bounds),
      cmocka_unit_test(volumes_are_exact_enough),
      cmocka_unit_test(copies_move_rigidly),
      cmocka_unit_test(cones_and_wedges_are_exact),
      cmocka_unit_test(rays_find_the_surface),
      cmocka_unit_test(nothing_is_nowhere),
      cmocka_unit_test(all_is_freed),
  };
  return cmocka_run_group_tests(tests, make, NULL);
}
