#include "sim/window_move.h"

#include "base/memory.h"
#include "seeding/seeding.h"
#include "sim/settle.h"

/* Of the snow that enters, what falls into this rank's slab. */
static void bring_in(struct sim *sim, int64_t from, int64_t to)
{
  struct particles *all = particles_create(particles_needs(sim->p));
  if (!sim->window.samplings) sim->window.samplings = seed_samplings_create(sim->scene);
  seed_planes(sim->scene, sim->window.samplings, from, to, all);
  sim_begin_history(sim->scene, all);
  void *record = mem_alloc(1, particles_record_size(all));
  for (int32_t i = 0; i < all->count; i++) {
    const double x[3] = {all->x[0][i], all->x[1][i], all->x[2][i]};
    const uint64_t key = grid_key_of(&sim->mesh.grid->geometry, x);
    if (key == REORDER_GONE || slabs_owner(sim->mesh.slabs, grid_key_plane(key)) != sim->comm.rank) continue;
    instruments_pass(sim, true, all, i, all, i);
    particles_pack(all, i, record);
    particles_unpack(sim->p, particles_append(sim->p, 1), record);
  }
  mem_free(record);
  particles_destroy(&all);
}

/* Marks what the window has left behind; returns how many. */
static int64_t leave_behind(struct sim *sim, const struct window *w)
{
  const struct scene *scene = sim->scene;
  const int axis = scene->window.axis;
  const double low = scene->lower[axis] + scene->spacing * (double)w->from;
  const double high = scene->lower[axis] + scene->spacing * (double)w->to;
  int64_t left = 0;
  for (int32_t i = 0; i < sim->p->count; i++) {
    const double x = sim->p->x[axis][i];
    const bool behind = scene->window.direction > 0.0 ? x < low : x >= high;
    if (!behind || sim->next.fate[i] == FATE_GONE) continue;
    instruments_pass(sim, false, sim->p, i, sim->p, i);
    sim->next.fate[i] = FATE_GONE;
    left++;
  }
  return left;
}

void window_move(struct sim *sim, double time)
{
  if (!sim->scene->window.given) return;
  struct window *w = &sim->window;
  window_advance(w, sim->scene, sim->clock.time);
  const struct window old = *w;
  window_advance(w, sim->scene, time);
  if (w->from == old.from && w->to == old.to) return;

  sim_tidy(sim);
  const int32_t before = sim->p->count;
  if (w->to > old.to) bring_in(sim, old.to, w->to);
  if (w->from < old.from) bring_in(sim, w->from, old.from);
  int64_t counts[2] = {sim->p->count - before, 0};
  sim_stage(sim);
  counts[1] = leave_behind(sim, w);
  comm_sum_i64(&sim->comm, counts, 2);
  sim_find_leavers(sim);
  sim_settle(sim, false);
  sim_tidy(sim);
  heat_begin(sim);
  sim->totals.entered += counts[0];
  sim->totals.removed += counts[1];
  sim->totals.particles += counts[0] - counts[1];
}
