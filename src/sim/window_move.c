#include "sim/window_move.h"

#include "base/memory.h"
#include "io/scene/scene_changes.h"
#include "seeding/seeding.h"
#include "sim/settle.h"
#include "sim/sources.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Of the snow that enters, what falls into this rank's slab. */
static void bring_in(struct sim *sim, int64_t from, int64_t to)
{
  struct particles *all = particles_create(particles_needs(sim->p));
  seed_planes(sim->scene, sim->window.samplings, sim->seeding.first_id, from, to, all);
  sim_begin_history(sim->scene, all);
  void *record = mem_alloc(1, particles_record_size(all));
  for (int32_t i = 0; i < all->count; i++) {
    const double x[3] = {all->x[0][i], all->x[1][i], all->x[2][i]};
    const uint64_t key = grid_key_of(&sim->mesh.grid->geometry, x);
    if (key == REORDER_GONE || slabs_owner(sim->mesh.slabs, grid_key_layer(key)) != sim->comm.rank) continue;
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

/* --- numbers --- */

static double edge(const struct scene *scene, int64_t plane)
{
  return scene->lower[scene->window.axis] + scene->spacing * (double)plane;
}

/* The plane of the scene's grid that an edge of a window is on. In between, where another grid has none, the
 * next one along the way: what the edge has passed does not enter again. */
static int64_t plane_of(const struct scene *scene, double x)
{
  const int axis = scene->window.axis;
  const double at = (x - scene->lower[axis]) / scene->spacing, nearest = floor(at + 0.5);
  const double plane = fabs(at - nearest) < 1e-6       ? nearest
                       : scene->window.direction > 0.0 ? ceil(at)
                                                       : floor(at);
  return (int64_t)fmin(fmax(plane, 0.0), (double)scene->cells[axis]);
}

static uint64_t free_id(const struct sim *sim)
{
  double next = 0.0;
  for (int32_t i = 0; i < sim->p->count; i++)
    if (sim->p->id[i] < SOURCE_FIRST_ID) next = fmax(next, (double)sim->p->id[i] + 1.0);
  comm_max(&sim->comm, &next, 1);
  return (uint64_t)next;
}

/* The points of a scene with a window, numbered from first_id on. */
static int number_points(struct sim *sim, uint64_t first_id, struct error *err)
{
  const struct scene *scene = sim->scene;
  struct sim_seeding *s = &sim->seeding;
  const uint64_t count = seed_samplings_count(sim->window.samplings, scene);
  s->windowed = true;
  s->axis = scene->window.axis;
  s->direction = (int)scene->window.direction;
  s->points_mark = seed_samplings_mark(sim->window.samplings, scene);
  s->first_id = first_id;
  s->end_id = first_id + count;
  if (count <= SOURCE_FIRST_ID && s->end_id <= SOURCE_FIRST_ID) return FIRN_OK;
  return error_set(err, FIRN_ELIMIT,
                   "%s: the window's snow has %" PRIu64 " points to number and 2^52 ids less %" PRIu64
                   " are left; lower per_cell or make its shapes smaller",
                   scene->path, count, first_id);
}

int window_begin(struct sim *sim, struct error *err)
{
  if (!sim->scene->window.given) {
    sim->seeding.end_id = free_id(sim);
    return FIRN_OK;
  }
  window_advance(&sim->window, sim->scene, sim->clock.time);
  sim->window.samplings = seed_samplings_create(sim->scene);
  return number_points(sim, 0, err);
}

char *window_save(const struct sim *sim)
{
  enum { LINE = 160 };
  const struct sim_seeding *s = &sim->seeding;
  const bool given = sim->scene->window.given;
  const double from = given ? edge(sim->scene, sim->window.from) : s->from,
               to = given ? edge(sim->scene, sim->window.to) : s->to;
  char *text = mem_alloc(LINE, 1);
  int length = snprintf(text, LINE, "ids %" PRIu64 "\n", s->end_id);
  if (s->windowed)
    snprintf(text + length, (size_t)(LINE - length), "window %d %d %.17g %.17g %" PRIu64 " %" PRIu64 "\n",
             s->axis, s->direction, from, to, s->first_id, s->points_mark);
  return text;
}

static int read_seeding(const char *text, const char *path, struct sim_seeding *s, struct error *err)
{
  int length = 0;
  bool good = sscanf(text, "ids %" SCNu64 "%n", &s->end_id, &length) == 1 && text[length] == '\n';
  s->windowed = good && text[length + 1];
  if (s->windowed)
    good = sscanf(text + length + 1, "window %d %d %lf %lf %" SCNu64 " %" SCNu64, &s->axis, &s->direction,
                  &s->from, &s->to, &s->first_id, &s->points_mark) == 6 &&
           isfinite(s->from) && isfinite(s->to);
  if (good) return FIRN_OK;
  return error_set(err, FIRN_EDAMAGED, "%s: what it says about its snow cannot be read", path);
}

/* Earlier versions did not say. A window is where the scene has it now, and its points have their first
 * numbers unless something may have changed. */
static int guess_seeding(const struct sim *sim, const struct checkpoint *from, bool lenient,
                         struct sim_seeding *s, struct error *err)
{
  const struct scene *scene = sim->scene;
  struct scene_names *keys = NULL;
  struct window w = {0};
  const int code = comm_agree(&sim->comm, scene_names_create(&keys, from->resolved, "window", err), err);
  s->windowed = !code && keys->count > 0 && scene->window.given;
  s->end_id = free_id(sim);
  if (s->windowed) {
    window_advance(&w, scene, from->time);
    s->axis = scene->window.axis;
    s->direction = (int)scene->window.direction;
    s->from = edge(scene, w.from);
    s->to = edge(scene, w.to);
    const uint64_t count = seed_samplings_count(sim->window.samplings, scene);
    if (s->end_id < count) s->end_id = count;
    if (!lenient) s->points_mark = seed_samplings_mark(sim->window.samplings, scene);
  }
  scene_names_destroy(&keys);
  return code;
}

/* The scene's window, from where the checkpoint's was. All snow was there from the start if there was none.
 */
static int place_window(struct sim *sim, struct error *err)
{
  const struct scene *scene = sim->scene;
  const struct sim_seeding s = sim->seeding;
  struct window *w = &sim->window;
  if (s.windowed && (s.axis != scene->window.axis || s.direction != (int)scene->window.direction))
    return error_set(err, FIRN_EINPUT,
                     "%s: the run's window moves along %s%c, and snow that has entered would enter once "
                     "more along another axis: restore window.axis, or begin a new run",
                     scene->path, s.direction < 0 ? "-" : "", 'x' + s.axis);
  w->from = s.windowed ? plane_of(scene, s.from) : 0;
  w->to = s.windowed ? plane_of(scene, s.to) : scene->cells[scene->window.axis];
  w->placed = true;
  const bool same = s.windowed && s.points_mark == seed_samplings_mark(w->samplings, scene);
  return same ? FIRN_OK : number_points(sim, s.end_id, err);
}

int window_restore(struct sim *sim, const struct checkpoint *from, const char *path, bool lenient,
                   struct error *err)
{
  const bool given = sim->scene->window.given;
  if (given) sim->window.samplings = seed_samplings_create(sim->scene);
  int code = from->seeding ? read_seeding(from->seeding, path, &sim->seeding, err)
                           : guess_seeding(sim, from, lenient, &sim->seeding, err);
  if (!code && given) code = place_window(sim, err);
  return code;
}
