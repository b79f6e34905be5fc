/* Cuts that follow the snow.
 *
 * The work of a slab is counted: its particles, its cells, its blocks and all bricks it holds, those it
 * shares included, which both sides update. What cuts cost is then known exactly before they are taken, the
 * same on every rank and in every run. */
#include "sim/balance.h"
#include "base/memory.h"
#include "sim/cost.h"
#include "sim/settle.h"
#include "sim/sim.h"

/* To pack or unpack a particle that goes to another rank. */
enum { MOVE_PARTICLE = 16 };

/* What a step like the last one costs. */
static struct cost cost_now(const struct sim *sim)
{
  const int passes = sim->report.passes > 1 ? sim->report.passes : 1;
  const bool solves = sim->scene->beta > 0.0 || sim->heat.count;
  return cost_of(solves ? sim->report.iterations + 2 * passes : 0);
}

int64_t sim_blocks_work(const struct sim *sim, int32_t from, int32_t to)
{
  const struct grid *g = sim->mesh.grid;
  const int32_t *cells = g->blocks.first;
  const struct cost cost = cost_now(sim);
  const struct cost_count count = {.particles = g->cell_start[cells[to]] - g->cell_start[cells[from]],
                                   .cells = cells[to] - cells[from],
                                   .blocks = to - from};
  return cost_units(&cost, &count);
}

int64_t sim_work(const struct sim *sim)
{
  const struct grid *g = sim->mesh.grid;
  const struct cost cost = cost_now(sim);
  const struct cost_count count = {sim->p->count, g->cell_count, g->blocks.count, g->brick_count};
  return cost_units(&cost, &count);
}

/* Work of every layer of the domain, known to all ranks. */
struct layer_work {
  int64_t *weight; /* [layers] of blocks, with the bricks of the same layer */
  int64_t *beyond; /* [layers + 1] of the bricks that a slab that ends at a cut has past it */
};

static void measure_layers(const struct sim *sim, struct layer_work *work)
{
  const struct grid *g = sim->mesh.grid;
  const struct cost cost = cost_now(sim);
  const int32_t layers = sim->mesh.slabs->layers;
  work->weight = mem_alloc(2 * (size_t)layers + 1, sizeof *work->weight);
  work->beyond = work->weight + layers;
  /* Shared bricks are counted by the right side, those after the last layer of blocks by the last slab. */
  const int32_t held = g->layers + (sim->comm.rank == sim->mesh.slabs->count - 1 ? 1 : 0);
  for (int32_t k = 0; k < held; k++)
    work->beyond[g->first + k] = cost.brick * (g->layer_brick[k + 1] - g->layer_brick[k]);
  for (int32_t k = 0; k < g->layers; k++)
    work->weight[g->first + k] =
        sim_blocks_work(sim, g->layer_block[k], g->layer_block[k + 1]) + work->beyond[g->first + k];
  comm_sum_i64(&sim->comm, work->weight, 2 * layers + 1);
}

/* Whose layers [0, layers) are other ranks' with other cuts, as a share of all work. */
static double moving_share(const struct slabs *old, const struct slabs *new, const int64_t *weight)
{
  int64_t moving = 0, all = 0;
  for (int32_t k = 0; k < old->layers; k++) {
    all += weight[k];
    if (slabs_owner(old, k) != slabs_owner(new, k)) moving += weight[k];
  }
  return all ? (double)moving / (double)all : 0.0;
}

/* The work of the slabs, and whether other cuts would make the busiest rank's less. Takes them if that would
 * have saved, since they last changed, more than it costs to send the particles; at once if `eager`. */
static bool look(struct sim *sim, bool eager)
{
  struct layer_work layers;
  measure_layers(sim, &layers);
  const struct slab_work work = {layers.weight, layers.beyond};
  struct slabs *better = slabs_create(sim->comm.size, sim->mesh.slabs->layers, work);
  const int64_t saved = slabs_most(sim->mesh.slabs, work) - slabs_most(better, work);
  const double moving = moving_share(sim->mesh.slabs, better, layers.weight);
  sim->balance.lost += saved * (sim->clock.step - sim->balance.looked);
  sim->balance.looked = sim->clock.step;
  /* A rank gives to one side and takes from the other. */
  const double move = 2 * MOVE_PARTICLE * moving * (double)sim->totals.particles / sim->mesh.slabs->count;
  const bool moves = saved > 0 && (eager || (double)sim->balance.lost > move);
  if (moves) {
    struct slabs *old = sim->mesh.slabs;
    sim->mesh.slabs = better;
    better = old;
    sim->balance.lost = 0;
    sim->totals.rebalanced++;
  }
  slabs_destroy(&better);
  mem_free(layers.weight);
  return moves;
}

void sim_balance_now(struct sim *sim)
{
  if (sim->mesh.slabs->count == 1 || !look(sim, true)) return;
  sim_tidy(sim);
  sim_stage(sim);
  sim_find_leavers(sim);
  sim_settle(sim, true);
}

bool sim_balance(struct sim *sim)
{
  if (sim->mesh.slabs->count == 1 || sim->balance.every == 0) return false;
  const int64_t every = sim->balance.every * balance_interval(sim->mesh.slabs->layers);
  if ((sim->clock.step + 1) % every != 0) return false;
  if (sim->report.imbalance >= 1.01) return look(sim, false);
  sim->balance.looked = sim->clock.step; /* nothing to gain */
  return false;
}
