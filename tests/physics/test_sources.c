/* What sources bring comes to rest at the density of its material, and a source is no more than its stream.
 *
 * A thin stream falls into a box with smooth walls. The deposit must then be as high as its mass says: its
 * mean height is half of mass / (density x area). Before thin streams flew free of the grid they stood up to
 * the source, at a tenth of their density. */
#include "support/physics.h"

#include <math.h>
#include <stdio.h>

static const double h = 0.02, width = 0.1; /* m */

#define BOX                                                                                                  \
  "bodies:\n"                                                                                                \
  "  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, measure: true}\n"                                 \
  "  left: {plane: {point: [0, 0, 0], normal: [1, 0, 0]}, friction: 0}\n"                                    \
  "  right: {plane: {point: [0.1, 0, 0], normal: [-1, 0, 0]}, friction: 0}\n"                                \
  "  front: {plane: {point: [0, 0, 0], normal: [0, 0, 1]}, friction: 0}\n"                                   \
  "  back: {plane: {point: [0, 0, 0.1], normal: [0, 0, -1]}, friction: 0}\n"

/* The deposit's mean height over what its mass and density make it. */
static double height_ratio(const struct run *run, double density)
{
  const struct sums sums = run_sums(run);
  return sums.center[1] / (0.5 * sums.mass / (density * width * width));
}

/* Snow falls at 1.5 m/s with a share of its density, until it is three cells high. */
static void snowfall(const char *name, const char *extra, double density, double share)
{
  const double area = width * width, rate = share * density * area * 1.5, end = 3.0 * h / (share * 1.5);
  struct run run;
  run_start(&run,
            "domain: {lower: [-0.08, -0.08, -0.08], cells: [13, 18, 13], spacing: 0.02}\n"
            "time: {end: 10}\n%s"
            "snow: [{box: {lower: [0.04, 0, 0.04], upper: [0.06, 0.02, 0.06]}, volume: exact}]\n"
            "sources: [{box: {lower: [0, 0.2, 0], upper: [0.1, 0.22, 0.1]}, rate: %.17g,\n"
            "           velocity: [0, -1.5, 0], until: %.17g}]\n" BOX,
            extra, rate, end);
  const int64_t start = run.sim->totals.particles;
  run_to(&run, end + 0.3);
  const struct sums sums = run_sums(&run);
  const double ratio = height_ratio(&run, density);
  print_message(
      "%s, 1/%.0f of full density: %lld particles fell, deposit %.3f of its height, speed %.1e m/s\n", name,
      1.0 / share, (long long)(run.sim->totals.particles - start), ratio,
      sqrt(2.0 * sums.kinetic / sums.mass));
  assert_int_equal(run.sim->flight.count, 0);
  assert_true(ratio > 0.88 && ratio < 1.1);
  run_end(&run);
}

static void snow_settles(void **state)
{
  (void)state;
  snowfall("snow", "", 400.0, 1.0 / 6.0);
  snowfall("snow, apic, quadratic", "transfer: {scheme: apic, force: mls, kernel: quadratic}\n", 400.0, 0.25);
  snowfall("cam_clay", "materials: {m: {model: cam_clay}}\n", 250.0, 0.25);
  snowfall("sand, explicit",
           "materials: {m: {model: sand, density: 1500, young: 2e5}}\nintegrator: {scheme: explicit}\n",
           1500.0, 0.25);
}

/* Water is poured onto water, and some of it drains through a sink: the rest stands as high as its mass says,
 * and what is missing was taken out. */
static void water_is_poured(void **state)
{
  (void)state;
  struct run run;
  run_start(&run, "domain: {lower: [-0.08, -0.08, -0.08], cells: [13, 18, 13], spacing: 0.02}\n"
                  "time: {end: 10}\nheat: {liquid: {stiffness: 2e5}}\n"
                  "snow: [{box: {lower: [0, 0, 0], upper: [0.1, 0.04, 0.1]}, phase: liquid}]\n"
                  "sources: [{box: {lower: [0.02, 0.2, 0.02], upper: [0.08, 0.22, 0.08]}, rate: 1,\n"
                  "           velocity: [0, -1, 0], phase: liquid, until: 0.4}]\n"
                  "sinks: [{box: {lower: [0, 0.1, 0], upper: [0.1, 0.3, 0.035]}, from: 0.45}]\n" BOX);
  run_to(&run, 0.44);
  const double poured = run_sums(&run).mass;
  run_to(&run, 0.8);
  const struct sim_totals *totals = &run.sim->totals;
  const double ratio = height_ratio(&run, 1000.0), mass = run_sums(&run).mass;
  print_message("water: %.3f kg of 0.8 poured to a height of %.3f, %lld of %lld particles taken out\n",
                poured, ratio, (long long)totals->removed, (long long)totals->entered);
  assert_true(fabs(poured - 0.8) < 0.0015 && ratio > 0.93 && ratio < 1.07);
  assert_int_equal(totals->particles, 400 + totals->entered - totals->removed);
  assert_true(fabs(mass - 0.001 * (double)totals->particles) < 1e-9);
  run_end(&run);
}

/* The only particle that flies. */
static int32_t flying_one(const struct particles *p)
{
  int32_t found = -1;
  for (int32_t i = 0; i < p->count; i++)
    if (particle_flies(p, i)) {
      assert_int_equal(found, -1);
      found = i;
    }
  return found;
}

/* What flies moves as a thrown stone, over snow less than two cells below it too. */
static void flight_is_free(void **state)
{
  (void)state;
  struct run run;
  run_start(&run, "domain: {lower: [-0.08, -0.08, -0.08], cells: [13, 18, 13], spacing: 0.02}\n"
                  "time: {end: 10}\n"
                  "snow: [{box: {lower: [0, 0, 0], upper: [0.1, 0.16, 0.1]}, volume: exact}]\n"
                  "sources: [{box: {lower: [0.02, 0.2, 0.02], upper: [0.04, 0.22, 0.08]}, rate: 0.2,\n"
                  "           velocity: [0.5, 0, 0], until: 0.0021}]\n" BOX);
  const struct particles *p = run.sim->p;
  while (run.sim->totals.entered == 0) run_advance(&run, 1e-3);
  int32_t i = flying_one(p);
  assert_true(i >= 0);
  const double x[2] = {p->x[0][i], p->x[1][i]}, t = 0.06;
  for (int k = 0; k < 60; k++) run_advance(&run, 1e-3);
  i = flying_one(p);
  assert_true(i >= 0);
  assert_true(fabs(p->v[0][i] - 0.5) < 1e-12 && fabs(p->v[1][i] + 9.81 * t) < 1e-12);
  assert_true(fabs(p->x[0][i] - x[0] - 0.5 * t) < 1e-12);
  assert_true(fabs(p->x[1][i] - x[1] + 0.5 * 9.81 * t * (t + 1e-3)) < 1e-12);
  while (flying_one(p) >= 0) run_advance(&run, 1e-3);
  run_advance(&run, 1e-3);
  double height = 0.0;
  for (i = 0; i < p->count; i++) height = fmax(height, p->x[1][i]);
  print_message("it lands %.2f cells above the snow\n", (height - 0.16) / h);
  assert_true(height > 0.155 && height < 0.16 + 0.5 * h);
  run_end(&run);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(snow_settles), cmocka_unit_test(water_is_poured),
                                          cmocka_unit_test(flight_is_free)};

PHYSICS_MAIN(tests);
