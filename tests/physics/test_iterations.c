/* Iterations of the conjugate residual solve on the snowball drop, through its impact, in steps of 0.5 ms as
 * in the 2013 paper, which reports 10 to 30.
 *
 * Two kinds of snow: the paper's, all alike, and that of scenes/snowball_drop.yml, with a hard shell and
 * patches up to six times as stiff. The test holds the first to the paper's range; `test_iterations table`
 * prints both over tolerance, cell size and particle count, which takes some minutes (docs/verification.md).
 */
#include "base/memory.h"
#include "io/scene/scene.h"
#include "support/physics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct outcome {
  double mean; /* iterations a step, from the first contact on */
  int most;
  int64_t particles, steps, halvings;
};

enum snow { PAPER, SHIPPED };
static const char *const snow_names[] = {"paper", "shipped"};

/* `cells` of the ball's radius, `per_cell` particles in each. */
static struct outcome drop(enum snow snow, double tolerance, int cells, int per_cell)
{
  char *text = NULL, values[4][96];
  struct error err;
  struct run run = {0};
  const double h = 0.15 / cells;
  snprintf(values[0], sizeof values[0], "integrator.tolerance=%g", tolerance);
  snprintf(values[1], sizeof values[1], "domain.spacing=%.17g", h);
  snprintf(values[2], sizeof values[2], "domain.cells=[%d, %d, %d]", (int)(2.0 / h), (int)(0.8 / h),
           (int)(1.6 / h));
  snprintf(values[3], sizeof values[3], "snow.ball.particles=%d", (int)(4.18879 * pow(cells, 3)) * per_cell);
  const char *const overrides[] = {values[0],
                                   values[1],
                                   values[2],
                                   values[3],
                                   "time.step=5e-4",
                                   "snow.ball.vary=null",
                                   "materials.packed.critical_stretch=7.5e-3"};
  if (scene_file_text(&text, TEST_SCENES "/snowball_drop.yml", &err) ||
      scene_parse(&run.scene, "snowball_drop.yml", text, overrides, snow == PAPER ? 7 : 5, &err) ||
      sim_create(&run.sim, &physics_comm, run.scene, ISA_COUNT, &err))
    fail_msg("%s", err.text);
  mem_free(text);
  struct outcome outcome = {.particles = run.sim->totals.particles};
  bool touched = false;
  for (int n = 0; n < 160; n++) {
    run_advance(&run, 5e-4);
    const struct step_report *report = &run.sim->report;
    touched |= report->contact_nodes > 0;
    if (!touched) continue;
    outcome.steps++;
    outcome.mean += report->iterations;
    if (report->iterations > outcome.most) outcome.most = report->iterations;
  }
  outcome.mean /= (double)outcome.steps;
  outcome.halvings = run.sim->totals.halvings;
  run_end(&run);
  return outcome;
}

static void print_row(enum snow snow, double tolerance, int cells, int per_cell)
{
  const struct outcome o = drop(snow, tolerance, cells, per_cell);
  printf("| %s | %.0e | %.2f | %d | %lld | %.1f | %d | %lld |\n", snow_names[snow], tolerance, 15.0 / cells,
         per_cell, (long long)o.particles, o.mean, o.most, (long long)o.halvings);
  fflush(stdout);
}

static void print_table(void)
{
  const double tolerances[] = {1e-2, 1e-4, 1e-6, 1e-8};
  const int cells[] = {4, 6, 12};
  printf("| snow | tolerance | h (cm) | particles a cell | particles | mean | most | halvings |\n"
         "|---|---|---|---|---|---|---|---|\n");
  for (int c = 0; c < 3; c++)
    for (int k = 0; k < 4; k++) print_row(PAPER, tolerances[k], cells[c], 4);
  print_row(PAPER, 1e-6, 18, 4);
  for (int per_cell = 2; per_cell <= 32; per_cell *= 2) print_row(PAPER, 1e-6, 6, per_cell);
  print_row(PAPER, 1e-6, 12, 16);
  for (int k = 0; k < 4; k++) print_row(SHIPPED, tolerances[k], 12, 4);
}

static void in_the_range_of_the_paper(void **state)
{
  (void)state;
  const struct outcome few = drop(PAPER, 1e-6, 6, 4), many = drop(PAPER, 1e-6, 6, 16),
                       fine = drop(PAPER, 1e-6, 12, 4);
  print_message(
      "h 2.5 cm, 4 and 16 particles a cell: %.1f and %.1f iterations, at most %d and %d; h 1.25 cm: %.1f, at "
      "most %d\n",
      few.mean, many.mean, few.most, many.most, fine.mean, fine.most);
  assert_true(few.steps > 100 && many.steps > 100 && fine.steps > 100);
  assert_true(few.mean <= 30.0 && many.mean <= 30.0 && fine.mean <= 30.0);
  assert_int_equal(few.halvings + many.halvings + fine.halvings, 0);
  assert_true(fabs(many.mean / few.mean - 1.0) < 0.15);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(in_the_range_of_the_paper)};

static int all_tests(void)
{
  return cmocka_run_group_tests(tests, NULL, NULL);
}

static int table(void)
{
  print_table();
  return 0;
}

int main(int argc, char **argv)
{
  const bool wants_table = argc == 2 && strcmp(argv[1], "table") == 0;
  return physics_main(argc, argv, wants_table ? table : all_tests);
}
