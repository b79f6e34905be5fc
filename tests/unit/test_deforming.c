/* Bodies that deform: what lies between keys against a ball that moves and breathes in closed form, with
 * errors that fall with the square of the key spacing; the file of keys; and skeletons of capsules. */
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "bodies/body.h"
#include "bodies/quaternion.h"
#include "bodies/skeleton.h"
#include "io/assets/levelset_file.h"
#include "io/assets/skeleton_file.h"
#include "io/particles/hdf5.h"
#include "levelset/sdf_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const double spacing = 0.02;

/* The ball at time t: distance at x, and velocity of the material there (all of it moves along the normal
 * with the surface). */
static double exact_distance(double t, const double x[3], double v[3])
{
  const double center[3] = {0.4 * sin(1.5 * t), 0.2 * cos(2.0 * t), 0.1 * t},
               radius = 0.3 + 0.06 * sin(2.0 * t);
  const double drift[3] = {0.6 * cos(1.5 * t), -0.4 * sin(2.0 * t), 0.1}, growth = 0.12 * cos(2.0 * t);
  double n[3];
  vec_sub(x, center, n);
  const double length = vec_normalize(n);
  vec_axpy(drift, growth, n, v);
  return length - radius;
}

static void make_key(double t, struct sdf *key, float **block)
{
  const double lower[3] = {-0.9, -0.7, -0.5}, upper[3] = {0.9, 0.7, 0.7};
  sdf_plan(key, lower, upper, spacing);
  const int64_t count = sdf_count(key);
  float *phi = mem_alloc((size_t)(4 * count), sizeof *phi), *velocity = phi + count;
  for (int64_t z = 0, k = 0; z < key->n[2]; z++)
    for (int64_t y = 0; y < key->n[1]; y++)
      for (int64_t x = 0; x < key->n[0]; x++, k++) {
        const double at[3] = {key->lower[0] + spacing * (double)x, key->lower[1] + spacing * (double)y,
                              key->lower[2] + spacing * (double)z};
        double v[3];
        phi[k] = (float)exact_distance(t, at, v);
        for (int d = 0; d < 3; d++) velocity[3 * k + d] = (float)v[d];
        key->max_speed = fmax(key->max_speed, vec_norm(v));
      }
  key->phi = *block = phi;
  key->velocity = velocity;
}

struct errors {
  double distance, velocity, normal;
};

/* Largest errors near the surface half way between two keys this far apart. */
static struct errors measure(double gap)
{
  struct sdf key[2];
  float *block[2];
  double time[2] = {1.0 - 0.5 * gap, 1.0 + 0.5 * gap};
  for (int k = 0; k < 2; k++) make_key(time[k], &key[k], &block[k]);
  const struct keyed keys = {.count = 2, .time = time, .key = key};
  struct body body = {.shape = {.kind = SHAPE_KEYS, .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .keys = &keys}};
  struct body_pose pose;
  struct errors worst = {0};
  body_finish(&body);
  body_pose_at(&body, 1.0, &pose);
  for (uint64_t i = 0; i < 30000; i++) {
    double x[3], v[3], n[3], found[3];
    for (uint64_t d = 0; d < 3; d++) x[d] = 1.6 * (rng_uniform(1, i, d) - 0.5);
    const double exact = exact_distance(1.0, x, v);
    if (fabs(exact) > 0.06) continue;
    double least, most;
    const double distance = shape_distance(&pose.shape, x, n);
    worst.distance = fmax(worst.distance, fabs(distance - exact));
    body_velocity(&pose, x, found);
    vec_sub(found, v, found);
    worst.velocity = fmax(worst.velocity, vec_norm(found));
    shape_range(&pose.shape, x, 0.0, &least, &most);
    assert_true(least <= distance && distance <= most);
    assert_true(vec_norm(v) <= body_max_speed(&body) + 0.05);
  }
  for (int k = 0; k < 2; k++) mem_free(block[k]);
  body_destroy(&body);
  print_message("keys %g s apart: errors %.2g m, %.2g m/s\n", gap, worst.distance, worst.velocity);
  return worst;
}

static void errors_fall_with_the_key_spacing(void **state)
{
  (void)state;
  struct errors before = measure(0.6);
  for (double gap = 0.3; gap > 0.06; gap *= 0.5) {
    const struct errors now = measure(gap);
    assert_true(now.distance < 0.35 * before.distance);
    assert_true(now.velocity < 0.35 * before.velocity);
    before = now;
  }
  assert_true(before.distance < 2e-3 && before.velocity < 2e-3);
  assert_int_equal(mem_balance(), 0);
}

static void moments(void **state)
{
  (void)state;
  double time[3] = {1.0, 2.0, 4.0};
  struct sdf key[3] = {{.max_speed = 1.0}, {.max_speed = 3.0}, {.max_speed = 2.0}};
  struct keyed keys = {.count = 3, .time = time, .key = key};
  struct keyed_moment m = keyed_at(&keys, 0.5);
  assert_true(m.frozen && m.key == 0);
  m = keyed_at(&keys, 9.0);
  assert_true(m.frozen && m.key == 2);
  m = keyed_at(&keys, 1.0);
  assert_true(!m.frozen && m.key == 0 && m.gamma == 0.0);
  m = keyed_at(&keys, 3.0);
  assert_true(!m.frozen && m.key == 1 && m.gamma == 0.5);
  assert_true(keyed_max_speed(&keys, 0.0, 0.5) == 0.0 && keyed_max_speed(&keys, 0.0, 9.0) == 3.0);
  assert_true(keyed_max_speed(&keys, 1.25, 1.5) == 2.0 && keyed_max_speed(&keys, 3.0, 9.0) == 2.5);
  keys.cyclic = true;
  m = keyed_at(&keys, 9.0); /* 1 + 8 mod 3 = 3 */
  assert_true(!m.frozen && m.key == 1 && m.gamma == 0.5);
  m = keyed_at(&keys, 0.5);
  assert_true(m.key == 1 && m.gamma == 0.75);
  assert_true(keyed_max_speed(&keys, 7.25, 7.5) == 2.0); /* as 1.25 .. 1.5 */
  assert_true(keyed_max_speed(&keys, 6.0, 7.5) == 2.5);  /* 3 .. 4, and 1 .. 1.5: 2.5 to 2, 1 to 2 */
  assert_true(keyed_max_speed(&keys, 6.0, 8.0) == 3.0);  /* to the key at 2 */
  assert_true(keyed_max_speed(&keys, 0.0, 1e9) == 3.0);
}

static void write_keys(const char *path, int count, const double *times)
{
  struct levelset_writer w;
  struct error err = {0};
  assert_int_equal(levelset_writer_open(&w, path, spacing, &err), 0);
  for (int k = 0; k < count; k++) {
    struct sdf key;
    float *block;
    make_key(times[k], &key, &block);
    assert_int_equal(levelset_writer_add(&w, times[k], &key, &err), 0);
    mem_free(block);
  }
  assert_int_equal(levelset_writer_close(&w, true, &err), 0);
}

static void keys_come_back_from_their_file(void **state)
{
  (void)state;
  char folder[] = "/tmp/firn_keys_XXXXXX", path[64];
  const double times[2] = {0.5, 0.75}, wrong[2] = {1.0, 0.5};
  struct levelset_plan plan;
  struct error err = {0};
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/k.h5", folder);
  write_keys(path, 2, times);
  assert_int_equal(levelset_plan_read(&plan, path, &err), 0);
  float *samples = mem_alloc((size_t)plan.floats, sizeof *samples);
  assert_int_equal(levelset_samples_read(&plan, path, samples, &err), 0);
  struct keyed keys;
  levelset_keys(&plan, samples, false, &keys);
  for (int k = 0; k < 2; k++) {
    struct sdf key;
    float *block;
    make_key(times[k], &key, &block);
    assert_true(keys.time[k] == times[k]);
    assert_memory_equal(keys.key[k].phi, key.phi, (size_t)sdf_count(&key) * 4);
    assert_memory_equal(keys.key[k].velocity, key.velocity, (size_t)sdf_count(&key) * 12);
    assert_memory_equal(keys.key[k].lower, key.lower, sizeof key.lower);
    assert_true(fabs(keys.key[k].max_speed - key.max_speed) < 1e-6);
    mem_free(block);
  }
  levelset_keys_free(&keys);
  levelset_plan_free(&plan);
  mem_free(samples);
  write_keys(path, 2, wrong);
  assert_int_equal(levelset_plan_read(&plan, path, &err), FIRN_EINPUT);
  assert_non_null(strstr(err.text, "out of order"));
  unlink(path);
  rmdir(folder);
  assert_int_equal(mem_balance(), 0);
}

static const char figure[] =
    "spacing: 0.02\nend: 1\nblend: 0.05\nbones:\n"
    "  - name: hip\n    from: [0, 1, 0]\n    to: [0, 1.3, 0]\n    radius: 0.1\n"
    "    motion: {keys: [{time: 0}, {time: 1, move: [1, 0, 0.2]}, {time: 2, move: [2, 0, 0]}]}\n"
    "  - name: leg\n    parent: hip\n    from: [0, 1, 0]\n    to: [0, 0.5, 0.1]\n    radius: 0.08\n"
    "    motion: {keys: [{time: 0}, {time: 1, rotate: {axis: [1, 0, 1], degrees: 50}}, {time: 2}]}\n"
    "  - name: foot\n    parent: leg\n    from: [0, 0.5, 0.1]\n    to: [0.2, 0.45, 0.1]\n    radius: 0.05\n"
    "    motion: {keys: [{time: 0}, {time: 1.5, rotate: {axis: [0, 0, 1], degrees: -30}}]}\n";

static void bones_move_as_their_velocities_say(void **state)
{
  (void)state;
  struct skeleton_plan plan;
  struct error err = {0};
  if (skeleton_parse(&plan, "figure.yml", figure, &err)) fail_msg("%s", err.text);
  struct bone_pose pose[3][3];
  const double e = 1e-5;
  for (int k = 1; k < 20; k++) {
    const double t = 0.083 * k;
    for (int j = 0; j < 3; j++) skeleton_pose(plan.skeleton, t + (j - 1) * e, pose[j]);
    for (int b = 0; b < 3; b++) {
      double x[3][3], v[3];
      const double rest[3] = {0.3, -0.2, 0.7};
      for (int j = 0; j < 3; j++) {
        quaternion_rotate(pose[j][b].turn, rest, x[j]);
        vec_axpy(x[j], 1.0, pose[j][b].shift, x[j]);
      }
      vec_cross(pose[1][b].spin, x[1], v);
      vec_axpy(v, 1.0, pose[1][b].velocity, v);
      for (int d = 0; d < 3; d++) assert_true(fabs((x[2][d] - x[0][d]) / (2.0 * e) - v[d]) < 1e-7);
    }
    double gap[3], v[3], lower[3], upper[3], speed;
    vec_sub(pose[1][1].to, pose[1][2].from, gap);
    assert_true(vec_norm(gap) < 1e-14); /* joints hold */
    assert_true(skeleton_distance(plan.skeleton, pose[1], pose[1][2].to, v) <= -0.05 + 1e-12);
    skeleton_bounds(plan.skeleton, pose[1], lower, upper, &speed);
    assert_true(vec_norm(v) <= speed + 1e-12);
  }
  skeleton_destroy(&plan.skeleton);
  assert_int_equal(mem_balance(), 0);
}

static void figures_that_run_into_themselves(void **state)
{
  (void)state;
  struct bone bones[4] = {{.parent = -1, .to = {0, 1, 0}, .radius = 0.1},
                          {.parent = 0, .from = {0, 1, 0}, .to = {1, 1, 0}, .radius = 0.1},
                          {.parent = 1, .from = {1, 1, 0}, .to = {1, 0, 0}, .radius = 0.1},
                          {.parent = 2, .from = {1, 0, 0}, .to = {0.15, 0, 0}, .radius = 0.1}};
  const struct skeleton skeleton = {.bone = bones, .count = 4};
  struct bone_pose pose[4];
  int a, b;
  skeleton_pose(&skeleton, 0.0, pose);
  assert_true(skeleton_touches_itself(&skeleton, pose, &a, &b)); /* the last reaches the first */
  assert_true(a == 0 && b == 3);
  bones[3].to[0] = 0.3;
  skeleton_pose(&skeleton, 0.0, pose);
  assert_false(skeleton_touches_itself(&skeleton, pose, &a, &b));
}

static void broken_skeletons(void **state)
{
  (void)state;
  static const struct {
    const char *text, *why;
  } cases[] = {
      {"", "figure.yml"},
      {"spacing: 0.02\nend: 1\n", "expected a list of 1 to 256 bones"},
      {"spacing: 0.02\nend: 1\nbones: []\n", "expected a list of 1 to 256 bones"},
      {"spacing: -1\nend: 1\nbones: [{name: a, from: [0,0,0], to: [0,1,0], radius: 1}]\n", "above 0"},
      {"spacing: 1\nend: 1\nbones: [{from: [0,0,0], to: [0,1,0], radius: 1}]\n", "'name' is missing"},
      {"spacing: 1\nend: 1\nbones: [{name: a, from: [0,0,0], to: [0,1,0], radius: 1, parent: b}]\n",
       "no bone before this one is called 'b'"},
      {"spacing: 1\nend: 1\nbones: [{name: a, from: [0,0,0], to: [0,1,0], radius: 1, colour: 1}]\n",
       "unknown key"},
      {"spacing: 1\nend: 1\nbones: [{name: a, from: [0,0,0], to: [0,1,0], radius: 1},"
       " {name: a, from: [0,0,0], to: [0,1,0], radius: 1}]\n",
       "another bone"},
      {"spacing: 1\nend: 1\nbones: [{name: a, from: [0,0,0], to: [0,1,0], radius: 1,"
       " motion: {keys: [{time: 1}, {time: 0}]}}]\n",
       "out of order"},
      {"spacing: 1\nend: 1e9\nbones: [{name: a, from: [0,0,0], to: [0,1,0], radius: 1}]\n", "at most 1e5"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct skeleton_plan plan;
    struct error err = {0};
    assert_int_equal(skeleton_parse(&plan, "figure.yml", cases[k].text, &err), FIRN_EINPUT);
    if (!strstr(err.text, cases[k].why)) fail_msg("expected '%s', got: %s", cases[k].why, err.text);
    assert_null(plan.skeleton);
  }
  assert_int_equal(mem_balance(), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_fall_with_the_key_spacing),
      cmocka_unit_test(moments),
      cmocka_unit_test(keys_come_back_from_their_file),
      cmocka_unit_test(bones_move_as_their_velocities_say),
      cmocka_unit_test(figures_that_run_into_themselves),
      cmocka_unit_test(broken_skeletons),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
