/* Forces on bodies and the budget of energy beside liquid: against the momentum of all particles, against the
 * weight of water at rest, and against the energies of the states (docs/instruments.md). */
#include "support/physics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The column of the last row. */
static double column(const struct run *run, const char *name)
{
  const struct instruments *in = run->sim->instruments;
  for (int k = 0; k < in->columns; k++)
    if (strcmp(in->names[k], name) == 0) return in->row[k];
  fail_msg("no column %s", name);
  return 0.0;
}

static double force_on(const struct run *run, const char *body, int axis)
{
  char name[96];
  snprintf(name, sizeof name, "force_%s_%c", body, "xyz"[axis]);
  return column(run, name);
}

static const char *const schemes[][2] = {
    {"{scheme: explicit}", "{scheme: apic}"},
    {"{tolerance: 1e-3}", "{scheme: apic}"},
    {"{beta: 0.5, tolerance: 1e-5}", "{scheme: flip, flip_fraction: 0.9}"},
    {"{tolerance: 1e-4, precision: mixed}", "{scheme: pic}"},
};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

/* Water thrown through a corner of an oblique wall, a floor with friction and a sticky wall, onto a plate
 * that moves and turns, with snow in it that melts and water that freezes, and a splash that leaves. Walls
 * are off the grid lines: rim cells are there. */
static void start_thrown(struct run *run, const char *const scheme[2], bool measured)
{
  const char *measure = measured ? ", measure: true" : "";
  run_start(
      run,
      "domain: {lower: [-0.2, -0.06, -0.1], cells: [40, 30, 20], spacing: 0.01}\n"
      "time: {end: 1, frame_rate: 400, max_step: 3e-4}\nintegrator: %s\ntransfer: %s\n"
      "heat: {latent_heat: 200, liquid: {stiffness: 1e6, conductivity: 3e4},\n"
      "       ambient: {temperature: 250, exchange: 1e5}}\n"
      "materials: {snow: {young: 8e4, critical_compression: 5e-3, critical_stretch: 2e-3}}\n"
      "output: {budget: %s}\n"
      "snow:\n"
      "  - {box: {lower: [-0.06, 0.0013, -0.03], upper: [0.0, 0.06, 0.03]}, velocity: [3, -3, 1],\n"
      "     phase: liquid, temperature: 273.5}\n"
      "  - {box: {lower: [0.0, 0.0013, -0.03], upper: [0.03, 0.04, 0.03]}, velocity: [3, -3, 1],\n"
      "     temperature: 273.1, conductivity: 3e4}\n"
      "  - {box: {lower: [-0.06, 0.2, -0.03], upper: [-0.04, 0.22, 0.03]}, velocity: [0, 6, 0],\n"
      "     phase: liquid, temperature: 273.2}\n"
      "bodies:\n"
      "  slope: {plane: {point: [0.04, 0, 0.0487], normal: [-0.3, 0.2, -1]}, friction: 0.2%s}\n"
      "  floor: {plane: {point: [0, 0.0013, 0], normal: [0, 1, 0]}, friction: 0.3, liquid_friction: 0.4,\n"
      "          temperature: 300%s}\n"
      "  plate: {box: {center: [-0.08, 0.03, 0], size: [0.02, 0.1, 0.1]}, velocity: [8, 0, 0],\n"
      "          spin: [0, 0, -5]%s}\n"
      "  wall: {plane: {point: [0.062, 0, 0], normal: [-1, 0, 0]}, sticky: true%s}\n",
      scheme[0], scheme[1], measured ? "true" : "false", measure, measure, measure, measure);
  run->sim->hooks.measure_every = 1;
}

/* dP/dt = m g - the forces on bodies + what the solve leaves unbalanced, in every step, to round-off. */
static void momentum_balances(void **state)
{
  (void)state;
  for (int s = 0; s < SCHEMES; s++) {
    struct run run;
    double worst = 0.0, most = 0.0, unbalanced = 0.0;
    start_thrown(&run, schemes[s], true);
    for (int n = 0; n < 60; n++) {
      const struct sums before = run_sums(&run);
      run_step(&run);
      if (run.sim->report.removed > 0) break; /* what leaves takes its momentum along */
      const struct sums after = run_sums(&run);
      const double dt = run.sim->report.dt;
      for (int d = 0; d < 3; d++) {
        double force = 0.0;
        for (int k = 0; k < run.scene->body_count; k++) {
          const double own = force_on(&run, run.scene->bodies[k].name, d);
          force += own;
          most = fmax(most, fabs(own));
        }
        char name[32];
        snprintf(name, sizeof name, "unbalanced_%c", "xyz"[d]);
        unbalanced = fmax(unbalanced, fabs(column(&run, name)));
        const double given = dt * (before.mass * run.scene->gravity[d] - force + column(&run, name));
        worst = fmax(worst, fabs(after.momentum[d] - before.momentum[d] - given) / after.size);
      }
    }
    print_message("momentum, %s %s: off by %.1e of sum m|v|; forces up to %.0f N, unbalanced %.2g N; %lld "
                  "melted, %lld frozen, %d wet nodes\n",
                  schemes[s][0], schemes[s][1], worst, most, unbalanced, (long long)run.sim->totals.melted,
                  (long long)run.sim->totals.frozen, run.sim->contacts.count);
    assert_true(most > 10.0 && worst < 1e-12);
    assert_true(run.sim->totals.melted > 0 && run.sim->totals.frozen > 0 && run.sim->contacts.count > 0);
    run_end(&run);
  }
}

/* Energy is what it was at first, plus and less what the budget says, in every row. */
static void energy_closes(void **state)
{
  (void)state;
  for (int s = 0; s < SCHEMES; s++) {
    struct run run;
    double first = 0.0, worst = 0.0;
    start_thrown(&run, schemes[s], true);
    /* A row has the budget up to its step, so what leaves shows in the next one. */
    for (int rest = 3; rest > 0; rest -= run.sim->totals.removed > 0) {
      run_step(&run);
      const double *m = run.sim->report.measured;
      const double energy = m[MEASURED_KINETIC] + m[MEASURED_ELASTIC] + m[MEASURED_POTENTIAL];
      const double lost = column(&run, "lost_plastic") + column(&run, "lost_friction") +
                          column(&run, "lost_scheme") + column(&run, "lost_phase");
      const double got = column(&run, "work_bodies") + column(&run, "energy_in") - column(&run, "energy_out");
      if (run.sim->report.step == 0) first = energy;
      worst = fmax(worst, fabs(energy - (first + got - lost)) / first);
    }
    print_message("budget, %s %s: %.4g J at first; plastic %.3g, friction %.3g, scheme %.3g, phase %.3g, "
                  "bodies %.3g, out %.3g; off by %.1e\n",
                  schemes[s][0], schemes[s][1], first, column(&run, "lost_plastic"),
                  column(&run, "lost_friction"), column(&run, "lost_scheme"), column(&run, "lost_phase"),
                  column(&run, "work_bodies"), column(&run, "energy_out"), worst);
    assert_true(worst < 1e-10);
    assert_true(column(&run, "lost_friction") > 0.0 && column(&run, "lost_phase") != 0.0);
    assert_true(column(&run, "work_bodies") > 0.0 && column(&run, "energy_out") > 0.0);
    run_end(&run);
  }
}

/* The particles do not feel that bodies and energies are measured. */
static void measuring_changes_no_bit(void **state)
{
  (void)state;
  for (int s = 0; s < SCHEMES; s++) {
    struct run measured, plain;
    start_thrown(&measured, schemes[s], true);
    start_thrown(&plain, schemes[s], false);
    for (int n = 0; n < 25; n++) {
      run_step(&measured);
      run_step(&plain);
    }
    assert_int_equal(measured.sim->p->count, plain.sim->p->count);
    const size_t bytes = (size_t)plain.sim->p->count * sizeof(double);
    for (int d = 0; d < 3; d++) {
      assert_memory_equal(measured.sim->p->x[d], plain.sim->p->x[d], bytes);
      assert_memory_equal(measured.sim->p->v[d], plain.sim->p->v[d], bytes);
    }
    assert_memory_equal(measured.sim->p->enthalpy, plain.sim->p->enthalpy, bytes);
    run_end(&measured);
    run_end(&plain);
  }
}

/* Water at rest in a tank: the floor bears its weight, each wall half its depth times its area. Bodies are in
 * an order in which the walls come first. */
static void tank_weighs(double open)
{
  const double h = 0.02, low = (5.0 - open) * h, width = (6.0 + 2.0 * open) * h, depth = (4.0 + open) * h;
  struct run run;
  run_start(&run,
            "domain: {lower: [0, 0, 0], cells: [18, 16, 18], spacing: %.17g}\n"
            "time: {end: 1, step: 5e-4}\n"
            "transfer: {scheme: apic}\n"
            "heat: {liquid: {stiffness: 1e6}}\n"
            "materials: {water: {young: 1.4e5}}\n"
            "snow: [{box: {lower: [%.17g, %.17g, %.17g], upper: [%.17g, %.17g, %.17g]}, phase: liquid,\n"
            "        temperature: 280, sampling: jittered}]\n"
            "bodies:\n"
            "  left: {plane: {point: [%.17g, 0, 0], normal: [1, 0, 0]}, measure: true}\n"
            "  right: {plane: {point: [%.17g, 0, 0], normal: [-1, 0, 0]}, measure: true}\n"
            "  front: {plane: {point: [0, 0, %.17g], normal: [0, 0, 1]}, measure: true}\n"
            "  back: {plane: {point: [0, 0, %.17g], normal: [0, 0, -1]}, measure: true}\n"
            "  floor: {plane: {point: [0, %.17g, 0], normal: [0, 1, 0]}, measure: true}\n",
            h, low, low, low, low + width, low + depth, low + width, low, low + width, low, low + width, low);
  run.sim->hooks.measure_every = 1;
  enum { SETTLE = 200, STEPS = 200 };
  double floor[3] = {0.0, 0.0, 0.0}, left = 0.0, right = 0.0, up = 0.0;
  for (int n = 0; n < SETTLE; n++) run_step(&run);
  for (int n = 0; n < STEPS; n++) {
    run_step(&run);
    for (int d = 0; d < 3; d++) floor[d] += force_on(&run, "floor", d) / STEPS;
    left += force_on(&run, "left", 0) / STEPS;
    right += force_on(&run, "right", 0) / STEPS;
    up += (force_on(&run, "left", 1) + force_on(&run, "front", 1)) / STEPS;
  }
  const double weight = 9.81 * run_sums(&run).mass, side = 0.5 * 1000.0 * 9.81 * depth * depth * width;
  print_message(
      "tank, %.2f of a cell open: the floor bears %.4f N of %.4f (%+.2e), the walls %.4f and %.4f of "
      "%.4f (%+.2e), and %.4f upwards\n",
      open, -floor[1], weight, -floor[1] / weight - 1.0, -left, right, side,
      (right - left) / (2.0 * side) - 1.0, up);
  assert_true(fabs(-floor[1] / weight - 1.0) < 5e-3);
  assert_true(fabs(floor[0]) < 5e-3 * weight && fabs(floor[2]) < 5e-3 * weight && fabs(up) < 5e-3 * weight);
  assert_true(fabs(-left / side - 1.0) < 0.05 && fabs(right / side - 1.0) < 0.05);
  run_end(&run);
}

static void tanks_weigh(void **state)
{
  (void)state;
  const double open[] = {0.1, 0.5, 0.9};
  for (int k = 0; k < 3; k++) tank_weighs(open[k]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(momentum_balances),
    cmocka_unit_test(energy_closes),
    cmocka_unit_test(measuring_changes_no_bit),
    cmocka_unit_test(tanks_weigh),
};
PHYSICS_MAIN(tests);
