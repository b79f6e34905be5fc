/* Moving cuts: with those it moves to, the busiest rank of the step before has exactly the least work that
 * any cuts allow, the cuts keep up
 * with a bar that flies through the domain, and the same run moves its cuts in the same steps again. */
#include "io/scene/scene.h"
#include "sim/balance.h"
#include "sim/sim.h"
#include "support/check.h"

#include <string.h>

static struct comm comm;

static struct sim *create(const char *text, struct scene **scene)
{
  struct error err = {0};
  struct sim *sim = NULL;
  CHECK_TEXT(scene_parse(scene, "balance.yml", text, NULL, 0, &err) == FIRN_OK, err.text);
  CHECK_TEXT(sim_create(&sim, &comm, *scene, ISA_COUNT, &err) == FIRN_OK, err.text);
  return sim;
}

static void step(struct sim *sim)
{
  struct error err = {0};
  CHECK_TEXT(sim_step(sim, &err) == FIRN_OK, err.text);
}

/* Work of all layers as the ranks tell it now: of blocks, and of bricks. */
struct layers {
  int32_t count;
  int64_t *blocks, *bricks;
};

static struct layers gather_layers(const struct sim *sim)
{
  const struct grid *g = sim->mesh.grid;
  const int32_t count = sim->mesh.slabs->layers;
  struct layers p = {count, mem_alloc((size_t)count, sizeof(int64_t)),
                     mem_alloc((size_t)count + 1, sizeof(int64_t))};
  int64_t nodes = sim_work(sim);
  for (int32_t k = 0; k < g->layers; k++)
    nodes -= p.blocks[g->first + k] = sim_blocks_work(sim, g->layer_block[k], g->layer_block[k + 1]);
  const int64_t brick = g->brick_count ? nodes / g->brick_count : 0;
  CHECK(brick * g->brick_count == nodes);
  const bool last = sim->comm.rank == sim->mesh.slabs->count - 1;
  for (int32_t k = 0; k < g->layers + last; k++)
    p.bricks[g->first + k] = brick * (g->layer_brick[k + 1] - g->layer_brick[k]);
  comm_sum_i64(&comm, p.blocks, count);
  comm_sum_i64(&comm, p.bricks, count + 1);
  return p;
}

static int64_t slab_cost(const struct layers *p, int32_t a, int32_t b)
{
  int64_t sum = p->bricks[b];
  for (int32_t k = a; k < b; k++) sum += p->blocks[k] + p->bricks[k];
  return sum;
}

/* The least that the busiest of `count` slabs can have, slab by slab over all ends and starts. */
static int64_t least_possible(const struct layers *p, int count)
{
  int64_t *best = mem_alloc((size_t)p->count + 1, sizeof *best),
          *next = mem_alloc((size_t)p->count + 1, sizeof *next);
  for (int32_t b = 0; b <= p->count; b++) best[b] = b ? INT64_MAX : 0;
  for (int r = 0; r < count; r++) {
    for (int32_t b = 0; b <= p->count; b++) {
      next[b] = INT64_MAX;
      for (int32_t a = 0; a < b; a++) {
        if (best[a] == INT64_MAX) continue;
        const int64_t cost = slab_cost(p, a, b), most = cost > best[a] ? cost : best[a];
        if (most < next[b]) next[b] = most;
      }
    }
    memcpy(best, next, ((size_t)p->count + 1) * sizeof *best);
  }
  const int64_t least = best[p->count];
  mem_free(best);
  mem_free(next);
  return least;
}

static int64_t most_of(const struct layers *p, const struct slabs *slabs)
{
  int64_t most = 0;
  for (int r = 0; r < slabs->count; r++) {
    const int64_t cost = slab_cost(p, slabs->cut[r], slabs->cut[r + 1]);
    if (cost > most) most = cost;
  }
  return most;
}

static void free_layers(struct layers *p)
{
  mem_free(p->blocks);
  mem_free(p->bricks);
}

static void check_first(const struct sim *sim)
{
  struct layers p = gather_layers(sim);
  double most = (double)sim_work(sim);
  comm_max(&comm, &most, 1);
  CHECK((int64_t)most == most_of(&p, sim->mesh.slabs));
  CHECK((int64_t)most == least_possible(&p, sim->mesh.slabs->count));
  free_layers(&p);
}

struct watched {
  const struct sim *sim;
  struct layers layers; /* at the end of the last step, before particles settle */
};

/* All ranks are asked at the end of a step: the moment at which the cuts are looked at. */
static double watch(void *context)
{
  struct watched *w = context;
  free_layers(&w->layers);
  w->layers = gather_layers(w->sim);
  return 0.0;
}

/* Steps, and if cuts moved, they must be the best for the step that was. */
static void step_and_check(struct sim *sim)
{
  struct watched w = {.sim = sim};
  const int64_t before = sim->totals.rebalanced;
  sim->hooks.poll = watch;
  sim->hooks.poll_context = &w;
  step(sim);
  sim->hooks.poll = NULL;
  if (sim->totals.rebalanced > before)
    CHECK(most_of(&w.layers, sim->mesh.slabs) == least_possible(&w.layers, sim->mesh.slabs->count));
  free_layers(&w.layers);
}

/* Two balls that collide and burst, over layers few enough that slabs become as thin as they may. */
static void test_optimal(const char *kernel)
{
  char text[1024];
  snprintf(
      text, sizeof text,
      "domain: {lower: [0, 0, 0], cells: [120, 48, 48], spacing: 0.01, slab_axis: x}\n"
      "time: {end: 1, frame_rate: 100, max_step: 5e-4}\n"
      "transfer: {kernel: %s}\n"
      "integrator: {tolerance: 1e-2}\n"
      "materials: {soft: {young: 2e4}}\n"
      "snow:\n"
      "  - {sphere: {center: [0.35, 0.24, 0.24], radius: 0.1}, particles: 6000, velocity: [8, 0, 0]}\n"
      "  - {sphere: {center: [0.75, 0.24, 0.24], radius: 0.08}, particles: 2400, velocity: [-9, -1, 0]}\n"
      "bodies:\n"
      "  floor: {plane: {point: [0, 0.13, 0], normal: [0, 1, 0]}, friction: 0.5}\n",
      kernel);
  int32_t cuts[2][64] = {{0}};
  int64_t moves[2] = {0, 0};
  for (int run = 0; run < 2; run++) {
    struct scene *scene = NULL;
    struct sim *sim = create(text, &scene);
    check_first(sim);
    for (int k = 0; k < 60; k++) {
      if (run == 0)
        step_and_check(sim);
      else
        step(sim);
    }
    moves[run] = sim->totals.rebalanced;
    CHECK(sim->mesh.slabs->count == comm.size && comm.size < 64);
    memcpy(cuts[run], sim->mesh.slabs->cut, (size_t)(comm.size + 1) * sizeof **cuts);
    sim_destroy(&sim);
    scene_destroy(&scene);
  }
  if (comm.rank == 0) printf("%s: cuts moved %lld times\n", kernel, (long long)moves[0]);
  CHECK(moves[0] == moves[1] && memcmp(cuts[0], cuts[1], sizeof cuts[0]) == 0);
  CHECK(comm.size == 1 ? moves[0] == 0 : moves[0] > 1);
}

/* A long bar flies along the slab axis, at a fifth of a cell a step; its layers are fine enough for
 * every rank count here. In between moves it may drift as far as a move costs. */
static void test_bar(void)
{
  static const char text[] =
      "domain: {lower: [0, 0, 0], cells: [400, 12, 12], spacing: 0.02, slab_axis: x}\n"
      "time: {end: 1, frame_rate: 100, step: 5e-4}\n"
      "integrator: {scheme: explicit}\n"
      "gravity: [0, 0, 0]\n"
      "materials: {soft: {young: 2e3}}\n"
      "snow:\n"
      "  - {box: {lower: [0.2, 0.08, 0.08], upper: [5.2, 0.16, 0.16]}, per_cell: 4, velocity: [8, 0, 0]}\n";
  enum { STEPS = 80 };
  struct scene *scene = NULL;
  struct sim *sim = create(text, &scene);
  double sum = 0.0;
  bool moved = true; /* the first cuts are as good as moved ones */
  for (int k = 0; k < STEPS; k++) {
    const int64_t before = sim->totals.rebalanced;
    step(sim);
    CHECK(sim->report.imbalance >= 1.0 && (!moved || sim->report.imbalance <= 1.03));
    moved = sim->totals.rebalanced > before;
    sum += sim->report.imbalance;
  }
  if (comm.rank == 0)
    printf("bar: imbalance %.3f, cuts moved %lld times\n", sum / STEPS, (long long)sim->totals.rebalanced);
  CHECK(sum / STEPS <= 1.05);
  CHECK(comm.size == 1 || sim->totals.rebalanced > 1);
  sim_destroy(&sim);
  scene_destroy(&scene);
}

int main(int argc, char **argv)
{
  check_begin(&argc, &argv);
  comm_create(&comm, MPI_COMM_WORLD);
  test_optimal("cubic");
  test_optimal("quadratic");
  test_bar();
  comm_destroy(&comm);
  return check_end();
}
