/* After a step: particles to the ranks that own their cells, all into order, and the grid anew. */
#include "sim/settle.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "sim/balance.h"
#include "sim/sim.h"

/* Layer of the i-th of the next state, which is inside the domain. */
static int32_t layer_of(const struct sim *sim, int32_t i)
{
  const struct grid_geometry *geometry = &sim->mesh.grid->geometry;
  return (int32_t)(grid_base_inside(geometry, 0, sim->next.p->x[geometry->axis[0]][i]) / BLOCK_X);
}

/* One thread's share of the search: how many leave, and where they are listed from `at` on if it is not -1.
 */
static int32_t find_share(const struct sim *sim, int w, int32_t at, bool *farther)
{
  const struct slabs *slabs = sim->mesh.slabs;
  const int rank = sim->comm.rank, threads = sim->mesh.grid->threads;
  const int32_t low = rank < slabs->count ? slabs->cut[rank] : 0;
  const int32_t high = rank < slabs->count ? slabs->cut[rank + 1] : 0;
  const int32_t end = (int32_t)((int64_t)sim->p->count * (w + 1) / threads);
  int32_t count = 0;
  for (int32_t i = (int32_t)((int64_t)sim->p->count * w / threads); i < end; i++) {
    if (sim->next.fate[i] == FATE_GONE) continue;
    const int32_t layer = layer_of(sim, i);
    if (layer >= low && layer < high) continue;
    if (at >= 0) {
      const int owner = slabs_owner(slabs, layer);
      *farther = *farther || (owner != rank - 1 && owner != rank + 1);
      sim->leavers.particle[at + count] = i;
    }
    count++;
  }
  return count;
}

bool sim_find_leavers(struct sim *sim)
{
  struct leavers *l = &sim->leavers;
  const int threads = sim->mesh.grid->threads;
  int32_t before[MAX_THREADS + 1] = {0};
  bool farther = false;
  l->count = 0;
  if (sim->mesh.slabs->count == 1) return false;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int w = 0; w < threads; w++) before[w + 1] = find_share(sim, w, -1, NULL);
  for (int w = 0; w < threads; w++) before[w + 1] += before[w];
  l->count = before[threads];
  if (l->count > l->room) {
    l->room = 2 * l->count + 64;
    mem_free(l->particle);
    l->particle = mem_alloc((size_t)l->room, sizeof *l->particle);
  }
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(|| : farther)
  for (int w = 0; w < threads; w++)
    if (before[w + 1] > before[w]) find_share(sim, w, before[w], &farther);
  return farther;
}

/* Packs what belongs to other ranks and marks it as gone. */
static void pack_leavers(struct sim *sim)
{
  sim->outgoing.record_size = particles_record_size(sim->p);
  for (int32_t k = 0; k < sim->leavers.count; k++) {
    const int32_t i = sim->leavers.particle[k];
    const int owner = slabs_owner(sim->mesh.slabs, layer_of(sim, i));
    next_pack(&sim->next, i, sim->p, sim->order.home[i], mailbox_add(&sim->outgoing, owner));
    reorder_vacate(&sim->order, sim->order.home[i]);
    sim->next.fate[i] = FATE_GONE;
  }
  sim->leavers.count = 0;
}

/* The state of arrivals stands behind the others'; what never changes is where somebody left, or behind the
 * last home. */
static void unpack_arrivals(struct sim *sim)
{
  const int64_t arrived = sim->incoming.count;
  particles_reserve(sim->p, reorder_room(&sim->order, sim->p, arrived));
  next_fit(&sim->next, sim->p);
  reorder_fit(&sim->order, sim->p);
  for (int64_t n = 0; n < arrived; n++) {
    const int32_t k = sim->p->count + (int32_t)n;
    next_unpack(&sim->next, k, sim->p, reorder_house(&sim->order, k),
                sim->incoming.records + (size_t)n * sim->incoming.record_size);
    const double x[3] = {sim->next.p->x[0][k], sim->next.p->x[1][k], sim->next.p->x[2][k]};
    FIRN_ASSERT(grid_key_of(&sim->mesh.grid->geometry, x) != REORDER_GONE);
    sim->next.fate[k] = FATE_MOVES;
  }
}

/* Starting and joining threads costs some microseconds per kernel, and much more when other programs want the
 * cores. */
int sim_worthwhile(const struct sim *sim)
{
  const int32_t least = sim->comm.thread_least;
  const int32_t worth = least > 0 ? sim->p->count / least : sim->crew.size;
  return worth < 1 ? 1 : worth < sim->crew.size ? worth : sim->crew.size;
}

/* The kernels read the order where it now is. */
static void point_transfer(struct sim *sim)
{
  sim->transfer.slot = sim->order.slot;
  sim->transfer.home = sim->order.home;
  transfer_point(&sim->transfer);
}

void sim_settle(struct sim *sim, bool anywhere)
{
  double clock = timer_now();
  pack_leavers(sim);
  migrate(&sim->comm, &sim->outgoing, &sim->incoming, anywhere);
  unpack_arrivals(sim);
  sim_end_phase(sim, PHASE_MIGRATE, &clock);

  const struct grid_cells cells =
      reorder_particles(&sim->order, sim->p, &sim->next, sim->mesh.grid, (int32_t)sim->incoming.count);
  sim_end_phase(sim, PHASE_ORDER, &clock);

  const int rank = sim->comm.rank;
  const bool has_slab = rank < sim->mesh.slabs->count;
  const int32_t first = has_slab ? sim->mesh.slabs->cut[rank] : 0;
  grid_collect(sim->mesh.grid, first, has_slab ? sim->mesh.slabs->cut[rank + 1] - first : 0, &cells);
  sim->mesh.grid->threads = sim->order.threads = sim_worthwhile(sim) == 1 ? 1 : sim->crew.size;
  halo_agree(sim->mesh.halo, sim->mesh.slabs, sim->mesh.grid);
  crew_fit(&sim->crew, sim->mesh.grid);
  sim_end_phase(sim, PHASE_BUILD, &clock);

  if (reorder_is_untidy(&sim->order, sim->p)) reorder_tidy(&sim->order, sim->p, &sim->next);
  point_transfer(sim);
  FIRN_DEBUG_ASSERT(slabs_is_valid(sim->mesh.slabs) && order_is_valid(&sim->order, sim->p, sim->mesh.grid));
  sim_end_phase(sim, PHASE_ORDER, &clock);
}

void sim_tidy(struct sim *sim)
{
  reorder_tidy(&sim->order, sim->p, &sim->next);
  point_transfer(sim);
}
