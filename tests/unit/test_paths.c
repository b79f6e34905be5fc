/* One particle of each material along paths whose end is known: bars, oedometers, triaxial tests, simple
 * shear. Strains are logarithmic, stresses of Kirchhoff's kind, pressure is positive in compression. */
#include "support/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define FOR_SETS(lanes)                                                                                      \
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++)                                                      \
    for (const struct lanes *lanes = lanes_get(isa); lanes; lanes = NULL)

/* The same with a given axial increment (along axis 0) and the lateral one that leaves the lateral stress at
 * `lateral`: the stress rises with the strain, so a few hundred halvings of a bracket find it. */
static void strain_at_lateral_stress(struct point *p, double axial, double lateral)
{
  double low = -4.0 * fabs(axial) - 1e-3, high = 4.0 * fabs(axial) + 1e-3, tau[3];
  struct point trial;
  for (int n = 0; n < 60; n++) {
    const double middle = 0.5 * (low + high);
    trial = *p;
    point_strain(&trial, (double[3]){axial, middle, middle});
    point_stress(&trial, tau);
    if (tau[1] < lateral)
      low = middle;
    else
      high = middle;
  }
  *p = trial;
}

static double mean(const double tau[3])
{
  return -(tau[0] + tau[1] + tau[2]) / 3.0;
}

#define assert_near(value, wanted, tolerance)                                                                \
  do {                                                                                                       \
    if (!(fabs((value) - (wanted)) <= (tolerance)))                                                          \
      fail_msg("%s is %.10g, expected %.10g within %g", #value, (double)(value), (double)(wanted),           \
               (double)(tolerance));                                                                         \
  } while (0)

/* Uniaxial stretch 1.5 with free sides. */
static void neo_hookean_bar(void **unused)
{
  (void)unused;
  struct material m = path_material(MODEL_NEO_HOOKEAN);
  m.elastic.young = 1e6;
  m.elastic.poisson = 0.3;
  const struct lame lame = material_lame(1e6, 0.3);
  const double a = 1.5, mu = lame.mu, lambda = lame.lambda,
               side2 = (sqrt(mu * mu + lambda * a * a * (2.0 * mu + lambda)) - mu) / (lambda * a * a);
  FOR_SETS(lanes)
  {
    struct material_constants c;
    struct point p = point_start(lanes, &m, &c);
    double tau[3];
    p.sigma[0] = a;
    p.sigma[1] = p.sigma[2] = sqrt(side2);
    point_stress(&p, tau);
    assert_near(p.sigma[1], 0.87423283, 5e-9);
    assert_near(tau[1], 0.0, 1e-9);
    assert_near(tau[0], mu * (a * a - side2), 1e-8);
    assert_near(tau[0] / (a * side2), 498445.0, 0.5); /* Cauchy */
    assert_near(tau[0] / a, 380953.0, 0.5);           /* nominal */
  }
}

/* Axial strain -1 % with fixed sides: yields at 20 degrees, stays elastic at 35. */
static void sand_oedometer(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  for (int k = 0; k < 2; k++) {
    struct material m = path_material(MODEL_SAND);
    m.sand.friction_angle = k == 0 ? 20.0 : 35.0;
    const struct lame lame = material_lame(m.sand.young, m.sand.poisson);
    struct material_constants c;
    struct point p = point_start(lanes, &m, &c);
    double tau[3];
    for (int n = 0; n < 100; n++) point_strain(&p, (double[3]){-1e-4, 0.0, 0.0});
    point_stress(&p, tau);
    const double sine = sin(20.0 * M_PI / 180.0), M = 6.0 * sine / (3.0 - sine);
    if (k == 0) {
      assert_near(tau[0], -lame.bulk * 0.01 * (1.0 + 2.0 * M / 3.0), 1e-7);
      assert_near(tau[0], -63112.8, 0.05);
      assert_near(tau[1], -30943.6, 0.05);
    } else {
      assert_near(tau[1] / tau[0], 0.3 / 0.7, 1e-12);
      assert_true(p.shear < 1e-15);
    }
  }
}

/* Pressed from all sides, then shortened along one axis at constant lateral stress. */
static void sand_triaxial(void **unused)
{
  (void)unused;
  const double sine = sin(35.0 * M_PI / 180.0), wanted = (1.0 + sine) / (1.0 - sine);
  assert_near(wanted, 3.69017, 5e-6);
  FOR_SETS(lanes)
  {
    const struct material m = path_material(MODEL_SAND);
    const struct lame lame = material_lame(m.sand.young, m.sand.poisson);
    struct material_constants c;
    struct point p = point_start(lanes, &m, &c);
    double tau[3];
    const double all = -1e4 / (3.0 * lame.bulk);
    point_strain(&p, (double[3]){all, all, all});
    for (int n = 0; n < 200; n++) strain_at_lateral_stress(&p, -2e-4, -1e4);
    point_stress(&p, tau);
    assert_near(tau[1], -1e4, 1e-6);
    assert_near(tau[0] / tau[1], wanted, 1e-9);
    assert_true(p.volume == 0.0 && p.shear > 0.01);
  }
}

/* Opened by 1 % of volume and closed again: no pressure, where 0.01 K would be if it were forgotten. */
static void sand_opens_and_closes(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  {
    const struct material m = path_material(MODEL_SAND);
    const struct lame lame = material_lame(m.sand.young, m.sand.poisson);
    struct material_constants c;
    struct point p = point_start(lanes, &m, &c);
    double tau[3];
    assert_near(0.01 * lame.bulk, 41667.0, 0.5);
    for (int n = 0; n < 20; n++) {
      const double step = (n < 10 ? 1e-3 : -1e-3) / 3.0;
      point_strain(&p, (double[3]){step, step, step});
    }
    point_stress(&p, tau);
    assert_near(mean(tau), 0.0, 1e-8);
    assert_near(p.volume, 0.0, 1e-14);
  }
}

/* p of the isotropic path to a volume strain of -0.1: the root of p/K + (asinh(p/K) - asinh(p00/K))/xi = 0.1.
 */
static double isotropic_root(double bulk, double p00, double xi)
{
  double low = p00, high = bulk;
  for (int n = 0; n < 200; n++) {
    const double p = 0.5 * (low + high);
    if (p / bulk + (asinh(p / bulk) - asinh(p00 / bulk)) / xi < 0.1)
      low = p;
    else
      high = p;
  }
  return low;
}

/* The strength lags by one return, so the error falls with the increment. */
static void clay_isotropic(void **unused)
{
  (void)unused;
  const struct material m = path_material(MODEL_CAM_CLAY);
  const struct lame lame = material_lame(m.cam_clay.young, m.cam_clay.poisson);
  const double wanted = isotropic_root(lame.bulk, m.cam_clay.compressive_strength, m.cam_clay.hardening);
  assert_near(wanted, 140036.0, 0.5);
  FOR_SETS(lanes)
  {
    double error[3];
    for (int k = 0; k < 3; k++) {
      const int steps = 200 << k;
      struct material_constants c;
      struct point p = point_start(lanes, &m, &c);
      double tau[3];
      for (int n = 0; n < steps; n++)
        point_strain(&p, (double[3]){-0.1 / (3.0 * steps), -0.1 / (3.0 * steps), -0.1 / (3.0 * steps)});
      point_stress(&p, tau);
      error[k] = fabs(mean(tau) / wanted - 1.0);
    }
    print_message("%s: clay isotropic, error %.2e, %.2e, %.2e at 200, 400, 800 increments\n", lanes->name,
                  error[0], error[1], error[2]);
    assert_true(error[0] < 3.4e-6 && error[1] < 0.6 * error[0] && error[2] < 0.6 * error[1]);
  }
}

/* To the critical state at a constant lateral stress of 10 kPa. */
static void clay_triaxial(void **unused)
{
  (void)unused;
  const double slope[2] = {1.2, 0.9}, beta[2] = {0.0, 0.3}, q_wanted[2] = {20000.0, 23615.5},
               p_wanted[2] = {16666.7, 17871.8}, p0_wanted[2] = {33333.3, 51062.4};
  FOR_SETS(lanes)
  for (int k = 0; k < 2; k++) {
    struct material m = path_material(MODEL_CAM_CLAY);
    m.cam_clay.critical_slope = slope[k];
    m.cam_clay.cohesion_ratio = beta[k];
    m.cam_clay.compressive_strength = 2e4;
    m.cam_clay.hardening = 5.0;
    const struct lame lame = material_lame(m.cam_clay.young, m.cam_clay.poisson);
    struct material_constants c;
    struct point p = point_start(lanes, &m, &c);
    double tau[3];
    const double all = -1e4 / (3.0 * lame.bulk);
    point_strain(&p, (double[3]){all, all, all});
    for (int n = 0; n < 1600; n++) strain_at_lateral_stress(&p, -0.8 / 1600, -1e4);
    point_stress(&p, tau);
    const double q = fabs(tau[0] - tau[1]), p0 = lame.bulk * sinh(asinh(2e4 / lame.bulk) - 5.0 * p.volume);
    assert_near(tau[1], -1e4, 1e-5);
    assert_near(q, q_wanted[k], 1e-5 * q_wanted[k]);
    assert_near(mean(tau), p_wanted[k], 1e-5 * p_wanted[k]);
    assert_near(p0, p0_wanted[k], 1e-5 * p0_wanted[k]);
    assert_near(mean(tau), 0.5 * (1.0 - beta[k]) * p0, 1e-5 * p0);
  }
}

static void clay_oedometer(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  for (int k = 0; k < 2; k++) {
    const struct material m = path_material(MODEL_CAM_CLAY);
    const int steps = k == 0 ? 2000 : 200;
    struct material_constants c;
    struct point p = point_start(lanes, &m, &c);
    double tau[3];
    for (int n = 0; n < steps; n++) point_strain(&p, (double[3]){-0.1 / steps, 0.0, 0.0});
    point_stress(&p, tau);
    assert_near(tau[0], k == 0 ? -181.1e3 : -180.7e3, 60.0);
    if (k == 0) {
      assert_near(tau[1], -98.1e3, 60.0);
      assert_near(p.volume, -0.0497, 6e-5);
    }
  }
}

/* A bar with free sides beyond its yield stress. */
static void von_mises_bar(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  {
    struct material m = path_material(MODEL_VON_MISES);
    m.von_mises.hardening = 1e5;
    struct material_constants c;
    struct point p = point_start(lanes, &m, &c);
    double tau[3];
    for (int n = 0; n < 200; n++) strain_at_lateral_stress(&p, 0.1 / 200, 0.0);
    point_stress(&p, tau);
    assert_near(tau[0], 1e5 + 1e5 * (0.1 - 1e5 / 1e7) / (1.0 + 1e5 / 1e7), 1e-4);
    assert_near(tau[0], 108911.0, 0.5);
    assert_near(tau[1], 0.0, 1e-6);
  }
}

/* Simple shear by 0.05 in 2000 steps at a volume strain of -1e-3: tau_xy over p. */
static double sheared(const struct lanes *lanes, const struct material *m, double *stress)
{
  struct material_constants c;
  struct lane_state state = {.table = &c};
  struct lane_returned found;
  struct lane_stress out;
  material_constants(m, &c);
  for (int l = 0; l < WIDE; l++)
    for (int d = 0; d < 3; d++) state.f[4 * d][l] = exp(-1e-3 / 3.0);
  for (int n = 0; n < 2000; n++) {
    for (int d = 0; d < 3; d++)
      for (int l = 0; l < WIDE; l++) state.f[d][l] += 0.05 / 2000 * state.f[3 + d][l];
    lanes->model_return(&state, &found);
  }
  lanes->model_stress(&state, &out);
  *stress = out.tau[1][0];
  return -3.0 * out.tau[1][0] / (out.tau[0][0] + out.tau[4][0] + out.tau[8][0]);
}

static void simple_shear(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  {
    struct material m = path_material(MODEL_SAND);
    double stress;
    m.sand.friction_angle = 30.0;
    m.sand.cone = CONE_SLOPE;
    assert_near(sheared(lanes, &m, &stress), tan(M_PI / 6.0), 2e-6);
    m.sand.cone = CONE_COMPRESSION;
    assert_near(sheared(lanes, &m, &stress), 0.69282, 5e-6 + 2e-6);
    m = path_material(MODEL_VON_MISES);
    sheared(lanes, &m, &stress);
    assert_near(stress, 1e5 / sqrt(3.0), 3e-4 * 1e5);
  }
}

/* The stress ratio follows the angle h0 + (h1 kappa - h3) exp(-h2 kappa). */
static void sand_hardens(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  {
    struct material m = path_material(MODEL_SAND);
    m.sand.hardening = 1.0;
    struct material_constants c;
    struct point p = point_start(lanes, &m, &c);
    double tau[3], before = 0.0; /* the shear that the last return knew */
    point_strain(&p, (double[3]){-1e-3, -1e-3, -1e-3});
    for (int n = 0; n < 2000; n++) {
      before = p.shear;
      point_strain(&p, (double[3]){-5e-4, 2.5e-4, 2.5e-4});
    }
    point_stress(&p, tau);
    const double angle = (35.0 + (9.0 * before - 10.0) * exp(-0.2 * before)) * M_PI / 180.0;
    const double wanted = 6.0 * sin(angle) / (3.0 - sin(angle));
    assert_true(p.shear > 0.5);
    assert_near(fabs(tau[0] - tau[1]) / mean(tau), wanted, 1e-11);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(neo_hookean_bar), cmocka_unit_test(sand_oedometer),
      cmocka_unit_test(sand_triaxial),   cmocka_unit_test(sand_opens_and_closes),
      cmocka_unit_test(clay_isotropic),  cmocka_unit_test(clay_triaxial),
      cmocka_unit_test(clay_oedometer),  cmocka_unit_test(von_mises_bar),
      cmocka_unit_test(simple_shear),    cmocka_unit_test(sand_hardens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
