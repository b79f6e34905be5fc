/* The checks of whole structures pass on a running simulation and notice every kind of damage. */
#include "support/physics.h"

#include "decomposition/slabs.h"

static const char scene[] =
    "domain: {lower: [0, 0, 0], cells: [24, 24, 40], spacing: 0.02}\n"
    "time: {end: 1, step: 2e-4}\n"
    "integrator: {scheme: explicit}\n"
    "snow:\n"
    "  - {box: {lower: [0.1, 0.1, 0.1], upper: [0.3, 0.2, 0.6]}, per_cell: 4, velocity: [2, -3, 4]}\n";

static bool is_valid(const struct run *run)
{
  const struct sim *sim = run->sim;
  return slabs_is_valid(sim->mesh.slabs) && grid_is_valid(sim->mesh.grid) &&
         order_is_valid(&sim->order, sim->p, sim->mesh.grid);
}

static void start_moving(struct run *run)
{
  run_start(run, scene);
  for (int k = 0; k < 25; k++) {
    assert_true(is_valid(run));
    run_advance(run, 2e-4);
  }
  assert_true(is_valid(run));
}

#define NOTICES(run, place, value)                                                                           \
  do {                                                                                                       \
    const __typeof__(place) before = (place);                                                                \
    (place) = (value);                                                                                       \
    assert_false(is_valid(run));                                                                             \
    (place) = before;                                                                                        \
    assert_true(is_valid(run));                                                                              \
  } while (0)

static void test_grid(void **state)
{
  (void)state;
  struct run run;
  start_moving(&run);
  struct grid *g = run.sim->mesh.grid;
  struct block_set *set = &g->blocks;
  const int32_t c = g->cell_count / 2;
  int32_t used = 0;
  while (g->layer_block[used + 1] == g->layer_block[used]) used++;
  NOTICES(&run, g->cell_key[c], g->cell_key[c] + BLOCK_CELLS);
  NOTICES(&run, g->cell_key[c], g->cell_key[c - 1]);
  NOTICES(&run, g->cell_start[c], g->cell_start[c + 1]);
  NOTICES(&run, set->key[1], set->key[0]);
  NOTICES(&run, set->first[1], set->first[2]);
  NOTICES(&run, set->reach[0], 0);
  NOTICES(&run, set->brick[0], set->brick[0] + 1);
  NOTICES(&run, set->of_brick[0], set->of_brick[0] + 1);
  NOTICES(&run, set->inside[1], set->count + 1);
  NOTICES(&run, g->brick_key[1], g->brick_key[0]);
  NOTICES(&run, g->layer_brick[used + 1], g->layer_brick[used + 1] + 1);
  NOTICES(&run, g->layer_block[used + 1], set->count + 1);
  NOTICES(&run, g->tile_count, g->tile_count - 1);
  run_end(&run);
}

static void test_order(void **state)
{
  (void)state;
  struct run run;
  start_moving(&run);
  struct sim *sim = run.sim;
  NOTICES(&run, sim->order.slot[5], sim->order.slot[6]);
  NOTICES(&run, sim->order.home[5], sim->order.home[6]);
  NOTICES(&run, sim->order.home[5], -1);
  NOTICES(&run, sim->p->id[sim->order.home[0]], UINT64_MAX);
  NOTICES(&run, sim->p->x[1][sim->order.slot[7]], sim->p->x[1][sim->order.slot[7]] + 0.02);
  run_end(&run);
}

static void test_slabs(void **state)
{
  (void)state;
  int64_t weight[30];
  for (int k = 0; k < 30; k++) weight[k] = 1 + k % 5;
  struct slabs *slabs = slabs_create(4, 30, (struct slab_work){.weight = weight});
  assert_true(slabs_is_valid(slabs));
  const int32_t cut = slabs->cut[1];
  slabs->cut[1] = 0;
  assert_false(slabs_is_valid(slabs));
  slabs->cut[1] = cut;
  slabs->cut[0] = 1;
  assert_false(slabs_is_valid(slabs));
  slabs->cut[0] = 0;
  slabs->cut[4] = 29;
  assert_false(slabs_is_valid(slabs));
  slabs_destroy(&slabs);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_grid),
    cmocka_unit_test(test_order),
    cmocka_unit_test(test_slabs),
};

PHYSICS_MAIN(tests);
