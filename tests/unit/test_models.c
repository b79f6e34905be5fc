/* Every material model on every instruction set: stress is the derivative of the energy, and the same with
 * and without principal axes; the tangent is the derivative of the stress, symmetric, and snow's own; wave
 * speeds are bounds; a lane's bits are those it would have alone, whatever its neighbours are made of. */
#include "support/subjects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct material_constants table[SUBJECTS];

#define FOR_SETS(lanes)                                                                                      \
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++)                                                      \
    for (const struct lanes *lanes = lanes_get(isa); lanes; lanes = NULL)

/* Pa: lambda + 2 mu. */
static double stiffness_of(enum subject subject)
{
  const struct material m = subject_material(subject);
  return material_stiffness(&m);
}

static bool is_water(enum subject subject)
{
  return subject_material(subject).model == MODEL_WATER;
}

/* Deformations of all kinds: small, large, equal, nearly equal and near the switch of stretch.h. */
enum { CASES = 1600, KINDS = 8 };
static void deformation(enum subject subject, uint64_t k, double f[9])
{
  const double a = tensor_random(31, k, 1), b = tensor_random(31, k, 2), c = tensor_random(31, k, 3);
  if (is_water(subject)) { /* within its limits, and away from J = 1, where it stops to hold */
    const double side = cbrt(k % 2 ? 0.82 + 0.14 * a : 1.06 + 0.03 * a);
    tensor_stretched(31, k, side * (1.0 + 0.1 * b), side, side / (1.0 + 0.1 * b), f);
    return;
  }
  switch (k % KINDS) {
  case 0: tensor_stretched(31, k, 1.0 + 0.02 * a, 1.0 + 0.02 * b, 1.0 + 0.02 * c, f); break;
  case 1: tensor_stretched(31, k, 1.0 + 0.5 * a, 1.0 + 0.5 * b, 1.0 + 0.5 * c, f); break;
  case 2: tensor_stretched(31, k, 1.0, 1.0, 1.0, f); break;
  case 3: tensor_stretched(31, k, 1.2 + 1e-9, 1.2, 1.2 - 1e-9, f); break;
  case 4: tensor_stretched(31, k, 0.97, 0.97 + 1e-9, 0.95, f); break;
  case 5: tensor_stretched(31, k, 0.9, 0.9, 0.9, f); break;
  case 6: tensor_stretched(31, k, 1.0 + 0.12 * a, 1.0 + 0.12 * b, 1.0 + 0.12 * c, f); break;
  default: tensor_stretched(31, k, 2.5 + 0.3 * a, 0.7, 0.6 + 0.1 * b, f); /* far apart */
  }
}

/* ln J_P or J_P of a random particle that takes part in the operator: neither opened nor broken. */
static double random_volume(enum subject subject, uint64_t k)
{
  const enum material_model model = subject_material(subject).model;
  const bool packs = model == MODEL_SNOW || model == MODEL_CAM_CLAY;
  return subject_start(subject) - (packs ? 0.02 * rng_uniform(32, k, 0) : 0.0);
}

/* Eight cases of one subject at a random history. */
static void set_state(enum subject subject, uint64_t k, struct lane_state *state)
{
  *state = (struct lane_state){.table = table};
  for (int l = 0; l < WIDE; l++) {
    double f[9];
    const uint64_t at = k + (uint64_t)l;
    deformation(subject, at, f);
    for (int c = 0; c < 9; c++) state->f[c][l] = f[c];
    state->material[l] = (uint32_t)subject;
    state->volume[l] = random_volume(subject, at);
    state->shear[l] = 0.1 * rng_uniform(32, at, 1);
  }
}

static void get(const lane a[9], int l, double out[9])
{
  for (int c = 0; c < 9; c++) out[c] = a[c][l];
}

static void directions(uint64_t k, uint64_t stream, lane g[9])
{
  for (int l = 0; l < WIDE; l++)
    for (uint64_t c = 0; c < 9; c++) g[c][l] = tensor_random(33, k + (uint64_t)l, 16 * stream + c);
}

/* F + s g F, lane by lane. */
static void deform(const struct lane_state *state, double s, const lane g[9], struct lane_state *out)
{
  *out = *state;
  for (int l = 0; l < WIDE; l++) {
    double f[9], along[9], moved[9];
    get(state->f, l, f);
    get(g, l, along);
    tensor_multiply(along, f, moved);
    for (int c = 0; c < 9; c++) out->f[c][l] = f[c] + s * moved[c];
  }
}

/* Differences of fourth order. */
static const double at_step[4] = {-2, -1, 1, 2}, weight[4] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
#define STEP 2e-4

static double energy_error(const struct lanes *lanes, enum subject subject, uint64_t k)
{
  struct lane_state state, moved;
  struct lane_stress here, there;
  lane g[9];
  double worst = 0.0, slope[WIDE] = {0};
  set_state(subject, k, &state);
  directions(k, 0, g);
  lanes->model_stress(&state, &here);
  for (int n = 0; n < 4; n++) {
    deform(&state, at_step[n] * STEP, (const lane *)g, &moved);
    lanes->model_stress(&moved, &there);
    for (int l = 0; l < WIDE; l++) slope[l] += weight[n] * there.energy[l] / STEP;
  }
  for (int l = 0; l < WIDE; l++) {
    double stress[9], along[9];
    get((const lane *)here.tau, l, stress);
    get((const lane *)g, l, along);
    const double error = fabs(slope[l] - tensor_dot(stress, along));
    if (!(error <= worst)) worst = error;
  }
  return worst / stiffness_of(subject);
}

/* d psi = tau : g for dF = g F. */
static void stress_is_the_derivative_of_energy(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  for (enum subject s = 0; s < SUBJECTS; s++) {
    double worst = 0.0;
    for (uint64_t k = 0; k < CASES; k += WIDE) {
      const double error = energy_error(lanes, s, k);
      if (!(error <= worst)) worst = error;
    }
    print_message("%s: %s: |d psi - tau : g| at most %.1e of the stiffness\n", lanes->name, subject_names[s],
                  worst);
    assert_true(worst < 1e-8);
  }
}

/* By axes and without them; the energy vanishes where nothing is deformed. */
static void ways_agree(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  for (enum subject s = 0; s < SUBJECTS; s++) {
    const double stiffness = stiffness_of(s) * (s == SUBJECT_SNOW ? 1.3 : 1.0); /* hardened */
    for (uint64_t k = 0; k < CASES; k += WIDE) {
      struct lane_state state;
      struct lane_stress out;
      set_state(s, k, &state);
      lanes->model_stress(&state, &out);
      for (int l = 0; l < WIDE; l++) {
        assert_true(fabs(out.energy[l] - out.left_energy[l]) < 3e-14 * stiffness);
        for (int c = 0; c < 9; c++) assert_true(fabs(out.tau[c][l] - out.left[c][l]) < 1e-13 * stiffness);
        if (k % KINDS == 0 && l % KINDS == 2 && !is_water(s)) {
          assert_true(fabs(out.energy[l]) < 1e-29 * stiffness);
          for (int c = 0; c < 9; c++) assert_true(fabs(out.tau[c][l]) < 4e-15 * stiffness);
        }
      }
    }
  }
}

/* tau(F') F'^-T F^T: what the tangent is the derivative of. */
static void first_stress(const struct lane_stress *there, const struct lane_state *moved,
                         const struct lane_state *state, int l, double out[9])
{
  double f[9], at[9], stress[9], cofactor[9], p[9], ft[9];
  get(state->f, l, f);
  get(moved->f, l, at);
  get((const lane *)there->tau, l, stress);
  tensor_cofactor(at, cofactor);
  for (int c = 0; c < 9; c++) cofactor[c] /= tensor_determinant(at);
  tensor_multiply(stress, cofactor, p);
  tensor_transpose(f, ft);
  tensor_multiply(p, ft, out);
}

static double tangent_error(const struct lanes *lanes, enum subject subject, uint64_t k)
{
  struct lane_state state, moved;
  struct lane_stress there;
  lane g[9], tangent[9];
  double worst = 0.0, slope[WIDE][9] = {{0}};
  set_state(subject, k, &state);
  directions(k, 1, g);
  for (int n = 0; n < 4; n++) {
    deform(&state, at_step[n] * STEP, (const lane *)g, &moved);
    lanes->model_stress(&moved, &there);
    for (int l = 0; l < WIDE; l++) {
      double part[9];
      first_stress(&there, &moved, &state, l, part);
      for (int c = 0; c < 9; c++) slope[l][c] += weight[n] * part[c] / STEP;
    }
  }
  lanes->model_tangent(&state, (const lane *)g, tangent);
  for (int l = 0; l < WIDE; l++)
    for (int c = 0; c < 9; c++) {
      const double error = fabs(slope[l][c] - tangent[c][l]);
      if (!(error <= worst)) worst = error;
    }
  return worst / stiffness_of(subject);
}

static void tangent_is_the_derivative_of_stress(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  for (enum subject s = 0; s < SUBJECTS; s++) {
    if (is_water(s)) continue;
    double worst = 0.0;
    for (uint64_t k = 0; k < CASES; k += WIDE) {
      const double error = tangent_error(lanes, s, k);
      if (!(error <= worst)) worst = error;
    }
    print_message("%s: %s: |dP F^T - differences| at most %.1e of the stiffness\n", lanes->name,
                  subject_names[s], worst);
    assert_true(worst < 1e-7);
  }
}

/* a : dP(b) = b : dP(a), with the elastic operator and with the one that flows. */
static void tangent_is_symmetric(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  for (enum subject s = 0; s < SUBJECTS; s++) {
    double worst = 0.0;
    for (uint64_t k = 0; k < CASES; k += WIDE) {
      struct lane_state state;
      lane a[9], b[9], ta[9], tb[9];
      set_state(s, k, &state);
      for (int l = 0; l < WIDE; l++) state.flowing[l] = l % 2 ? -1 : 0;
      directions(k, 2, a);
      directions(k, 3, b);
      lanes->model_tangent(&state, (const lane *)a, ta);
      lanes->model_tangent(&state, (const lane *)b, tb);
      for (int l = 0; l < WIDE; l++) {
        double x[9], y[9], tx[9], ty[9];
        get((const lane *)a, l, x);
        get((const lane *)b, l, y);
        get((const lane *)ta, l, tx);
        get((const lane *)tb, l, ty);
        const double scale = tensor_largest(tx) + tensor_largest(ty) + stiffness_of(s);
        assert_true(isfinite(scale));
        worst = fmax(worst, fabs(tensor_dot(tx, y) - tensor_dot(ty, x)) / scale);
      }
    }
    print_message("%s: %s: asymmetry %.1e\n", lanes->name, subject_names[s], worst);
    assert_true(worst < 1e-13);
  }
}

/* The generic tangent of snow and the one that snow has for itself. */
static void tangent_agrees_with_snow(void **unused)
{
  (void)unused;
  const struct material m = subject_material(SUBJECT_SNOW);
  const struct lame lame = material_lame(m.snow.young, m.snow.poisson);
  FOR_SETS(lanes)
  for (uint64_t k = 0; k < CASES; k += WIDE) {
    struct lane_state state;
    lane g[9], mu, lambda, generic[9], own[9];
    set_state(SUBJECT_SNOW, k, &state);
    directions(k, 4, g);
    for (int l = 0; l < WIDE; l++) {
      const double factor = exp(m.snow.hardening * (1.0 - state.volume[l]));
      mu[l] = lame.mu * factor;
      lambda[l] = lame.lambda * factor;
    }
    lanes->model_tangent(&state, (const lane *)g, generic);
    lanes->tangent((const lane *)state.f, mu, lambda, (const lane *)g, own);
    for (int c = 0; c < 9; c++)
      for (int l = 0; l < WIDE; l++) assert_true(fabs(generic[c][l] - own[c][l]) < 2e-13 * mu[l]);
  }
}

/* rho0 c^2 is at least what its definition says (snow: of undeformed snow), and not much more near a
 * rotation. */
static void waves_are_bounded(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  for (enum subject s = 0; s < SUBJECTS; s++) {
    double most = 0.0, far = 0.0;
    for (uint64_t k = 0; k < 10 * CASES; k += WIDE) {
      struct lane_state state;
      struct lane_wave wave;
      lane u[9], sigma[3], v[9];
      set_state(s, k, &state);
      lanes->model_wave(&state, &wave);
      lanes->svd((const lane *)state.f, u, sigma, v);
      for (int l = 0; l < WIDE; l++) {
        for (int d = 0; d < 3; d++)
          assert_true(sigma[d][l] * sigma[d][l] >= wave.low[l] && sigma[d][l] * sigma[d][l] <= wave.high[l]);
        if (is_water(s) || s == SUBJECT_SNOW) continue;
        assert_true(wave.bound[l] >= wave.exact[l] * (1.0 - 1e-13));
        double *ratio = (k + (uint64_t)l) % KINDS == 0 ? &most : &far;
        *ratio = fmax(*ratio, wave.bound[l] / wave.exact[l]);
      }
    }
    print_message("%s: %s: rho c^2 at most %.3f of the exact at 2 %% strain, %.3f anywhere\n", lanes->name,
                  subject_names[s], most, far);
    assert_true(most < 1.05);
  }
}

/* Snow: lambda + 2 mu hardened. Water: bulk J^(1 - gamma). Undeformed: lambda + 2 mu of all solids. */
static void wave_values(void **unused)
{
  (void)unused;
  for (enum subject s = 0; s < SUBJECTS; s++) {
    const struct material m = subject_material(s);
    const struct lame lame = material_lame(m.value[0], m.value[1]);
    const double wanted = is_water(s) ? m.water.bulk_modulus : lame.lambda + 2.0 * lame.mu;
    assert_true(fabs(material_stiffness(&m) / wanted - 1.0) < 1e-14);
    assert_true(material_is_explicit(&m) == is_water(s));
  }
  FOR_SETS(lanes)
  {
    struct lane_state state;
    struct lane_wave wave;
    set_state(SUBJECT_WATER, 0, &state);
    lanes->model_wave(&state, &wave);
    for (int l = 0; l < WIDE; l++) {
      double f[9];
      get((const lane *)state.f, l, f);
      assert_true(fabs(wave.bound[l] / (1e5 * pow(tensor_determinant(f), -6.0)) - 1.0) < 1e-13);
    }
  }
}

/* --- lanes ------------------------------------------------------------------------------------------------
 */

/* Everything that is computed of a state, as bytes. */
struct outcome {
  struct lane_stress stress;
  struct lane_wave wave;
  struct lane_returned found;
  lane tangent[9], viscous[9], f[9], volume, shear;
  int64_t open[WIDE], limited[WIDE], reduced[WIDE];
};

static void outcome_of(const struct lanes *lanes, const struct lane_state *given, uint64_t k,
                       struct outcome *out)
{
  struct lane_state state = *given;
  lane g[9];
  directions(k, 5, g);
  memset(out, 0, sizeof *out);
  lanes->model_stress(&state, &out->stress);
  lanes->model_wave(&state, &out->wave);
  lanes->model_tangent(&state, (const lane *)g, out->tangent);
  lanes->model_viscous(&state, (const lane *)g, out->viscous);
  lanes->model_marks(&state, out->open, out->limited);
  lanes->model_reduce(&state, out->reduced);
  lanes->model_return(&state, &out->found);
  memcpy(out->f, state.f, sizeof out->f);
  memcpy(out->volume, state.volume, sizeof out->volume);
  memcpy(out->shear, state.shear, sizeof out->shear);
}

/* An outcome is rows of eight numbers of eight bytes: those of one lane. */
static void lane_of(const struct outcome *o, int l, uint64_t out[sizeof *o / (WIDE * sizeof(double))])
{
  const uint64_t *rows = (const uint64_t *)(const void *)o;
  for (size_t k = 0; k < sizeof *o / (WIDE * sizeof(double)); k++) out[k] = rows[k * WIDE + (size_t)l];
}

/* Batches of mixed materials, each lane against a batch of its own material and state alone. */
static void lanes_are_independent(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  for (uint64_t k = 0; k < 4000; k += WIDE) {
    struct lane_state mixed = {.table = table};
    static struct outcome together, alone;
    uint64_t a[sizeof together / (WIDE * sizeof(double))], b[sizeof a / sizeof *a];
    for (int l = 0; l < WIDE; l++) {
      struct lane_state one;
      const enum subject s =
          (enum subject)((k / WIDE % 4 == 0 ? (uint64_t)l : k + (uint64_t)l * 7) % SUBJECTS);
      set_state(s, k, &one);
      for (int c = 0; c < 9; c++) mixed.f[c][l] = one.f[c][l];
      mixed.material[l] = (uint32_t)s;
      mixed.volume[l] =
          one.volume[l] + (k % 3 == 0 ? 0.01 * rng_uniform(34, k, (uint64_t)l) : 0.0); /* opened */
      mixed.shear[l] = one.shear[l];
      mixed.flowing[l] = (k + (uint64_t)l) % 3 ? -1 : 0;
    }
    outcome_of(lanes, &mixed, k, &together);
    for (int l = 0; l < WIDE; l++) {
      struct lane_state copies = mixed;
      for (int n = 0; n < WIDE; n++) {
        for (int c = 0; c < 9; c++) copies.f[c][n] = mixed.f[c][l];
        copies.material[n] = mixed.material[l];
        copies.volume[n] = mixed.volume[l];
        copies.shear[n] = mixed.shear[l];
        copies.flowing[n] = mixed.flowing[l];
      }
      outcome_of(lanes, &copies, k, &alone);
      lane_of(&together, l, a);
      lane_of(&alone, l, b);
      assert_memory_equal(a, b, sizeof a);
    }
  }
}

static int make_table(void **unused)
{
  (void)unused;
  subject_table(table);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stress_is_the_derivative_of_energy),
      cmocka_unit_test(ways_agree),
      cmocka_unit_test(tangent_is_the_derivative_of_stress),
      cmocka_unit_test(tangent_is_symmetric),
      cmocka_unit_test(tangent_agrees_with_snow),
      cmocka_unit_test(waves_are_bounded),
      cmocka_unit_test(wave_values),
      cmocka_unit_test(lanes_are_independent),
  };
  return cmocka_run_group_tests(tests, make_table, NULL);
}
