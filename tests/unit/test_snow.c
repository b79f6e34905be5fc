/* The snow model on every instruction set: stress is the derivative of the energy and agrees with the formula
 * of the paper evaluated apart; the tangent is symmetric and the derivative of the stress, also where
 * stretches coincide, are small or negative; the return mapping moves volume from F_E to J_P and nothing
 * else. */
#include "support/lanes.h"
#include "support/tensor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CASES = 2700, KINDS = 9 };
static const double mu = 5.8e4, lambda = 3.9e4; /* Pa */

/* Deformations of all kinds. */
static void deformation(uint64_t k, double f[9])
{
  const double tiny = pow(10.0, -1.0 - 15.0 * rng_uniform(21, k, 0)), a = tensor_random(21, k, 1),
               b = tensor_random(21, k, 2), c = tensor_random(21, k, 3);
  switch (k % KINDS) {
  case 0: tensor_stretched(21, k, 1.0 + 0.02 * a, 1.0 + 0.02 * b, 1.0 + 0.02 * c, f); break; /* snow */
  case 1: tensor_stretched(21, k, 1.0 + 0.6 * a, 1.0 + 0.6 * b, 1.0 + 0.6 * c, f); break;
  case 2: tensor_stretched(21, k, 1.0, 1.0, 1.0, f); break;
  case 3: tensor_stretched(21, k, 1.2 + tiny, 1.2, 1.2 - tiny, f); break;
  case 4: tensor_stretched(21, k, 0.9, 0.9 + tiny, 0.5, f); break;
  case 5: tensor_stretched(21, k, 0.2, 0.15, 0.1 + 0.02 * a, f); break;          /* crushed */
  case 6: tensor_stretched(21, k, 1.0 + 0.1 * a, 0.7, -0.3 + 0.1 * b, f); break; /* inside out */
  case 7:
    tensor_stretched(21, k, 1.0 + 0.12 * a, 1.0 + 0.12 * b, 1.0 + 0.12 * c, f);
    break; /* where stretch.h switches */
  default: tensor_stretched(21, k, 1.0, 0.8 + 0.1 * a, tiny < 1e-3 ? 1e-3 : tiny, f); /* nearly flat */
  }
}

static void direction(uint64_t k, uint64_t stream, double g[9])
{
  for (uint64_t c = 0; c < 9; c++) g[c] = tensor_random(22, k, 16 * stream + c);
}

static void spread(const double a[9], lane out[9])
{
  for (int c = 0; c < 9; c++)
    for (int l = 0; l < WIDE; l++) out[c][l] = a[c];
}

static void spread_one(double a, lane out)
{
  for (int l = 0; l < WIDE; l++) out[l] = a;
}

/* Of the principal frame, or of the left stretch; they must agree. */
static double stress_by(const struct lanes *lanes, bool left, const double f[9], double stress[9])
{
  lane wide[9], m, n, energy, out[9];
  spread(f, wide);
  spread_one(mu, m);
  spread_one(lambda, n);
  (left ? lanes->stress_left : lanes->stress)((const lane *)wide, m, n, energy, out);
  for (int c = 0; c < 9; c++) stress[c] = out[c][3];
  return energy[3];
}

static double stress_of(const struct lanes *lanes, const double f[9], double stress[9])
{
  double other[9];
  const double energy = stress_by(lanes, false, f, stress), again = stress_by(lanes, true, f, other);
  assert_true(fabs(energy - again) < 1e-13 * mu);
  for (int c = 0; c < 9; c++) assert_true(fabs(stress[c] - other[c]) < 1e-13 * mu);
  return energy;
}

static void tangent_of(const struct lanes *lanes, const double f[9], const double g[9], double out[9])
{
  lane wide[9], along[9], m, n, result[9];
  spread(f, wide);
  spread(g, along);
  spread_one(mu, m);
  spread_one(lambda, n);
  lanes->tangent((const lane *)wide, m, n, (const lane *)along, result);
  for (int c = 0; c < 9; c++) out[c] = result[c][6];
}

/* F + s g F. */
static void deform(const double f[9], double s, const double g[9], double out[9])
{
  tensor_multiply(g, f, out);
  for (int c = 0; c < 9; c++) out[c] = f[c] + s * out[c];
}

/* Step of the differences: a fraction of the least gap over which P is smooth. */
static double step_of(const struct lanes *lanes, const double f[9])
{
  lane wide[9], u[9], sigma[3], v[9];
  spread(f, wide);
  lanes->svd((const lane *)wide, u, sigma, v);
  return 5e-4 * fmin(1.0, (sigma[1][0] + sigma[2][0]) / sigma[0][0]);
}

/* d psi = P : dF = (P F^T) : g for dF = g F; differences of fourth order. */
static void stress_is_the_derivative_of_energy(void **state)
{
  (void)state;
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++) {
    const struct lanes *lanes = lanes_get(isa);
    if (!lanes) continue;
    double worst = 0.0;
    for (uint64_t k = 0; k < CASES; k++) {
      double f[9], g[9], moved[9], stress[9], unused[9];
      deformation(k, f);
      direction(k, 0, g);
      stress_of(lanes, f, stress);
      const double s = step_of(lanes, f), at[4] = {-2, -1, 1, 2}, weight[4] = {1, -8, 8, -1};
      double slope = 0.0;
      for (int n = 0; n < 4; n++) {
        deform(f, at[n] * s, g, moved);
        slope += weight[n] * stress_of(lanes, moved, unused) / (12.0 * s);
      }
      worst = fmax(worst, fabs(slope - tensor_dot(stress, g)) / mu);
    }
    print_message("%s: |d psi - P : dF| / mu at most %.1e\n", lanes->name, worst);
    assert_true(worst < 2e-11);
  }
}

/* R of F by Newton's iteration R <- (R + R^-T) / 2: no singular values involved. Not for det F < 0. */
static void polar_by_newton(const double f[9], double r[9])
{
  memcpy(r, f, 9 * sizeof *r);
  for (int n = 0; n < 60; n++) {
    double cofactor[9];
    tensor_cofactor(r, cofactor);
    const double j = tensor_determinant(r);
    for (int c = 0; c < 9; c++) r[c] = 0.5 * (r[c] + cofactor[c] / j);
  }
}

static void stress_follows_the_paper(void **state)
{
  (void)state;
  double worst = 0.0;
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++)
    for (uint64_t k = 0; k < CASES && lanes_get(isa); k++) {
      double f[9], r[9], cofactor[9], p[9], ft[9], wanted[9], stress[9];
      deformation(k, f);
      const double j = tensor_determinant(f);
      if (j <= 0.0) continue;
      polar_by_newton(f, r);
      tensor_cofactor(f, cofactor);
      for (int c = 0; c < 9; c++) p[c] = 2.0 * mu * (f[c] - r[c]) + lambda * (j - 1.0) * cofactor[c];
      tensor_transpose(f, ft);
      tensor_multiply(p, ft, wanted);
      const double energy = stress_of(lanes_get(isa), f, stress);
      double strain = 0.0;
      for (int c = 0; c < 9; c++) {
        worst = fmax(worst, fabs(stress[c] - wanted[c]) / mu);
        strain += (f[c] - r[c]) * (f[c] - r[c]);
      }
      assert_true(fabs(energy - mu * strain - 0.5 * lambda * (j - 1.0) * (j - 1.0)) < 1e-13 * mu);
    }
  print_message("|P F^T - paper's| / mu at most %.1e\n", worst);
  assert_true(worst < 1e-13);
}

/* P F(0)^T at F moved along g: what the tangent is the derivative of. */
static void first_stress(const struct lanes *lanes, const double f[9], double s, const double g[9],
                         double out[9])
{
  double moved[9], stress[9], cofactor[9], p[9], ft[9];
  deform(f, s, g, moved);
  stress_of(lanes, moved, stress);
  tensor_cofactor(moved, cofactor);
  for (int c = 0; c < 9; c++) cofactor[c] /= tensor_determinant(moved);
  tensor_multiply(stress, cofactor, p);
  tensor_transpose(f, ft);
  tensor_multiply(p, ft, out);
}

static void tangent_is_the_derivative_of_stress(void **state)
{
  (void)state;
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++) {
    const struct lanes *lanes = lanes_get(isa);
    if (!lanes) continue;
    double worst = 0.0;
    for (uint64_t k = 0; k < CASES; k++) {
      double f[9], g[9], part[9], slope[9] = {0}, tangent[9];
      deformation(k, f);
      direction(k, 1, g);
      const double s = step_of(lanes, f), at[4] = {-2, -1, 1, 2}, weight[4] = {1, -8, 8, -1};
      for (int n = 0; n < 4; n++) {
        first_stress(lanes, f, at[n] * s, g, part);
        for (int c = 0; c < 9; c++) slope[c] += weight[n] * part[c] / (12.0 * s);
      }
      tangent_of(lanes, f, g, tangent);
      for (int c = 0; c < 9; c++) worst = fmax(worst, fabs(slope[c] - tangent[c]) / mu);
    }
    print_message("%s: |dP F^T - differences| / mu at most %.1e\n", lanes->name, worst);
    assert_true(worst < 1e-10);
  }
}

/* dF1 : dP(dF2) = dF2 : dP(dF1), also where two stretches cancel and the quotient is bounded. */
static void tangent_is_symmetric(void **state)
{
  (void)state;
  double worst = 0.0;
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++)
    for (uint64_t k = 0; k < CASES && lanes_get(isa); k++) {
      double f[9], a[9], b[9], ta[9], tb[9];
      deformation(k, f);
      const double gap = k % 16 == 0 ? 0.0 : pow(10.0, -(double)(k % 16));
      if (k % 3 == 0) tensor_stretched(23, k, 1.0, 0.4 + gap, -0.4, f);
      direction(k, 2, a);
      direction(k, 3, b);
      tangent_of(lanes_get(isa), f, a, ta);
      tangent_of(lanes_get(isa), f, b, tb);
      const double scale = tensor_largest(ta) + tensor_largest(tb) + mu;
      assert_true(isfinite(scale) && scale < 1e8 * mu);
      worst = fmax(worst, fabs(tensor_dot(ta, b) - tensor_dot(tb, a)) / scale);
    }
  print_message("asymmetry of the tangent, relative: %.1e\n", worst);
  assert_true(worst < 1e-13);
}

static const struct snow_parameters packed = {1.4e5, 0.2, 10.0, 1000.0, 2.5e-2, 7.5e-3, true};

/* Runs the return mapping on one matrix among seven others that are clamped. */
static void give_back(const struct lanes *lanes, const struct snow_constants *m, double f[9], double *jp,
                      bool *plastic, bool *inverted)
{
  lane wide[9], j;
  int64_t is_plastic[WIDE], is_inverted[WIDE];
  double other[9];
  tensor_stretched(24, 1, 2.0, 1.5, 0.2, other);
  spread(other, wide);
  spread_one(1.0, j);
  for (int c = 0; c < 9; c++) wide[c][2] = f[c];
  j[2] = *jp;
  lanes->give_back(m, wide, j, is_plastic, is_inverted);
  for (int c = 0; c < 9; c++) f[c] = wide[c][2];
  *jp = j[2];
  *plastic = is_plastic[2] != 0;
  *inverted = is_inverted[2] != 0;
}

static void elastic_lanes_keep_their_bits(const struct lanes *lanes, const struct snow_constants *m)
{
  for (uint64_t k = 0; k < CASES; k++) {
    double f[9], old[9], jp = 0.9 + 0.2 * rng_uniform(25, k, 0), stretch[3];
    for (uint64_t d = 0; d < 3; d++)
      stretch[d] = m->stretch_low < 0.0
                       ? 1.5 + tensor_random(25, k, d)
                       : m->stretch_low + 1e-12 +
                             (m->stretch_high - m->stretch_low - 2e-12) * rng_uniform(25, k, 1 + d);
    tensor_stretched(25, k, stretch[0], stretch[1], stretch[2], f);
    memcpy(old, f, sizeof f);
    const double before = jp;
    bool plastic, inverted;
    give_back(lanes, m, f, &jp, &plastic, &inverted);
    assert_false(plastic || inverted);
    assert_memory_equal(old, f, sizeof f);
    assert_memory_equal(&before, &jp, sizeof jp);
  }
}

/* What the clamp cuts off goes to J_P, rotations stay, and stretches end within the limits. */
static void clamped_lanes_conserve_volume(const struct lanes *lanes, const struct snow_constants *m)
{
  int clamped = 0;
  for (uint64_t k = 0; k < CASES; k++) {
    double f[9], trial[9], r[9], turned[9], jp = 0.9 + 0.2 * rng_uniform(26, k, 0);
    if (k % 2) /* far beyond the limits, and about them */
      tensor_stretched(26, k, 1.0 + 0.1 * tensor_random(26, k, 1), 1.0 + 0.05 * tensor_random(26, k, 2),
                       1.0 + 0.9 * tensor_random(26, k, 3), f);
    else
      tensor_stretched(26, k, 1.0 + 0.02 * tensor_random(26, k, 1), 1.0 + 0.02 * tensor_random(26, k, 2),
                       1.0 + 0.04 * tensor_random(26, k, 3), f);
    memcpy(trial, f, sizeof f);
    const double volume = tensor_determinant(f) * jp;
    bool plastic, inverted;
    give_back(lanes, m, f, &jp, &plastic, &inverted);
    clamped += plastic;
    assert_false(inverted);
    assert_true(fabs(tensor_determinant(f) * jp - volume) <= 2e-15 * volume * 4.0);
    polar_by_newton(trial, r);
    polar_by_newton(f, turned);
    for (int c = 0; c < 9; c++) assert_true(fabs(r[c] - turned[c]) < 1e-13);
    lane wide[9], u[9], sigma[3], v[9];
    spread(f, wide);
    lanes->svd((const lane *)wide, u, sigma, v);
    for (int d = 0; d < 3; d++)
      assert_true(sigma[d][0] >= m->stretch_low - 4e-15 && sigma[d][0] <= m->stretch_high + 4e-15);
  }
  assert_true(clamped > CASES / 2);
}

static void return_mapping(void **state)
{
  (void)state;
  const struct snow_constants m = snow_constants(&packed);
  struct snow_parameters elastic = packed;
  elastic.plastic = false;
  const struct snow_constants e = snow_constants(&elastic);
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++) {
    const struct lanes *lanes = lanes_get(isa);
    if (!lanes) continue;
    elastic_lanes_keep_their_bits(lanes, &m);
    elastic_lanes_keep_their_bits(lanes, &e); /* no limits: any stretch is elastic */
    clamped_lanes_conserve_volume(lanes, &m);
    double f[9], jp = 1.0;
    bool plastic, inverted;
    tensor_stretched(27, 1, 1.0, 1.0, -0.1, f);
    give_back(lanes, &m, f, &jp, &plastic, &inverted);
    assert_true(plastic && inverted);
  }
}

static void hardening_is_clamped(void **state)
{
  (void)state;
  struct snow_constants m = snow_constants(&packed);
  assert_true(fabs(m.mu - 1.4e5 / 2.4) < 1e-9 && fabs(m.lambda - 1.4e5 * 0.2 / (1.2 * 0.6)) < 1e-9);
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++) {
    const struct lanes *lanes = lanes_get(isa);
    if (!lanes) continue;
    const lane jp = {1.0, 0.9, 1.1, 0.4, 0.30, 1.70, -1e6, 1e6};
    lane factor;
    int64_t clamped[WIDE];
    lanes->hardening(&m, jp, factor, clamped);
    for (int l = 0; l < 4; l++) {
      assert_true(fabs(factor[l] / exp(10.0 * (1.0 - jp[l])) - 1.0) < 1e-15);
      assert_true(clamped[l] == 0);
    }
    for (int l = 4; l < WIDE; l++) { /* e^7 is 1097 */
      assert_true(factor[l] == (jp[l] < 1.0 ? 1000.0 : 1.0 / 1000.0));
      assert_true(clamped[l] == -1);
    }
    assert_true(factor[0] == 1.0);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stress_is_the_derivative_of_energy),
      cmocka_unit_test(stress_follows_the_paper),
      cmocka_unit_test(tangent_is_the_derivative_of_stress),
      cmocka_unit_test(tangent_is_symmetric),
      cmocka_unit_test(return_mapping),
      cmocka_unit_test(hardening_is_clamped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
