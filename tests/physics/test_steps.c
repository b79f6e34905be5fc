/* Time steps: their limits, frames on time, steps that must be halved and those that cannot be saved, and
 * particles that leave. */
#include "base/memory.h"
#include "support/physics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double sound = 19.720265943665387; /* m/s: sqrt((lambda + 2 mu) / rho) of the default snow */

static void start_ball(struct run *run, const char *time, const char *rest)
{
  run_start(run,
            "domain: {lower: [-0.3, -0.3, -0.3], cells: [60, 60, 60], spacing: 0.01}\ntime: %s\n"
            "snow:\n  - sphere: {center: [0, 0, 0], radius: 0.04}\n    volume: exact\n%s",
            time, rest);
}

/* The automatic step must be `limit`, shortened to a whole number of steps to the frame. */
static void check_limit(const char *what, const char *time, const char *rest, double limit)
{
  struct run run;
  start_ball(&run, time, rest);
  const double frame = 1.0 / run.scene->frame_rate, wanted = frame / ceil(frame / limit - 1e-6);
  const double found = sim_next_step(run.sim);
  print_message("%s: limit %.4g s, step %.4g s\n", what, limit, found);
  assert_true(fabs(found / wanted - 1.0) < 1e-9 && found <= limit * (1.0 + 1e-5));
  run_end(&run);
}

static void limits_of_the_step(void **state)
{
  (void)state;
  check_limit("longest step", "{end: 1, max_step: 3e-4}", "gravity: [0, 0, 0]\n", 3e-4);
  check_limit("given step", "{end: 1, step: 2e-4}", "", 2e-4);
  check_limit("speed of snow", "{end: 1, max_step: 0.1}", "    velocity: [30, 0, 40]\n", 0.4 * 0.01 / 50.0);
  check_limit("spin of snow is its particles' speed", "{end: 1, max_step: 0.1, cfl: 0.2}",
              "    spin: [0, 1e-9, 0]\n    velocity: [0, -40, 0]\n", 0.2 * 0.01 / 40.0);
  check_limit("gravity", "{end: 1, max_step: 0.1}", "gravity: [0, 0, -40]\n", sqrt(0.4 * 0.01 / 40.0));
  check_limit("speed of a body", "{end: 1, max_step: 0.1}",
              "bodies:\n  b: {sphere: {center: [0.2, 0, 0], radius: 0.05}, velocity: [-20, 0, 0], "
              "spin: [0, 0, 100]}\n",
              0.4 * 0.01 / (20.0 + 100.0 * 0.05));
  check_limit("sound", "{end: 1}", "integrator: {scheme: explicit}\n", 0.3 * 0.01 / sound);
  check_limit("sound, by its own number", "{end: 1, cfl_sound: 0.1}", "integrator: {scheme: explicit}\n",
              0.1 * 0.01 / sound);
}

/* One hardened particle among soft ones sets the explicit step; the limit of hardening bounds it. */
static void the_stiffest_particle_sets_the_step(void **state)
{
  (void)state;
  const double lower[3] = {0.1, 0.1, 0.1}, jp[3] = {0.9, 0.4, 0.2}, factor[3] = {exp(1.0), exp(6.0), 1000.0};
  for (int k = 0; k < 3; k++) {
    struct cloud *cloud = cloud_box(lower, (const int[3]){4, 4, 4}, 0.01, 2, 400.0);
    cloud->jp[cloud->count / 2] = jp[k];
    cloud_write(cloud);
    struct run run;
    run_start(&run,
              "domain: {cells: [40, 40, 40], spacing: 0.01}\ntime: {end: 1, frame_rate: 1}\n"
              "integrator: {scheme: explicit}\nsnow:\n  - file: %s\n",
              cloud->path);
    const double limit = 0.3 * 0.01 / (sound * sqrt(factor[k]));
    assert_true(fabs(sim_next_step(run.sim) / limit - 1.0) < 2e-4); /* whole steps to the frame */
    run_step(&run);
    assert_true(fabs(sim_next_step(run.sim) / limit - 1.0) < 2e-3); /* and the same after a step */
    run_end(&run);
    cloud_destroy(&cloud);
  }
}

static void frames_fall_on_time(void **state)
{
  (void)state;
  const char *const rates[] = {"24", "30", "7", "1000", "0.7"};
  for (int k = 0; k < 5; k++) {
    char time[64];
    snprintf(time, sizeof time, "{end: 10, frame_rate: %s, max_step: 1.37e-3}", rates[k]);
    struct run run;
    start_ball(&run, time, "gravity: [0, 0, 0]\n");
    assert_true(run.sim->clock.on_frame && run.sim->clock.frame == 0 && run.sim->clock.time == 0.0);
    int64_t last = 0;
    for (int n = 0; n < 1100 && run.sim->clock.frame < 20; n++) { /* 1043 steps a frame at the lowest rate */
      const double before = run.sim->clock.time, dt = sim_next_step(run.sim);
      run_step(&run);
      assert_true(dt <= 1.37e-3 * (1.0 + 1e-6));
      assert_true(fabs(run.sim->clock.time - before - dt) < 1e-15);
      assert_true(run.sim->clock.on_frame == (run.sim->clock.frame > last));
      if (!run.sim->clock.on_frame) continue;
      last = run.sim->clock.frame;
      assert_true(run.sim->clock.time ==
                  (double)run.sim->clock.frame / run.scene->frame_rate); /* to the last bit */
    }
    assert_true(last > 0);
    run_end(&run);
  }
  struct run run;
  start_ball(&run, "{end: 10, frame_rate: 50}", "");
  assert_int_equal(sim_advance_to_frame(run.sim, 3, &run.err), FIRN_OK);
  assert_true(run.sim->clock.time == 3.0 / 50.0 && run.sim->clock.frame == 3);
  run_end(&run);
}

/* The scene's end is the time of its last frame, to the last bit. The step that ends there is the only one
 * that a longer scene does not have. */
static void the_end_is_met_exactly(void **state)
{
  (void)state;
  const struct {
    const char *time;
    double end;
    int64_t frames;
    bool cut;
  } cases[] = {{"{end: 0.0005}", 0.0005, 1, true},
               {"{end: 1e-9}", 1e-9, 1, true},
               {"{end: 0.1, frame_rate: 24}", 0.1, 3, true},
               {"{end: 0.0433, frame_rate: 100, max_step: 1.37e-3}", 0.0433, 5, true},
               {"{end: 0.03, step: 7e-4, frame_rate: 300}", 9.0 / 300.0, 9, false},
               {"{end: 0.7, frame_rate: 30, max_step: 0.01}", 21.0 / 30.0, 21, false}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct run run, longer;
    start_ball(&run, cases[k].time, "gravity: [0, -0.1, 0]\n");
    start_ball(&longer, cases[k].time, "gravity: [0, -0.1, 0]\n");
    longer.scene->end *= 2.7;
    assert_int_equal(scene_last_frame(run.scene), cases[k].frames);
    assert_true(scene_end_time(run.scene) == cases[k].end);
    bool cut = false;
    while (!sim_is_over(run.sim)) {
      cut = sim_next_is_cut(run.sim);
      assert_true(sim_next_step(run.sim) > 0.0);
      run_step(&run);
      if (!cut) run_step(&longer);
      if (!cut)
        assert_true(run.sim->clock.time == longer.sim->clock.time &&
                    run.sim->clock.frame == longer.sim->clock.frame);
    }
    assert_true(run.sim->clock.time == cases[k].end && run.sim->clock.on_frame &&
                run.sim->clock.frame == cases[k].frames);
    assert_true(cut == cases[k].cut && sim_is_on_beat(run.sim) != cut);
    if (!cut) assert_memory_equal(run.sim->p->x[1], longer.sim->p->x[1], sizeof(double) * 100);
    run_step(&run); /* beyond the end it goes on to the frames that are due */
    assert_true(run.sim->clock.time > cases[k].end);
    assert_int_equal(sim_advance_to_frame(run.sim, cases[k].frames + 1, &run.err), FIRN_OK);
    assert_true(run.sim->clock.time == (double)(cases[k].frames + 1) / run.scene->frame_rate);
    run_end(&run);
    run_end(&longer);
  }
}

/* Speeds and stiffnesses beyond measure end the run with a sentence: a count of steps has its limits. Files
 * with larger numbers are refused when they are read. */
static void steps_without_number_end_the_run(void **state)
{
  (void)state;
  const double speeds[] = {0.0, 1e13, 9e14};
  for (int k = 0; k < 3; k++) {
    struct cloud *cloud = cloud_box((const double[]){0.1, 0.1, 0.1}, (const int[]){4, 4, 4}, 0.01, 2, 400.0);
    cloud->v[3] = speeds[k];
    if (k == 0) cloud->mass[1] = 1e-60; /* sound is too fast in it */
    cloud_write(cloud);
    struct run run;
    run_start(&run, "domain: {cells: [40, 40, 40], spacing: 0.01}\ntime: {end: 1}\nsnow:\n  - file: %s\n%s",
              cloud->path, k == 0 ? "integrator: {scheme: explicit}\n" : "");
    assert_int_equal(sim_step(run.sim, &run.err), FIRN_EDIVERGE);
    print_message("%s\n", run.err.text);
    assert_non_null(strstr(run.err.text, "step 0 at 0 s"));
    assert_non_null(strstr(run.err.text, "look at its velocities"));
    assert_true(run.sim->clock.time == 0.0 && run.sim->clock.step == 0);
    run_end(&run);
    cloud_destroy(&cloud);
  }
}

/* --- halving ------------------------------------------------------------------------------------------ */

/* Two slabs of snow that meet: nearly a cell a step, so that the strain of one step is far too large. */
static void start_crash(struct run *run, const char *integrator, double speed, double dt)
{
  run_start(run,
            "domain: {lower: [-0.3, -0.3, -0.3], cells: [60, 60, 60], spacing: 0.01}\n"
            "gravity: [0, 0, 0]\ntime: {end: 1, cfl: 1, max_step: %.17g}\nintegrator: %s\n"
            "snow:\n"
            "  - box: {lower: [-0.06, -0.02, -0.02], upper: [-0.005, 0.02, 0.02]}\n    velocity: [%g, 0, 0]\n"
            "  - box: {lower: [0.005, -0.02, -0.02], upper: [0.06, 0.02, 0.02]}\n    velocity: [-%g, 0, 0]\n",
            dt, integrator, speed, speed);
}

static void check_same_particles(const struct particles *a, const struct particles *b)
{
  assert_int_equal(a->count, b->count);
  for (int f = 0; f < PARTICLE_FIELDS; f++)
    for (int c = 0; c < particle_fields[f].components; c++) {
      const void *left = particle_array(a, &particle_fields[f], c),
                 *right = particle_array(b, &particle_fields[f], c);
      if (left) assert_memory_equal(left, right, (size_t)a->count * field_size(particle_fields[f].type));
    }
}

static void a_step_too_long_is_halved(void **state)
{
  (void)state;
  const char *const integrators[] = {"{scheme: explicit}", "{scheme: semi-implicit}"};
  const double speeds[] = {60.0, 10.0}, steps[] = {1.5e-4, 9e-4};
  for (int k = 0; k < 2; k++) {
    const double dt = steps[k];
    struct run whole, halves;
    start_crash(&whole, integrators[k], speeds[k], dt);
    start_crash(&halves, integrators[k], speeds[k], dt);
    int64_t halved = 0;
    int deepest = 0;
    for (int n = 0; n < 12; n++) {
      const int64_t before = whole.sim->totals.halvings, step = whole.sim->clock.step;
      const double time = whole.sim->clock.time;
      run_advance(&whole, dt);
      const int64_t more = whole.sim->totals.halvings - before;
      halved += more;
      deepest = whole.sim->report.halvings > deepest ? whole.sim->report.halvings : deepest;
      assert_true(whole.sim->clock.time == time + dt);
      assert_int_equal(whole.sim->clock.step - step, more + 1); /* every cut makes one step two */
      /* Halved once: the same bits as two half steps, so nothing of the failed step was left behind. */
      if (more == 1) run_advance(&halves, 0.5 * dt);
      run_advance(&halves, more == 1 ? 0.5 * dt : dt);
      check_same_particles(whole.sim->p, halves.sim->p);
    }
    print_message("%s: %lld halvings in 12 steps, %d deep\n", integrators[k], (long long)halved, deepest);
    assert_true(halved > 0 && deepest >= 1 && deepest <= 8);
    run_end(&whole);
    run_end(&halves);
  }
}

/* An automatic step that had to be cut is not tried again in the next steps: they begin at the length that
 * was accepted and grow, and are as long as ever once nothing is cut any more. */
static void a_cut_step_is_remembered(void **state)
{
  (void)state;
  struct run run;
  const double longest = 9e-4;
  start_crash(&run, "{scheme: semi-implicit}", 10.0, longest);
  int64_t cuts = 0, steps = 0, behind = 0;
  while (run.sim->clock.time < 0.02) {
    const double wanted = sim_next_step(run.sim);
    const int64_t before = run.sim->totals.halvings;
    run_step(&run);
    const int halvings = run.sim->report.halvings;
    const double dt = run.sim->report.dt;
    assert_true(halvings == 0 || run.sim->clock.trusted == dt);
    assert_true(run.sim->clock.trusted == 0.0 || sim_next_step(run.sim) <= run.sim->clock.trusted);
    assert_true(dt <= wanted);
    cuts += run.sim->totals.halvings - before;
    if (cuts > 0) behind++;
    steps++;
  }
  print_message("%lld cuts in %lld steps, the first after %lld\n", (long long)cuts, (long long)steps,
                (long long)(steps - behind));
  assert_true(cuts > 0 && cuts <= 1 + behind / 8);
  run_to(&run, 0.2);
  assert_true(run.sim->clock.trusted == 0.0 && sim_next_step(run.sim) > 0.9 * longest);
  run_end(&run);
}

/* Too few iterations for the whole step, enough for a part of it. */
static void no_convergence_is_halved(void **state)
{
  (void)state;
  struct run run;
  start_crash(&run, "{scheme: semi-implicit, max_iterations: 4, tolerance: 1e-6}", 10.0, 4e-4);
  for (int n = 0; n < 8; n++) {
    run_advance(&run, 4e-4);
    assert_true(run.sim->report.iterations <= 4);
  }
  assert_true(run.sim->totals.halvings > 0);
  run_end(&run);
}

/* Snow that rests without gravity has no velocity that a residual could be small beside, until a plate comes.
 */
static void a_plate_moves_snow_at_rest(void **state)
{
  (void)state;
  const char *const plates[] = {"friction: 0.3", "sticky: true"};
  const int most[] = {200, 20};
  for (int k = 0; k < 8; k++) {
    struct run run;
    run_start(&run,
              "domain: {lower: [-0.1, -0.1, -0.1], cells: [20, 30, 20], spacing: 0.01}\n"
              "gravity: [0, 0, 0]\ntime: {end: 1}\nintegrator: {max_iterations: %d, stop: %s}\n"
              "snow:\n  - box: {lower: [-0.05, 0, -0.05], upper: [0.05, 0.1, 0.05]}\nbodies:\n"
              "  plate: {plane: {point: [0, 0.005, 0], normal: [0, 1, 0]}, velocity: [0, 0.5, 0], %s}\n",
              most[k / 2 % 2], k < 4 ? "velocity" : "strain", plates[k % 2]);
    int iterations = 0;
    for (int n = 0; n < 40; n++) {
      run_step(&run);
      iterations = run.sim->report.iterations > iterations ? run.sim->report.iterations : iterations;
    }
    const struct sums sums = run_sums(&run);
    print_message("%s, at most %d iterations: %d, %lld halvings, momentum %.3g of the plate's\n",
                  plates[k % 2], most[k / 2 % 2], iterations, (long long)run.sim->totals.halvings,
                  sums.momentum[1] / (0.5 * sums.mass));
    assert_true(iterations > 0 && iterations < 40 && run.sim->totals.halvings <= (k / 2 % 2 ? 3 : 0));
    assert_true(sums.momentum[1] > 0.1 * 0.5 * sums.mass);
    run_end(&run);
  }
}

/* Steps that end on the window's ticks, and are halved: the window of each state is that of its time, and no
 * plane of snow was passed over. */
static void a_window_misses_no_plane(void **state)
{
  (void)state;
  struct run run;
  run_start(&run, "domain: {lower: [0, -0.1, 0], cells: [400, 12, 6], spacing: 0.05}\n"
                  "time: {end: 1, step: 5.2083333e-3}\nintegrator: {max_iterations: 4}\n"
                  "snow:\n  - box: {lower: [0, 0, 0.05], upper: [20, 0.15, 0.25]}\n    sampling: jittered\n"
                  "bodies:\n  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}\n"
                  "  bird: {sphere: {center: [0.3, 0.4, 0.15], radius: 0.02}, velocity: [2.4, 0, 0]}\n"
                  "window: {follow: bird, axis: x, ahead: 0.5, behind: 0.3}\n");
  while (run.sim->clock.frame < 10) {
    run_step(&run);
    struct window now = {0};
    window_advance(&now, run.scene, run.sim->clock.time);
    assert_int_equal(run.sim->window.ticks, now.ticks);
    int count[400] = {0};
    for (int32_t i = 0; i < run.sim->p->count; i++) count[(int)floor(run.sim->p->x[0][i] / 0.05)]++;
    for (int64_t plane = now.from + 1; plane < now.to; plane++) assert_true(count[plane] > 0);
  }
  print_message("%lld halvings, %lld particles entered\n", (long long)run.sim->totals.halvings,
                (long long)run.sim->totals.entered);
  assert_true(run.sim->totals.halvings > 40 && run.sim->totals.entered > 1000);
  run_end(&run);
}

static void expect_error(struct run *run, double dt, const char *const *words, int count)
{
  const int code = sim_advance(run->sim, dt, &run->err);
  assert_int_equal(code, FIRN_EDIVERGE);
  print_message("%s\n", run->err.text);
  for (int k = 0; k < count; k++)
    if (!strstr(run->err.text, words[k])) fail_msg("\"%s\" is not in: %s", words[k], run->err.text);
  assert_null(strchr(run->err.text, '\n'));
}

/* An inverted element that no step however short can turn back: the run ends, says where, and keeps the last
 * good state. */
static void hopeless_steps_end_the_run(void **state)
{
  (void)state;
  struct run run;
  start_ball(&run, "{end: 1, step: 1e-4}", "materials: {s: {plastic: false}}\n");
  struct particles *p = run.sim->p;
  const int32_t i = p->count / 3;
  char particle[64], cell[64];
  snprintf(particle, sizeof particle, "particle %llu ", (unsigned long long)p->id[i]);
  snprintf(cell, sizeof cell, "cell (%d, %d, %d)", (int)floor((p->x[0][i] + 0.3) / 0.01),
           (int)floor((p->x[1][i] + 0.3) / 0.01), (int)floor((p->x[2][i] + 0.3) / 0.01));
  p->fe[0][i] = -1.0;
  const double x = p->x[0][i];
  const char *const words[] = {particle, cell, "rank 0", "inside out", "step 0", "lower time.step"};
  expect_error(&run, 1e-4, words, 6);
  assert_int_equal(run.sim->totals.halvings, 8);
  assert_true(run.sim->clock.time == 0.0 && run.sim->clock.step == 0 && p->x[0][i] == x &&
              p->fe[0][i] == -1.0);

  p->fe[0][i] = 1.0; /* mended, it goes on */
  run_advance(&run, 1e-4);
  run_end(&run);

  start_ball(&run, "{end: 1, step: 1e-4}", "integrator: {scheme: explicit}\n");
  run_advance(&run, 1e-4);
  run.sim->p->v[1][0] = NAN;
  expect_error(&run, 1e-4, (const char *const[]){"particle ", "is not finite", "rank 0", "step 1"}, 4);
  run_end(&run);

  start_crash(&run, "{scheme: semi-implicit, max_iterations: 1, tolerance: 1e-15}", 10.0, 4e-4);
  expect_error(&run, 4e-4, (const char *const[]){"does not converge"}, 1);
  run_end(&run);
}

/* A step that the user fixed is not cut in silence: the snow falls ever faster until it would skip a cell. */
static void a_fixed_step_may_not_cross_cells(void **state)
{
  (void)state;
  struct run run;
  start_ball(&run, "{end: 1, step: 0.0105}", "");
  for (int n = 0; n < 9; n++) run_advance(&run, 0.0105);
  const char *const words[] = {"particle", "cell (", "rank 0", "more than a cell",
                               "lower time.step or set it to auto"};
  expect_error(&run, 0.0105, words, 5);
  assert_int_equal(run.sim->totals.halvings, 0);
  run_end(&run);
}

/* One particle of many is outside when the run begins: told, however deep in its file it is. */
static void particles_may_not_start_outside(void **state)
{
  (void)state;
  const double lower[3] = {0.1, 0.1, 0.1};
  struct cloud *cloud = cloud_box(lower, (const int[3]){14, 14, 14}, 0.01, 2, 400.0);
  assert_true(cloud->count > 20000);
  cloud->x[3 * 1000 + 1] = -0.005;
  cloud_write(cloud);
  char text[512];
  snprintf(text, sizeof text,
           "domain: {cells: [40, 40, 40], spacing: 0.01}\ntime: {end: 1}\nsnow:\n  - file: %s\n",
           cloud->path);
  struct scene *scene = NULL;
  struct sim *sim = NULL;
  struct error err = {0};
  assert_int_equal(scene_parse(&scene, "test.yml", text, NULL, 0, &err), FIRN_OK);
  assert_int_equal(sim_create(&sim, &physics_comm, scene, ISA_COUNT, &err), FIRN_EINPUT);
  assert_null(sim);
  assert_non_null(strstr(err.text, "1 of 21952 particles start outside the domain"));
  scene_destroy(&scene);
  cloud_destroy(&cloud);
}

/* --- leaving ------------------------------------------------------------------------------------------ */

static void particles_that_leave_are_removed_and_counted(void **state)
{
  (void)state;
  struct run run;
  start_ball(&run, "{end: 1}", "    velocity: [0, 20, 0]\ngravity: [0, 0, 0]\n");
  const int64_t all = run.sim->totals.particles;
  int64_t before = 0;
  while (run.sim->clock.time < 0.02) {
    run_step(&run);
    const struct step_report *report = &run.sim->report;
    assert_true(report->removed >= before);
    assert_int_equal(report->removed + report->particles, all);
    assert_int_equal(run.sim->p->count, report->particles);
    before = report->removed;
    for (int32_t i = 0; i < run.sim->p->count; i++) assert_true(run.sim->p->x[1][i] <= 0.3);
  }
  assert_int_equal(before, all); /* all are gone, and the empty run went on */
  run_end(&run);

  start_ball(&run, "{end: 1}", "    velocity: [0, 20, 0]\ngravity: [0, 0, 0]\n");
  run.scene->leave = LEAVE_STOP;
  int code = FIRN_OK;
  while (!code && run.sim->clock.time < 0.02) code = sim_step(run.sim, &run.err);
  print_message("%s\n", run.err.text);
  assert_int_equal(code, FIRN_EDIVERGE);
  assert_non_null(strstr(run.err.text, "leaves the domain"));
  assert_non_null(strstr(run.err.text, "domain.leave"));
  assert_int_equal(run.sim->p->count, all);
  run_end(&run);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(limits_of_the_step),
    cmocka_unit_test(the_stiffest_particle_sets_the_step),
    cmocka_unit_test(frames_fall_on_time),
    cmocka_unit_test(the_end_is_met_exactly),
    cmocka_unit_test(steps_without_number_end_the_run),
    cmocka_unit_test(a_step_too_long_is_halved),
    cmocka_unit_test(a_cut_step_is_remembered),
    cmocka_unit_test(no_convergence_is_halved),
    cmocka_unit_test(a_plate_moves_snow_at_rest),
    cmocka_unit_test(a_window_misses_no_plane),
    cmocka_unit_test(hopeless_steps_end_the_run),
    cmocka_unit_test(a_fixed_step_may_not_cross_cells),
    cmocka_unit_test(particles_may_not_start_outside),
    cmocka_unit_test(particles_that_leave_are_removed_and_counted),
};
PHYSICS_MAIN(tests);
