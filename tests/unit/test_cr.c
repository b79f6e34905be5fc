/* The conjugate residual solve on a system whose answer is known: H is diagonal, so (1 + factor d) v = v*,
 * node by node. It stops as soon as |r| <= tolerance |v*| in the mass norm, and not before; nodes in contact
 * keep v*; an indefinite operator is solved too. */
#include "base/memory.h"
#include "base/rng.h"
#include "solver/cr.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { CELLS = 40 };
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

static void reduce_alone(void *context, struct exact_sum *sums, int count)
{
  (void)context;
  (void)sums;
  (void)count;
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
  *p = (struct problem){.grid = grid_create(&frame)};
  crew_create(&p->crew, threads);
  grid_collect(p->grid, 0, CELLS, &(struct grid_cells){CELLS, key, first});
  grid_number(p->grid, false, false, (struct grid_extra[2 * (MAX_SUPPORT - 1)]){{NULL, 0}});
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

static struct cr_result solve(struct problem *p, double tolerance, int most)
{
  const struct cr_system system = {.grid = p->grid,
                                   .crew = &p->crew,
                                   .kernels = kernels_get(isa_detect()),
                                   .unknown = NODE_VELOCITY,
                                   .weight = NODE_MOMENTUM,
                                   .fixed = NODE_VELOCITY,
                                   .factor = factor,
                                   .owned_tiles = p->grid->tile_count,
                                   .context = p,
                                   .product = apply_diagonal,
                                   .reduce = reduce_alone};
  memcpy(p->grid->node[NODE_VELOCITY], p->start, (size_t)p->doubles * sizeof *p->start);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tolerance), cmocka_unit_test(test_at_rest),
                                     cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
