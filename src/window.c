#include "window.h"

#include "base/log.h"
#include "base/memory.h"
#include "seeding.h"
#include "sim.h"

#include <math.h>

enum { TICKS_A_FRAME = 4 };

static int64_t clip(double plane, int64_t cells)
{
  return plane < 0.0 ? 0 : plane > (double)cells ? cells : (int64_t)plane;
}

void window_advance(struct window *w, const struct scene *scene, double time)
{
  const struct scene_window *window = &scene->window;
  if (!window->given) {
    w->to = scene->cells[0];
    return;
  }
  const double rate = TICKS_A_FRAME * scene->frame_rate;
  /* Half a tick off the frames, whose times two ways of adding steps may round differently. */
  for (const int64_t last = (int64_t)floor(time * rate + 0.5); w->ticks <= last; w->ticks++) {
    struct body_pose pose;
    body_pose_at(&scene->bodies[window->body], fmax(0.0, ((double)w->ticks - 0.5) / rate), &pose);
    const double at = window->direction * pose.origin[window->axis];
    if (w->ticks == 0 || at > w->farthest) w->farthest = at;
  }
  const double lower = scene->lower[window->axis], body = window->direction * w->farthest;
  const double front = body + window->direction * window->ahead,
               back = body - window->direction * window->behind;
  const int64_t cells = scene->cells[window->axis];
  w->from = clip(floor((fmin(front, back) - lower) / scene->spacing), cells);
  w->to = clip(floor((fmax(front, back) - lower) / scene->spacing) + 1.0, cells);
}

/* Of the snow that enters, what falls into this rank's slab. */
static void bring_in(struct sim *sim, int64_t from, int64_t to)
{
  struct particles *all = particles_create(sim->scene->scheme == SCHEME_APIC);
  if (!sim->window.samplings) sim->window.samplings = seed_samplings_create(sim->scene);
  seed_planes(sim->scene, sim->window.samplings, from, to, all);
  void *record = mem_alloc(1, particles_record_size(all));
  for (int32_t i = 0; i < all->count; i++) {
    const double x[3] = {all->x[0][i], all->x[1][i], all->x[2][i]};
    const uint64_t key = grid_key_of(&sim->grid->frame, x);
    if (key == REORDER_GONE || slabs_owner(sim->slabs, grid_key_plane(key)) != sim->comm.rank) continue;
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
    if (!behind || sim->next.key[i] == REORDER_GONE) continue;
    sim->next.key[i] = REORDER_GONE;
    left++;
  }
  return left;
}

void window_move(struct sim *sim, double time)
{
  if (!sim->scene->window.given) return;
  struct window *w = &sim->window;
  window_advance(w, sim->scene, sim->time);
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
  sim_settle(sim, false);
  sim_tidy(sim);
  sim->entered += counts[0];
  sim->removed += counts[1];
  sim->particles += counts[0] - counts[1];
}

void window_free(struct window *w, const struct scene *scene)
{
  seed_samplings_destroy(&w->samplings, scene);
}
