/* Energy that comes from nowhere: kinetic + elastic + potential never rises above its earlier minimum by more
 * than 1e-3 of the first kinetic energy, or 1e-6 of m g H at rest, with default settings.
 *
 * A block of snow rests in a tank whose walls it touches, or is thrown at a floor. Bodies stand still, so
 * none does work. The test takes one case of each material and then some; FIRN_ENERGY=all takes all
 * materials, kinds, speeds, frictions and cell sizes. */
#include "support/physics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const materials[] = {
    "{kind: reference}",
    "{kind: lower_compression}",
    "{kind: higher_compression}",
    "{kind: lower_stretch}",
    "{kind: higher_stretch}",
    "{kind: lower_hardening}",
    "{kind: higher_hardening}",
    "{kind: lower_stiffness}",
    "{kind: higher_stiffness}",
    "{kind: powder}",
    "{kind: chunky}",
    "{kind: icy}",
    "{kind: muddy}",
    "{model: corotated}",
    "{model: neo_hookean}",
    "{model: water}",
    "{model: sand}",
    "{model: von_mises}",
    "{model: cam_clay, kind: warm_shear}",
    "{model: cam_clay, kind: cold_dense}",
    "{model: cam_clay, kind: sliding_slab}",
    "{model: cam_clay, kind: warm_plug}",
    "{model: cam_clay, kind: vallee_de_la_sionne}",
};
enum { MATERIALS = sizeof materials / sizeof *materials };

struct trial {
  const char *material;
  double speed;    /* m/s; 0: at rest in a tank */
  double friction; /* of the bodies */
  double spacing;  /* m */
};

/* The block is 6 x 4 x 6 cells. A tank leaves it no room; thrown, it begins a cell above a floor that lies
 * between two planes of nodes. The floor is so wide that none of it slides or splashes out of the domain. */
static void start(struct run *run, const struct trial *t)
{
  const double h = t->spacing;
  char bodies[512];
  if (t->speed > 0.0)
    snprintf(bodies, sizeof bodies, "floor: {plane: {point: [0, %.17g, 0], normal: [0, 1, 0]}, friction: %g}",
             -0.9 * h, t->friction);
  else
    snprintf(bodies, sizeof bodies,
             "tank: {difference: [{box: {lower: [%.17g, %.17g, %.17g], upper: [%.17g, %.17g, %.17g]}},\n"
             "    {box: {lower: [0, 0, 0], upper: [%.17g, %.17g, %.17g]}}], friction: %g}",
             -3.0 * h, -3.0 * h, -3.0 * h, 9.0 * h, 12.0 * h, 9.0 * h, 6.0 * h, 20.0 * h, 6.0 * h,
             t->friction);
  run_start(run,
            "domain: {lower: [%.17g, %.17g, %.17g], cells: [200, 60, 200], spacing: %.17g}\n"
            "time: {end: 10}\nmaterials: {m: %s}\n"
            "snow: [{box: {lower: [0, 0, 0], upper: [%.17g, %.17g, %.17g]}, sampling: jittered,\n"
            "        velocity: [%g, %g, %g]}]\nbodies:\n  %s\n",
            -97.0 * h, -5.0 * h, -97.0 * h, h, t->material, 6.0 * h, 4.0 * h, 6.0 * h, 0.25 * t->speed,
            -t->speed, 0.1 * t->speed, bodies);
  run->sim->hooks.measure_every = 1;
}

/* Until a thrown block has crossed ten cells, and at least for 120 steps. */
static bool is_over(const struct run *run, const struct trial *t)
{
  return run->sim->clock.step >= 120 &&
         run->sim->clock.time * t->speed >= (t->speed > 0.0) * 10.0 * t->spacing;
}

static bool check(const struct trial *t)
{
  struct run run;
  start(&run, t);
  const struct sums first = run_sums(&run);
  const double height = 4.0 * t->spacing,
               scale = t->speed > 0.0 ? first.kinetic : 1e-3 * first.mass * 9.81 * height;
  double least = INFINITY, growth = 0.0, fastest = 0.0;
  int64_t products = 0, removed = 0;
  while (!is_over(&run, t)) {
    run_step(&run);
    const double *m = run.sim->report.measured;
    const double energy = m[MEASURED_KINETIC] + m[MEASURED_ELASTIC] + m[MEASURED_POTENTIAL];
    growth = fmax(growth, energy - least);
    least = fmin(least, energy);
    fastest = fmax(fastest, run.sim->report.max_speed);
    products += run.sim->report.iterations;
    removed += run.sim->report.removed;
  }
  const bool good = growth <= 1e-3 * scale && removed == 0;
  print_message("%-46s %g m/s, friction %-3g, h %-6g: %3lld steps, %4.1f iterations, %lld halvings, up to "
                "%.3g m/s, grows by %.1e of %s, %lld left%s\n",
                t->material, t->speed, t->friction, t->spacing, (long long)run.sim->clock.step,
                (double)products / (double)run.sim->clock.step, (long long)run.sim->totals.halvings, fastest,
                growth / scale * (t->speed > 0.0 ? 1.0 : 1e-3), t->speed > 0.0 ? "the first" : "m g H",
                (long long)removed, good ? "" : "  <- TOO MUCH");
  run_end(&run);
  return good;
}

static void energy_never_grows(void **state)
{
  (void)state;
  static const struct trial some[] = {
      {"{kind: reference}", 0, 0.3, 0.005}, {"{kind: icy}", 0, 0, 0.005},
      {"{kind: icy}", 0, 1, 0.0025},        {"{kind: muddy}", 0, 0.3, 0.05},
      {"{kind: icy}", 2, 0.3, 0.005},       {"{kind: reference}", 5, 0, 0.01},
      {"{kind: powder}", 1, 1, 0.0025},     {"{kind: chunky}", 5, 0.3, 0.05},
      {"{model: corotated}", 2, 0, 0.01},   {"{model: neo_hookean}", 2, 0.3, 0.005},
      {"{model: neo_hookean}", 0, 0, 0.01},
  };
  int bad = 0;
  for (size_t k = 0; k < sizeof some / sizeof *some; k++) bad += !check(&some[k]);
  assert_int_equal(bad, 0);
}

static void in_all_cases(void **state)
{
  (void)state;
  static const double speeds[] = {0, 1, 2, 5}, frictions[] = {0, 0.3, 1},
                      spacings[] = {0.0025, 0.005, 0.01, 0.05};
  int bad = 0;
  for (int m = 0; m < MATERIALS; m++)
    for (int s = 0; s < 4; s++)
      for (int f = 0; f < 3; f++)
        for (int h = 0; h < 4; h++)
          bad += !check(&(struct trial){materials[m], speeds[s], frictions[f], spacings[h]});
  assert_int_equal(bad, 0);
}

static int all_tests(void)
{
  const char *which = getenv("FIRN_ENERGY");
  const bool all = which && strcmp(which, "all") == 0;
  const struct CMUnitTest tests[] = {
      {"energy never grows", all ? in_all_cases : energy_never_grows, NULL, NULL, NULL}};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
  return physics_main(argc, argv, all_tests);
}
