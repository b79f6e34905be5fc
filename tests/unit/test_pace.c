/* When checkpoints are written: Daly's interval against the loss it should make least, the limit of a job,
 * steps and frames. */
#include "run/pace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Expected wall time for an hour of work with failures at random: Daly's model, restart time 0. */
static double expected_time(double interval, double write, double mtbf)
{
  return mtbf * (exp((interval + write) / mtbf) - 1.0) * 3600.0 / interval;
}

static void test_daly(void **state)
{
  (void)state;
  const double cases[][2] = {{1.0, 86400.0}, {60.0, 86400.0}, {600.0, 7200.0}, {0.01, 3600.0}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const double write = cases[k][0], mtbf = cases[k][1], best = daly_interval(write, mtbf);
    double least = INFINITY;
    for (double factor = 0.2; factor < 5.0; factor *= 1.01)
      least = fmin(least, expected_time(best * factor, write, mtbf));
    assert_true(expected_time(best, write, mtbf) < least * 1.0005);
  }
  assert_true(daly_interval(300.0, 100.0) == 100.0); /* no better than the machine's own life */
}

static struct scene_checkpoint rules_of(double interval, double limit)
{
  return (struct scene_checkpoint){
      .interval = interval, .wall_limit = limit, .keep = 2, .mtbf = 86400.0, .margin = 10.0};
}

static void test_interval(void **state)
{
  (void)state;
  struct scene_checkpoint rules = rules_of(100.0, 0.0);
  struct pace pace;
  pace_start(&pace, &rules, 1000.0, 990.0, NULL, 0.0, 1e8);
  assert_int_equal(pace_poll(&pace, 1099.0), REQUEST_NONE);
  assert_int_equal(pace_poll(&pace, 1100.0), REQUEST_CHECKPOINT);
  pace_wrote(&pace, 1102.0, 2.0, true);
  assert_int_equal(pace_poll(&pace, 1201.0), REQUEST_NONE);
  assert_int_equal(pace_poll(&pace, 1202.0), REQUEST_CHECKPOINT);
  pace_wrote(&pace, 1203.0, 1.0, false); /* a failure waits as long, and is counted */
  assert_int_equal(pace_poll(&pace, 1300.0), REQUEST_NONE);
  assert_int_equal(pace_poll(&pace, 1303.0), REQUEST_CHECKPOINT);
  assert_int_equal(pace.failures, 1);
  pace_wrote(&pace, 1304.0, 1.0, true);
  assert_int_equal(pace.failures, 0);
  rules.keep = 0;
  assert_int_equal(pace_poll(&pace, 9999.0), REQUEST_NONE);
  rules = rules_of(0.0, 0.0); /* automatic: from the measured second of a write, some minutes */
  assert_true(fabs(pace_interval(&pace) - daly_interval(1.0, 86400.0)) < 1e-9);
  pace_wrote(&pace, 1400.0, 1e-4,
             true); /* a small run: the formula says some seconds, half a minute is enough */
  assert_true(daly_interval(1e-4, 86400.0) < 10.0 && pace_interval(&pace) == 30.0);
}

static void test_limit(void **state)
{
  (void)state;
  struct scene_checkpoint rules = rules_of(1e6, 500.0);
  struct pace pace;
  pace_start(&pace, &rules, 1000.0, 990.0, "1", 0.0, 0.0); /* the scene's limit wins over the job's */
  assert_true(pace.deadline == 1490.0);
  for (double now = 1001.0; now < 1470.0; now += 4.0) assert_int_equal(pace_poll(&pace, now), REQUEST_NONE);
  assert_int_equal(pace_poll(&pace, 1477.0), REQUEST_LIMIT); /* 10 s to spare and steps of up to 7 s */
  rules.wall_limit = 0.0;
  pace_start(&pace, &rules, 1000.0, 990.0, "1700000600", 1700000000.0, 2e10);
  assert_true(pace.deadline == 1600.0);
  assert_int_equal(pace_poll(&pace, 1050.0), REQUEST_NONE);
  assert_int_equal(pace_poll(&pace, 1100.0), REQUEST_NONE);
  assert_int_equal(pace_poll(&pace, 1150.0), REQUEST_LIMIT); /* 20 GB may take minutes to write */
  const char *const nonsense[] = {NULL, "", "soon", "0", "-5", "12x"};
  for (size_t k = 0; k < sizeof nonsense / sizeof *nonsense; k++) {
    pace_start(&pace, &rules, 1000.0, 990.0, nonsense[k], 1700000000.0, 0.0);
    assert_true(isinf(pace.deadline));
  }
}

static void test_due(void **state)
{
  (void)state;
  struct scene_checkpoint rules = {.keep = 1, .steps = 5, .frames = 2};
  assert_true(pace_is_due(&rules, 9, 10, 0, false));
  assert_false(pace_is_due(&rules, 10, 11, 0, false));
  assert_true(pace_is_due(&rules, 8, 12, 0, false)); /* a step that became four */
  assert_true(pace_is_due(&rules, 8, 41, 0, false));
  assert_false(pace_is_due(&rules, 10, 14, 0, false));
  assert_false(pace_is_due(&rules, 0, 0, 0, true)); /* what the scene says needs no checkpoint */
  assert_true(pace_is_due(&rules, 10, 11, 2, true));
  assert_false(pace_is_due(&rules, 10, 11, 2, false));
  assert_false(pace_is_due(&rules, 10, 11, 3, true));
  rules.keep = 0;
  assert_false(pace_is_due(&rules, 9, 10, 2, true));
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_daly), cmocka_unit_test(test_interval),
                                     cmocka_unit_test(test_limit), cmocka_unit_test(test_due)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
