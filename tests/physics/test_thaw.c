/* Heat and liquid against what is known of them: sums that are kept, a tank at rest, a dam that breaks, the
 * front of melting (docs/method.md, heat and liquid; the numbers are in docs/verification.md). */
#include "support/physics.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Enthalpy of all particles (J), and the sum of its sizes. */
static double enthalpy(const struct run *run, double *size)
{
  const struct particles *p = run->sim->p;
  long double sum = 0.0, sizes = 0.0;
  for (int32_t i = 0; i < p->count; i++) {
    sum += (long double)p->mass[i] * p->enthalpy[i];
    sizes += (long double)p->mass[i] * fabs(p->enthalpy[i]);
  }
  *size = (double)sizes;
  return (double)sum;
}

/* A block of water falls onto a block of snow in empty space: momentum, mass and enthalpy stay, with and
 * without changes of phase. */
static void isolated(double latent, double conductivity, bool changes)
{
  struct run run;
  run_start(
      &run,
      "domain: {lower: [0, 0, 0], cells: [20, 24, 20], spacing: 0.02}\n"
      "gravity: [0, 0, 0]\n"
      "time: {end: 1, step: 5e-4}\n"
      "integrator: {tolerance: 1e-6}\n"
      "transfer: {scheme: apic}\n"
      "heat: {latent_heat: %g, liquid: {stiffness: 1e6, conductivity: %g}}\n"
      "materials: {snow: {young: 1.4e5}}\n"
      "snow:\n"
      "  - {box: {lower: [0.12, 0.12, 0.12], upper: [0.26, 0.2, 0.26]}, temperature: 271, conductivity: %g}\n"
      "  - {box: {lower: [0.13, 0.21, 0.13], upper: [0.23, 0.29, 0.24]}, phase: liquid, temperature: 280,\n"
      "     velocity: [0.3, -2, 0]}\n",
      latent, conductivity, conductivity);
  double size;
  const struct sums before = run_sums(&run);
  const double heat = enthalpy(&run, &size);
  for (int k = 0; k < 60; k++) run_step(&run);
  const struct sums after = run_sums(&run);
  const double change = enthalpy(&run, &size) - heat;
  printf("isolated: momentum %.1e, enthalpy %.1e, melted %lld, frozen %lld\n",
         fabs(after.momentum[1] - before.momentum[1]) / after.size, fabs(change) / size,
         (long long)run.sim->totals.melted, (long long)run.sim->totals.frozen);
  for (int d = 0; d < 3; d++) assert_true(fabs(after.momentum[d] - before.momentum[d]) <= 1e-12 * after.size);
  assert_true(after.mass == before.mass);
  assert_true(fabs(change) <= 1e-12 * size);
  assert_true(fabs(run.sim->totals.heat_in) <= 1e-12 * size);
  assert_true((run.sim->totals.melted + run.sim->totals.frozen > 0) == changes);
  run_end(&run);
}

static void test_isolated(void **state)
{
  (void)state;
  isolated(334e3, 0.5, false);
  isolated(2e3, 3e4, true);
}

/* With `heat` but all of one temperature and solid, snow moves as without it, bit for bit, where both solve
 * by velocity as scenes with heat do. */
static void test_snow_alone(void **state)
{
  (void)state;
  static const char text[] =
      "domain: {lower: [0, 0, 0], cells: [20, 16, 20], spacing: 0.02}\n"
      "time: {end: 1, step: 5e-4}\n"
      "%s"
      "materials: {snow: {young: 1.4e5}}\n"
      "snow:\n"
      "  - {sphere: {center: [0.2, 0.12, 0.2], radius: 0.07}, velocity: [1, -3, 0]%s}\n"
      "bodies: {floor: {plane: {point: [0, 0.041, 0], normal: [0, 1, 0]}, friction: 0.3}}\n";
  struct run cold, plain;
  run_start(&cold, text, "heat: {}\n", ", temperature: 260");
  run_start(&plain, text, "integrator: {stop: velocity}\n", "");
  for (int k = 0; k < 40; k++) {
    run_step(&cold);
    run_step(&plain);
  }
  sim_tidy(cold.sim);
  sim_tidy(plain.sim);
  assert_int_equal(cold.sim->p->count, plain.sim->p->count);
  const size_t bytes = (size_t)plain.sim->p->count * sizeof(double);
  for (int d = 0; d < 3; d++) {
    assert_memory_equal(cold.sim->p->x[d], plain.sim->p->x[d], bytes);
    assert_memory_equal(cold.sim->p->v[d], plain.sim->p->v[d], bytes);
  }
  run_end(&cold);
  run_end(&plain);
}

/* Without `heat` a run takes no memory for it: no field of particles or nodes, no list of cells, no column of
 * the history, nothing in a message; and a checkpoint has none of it either. */
static void test_nothing_spent(void **state)
{
  (void)state;
  struct run run;
  run_start(&run,
            "domain: {lower: [0, 0, 0], cells: [20, 16, 20], spacing: 0.02}\n"
            "time: {end: 1, step: 5e-4}\n"
            "output: {budget: true}\n"
            "materials: {snow: {young: 1.4e5}}\n"
            "snow: [{sphere: {center: [0.2, 0.12, 0.2], radius: 0.05}, velocity: [1, -3, 0]}]\n"
            "bodies:\n"
            "  floor: {plane: {point: [0, 0.041, 0], normal: [0, 1, 0]}, friction: 0.3, measure: true}\n");
  for (int k = 0; k < 20; k++) run_step(&run);
  const struct sim_heat none = {0};
  struct sim_heat now = run.sim->heat;
  memset(now.before, 0, sizeof now.before); /* of totals, which are 0 */
  assert_memory_equal(&now, &none, sizeof none);
  for (int f = 0; f < PARTICLE_FIELDS; f++)
    if (particle_fields[f].needs & NEEDS_HEAT) {
      assert_null(particle_array(run.sim->p, &particle_fields[f], 0));
      assert_null(particle_array(run.sim->next.p, &particle_fields[f], 0));
    }
  for (int f = NODE_RIGHT; f < NODE_FIELDS; f++) assert_null(run.sim->mesh.grid->node[f]);
  /* position, velocity, F_E, id, J_P, mass, V0 */
  assert_int_equal(particles_record_size(run.sim->p), 8 * (3 + 3 + 9 + 1 + 1 + 1 + 1));
  for (int k = 0; k < run.sim->instruments->columns; k++) {
    assert_null(strstr(run.sim->instruments->names[k], "heat"));
    assert_null(strstr(run.sim->instruments->names[k], "phase"));
    assert_null(strstr(run.sim->instruments->names[k], "liquid"));
  }
  run_end(&run);
}

static double speed_rms(const struct run *run)
{
  const struct particles *p = run->sim->p;
  double sum = 0.0;
  for (int32_t i = 0; i < p->count; i++)
    for (int d = 0; d < 3; d++) sum += p->v[d][i] * p->v[d][i];
  return sqrt(sum / p->count);
}

static double mean_height(const struct run *run)
{
  double sum = 0.0;
  for (int32_t i = 0; i < run->sim->p->count; i++) sum += run->sim->p->x[1][i];
  return sum / run->sim->p->count;
}

/* A lattice of about two particles a cell and axis that fills a box exactly. */
static struct cloud *fill_box(const double lower[3], const double size[3], double h, double density)
{
  int n[3];
  for (int d = 0; d < 3; d++) n[d] = (int)lround(2.0 * size[d] / h);
  struct cloud *cloud = cloud_create(n[0] * n[1] * n[2]);
  for (int i = 0; i < cloud->count; i++) {
    const int at[3] = {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]};
    for (int d = 0; d < 3; d++) cloud->x[3 * i + d] = lower[d] + size[d] * (at[d] + 0.5) / n[d];
    cloud->volume[i] = size[0] * size[1] * size[2] / cloud->count;
    cloud->mass[i] = density * cloud->volume[i];
  }
  cloud_write(cloud);
  return cloud;
}

/* Water at rest in a tank, all of whose walls leave this part of their cut cells open, stays so. */
static void tank_at_rest(double open)
{
  const double h = 0.02, wall = (5.0 - open) * h;
  const double lower[3] = {wall, wall, wall},
               size[3] = {(4.0 + 2.0 * open) * h, (3.0 + open) * h, (3.0 + 2.0 * open) * h};
  struct cloud *cloud = fill_box(lower, size, h, 1000.0);
  struct run run;
  run_start(&run,
            "domain: {lower: [0, 0, 0], cells: [16, 16, 16], spacing: %.17g}\n"
            "time: {end: 1, step: 5e-4}\n"
            "transfer: {scheme: apic}\n"
            "heat: {liquid: {stiffness: 1e6}}\n"
            "materials: {water: {young: 1.4e5}}\n"
            "snow: [{file: %s, phase: liquid, temperature: 280}]\n"
            "bodies:\n"
            "  floor: {plane: {point: [0, %.17g, 0], normal: [0, 1, 0]}}\n"
            "  left: {plane: {point: [%.17g, 0, 0], normal: [1, 0, 0]}}\n"
            "  right: {plane: {point: [%.17g, 0, 0], normal: [-1, 0, 0]}}\n"
            "  front: {plane: {point: [0, 0, %.17g], normal: [0, 0, 1]}}\n"
            "  back: {plane: {point: [0, 0, %.17g], normal: [0, 0, -1]}}\n",
            h, cloud->path, lower[1], lower[0], lower[0] + size[0], lower[2], lower[2] + size[2]);
  const double before = mean_height(&run) - lower[1];
  for (int k = 0; k < 100; k++) run_step(&run);
  const double speed = speed_rms(&run), sunk = (mean_height(&run) - lower[1]) / before - 1.0;
  printf("tank, %.2f of a cell open: %.1f mm/s, height %+.2f %%, %d iterations\n", open, 1e3 * speed,
         100.0 * sunk, run.sim->report.iterations);
  assert_true(speed < 5e-3 && fabs(sunk) < 6e-3);
  assert_true(run.sim->totals.halvings == 0);
  run_end(&run);
  cloud_destroy(&cloud);
}

static void test_tank(void **state)
{
  (void)state;
  const double open[] = {0.02, 0.1, 0.2, 0.5, 0.9};
  for (size_t k = 0; k < sizeof open / sizeof *open; k++) tank_at_rest(open[k]);
}

/* A softer or stiffer liquid takes fewer or more iterations, and converges. */
static void test_stiffness(void **state)
{
  (void)state;
  const double stiffness[] = {1e5, 1e6, 1e7, 1e8, 2.2e9};
  int64_t before = 0;
  for (int k = 0; k < 5; k++) {
    struct run run;
    run_start(
        &run,
        "domain: {lower: [0, 0, 0], cells: [20, 20, 12], spacing: 0.02}\n"
        "time: {end: 1, step: 5e-4}\n"
        "integrator: {max_iterations: 2000}\n"
        "transfer: {scheme: apic}\n"
        "heat: {liquid: {stiffness: %g}}\n"
        "materials: {water: {young: 1.4e5}}\n"
        "snow: [{box: {lower: [0.0874, 0.0874, 0.0874], upper: [0.2874, 0.2274, 0.1674]}, phase: liquid,\n"
        "        temperature: 280, per_cell: 8, sampling: random}]\n"
        "bodies:\n"
        "  floor: {plane: {point: [0, 0.0874, 0], normal: [0, 1, 0]}}\n"
        "  left: {plane: {point: [0.0874, 0, 0], normal: [1, 0, 0]}}\n"
        "  right: {plane: {point: [0.2874, 0, 0], normal: [-1, 0, 0]}}\n"
        "  front: {plane: {point: [0, 0, 0.0874], normal: [0, 0, 1]}}\n"
        "  back: {plane: {point: [0, 0, 0.1674], normal: [0, 0, -1]}}\n",
        stiffness[k]);
    for (int n = 0; n < 20; n++) run_step(&run);
    printf("stiffness %.1e Pa: %.1f iterations a step\n", stiffness[k],
           (double)run.sim->totals.iterations / 20.0);
    assert_true(run.sim->totals.halvings == 0 && run.sim->totals.iterations > before);
    before = run.sim->totals.iterations;
    run_end(&run);
  }
}

/* The front of a column that collapses, against the reference program's (Martin and Moyce's experiment is ten
 * per cent behind: its walls have friction, and a gate). Spreading is that of the reference program. */
static void test_dam(void **state)
{
  (void)state;
  const double a = 0.05715, h = a / 8, floor = 4.37 * h;
  struct run run;
  run_start(&run,
            "domain: {lower: [0, 0, 0], cells: [60, 28, 12], spacing: %.17g}\n"
            "time: {end: 1, step: 5e-4}\n"
            "transfer: {scheme: apic}\n"
            "heat: {liquid: {stiffness: 1e6, spread_time: 0.1, spread_threshold: 0.03}}\n"
            "materials: {water: {young: 1.4e5}}\n"
            "snow: [{box: {lower: [%.17g, %.17g, %.17g], upper: [%.17g, %.17g, %.17g]}, phase: liquid,\n"
            "        temperature: 280, sampling: jittered}]\n"
            "bodies:\n"
            "  floor: {plane: {point: [0, %.17g, 0], normal: [0, 1, 0]}}\n"
            "  left: {plane: {point: [%.17g, 0, 0], normal: [1, 0, 0]}}\n"
            "  front: {plane: {point: [0, 0, %.17g], normal: [0, 0, 1]}}\n"
            "  back: {plane: {point: [0, 0, %.17g], normal: [0, 0, -1]}}\n",
            h, floor, floor, floor, floor + a, floor + 2 * a, floor + 4 * h, floor, floor, floor,
            floor + 4 * h);
  const double when[3] = {1.19, 1.98, 2.98}, where[3] = {1.58, 2.56, 4.04};
  for (int k = 0; k < 3; k++) {
    while (run.sim->clock.time * sqrt(2.0 * 9.81 / a) < when[k]) run_step(&run);
    double front = 0.0;
    for (int32_t i = 0; i < run.sim->p->count; i++) front = fmax(front, run.sim->p->x[0][i]);
    const double z = (front - floor) / a;
    printf("dam: T %.2f front %.2f (%.2f)\n", when[k], z, where[k]);
    assert_true(fabs(z / where[k] - 1.0) < 0.04);
  }
  assert_true(run.sim->totals.halvings == 0);
  run_end(&run);
}

/* How far the melted part of ice at the melting point reaches from a warm wall, in cells of size h, with the
 * wall `off` cells from a grid line; exactly 16 mm. */
static double stefan(double h, double off, double *balance)
{
  const double exact = 16e-3, hot = 20.0, c = 4200.0, kappa = 0.56, latent = 334e3, rho = 1000.0;
  /* x e^(x^2) erf(x) = St / sqrt(pi): front = 2 x sqrt(alpha t) */
  double x = 0.3;
  for (int k = 0; k < 60; k++) {
    const double f = x * exp(x * x) * erf(x) - c * hot / latent / sqrt(M_PI);
    const double slope = (1 + 2 * x * x) * exp(x * x) * erf(x) + 2 * x / sqrt(M_PI);
    x -= f / slope;
  }
  const double time = pow(exact / (2.0 * x), 2.0) / (kappa / (rho * c));
  const int steps = (int)ceil(time / (0.5 * h * h * c * rho / 2.1));
  const double wall = (4.0 + off) * h, lower[3] = {wall, 4 * h, 4 * h};
  const int length = (int)ceil(24e-3 / h);
  struct cloud *cloud = cloud_box(lower, (const int[3]){length, 2, 2}, h, 2, rho);
  cloud_write(cloud);
  struct run run;
  run_start(&run,
            "domain: {lower: [0, 0, 0], cells: [%d, 10, 10], spacing: %.17g}\n"
            "gravity: [0, 0, 0]\n"
            "time: {end: %.17g, step: %.17g, frame_rate: %.17g}\n"
            "transfer: {scheme: apic}\n"
            "heat: {}\n"
            "materials: {ice: {young: 1e6}}\n"
            "snow: [{file: %s, temperature: 273.15, conductivity: 2.1}]\n"
            "bodies: {wall: {plane: {point: [%.17g, 0, 0], normal: [1, 0, 0]}, temperature: 293.15}}\n",
            length + 10, h, 2 * time, time / steps, 1.0 / time, cloud->path, wall);
  double size;
  const double before = enthalpy(&run, &size);
  for (int k = 0; k < steps; k++) run_advance(&run, time / steps);
  double melted = 0.0, area = 0.0;
  const struct particles *p = run.sim->p;
  for (int32_t i = 0; i < p->count; i++) melted += p->mass[i] * heat_melted(&run.scene->heat, p->enthalpy[i]);
  area = 4 * h * h;
  *balance = fabs(enthalpy(&run, &size) - before - run.sim->totals.heat_in) / fabs(run.sim->totals.heat_in);
  run_end(&run);
  cloud_destroy(&cloud);
  return melted / (rho * area) - exact;
}

static void test_stefan(void **state)
{
  (void)state;
  const double off[] = {0.0, 0.25, 0.5};
  for (int k = 0; k < 3; k++) {
    double error[2];
    for (int n = 0; n < 2; n++) {
      const double h = n == 0 ? 4e-3 : 2e-3;
      double balance;
      error[n] = stefan(h, off[k], &balance);
      printf("Stefan: h %.0f mm, wall %.2f h off: error %+.2f mm (%+.1f %%), balance %.1e\n", 1e3 * h, off[k],
             1e3 * error[n], 100.0 * error[n] / 16e-3, balance);
      assert_true(fabs(error[n]) <= 0.45 * h && balance <= 1e-12);
    }
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_isolated), cmocka_unit_test(test_snow_alone), cmocka_unit_test(test_nothing_spent),
    cmocka_unit_test(test_tank),     cmocka_unit_test(test_stiffness),  cmocka_unit_test(test_dam),
    cmocka_unit_test(test_stefan),
};

PHYSICS_MAIN(tests);
