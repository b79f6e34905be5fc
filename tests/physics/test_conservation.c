/* What must hold to round-off: free flight, mass, momentum, angular momentum with APIC, and the agreement of
 * the instruction sets. */
#include "base/memory.h"
#include "support/physics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A block that falls freely keeps its shape, and every particle follows the parabola of the time stepping,
 * x = x0 + n dt v0 + g dt^2 n (n+1)/2. */
static void free_flight(const char *integrator, const char *transfer, double dt)
{
  struct run run;
  run_start(
      &run,
      "domain: {lower: [-2, -8, -2], cells: [400, 1600, 400], spacing: 0.01}\n"
      "gravity: [0.5, -9.81, 0.25]\n"
      "time: {end: 2, step: %g}\nintegrator: %s\ntransfer: %s\n"
      "snow:\n  - box: {center: [0, 0, 0], size: [0.06, 0.04, 0.05]}\n    velocity: [0.5, 1.25, -0.75]\n",
      dt, integrator, transfer);
  struct particles *p = run.sim->p;
  const int count = p->count, steps = 1000;
  double *start = mem_alloc((size_t)count * 3, sizeof *start);
  for (int i = 0; i < count; i++)
    for (int d = 0; d < 3; d++) start[3 * p->id[i] + (uint64_t)d] = p->x[d][i];
  for (int n = 0; n < steps; n++) run_advance(&run, dt);
  const double v0[3] = {0.5, 1.25, -0.75}, *g = run.scene->gravity;
  double x_error = 0.0, v_error = 0.0, f_error = 0.0;
  for (int i = 0; i < count; i++) {
    for (int d = 0; d < 3; d++) {
      const double path = steps * dt * v0[d] + g[d] * dt * dt * steps * (steps + 1.0) / 2.0;
      x_error = fmax(x_error, fabs(p->x[d][i] - start[3 * p->id[i] + (uint64_t)d] - path));
      v_error = fmax(v_error, fabs(p->v[d][i] - v0[d] - steps * dt * g[d]));
    }
    for (int k = 0; k < 9; k++) f_error = fmax(f_error, fabs(p->fe[k][i] - (k % 4 == 0)));
    assert_true(p->jp[i] == 1.0);
  }
  print_message("free flight, %s, %s: x %.1e m, v %.1e m/s, F_E %.1e\n", integrator, transfer, x_error,
                v_error, f_error);
  assert_true(x_error < 1e-12 && v_error < 1e-12 && f_error < 1e-12);
  assert_int_equal(run.sim->totals.halvings, 0);
  mem_free(start);
  run_end(&run);
}

static void free_flight_is_exact(void **state)
{
  (void)state;
  free_flight("{scheme: explicit}", "{scheme: flip}", 1e-4);
  free_flight("{scheme: semi-implicit, tolerance: 1e-13}", "{scheme: flip}", 5e-4);
  free_flight("{scheme: explicit}", "{scheme: pic, kernel: quadratic}", 1e-4);
  free_flight("{scheme: explicit}", "{scheme: apic, force: mls}", 1e-4);
}

static const char *const schemes[][2] = {
    {"{scheme: explicit}", "{scheme: flip}"},
    {"{scheme: explicit}", "{scheme: pic, kernel: quadratic}"},
    {"{scheme: semi-implicit, tolerance: 1e-3}", "{scheme: flip}"},
    {"{scheme: semi-implicit, tolerance: 1e-3, precision: double}", "{scheme: flip}"},
    {"{scheme: semi-implicit, beta: 0.5}", "{scheme: flip, kernel: quadratic}"},
    {"{scheme: explicit}", "{scheme: apic}"},
    {"{scheme: explicit}", "{scheme: apic, force: mls}"},
    {"{scheme: explicit}", "{scheme: apic, kernel: quadratic, force: mls}"},
};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

/* Two spinning balls that meet, no bodies: hard plastic contact, and nothing that could take momentum. */
static void start_collision(struct run *run, enum isa isa, const char *integrator, const char *transfer)
{
  run_start_on(run, isa,
               "domain: {lower: [-0.5, -0.5, -0.5], cells: [50, 50, 50], spacing: 0.02}\n"
               "gravity: [0, 0, 0]\ntime: {end: 2, step: 2e-4}\nintegrator: %s\ntransfer: %s\n"
               "snow:\n"
               "  - sphere: {center: [-0.11, 0.02, 0], radius: 0.1}\n    velocity: [4, 0.5, 0]\n"
               "    spin: [0, 10, 20]\n"
               "  - sphere: {center: [0.11, -0.02, 0], radius: 0.1}\n    velocity: [-5, 0, 1]\n"
               "    spin: [20, -10, 0]\n",
               integrator, transfer);
}

static void momentum_is_conserved(void **state)
{
  (void)state;
  for (int k = 0; k < SCHEMES; k++) {
    struct run run;
    start_collision(&run, ISA_COUNT, schemes[k][0], schemes[k][1]);
    const struct sums before = run_sums(&run);
    int64_t plastic = 0;
    for (int n = 0; n < 200; n++) {
      run_advance(&run, 2e-4);
      plastic += run.sim->report.plastic;
    }
    const struct sums after = run_sums(&run);
    double linear = 0.0, angular = 0.0;
    for (int d = 0; d < 3; d++) {
      linear = fmax(linear, fabs(after.momentum[d] - before.momentum[d]) / before.size);
      angular = fmax(angular, fabs(after.angular[d] - before.angular[d]) / before.angular_size);
    }
    print_message("%s, %s: momentum %.1e, angular %.1e, energy left %.2f, plastic %lld\n", schemes[k][0],
                  schemes[k][1], linear, angular, after.kinetic / before.kinetic, (long long)plastic);
    assert_true(after.mass == before.mass && run.sim->totals.removed == 0);
    assert_true(linear < 1e-13);
    if (run.scene->scheme == SCHEME_APIC) assert_true(angular < 1e-13);
    assert_true(plastic > 0 && after.kinetic < 0.9 * before.kinetic); /* they did collide */
    run_end(&run);
  }
}

/* The sums that the history reports are those of the particles. */
static void measured_sums_are_right(void **state)
{
  (void)state;
  for (int k = 0; k < SCHEMES; k++) {
    struct run run;
    start_collision(&run, ISA_COUNT, schemes[k][0], schemes[k][1]);
    for (int n = 0; n < 20; n++) run_advance(&run, 2e-4);
    const struct sums s = run_sums(&run);
    const double elastic = run_elastic(&run);
    run.sim->hooks.measure_every = 1;
    run_advance(&run, 2e-4);
    assert_true(run.sim->report.has_measured);
    const double *m = run.sim->report.measured;
    assert_true(fabs(m[MEASURED_MASS] / s.mass - 1.0) < 1e-14);
    assert_true(fabs(m[MEASURED_KINETIC] / s.kinetic - 1.0) < 1e-13);
    assert_true(elastic > 0.0 && fabs(m[MEASURED_ELASTIC] / elastic - 1.0) < 1e-10);
    for (int d = 0; d < 3; d++) {
      assert_true(fabs(m[MEASURED_MOMENTUM + d] - s.momentum[d]) < 1e-14 * s.size);
      assert_true(fabs(m[MEASURED_ANGULAR + d] - s.angular[d]) < 1e-13 * s.angular_size);
    }
    run_end(&run);
  }
}

/* With gravity, askew: potential energy is -m g.x. */
static void potential_is_right(void **state)
{
  (void)state;
  struct run run;
  run_start(&run, "domain: {lower: [1, 2, -3], cells: [40, 40, 40], spacing: 0.02}\n"
                  "gravity: [0.5, -9.81, 2]\ntime: {end: 2, step: 2e-4}\n"
                  "snow:\n  - sphere: {center: [1.4, 2.4, -2.6], radius: 0.1}\n    velocity: [1, 2, 3]\n");
  for (int n = 0; n < 5; n++) run_advance(&run, 2e-4);
  const struct sums s = run_sums(&run);
  double expected = 0.0;
  for (int d = 0; d < 3; d++) expected -= s.mass * run.scene->gravity[d] * s.center[d];
  run.sim->hooks.measure_every = 1;
  run_advance(&run, 2e-4);
  assert_true(fabs(run.sim->report.measured[MEASURED_POTENTIAL] / expected - 1.0) < 1e-13);
  run_end(&run);
}

/* Where the particles of one instruction set are after a few steps, ordered by id; returns by how much
 * rounding may move them (m). */
static double positions_on(enum isa isa, int scheme, int count, double *x)
{
  struct run run;
  start_collision(&run, isa, schemes[scheme][0], schemes[scheme][1]);
  assert_true(strcmp(run.sim->kernels->name, kernels_get(isa)->name) == 0);
  assert_true(run.sim->p->count <= count);
  for (int n = 0; n < 20; n++) run_advance(&run, 2e-4);
  const struct particles *p = run.sim->p;
  for (int32_t i = 0; i < p->count; i++)
    for (int d = 0; d < 3; d++) x[3 * p->id[i] + (uint64_t)d] = p->x[d][i] + p->v[d][i] * 1e-3;
  const double allowed = run.sim->transfer.mixed ? 1e-8 : 1e-13;
  run_end(&run);
  return allowed;
}

static void instruction_sets_agree(void **state)
{
  (void)state;
  enum { MOST = 20000 };
  double *first = mem_alloc(3 * MOST, sizeof *first), *other = mem_alloc(3 * MOST, sizeof *other);
  for (int k = 0; k < SCHEMES; k++) {
    positions_on(ISA_BASE, k, MOST, first);
    for (enum isa isa = ISA_AVX2; isa <= isa_detect(); isa++) {
      const double allowed = positions_on(isa, k, MOST, other);
      double worst = 0.0;
      for (int c = 0; c < 3 * MOST; c++) worst = fmax(worst, fabs(first[c] - other[c]));
      print_message("%s, %s: %s and %s differ by %.1e m\n", schemes[k][0], schemes[k][1],
                    kernels_get(isa)->name, kernels_get(ISA_BASE)->name, worst);
      assert_true(worst < allowed);
    }
  }
  mem_free(first);
  mem_free(other);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(free_flight_is_exact),    cmocka_unit_test(momentum_is_conserved),
    cmocka_unit_test(measured_sums_are_right), cmocka_unit_test(potential_is_right),
    cmocka_unit_test(instruction_sets_agree),
};
PHYSICS_MAIN(tests);
