/* Return mappings of every material that yields, on every instruction set: volume goes to J_P and nothing is
 * lost, twice is once, energy only falls, the state ends on its yield surface, what is called surely elastic
 * is, and the operator "flow" is the derivative of the returned stress. */
#include "support/subjects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct material_constants table[SUBJECTS];
static struct material materials[SUBJECTS];
static double starts[SUBJECTS]; /* of the first history */

#define FOR_SETS(lanes)                                                                                      \
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++)                                                      \
    for (const struct lanes *lanes = lanes_get(isa); lanes; lanes = NULL)

static enum material_model model_of(enum subject subject)
{
  return table[subject].model;
}

static bool yields(enum subject subject)
{
  return models[model_of(subject)]->give_back != NULL;
}

/* How far a deviator and a volume strain of a subject go before it yields, roughly. */
static double scale_of(enum subject subject)
{
  return model_of(subject) == MODEL_SNOW ? 0.02 : model_of(subject) == MODEL_SAND ? 0.01 : 0.012;
}

/* A random trial strain and history. */
static void random_trial(enum subject subject, uint64_t k, double eps[3], double *volume, double *shear)
{
  double dev[3];
  const double scale = scale_of(subject), far = k % 4 == 3 ? 5.0 : 1.5;
  const double e = far * scale * tensor_random(41, k, 0), n = far * scale * rng_uniform(41, k, 1);
  subject_deviator(41, k, dev);
  for (int d = 0; d < 3; d++) eps[d] = e / 3.0 + n * dev[d];
  *volume = starts[subject];
  *shear = 0.3 * rng_uniform(41, k, 2);
  switch (model_of(subject)) {
  case MODEL_SNOW: *volume += 0.2 * tensor_random(41, k, 3); break;
  case MODEL_SAND: *volume = k % 2 ? 0.01 * rng_uniform(41, k, 3) : 0.0; break;
  case MODEL_CAM_CLAY: *volume = 0.3 * tensor_random(41, k, 3); break;
  default: break;
  }
}

static void random_trials(enum subject subject, uint64_t k, struct lane_state *state, lane sigma[3])
{
  *state = (struct lane_state){.table = table};
  for (int l = 0; l < WIDE; l++) {
    double eps[3];
    random_trial(subject, k + (uint64_t)l, eps, &state->volume[l], &state->shear[l]);
    for (int d = 0; d < 3; d++) sigma[d][l] = exp(eps[d]);
    state->material[l] = (uint32_t)subject;
  }
}

/* ln J of F_E and of what is plastic together. */
static double whole_volume(enum subject subject, const lane sigma[3], const struct lane_state *state, int l)
{
  const double elastic = log(sigma[0][l]) + log(sigma[1][l]) + log(sigma[2][l]);
  return elastic + (starts[subject] == 0.0 ? state->volume[l] : log(state->volume[l]));
}

/* The history with which a return that was done shall find nothing more to do: strength that hardens with it
 * is that of the time before, but for von Mises, whose return solves for it. */
static void before_hardening(enum subject subject, const struct lane_state *before, struct lane_state *after)
{
  if (model_of(subject) == MODEL_CAM_CLAY) memcpy(after->volume, before->volume, sizeof after->volume);
  if (subject == SUBJECT_SAND_HARDENING || subject == SUBJECT_HOAR || subject == SUBJECT_NATURAL)
    memcpy(after->shear, before->shear, sizeof after->shear);
}

struct worst {
  double volume, twice, raised, times;
  int plastic, flowing;
};

static void check_trials(const struct lanes *lanes, enum subject subject, const struct lane_state *before,
                         const lane trial[3], struct worst *worst)
{
  struct lane_state after = *before, again;
  struct lane_returned found, second;
  lane sigma[3], twice[3], energy[2], tau[3];
  memcpy(sigma, trial, sizeof sigma);
  lanes->model_give_back(&after, sigma, &found);
  lanes->model_principal(before, trial, energy[0], tau);
  lanes->model_principal(before, (const lane *)sigma, energy[1], tau); /* at the same hardening */
  again = after;
  before_hardening(subject, before, &again);
  memcpy(twice, sigma, sizeof twice);
  lanes->model_give_back(&again, twice, &second);
  for (int l = 0; l < WIDE; l++) {
    worst->plastic += found.plastic[l] != 0;
    worst->flowing += found.flowing[l] != 0;
    worst->volume = fmax(worst->volume, fabs(whole_volume(subject, trial, before, l) -
                                             whole_volume(subject, (const lane *)sigma, &after, l)));
    worst->raised = fmax(worst->raised, energy[1][l] - energy[0][l]);
    worst->times = fmax(worst->times, energy[1][l] / energy[0][l]);
    for (int d = 0; d < 3; d++) worst->twice = fmax(worst->twice, fabs(twice[d][l] - sigma[d][l]));
    assert_true(after.shear[l] >= before->shear[l]);
    if (found.plastic[l]) continue;
    assert_true(!found.flowing[l] && after.volume[l] == before->volume[l] &&
                after.shear[l] == before->shear[l]);
    for (int d = 0; d < 3; d++) assert_true(sigma[d][l] == trial[d][l]);
  }
}

enum { TRIALS = 200000 };

static void check_worst(const struct lanes *lanes, enum subject subject, const struct worst *worst)
{
  const struct material m = subject_material(subject);
  const double raised = worst->raised / material_stiffness(&m);
  print_message(
      "%s: %s: volume lost %.1e, moved by a second return %.1e, energy raised %.1e of the stiffness, "
      "%.0f %% plastic, %.0f %% flowing\n",
      lanes->name, subject_names[subject], worst->volume, worst->twice, raised,
      100.0 * worst->plastic / TRIALS, 100.0 * worst->flowing / TRIALS);
  assert_true(worst->volume < 1e-13 && (subject_is_rated(subject) || worst->twice <= 1e-15));
  if (subject == SUBJECT_SNOW) /* its clamp follows no energy */
    assert_true(worst->times < 1.015);
  else
    assert_true(raised < 1e-17);
  assert_true(worst->plastic > TRIALS / 10 && worst->plastic < TRIALS);
  assert_true(subject == SUBJECT_SNOW ? !worst->flowing : worst->flowing > TRIALS / 10);
}

static void returns_keep_what_they_must(void **unused)
{
  (void)unused;
  for (enum subject s = 0; s < SUBJECTS; s++) {
    if (!yields(s)) continue;
    struct worst worst[ISA_COUNT] = {{0}};
    for (uint64_t k = 0; k < TRIALS; k += WIDE) {
      struct lane_state before;
      lane trial[3];
      random_trials(s, k, &before, trial);
      FOR_SETS(lanes) check_trials(lanes, s, &before, (const lane *)trial, &worst[isa]);
    }
    FOR_SETS(lanes) check_worst(lanes, s, &worst[isa]);
  }
}

/* --- surfaces ---------------------------------------------------------------------------------------------
 */

/* Strains of a lane: volume, norm of the deviator. */
static void strains(const lane sigma[3], int l, double *volume, double *norm)
{
  double eps[3];
  for (int d = 0; d < 3; d++) eps[d] = log(sigma[d][l]);
  *volume = eps[0] + eps[1] + eps[2];
  double norm2 = 0.0;
  for (int d = 0; d < 3; d++) norm2 += (eps[d] - *volume / 3.0) * (eps[d] - *volume / 3.0);
  *norm = sqrt(norm2);
}

/* What bonds and packing make of cam clay's strength: p_c (Pa), and beta_n instead of *beta. */
static double clay_strength(const struct cam_clay_parameters *m, double bulk, double eps, double kappa,
                            double *beta)
{
  const double floor = asinh(1e-3 * m->compressive_strength / bulk), most = fmin(m->hardening, 1.0);
  const double x = fmax(-(eps + m->collapse_strain), 0.0), limit = m->packing_limit - m->collapse_strain;
  double g = x;
  if (m->packing_limit > 0.0) {
    const double y = fmin(x, limit * (1.0 - sqrt(most)));
    g = y / (1.0 - y / limit) + (x - y) / most;
  }
  const double a = asinh(m->compressive_strength / bulk) + m->hardening * g - m->softening * fmax(eps, 0.0);
  const double ps = bulk * sinh(fmax(floor, fmin(a, 2.0)));
  if (m->bond_strength + m->bond_tension == 0.0) return ps;
  const double share = exp(-kappa / m->bond_strain) * fmin(ps / m->compressive_strength, 1.0);
  const double pc = ps + share * m->bond_strength;
  *beta += share * (m->bond_tension - *beta * m->bond_strength) / pc;
  return pc;
}

/* The yield function as a strain (0 on the surface), from the formulas of the papers: nothing is shared with
 * the lanes. */
static double beyond(enum subject subject, double volume, double norm, double history, double shear)
{
  const struct material *m = &materials[subject];
  const struct lame lame = material_lame(m->value[0], m->value[1]);
  const double p = -lame.bulk * volume, q = sqrt(6.0) * lame.mu * norm;
  if (m->model == MODEL_VON_MISES)
    return (q - m->von_mises.yield_stress - m->von_mises.hardening * shear) / lame.mu;
  if (m->model == MODEL_SAND) {
    const double angle = m->sand.hardening != 0.0
                             ? m->sand.h0 + (m->sand.h1 * shear - m->sand.h3) * exp(-m->sand.h2 * shear)
                             : m->sand.friction_angle;
    const double phi = angle * M_PI / 180.0;
    const double slope =
        m->sand.cone == CONE_SLOPE ? sqrt(3.0) * tan(phi) : 6.0 * sin(phi) / (3.0 - sin(phi));
    return (q - slope * (p + (history == 0.0 ? m->sand.cohesion / tan(phi) : 0.0))) / lame.mu;
  }
  double beta = m->cam_clay.cohesion_ratio;
  const double M = m->cam_clay.critical_slope,
               p0 = clay_strength(&m->cam_clay, lame.bulk, history, shear, &beta);
  const double value = (1.0 + 2.0 * beta) * q * q + M * M * (p + beta * p0) * (p - p0),
               r = 0.5 * (1.0 + beta) * p0;
  return value / (2.0 * M * M * r * lame.bulk);
}

/* Plastic lanes end on the surface, others were within; sand that has opened carries nothing. */
static void returns_end_on_the_surface(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  for (enum subject s = SUBJECT_SAND; s < SUBJECTS; s++) {
    if (!yields(s) || subject_is_rated(s)) continue;
    double worst = 0.0;
    for (uint64_t k = 0; k < 20000; k += WIDE) {
      struct lane_state before, after;
      struct lane_returned found;
      lane sigma[3];
      random_trials(s, k, &before, sigma);
      after = before;
      lanes->model_give_back(&after, sigma, &found);
      for (int l = 0; l < WIDE; l++) {
        double volume, norm;
        strains((const lane *)sigma, l, &volume, &norm);
        if (model_of(s) == MODEL_SAND && after.volume[l] > 0.0) { /* the tip */
          assert_true(sigma[0][l] == 1.0 && sigma[1][l] == 1.0 && sigma[2][l] == 1.0);
          continue;
        }
        const double shear = model_of(s) == MODEL_VON_MISES ? after.shear[l] : before.shear[l];
        const double out = beyond(s, volume, norm, before.volume[l], shear);
        assert_true(out < 1e-14);
        if (after.shear[l] > before.shear[l] && model_of(s) != MODEL_CAM_CLAY) worst = fmax(worst, fabs(out));
        if (found.plastic[l] && model_of(s) == MODEL_CAM_CLAY) worst = fmax(worst, fabs(out));
      }
    }
    print_message("%s: %s: returned states off the surface by a strain of %.1e\n", lanes->name,
                  subject_names[s], worst);
    assert_true(worst > 0.0 && worst < 1e-14);
  }
}

/* The factors of cam clay's return against a root found by halving in long double; on the circle to 1e-14. */
static void clay_ends_on_its_ellipse(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  {
    double off = 0.0, wrong = 0.0;
    for (uint64_t k = 0; k < 20000; k += WIDE) {
      lane x, y, ratio, a, b;
      for (int l = 0; l < WIDE; l++) {
        const uint64_t n = k + (uint64_t)l;
        const double angle = n % 16 == 0 ? (double)(n / 16 % 3) * M_PI / 2.0 : M_PI * rng_uniform(42, n, 0);
        const double far = 1.0 + pow(10.0, -12.0 + 18.0 * rng_uniform(42, n, 1));
        x[l] = far * cos(angle);
        y[l] = far * sin(angle);
        ratio[l] = pow(10.0, -2.0 + 4.0 * rng_uniform(42, n, 2));
      }
      lanes->clay_project(x, y, ratio, a, b);
      for (int l = 0; l < WIDE; l++) {
        const long double X = x[l], Y = y[l], R = ratio[l];
        long double low = 0.0L, high = 1e9L;
        for (int n = 0; n < 200; n++) {
          const long double g = 0.5L * (low + high), u = X / (1.0L + g), v = Y / (1.0L + R * g);
          if (u * u + v * v > 1.0L)
            low = g;
          else
            high = g;
        }
        off = fmax(off, fabs((double)(X * X * a[l] * a[l] + Y * Y * b[l] * b[l] - 1.0L)));
        wrong = fmax(wrong, fabs((double)(X * a[l] - X / (1.0L + low))));
        wrong = fmax(wrong, fabs((double)(Y * b[l] - Y / (1.0L + R * low))));
      }
    }
    print_message("%s: off the circle by %.1e, from the exact point by %.1e\n", lanes->name, off, wrong);
    assert_true(off < 1e-14 && wrong < 1e-13);
  }
}

/* --- surely elastic ---------------------------------------------------------------------------------------
 */

/* A random state within or just beyond the yield surface of a subject. */
static void random_state(enum subject subject, uint64_t k, struct lane_state *state, int l)
{
  double dev[3], f[9];
  const struct material *m = &materials[subject];
  const struct lame lame = material_lame(m->value[0], m->value[1]);
  subject_deviator(43, k, dev);
  state->volume[l] = starts[subject];
  state->shear[l] = 0.1 * rng_uniform(43, k, 1);
  double e = 0.02 * tensor_random(43, k, 2), limit = 0.02;
  if (m->model == MODEL_SAND) {
    const double slack = m->sand.cohesion / lame.bulk;
    e = slack - 0.03 * rng_uniform(43, k, 2);
    limit = 0.9 * (slack - e) * lame.bulk / lame.mu;
    if (k % 16 == 0) state->volume[l] = 0.01 * rng_uniform(43, k, 3);
  } else if (m->model == MODEL_CAM_CLAY) {
    const double p0 = m->cam_clay.compressive_strength, beta = m->cam_clay.cohesion_ratio;
    e = -p0 / lame.bulk * (1.1 * rng_uniform(43, k, 2) * (1.0 + beta) - beta);
    limit =
        0.5 * (1.0 + beta) * p0 * m->cam_clay.critical_slope / sqrt(1.0 + 2.0 * beta) / (sqrt(6.0) * lame.mu);
  } else if (m->model == MODEL_VON_MISES) {
    limit = (m->von_mises.yield_stress + m->von_mises.hardening * state->shear[l]) / (sqrt(6.0) * lame.mu);
    e = 0.1 * tensor_random(43, k, 2);
  }
  const double n = 1.2 * limit * rng_uniform(43, k, 4);
  tensor_stretched(43, k / WIDE, exp(e / 3.0 + n * dev[0]), exp(e / 3.0 + n * dev[1]),
                   exp(e / 3.0 + n * dev[2]), f);
  for (int c = 0; c < 9; c++) state->f[c][l] = f[c];
  state->material[l] = (uint32_t)subject;
}

struct found_elastic {
  int elastic, sure;
};

static void count_elastic(const struct lanes *lanes, const struct lane_state *before,
                          struct found_elastic *count)
{
  struct lane_state state = *before;
  struct lane_returned found;
  lanes->model_return(&state, &found);
  bool right = true, kept = true;
  for (int l = 0; l < WIDE; l++) {
    right &= !found.inverted[l] && !(found.elastic[l] && found.plastic[l]);
    count->elastic += !found.plastic[l];
    count->sure += found.elastic[l] != 0;
    for (int c = 0; c < 9; c++) kept &= found.plastic[l] || state.f[c][l] == before->f[c][l];
  }
  assert_true(right && kept);
}

/* Never wrong, and of what is elastic it misses little. Whether a lane counts as elastic must not depend on
 * which of the two found it so. */
static void surely_elastic_is_elastic(void **unused)
{
  (void)unused;
  enum { STATES = 400000 };
  for (enum subject s = 0; s < SUBJECTS; s++) {
    if (!yields(s)) continue;
    struct found_elastic count[ISA_COUNT] = {{0}};
    for (uint64_t k = 0; k < STATES; k += WIDE) {
      struct lane_state state = {.table = table};
      for (int l = 0; l < WIDE; l++) random_state(s, k + (uint64_t)l, &state, l);
      FOR_SETS(lanes) count_elastic(lanes, &state, &count[isa]);
    }
    FOR_SETS(lanes)
    {
      const double elastic = count[isa].elastic, sure = count[isa].sure;
      print_message("%s: %s: %.0f %% elastic, %.2f %% of these found without axes\n", lanes->name,
                    subject_names[s], 100.0 * elastic / STATES, 100.0 * sure / elastic);
      assert_true(elastic > 0.2 * STATES && elastic < 0.95 * STATES && sure > 0.98 * elastic);
    }
  }
}

/* Where the bound is tightest: at its end, with two axes stretched and one pressed. A limit that is exceeded
 * by next to nothing is never taken for elastic; one that is 1 % away is found. */
static void bound_is_right_and_tight(void **unused)
{
  (void)unused;
  const double dev[3] = {sqrt(1.0 / 6.0), sqrt(1.0 / 6.0), -sqrt(2.0 / 3.0)};
  FOR_SETS(lanes)
  for (uint64_t k = 0; k < 2000; k++) {
    struct material m = subject_material(SUBJECT_VON_MISES);
    struct material_constants c;
    const struct lame lame = material_lame(m.von_mises.young, m.von_mises.poisson);
    const double limit = 0.01 + 0.06 * rng_uniform(49, k, 0), e = 0.3 * tensor_random(49, k, 1);
    const double part[WIDE] = {1.0 + 1e-12, 1.0 + 1e-9, 1.0 + 1e-6, 1.001, 1.01, 1.02, 0.989, 0.9};
    m.von_mises.yield_stress = sqrt(6.0) * lame.mu * limit;
    material_constants(&m, &c);
    struct lane_state state = {.table = &c};
    struct lane_returned found;
    for (int l = 0; l < WIDE; l++) {
      double f[9];
      const double n = limit * part[l];
      tensor_stretched(49, k, exp(e / 3 + n * dev[0]), exp(e / 3 + n * dev[1]), exp(e / 3 + n * dev[2]), f);
      for (int i = 0; i < 9; i++) state.f[i][l] = f[i];
    }
    lanes->model_return(&state, &found);
    for (int l = 0; l < WIDE; l++) {
      assert_true((found.plastic[l] != 0) == (part[l] > 1.0));
      assert_true((found.elastic[l] != 0) == (part[l] < 1.0));
    }
  }
}

/* Beyond the reach of the bound, flat, turned inside out, zero: never elastic, and nothing yields into
 * numbers that are none. */
static void wild_states(void **unused)
{
  (void)unused;
  const double stretch[WIDE][3] = {{1, 1, -1},      {1, 1, 0},       {0.5, 0.5, -0.5}, {3, 2, 0.01},
                                   {1e-3, 1e-3, 1}, {1e3, 1e3, 1e3}, {0, 0, 0},        {1e-8, 2, 3}};
  FOR_SETS(lanes)
  for (enum subject s = 0; s < SUBJECTS; s++) {
    struct lane_state state = {.table = table};
    struct lane_returned found;
    for (int l = 0; l < WIDE; l++) {
      double f[9];
      tensor_stretched(44, (uint64_t)l, stretch[l][0], stretch[l][1], stretch[l][2], f);
      for (int c = 0; c < 9; c++) state.f[c][l] = f[c];
      state.material[l] = (uint32_t)s;
      state.volume[l] = starts[s];
    }
    const struct lane_state before = state;
    lanes->model_return(&state, &found);
    for (int l = 0; l < WIDE; l++) {
      const bool upright = stretch[l][2] > 0.0;
      assert_true(!found.inverted[l] || !upright || l == 7); /* 1e-8 beside 3 is 0 to rounding */
      assert_true(found.inverted[l] || upright || l == 1 || l == 6);
      const bool flat = l == 1 || l == 6,
                 swollen = l == 5; /* which rounding decides; and which has no shear */
      if (found.elastic[l])
        assert_true((upright || flat) && (!yields(s) || (swollen && model_of(s) == MODEL_VON_MISES)));
      if (found.inverted[l]) assert_true(!found.plastic[l] && state.volume[l] == before.volume[l]);
      for (int c = 0; c < 9 && found.inverted[l]; c++) assert_true(state.f[c][l] == before.f[c][l]);
      for (int c = 0; c < 9; c++) assert_true(isfinite(state.f[c][l]));
      assert_true(isfinite(state.volume[l]) && isfinite(state.shear[l]));
    }
  }
}

/* --- particular values ------------------------------------------------------------------------------------
 */

/* Sand opens, closes, and carries again only then; broken bonds hold once closed. */
static void sand_opens_and_closes(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  for (enum subject s = SUBJECT_SAND; s <= SUBJECT_SAND_SLOPE; s++) {
    struct lane_state state = {.table = table};
    struct lane_returned found;
    lane sigma[3];
    for (int l = 0; l < WIDE; l++) {
      state.material[l] = (uint32_t)s;
      for (int d = 0; d < 3; d++) sigma[d][l] = exp(0.01 / 3.0); /* opened by 1 % of volume */
    }
    lanes->model_give_back(&state, sigma, &found);
    assert_true(found.plastic[0] && found.flowing[0] && sigma[0][0] == 1.0);
    assert_true(fabs(state.volume[0] - 0.01) < 1e-15 && state.shear[0] < 1e-15);
    int64_t open[WIDE], limited[WIDE];
    lanes->model_marks(&state, open, limited);
    assert_true(open[0] && !limited[0]);
    for (int l = 0; l < WIDE; l++) /* 0.01 back: closed; less or more */
      for (int d = 0; d < 3; d++) sigma[d][l] = exp(-0.01 / 3.0 * (l == 0 ? 1.0 : 0.25 * l));
    lanes->model_give_back(&state, sigma, &found);
    for (int l = 0; l < WIDE; l++) {
      const double left = l == 0 ? 0.0 : 0.01 - 0.0025 * l;
      const double volume = log(sigma[0][l]) + log(sigma[1][l]) + log(sigma[2][l]);
      assert_true(fabs(state.volume[l] - fmax(left, 0.0)) < 1e-15);
      assert_true(fabs(volume - fmin(left, 0.0)) < 1e-15);
      assert_true(found.plastic[l]);
    }
  }
}

/* Undeformed sand is at its tip, and stays at rest there. */
static void sand_at_rest(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  {
    struct lane_state state = {.table = table};
    struct lane_returned found;
    lane sigma[3];
    for (int l = 0; l < WIDE; l++) {
      state.material[l] = SUBJECT_SAND;
      for (int d = 0; d < 3; d++) sigma[d][l] = 1.0;
    }
    lanes->model_give_back(&state, sigma, &found);
    assert_true(found.plastic[0] && !found.flowing[0] && sigma[1][0] == 1.0);
    assert_true(state.volume[0] == 0.0 && state.shear[0] == 0.0);
  }
}

/* Isotropic tension and compression end at -beta p0 and p0; floor and cap of p0 are counted, the floor is
 * open. */
static void clay_ends_and_limits(void **unused)
{
  (void)unused;
  const struct material m = subject_material(SUBJECT_CLAY);
  const struct lame lame = material_lame(m.cam_clay.young, m.cam_clay.poisson);
  FOR_SETS(lanes)
  {
    struct lane_state state = {.table = table};
    struct lane_returned found;
    lane sigma[3], energy, tau[3];
    for (int l = 0; l < WIDE; l++) {
      state.material[l] = SUBJECT_CLAY;
      for (int d = 0; d < 3; d++) sigma[d][l] = exp(l % 2 ? 0.03 : -0.03);
    }
    const struct lane_state before = state;
    lanes->model_give_back(&state, sigma, &found);
    lanes->model_principal(&before, (const lane *)sigma, energy, tau);
    for (int d = 0; d < 3; d++) {
      assert_true(fabs(tau[d][0] + 3e4) < 1e-9 * 3e4);
      assert_true(fabs(tau[d][1] - 0.3 * 3e4) < 1e-9 * 3e4);
    }
    assert_true(fabs(state.volume[0] - (-0.09 + 3e4 / lame.bulk)) < 1e-15);
    const double start = asinh(3e4 / lame.bulk), floor = asinh(30.0 / lame.bulk);
    const lane eps = {
        0.0, start - floor - 1e-9, start - floor + 1e-9, 1.0, start - 2.0 + 1e-9, start - 2.0 - 1e-9, -3.0,
        -0.1};
    memcpy(state.volume, eps, sizeof eps);
    int64_t open[WIDE], limited[WIDE];
    const bool is_open[WIDE] = {0, 0, 1, 1, 0, 0, 0, 0}, is_limited[WIDE] = {0, 0, 1, 1, 0, 1, 1, 0};
    lanes->model_marks(&state, open, limited);
    for (int l = 0; l < WIDE; l++)
      assert_true((open[l] != 0) == is_open[l] && (limited[l] != 0) == is_limited[l]);
  }
}

/* Water keeps J alone, within its limits; a reflection stays as it is, to be found. */
static void water_keeps_volume(void **unused)
{
  (void)unused;
  const double j[WIDE] = {0.9, 1.0, 1.05, 0.5, 1.2, -0.5, 0.61, 1.09};
  FOR_SETS(lanes)
  {
    struct lane_state state = {.table = table}, before;
    struct lane_returned found;
    int64_t limited[WIDE];
    for (int l = 0; l < WIDE; l++) {
      double f[9];
      tensor_stretched(45, (uint64_t)l, 1.3, 1.0, j[l] / 1.3, f);
      for (int c = 0; c < 9; c++) state.f[c][l] = f[c];
      state.material[l] = SUBJECT_WATER;
      state.volume[l] = 1.0;
    }
    before = state;
    lanes->model_reduce(&state, limited);
    for (int l = 0; l < WIDE; l++) {
      const double kept = fmax(0.6, fmin(j[l], 1.1));
      for (int c = 0; c < 9; c++) {
        if (j[l] < 0.0)
          assert_true(state.f[c][l] == before.f[c][l]);
        else
          assert_true(fabs(state.f[c][l] - (c % 4 ? 0.0 : cbrt(kept))) < 1e-15);
      }
      assert_true((limited[l] != 0) == (l == 3 || l == 4));
    }
    before = state;
    lanes->model_return(&state, &found);
    for (int l = 0; l < WIDE; l++) {
      assert_true(!found.plastic[l] && (found.inverted[l] != 0) == (j[l] < 0.0));
      assert_true((found.elastic[l] != 0) == (j[l] > 0.0));
    }
    assert_memory_equal(state.f, before.f, sizeof state.f);
  }
}

/* Pressure by its formula, none where it would pull; viscous stress J eta (C + C^T - 2/3 tr C I). */
static void water_presses(void **unused)
{
  (void)unused;
  FOR_SETS(lanes)
  for (enum subject s = SUBJECT_WATER; s <= SUBJECT_WATER_LINEAR; s++) {
    const struct material m = subject_material(s);
    struct lane_state state = {.table = table};
    struct lane_stress out;
    lane c[9], viscous[9];
    for (int l = 0; l < WIDE; l++) {
      for (int k = 0; k < 9; k++) {
        state.f[k][l] = k % 4 ? 0.0 : cbrt(0.65 + 0.06 * l);
        c[k][l] = tensor_random(46, (uint64_t)l, (uint64_t)k);
      }
      state.material[l] = (uint32_t)s;
    }
    lanes->model_stress(&state, &out);
    lanes->model_viscous(&state, (const lane *)c, viscous);
    for (int l = 0; l < WIDE; l++) {
      const double j = 0.65 + 0.06 * l, gamma = m.water.exponent, mean = (c[0][l] + c[4][l] + c[8][l]) / 3.0;
      double pressure = m.water.bulk_modulus / gamma * (pow(j, -gamma) - 1.0);
      if (m.water.tension == 0.0) pressure = fmax(pressure, 0.0);
      for (int k = 0; k < 9; k++) {
        const double strain = c[k][l] + c[3 * (k % 3) + k / 3][l] - (k % 4 ? 0.0 : 2.0 * mean);
        assert_true(fabs(out.tau[k][l] + (k % 4 ? 0.0 : j * pressure)) < 1e-9 * m.water.bulk_modulus);
        assert_true(fabs(viscous[k][l] - j * m.water.viscosity * strain) < 1e-14);
      }
    }
  }
}

/* --- the operator that flows ------------------------------------------------------------------------------
 */

static void get(const lane a[9], int l, double out[9])
{
  for (int c = 0; c < 9; c++) out[c] = a[c][l];
}

/* Puts a lane on its yield surface by returning a trial beyond it. */
static void put_on_surface(const struct lanes *lanes, enum subject subject, uint64_t k,
                           struct lane_state *state)
{
  struct lane_returned found;
  lane before;
  *state = (struct lane_state){.table = table};
  for (int l = 0; l < WIDE; l++) {
    double dev[3], f[9];
    subject_deviator(47, k + (uint64_t)l, dev);
    const double e = model_of(subject) == MODEL_CAM_CLAY ? -0.03 * rng_uniform(47, k + (uint64_t)l, 1) : 0.01;
    tensor_stretched(47, k + (uint64_t)l, exp(e / 3 + 0.02 * dev[0]), exp(e / 3 + 0.02 * dev[1]),
                     exp(e / 3 + 0.02 * dev[2]), f);
    for (int c = 0; c < 9; c++) state->f[c][l] = f[c];
    state->material[l] = (uint32_t)subject;
    state->flowing[l] = -1;
  }
  memcpy(before, state->volume, sizeof before);
  lanes->model_return(state, &found);
  for (int l = 0; l < WIDE; l++) assert_true(found.plastic[l] && found.flowing[l]);
  memcpy(state->volume, before, sizeof before); /* the strength that it was returned with */
}

/* tau(return of F + s g F) (F + s g F)^-T F^T. */
static void returned_stress(const struct lanes *lanes, const struct lane_state *state, double s,
                            const lane g[9], double out[WIDE][9], bool loading[WIDE])
{
  struct lane_state trial = *state, moved;
  struct lane_returned found;
  struct lane_stress stress;
  for (int l = 0; l < WIDE; l++) {
    double f[9], along[9], step[9];
    get(state->f, l, f);
    get(g, l, along);
    tensor_multiply(along, f, step);
    for (int c = 0; c < 9; c++) trial.f[c][l] = f[c] + s * step[c];
  }
  moved = trial;
  lanes->model_return(&moved, &found);
  lanes->model_stress(&moved, &stress);
  for (int l = 0; l < WIDE; l++) {
    double f[9], ft[9], at[9], tau[9], cofactor[9], p[9];
    get(state->f, l, f);
    get((const lane *)trial.f, l, at);
    get((const lane *)stress.tau, l, tau);
    tensor_cofactor(at, cofactor);
    for (int c = 0; c < 9; c++) cofactor[c] /= tensor_determinant(at);
    tensor_multiply(tau, cofactor, p);
    tensor_transpose(f, ft);
    tensor_multiply(p, ft, out[l]);
    loading[l] = found.plastic[l] != 0;
  }
}

/* For clay and von Mises without hardening: the tangent of a state on the surface is the derivative of the
 * returned stress under loading. */
static void flow_is_the_derivative_of_the_returned_stress(void **unused)
{
  (void)unused;
  const enum subject subjects[] = {SUBJECT_CLAY, SUBJECT_CLAY_DENSE, SUBJECT_VON_MISES};
  FOR_SETS(lanes)
  for (size_t n = 0; n < 3; n++) {
    const struct material m = subject_material(subjects[n]);
    double worst = 0.0;
    int tried = 0;
    for (uint64_t k = 0; k < 800; k += WIDE) {
      struct lane_state state;
      lane g[9], tangent[9];
      double p[4][WIDE][9];
      bool loading[4][WIDE];
      const double s = 2e-8,
                   steps[4] = {0.0, s, 2.0 * s, 0.01 * s}; /* the last leaves neutral directions out */
      put_on_surface(lanes, subjects[n], k, &state);
      for (int l = 0; l < WIDE; l++)
        for (uint64_t c = 0; c < 9; c++) g[c][l] = tensor_random(48, k + (uint64_t)l, c);
      for (int i = 0; i < 4; i++) returned_stress(lanes, &state, steps[i], (const lane *)g, p[i], loading[i]);
      lanes->model_tangent(&state, (const lane *)g, tangent);
      for (int l = 0; l < WIDE; l++) {
        if (!loading[1][l] || !loading[2][l] || !loading[3][l]) continue;
        tried++;
        for (int c = 0; c < 9; c++) {
          const double slope = (4.0 * p[1][l][c] - p[2][l][c] - 3.0 * p[0][l][c]) / (2.0 * s);
          worst = fmax(worst, fabs(slope - tangent[c][l]));
        }
      }
    }
    worst /= material_stiffness(&m);
    print_message("%s: %s: flow against differences %.1e of the stiffness, %d loadings\n", lanes->name,
                  subject_names[subjects[n]], worst, tried);
    assert_true(tried > 200 && worst < 1e-6);
  }
}

/* Sand loses 2 mu along its deviator, and nothing where the material asks for the elastic operator, where
 * there is no deviator, or where it does not flow. */
static void sand_flow(void **unused)
{
  (void)unused;
  struct material m = subject_material(SUBJECT_SAND);
  struct material_constants two[2];
  const struct lame lame = material_lame(m.sand.young, m.sand.poisson);
  assert_true(m.flow);
  material_constants(&m, &two[0]);
  m.flow = false;
  material_constants(&m, &two[1]);
  FOR_SETS(lanes)
  {
    struct lane_state state = {.table = two};
    lane g[9] = {{0}}, tangent[9];
    for (int l = 0; l < WIDE; l++) {
      const double n = l == 3 ? 5e-6 : 5e-3;
      state.material[l] = l == 1;
      state.flowing[l] = l == 2 ? 0 : -1;
      for (int d = 0; d < 3; d++) {
        const double dev = d == 0 ? sqrt(0.5) : d == 1 ? -sqrt(0.5) : 0.0;
        state.f[4 * d][l] = exp(-0.003 + n * dev);
        g[4 * d][l] = dev; /* along the deviator */
      }
    }
    lanes->model_tangent(&state, (const lane *)g, tangent);
    for (int l = 0; l < 4; l++) { /* A_00 = sum_j t_0j G_jj - tau_0 G_00 */
      const double n = l == 3 ? 5e-6 : 5e-3,
                   tau = 2.0 * lame.mu * (-0.003 + n * sqrt(0.5)) - lame.lambda * 0.009;
      const double along = (l == 0 ? 0.0 : 2.0 * lame.mu) - tau;
      assert_true(fabs(tangent[0][l] - along * sqrt(0.5)) < 1e-12 * lame.mu);
    }
  }
}

/* What has opened, is broken or is water has no part in the operator. */
static void open_has_no_tangent(void **unused)
{
  (void)unused;
  const enum subject subject[WIDE] = {SUBJECT_SAND,  SUBJECT_SAND,     SUBJECT_SAND_SLOPE,
                                      SUBJECT_CLAY,  SUBJECT_CLAY,     SUBJECT_CLAY_DENSE,
                                      SUBJECT_WATER, SUBJECT_VON_MISES};
  const lane volume = {2e-5, 0.9e-5, 0.01, 0.1, -0.1, 0.1, 1.0, 0.0};
  const bool is_open[WIDE] = {true, false, true, true, false, true, true, false};
  FOR_SETS(lanes)
  {
    struct lane_state state = {.table = table};
    lane g[9], tangent[9];
    for (int l = 0; l < WIDE; l++) {
      double f[9];
      tensor_stretched(50, (uint64_t)l, 0.99, 0.98, 0.97, f);
      for (int c = 0; c < 9; c++) {
        state.f[c][l] = f[c];
        g[c][l] = tensor_random(50, (uint64_t)l, 1 + (uint64_t)c);
      }
      state.material[l] = (uint32_t)subject[l];
      state.volume[l] = volume[l];
    }
    lanes->model_tangent(&state, (const lane *)g, tangent);
    for (int l = 0; l < WIDE; l++)
      for (int c = 0; c < 9; c++) assert_true((tangent[c][l] == 0.0) == is_open[l]);
  }
}

static int make_table(void **unused)
{
  (void)unused;
  subject_table(table);
  for (int k = 0; k < SUBJECTS; k++) {
    materials[k] = subject_material((enum subject)k);
    starts[k] = subject_start((enum subject)k);
  }
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(returns_keep_what_they_must),
      cmocka_unit_test(returns_end_on_the_surface),
      cmocka_unit_test(clay_ends_on_its_ellipse),
      cmocka_unit_test(surely_elastic_is_elastic),
      cmocka_unit_test(bound_is_right_and_tight),
      cmocka_unit_test(wild_states),
      cmocka_unit_test(sand_opens_and_closes),
      cmocka_unit_test(sand_at_rest),
      cmocka_unit_test(clay_ends_and_limits),
      cmocka_unit_test(water_keeps_volume),
      cmocka_unit_test(water_presses),
      cmocka_unit_test(flow_is_the_derivative_of_the_returned_stress),
      cmocka_unit_test(sand_flow),
      cmocka_unit_test(open_has_no_tangent),
  };
  return cmocka_run_group_tests(tests, make_table, NULL);
}
