/* After a step: particles to the ranks that own their cells, all into order, and the grid anew. */
#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "sim.h"

/* Packs what belongs to other ranks and marks it as gone. */
static void pack_leavers(struct sim *sim)
{
  const int rank = sim->comm.rank;
  const int32_t low = rank < sim->slabs->count ? sim->slabs->cut[rank] : 0;
  const int32_t high = rank < sim->slabs->count ? sim->slabs->cut[rank + 1] : 0;
  sim->outgoing.record_size = particles_record_size(sim->p);
  if (sim->slabs->count == 1) return;
  for (int32_t i = 0; i < sim->p->count; i++) {
    if (sim->next.key[i] == REORDER_GONE) continue;
    const int32_t plane = grid_key_plane(sim->next.key[i]);
    if (plane >= low && plane < high) continue;
    reorder_pack(sim->p, &sim->next, i, sim->order.home[i],
                 mailbox_add(&sim->outgoing, slabs_owner(sim->slabs, plane)));
    reorder_vacate(&sim->order, sim->order.home[i]);
    sim->next.key[i] = REORDER_GONE;
  }
}

/* The state of arrivals stands behind the others'; what never changes is where somebody left, or behind the
 * last home. */
static void unpack_arrivals(struct sim *sim)
{
  const int64_t arrived = sim->incoming.count;
  particles_reserve(sim->p, reorder_room(&sim->order, sim->p, arrived));
  scratch_fit(&sim->next, sim->p);
  reorder_fit(&sim->order, sim->p);
  for (int64_t n = 0; n < arrived; n++) {
    const int32_t k = sim->p->count + (int32_t)n;
    reorder_unpack(sim->p, &sim->next, k, reorder_house(&sim->order, k),
                   sim->incoming.records + (size_t)n * sim->incoming.record_size);
    const double x[3] = {sim->next.x[0][k], sim->next.x[1][k], sim->next.x[2][k]};
    sim->next.key[k] = grid_key_of(&sim->grid->frame, x);
    FIRN_ASSERT(sim->next.key[k] != REORDER_GONE);
  }
}

/* Planes for the threads, equal work as far as planes allow. A single thread has the planes that the right
 * neighbour waits for apart, to do them first. */
static void chunk_planes(struct sim *sim)
{
  struct grid *g = sim->grid;
  g->edge_apart = false;
  g->threads = sim->crew.size;
  if (g->planes < 2 * SLAB_LEAST) return;
  if (sim->crew.size == 1) {
    g->edge_apart = sim->comm.rank + 1 < sim->slabs->count;
    if (g->edge_apart) grid_chunks(g, 2, (const int32_t[]){0, g->planes - SLAB_LEAST, g->planes});
    return;
  }
  int64_t *weight = mem_alloc((size_t)g->planes, sizeof *weight);
  for (int32_t k = 0; k < g->planes; k++) weight[k] = sim_plane_work(sim, k);
  struct slabs *chunks = slabs_create(sim->crew.size, g->planes, (struct slab_work){.weight = weight});
  grid_chunks(g, chunks->count, chunks->cut);
  slabs_destroy(&chunks);
  mem_free(weight);
}

/* The kernels read the order where it now is. */
static void point_transfer(struct sim *sim)
{
  sim->transfer.slot = sim->order.slot;
  sim->transfer.home = sim->order.home;
}

void sim_settle(struct sim *sim, bool anywhere)
{
  double start = timer_now();
  pack_leavers(sim);
  migrate(&sim->comm, &sim->outgoing, &sim->incoming, anywhere);
  unpack_arrivals(sim);
  sim->report.seconds[PHASE_MIGRATE] += timer_now() - start;

  start = timer_now();
  const struct grid_cells cells =
      reorder_particles(&sim->order, sim->p, &sim->next, sim->grid, (int32_t)sim->incoming.count);
  sim->report.seconds[PHASE_ORDER] += timer_now() - start;

  start = timer_now();
  const int rank = sim->comm.rank;
  const bool has_slab = rank < sim->slabs->count;
  const int32_t first = has_slab ? sim->slabs->cut[rank] : 0;
  grid_collect(sim->grid, first, has_slab ? sim->slabs->cut[rank + 1] - first : 0, &cells);
  chunk_planes(sim);
  halo_agree(sim->halo, sim->slabs, sim->grid);
  crew_fit(&sim->crew, sim->grid);
  sim->report.seconds[PHASE_BUILD] += timer_now() - start;

  start = timer_now();
  if (reorder_is_untidy(&sim->order, sim->p)) reorder_tidy(&sim->order, sim->p, &sim->next);
  point_transfer(sim);
  sim->report.seconds[PHASE_ORDER] += timer_now() - start;
}

void sim_tidy(struct sim *sim)
{
  reorder_tidy(&sim->order, sim->p, &sim->next);
  point_transfer(sim);
}
