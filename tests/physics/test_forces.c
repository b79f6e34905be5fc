/* Forces on bodies against theory and against the momentum of the snow, and the budget of energy. */
#include "base/memory.h"
#include "base/vec.h"
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

static const char *const schemes[][2] = {
    {"{scheme: explicit}", "{scheme: flip}"},
    {"{scheme: explicit}", "{scheme: pic, kernel: quadratic}"},
    {"{scheme: explicit}", "{scheme: apic}"},
    {"{scheme: explicit}", "{scheme: apic, kernel: quadratic, force: mls}"},
    {"{tolerance: 1e-3}", "{scheme: flip}"},
    {"{tolerance: 1e-6, solver: pipelined}", "{scheme: flip, flip_fraction: 1}"},
    {"{beta: 0.5}", "{scheme: apic}"},
    {"{tolerance: 1e-4}", "{scheme: apic, force: mls}"},
};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

/* Snow thrown against a floor, a moving and turning plate and a sticky wall, with a crumb that leaves. */
static void start_thrown(struct run *run, const char *const scheme[2])
{
  run_start(
      run,
      "domain: {lower: [-0.2, -0.06, -0.1], cells: [32, 26, 20], spacing: 0.01}\n"
      "time: {end: 1, frame_rate: 400, max_step: 3e-4}\nintegrator: %s\ntransfer: %s\n"
      "materials: {snow: {young: 8e4, critical_compression: 5e-3, critical_stretch: 2e-3}}\n"
      "output: {budget: true}\n"
      "snow:\n"
      "  - {box: {lower: [-0.06, 0, -0.03], upper: [0.04, 0.04, 0.03]}, per_cell: 4, velocity: [4, -4, 1],\n"
      "     spin: [0, 0, 10]}\n"
      "  - {box: {lower: [-0.06, 0.15, -0.03], upper: [-0.04, 0.17, 0.03]}, per_cell: 4,\n"
      "     velocity: [0, 6, 0]}\n"
      "bodies:\n"
      "  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.3, measure: true, pressure_map: "
      "true}\n"
      "  plate: {box: {center: [-0.08, 0.03, 0], size: [0.02, 0.1, 0.1]}, velocity: [8, 0, 0],\n"
      "          spin: [0, 0, -5], measure: true, pressure_map: true}\n"
      "  wall: {plane: {point: [0.062, 0, 0], normal: [-1, 0, 0]}, sticky: true, measure: true, "
      "pressure_map: true}\n",
      scheme[0], scheme[1]);
  run->sim->hooks.measure_every = 1;
}

/* dP/dt = m g - the forces on bodies + what the solve leaves unbalanced, in every step, to round-off. */
static void momentum_balances(void **state)
{
  (void)state;
  for (int s = 0; s < SCHEMES; s++) {
    struct run run;
    double worst = 0.0, most = 0.0, unbalanced = 0.0;
    start_thrown(&run, schemes[s]);
    for (int n = 0; n < 25; n++) {
      const struct sums before = run_sums(&run);
      run_step(&run);
      if (run.sim->report.removed > 0) break; /* what leaves takes its momentum along */
      const struct sums after = run_sums(&run);
      const double dt = run.sim->report.dt;
      for (int d = 0; d < 3; d++) {
        const char axis = "xyz"[d];
        char name[96];
        double force = 0.0;
        for (int k = 0; k < run.scene->body_count; k++) {
          snprintf(name, sizeof name, "force_%s_%c", run.scene->bodies[k].name, axis);
          force += column(&run, name);
          most = fmax(most, fabs(column(&run, name)));
        }
        snprintf(name, sizeof name, "unbalanced_%c", axis);
        unbalanced = fmax(unbalanced, fabs(column(&run, name)));
        const double given = dt * (before.mass * run.scene->gravity[d] - force + column(&run, name));
        worst = fmax(worst, fabs(after.momentum[d] - before.momentum[d] - given) / after.size);
      }
    }
    print_message("momentum, %s %s: off by %.1e of sum m|v|; forces up to %.0f N, unbalanced %.2g N\n",
                  schemes[s][0], schemes[s][1], worst, most, unbalanced);
    assert_true(most > 10.0);
    assert_true(worst < 1e-13);
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
    start_thrown(&run, schemes[s]);
    /* A row has the budget up to its step, so what leaves shows in the next one. */
    for (int rest = 3; rest > 0; rest -= run.sim->totals.removed > 0) {
      run_step(&run);
      const double *m = run.sim->report.measured;
      const double energy = m[MEASURED_KINETIC] + m[MEASURED_ELASTIC] + m[MEASURED_POTENTIAL];
      const double lost =
          column(&run, "lost_plastic") + column(&run, "lost_friction") + column(&run, "lost_scheme");
      const double got = column(&run, "work_bodies") + column(&run, "energy_in") - column(&run, "energy_out");
      if (run.sim->report.step == 0) first = energy;
      worst = fmax(worst, fabs(energy - (first + got - lost)) / first);
    }
    print_message("budget, %s %s: %.4g J at first; plastic %.3g, friction %.3g, scheme %.3g, bodies "
                  "%.3g, out %.3g; off by %.1e\n",
                  schemes[s][0], schemes[s][1], first, column(&run, "lost_plastic"),
                  column(&run, "lost_friction"), column(&run, "lost_scheme"), column(&run, "work_bodies"),
                  column(&run, "energy_out"), worst);
    assert_true(worst < 1e-10);
    assert_true(column(&run, "lost_plastic") > 0.0 && column(&run, "lost_friction") > 0.0);
    assert_true(column(&run, "work_bodies") > 0.0 && column(&run, "energy_out") > 0.0);
    run_end(&run);
  }
}

/* The map below a block at rest, whose base is 0.1 m x 0.06 m: its weight in all, its weight over its base a
 * few cells inside the rim, and nothing a few cells outside. */
static void map_under_block(const struct run *run, double weight)
{
  struct contact_table *map = instruments_contacts(run->sim);
  double force = 0.0, least = INFINITY, most = 0.0, far = 0.0, area = 0.0;
  for (int64_t k = 0; k < map->count; k++) {
    const double *x = map->position + 3 * k, p = map->pressure[k];
    force += map->force[3 * k + 1];
    area += map->area[k];
    assert_true(map->body[k] == 0 && fabs(x[1]) < 1e-12);
    if (fabs(x[0]) > 0.06 || fabs(x[2]) > 0.04) far = fmax(far, fabs(p));
    if (fabs(x[0]) > 0.03 || fabs(x[2]) > 0.01) continue;
    least = fmin(least, p);
    most = fmax(most, p);
  }
  const double expected = weight / 0.006;
  print_message("the map below it: %.6f N in all, %.3g m^2, %.2f to %.2f Pa in the middle, expected %.2f\n",
                -force, area, least, most, expected);
  assert_true(fabs(-force / weight - 1.0) < 1e-3);
  assert_true(fabs(area / 0.006 - 1.0) < 0.15);
  assert_true(least > 0.85 * expected && most < 1.15 * expected && far < 0.05 * expected);
  contact_table_destroy(&map);
}

/* A block that rests on a floor weighs what it weighs, and covers its base. */
static void resting_block_weighs(void **state)
{
  (void)state;
  for (int implicit = 0; implicit < 2; implicit++) {
    struct run run;
    run_start(
        &run,
        "domain: {lower: [-0.1, -0.05, -0.1], cells: [40, 30, 40], spacing: 0.005}\n"
        "time: {end: 2, frame_rate: 100}\nintegrator: %s\n"
        "materials: {block: {model: corotated, young: 2e4, density: 400}}\n"
        "output: {history_every: 50}\n"
        "snow: [{box: {lower: [-0.05, 0, -0.03], upper: [0.05, 0.02, 0.03]}, sampling: jittered, per_cell: "
        "4}]\n"
        "bodies: {floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0.3, measure: true,\n"
        "  pressure_map: true}}\n",
        implicit ? "{tolerance: 1e-6}" : "{scheme: explicit}");
    run.sim->hooks.measure_every = 50;
    const double weight = 400.0 * 0.1 * 0.02 * 0.06 * 9.81;
    run_to(&run, 0.2);
    double force = 0.0, area = 0.0;
    int rows = 0;
    while (rows < 5) {
      run_step(&run);
      if (!run.sim->report.has_measured) continue;
      force += column(&run, "force_floor_y") / 5.0;
      area += column(&run, "area_floor") / 5.0;
      rows++;
    }
    print_message("a resting block, %s: %.6f N on the floor, weight %.6f N (%.2e off); %.3g m^2 of %.3g\n",
                  implicit ? "semi-implicit" : "explicit", -force, weight, -force / weight - 1.0, area,
                  0.006);
    assert_true(fabs(-force / weight - 1.0) < 1e-3);
    assert_true(fabs(area / 0.006 - 1.0) < 0.15);
    while (!run.sim->clock.on_frame) run_step(&run);
    map_under_block(&run, weight);
    run_end(&run);
  }
}

/* An elastic block that bounces: the impulse of the floor is its change of momentum, without gravity. */
static void bounce_gives_impulse(void **state)
{
  (void)state;
  for (int implicit = 0; implicit < 2; implicit++) {
    struct run run;
    run_start(&run,
              "domain: {lower: [-0.1, -0.05, -0.1], cells: [20, 40, 20], spacing: 0.01}\n"
              "gravity: [0, 0, 0]\ntime: {end: 2, step: 1e-4}\nintegrator: %s\n"
              "transfer: {scheme: apic}\n"
              "materials: {block: {model: neo_hookean, young: 1e5, density: 400}}\n"
              "snow: [{box: {lower: [-0.04, 0.03, -0.03], upper: [0.04, 0.1, 0.03]}, velocity: [0, -2, 0]}]\n"
              "bodies: {floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0, measure: true}}\n",
              implicit ? "{tolerance: 1e-9}" : "{scheme: explicit}");
    run.sim->hooks.measure_every = 1;
    const struct sums before = run_sums(&run);
    double impulse = 0.0, rest = 0.0;
    for (int n = 0; n < 800; n++) {
      run_advance(&run, 1e-4);
      impulse += run.sim->report.dt * column(&run, "force_floor_y");
      rest += run.sim->report.dt * column(&run, "unbalanced_y");
    }
    const struct sums after = run_sums(&run);
    const double change = after.momentum[1] - before.momentum[1];
    print_message(
        "a bounce, %s: impulse %.12g, change of momentum %.12g N s (the solve's error %.1e): off by "
        "%.1e\n",
        implicit ? "semi-implicit" : "explicit", -impulse, change, rest, (-impulse + rest) / change - 1.0);
    assert_true(after.momentum[1] > 0.5 * before.size);
    assert_true(fabs((-impulse + rest) / change - 1.0) < 1e-12);
    if (implicit) assert_true(fabs(rest / change) < 1e-7);
    run_end(&run);
  }
}

/* A block rests off the middle of a plate: its weight times the arm, about the plate's pivot. */
static void plate_feels_torque(void **state)
{
  (void)state;
  struct run run;
  run_start(
      &run,
      "domain: {lower: [-0.1, -0.05, -0.1], cells: [40, 30, 40], spacing: 0.005}\n"
      "time: {end: 2, frame_rate: 100}\nintegrator: {tolerance: 1e-6}\n"
      "transfer: {scheme: apic}\n"
      "materials: {block: {model: corotated, young: 1e5, density: 400}}\n"
      "snow: [{box: {lower: [0.02, 0, -0.05], upper: [0.06, 0.03, -0.01]}, sampling: jittered}]\n"
      "bodies:\n"
      "  plate: {box: {lower: [-0.08, -0.03, -0.08], upper: [0.08, 0, 0.08]}, sticky: true, measure: true,\n"
      "          pivot: [-0.04, 0, 0.05]}\n");
  run.sim->hooks.measure_every = 1;
  run_to(&run, 0.2);
  double torque[3] = {0.0, 0.0, 0.0};
  for (int n = 0; n < 200; n++) {
    run_step(&run);
    for (int d = 0; d < 3; d++) {
      char name[32];
      snprintf(name, sizeof name, "torque_plate_%c", "xyz"[d]);
      torque[d] += column(&run, name) / 200.0;
    }
  }
  const struct sums sums = run_sums(&run);
  const double weight[3] = {0.0, -9.81 * sums.mass, 0.0},
               arm[3] = {sums.center[0] + 0.04, sums.center[1], sums.center[2] - 0.05};
  double expected[3];
  vec_cross(arm, weight, expected);
  print_message("torque on a plate: %.6f %.6f %.6f, expected %.6f %.6f %.6f N m\n", torque[0], torque[1],
                torque[2], expected[0], expected[1], expected[2]);
  for (int d = 0; d < 3; d++) assert_true(fabs(torque[d] - expected[d]) < 2e-3 * vec_norm(expected));
  run_end(&run);
}

/* Over each interval between frames, what the maps of a floor, a moving plate and a wall add up to is what
 * the history says of them, whatever the scheme. Places on the plate move with it. */
static void map_adds_up(void **state)
{
  (void)state;
  for (int s = 0; s < SCHEMES; s++) {
    struct run run;
    double worst = 0.0, impulse[3][3] = {{0.0}}, cover[3] = {0.0}, size = 0.0;
    start_thrown(&run, schemes[s]);
    for (int frames = 0; frames < 3;) {
      run_step(&run);
      for (int b = 0; b < 3; b++) {
        char name[96];
        for (int d = 0; d < 3; d++) {
          snprintf(name, sizeof name, "force_%s_%c", run.scene->bodies[b].name, "xyz"[d]);
          impulse[b][d] += run.sim->report.dt * column(&run, name);
        }
        snprintf(name, sizeof name, "area_%s", run.scene->bodies[b].name);
        cover[b] += run.sim->report.dt * column(&run, name);
        size = fmax(size, vec_norm(impulse[b]));
      }
      if (!run.sim->clock.on_frame) continue;
      struct contact_table *map = instruments_contacts(run.sim);
      for (int64_t k = 0; k < map->count; k++) {
        const uint32_t b = map->body[k];
        struct body_pose pose;
        body_pose_at(&run.scene->bodies[b], run.sim->clock.time, &pose);
        assert_true(fabs(shape_distance(&pose.shape, map->position + 3 * k, NULL)) < 1e-6);
        for (int d = 0; d < 3; d++) impulse[b][d] -= map->span * map->force[3 * k + d];
        cover[b] -= map->span * map->area[k];
      }
      assert_true(map->count > 50);
      for (int b = 0; b < 3; b++) {
        worst = fmax(worst, fmax(vec_norm(impulse[b]) / size, fabs(cover[b]) / 1e-5));
        memset(impulse[b], 0, sizeof impulse[b]);
        cover[b] = 0.0;
      }
      contact_table_destroy(&map);
      frames++;
    }
    print_message("maps, %s %s: off by %.1e of the largest impulse, %.2g N s\n", schemes[s][0], schemes[s][1],
                  worst, size);
    assert_true(size > 1e-3 && worst < 1e-12);
    run_end(&run);
  }
}

/* Nodes in a corner without friction: each wall bears what is along its own normal, to round-off. */
static void corner_is_shared_out(void **state)
{
  (void)state;
  struct run run;
  run_start(&run, "domain: {lower: [-0.05, -0.05, -0.05], cells: [30, 30, 30], spacing: 0.01}\n"
                  "time: {end: 1}\ngravity: [-5, -9.81, 0]\n"
                  "snow: [{box: {lower: [0, 0, 0], upper: [0.08, 0.06, 0.06]}, velocity: [-1, -1, 0]}]\n"
                  "bodies:\n"
                  "  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, friction: 0, measure: true}\n"
                  "  wall: {plane: {point: [0, 0, 0], normal: [1, 0, 0]}, friction: 0, measure: true}\n");
  run.sim->hooks.measure_every = 1;
  double most = 0.0, across = 0.0;
  for (int n = 0; n < 60; n++) {
    run_step(&run);
    most = fmax(most, fmax(-column(&run, "force_floor_y"), -column(&run, "force_wall_x")));
    across = fmax(across, fmax(fabs(column(&run, "force_floor_x")), fabs(column(&run, "force_wall_y"))));
  }
  print_message("a corner: up to %.3g N along the normals, %.1e N across\n", most, across);
  assert_true(most > 1.0 && across < 1e-12 * most);
  run_end(&run);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(corner_is_shared_out), cmocka_unit_test(plate_feels_torque),
    cmocka_unit_test(momentum_balances),    cmocka_unit_test(energy_closes),
    cmocka_unit_test(resting_block_weighs), cmocka_unit_test(bounce_gives_impulse),
    cmocka_unit_test(map_adds_up),
};
PHYSICS_MAIN(tests);
