/* The exact sum: the same value in any order and any grouping, correctly rounded, over the whole range of
 * doubles. The oracle for ordinary numbers is a sum in __int128 of numbers that are multiples of one power of
 * two; for wide ranges, sums that are known by construction. */
#include "base/exactsum.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double sum_of(const double *values, int count)
{
  struct exact_sum sum = {{0}};
  for (int k = 0; k < count; k++) exact_add(&sum, values[k]);
  return exact_value(&sum);
}

static void shuffle(double *values, int count, uint64_t seed)
{
  for (int k = count - 1; k > 0; k--) {
    const int other = (int)(rng_bits(seed, (uint64_t)k, 1) % (uint64_t)(k + 1));
    const double kept = values[k];
    values[k] = values[other];
    values[other] = kept;
  }
}

/* Any sign, any exponent from `low` to `high`. */
static double wild(uint64_t k, int low, int high)
{
  const double mantissa = 1.0 + rng_uniform(5, k, 0);
  const int exponent = low + (int)(rng_bits(5, k, 1) % (uint64_t)(high - low + 1));
  return ldexp(rng_bits(5, k, 2) & 1 ? mantissa : -mantissa, exponent);
}

static void a_million_terms_against_integers(void **state)
{
  (void)state;
  struct exact_sum sum = {{0}};
  __int128 oracle = 0; /* in units of 2^-80 */
  for (uint64_t k = 0; k < 1000000; k++) {
    const double value = wild(k, -28, 20);
    exact_add(&sum, value);
    oracle += (__int128)ldexp(value, 80);
  }
  const double found = exact_value(&sum);
  /* The oracle in two halves of a double-double; the sum of both, rounded once, is the nearest double. */
  const double high = (double)oracle, low = (double)(oracle - (__int128)high);
  assert_true(found == ldexp(high + low, -80));
  print_message("10^6 terms: %.17g\n", found);
}

static void order_and_grouping_do_not_matter(void **state)
{
  (void)state;
  enum { COUNT = 5000 };
  static double values[COUNT];
  for (uint64_t k = 0; k < COUNT; k++) values[k] = wild(k, -1074, 1000);
  const double first = sum_of(values, COUNT);
  for (uint64_t round = 0; round < 20; round++) {
    shuffle(values, COUNT, round);
    const double again = sum_of(values, COUNT);
    assert_memory_equal(&again, &first, sizeof first);
    struct exact_sum parts[7] = {{{0}}}, whole = {{0}};
    for (int k = 0; k < COUNT; k++) exact_add(&parts[rng_bits(round, (uint64_t)k, 3) % 7], values[k]);
    for (int part = 0; part < 7; part++)
      for (int limb = 0; limb < EXACT_LIMBS; limb++) whole.limb[limb] += parts[part].limb[limb];
    const double grouped = exact_value(&whole);
    assert_memory_equal(&grouped, &first, sizeof first);
  }
}

static void cancellation_is_complete(void **state)
{
  (void)state;
  enum { COUNT = 2001 };
  static double values[COUNT];
  for (uint64_t k = 0; k < 1000; k++) {
    values[2 * k] = wild(k, -1000, 1000);
    values[2 * k + 1] = -values[2 * k];
  }
  values[2000] = 0x1.8p-1073;
  shuffle(values, COUNT, 9);
  assert_true(sum_of(values, COUNT) == 0x1.8p-1073);
  values[0] = 1e300, values[1] = 1.0, values[2] = -1e300, values[3] = -1e-300, values[4] = -1.0;
  assert_true(sum_of(values, 5) == -1e-300);
  assert_true(sum_of(values, 3) == 1.0);
  assert_true(sum_of(NULL, 0) == 0.0 && !signbit(sum_of(NULL, 0)));
}

/* Ties go to even, and the least bit far below breaks a tie. */
static void rounding_is_to_nearest(void **state)
{
  (void)state;
  const double half = 0x1p-53, tie_down[] = {1.0, half}, tie_up[] = {1.0 + 0x1p-52, half},
               above[] = {1.0, half, 0x1p-1074}, below[] = {1.0 + 0x1p-52, half, -0x1p-1074};
  assert_true(sum_of(tie_down, 2) == 1.0);
  assert_true(sum_of(tie_up, 2) == 1.0 + 0x1p-51);
  assert_true(sum_of(above, 3) == 1.0 + 0x1p-52);
  assert_true(sum_of(below, 3) == 1.0 + 0x1p-52);
  const double minus[] = {-1.0, -half, -0x1p-1074};
  assert_true(sum_of(minus, 3) == -1.0 - 0x1p-52);
  for (uint64_t k = 0; k < 20000; k++) { /* the sum of two is the machine's own */
    const double two[] = {wild(2 * k, -40, 40), wild(2 * k + 1, -40, 40)};
    assert_true(sum_of(two, 2) == two[0] + two[1]);
  }
}

static void the_ends_of_the_range(void **state)
{
  (void)state;
  double values[4] = {0x1p-1074, 0x1p-1074, 0x1p-1074, -0x1p-1022};
  assert_true(sum_of(values, 3) == 3.0 * 0x1p-1074);
  assert_true(sum_of(values, 4) == 3.0 * 0x1p-1074 - 0x1p-1022);
  double huge[3] = {DBL_MAX, DBL_MAX, -DBL_MAX};
  assert_true(sum_of(huge, 3) == DBL_MAX);
  assert_true(sum_of(huge, 2) == INFINITY); /* the sum itself is beyond a double */
  struct exact_sum sum = {{0}};
  for (int k = 0; k < 100000; k++) exact_add(&sum, -DBL_MAX);
  assert_true(exact_value(&sum) == -INFINITY);
  for (int k = 0; k < 100000; k++) exact_add(&sum, DBL_MAX);
  assert_true(exact_value(&sum) == 0.0);
}

static void what_is_not_finite_stays_visible(void **state)
{
  (void)state;
  const double bad[] = {NAN, INFINITY, -INFINITY};
  for (int k = 0; k < 3; k++) {
    const double values[] = {1.0, bad[k], 2.0};
    assert_true(isnan(sum_of(values, 3)));
  }
  const double both[] = {INFINITY, -INFINITY};
  assert_true(isnan(sum_of(both, 2)));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_million_terms_against_integers),
      cmocka_unit_test(order_and_grouping_do_not_matter),
      cmocka_unit_test(cancellation_is_complete),
      cmocka_unit_test(rounding_is_to_nearest),
      cmocka_unit_test(the_ends_of_the_range),
      cmocka_unit_test(what_is_not_finite_stays_visible),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
