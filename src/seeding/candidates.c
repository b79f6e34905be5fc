#include "seeding/candidates.h"

#include "base/memory.h"
#include "base/vec.h"

#include <math.h>

enum {
  CHUNK = 1 << 14, /* candidates that a thread takes at a time */
  BATCH = 1 << 27, /* candidates of two passes: their marks take 16 MiB */
  A_CELL = 12,     /* candidates in a cell of the map, about, */
  CELLS = 1 << 21, /* but no more cells than these */
  FINEST = 4       /* cells of a cube that has many points, along an axis */
};

static int64_t groups(int64_t cubes, int64_t group)
{
  return (cubes + group - 1) / group;
}

/* Cells that are groups of cubes, or parts of one, from the layer of `begin` to that before `end`. */
static void map_lattice(struct candidates *c, int64_t begin, int64_t end, double wanted)
{
  const struct sampling *s = c->lattice;
  const int64_t layer = s->cubes[1] * s->cubes[2] * s->per_cube;
  c->first = begin / layer;
  const int64_t layers = (end + layer - 1) / layer - c->first;
  const double cubes = (double)layers * (double)s->cubes[1] * (double)s->cubes[2];
  int64_t n[3], fine = 1;
  c->group = 1;
  while (s->tile && fine < FINEST && 8.0 * (double)(fine * fine * fine) * cubes <= wanted) fine *= 2;
  while (fine == 1 && (double)groups(layers, c->group) * (double)groups(s->cubes[1], c->group) *
                              (double)groups(s->cubes[2], c->group) >
                          wanted)
    c->group++;
  double lower[3];
  for (int a = 0; a < 3; a++) {
    const int d = s->axis[a];
    n[d] = a == 0 ? layers : s->cubes[a];
    n[d] = fine > 1 ? fine * n[d] : groups(n[d], c->group);
    lower[d] = s->lower[d] + (a == 0 ? s->pitch * (double)c->first : 0.0);
  }
  inside_map_create(&c->map, &c->source->shape, lower, s->pitch * (double)c->group / (double)fine, n, NULL,
                    c->threads);
  if (fine == 1) return;
  c->fine = fine;
  c->cell = mem_alloc((size_t)s->per_cube, sizeof *c->cell);
  for (int64_t k = 0; k < s->per_cube; k++) {
    int64_t at[3];
    for (int d = 0; d < 3; d++) at[d] = (int64_t)((double)fine * s->tile[3 * k + d]);
    c->cell[k] = (int32_t)inside_map_index(&c->map, at);
  }
}

void candidates_create(struct candidates *c, const struct snow_source *source, const struct sampling *lattice,
                       int64_t begin, int64_t end, int threads)
{
  double upper[3];
  *c = (struct candidates){
      .source = source, .lattice = lattice, .threads = threads, .map.shape = &source->shape};
  shape_bounds(&source->shape, c->lower, upper);
  vec_sub(upper, c->lower, c->size);
  const double wanted = fmin((double)(end - begin) / A_CELL, CELLS);
  if (wanted < 1.0) return;
  if (lattice)
    map_lattice(c, begin, end, wanted);
  else
    inside_map_cover(&c->map, &source->shape, wanted, NULL, threads);
}

void candidates_destroy(struct candidates *c)
{
  inside_map_destroy(&c->map);
  mem_free(c->cell);
  *c = (struct candidates){0};
}

/* A candidate's point; false if there is none. */
static bool point_of(const struct candidates *c, int64_t k, double x[3])
{
  if (c->lattice) return sampling_point(c->lattice, k, x);
  sampling_in_cube(c->source->sampling, c->source->seed, k, x);
  for (int d = 0; d < 3; d++) x[d] = c->lower[d] + c->size[d] * x[d];
  return true;
}

/* A bit for each candidate of a chunk. */
static void mark(uint64_t *marks, int64_t bit)
{
  marks[bit / 64] |= (uint64_t)1 << bit % 64;
}

static bool is_inside(const struct candidates *c, int64_t k, enum inside_state state)
{
  double x[3];
  return point_of(c, k, x) && inside_map_contains(&c->map, state, x);
}

/* Candidates [from, to) of one state; bits are counted from `begin` on. */
static void mark_run(const struct candidates *c, int64_t begin, int64_t from, int64_t to,
                     enum inside_state state, uint64_t *marks)
{
  const bool all = state >= INSIDE_YES && c->lattice->last == 1.0;
  if (state == INSIDE_NO) return;
  for (int64_t k = from; k < to; k++)
    if (all || is_inside(c, k, state)) mark(marks, k - begin);
}

/* The same where each point of a cube has a cell of its own, the first of them `first`. */
static void mark_cube(const struct candidates *c, int64_t begin, int64_t from, int64_t to, int64_t first,
                      uint64_t *marks)
{
  int64_t point = from % c->lattice->per_cube;
  for (int64_t k = from; k < to; k++, point++) {
    const enum inside_state state = (enum inside_state)c->map.state[first + c->cell[point]];
    if (state == INSIDE_UNKNOWN ? is_inside(c, k, state) : state != INSIDE_NO) mark(marks, k - begin);
  }
}

/* Run by run of candidates in one cell of the map, or cube by cube. */
static void mark_lattice(const struct candidates *c, int64_t begin, int64_t end, uint64_t *marks)
{
  const struct sampling *s = c->lattice;
  for (int64_t k = begin, next; k < end; k = next) {
    const int64_t cube = k / s->per_cube, group = c->group;
    const int64_t at[3] = {cube / (s->cubes[1] * s->cubes[2]), cube / s->cubes[2] % s->cubes[1],
                           cube % s->cubes[2]};
    const int64_t rest = group - at[2] % group, row = s->cubes[2] - at[2];
    next = (cube + (rest < row ? rest : row)) * s->per_cube;
    if (next > end) next = end;
    int64_t cell[3];
    for (int a = 0; a < 3; a++) cell[s->axis[a]] = at[a] - (a == 0 ? c->first : 0);
    for (int d = 0; d < 3; d++) cell[d] = c->cell ? cell[d] * c->fine : cell[d] / group;
    const int64_t index = inside_map_index(&c->map, cell);
    if (c->cell)
      mark_cube(c, begin, k, next, index, marks);
    else
      mark_run(c, begin, k, next, (enum inside_state)c->map.state[index], marks);
  }
}

static void mark_all(const struct candidates *c, int64_t begin, int64_t end, uint64_t *marks)
{
  if (c->lattice && c->map.state) {
    mark_lattice(c, begin, end, marks);
    return;
  }
  double x[3];
  for (int64_t k = begin; k < end; k++)
    if (point_of(c, k, x) && inside_map_contains(&c->map, inside_map_find(&c->map, x), x))
      mark(marks, k - begin);
}

static void make_particle(const struct candidates *c, int64_t k, struct particles *p, int32_t i)
{
  const struct snow_source *source = c->source;
  double x[3], arm[3], turn[3];
  point_of(c, k, x);
  vec_sub(x, source->shape.center, arm);
  vec_cross(source->spin, arm, turn);
  p->id[i] = (uint64_t)k;
  for (int d = 0; d < 3; d++) {
    p->x[d][i] = x[d];
    p->v[d][i] = source->velocity[d] + turn[d];
  }
}

static void take_batch(const struct candidates *c, int64_t begin, int64_t end, struct particles *p)
{
  const int64_t chunks = (end - begin + CHUNK - 1) / CHUNK;
  uint64_t *marks = mem_alloc((size_t)(chunks * (CHUNK / 64)), sizeof *marks);
  int64_t *start = mem_alloc((size_t)chunks + 1, sizeof *start);
#pragma omp parallel for num_threads(c->threads) schedule(dynamic)
  for (int64_t n = 0; n < chunks; n++) {
    const int64_t from = begin + n * CHUNK, to = from + CHUNK < end ? from + CHUNK : end;
    uint64_t *own = marks + n * (CHUNK / 64);
    mark_all(c, from, to, own);
    for (int w = 0; w < CHUNK / 64; w++) start[n + 1] += __builtin_popcountll(own[w]);
  }
  for (int64_t n = 0; n < chunks; n++) start[n + 1] += start[n];
  const int32_t first = particles_append_shared(p, start[chunks], c->threads);
#pragma omp parallel for num_threads(c->threads) schedule(dynamic)
  for (int64_t n = 0; n < chunks; n++) {
    int32_t i = first + (int32_t)start[n];
    for (int64_t w = n * (CHUNK / 64); w < (n + 1) * (CHUNK / 64); w++)
      for (uint64_t left = marks[w]; left; left &= left - 1)
        make_particle(c, begin + 64 * w + __builtin_ctzll(left), p, i++);
  }
  mem_free(start);
  mem_free(marks);
}

void candidates_take(const struct candidates *c, int64_t begin, int64_t end, struct particles *p)
{
  for (int64_t next = begin; next < end; next += BATCH)
    take_batch(c, next, next + BATCH < end ? next + BATCH : end, p);
}
