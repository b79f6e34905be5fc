/* Sand and water against what two independent programs and theory say (docs/method.md): columns that
 * collapse, a tank at rest, a dam that breaks. All in plane strain: a slice three cells
 * thick between walls without friction. */
#include "base/memory.h"
#include "support/physics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double g = 9.81;
enum { THICK = 3, PER_AXIS = 2 };

static double radians(double degrees)
{
  return degrees * acos(-1.0) / 180.0;
}

struct slice {
  double width, height; /* m, of the block that starts at the origin */
  double spacing;
  double room[2];         /* m, of the domain beyond the origin, along x and y */
  const char *integrator; /* and all other keys of the scene but material, snow and bodies */
  const char *material;
  double density;
  double angle;                                                /* by which gravity is tilted, down along x */
  void (*prepare)(struct cloud *cloud, const struct slice *s); /* changes the particles; may be NULL */
  const char *floor;                                           /* words of the body */
  bool wall;                                                   /* at x = 0 */
};

static void start(struct run *run, const struct slice *s)
{
  const double h = s->spacing, lower[3] = {0.0, 0.0, 0.0};
  const int cells[3] = {(int)lround(s->width / h), (int)lround(s->height / h), THICK};
  struct cloud *cloud = cloud_box(lower, cells, h, PER_AXIS, s->density);
  if (s->prepare) s->prepare(cloud, s);
  cloud_write(cloud);
  run_start(run,
            "domain: {lower: [%g, %g, %g], cells: [%d, %d, %d], spacing: %g}\n"
            "gravity: [%.17g, %.17g, 0]\n%s"
            "materials: {grains: {%s, density: %g}}\nsnow:\n  - {file: %s, material: grains}\n"
            "bodies:\n  floor: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}, %s}\n"
            "  back: {plane: {point: [0, 0, 0], normal: [0, 0, 1]}, friction: 0}\n"
            "  front: {plane: {point: [0, 0, %.17g], normal: [0, 0, -1]}, friction: 0}\n%s",
            -6 * h, -4 * h, -4 * h, (int)lround(s->room[0] / h) + 6, (int)lround(s->room[1] / h) + 4,
            THICK + 8, h, g * sin(s->angle), -g * cos(s->angle), s->integrator, s->material, s->density,
            cloud->path, s->floor, THICK * h,
            s->wall ? "  wall: {plane: {point: [0, 0, 0], normal: [1, 0, 0]}, friction: 0}\n" : "");
  cloud_destroy(&cloud);
}

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The place along an axis that this share of the particles lies below; all weigh the same. */
static double quantile(const struct run *run, int axis, double share)
{
  const struct particles *p = run->sim->p;
  double *x = mem_alloc((size_t)p->count, sizeof *x);
  for (int32_t i = 0; i < p->count; i++) x[i] = p->x[axis][i];
  qsort(x, (size_t)p->count, sizeof *x, by_value);
  const double found = x[(int32_t)(share * (p->count - 1))];
  mem_free(x);
  return found;
}

static void column(const char *name, double aspect, const char *sand, const char *integrator, double time,
                   double run_out, double height)
{
  const double width = 0.2;
  char keys[256], material[128];
  snprintf(keys, sizeof keys, "%stransfer: {scheme: apic}\n", integrator);
  snprintf(material, sizeof material, "model: sand, young: 1e6, poisson: 0.3, %s", sand);
  struct run run;
  start(&run, &(struct slice){.width = width,
                              .height = aspect * width,
                              .spacing = 0.02,
                              .room = {0.9, 0.5},
                              .integrator = keys,
                              .material = material,
                              .density = 1600.0,
                              .floor = "sticky: true",
                              .wall = true});
  run_to(&run, time);
  const double out = quantile(&run, 0, 0.995) / width - 1.0, top = quantile(&run, 1, 0.999) / width;
  print_message("%s: run-out %.3f (%.3f), height %.3f (%.3f) of the width, %lld steps\n", name, out, run_out,
                top, height, (long long)run.sim->clock.step);
  assert_true(fabs(out / run_out - 1.0) < 0.1);
  assert_true(fabs(top / height - 1.0) < 0.1);
  run_end(&run);
}

static void columns_run_out(void **state)
{
  (void)state;
  const char *const plain = "time: {end: 2, step: 2e-4}\nintegrator: {scheme: explicit}\n";
  column("sand 30, as high as wide", 1, "friction_angle: 30, cone: slope", plain, 0.8, 0.802, 0.860);
  column("sand 30, twice as high", 2, "friction_angle: 30, cone: slope", plain, 1.0, 1.943, 1.132);
  column("sand 30, semi-implicit", 1, "friction_angle: 30, cone: slope",
         "time: {end: 2, step: 5e-4}\nintegrator: {scheme: semi-implicit}\n", 0.8, 0.881, 0.838);
  column("sand 30, steps of 2 ms", 1, "friction_angle: 30, cone: slope",
         "time: {end: 2, step: 2e-3}\nintegrator: {scheme: semi-implicit}\n", 0.8, 0.825, 0.879);
}

/* Sand that rests on a slope: equal pressure from all sides and the shear of its weight, as where it yields
 * in shear. A start without stress would fall first, and flow for a while on any slope. */
static void press_on_slope(struct cloud *cloud, const struct slice *s)
{
  const struct lame lame = material_lame(1e6, 0.3);
  for (int k = 0; k < cloud->count; k++) {
    const double weight = s->density * g * (s->height - cloud->x[3 * k + 1]);
    const double j = exp(-weight * cos(s->angle) / lame.bulk), stretch = cbrt(j);
    cloud->mass[k] /= j;
    cloud->volume[k] /= j;
    for (int d = 0; d < 9; d += 4) cloud->fe[9 * k + d] = stretch;
    cloud->fe[9 * k + 1] = stretch * weight * sin(s->angle) / lame.mu;
  }
}

/* A layer ten cells deep and `length` m long on a rough slope; gravity is tilted instead. Its lower end is
 * open and falls, and what lies above it follows at the speed of a wave in the layer, 1.4 m/s, so the second
 * quarter from above does not know yet. (A wall there would hold all of it: passive pressure carries 7 m at
 * two degrees.) The mean speed of that quarter down the slope (m/s), at each of the times. */
static void slope_speeds(double degrees, double length, int count, const double *times, double *speeds)
{
  const double h = 0.02;
  struct run run;
  start(&run, &(struct slice){.width = length,
                              .height = 10 * h,
                              .spacing = h,
                              .room = {length + 1.0, 20 * h},
                              .integrator = "time: {end: 2, step: 2e-4}\nintegrator: {scheme: explicit}\n"
                                            "transfer: {scheme: apic}\n",
                              .material = "model: sand, young: 1e6, friction_angle: 30, cone: slope",
                              .density = 1600.0,
                              .angle = radians(degrees),
                              .prepare = press_on_slope,
                              .floor = "sticky: true",
                              .wall = true});
  for (int t = 0; t < count; t++) {
    run_to(&run, times[t]);
    const struct particles *p = run.sim->p;
    double sum = 0.0;
    int inside = 0;
    for (int32_t i = 0; i < p->count; i++) {
      if (p->x[0][i] < 0.25 * length || p->x[0][i] > 0.5 * length) continue;
      sum += p->v[0][i];
      inside++;
    }
    speeds[t] = sum / inside;
  }
  run_end(&run);
}

static void sand_has_an_angle_of_repose(void **state)
{
  (void)state;
  const double time = 0.1;
  double below, above;
  slope_speeds(28.0, 3.0, 1, &time, &below);
  slope_speeds(32.0, 3.0, 1, &time, &above);
  print_message("sand 30 on a slope after %g s: %.4f m/s at 28 degrees, %.4f m/s at 32\n", time, below,
                above);
  assert_true(fabs(below) < 0.004);
  assert_true(above > 0.02);
}

/* --- water ------------------------------------------------------------------------------------------------
 */

static const double rest_density = 1000.0, bulk = 4e5, depth = 0.4;

/* Particles under the weight of what is above them: a lattice of the compressed water. */
static void press_together(struct cloud *cloud, const struct slice *s)
{
  for (int k = 0; k < cloud->count; k++) {
    const double p = s->density * g * (s->height - cloud->x[3 * k + 1]),
                 j = pow(1.0 + 7.0 * p / bulk, -1.0 / 7.0);
    cloud->mass[k] /= j;
    cloud->volume[k] /= j;
    for (int d = 0; d < 9; d += 4) cloud->fe[9 * k + d] = cbrt(j);
  }
}

/* Pressure, p = (K / 7) (J^-7 - 1), over the weight of all that is above; means over a layer in the middle.
 */
static double pressure_ratio(const struct run *run, double area)
{
  const struct particles *p = run->sim->p;
  double pressure = 0.0, weight = 0.0;
  int count = 0;
  for (int32_t i = 0; i < p->count; i++) {
    const double below = fmin(fmax((p->x[1][i] - 0.4 * depth) / (0.2 * depth), 0.0), 1.0);
    weight += p->mass[i] * g * below; /* above this part of the layer */
    if (below <= 0.0 || below >= 1.0) continue;
    const double j = p->fe[0][i] * p->fe[4][i] * p->fe[8][i];
    pressure += bulk / 7.0 * (pow(j, -7.0) - 1.0);
    count++;
  }
  return pressure / count / (weight / area);
}

struct tank {
  const char *name, *transfer;
  bool pressed;       /* starts under its own weight; else weightless, and then it swings */
  double settled;     /* s, from when it is watched */
  double mean, worst; /* what is allowed: of the pressure, a mean over three swings, and at any time */
};

/* Water that fills its tank. The slowest swing, up and down, takes four depths over the speed of sound. */
static void tank(const struct tank *t)
{
  const double h = 0.02, period = 4.0 * depth / sqrt(bulk / rest_density), end = t->settled + 3.0 * period;
  char keys[256];
  snprintf(keys, sizeof keys, "time: {end: 3, step: 1e-4}\nintegrator: {scheme: explicit}\ntransfer: {%s}\n",
           t->transfer);
  struct run run;
  start(&run,
        &(struct slice){.width = 0.2,
                        .height = depth,
                        .spacing = h,
                        .room = {0.4, 0.6},
                        .integrator = keys,
                        .material = "model: water, bulk_modulus: 4e5",
                        .density = rest_density,
                        .prepare = t->pressed ? press_together : NULL,
                        .floor = "friction: 0}\n  right: {plane: {point: [0.2, 0, 0], normal: [-1, 0, 0]}, "
                                 "friction: 0",
                        .wall = true});
  run_to(&run, t->settled);
  const struct sums before = run_sums(&run);
  double sum = 0.0, least = INFINITY, most = -INFINITY;
  int count = 0;
  while (run.sim->clock.time < end) {
    const double ratio = pressure_ratio(&run, 0.2 * THICK * h);
    sum += ratio;
    least = fmin(least, ratio);
    most = fmax(most, ratio);
    count++;
    run_to(&run, run.sim->clock.time + 0.05 * period);
  }
  const struct sums after = run_sums(&run);
  const double sinks = (before.center[1] - after.center[1]) / h / (end - t->settled);
  print_message("a tank, %s: pressure over the weight above %.4f, from %.4f to %.4f; sinks by %.2g cells a "
                "second\n",
                t->name, sum / count, least, most, sinks);
  assert_true(fabs(sum / count - 1.0) < t->mean);
  assert_true(fmax(most - 1.0, 1.0 - least) < t->worst);
  if (t->worst < 0.1) assert_true(fabs(sinks) < 0.1);
  run_end(&run);
}

/* Without pressure at first, the water swings between none and twice what is right, and APIC hardly damps so
 * long a wave; one that starts under its own weight is near rest with any transfer. */
static void tanks_are_at_rest(void **state)
{
  (void)state;
  static const struct tank tanks[] = {
      {"flip 0.9, pressed", "scheme: flip, flip_fraction: 0.9", true, 0.05, 0.01, 0.08},
      {"apic, pressed", "scheme: apic", true, 0.05, 0.01, 0.08},
      {"apic", "scheme: apic", false, 0.05, 0.02, 1.1},
  };
  for (size_t k = 0; k < sizeof tanks / sizeof *tanks; k++) tank(&tanks[k]);
}

/* Martin and Moyce 1952, a column of water as high as wide: T = t sqrt(2 g / a), Z = front / a. */
static void dam_breaks(void **state)
{
  (void)state;
  static const double measured[][2] = {
      {1.19, 1.44}, {1.8, 2.0}, {2.3, 2.5}}; /* of a / square column, n^2 = 1 */
  const double a = 0.2;
  struct run run;
  start(&run, &(struct slice){.width = a,
                              .height = a,
                              .spacing = 0.01,
                              .room = {1.0, 0.4},
                              .integrator = "time: {end: 2, step: 1e-4}\nintegrator: {scheme: explicit}\n"
                                            "transfer: {scheme: flip, flip_fraction: 0.99}\n",
                              .material = "model: water, bulk_modulus: 4e5",
                              .density = 1000.0,
                              .floor = "friction: 0",
                              .wall = true});
  for (size_t k = 0; k < sizeof measured / sizeof *measured; k++) {
    run_to(&run, measured[k][0] * sqrt(0.5 * a / g));
    const double front = quantile(&run, 0, 0.998) / a;
    print_message("a dam: at T = %g the front is at %.3f, measured %.3f\n", measured[k][0], front,
                  measured[k][1]);
    assert_true(fabs(front / measured[k][1] - 1.0) < 0.1);
  }
  run_end(&run);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(columns_run_out),

                                          cmocka_unit_test(sand_has_an_angle_of_repose),
                                          cmocka_unit_test(tanks_are_at_rest), cmocka_unit_test(dam_breaks)};
PHYSICS_MAIN(tests);
