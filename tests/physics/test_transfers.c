/* What tells the transfers apart: affine fields, angular momentum, and the two forms of the force.
 *
 * APIC carries a linear velocity field in each particle, so any affine field, rigid rotation among them, goes
 * to the grid and back unharmed, in all kernels, and with it the angular momentum. That holds only with the
 * right D = sum_i w (x_i - x_p)(x_i - x_p)^T for the kernel. MLS takes the force from w D^-1 (x_i - x_p)
 * instead of grad w: another approximation of the same divergence, of the same order. */
#include "base/memory.h"
#include "support/physics.h"
#include "support/tensor.h"

#include <math.h>
#include <stdio.h>

static const char *const kernels[] = {"cubic", "quadratic"}, *const forces[] = {"mpm", "mls"};

/* Second moment of the kernel at offset u (in cells), from the formulas of the kernels and nothing else. */
static double second_moment(int kernel, double u)
{
  double sum = 0.0;
  for (int i = -3; i <= 3; i++) {
    const double d = i - u, r = fabs(d);
    double w = 0.0;
    if (kernel == 0)
      w = r < 1.0 ? r * r * r / 2.0 - r * r + 2.0 / 3.0 : r < 2.0 ? pow(2.0 - r, 3) / 6.0 : 0.0;
    if (kernel == 1) w = r < 0.5 ? 0.75 - r * r : r < 1.5 ? pow(1.5 - r, 2) / 2.0 : 0.0;
    sum += w * d * d;
  }
  return sum;
}

/* One step of a stress-free block in the field v = v0 + C (x - c): particles must have the field's velocity
 * where they were, B = C D, and F_E = I + dt C. Returns the largest error of each, relative. */
static void step_affine(const double C[9], int kernel, int force, char axis, double error[3])
{
  const double h = 0.02, v0[3] = {0.3, -0.7, 0.2}, dt = 1e-4, D = h * h * second_moment(kernel, 0.21);
  struct run run;
  run_start(&run,
            "domain: {lower: [-0.3, -0.3, -0.3], cells: [30, 30, 30], spacing: %g, slab_axis: %c}\n"
            "gravity: [0, 0, 0]\ntime: {end: 1, step: %g}\nintegrator: {scheme: explicit}\n"
            "transfer: {scheme: apic, kernel: %s, force: %s}\nmaterials: {snow: {plastic: false}}\n"
            "snow:\n  - box: {center: [0.01, 0.02, -0.01], size: [0.15, 0.2, 0.1], rotate: {axis: [1, 2, 3], "
            "degrees: 30}}\n",
            h, axis, dt, kernels[kernel], forces[force]);
  sim_tidy(run.sim);
  struct particles *p = run.sim->p;
  const int32_t count = p->count;
  double *expected = mem_alloc((size_t)count * 3, sizeof *expected), speed = 0.0;
  for (int32_t i = 0; i < count; i++) {
    for (int r = 0; r < 3; r++) {
      double v = v0[r];
      for (int c = 0; c < 3; c++) {
        v += C[3 * r + c] * p->x[c][i];
        p->b[3 * r + c][i] = C[3 * r + c] * D;
      }
      p->v[r][i] = expected[3 * p->id[i] + (uint64_t)r] = v;
      speed = fmax(speed, fabs(v));
    }
  }
  run_advance(&run, dt);
  const double size = tensor_largest(C);
  for (int k = 0; k < 3; k++) error[k] = 0.0;
  for (int32_t i = 0; i < count; i++)
    for (int k = 0; k < 9; k++) {
      if (k < 3) error[0] = fmax(error[0], fabs(p->v[k][i] - expected[3 * p->id[i] + (uint64_t)k]) / speed);
      error[1] = fmax(error[1], fabs(p->b[k][i] / D - C[k]) / size);
      error[2] = fmax(error[2], fabs((p->fe[k][i] - (k % 4 == 0)) / dt - C[k]) / size);
    }
  mem_free(expected);
  run_end(&run);
}

static void affine_fields_are_reproduced(void **state)
{
  (void)state;
  double fields[3][9] = {{0, -9, 4, 9, 0, -7, -4, 7, 0}}; /* a rigid rotation, then anything */
  for (int f = 1; f < 3; f++)
    for (int k = 0; k < 9; k++) fields[f][k] = 10.0 * tensor_random(5, (uint64_t)k, (uint64_t)f);
  for (int kernel = 0; kernel < 2; kernel++)
    for (int force = 0; force < 2; force++) {
      double worst[3] = {0.0, 0.0, 0.0};
      for (int f = 0; f < 3; f++) {
        double error[3];
        step_affine(fields[f], kernel, force, "xyz"[f], error);
        for (int k = 0; k < 3; k++) worst[k] = fmax(worst[k], error[k]);
      }
      print_message("affine fields, apic %s %s: v %.1e, B %.1e, gradient %.1e\n", kernels[kernel],
                    forces[force], worst[0], worst[1], worst[2]);
      assert_true(worst[0] < 1e-13 && worst[1] < 1e-12 && worst[2] < 1e-10);
    }
}

/* D does not depend on where the particle stands: that is why it can be a constant. */
static void second_moments_are_constant(void **state)
{
  (void)state;
  for (int k = 0; k < 1000; k++) {
    const double u = rng_uniform(9, (uint64_t)k, 0);
    assert_true(fabs(second_moment(0, u) - 1.0 / 3.0) < 1e-15);
    assert_true(fabs(second_moment(1, u) - 1.0 / 4.0) < 1e-15);
  }
}

/* --- a spinning block -------------------------------------------------------------------------------------
 */

/* Parts of angular momentum and kinetic energy left, of an elastic block that spins freely. */
static void spin(const char *integrator, const char *transfer, double *angular, double *kinetic,
                 double *drift)
{
  const double dt = 1e-4;
  struct run run;
  run_start(&run,
            "domain: {lower: [-0.3, -0.3, -0.3], cells: [30, 30, 30], spacing: 0.02}\n"
            "gravity: [0, 0, 0]\ntime: {end: 1, step: %g}\nintegrator: %s\ntransfer: %s\n"
            "materials: {snow: {plastic: false}}\n"
            "snow:\n  - box: {center: [0, 0, 0], size: [0.24, 0.16, 0.12]}\n    spin: [5, 10, 20]\n",
            dt, integrator, transfer);
  sim_tidy(run.sim);
  struct particles *p = run.sim->p;
  if (p->b[0]) { /* a rigid rotation has an affine part from the start */
    const double D =
        run.scene->spacing * run.scene->spacing / (run.scene->kernel == KERNEL_CUBIC ? 3.0 : 4.0);
    const double spin[9] = {0, -20, 10, 20, 0, -5, -10, 5, 0};
    for (int32_t i = 0; i < p->count; i++)
      for (int k = 0; k < 9; k++) p->b[k][i] = spin[k] * D;
  }
  const struct sums before = run_sums(&run);
  for (int n = 0; n < 1000; n++) run_advance(&run, dt);
  const struct sums after = run_sums(&run);
  double dot = 0.0, norm2 = 0.0;
  *drift = 0.0;
  for (int d = 0; d < 3; d++) {
    dot += after.angular[d] * before.angular[d];
    norm2 += before.angular[d] * before.angular[d];
    *drift = fmax(*drift, fabs(after.angular[d] - before.angular[d]));
  }
  *angular = dot / norm2;
  *drift /= sqrt(norm2);
  *kinetic = after.kinetic / before.kinetic;
  assert_int_equal(run.sim->totals.halvings, 0);
  run_end(&run);
}

static void apic_keeps_angular_momentum(void **state)
{
  (void)state;
  const struct {
    const char *integrator, *transfer;
    double most; /* relative drift allowed; 0: it must be lost */
  } cases[] = {
      {"{scheme: explicit}", "{scheme: apic}", 1e-12},
      {"{scheme: explicit}", "{scheme: apic, force: mls}", 1e-12},
      {"{scheme: explicit}", "{scheme: apic, kernel: quadratic}", 1e-12},
      {"{scheme: explicit}", "{scheme: apic, kernel: quadratic, force: mls}", 1e-12},
      {"{scheme: explicit}", "{scheme: flip, flip_fraction: 1}", 0.0},
      {"{scheme: explicit}", "{scheme: flip}", 0.0},
      {"{scheme: explicit}", "{scheme: pic}", 0.0},
      {"{scheme: explicit}", "{scheme: pic, kernel: quadratic}", 0.0},
      /* The linearised force turns with the old positions: not exact, but close. */
      {"{scheme: semi-implicit, tolerance: 1e-10}", "{scheme: apic}", 0.02},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    double angular, kinetic, drift;
    spin(cases[k].integrator, cases[k].transfer, &angular, &kinetic, &drift);
    print_message(
        "spinning block, 0.1 s (1000 steps), %s %s: angular momentum kept %.6f (drift %.1e), kinetic "
        "energy kept %.4f\n",
        cases[k].integrator, cases[k].transfer, angular, drift, kinetic);
    if (cases[k].most > 0.0)
      assert_true(drift < cases[k].most);
    else
      assert_true(angular < 0.98);
  }
}

/* --- the two forces ---------------------------------------------------------------------------------------
 */

static const double young = 1e5, poisson = 0.2, density = 400.0;

static void stretches(const double x[3], double f[3])
{
  const double k = 3.0, e = 0.05;
  f[0] = 1.0 + e * sin(k * x[0]) * cos(k * x[1]);
  f[1] = 1.0 + e * cos(k * (x[1] + x[2]));
  f[2] = 1.0 + e * sin(k * x[1] + 2.0 * k * x[2]);
}

/* Acceleration div(P F^T) / density of the field above: the stress is diagonal. */
static double acceleration(const double x[3], int d)
{
  const double mu = young / (2.0 * (1.0 + poisson)),
               lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
  double stress[2];
  for (int side = 0; side < 2; side++) {
    double at[3] = {x[0], x[1], x[2]}, f[3];
    at[d] += side ? 1e-5 : -1e-5;
    stretches(at, f);
    const double j = f[0] * f[1] * f[2];
    stress[side] = 2.0 * mu * (f[d] - 1.0) * f[d] + lambda * (j - 1.0) * j;
  }
  return (stress[1] - stress[0]) / 2e-5 / density;
}

/* Accelerations of a stressed block on `cells` cells a metre, in the first step from rest: by id into out. */
static void accelerate(int cells, int kernel, int force, struct cloud *cloud, double *out)
{
  const double dt = 1e-7;
  struct run run;
  run_start(&run,
            "domain: {lower: [-1, -1, -1], cells: [%d, %d, %d], spacing: %.17g}\ngravity: [0, 0, 0]\n"
            "time: {end: 1, step: %g}\nintegrator: {scheme: explicit}\n"
            "transfer: {scheme: pic, kernel: %s, force: %s}\n"
            "materials: {snow: {young: %g, poisson: %g, density: %g, plastic: false}}\n"
            "snow:\n  - file: %s\n",
            3 * cells, 3 * cells, 3 * cells, 1.0 / cells, dt, kernels[kernel], forces[force], young, poisson,
            density, cloud->path);
  run_advance(&run, dt);
  const struct particles *p = run.sim->p;
  for (int32_t i = 0; i < p->count; i++)
    for (int d = 0; d < 3; d++) out[3 * p->id[i] + (uint64_t)d] = p->v[d][i] / dt;
  run_end(&run);
}

/* Root mean squares over the interior, relative to the acceleration: mpm - exact, mls - exact, mls - mpm. */
static void compare_forces(int cells, int kernel, double error[3])
{
  struct cloud *cloud =
      cloud_box((const double[3]){0, 0, 0}, (const int[3]){cells, cells, cells}, 1.0 / cells, 2, density);
  for (int i = 0; i < cloud->count; i++) {
    double f[3];
    stretches(cloud->x + 3 * i, f);
    for (int d = 0; d < 3; d++) cloud->fe[9 * i + 4 * d] = f[d];
  }
  cloud_write(cloud);
  double *mpm = mem_alloc(3 * (size_t)cloud->count, sizeof *mpm),
         *mls = mem_alloc(3 * (size_t)cloud->count, sizeof *mls), sum[4] = {0.0};
  accelerate(cells, kernel, 0, cloud, mpm);
  accelerate(cells, kernel, 1, cloud, mls);
  for (int i = 0; i < cloud->count; i++) {
    const double *x = cloud->x + 3 * i, margin = 0.3;
    if (fmax(fabs(x[0] - 0.5), fmax(fabs(x[1] - 0.5), fabs(x[2] - 0.5))) > 0.5 - margin) continue;
    for (int d = 0; d < 3; d++) {
      const double a = acceleration(x, d),
                   differences[3] = {mpm[3 * i + d] - a, mls[3 * i + d] - a, mls[3 * i + d] - mpm[3 * i + d]};
      for (int k = 0; k < 3; k++) sum[k] += differences[k] * differences[k];
      sum[3] += a * a;
    }
  }
  for (int k = 0; k < 3; k++) error[k] = sqrt(sum[k] / sum[3]);
  mem_free(mpm);
  mem_free(mls);
  cloud_destroy(&cloud);
}

static void forces_agree_as_h_falls(void **state)
{
  (void)state;
  for (int kernel = 0; kernel < 2; kernel++) {
    double before[3] = {0.0};
    for (int cells = 10; cells <= 40; cells *= 2) {
      double error[3];
      compare_forces(cells, kernel, error);
      print_message("forces, %s, h = 1/%d m: mpm - exact %.2e, mls - exact %.2e, mls - mpm %.2e\n",
                    kernels[kernel], cells, error[0], error[1], error[2]);
      if (cells > 10) /* second order: a quarter of it on half the cells */
        for (int k = 0; k < 3; k++) assert_true(error[k] < before[k] / 3.2);
      memcpy(before, error, sizeof before);
    }
    assert_true(before[2] < 0.02);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(second_moments_are_constant),
    cmocka_unit_test(affine_fields_are_reproduced),
    cmocka_unit_test(apic_keeps_angular_momentum),
    cmocka_unit_test(forces_agree_as_h_falls),
};
PHYSICS_MAIN(tests);
