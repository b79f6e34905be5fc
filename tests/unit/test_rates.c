/* Returns that take time, and snow that packs, breaks and collapses: steady flow, relaxation and paths with
 * known stresses, on every instruction set. Keys at 0 leave every bit as it is. */
#include "support/path.h"
#include "support/subjects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define FOR_SETS(lanes)                                                                                      \
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++)                                                      \
    for (const struct lanes *lanes = lanes_get(isa); lanes; lanes = NULL)

static void near(double value, double wanted, double relative, const char *what)
{
  if (!(fabs(value - wanted) <= relative * fabs(wanted)))
    fail_msg("%s: expected %.10g, found %.10g", what, wanted, value);
}

/* A particle in steps of length dt, from an isotropic strain. */
static struct point start_at(const struct lanes *lanes, const struct material *m, double dt, double strain,
                             struct material_constants *c)
{
  struct point p = point_start(lanes, m, c);
  material_set_step(m, dt, c);
  for (int d = 0; d < 3; d++) p.sigma[d] = exp(strain / 3.0);
  return p;
}

static double pressure_of(const struct point *p)
{
  double tau[3];
  point_stress(p, tau);
  return -(tau[0] + tau[1] + tau[2]) / 3.0;
}

static double shear_of(const struct point *p)
{
  double tau[3];
  point_stress(p, tau);
  const double mean = (tau[0] + tau[1] + tau[2]) / 3.0;
  double square = 0.0;
  for (int d = 0; d < 3; d++) square += (tau[d] - mean) * (tau[d] - mean);
  return sqrt(1.5 * square);
}

/* Steady shear at `rate`: log strain (rate dt / 2) (1, -1, 0) a step, for some strain. */
static void shear_for(struct point *p, double rate, double dt, double strain)
{
  const double step = 0.5 * rate * dt;
  const int count = (int)ceil(strain / (rate * dt));
  for (int n = 0; n < count; n++) point_strain(p, (const double[3]){step, -step, 0.0});
}

/* mu(I) = tau / p of sand, whatever the step. */
static void sand_follows_its_inertial_number(void **unused)
{
  (void)unused;
  static const double rates[3] = {1.0, 100.0, 1000.0}, wanted[3] = {0.3834769120, 0.4820638751, 0.6071749511};
  FOR_SETS(lanes)
  for (int k = 0; k < 3; k++)
    for (double dt = 1e-6; dt < 2e-4; dt *= 10.0) {
      struct material m = path_material(MODEL_SAND);
      struct material_constants c;
      m.sand.young = 1e6;
      m.sand.friction_angle = 20.9;
      m.sand.cone = CONE_SLOPE;
      m.sand.grain_size = 1e-3;
      struct point p = start_at(lanes, &m, dt, -1e-3, &c);
      shear_for(&p, rates[k], dt, fmax(0.02, 50.0 * rates[k] * dt));
      near(shear_of(&p) / sqrt(3.0) / pressure_of(&p), wanted[k], 1e-9, "mu(I)");
    }
}

static void ice_flows_by_its_power(void **unused)
{
  (void)unused;
  static const double exponents[3] = {1.0, 1.0 / 3.0, 0.1},
                      wanted[3] = {157735.0269, 183268.3178, 194655.0823};
  FOR_SETS(lanes)
  for (int k = 0; k < 3; k++)
    for (double dt = 1e-5; dt < 2e-3; dt *= 10.0) {
      struct material m = path_material(MODEL_VON_MISES);
      struct material_constants c;
      m.von_mises.relaxation_time = 0.1;
      m.von_mises.rate_exponent = exponents[k];
      struct point p = start_at(lanes, &m, dt, 0.0, &c);
      shear_for(&p, 10.0, dt, 1.0);
      near(shear_of(&p), wanted[k], 1e-9, "steady von Mises");
    }
}

static void clay_flows_beyond_its_ellipse(void **unused)
{
  (void)unused;
  static const double times[2] = {0.001, 0.1}, pressed[2] = {30039.0, 33900.0},
                      sheared[2] = {23203.3155, 31040.1688};
  FOR_SETS(lanes)
  for (int k = 0; k < 2; k++)
    for (double dt = 1e-5; dt < 2e-3; dt *= 10.0) {
      struct material m = path_material(MODEL_CAM_CLAY);
      struct material_constants c;
      m.cam_clay.hardening = m.cam_clay.softening = 0.0;
      m.cam_clay.relaxation_time = times[k];
      const double bulk = material_lame(m.cam_clay.young, m.cam_clay.poisson).bulk;
      struct point p = start_at(lanes, &m, dt, 0.0, &c);
      for (int n = 0; n < 1000 || n * dt < 0.2; n++) {
        const double step = -2.0 * dt / 3.0;
        point_strain(&p, (const double[3]){step, step, step});
        if (n * dt * 2.0 > 0.4) break;
      }
      near(pressure_of(&p), pressed[k], 1e-9, "pressed clay");
      p = start_at(lanes, &m, dt, -0.35 * 3e4 / bulk, &c); /* the middle of the ellipse */
      shear_for(&p, 5.0, dt, fmax(0.2, 200.0 * 5.0 * dt));
      near(shear_of(&p), sheared[k], 1e-8, "sheared clay");
    }
}

/* What is left after a relaxation at fixed strain: too much, by half with each halving of the step. */
static void relaxation_is_of_first_order(void **unused)
{
  (void)unused;
  static const double exponents[2] = {1.0, 1.0 / 3.0}, left[2] = {0.28449006, 0.44160465},
                      high[2][3] = {{7.8e-3, 3.9e-3, 2.0e-3}, {1.0e-3, 5.1e-4, 2.6e-4}};
  FOR_SETS(lanes)
  for (int k = 0; k < 2; k++)
    for (int n = 0; n < 3; n++) {
      struct material m = path_material(MODEL_VON_MISES);
      struct material_constants c;
      const int steps = 20 << n;
      m.von_mises.relaxation_time = 10.0;
      m.von_mises.rate_exponent = exponents[k];
      struct point p = start_at(lanes, &m, 0.05 / steps, 0.0, &c);
      const double mu = material_lame(1e7, 0.33).mu, strain = 1.5e5 / (sqrt(6.0) * mu) / sqrt(2.0);
      p.sigma[0] = exp(strain);
      p.sigma[1] = exp(-strain);
      for (int i = 0; i < steps; i++) point_strain(&p, (const double[3]){0.0, 0.0, 0.0});
      const double error = (shear_of(&p) - 1e5) / 1e5 / left[k] - 1.0;
      near(error, high[k][n], 0.05, "what relaxation leaves");
    }
}

/* The stress after an isotropic strain in many steps. */
static double isotropic(const struct lanes *lanes, const struct material *m, double strain, int steps)
{
  struct material_constants c;
  struct point p = point_start(lanes, m, &c);
  const double step = strain / steps / 3.0;
  for (int n = 0; n < steps; n++) point_strain(&p, (const double[3]){step, step, step});
  return pressure_of(&p);
}

static struct material kind_of(const char *name)
{
  struct material m = {.name = "kind"};
  material_set_defaults(&m, MODEL_CAM_CLAY, subject_kind(name));
  return m;
}

static void snow_packs_and_breaks(void **unused)
{
  (void)unused;
  static const double hoar_at[5] = {-0.02, -0.1, -0.49, -0.6, 0.01},
                      hoar[5] = {2342.7, 237.91, 185.52, 8595.8, -1387.7},
                      natural_at[4] = {-0.02, -0.3, -0.6, 0.01},
                      natural[4] = {17817.0, 19119.0, 21657.0, -3301.5};
  FOR_SETS(lanes)
  {
    const struct material layer = kind_of("surface_hoar"), snow = kind_of("natural");
    for (int k = 0; k < 5; k++) near(isotropic(lanes, &layer, hoar_at[k], 4000), hoar[k], 1.5e-3, "hoar");
    for (int k = 0; k < 4; k++)
      near(isotropic(lanes, &snow, natural_at[k], 4000), natural[k], 1.5e-3, "natural snow");
  }
}

/* An oedometer: axial strain alone. */
static void snow_in_an_oedometer(void **unused)
{
  (void)unused;
  static const int steps[3] = {100, 200, 400};
  static const double wanted[3] = {22634.4, 22659.6, 22672.3};
  FOR_SETS(lanes)
  for (int k = 0; k < 3; k++) {
    const struct material m = kind_of("natural");
    struct material_constants c;
    struct point p = point_start(lanes, &m, &c);
    double tau[3];
    for (int n = 0; n < steps[k]; n++) point_strain(&p, (const double[3]){-0.5 / steps[k], 0.0, 0.0});
    point_stress(&p, tau);
    near(-tau[0], wanted[k], 1e-5, "oedometer");
  }
}

/* Values of the kinds against the table of docs/materials.md's sources. */
static void kinds_follow_density(void **unused)
{
  (void)unused;
  static const double density[6] = {100, 170, 250, 350, 460, 500},
                      young[6] = {0.831e6, 2.36e6, 7.77e6, 34.5e6, 177e6, 322e6},
                      strength[6] = {1.90e3, 6.93e3, 17.8e3, 40.4e3, 78.6e3, 96.4e3},
                      hardening[6] = {1.01e-3, 1.22e-3, 8.48e-4, 4.34e-4, 1.64e-4, 1.11e-4};
  const struct material_kind *kind = subject_kind("natural");
  for (int k = 0; k < 6; k++) {
    struct material m = kind_of("natural");
    m.density = density[k];
    material_derive_kind(&m, kind, NULL);
    near(m.cam_clay.young, young[k], 5e-3, "young");
    near(m.cam_clay.compressive_strength, strength[k], 5e-3, "compressive_strength");
    near(m.cam_clay.hardening, hardening[k], 5e-3, "hardening");
    assert_true(m.cam_clay.bond_tension == m.cam_clay.compressive_strength);
  }
  const struct material hoar = kind_of("surface_hoar");
  near(hoar.cam_clay.compressive_strength + hoar.cam_clay.bond_strength, 2600.0 / 0.70075, 1e-12, "hoar");
}

/* A rate of 0, and a step so long that nothing has time to lag, against the law without rate. */
static void off_is_off(void **unused)
{
  (void)unused;
  struct material_constants table[6];
  static const enum subject subjects[3] = {SUBJECT_SAND, SUBJECT_CLAY, SUBJECT_VON_MISES};
  for (int k = 0; k < 3; k++) {
    struct material m = subject_material(subjects[k]);
    material_constants(&m, &table[2 * k]);
    material_constants(&m, &table[2 * k + 1]);
    material_set_step(&m, 1e-6, &table[2 * k + 1]); /* all rates are 0 */
  }
  FOR_SETS(lanes)
  for (uint64_t k = 0; k < 20000; k++) {
    struct lane_state state = {.table = table};
    struct lane_returned found;
    lane sigma[3];
    double dev[3];
    subject_deviator(61, k, dev);
    const double e = 0.02 * tensor_random(61, k, 0), n = 0.03 * rng_uniform(61, k, 1);
    for (int l = 0; l < WIDE; l++) {
      state.material[l] = (uint32_t)(l % 6);
      for (int d = 0; d < 3; d++) sigma[d][l] = exp(e / 3.0 + n * dev[d]);
    }
    lanes->model_give_back(&state, sigma, &found);
    for (int l = 0; l < 6; l += 2) {
      for (int d = 0; d < 3; d++) assert_true(sigma[d][l] == sigma[d][l + 1]);
      assert_true(state.volume[l] == state.volume[l + 1] && state.shear[l] == state.shear[l + 1]);
    }
  }
}

/* Between the elastic trial and the return without rate; less flow in a shorter step. */
static void flow_grows_with_the_step(void **unused)
{
  (void)unused;
  for (enum subject s = SUBJECT_SAND_RATED; s < SUBJECTS; s++) {
    struct material m = subject_material(s);
    struct material_constants table[4];
    static const double dt[3] = {1e-6, 1e-4, 1e-2};
    material_constants(&m, &table[3]); /* without rate */
    for (int k = 0; k < 3; k++) {
      material_constants(&m, &table[k]);
      material_set_step(&m, dt[k], &table[k]);
    }
    int plastic = 0;
    FOR_SETS(lanes)
    for (uint64_t k = 0; k < 20000; k++) {
      struct lane_state state = {.table = table};
      struct lane_returned found;
      lane sigma[3];
      double dev[3];
      subject_deviator(62, k, dev);
      const double e = -0.02 * rng_uniform(62, k, 0), n = 0.03 * rng_uniform(62, k, 1);
      for (int l = 0; l < WIDE; l++) {
        state.material[l] = (uint32_t)(l % 4);
        for (int d = 0; d < 3; d++) sigma[d][l] = exp(e / 3.0 + n * dev[d]);
      }
      lanes->model_give_back(&state, sigma, &found);
      plastic += found.plastic[3] != 0;
      for (int l = 0; l < 3; l++)
        if (!(state.shear[l] <= state.shear[l + 1] + 1e-12))
          fail_msg("%s: %.17g in a step of %g s, %.17g in a longer one", subject_names[s], state.shear[l],
                   dt[l], state.shear[l + 1]);
      assert_true(state.shear[0] >= 0.0);
    }
    assert_true(plastic > 1000);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sand_follows_its_inertial_number),
      cmocka_unit_test(ice_flows_by_its_power),
      cmocka_unit_test(clay_flows_beyond_its_ellipse),
      cmocka_unit_test(relaxation_is_of_first_order),
      cmocka_unit_test(snow_packs_and_breaks),
      cmocka_unit_test(snow_in_an_oedometer),
      cmocka_unit_test(kinds_follow_density),
      cmocka_unit_test(off_is_off),
      cmocka_unit_test(flow_grows_with_the_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
