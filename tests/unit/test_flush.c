/* Subnormal numbers are zero in everything that a crew runs, on each of its threads, and nowhere else. */
#include "base/flush.h"
#include "kernels/crew.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { THREADS = 3, TILES = 12 };

static volatile double least = DBL_MIN;
static volatile float least_single = FLT_MIN;

/* Both ways into the range of subnormal numbers, and a sum of two that are there already. */
static bool subnormals_are_there(void)
{
  static volatile double below = DBL_TRUE_MIN;
  return least * 0.5 != 0.0 || least_single * 0.5F != 0.0F || below * 0x1p1000 != 0.0;
}

static void look_at_tiles(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  bool *seen = arguments;
  (void)worker;
  for (int32_t tile = begin; tile < end; tile++) seen[tile] = subnormals_are_there();
}

static void crews_flush(void **state)
{
  (void)state;
  const struct grid_geometry geometry = {.support = 4, .spacing = 1.0, .inverse = 1.0};
  struct grid *grid = grid_create(&geometry);
  struct crew crew = {0};
  bool seen[TILES];
  for (int k = 0; k < TILES; k++) seen[k] = true;
  crew_create(&crew, THREADS, kernels_get(ISA_BASE));
  grid->threads = THREADS;
  grid->tile_count = TILES;
  crew_tiles(&crew, grid, look_at_tiles, seen, TILES, NULL, 0);
  grid->tile_count = 0;
  for (int k = 0; k < TILES; k++) assert_false(seen[k]);
  crew_free(&crew);
  grid_destroy(&grid);
}

static void callers_do_not(void **state)
{
  (void)state;
  assert_true(subnormals_are_there());
  const flush_mode mode = flush_begin();
  const bool inside = subnormals_are_there();
  flush_end(mode);
  assert_false(inside);
  assert_true(subnormals_are_there());
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(crews_flush), cmocka_unit_test(callers_do_not)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
