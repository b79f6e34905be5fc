#include "sim/sources.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "io/scene/scene_changes.h"
#include "sim/settle.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TRIES = 1000 };
/* A source has a block of 2^40 ids; with all blocks ids stay below 2^53, so that doubles hold them. */
enum { BLOCK_BITS = 40, BLOCKS = 1 << 12 };
static const int64_t block_size = (int64_t)1 << BLOCK_BITS;

/* Particles that are due up to a time: particle k at from + (k + 1) mass / rate. */
static int64_t due_until(const struct scene_source *source, double time)
{
  const double span = fmin(time, source->until) - source->from;
  return span > 0.0 ? (int64_t)fmin(floor(span * source->rate / source->mass), 0x1p40) : 0;
}

/* A point of the shape for particle `number` of a source. */
static void place_of(const struct scene_source *source, int64_t number, double x[3])
{
  double lower[3], upper[3];
  shape_bounds(&source->shape, lower, upper);
  for (uint64_t n = 0; n < MOST_TRIES; n++) {
    for (uint64_t d = 0; d < 3; d++)
      x[d] = lower[d] + (upper[d] - lower[d]) * rng_uniform(source->seed, (uint64_t)number, 3 * n + d);
    if (shape_contains(&source->shape, x)) return;
  }
  for (int d = 0; d < 3; d++) x[d] = source->shape.center[d];
}

/* The next particle of source `index`, which is the k-th to be due, at the end of a step at `time`: it has
 * moved since it was due. */
static void add_particle(struct sim *sim, int index, int64_t k, double time, struct particles *to)
{
  const struct scene_source *source = &sim->scene->sources[index];
  struct source_record *record = &sim->sources.records[index];
  const double late = time - (source->from + (double)(k + 1) * source->mass / source->rate);
  const double h = sim->scene->spacing;
  const int32_t i = particles_append(to, 1);
  double x[3];
  FIRN_ASSERT(record->brought < block_size);
  place_of(source, record->brought, x);
  vec_axpy(x, fmax(0.0, late), source->velocity, x);
  to->id[i] = SOURCE_FIRST_ID + ((uint64_t)record->block << BLOCK_BITS) + (uint64_t)record->brought++;
  to->mass[i] = source->mass;
  to->volume[i] = h * h * h / source->per_cell;
  if (to->flying) to->flying[i] = scene_source_is_thin(sim->scene, source);
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
    if (key == REORDER_GONE || slabs_owner(sim->mesh.slabs, grid_key_layer(key)) != sim->comm.rank) continue;
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

void sources_count_flying(struct sim *sim)
{
  int64_t count = 0;
  if (!sim->p->flying) return;
  for (int32_t i = 0; i < sim->p->count; i++) count += sim->p->flying[i] != 0.0;
  comm_sum_i64(&sim->comm, &count, 1);
  sim->flight.count = count;
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
  sources_count_flying(sim);
  sim->totals.entered += counts[0];
  sim->totals.removed += taken + counts[1];
  sim->totals.particles += counts[0] - counts[1] - taken;
}

/* --- numbers --- */

static void add_record(struct sim_sources *s, const char *name, int64_t block, int64_t brought)
{
  s->records = mem_resize(s->records, (size_t)s->count, (size_t)s->count + 1, sizeof *s->records);
  struct source_record *record = &s->records[s->count++];
  snprintf(record->name, sizeof record->name, "%s", name);
  record->block = block;
  record->brought = brought;
}

void sources_begin(struct sim *sim)
{
  for (int k = 0; k < sim->scene->source_count; k++)
    add_record(&sim->sources, sim->scene->sources[k].name, k, 0);
}

void sources_free(struct sim *sim)
{
  mem_free(sim->sources.records);
  sim->sources = (struct sim_sources){NULL, 0};
}

char *sources_save(const struct sim *sim)
{
  enum { LINE = sizeof sim->sources.records->name + 2 * 21 };
  const struct sim_sources *s = &sim->sources;
  char *text = mem_alloc((size_t)s->count * LINE + 1, 1), *at = text;
  for (int k = 0; k < s->count; k++)
    at += sprintf(at, "%s %" PRId64 " %" PRId64 "\n", s->records[k].name, s->records[k].block,
                  s->records[k].brought);
  return text;
}

/* Lines of sources_save(). */
static int read_records(const char *text, const char *path, struct sim_sources *out, struct error *err)
{
  for (const char *line = text; *line;) {
    char name[sizeof out->records->name];
    int64_t block, brought;
    int length = 0;
    if (sscanf(line, "%63s %" SCNd64 " %" SCNd64 "%n", name, &block, &brought, &length) != 3 ||
        line[length] != '\n' || block < 0 || block >= BLOCKS || brought < 0 || brought > block_size)
      return error_set(err, FIRN_EDAMAGED, "%s: what it says about sources cannot be read", path);
    add_record(out, name, block, brought);
    line += length + 1;
  }
  return FIRN_OK;
}

/* Earlier versions numbered by the source's place in the scene and by what was due. */
static int guess_records(const struct checkpoint *from, const char *path, struct sim_sources *out,
                         struct error *err)
{
  struct scene_names *names = NULL;
  struct scene *old = NULL;
  int code = scene_names_create(&names, from->resolved, "sources", err);
  if (!code && names->count > 0) code = scene_parse_stored(&old, path, from->resolved, err);
  for (int k = 0; old && k < old->source_count; k++)
    add_record(out, old->sources[k].name, k, due_until(&old->sources[k], from->time));
  scene_destroy(&old);
  scene_names_destroy(&names);
  return code;
}

/* The first block that neither a record nor a particle has. */
static int64_t free_block(const struct sim *sim, const struct sim_sources *known)
{
  double next = 0.0;
  for (int k = 0; k < known->count; k++) next = fmax(next, (double)known->records[k].block + 1.0);
  for (int32_t i = 0; i < sim->p->count; i++)
    if (sim->p->id[i] >= SOURCE_FIRST_ID)
      next = fmax(next, (double)((sim->p->id[i] - SOURCE_FIRST_ID) >> BLOCK_BITS) + 1.0);
  comm_max(&sim->comm, &next, 1);
  return (int64_t)next;
}

/* Of the scene's sources in their order, then of all others: one that comes back goes on with its numbers. */
static int match_records(struct sim *sim, struct sim_sources *known, struct error *err)
{
  int64_t next = free_block(sim, known);
  for (int k = 0; k < sim->scene->source_count; k++) {
    const char *name = sim->scene->sources[k].name;
    int found = 0;
    while (found < known->count && strcmp(known->records[found].name, name) != 0) found++;
    if (found < known->count) {
      add_record(&sim->sources, name, known->records[found].block, known->records[found].brought);
      known->records[found] = known->records[--known->count];
    } else {
      add_record(&sim->sources, name, next++, 0);
    }
  }
  for (int k = 0; k < known->count; k++)
    add_record(&sim->sources, known->records[k].name, known->records[k].block, known->records[k].brought);
  if (next <= BLOCKS || !sim->scene->source_count) return FIRN_OK;
  return error_set(err, FIRN_ELIMIT,
                   "%s: no ids are left for new sources, after %d of them; keep the names of earlier ones",
                   sim->scene->path, BLOCKS);
}

int sources_restore(struct sim *sim, const struct checkpoint *from, const char *path, struct error *err)
{
  struct sim_sources known = {NULL, 0};
  int code =
      from->sources ? read_records(from->sources, path, &known, err) : guess_records(from, path, &known, err);
  code = comm_agree(&sim->comm, code, err);
  if (!code) code = match_records(sim, &known, err);
  mem_free(known.records);
  return code;
}
