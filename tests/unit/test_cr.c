/* The conjugate residual solve on a system whose answer is known: H is diagonal, so (1 + factor d) v = v*,
 * node by node. It stops as soon as |r| <= tolerance |v*| in the mass norm, or tolerance times a scale, and
 * not before; nodes in contact keep v*; an indefinite operator is solved too; the preconditioner changes the
 * way and not the answer. */
#include "base/memory.h"
#include "base/rng.h"
#include "solver/cr.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CELLS = 26 };
static const double factor = 0.37;

struct problem {
  struct grid *grid;
  struct crew crew;
  int64_t doubles; /* of a field */
  double *start;   /* v*, with the contact flags */
  double *diagonal;
};

static void apply_diagonal(void *context, enum node_field in, enum node_field out)
{
  const struct problem *p = context;
  const double *momentum = p->grid->node[NODE_MOMENTUM], *from = p->grid->node[in];
  grid_clear(p->grid, out);
  for (int64_t k = 0; k < p->doubles; k++)
    p->grid->node[out][k] = k % 4 ? momentum[k - k % 4] * p->diagonal[k] * from[k] : 0.0;
}

/* The diagonals that are told to the solver, for the two products below. */
static double told; /* of the true one */

static void apply_diagonal_first(void *context, enum node_field in, enum node_field out)
{
  const struct problem *p = context;
  apply_diagonal(context, in, out);
  for (int64_t k = 0; k < p->doubles; k += 4)
    p->grid->node[out][k] = told * p->grid->node[NODE_MOMENTUM][k] * p->diagonal[k + 1];
}

static void reduce_alone(void *context, struct exact_sum *sums, int count)
{
  (void)context;
  (void)sums;
  (void)count;
}

static void end_alone(void *context)
{
  (void)context;
}

static int by_key(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Random masses and v*; d between low and high; every n-th node in contact (0: none). */
static void make(struct problem *p, int threads, double low, double high, int contact)
{
  const struct grid_geometry frame = {
      .support = 4, .axis = {0, 1, 2}, .spacing = 1.0, .inverse = 1.0, .cells = {CELLS, CELLS, CELLS}};
  uint64_t key[CELLS];
  int32_t first[CELLS + 1];
  for (int k = 0; k <= CELLS; k++) first[k] = k;
  for (int k = 0; k < CELLS; k++) key[k] = grid_key(k, (7 * k) % CELLS, (3 * k) % CELLS);
  qsort(key, CELLS, sizeof *key, by_key);
  *p = (struct problem){.grid = grid_create(&frame)};
  crew_create(&p->crew, threads, kernels_get(ISA_BASE));
  grid_collect(p->grid, 0, grid_layers(&frame), &(struct grid_cells){CELLS, key, first});
  grid_number(p->grid, false, false, (struct grid_extra[2]){{NULL, 0}});
  for (int group = 0; group < NODE_FIELDS; group++) grid_clear(p->grid, (enum node_field)group);
  p->doubles = (int64_t)p->grid->tile_count * TILE_DOUBLES;
  p->start = mem_alloc((size_t)p->doubles, sizeof *p->start);
  p->diagonal = mem_alloc((size_t)p->doubles, sizeof *p->diagonal);
  for (int64_t k = 0; k < p->doubles; k++) {
    const uint64_t n = (uint64_t)k;
    p->diagonal[k] = low + (high - low) * rng_uniform(1, n, 0);
    if (low < 0.0 && fabs(p->diagonal[k]) < 5.0) p->diagonal[k] += 10.0; /* nothing near -1 / factor */
    if (k % 4)
      p->start[k] = rng_uniform(2, n, 0) - 0.5;
    else
      p->start[k] = contact && k / 4 % contact == 0 ? 1.0 : 0.0;
    if (k % 4 == 0) p->grid->node[NODE_MOMENTUM][k] = 0.1 + rng_uniform(3, n, 0);
  }
}

static void destroy(struct problem *p)
{
  mem_free(p->start);
  mem_free(p->diagonal);
  crew_free(&p->crew);
  grid_destroy(&p->grid);
  assert_int_equal(mem_balance(), 0);
}

static struct cr_system system_of(struct problem *p)
{
  return (struct cr_system){.grid = p->grid,
                            .crew = &p->crew,
                            .kernels = kernels_get(isa_detect()),
                            .unknown = NODE_VELOCITY,
                            .weight = NODE_MOMENTUM,
                            .fixed = NODE_VELOCITY,
                            .factor = factor,
                            .owned_tiles = p->grid->tile_count,
                            .context = p,
                            .product = apply_diagonal,
                            .reduce = reduce_alone,
                            .reduce_begin = reduce_alone,
                            .reduce_end = end_alone};
}

static void restart(struct problem *p)
{
  memcpy(p->grid->node[NODE_VELOCITY], p->start, (size_t)p->doubles * sizeof *p->start);
}

static struct cr_result solve(struct problem *p, double tolerance, int most)
{
  const struct cr_system system = system_of(p);
  restart(p);
  return cr_solve(&system, tolerance, most);
}

/* |v* - A v| / |v*| over the free nodes; contact must be as it was. */
static double residual(const struct problem *p)
{
  const double *momentum = p->grid->node[NODE_MOMENTUM], *v = p->grid->node[NODE_VELOCITY];
  double rest = 0.0, norm = 0.0;
  for (int64_t k = 0; k < p->doubles; k++) {
    const int64_t node = k - k % 4;
    if (p->start[node] != 0.0) assert_true(v[k] == p->start[k]);
    if (k % 4 == 0 || p->start[node] != 0.0) continue;
    const double r = p->start[k] - (1.0 + factor * p->diagonal[k]) * v[k];
    rest += momentum[node] * r * r;
    norm += momentum[node] * p->start[k] * p->start[k];
  }
  return sqrt(rest / norm);
}

static void stops_where_it_should(double low, double high, int contact)
{
  static const double tolerances[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9};
  struct problem p;
  make(&p, 1, low, high, contact);
  int before = 0;
  for (size_t k = 0; k < sizeof tolerances / sizeof *tolerances; k++) {
    const double tolerance = tolerances[k];
    const struct cr_result whole = solve(&p, tolerance, 500);
    print_message("[%g, %g] contact %d, tolerance %g: %d iterations, residual %g (%g)\n", low, high, contact,
                  tolerance, whole.iterations, whole.residual, residual(&p));
    assert_true(whole.converged && whole.iterations >= before && whole.iterations > 0);
    assert_true(residual(&p) <= tolerance * (1.0 + 1e-6));
    assert_true(fabs(whole.residual / residual(&p) - 1.0) < 1e-3);
    before = whole.iterations;
    const struct cr_result less = solve(&p, tolerance, whole.iterations - 1);
    assert_true(!less.converged && less.iterations == whole.iterations - 1);
    assert_true(residual(&p) > tolerance * (1.0 - 1e-6));
  }
  assert_true(before > 5);
  destroy(&p);
}

static void test_tolerance(void **state)
{
  (void)state;
  stops_where_it_should(0.0, 100.0, 0);
  stops_where_it_should(0.0, 100.0, 5);
  stops_where_it_should(-8.0, 60.0, 0); /* 1 + factor d of both signs */
}

static void test_at_rest(void **state)
{
  (void)state;
  struct problem p;
  make(&p, 1, 0.0, 100.0, 0);
  memset(p.start, 0, (size_t)p.doubles * sizeof *p.start);
  const struct cr_result result = solve(&p, 1e-4, 500);
  assert_true(result.converged && result.iterations == 0);
  destroy(&p);
}

typedef struct cr_result solver(const struct cr_system *system, double tolerance, int most);
static solver *const solvers[] = {cr_solve, cr_solve_pipelined};

/* sqrt of the mass of the free nodes. */
static double root_mass(const struct problem *p)
{
  double mass = 0.0;
  for (int64_t k = 0; k < p->doubles; k += 4)
    if (p->start[k] == 0.0) mass += p->grid->node[NODE_MOMENTUM][k];
  return sqrt(mass);
}

static double start_norm(const struct problem *p)
{
  double norm = 0.0;
  for (int64_t k = 0; k < p->doubles; k++)
    if (k % 4 && p->start[k - k % 4] == 0.0)
      norm += p->grid->node[NODE_MOMENTUM][k - k % 4] * p->start[k] * p->start[k];
  return sqrt(norm);
}

/* |v* - mean v*| over the free nodes. */
static double start_spread(const struct problem *p)
{
  double spread = 0.0, mean[4] = {0.0};
  const double mass = root_mass(p) * root_mass(p);
  for (int pass = 0; pass < 2; pass++)
    for (int64_t k = 0; k < p->doubles; k++) {
      if (k % 4 == 0 || p->start[k - k % 4] != 0.0) continue;
      const double weight = p->grid->node[NODE_MOMENTUM][k - k % 4], off = p->start[k] - mean[k % 4];
      if (pass == 0)
        mean[k % 4] += weight * p->start[k] / mass;
      else
        spread += weight * off * off;
    }
  return sqrt(spread);
}

/* The first |r| <= tolerance scale sqrt(mass) of the free nodes, and none before; at least so exact that it
 * is small beside what moves, or beside what counts as moving. */
static void test_scale(void **state)
{
  (void)state;
  for (int way = 0; way < 2; way++)
    for (int contact = 0; contact <= 5; contact += 5) {
      struct problem p;
      make(&p, 1, 0.0, 100.0, contact);
      struct cr_system system = system_of(&p);
      system.stop = CR_STOP_SCALE;
      for (int64_t k = 0; k < p.doubles; k++)
        if (k % 4 == 2) p.start[k] += 3.0; /* all move, and that does not count */
      for (double tolerance = 1e-3; tolerance > 1e-9; tolerance *= 0.1) {
        system.scale = tolerance > 5e-5 ? 1e5 : 17.0;
        system.least = tolerance > 5e-4 ? 2.0 : 0.0;
        const double moving = fmax(start_spread(&p), system.least * root_mass(&p));
        const double limit = fmin(tolerance * system.scale * root_mass(&p), 1e-3 * moving) / start_norm(&p);
        restart(&p);
        const struct cr_result whole = solvers[way](&system, tolerance, 500);
        assert_true(whole.converged && whole.iterations > 0 && residual(&p) <= limit * (1.0 + 1e-5));
        restart(&p);
        const struct cr_result less = solvers[way](&system, tolerance, whole.iterations - 1);
        assert_true(!less.converged && residual(&p) > limit * (1.0 - 1e-5));
      }
      destroy(&p);
    }
}

/* Springs between neighbours along a row do not see that all move. */
static void apply_springs(void *context, enum node_field in, enum node_field out)
{
  const struct problem *p = context;
  const double *from = p->grid->node[in];
  double *to = p->grid->node[out];
  grid_clear(p->grid, out);
  for (int64_t k = 0; k + 8 <= p->doubles; k += 4)
    for (int64_t d = 1; d < 4; d++) {
      const double force = p->diagonal[k] * (from[k + d] - from[k + 4 + d]);
      to[k + d] += force;
      to[k + 4 + d] -= force;
    }
}

static void apply_springs_first(void *context, enum node_field in, enum node_field out)
{
  const struct problem *p = context;
  apply_springs(context, in, out);
  for (int64_t k = 0; k < p->doubles; k += 4) p->grid->node[out][k] = 2.0 * p->diagonal[k];
}

static void test_moving_frame(void **state)
{
  (void)state;
  for (int way = 0; way < 2; way++) {
    struct problem p;
    make(&p, 1, 0.0, 100.0, 0);
    struct cr_system system = system_of(&p);
    system.product = apply_springs;
    int iterations[2][2];
    for (int moves = 0; moves < 2; moves++) {
      for (int64_t k = 0; moves && k < p.doubles; k++)
        if (k % 4) p.start[k] += 300.0;
      for (int stop = 0; stop < 2; stop++) {
        system.stop = stop ? CR_STOP_SCALE : CR_STOP_SIZE;
        system.scale = 1.0;
        restart(&p);
        iterations[stop][moves] = solvers[way](&system, 1e-5, 500).iterations;
      }
    }
    print_message("at rest and moving: %d and %d iterations by size, %d and %d by scale\n", iterations[0][0],
                  iterations[0][1], iterations[1][0], iterations[1][1]);
    assert_true(iterations[0][1] < iterations[0][0] && iterations[1][1] == iterations[1][0]);
    destroy(&p);
  }
}

/* The operator keeps momentum, and so must the preconditioned solve, wherever it stops. The pipelined solve
 * finds its products by recurrences, which round: it keeps fewer digits. */
static void test_momentum(void **state)
{
  (void)state;
  for (int way = 0; way < 2; way++)
    for (double tolerance = 0.1; tolerance > 1e-4; tolerance *= 0.1) {
      struct problem p;
      make(&p, 1, 0.0, 100.0, 0);
      struct cr_system system = system_of(&p);
      system.product = apply_springs;
      system.first_product = apply_springs_first;
      system.balanced = true;
      restart(&p);
      const struct cr_result result = solvers[way](&system, tolerance, 500);
      double before[4] = {0.0}, lost[4] = {0.0};
      for (int64_t k = 0; k < p.doubles; k++) {
        const double mass = p.grid->node[NODE_MOMENTUM][k - k % 4];
        before[k % 4] += mass * fabs(p.start[k]);
        lost[k % 4] += mass * (p.grid->node[NODE_VELOCITY][k] - p.start[k]);
      }
      assert_true(result.converged && result.iterations > 0);
      print_message("momentum lost, of %g: %.1e %.1e %.1e\n", before[1], lost[1], lost[2], lost[3]);
      for (int d = 1; d < 4; d++) assert_true(fabs(lost[d]) < (way ? 1e-11 : 1e-14) * before[d]);
      destroy(&p);
    }
}

/* The largest sum of M v* - (M + factor H) v over the free nodes along an axis. */
static double sum_of_residual(struct problem *p, const struct cr_system *system)
{
  const double *momentum = p->grid->node[NODE_MOMENTUM], *v = p->grid->node[NODE_VELOCITY];
  double sum[4] = {0.0};
  system->product(p, NODE_VELOCITY, NODE_A_RESIDUAL);
  for (int64_t k = 0; k < p->doubles; k++)
    if (p->start[k - k % 4] == 0.0)
      sum[k % 4] += momentum[k - k % 4] * (p->start[k] - v[k]) - factor * p->grid->node[NODE_A_RESIDUAL][k];
  return fmax(fabs(sum[1]), fmax(fabs(sum[2]), fabs(sum[3])));
}

/* Nodes that are held resist a velocity that all others share. What a stopped solve leaves sums to nought all
 * the same: to a hundredth of what the stop would allow. */
static void test_held(void **state)
{
  (void)state;
  for (int way = 0; way < 2; way++)
    for (int contact = 3; contact <= 300; contact *= 10)
      for (int stiff = 0; stiff < 2; stiff++) {
        const double tolerance = 0.03;
        struct problem p;
        make(&p, 1, 0.0, 100.0, contact);
        for (int64_t k = 0; k < p.doubles; k++)
          if (k % 4) p.start[k] += (double)(k % 4) - 3.0; /* three axes of their own, one of which rests */
        struct cr_system system = system_of(&p);
        system.product = apply_springs;
        if (stiff) system.first_product = apply_springs_first;
        double norm = 0.0, mass = 0.0, left[2];
        for (int64_t k = 0; k < p.doubles; k++) {
          if (p.start[k - k % 4] != 0.0) continue;
          if (k % 4)
            norm += p.grid->node[NODE_MOMENTUM][k - k % 4] * p.start[k] * p.start[k];
          else
            mass += p.grid->node[NODE_MOMENTUM][k];
        }
        for (int balanced = 0; balanced < 2; balanced++) {
          system.balanced = balanced;
          system.held = 1;
          restart(&p);
          assert_true(solvers[way](&system, tolerance, 500).converged);
          left[balanced] = sum_of_residual(&p, &system) / (tolerance * sqrt(norm * mass));
        }
        print_message("every %d-th node held: residual sums to %.2g of what is allowed, %.2g unbalanced\n",
                      contact, left[1], left[0]);
        assert_true(left[0] > 0.011 && left[1] < 0.011);
        destroy(&p);
      }
}

/* A few nodes that are far stiffer than the rest cost iterations; known to the solver, they cost none. What
 * it is told need not be exact, and without stiff nodes it makes no difference. */
static void test_preconditioner(void **state)
{
  (void)state;
  for (int way = 0; way < 2; way++)
    for (int contact = 0; contact <= 5; contact += 5)
      for (int part = 0; part < 3; part++) {
        struct problem p;
        make(&p, 1, 1.0, 2.0, contact);
        struct cr_system system = system_of(&p);
        restart(&p);
        const int soft = solvers[way](&system, 1e-9, 500).iterations;
        for (int64_t k = 0; k < p.doubles; k += 4) {
          if (k / 4 % 64 == 3) p.diagonal[k] *= 1000.0 * rng_uniform(4, (uint64_t)k, 0);
          for (int d = 1; d < 4; d++) p.diagonal[k + d] = p.diagonal[k];
        }
        restart(&p);
        const int before = solvers[way](&system, 1e-9, 500).iterations;
        system.first_product = apply_diagonal_first;
        told = part == 0 ? 1.0 : part == 1 ? 0.9 : 0.0;
        restart(&p);
        const struct cr_result result = solvers[way](&system, 1e-9, 500);
        print_message("diagonal, case %d: %d iterations, %d without, %d without stiff nodes\n", part,
                      result.iterations, before, soft);
        assert_true(result.converged && residual(&p) <= 1e-9 * (1.0 + factor * 2000.0));
        if (part < 2) assert_true(result.iterations < 2 * soft && result.iterations < before / 3);
        if (part == 2) assert_int_equal(result.iterations, before);
        destroy(&p);
      }
}

/* Threads and nothing else: the same bits. */
static void test_threads(void **state)
{
  (void)state;
  struct problem one, two;
  make(&one, 1, 0.0, 100.0, 7);
  make(&two, 2, 0.0, 100.0, 7);
  const struct cr_result a = solve(&one, 1e-6, 500), b = solve(&two, 1e-6, 500);
  assert_int_equal(a.iterations, b.iterations);
  assert_memory_equal(one.grid->node[NODE_VELOCITY], two.grid->node[NODE_VELOCITY],
                      (size_t)one.doubles * sizeof(double));
  mem_free(two.start);
  mem_free(two.diagonal);
  crew_free(&two.crew);
  grid_destroy(&two.grid);
  destroy(&one);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tolerance),      cmocka_unit_test(test_at_rest),
      cmocka_unit_test(test_scale),          cmocka_unit_test(test_moving_frame),
      cmocka_unit_test(test_preconditioner), cmocka_unit_test(test_momentum),
      cmocka_unit_test(test_held),           cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
