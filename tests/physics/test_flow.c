/* Solves that are checked (docs/method.md): what flows and unloads within a step gains no energy, and still
 * flows. Blocks of three cells are dropped on a floor to which they stick. */
#include "support/physics.h"

#include <math.h>
#include <stdio.h>

/* A drop. Without checks the total energy rises above its earlier minimum by more than `grows` times the
 * first kinetic energy. */
struct drop {
  const char *material, *integrator, *transfer, *velocity;
  double spacing;
  double grows;
};

static void start(struct run *run, const struct drop *d, int repeats, enum isa isa)
{
  run_start_on(run, isa,
               "domain: {lower: [0, 0, 0], cells: [%d, %d, %d], spacing: %g}\n"
               "time: {end: 1, frame_rate: 100, max_step: 5e-4}\n"
               "integrator: {flow_repeats: %d, %s}\n"
               "transfer: {%s}\n"
               "materials: {m: {%s}}\n"
               "snow: [{box: {lower: [0.05, 0.05, 0.05], upper: [0.08, 0.08, 0.08]}, velocity: %s, "
               "volume: estimated}]\n"
               "bodies: {floor: {plane: {point: [0, 0.049, 0], normal: [0, 1, 0]}, friction: 1000}}\n"
               "output: {budget: true}\n",
               (int)lround(0.16 / d->spacing), (int)lround(0.16 / d->spacing), (int)lround(0.16 / d->spacing),
               d->spacing, repeats, d->integrator, d->transfer, d->material, d->velocity);
  run->sim->hooks.measure_every = 1;
}

/* The rise of kinetic + elastic + potential energy above its earlier minimum over the first kinetic energy,
 * within `time` or until it is `enough`. */
static double rise(struct run *run, double time, double enough)
{
  double least = INFINITY, most = 0.0, first = 0.0;
  while (run->sim->clock.time < time && most < enough) {
    run_step(run);
    const double *now = run->sim->report.measured;
    const double all = now[MEASURED_KINETIC] + now[MEASURED_ELASTIC] + now[MEASURED_POTENTIAL];
    if (first == 0.0) first = now[MEASURED_KINETIC];
    most = fmax(most, (all - least) / first);
    least = fmin(least, all);
  }
  return most;
}

static const struct drop drops[] = {
    {"model: cam_clay", "beta: 1", "scheme: flip", "[0.5, -2, 0]", 0.01, 1.0},
    {"model: cam_clay", "beta: 0.5", "scheme: flip", "[0, -2, 0]", 0.01, 1.0},
    {"model: cam_clay", "beta: 0.6, precision: double", "scheme: apic, kernel: quadratic, force: mls",
     "[0.5, -2, 0]", 0.01, 1.0},
    {"model: von_mises", "beta: 0.5", "scheme: apic", "[0.5, -2, 0]", 0.01, 0.3},
    {"model: sand", "beta: 0.5", "scheme: flip", "[0, -2, 0]", 0.005, 0.02},
};

static void drops_gain_nothing(void **state)
{
  (void)state;
  for (size_t k = 0; k < sizeof drops / sizeof *drops; k++) {
    const struct drop *d = &drops[k];
    struct run run;
    start(&run, d, 0, ISA_COUNT);
    const double without = rise(&run, 0.05, d->grows);
    run_end(&run);
    start(&run, d, 2, ISA_COUNT);
    const double with = rise(&run, 0.025, 1.0);
    print_message("%s, %s, %s at %s: %.3g of the first kinetic energy, without checks %.3g or more; %lld of "
                  "%lld solves repeated\n",
                  d->material, d->integrator, d->transfer, d->velocity, with, without,
                  (long long)run.sim->totals.repeats, (long long)run.sim->totals.solves);
    assert_true(without >= d->grows);
    assert_true(with <= 1e-3);
    assert_true(run.sim->totals.repeats > 0 && run.sim->totals.halvings == 0);
    assert_true(run.sim->totals.solves - run.sim->totals.repeats == run.sim->clock.step);
    run_end(&run);
  }
}

/* All instruction sets make the same decisions but where rounding does. */
static void all_sets_agree(void **state)
{
  (void)state;
  double first = 0.0;
  for (int isa = 0; isa <= (int)isa_detect(); isa++) {
    struct run run;
    start(&run, &drops[1], 2, (enum isa)isa);
    const double found = rise(&run, 0.01, 1.0), kinetic = run_sums(&run).kinetic;
    print_message("%s: kinetic energy %.6g J, %lld repetitions\n", run.sim->kernels->name, kinetic,
                  (long long)run.sim->totals.repeats);
    assert_true(found <= 1e-3 && run.sim->totals.repeats > 0);
    if (isa == 0) first = kinetic;
    assert_true(fabs(kinetic / first - 1.0) < 1e-2);
    run_end(&run);
  }
}

/* What does not flow has no check, and takes no memory for one. */
static void others_are_not_checked(void **state)
{
  (void)state;
  struct run run;
  run_start(&run, "domain: {lower: [0, 0, 0], cells: [16, 16, 16], spacing: 0.01}\n"
                  "time: {end: 1, frame_rate: 100}\n"
                  "materials: {m: {model: sand, operator: elastic}}\n"
                  "snow: [{box: {lower: [0.05, 0.05, 0.05], upper: [0.08, 0.08, 0.08]}}]\n"
                  "bodies: {floor: {plane: {point: [0, 0.049, 0], normal: [0, 1, 0]}}}\n");
  for (int k = 0; k < 5; k++) run_step(&run);
  assert_int_equal(run.sim->totals.repeats, 0);
  assert_null(run.sim->p->flow);
  assert_null(run.sim->mesh.grid->node[NODE_STAR]);
  run_end(&run);
}

/* Sand in free flight is open and has no stress: rounding must not decide that it closes. */
static void flight_is_not_repeated(void **state)
{
  (void)state;
  struct run run;
  run_start(&run, "domain: {lower: [0, 0, 0], cells: [24, 24, 24], spacing: 0.01}\n"
                  "time: {end: 1, frame_rate: 100}\n"
                  "materials: {m: {model: sand}}\n"
                  "snow:\n"
                  "  - {box: {lower: [0.05, 0.1, 0.1], upper: [0.09, 0.14, 0.14]}, velocity: [-0.5, 0, 0]}\n"
                  "  - {box: {lower: [0.09, 0.1, 0.1], upper: [0.13, 0.14, 0.14]}, velocity: [0.5, 0, 0]}\n");
  int64_t open = 0;
  for (int k = 0; k < 100; k++) run_step(&run);
  for (int32_t i = 0; i < run.sim->p->count; i++) open += run.sim->p->jp[i] > 1e-5;
  print_message("%lld of %d particles are open, %lld repetitions in 100 steps\n", (long long)open,
                run.sim->p->count, (long long)run.sim->totals.repeats);
  assert_true(open > run.sim->p->count / 4);
  assert_true(run.sim->totals.repeats <= 20);
  run_end(&run);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(drops_gain_nothing),
    cmocka_unit_test(all_sets_agree),
    cmocka_unit_test(others_are_not_checked),
    cmocka_unit_test(flight_is_not_repeated),
};

PHYSICS_MAIN(tests);
