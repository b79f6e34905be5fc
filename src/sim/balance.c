/* Cuts that follow the snow.
 *
 * The work of a slab is counted: its particles, its cells and the tiles of all node planes it holds, those it
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
  const int64_t products = solves ? sim->report.iterations + 2 * passes : 0;
  return (struct cost){step_cost.particle + products * product_cost.particle,
                       step_cost.cell + products * product_cost.cell,
                       step_cost.tile + products * product_cost.tile};
}

static int64_t plane_work(const struct grid *g, int32_t plane, const struct cost *cost)
{
  const int32_t from = g->plane_cell[plane], to = g->plane_cell[plane + 1];
  return cost->particle * (g->cell_start[to] - g->cell_start[from]) + cost->cell * (to - from);
}

int64_t sim_plane_work(const struct sim *sim, int32_t plane)
{
  const struct cost cost = cost_now(sim);
  return plane_work(sim->mesh.grid, plane, &cost);
}

int64_t sim_work(const struct sim *sim)
{
  const struct grid *g = sim->mesh.grid;
  const struct cost cost = cost_now(sim);
  return cost.particle * sim->p->count + cost.cell * g->cell_count + cost.tile * g->tile_count;
}

/* Work of every plane of the domain, known to all ranks. */
struct plane_work {
  int64_t *weight; /* [planes] of cell planes, with the node plane that each begins at */
  int64_t *nodes;  /* [planes + shared] of node planes, behind weight in memory */
  int64_t *beyond; /* [planes + 1] what a slab that ends at a cut does on node planes past it */
};

static void measure_planes(const struct sim *sim, struct plane_work *work)
{
  const struct grid *g = sim->mesh.grid;
  const struct cost cost = cost_now(sim);
  const int32_t planes = sim->mesh.slabs->planes, shared = g->geometry.support - 1;
  work->weight = mem_alloc((size_t)(2 * planes + shared), sizeof *work->weight);
  work->nodes = work->weight + planes;
  work->beyond = mem_alloc((size_t)planes + 1, sizeof *work->beyond);
  /* A shared node plane is counted by the right side, those after the last cell plane by the last slab. */
  const int32_t held = g->planes + (sim->comm.rank == sim->mesh.slabs->count - 1 ? shared : 0);
  for (int32_t k = 0; k < held; k++) work->nodes[g->first + k] = cost.tile * grid_plane_tile_count(g, k);
  for (int32_t k = 0; k < g->planes; k++)
    work->weight[g->first + k] = plane_work(g, k, &cost) + work->nodes[g->first + k];
  comm_sum_i64(&sim->comm, work->weight, 2 * planes + shared);
  for (int32_t cut = 0; cut <= planes; cut++)
    for (int32_t k = 0; k < shared; k++) work->beyond[cut] += work->nodes[cut + k];
}

/* Whose planes [0, planes) are other ranks' with other cuts, as a share of all work. */
static double moving_share(const struct slabs *old, const struct slabs *new, const int64_t *weight)
{
  int64_t moving = 0, all = 0;
  for (int32_t k = 0; k < old->planes; k++) {
    all += weight[k];
    if (slabs_owner(old, k) != slabs_owner(new, k)) moving += weight[k];
  }
  return all ? (double)moving / (double)all : 0.0;
}

/* The work of the slabs, and whether other cuts would make the busiest rank's less. Takes them if that would
 * have saved, since they last changed, more than it costs to send the particles; at once if `eager`. */
static bool look(struct sim *sim, bool eager)
{
  struct plane_work planes;
  measure_planes(sim, &planes);
  const struct slab_work work = {planes.weight, planes.beyond};
  struct slabs *better = slabs_create(sim->comm.size, sim->mesh.slabs->planes, work);
  const int64_t saved = slabs_most(sim->mesh.slabs, work) - slabs_most(better, work);
  const double moving = moving_share(sim->mesh.slabs, better, planes.weight);
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
  mem_free(planes.weight);
  mem_free(planes.beyond);
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
  const int64_t every = sim->balance.every * balance_interval(sim->mesh.slabs->planes);
  if ((sim->clock.step + 1) % every != 0) return false;
  if (sim->report.imbalance >= 1.01) return look(sim, false);
  sim->balance.looked = sim->clock.step; /* nothing to gain */
  return false;
}
