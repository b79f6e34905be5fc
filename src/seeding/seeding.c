/* Seeding in candidates.
 *
 * Candidate k of a source has a position that depends on (seed, k) alone (sampling.h); those inside the shape
 * become particles, numbered in the order of k. Ranks take equal ranges of candidates, and a prefix sum of
 * what each kept numbers them, so the same particles with the same ids come out on any number of ranks.
 *
 * An exact number of particles is either taken from an endless row of candidates, or, where these come on a
 * lattice, found by a lattice that is a little too fine and a draw of those that must go again. */
#include "seeding/seeding.h"

#include "base/fmath.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "io/particles/particle_file.h"
#include "io/particles/unique_ids.h"
#include "io/scene/window.h"
#include "seeding/candidates.h"
#include "seeding/variation.h"

#include <math.h>
#include <string.h>

/* This rank's part of the range [*begin, *end). */
static void my_share(const struct comm *comm, int64_t *begin, int64_t *end)
{
  const __int128 length = *end - *begin;
  const int64_t first = *begin;
  *begin = first + (int64_t)(length * comm->rank / comm->size);
  *end = first + (int64_t)(length * (comm->rank + 1) / comm->size);
}

/* Numbers p's particles from `old` on, all ranks in turn, and drops those from the `most`-th on. Returns how
 * many all ranks keep. */
static int64_t number(const struct comm *comm, int64_t most, uint64_t first_id, int32_t old,
                      struct particles *p)
{
  int64_t kept = p->count - old;
  const int64_t before = comm_exscan_i64(comm, kept);
  const int64_t allowed = most - before > 0 ? most - before : 0;
  if (kept > allowed) kept = allowed;
  p->count = old + (int32_t)kept;
  for (int64_t k = 0; k < kept; k++) p->id[old + k] = first_id + (uint64_t)(before + k);
  comm_sum_i64(comm, &kept, 1);
  return kept;
}

/* Takes points of an endless row until `wanted` are inside. Returns how many were found. */
static int64_t seed_row(const struct comm *comm, const struct snow_source *source, int64_t wanted,
                        uint64_t first_id, struct particles *p)
{
  double lower[3], upper[3], size[3];
  shape_bounds(&source->shape, lower, upper);
  vec_sub(upper, lower, size);
  const double hit = shape_volume(&source->shape) / (size[0] * size[1] * size[2]);
  int64_t found = 0, next = 0;
  struct candidates c = {0};
  /* A shape whose volume was measured too large must not keep this loop running forever. */
  const double patience = 100.0 * ((double)wanted / hit + 64.0);
  while (found < wanted && (double)next < patience) {
    const int64_t missing = wanted - found, tries = (int64_t)fmin((double)missing / hit, 0x1p55) + 64;
    int64_t begin = next, end = next + tries;
    my_share(comm, &begin, &end);
    if (next == 0) candidates_create(&c, source, NULL, begin, end, comm->threads);
    const int32_t old = p->count;
    candidates_take(&c, begin, end, p);
    found += number(comm, missing, first_id + (uint64_t)found, old, p);
    next += tries;
  }
  candidates_destroy(&c);
  return found;
}

static void create_sampling(struct sampling *s, const struct scene *scene, const struct snow_source *source,
                            double cell, double per_cell)
{
  double lower[3], upper[3];
  shape_bounds(&source->shape, lower, upper);
  sampling_create(s, source->sampling, source->seed, cell, per_cell, scene->lower, lower, upper,
                  scene->window.given ? scene->window.axis : 0);
}

/* Takes this rank's share of all points of the lattice that are inside; ids are the points' indices. */
static void take_lattice(const struct comm *comm, const struct snow_source *source, const struct sampling *s,
                         struct particles *p)
{
  int64_t begin = 0, end = sampling_count(s);
  my_share(comm, &begin, &end);
  struct candidates c;
  candidates_create(&c, source, s, begin, end, comm->threads);
  candidates_take(&c, begin, end, p);
  candidates_destroy(&c);
}

/* The largest number with at most `wanted` draws below it, found digit by digit of eight bits. */
static uint64_t find_limit(const struct comm *comm, const uint64_t *draw, int32_t count, int64_t wanted)
{
  uint64_t limit = 0;
  int64_t below = 0; /* draws below the limit so far */
  for (int shift = 56; shift >= 0; shift -= 8) {
    int64_t digits[256] = {0};
    for (int32_t i = 0; i < count; i++)
      if ((draw[i] ^ limit) >> shift < 256) digits[draw[i] >> shift & 255]++;
    comm_sum_i64(comm, digits, 256);
    uint64_t digit = 0;
    for (; digit < 255 && below + digits[digit] <= wanted; digit++) below += digits[digit];
    limit |= digit << shift;
  }
  return limit;
}

/* Keeps those `wanted` of p's particles from `old` on that draw the lowest numbers; order stays. */
static void keep_lowest(const struct comm *comm, uint64_t seed, int64_t wanted, int32_t old,
                        struct particles *p)
{
  const int32_t count = p->count - old;
  uint64_t *draw = mem_alloc((size_t)count, sizeof *draw);
  for (int32_t i = 0; i < count; i++) draw[i] = rng_bits(seed, p->id[old + i], 11);
  const uint64_t limit = find_limit(comm, draw, count, wanted);
  int32_t kept = old;
  for (int32_t i = 0; i < count; i++) {
    if (draw[i] >= limit) continue;
    p->id[kept] = p->id[old + i];
    for (int d = 0; d < 3; d++) {
      p->x[d][kept] = p->x[d][old + i];
      p->v[d][kept] = p->v[d][old + i];
    }
    kept++;
  }
  p->count = kept;
  mem_free(draw);
}

/* An exact number from a lattice. Its count inside the shape scatters with the surface, by some multiples of
 * wanted^(1/3). */
static int64_t seed_exact(const struct comm *comm, const struct scene *scene,
                          const struct snow_source *source, uint64_t first_id, struct particles *p)
{
  const int32_t old = p->count;
  const double wanted = (double)source->count, volume = shape_volume(&source->shape);
  double surplus = 4.0 * sampling_cube_root(wanted);
  for (int tries = 0; tries < 12; tries++, surplus *= 2.0) {
    struct sampling s;
    create_sampling(&s, scene, source, sampling_cube_root(volume / (wanted + surplus)), 1.0);
    take_lattice(comm, source, &s, p);
    sampling_destroy(&s);
    int64_t found = p->count - old;
    comm_sum_i64(comm, &found, 1);
    if (found >= source->count) {
      keep_lowest(comm, source->seed, source->count, old, p);
      return number(comm, INT64_MAX, first_id, old, p);
    }
    p->count = old;
  }
  return 0;
}

static int64_t seed_per_cell(const struct comm *comm, const struct scene *scene,
                             const struct snow_source *source, uint64_t first_id, struct particles *p)
{
  const int32_t old = p->count;
  struct sampling s;
  create_sampling(&s, scene, source, scene->spacing, source->per_cell);
  take_lattice(comm, source, &s, p);
  sampling_destroy(&s);
  return number(comm, INT64_MAX, first_id, old, p);
}

static int64_t seed_points(const struct comm *comm, const struct scene *scene,
                           const struct snow_source *source, uint64_t first_id, struct particles *p)
{
  const bool lattice = source->sampling == SAMPLING_JITTERED || source->sampling == SAMPLING_POISSON;
  if (source->count) {
    return lattice ? seed_exact(comm, scene, source, first_id, p)
                   : seed_row(comm, source, source->count, first_id, p);
  }
  if (source->sampling != SAMPLING_SEQUENCE) return seed_per_cell(comm, scene, source, first_id, p);
  const double cell = scene->spacing * scene->spacing * scene->spacing;
  const double wanted = fmax(1.0, floor(source->per_cell * shape_volume(&source->shape) / cell + 0.5));
  return seed_row(comm, source, (int64_t)wanted, first_id, p);
}

static int seed_shape(const struct comm *comm, const struct scene *scene, const struct snow_source *source,
                      uint64_t first_id, struct particles *p, int64_t *total, struct error *err)
{
  const int32_t old = p->count;
  *total = seed_points(comm, scene, source, first_id, p);
  if (*total == 0 || *total < source->count)
    return error_set(err, FIRN_EINPUT,
                     "%s:%d: snow \"%s\": the shape holds no particle; raise per_cell or make the shape "
                     "larger than a cell",
                     scene->path, source->line, source->name);
  return variation_apply(comm, scene, source, p, old, *total, err);
}

/* Ids of the particles from `old` on, all ranks in turn. */
static void number_anew(const struct comm *comm, struct particles *p, int32_t old, uint64_t first_id)
{
  const uint64_t first = first_id + (uint64_t)comm_exscan_i64(comm, p->count - old);
  for (int32_t i = old; i < p->count; i++) p->id[i] = first + (uint64_t)(i - old);
}

/* Whether ids of the particles from `old` on, the least of which is given, occur among those before, all of
 * which are below first_id. */
static int find_repeats(const struct comm *comm, const struct particles *p, uint64_t least, uint64_t first_id,
                        bool *repeats, struct error *err)
{
  struct error found = {.code = FIRN_OK};
  *repeats = false;
  if (least >= first_id) return FIRN_OK;
  const int code = unique_ids_check(comm, p->id, p->count, &found);
  *repeats = code == FIRN_EINPUT;
  if (!code || *repeats) return FIRN_OK;
  if (err) *err = found;
  return code;
}

/* Liquid has no shape: what a file says otherwise becomes a volume. */
static void relax_liquid(const struct heat_law *law, struct particles *p, int32_t i)
{
  double *const *f = p->fe;
  const double rest = p->mass[i] / law->rho_liquid, root = f[0][i];
  bool plain = fabs(p->jp[i] - 1.0) < 1e-9 && fabs(p->volume[i] / rest - 1.0) < 1e-9;
  for (int k = 0; k < 9; k++) plain = plain && fabs(f[k][i] - (k % 4 == 0 ? root : 0.0)) < 1e-9;
  if (plain) return;
  const double j = f[0][i] * (f[4][i] * f[8][i] - f[5][i] * f[7][i]) -
                   f[1][i] * (f[3][i] * f[8][i] - f[5][i] * f[6][i]) +
                   f[2][i] * (f[3][i] * f[7][i] - f[4][i] * f[6][i]);
  const double now = fmath_cbrt(j * p->jp[i] * p->volume[i] / rest);
  for (int k = 0; k < 9; k++) f[k][i] = k % 4 == 0 ? now : 0.0;
  p->jp[i] = 1.0;
  p->volume[i] = rest;
}

/* What the scene says of a file's particles, where the file does not: phase, enthalpy, conductivity. Snow of
 * unknown volume conducts as its material of that density does. */
static void warm_file(const struct scene *scene, const struct snow_source *source, unsigned columns,
                      struct particles *p, int32_t old)
{
  const struct heat_law *law = &scene->heat;
  const double above = source->temperature - law->melting_point;
  for (int32_t i = old; i < p->count && scene->has_heat; i++) {
    if (!(columns & 1u << PARTICLE_LIQUID)) p->liquid[i] = source->liquid;
    const bool liquid = p->liquid[i] != 0.0;
    if (liquid && p->volume[i] == 0.0) p->volume[i] = p->mass[i] / law->rho_liquid;
    if (liquid) relax_liquid(law, p, i);
    if (!(columns & 1u << PARTICLE_ENTHALPY))
      p->enthalpy[i] = heat_enthalpy(law, liquid ? fmax(above, 0.0) : fmin(above, 0.0), liquid);
    const double density = scene->materials[source->material].density;
    if (!(columns & 1u << PARTICLE_CONDUCTIVITY))
      variation_conduct(scene, source, p, i, p->volume[i] > 0.0 ? p->volume[i] : p->mass[i] / density);
  }
}

/* One particle file: its ids stay, unless one of them is taken, since an id identifies a particle.
 * *first_id becomes one above all ids so far. */
static int seed_file(const struct comm *comm, const struct scene *scene, const struct snow_source *source,
                     struct particles *p, uint64_t *first_id, struct error *err)
{
  struct particle_file_info info;
  const int32_t old = p->count;
  bool repeats = false;
  int code = particle_file_read(comm, source->file, &scene->writing, (uint32_t)source->material, *first_id, p,
                                &info, err);
  if (!code) code = scene_check_columns(source, info.columns, err);
  if (code) return code;
  warm_file(scene, source, info.columns, p, old);
  const int64_t total = info.rows;
  double ends[2] = {0.0, -INFINITY}; /* the largest id, and minus the least */
  for (int32_t i = old; i < p->count; i++) {
    ends[0] = fmax(ends[0], (double)p->id[i]);
    ends[1] = fmax(ends[1], -(double)p->id[i]);
  }
  comm_max(comm, ends, 2);
  if (ends[0] >= 0x1p53 - 1.0 || (double)*first_id + (double)total >= 0x1p53)
    return error_set(err, FIRN_EINPUT, "ids in %s reach beyond 2^53", source->file);
  code = find_repeats(comm, p, (uint64_t)-ends[1], *first_id, &repeats, err);
  if (code) return code;
  if (repeats) {
    log_warn("%s:%d: ids in %s occur in a file before it: its particles are renumbered, from %llu",
             scene->path, source->line, source->file, (unsigned long long)*first_id);
    number_anew(comm, p, old, *first_id);
    ends[0] = (double)*first_id + (double)(total - 1);
  }
  if ((uint64_t)ends[0] >= *first_id) *first_id = (uint64_t)ends[0] + 1;
  return FIRN_OK;
}

/* Files come first, so that shapes can be numbered after the ids that files bring. */
static int seed_files(const struct comm *comm, const struct scene *scene, struct particles *p,
                      uint64_t *first_id, struct error *err)
{
  for (int k = 0; k < scene->snow_count; k++) {
    const struct snow_source *source = &scene->snow[k];
    if (!source->file) continue;
    if (seed_file(comm, scene, source, p, first_id, err))
      return error_prefix(err, "%s:%d", scene->path, source->line);
  }
  return FIRN_OK;
}

static void add_particle(struct particles *p, const struct snow_source *source, uint64_t id,
                         const double x[3])
{
  const int32_t i = particles_append(p, 1);
  double arm[3], turn[3];
  vec_sub(x, source->shape.center, arm);
  vec_cross(source->spin, arm, turn);
  p->id[i] = id;
  for (int d = 0; d < 3; d++) {
    p->x[d][i] = x[d];
    p->v[d][i] = source->velocity[d] + turn[d];
  }
}

/* The particles of one item in these planes, candidates numbered from first_id on. */
static void seed_item_planes(const struct scene *scene, const struct snow_source *source,
                             const struct sampling *s, uint64_t first_id, int64_t from, int64_t to,
                             struct particles *p)
{
  const int axis = scene->window.axis;
  const double h = scene->spacing, low = scene->lower[axis];
  const int32_t old = p->count;
  int64_t begin, end;
  double x[3];
  sampling_range(s, low + h * (double)from, low + h * (double)to, &begin, &end);
  for (int64_t k = begin; k < end; k++) {
    if (!sampling_point(s, k, x)) continue;
    const double plane = floor((x[axis] - low) / h);
    if (plane < (double)from || plane >= (double)to || !shape_contains(&source->shape, x)) continue;
    add_particle(p, source, first_id + (uint64_t)k, x);
  }
  variation_apply_each(scene, source, p, old, h * h * h / source->per_cell);
}

struct sampling *seed_samplings_create(const struct scene *scene)
{
  struct sampling *samplings = mem_alloc((size_t)scene->snow_count, sizeof *samplings);
  for (int k = 0; k < scene->snow_count; k++)
    create_sampling(&samplings[k], scene, &scene->snow[k], scene->spacing, scene->snow[k].per_cell);
  return samplings;
}

void seed_samplings_destroy(struct sampling **samplings, const struct scene *scene)
{
  if (!*samplings) return;
  for (int k = 0; k < scene->snow_count; k++) sampling_destroy(&(*samplings)[k]);
  mem_free(*samplings);
  *samplings = NULL;
}

uint64_t seed_samplings_count(const struct sampling *samplings, const struct scene *scene)
{
  uint64_t count = 0;
  for (int k = 0; k < scene->snow_count; k++) count += (uint64_t)sampling_count(&samplings[k]);
  return count;
}

uint64_t seed_samplings_mark(const struct sampling *samplings, const struct scene *scene)
{
  uint64_t mark = 0;
  for (int k = 0; k < scene->snow_count; k++) mark = sampling_mark(&samplings[k], mark);
  return mark;
}

void seed_planes(const struct scene *scene, const struct sampling *samplings, uint64_t first_id, int64_t from,
                 int64_t to, struct particles *p)
{
  for (int k = 0; k < scene->snow_count; k++) {
    seed_item_planes(scene, &scene->snow[k], &samplings[k], first_id, from, to, p);
    first_id += (uint64_t)sampling_count(&samplings[k]);
  }
}

/* What a window shows at the start, each rank some planes of it. */
static int seed_window(const struct comm *comm, const struct scene *scene, struct particles *p,
                       struct error *err)
{
  struct window w = {0};
  window_advance(&w, scene, 0.0);
  my_share(comm, &w.from, &w.to);
  struct sampling *samplings = seed_samplings_create(scene);
  seed_planes(scene, samplings, 0, w.from, w.to, p);
  seed_samplings_destroy(&samplings, scene);
  int64_t total = p->count;
  comm_sum_i64(comm, &total, 1);
  if (total) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "%s: no snow is in the window at the start", scene->path);
}

int seed_snow(const struct comm *comm, const struct scene *scene, struct particles *p, struct error *err)
{
  if (scene->window.given) return seed_window(comm, scene, p, err);
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
