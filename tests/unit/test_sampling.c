/* Points and noise: how they are spread, and that they depend on nothing but their seed and index. */
#include "base/memory.h"
#include "seeding/noise.h"
#include "seeding/sampling.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const double origin[3] = {-1.0, 2.0, 0.5};
static const double low[3] = {-0.93, 2.04, 0.55}, high[3] = {0.41, 3.3, 1.72}; /* m */
static const double cell = 0.1;                                                /* m */

static struct sampling make(enum snow_sampling kind, double per_cell, int slow)
{
  struct sampling s;
  sampling_create(&s, kind, 5, cell, per_cell, origin, low, high, slow);
  return s;
}

/* Chi-square of `count` values over `bins` equal bins of [0, 1), in standard deviations from its mean. */
static double surprise(const double *value, int64_t count, int bins)
{
  double *seen = mem_alloc((size_t)bins, sizeof *seen), sum = 0.0;
  for (int64_t k = 0; k < count; k++) seen[(int)(value[k] * bins)] += 1.0;
  const double expected = (double)count / bins;
  for (int b = 0; b < bins; b++) sum += (seen[b] - expected) * (seen[b] - expected) / expected;
  mem_free(seen);
  return (sum - (bins - 1)) / sqrt(2.0 * (bins - 1));
}

static void test_rows_are_uniform(void **state)
{
  (void)state;
  enum { COUNT = 100000 };
  double *value = mem_alloc(COUNT, sizeof *value);
  for (int d = 0; d < 3; d++) {
    double x[3], of_sequence, of_random;
    for (int64_t k = 0; k < COUNT; k++) {
      sampling_in_cube(SAMPLING_SEQUENCE, 3, k, x);
      value[k] = x[d];
      assert_true(x[d] >= 0.0 && x[d] < 1.0);
    }
    of_sequence = surprise(value, COUNT, 100);
    for (int64_t k = 0; k < COUNT; k++) {
      sampling_in_cube(SAMPLING_RANDOM, 3, k, x);
      value[k] = x[d];
    }
    of_random = surprise(value, COUNT, 100);
    assert_true(of_sequence < -6.5); /* far more even than chance */
    assert_true(fabs(of_random) < 4.0);
  }
  mem_free(value);
}

/* Every whole cell holds its number of points, and the box their mean. */
static void test_random_fills_cells(void **state)
{
  (void)state;
  const struct sampling whole = make(SAMPLING_RANDOM, 8.0, 0), broken = make(SAMPLING_RANDOM, 2.25, 1);
  assert_int_equal(sampling_count(&whole), whole.cubes[0] * whole.cubes[1] * whole.cubes[2] * 8);
  double x[3];
  for (int64_t k = 0; k < sampling_count(&whole); k++) {
    assert_true(sampling_point(&whole, k, x));
    const int64_t cube = k / 8;
    const int64_t at[3] = {cube / (whole.cubes[1] * whole.cubes[2]), cube / whole.cubes[2] % whole.cubes[1],
                           cube % whole.cubes[2]};
    for (int d = 0; d < 3; d++) {
      const double inside = (x[d] - whole.lower[d]) / cell - (double)at[d];
      assert_true(inside > -1e-9 && inside < 1.0 + 1e-9);
    }
  }
  int64_t found = 0;
  for (int64_t k = 0; k < sampling_count(&broken); k++) found += sampling_point(&broken, k, x);
  const double mean = 2.25 * (double)(broken.cubes[0] * broken.cubes[1] * broken.cubes[2]);
  assert_true(fabs((double)found - mean) < 5.0 * sqrt(mean));
}

static void test_jitter_has_one_in_each_cube(void **state)
{
  (void)state;
  const struct sampling s = make(SAMPLING_JITTERED, 8.0, 2);
  assert_true(fabs(s.pitch - 0.5 * cell) < 1e-15);
  double x[3];
  for (int64_t k = 0; k < sampling_count(&s); k++) {
    assert_true(sampling_point(&s, k, x));
    const int64_t at[3] = {k / (s.cubes[1] * s.cubes[2]), k / s.cubes[2] % s.cubes[1], k % s.cubes[2]};
    for (int a = 0; a < 3; a++) {
      const int d = s.axis[a];
      const double inside = (x[d] - s.lower[d]) / s.pitch - (double)at[a];
      assert_true(inside > -1e-9 && inside < 1.0 + 1e-9);
    }
  }
}

/* Nearest neighbours, also across the ends of tiles, by brute force over 2 x 1 x 1 tiles. */
static void test_poisson_keeps_its_distance(void **state)
{
  (void)state;
  struct sampling s;
  const double corner[3] = {0.0, 0.0, 0.0}, end[3] = {31.9, 15.9, 15.9};
  sampling_create(&s, SAMPLING_POISSON, 9, 1.0, 1.0, corner, corner, end, 0);
  assert_int_equal(s.cubes[0] * s.cubes[1] * s.cubes[2], 2);
  const int64_t count = sampling_count(&s);
  assert_int_equal(count, 2 * 16 * 16 * 16);
  double *x = mem_alloc(3 * (size_t)count, sizeof *x), least = INFINITY, most = 0.0, mean = 0.0;
  for (int64_t k = 0; k < count; k++) assert_true(sampling_point(&s, k, x + 3 * k));
  for (int64_t i = 0; i < count; i++) {
    double nearest = INFINITY;
    for (int64_t j = 0; j < count; j++) {
      double square = 0.0;
      for (int d = 0; d < 3; d++) square += (x[3 * i + d] - x[3 * j + d]) * (x[3 * i + d] - x[3 * j + d]);
      if (i != j) nearest = fmin(nearest, square);
    }
    least = fmin(least, sqrt(nearest));
    most = fmax(most, sqrt(nearest));
    mean += sqrt(nearest) / (double)count;
  }
  assert_true(least > 0.83); /* of the mean spacing; chance would give some 0.02 */
  assert_true(mean > 0.86 && mean < 1.0 && most < 1.6);
  mem_free(x);
  sampling_destroy(&s);
}

/* A range holds all its points, and little more. */
static void test_ranges(void **state)
{
  (void)state;
  const enum snow_sampling kinds[] = {SAMPLING_RANDOM, SAMPLING_JITTERED, SAMPLING_POISSON};
  for (int k = 0; k < 3; k++)
    for (int slow = 0; slow < 3; slow++) {
      struct sampling s = make(kinds[k], 7.3, slow);
      const double from = low[slow] + 0.31, to = low[slow] + 0.47;
      int64_t begin, end;
      sampling_range(&s, from, to, &begin, &end);
      assert_true(begin >= 0 && end <= sampling_count(&s) && begin < end);
      for (int64_t i = 0; i < sampling_count(&s); i++) {
        double x[3];
        if (sampling_point(&s, i, x) && x[slow] >= from && x[slow] < to) assert_true(i >= begin && i < end);
      }
      sampling_range(&s, high[slow] + 9.0, high[slow] + 10.0, &begin, &end);
      assert_true(begin == end);
      sampling_destroy(&s);
    }
}

static void test_cube_root(void **state)
{
  (void)state;
  for (double x = 1e-12; x < 1e13; x *= 1.37)
    assert_true(fabs(sampling_cube_root(x) / cbrt(x) - 1.0) < 1e-15);
  assert_true(sampling_cube_root(4096.0) == 16.0 && sampling_cube_root(1.0) == 1.0);
}

static void test_noise_is_bounded_smooth_and_seeded(void **state)
{
  (void)state;
  double sum = 0.0, square = 0.0, largest = 0.0, step = 0.0;
  int differs = 0;
  enum { COUNT = 50000 };
  for (int k = 0; k < COUNT; k++) {
    double x[3];
    for (int d = 0; d < 3; d++) x[d] = 40.0 * ((double)rand() / RAND_MAX - 0.5);
    const double n = noise_at(7, 0, 3, x);
    const double y[3] = {x[0] + 1e-6, x[1], x[2]};
    sum += n;
    square += n * n;
    largest = fmax(largest, fabs(n));
    step = fmax(step, fabs(noise_at(7, 0, 3, y) - n));
    differs += noise_at(8, 0, 3, x) != n;
  }
  assert_true(largest < 1.0 && largest > 0.9);
  assert_true(fabs(sum / COUNT) < 0.02);
  assert_true(sqrt(square / COUNT) > 0.3);
  assert_true(step < 1e-4); /* a slope below 100 a feature */
  assert_true(differs > COUNT - 10);
}

/* Kept gradients change no bit, inside the box they are kept for and beyond it. */
static void test_noise_fields(void **state)
{
  (void)state;
  const double lower[3] = {-3.2, -1.0, 0.0}, upper[3] = {4.7, 2.0, 40.5};
  for (int64_t period = 0; period < 6; period += 5) {
    struct noise_field field;
    noise_field_create(&field, 7, period, 6, lower, upper);
    assert_true(field.octave[0].gradient && !field.octave[5].gradient); /* too many */
    for (int k = 0; k < 50000; k++) {
      double x[3];
      for (int d = 0; d < 3; d++)
        x[d] = lower[d] - 0.5 + (upper[d] - lower[d] + 1.0) * ((double)rand() / RAND_MAX);
      assert_true(noise_field_at(&field, x) == noise_at(7, period, 6, x));
    }
    noise_field_destroy(&field);
  }
}

static void test_noise_repeats(void **state)
{
  (void)state;
  for (int k = 0; k < 1000; k++) {
    double x[3], y[3];
    for (int d = 0; d < 3; d++) {
      x[d] = floor(1024.0 * 20.0 * ((double)rand() / RAND_MAX - 0.5)) / 1024.0; /* so that sums are exact */
      y[d] = x[d] + 5.0 * (k % 7 - 3);
    }
    assert_true(noise_at(3, 5, 4, x) == noise_at(3, 5, 4, y));
  }
}

static void test_noise_factor(void **state)
{
  (void)state;
  assert_true(noise_factor(0.0, 4.0) == 1.0 && noise_factor(0.7, 1.0) == 1.0);
  assert_true(fabs(noise_factor(1.0, 4.0) - 4.0) < 1e-12 && fabs(noise_factor(-1.0, 4.0) - 0.25) < 1e-12);
  for (double n = -1.0; n <= 1.0; n += 0.125)
    assert_true(fabs(noise_factor(n, 3.0) * noise_factor(-n, 3.0) - 1.0) < 1e-12);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_are_uniform),
      cmocka_unit_test(test_random_fills_cells),
      cmocka_unit_test(test_jitter_has_one_in_each_cube),
      cmocka_unit_test(test_poisson_keeps_its_distance),
      cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_cube_root),
      cmocka_unit_test(test_noise_is_bounded_smooth_and_seeded),
      cmocka_unit_test(test_noise_fields),
      cmocka_unit_test(test_noise_repeats),
      cmocka_unit_test(test_noise_factor),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return failed ? failed : mem_balance() != 0;
}
