#include "sim/sources.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "sim/settle.h"

#include <math.h>

enum { MOST_TRIES = 1000 };

/* Particles that are due up to a time: particle k at from + (k + 1) mass / rate. */
static int64_t due_until(const struct scene_source *source, double time)
{
  const double span = fmin(time, source->until) - source->from;
  return span > 0.0 ? (int64_t)fmin(floor(span * source->rate / source->mass), 0x1p40) : 0;
}

/* A point of the shape for particle k. */
static void place_of(const struct scene_source *source, int64_t k, double x[3])
{
  double lower[3], upper[3];
  shape_bounds(&source->shape, lower, upper);
  for (uint64_t n = 0; n < MOST_TRIES; n++) {
    for (uint64_t d = 0; d < 3; d++)
      x[d] = lower[d] + (upper[d] - lower[d]) * rng_uniform(source->seed, (uint64_t)k, 3 * n + d);
    if (shape_contains(&source->shape, x)) return;
  }
  for (int d = 0; d < 3; d++) x[d] = source->shape.center[d];
}

/* Particle k of source `index` at the end of a step at `time`: it has moved since it was due. */
static void add_particle(const struct sim *sim, int index, int64_t k, double time, struct particles *to)
{
  const struct scene_source *source = &sim->scene->sources[index];
  const double late = time - (source->from + (double)(k + 1) * source->mass / source->rate);
  const double h = sim->scene->spacing;
  const int32_t i = particles_append(to, 1);
  double x[3];
  place_of(source, k, x);
  vec_axpy(x, fmax(0.0, late), source->velocity, x);
  to->id[i] = SOURCE_FIRST_ID + ((uint64_t)index << 40) + (uint64_t)k;
  to->mass[i] = source->mass;
  to->volume[i] = h * h * h / source->per_cell;
  if (to->material) to->material[i] = (uint32_t)source->material;
  if (to->enthalpy) {
    const struct heat_law *law = &sim->scene->heat;
    to->enthalpy[i] = heat_enthalpy(law, source->temperature - law->melting_point, source->liquid);
    to->liquid[i] = source->liquid;
    to->conductivity[i] = source->conductivity;
  }
  for (int d = 0; d < 3; d++) {
    to->x[d][i] = x[d];
    to->v[d][i] = source->velocity[d];
  }
}

/* Of what is due in this step, what falls into this rank's slab; counts[0]: all, counts[1]: beyond the
 * domain.
 */
static void emit(struct sim *sim, double time, int64_t counts[2])
{
  struct particles *all = particles_create(particles_needs(sim->p));
  for (int n = 0; n < sim->scene->source_count; n++) {
    const struct scene_source *source = &sim->scene->sources[n];
    const int64_t end = due_until(source, time);
    for (int64_t k = due_until(source, sim->clock.time); k < end; k++) add_particle(sim, n, k, time, all);
    if (due_until(source, sim->clock.time) < end)
      sim->max_speed = fmax(sim->max_speed, vec_norm(source->velocity));
  }
  sim_begin_history(sim->scene, all);
  void *record = mem_alloc(1, particles_record_size(all));
  for (int32_t i = 0; i < all->count; i++) {
    const double x[3] = {all->x[0][i], all->x[1][i], all->x[2][i]};
    const uint64_t key = grid_key_of(&sim->mesh.grid->geometry, x);
    counts[0]++;
    counts[1] += key == REORDER_GONE;
    sim->max_sound = fmax(sim->max_sound, sim_sound_of(sim, all, i));
    if (key == REORDER_GONE || slabs_owner(sim->mesh.slabs, grid_key_plane(key)) != sim->comm.rank) continue;
    instruments_pass(sim, true, all, i, all, i);
    particles_pack(all, i, record);
    particles_unpack(sim->p, particles_append(sim->p, 1), record);
  }
  mem_free(record);
  particles_destroy(&all);
}

static bool is_taken(const struct scene *scene, double time, const double x[3])
{
  for (int k = 0; k < scene->sink_count; k++) {
    const struct scene_sink *sink = &scene->sinks[k];
    if (time >= sink->from && time < sink->until && shape_contains(&sink->shape, x)) return true;
  }
  return false;
}

/* Particles in sinks, in order; with `mark` they go. */
static int64_t take_out(struct sim *sim, double time, bool mark)
{
  int64_t taken = 0;
  for (int32_t i = 0; sim->scene->sink_count && i < sim->p->count; i++) {
    const double x[3] = {sim->p->x[0][i], sim->p->x[1][i], sim->p->x[2][i]};
    if (!is_taken(sim->scene, time, x)) continue;
    taken++;
    if (!mark || sim->next.fate[i] == FATE_GONE) continue;
    instruments_pass(sim, false, sim->p, i, sim->p, i);
    sim->next.fate[i] = FATE_GONE;
  }
  return taken;
}

void sources_act(struct sim *sim, double time)
{
  const struct scene *scene = sim->scene;
  if (!scene->source_count && !scene->sink_count) return;
  int64_t due = 0, taken = 0;
  for (int k = 0; k < scene->source_count; k++)
    due += due_until(&scene->sources[k], time) - due_until(&scene->sources[k], sim->clock.time);
  sim_tidy(sim);
  if (scene->sink_count) {
    taken = take_out(sim, time, false);
    comm_sum_i64(&sim->comm, &taken, 1);
  }
  if (!due && !taken) return;
  int64_t counts[2] = {0, 0};
  if (due) emit(sim, time, counts);
  sim_stage(sim);
  taken = take_out(sim, time, true);
  comm_sum_i64(&sim->comm, &taken, 1);
  sim_find_leavers(sim);
  sim_settle(sim, false);
  sim_tidy(sim);
  heat_begin(sim);
  sim->totals.entered += counts[0];
  sim->totals.removed += taken + counts[1];
  sim->totals.particles += counts[0] - counts[1] - taken;
}
