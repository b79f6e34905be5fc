/* Seeding in candidates.
 *
 * Candidate k of a source has a position that depends on (seed, k) alone; those inside the shape become
 * particles, numbered in the order of k. Ranks take equal ranges of candidates, and a prefix sum of what each
 * kept numbers them, so the same particles with the same ids come out on any number of ranks.
 *
 * `per_cell` draws uniformly in every cell that the shape's bounds touch. `particles` (an exact count) walks
 * a low-discrepancy sequence (multiples of the powers of the root of x^4 = x + 1, in 64-bit integers) through
 * the bounds until enough points were inside. The mass is density times the shape's exact volume over the
 * count. */
#include "seeding.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "io/particle_file.h"

#include <math.h>
#include <string.h>

struct candidates {
  const struct snow_source *source;
  double lower[3], size[3]; /* m: the box that candidates fall into */
  double spacing;
  int64_t cells[3]; /* per_cell: cells of that box */
  int64_t per_cell; /* candidates in a cell; 0: low-discrepancy sequence over the box */
  int64_t count;    /* of all candidates; the sequence has no end */
};

static void candidates_create(struct candidates *c, const struct scene *scene,
                              const struct snow_source *source)
{
  *c = (struct candidates){.source = source, .spacing = scene->spacing};
  double upper[3];
  shape_bounds(&source->shape, c->lower, upper);
  c->count = INT64_MAX;
  if (source->count == 0) {
    c->per_cell = (int64_t)ceil(source->per_cell);
    c->count = c->per_cell;
  }
  for (int d = 0; d < 3; d++) {
    c->size[d] = upper[d] - c->lower[d];
    if (source->count) continue;
    const double first = floor((c->lower[d] - scene->lower[d]) / scene->spacing);
    const double last = ceil((upper[d] - scene->lower[d]) / scene->spacing);
    c->lower[d] = scene->lower[d] + first * scene->spacing;
    c->cells[d] = (int64_t)(last - first);
    c->count *= c->cells[d];
  }
}

/* Position of candidate k; false if it is not to be used at all. */
static bool candidate_position(const struct candidates *c, int64_t k, double x[3])
{
  const uint64_t seed = c->source->seed;
  if (c->per_cell == 0) {
    const uint64_t step[3] = {0xd1b54a32d192ed03u, 0xabc98388fb8fac03u, 0x8cb92ba72f3d8dd7u};
    for (int d = 0; d < 3; d++) {
      const uint64_t at = rng_bits(seed, (uint64_t)d, 7) + (uint64_t)(k + 1) * step[d];
      x[d] = c->lower[d] + c->size[d] * ((double)(at >> 11) * 0x1p-53);
    }
    return true;
  }
  const int64_t cell = k / c->per_cell, last = c->per_cell - 1;
  const int64_t at[3] = {cell / (c->cells[1] * c->cells[2]), cell / c->cells[2] % c->cells[1],
                         cell % c->cells[2]};
  for (int d = 0; d < 3; d++)
    x[d] = c->lower[d] + c->spacing * ((double)at[d] + rng_uniform(seed, (uint64_t)k, (uint64_t)d));
  const double fraction =
      c->source->per_cell - (double)last; /* a broken number of particles: the last one sometimes */
  return k % c->per_cell < last || rng_uniform(seed, (uint64_t)k, 3) < fraction;
}

static void add_particle(struct particles *p, const struct snow_source *source, uint64_t id,
                         const double x[3])
{
  const int32_t i = particles_append(p, 1);
  double arm[3], turn[3];
  vec_sub(x, source->shape.center, arm);
  vec_cross(source->spin, arm, turn);
  p->id[i] = id;
  p->material[i] = (uint32_t)source->material;
  for (int d = 0; d < 3; d++) {
    p->x[d][i] = x[d];
    p->v[d][i] = source->velocity[d] + turn[d];
  }
}

/* Goes through candidates [begin, end), this rank its share of them; keeps at most `most` in all. Returns how
 * many all ranks kept. */
static int64_t seed_range(const struct comm *comm, const struct candidates *c, int64_t begin, int64_t end,
                          int64_t most, uint64_t first_id, struct particles *p)
{
  const int64_t length = end - begin;
  const int64_t from = begin + (int64_t)((__int128)length * comm->rank / comm->size);
  const int64_t to = begin + (int64_t)((__int128)length * (comm->rank + 1) / comm->size);
  const int32_t old = p->count;
  double x[3];
  for (int64_t k = from; k < to; k++)
    if (candidate_position(c, k, x) && shape_distance(&c->source->shape, x, NULL) <= 0.0)
      add_particle(p, c->source, 0, x);
  int64_t kept = p->count - old;
  const int64_t before = comm_exscan_i64(comm, kept);
  const int64_t allowed = most - before > 0 ? most - before : 0;
  if (kept > allowed) kept = allowed;
  p->count = old + (int32_t)kept;
  for (int64_t k = 0; k < kept; k++) p->id[old + k] = first_id + (uint64_t)(before + k);
  comm_sum_i64(comm, &kept, 1);
  return kept;
}

static int seed_shape(const struct comm *comm, const struct scene *scene, const struct snow_source *source,
                      uint64_t first_id, struct particles *p, int64_t *total, struct error *err)
{
  struct candidates c;
  candidates_create(&c, scene, source);
  const int32_t old = p->count;
  const double volume = shape_volume(&source->shape);
  if (source->count == 0) {
    *total = seed_range(comm, &c, 0, c.count, INT64_MAX, first_id, p);
  } else {
    const double hit = volume / (c.size[0] * c.size[1] * c.size[2]);
    int64_t next = 0;
    for (*total = 0; *total < source->count;) {
      const int64_t missing = source->count - *total;
      const int64_t tries = (int64_t)((double)missing / hit) + 64;
      *total += seed_range(comm, &c, next, next + tries, missing, first_id + (uint64_t)*total, p);
      next += tries;
    }
  }
  if (*total == 0)
    return error_set(err, FIRN_EINPUT,
                     "%s:%d: snow \"%s\": the shape holds no particle; raise per_cell or make the shape "
                     "larger than a cell",
                     scene->path, source->line, source->name);
  const double mass = scene->materials[source->material].density * volume / (double)*total;
  for (int32_t i = old; i < p->count; i++) {
    p->mass[i] = mass;
    if (source->exact_volume) p->volume[i] = volume / (double)*total;
  }
  return FIRN_OK;
}

/* Files come first, so that shapes can be numbered after the ids that files bring. */
static int seed_files(const struct comm *comm, const struct scene *scene, struct particles *p,
                      uint64_t *first_id, struct error *err)
{
  for (int k = 0; k < scene->snow_count; k++) {
    const struct snow_source *source = &scene->snow[k];
    if (!source->file) continue;
    int64_t total = 0;
    const int32_t old = p->count;
    const int code =
        particle_file_read(comm, source->file, (uint32_t)source->material, *first_id, p, &total, err);
    if (code) return error_prefix(err, "%s:%d", scene->path, source->line);
    double largest = 0.0;
    for (int32_t i = old; i < p->count; i++) largest = fmax(largest, (double)p->id[i]);
    comm_max(comm, &largest, 1);
    if (largest >= 0x1p53 - 1.0)
      return error_set(err, FIRN_EINPUT, "%s:%d: ids in %s reach beyond 2^53", scene->path, source->line,
                       source->file);
    *first_id = (uint64_t)largest + 1;
  }
  return FIRN_OK;
}

int seed_snow(const struct comm *comm, const struct scene *scene, struct particles *p, struct error *err)
{
  uint64_t first_id = 0;
  int code = seed_files(comm, scene, p, &first_id, err);
  for (int k = 0; k < scene->snow_count && !code; k++) {
    if (scene->snow[k].file) continue;
    int64_t total = 0;
    code = seed_shape(comm, scene, &scene->snow[k], first_id, p, &total, err);
    first_id += (uint64_t)total;
  }
  return code;
}
