#include "grid/grid.h"

#include "base/flush.h"
#include "base/log.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t grid_base(const struct grid_geometry *geometry, int axis, double x)
{
  const double u = (x - geometry->lower[axis]) * geometry->inverse;
  return (int64_t)floor(geometry->support == 4 ? u : u + 0.5);
}

uint64_t grid_key_of(const struct grid_geometry *geometry, const double x[3])
{
  int64_t base[3];
  for (int a = 0; a < 3; a++) {
    const double u = (x[geometry->axis[a]] - geometry->lower[a]) * geometry->inverse;
    if (!(u >= 0.0 && u <= (double)geometry->cells[a])) return UINT64_MAX;
    base[a] = grid_base(geometry, a, x[geometry->axis[a]]);
  }
  return grid_key(base[0], base[1], base[2]);
}

struct grid *grid_create(const struct grid_geometry *geometry)
{
  struct grid *grid = mem_alloc(1, sizeof *grid);
  grid->geometry = *geometry;
  grid->threads = 1;
  return grid;
}

void grid_destroy(struct grid **grid)
{
  if (!*grid) return;
  struct grid *g = *grid;
  void *blocks[] = {g->plane_cell, g->cell_start, g->cell_y,   g->cell_z,     g->cell_block,
                    g->block_foot, g->block_y,    g->block_z,  g->plane_foot, g->foot_key,
                    g->foot_tile,  g->plane_tile, g->tile_key, g->stamp,      g->keys};
  for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) mem_free(blocks[k]);
  for (int f = 0; f < NODE_FIELDS; f++) mem_free(g->node[f]);
  for (int c = 0; c < MAX_CHUNKS; c++)
    for (int f = 0; f < NODE_FIELDS; f++) mem_free(g->apart[c][f]);
  mem_free(g);
  *grid = NULL;
}

/* Capacity to grow to: half as much again, so that a growing scene settles. */
static int32_t grown(int64_t wanted)
{
  const int64_t capacity = wanted + wanted / 2 + 64;
  if (capacity > INT32_MAX)
    firn_fatal("%lld grid entries on one rank are too many: use more ranks", (long long)wanted);
  return (int32_t)capacity;
}

static void reserve_planes(struct grid *g, int32_t planes)
{
  if (g->plane_cell && g->planes == planes) return;
  mem_free(g->plane_cell);
  mem_free(g->plane_foot);
  mem_free(g->plane_tile);
  g->plane_cell = mem_alloc((size_t)planes + 1, sizeof *g->plane_cell);
  g->plane_foot = mem_alloc((size_t)planes + 1, sizeof *g->plane_foot);
  g->plane_tile = mem_alloc((size_t)planes + MAX_SUPPORT + 1, sizeof *g->plane_tile);
}

static void reserve_cells(struct grid *g, int32_t wanted)
{
  if (wanted + 1 <= g->cell_capacity) return;
  const int32_t capacity = grown(wanted);
  int32_t **arrays[] = {&g->cell_start, &g->cell_y, &g->cell_z, &g->cell_block};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
    mem_free(*arrays[k]);
    *arrays[k] = mem_alloc((size_t)capacity, sizeof **arrays[k]);
  }
  g->cell_capacity = capacity;
}

static void reserve_blocks(struct grid *g, int32_t wanted)
{
  if (wanted <= g->block_capacity) return;
  const int32_t capacity = grown(wanted);
  const size_t kept = (size_t)g->block_count, size = (size_t)capacity;
  g->block_foot = mem_resize(g->block_foot, 4 * kept, 4 * size, sizeof *g->block_foot);
  g->block_y = mem_resize(g->block_y, kept, size, sizeof *g->block_y);
  g->block_z = mem_resize(g->block_z, kept, size, sizeof *g->block_z);
  g->block_capacity = capacity;
}

static void reserve_foot(struct grid *g, int32_t wanted)
{
  if (wanted <= g->foot_capacity) return;
  const int32_t capacity = grown(wanted);
  g->foot_key = mem_resize(g->foot_key, (size_t)g->foot_count, (size_t)capacity, sizeof *g->foot_key);
  mem_free(g->foot_tile);
  g->foot_tile = mem_alloc((size_t)capacity * MAX_SUPPORT, sizeof *g->foot_tile);
  g->foot_capacity = capacity;
}

static void reserve_tiles(struct grid *g, int32_t wanted)
{
  if (wanted <= g->tile_capacity) return;
  const int32_t capacity = grown(wanted);
  mem_free(g->tile_key);
  g->tile_key = mem_alloc((size_t)capacity, sizeof *g->tile_key);
  for (int f = 0; f < NODE_FIELDS; f++) {
    mem_free(g->node[f]);
    g->node[f] = NULL;
  }
  g->tile_capacity = capacity;
}

static int compare_keys(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static int32_t sort_unique(uint64_t *keys, int32_t count)
{
  bool sorted = true;
  for (int32_t k = 1; k < count && sorted; k++) sorted = keys[k - 1] <= keys[k];
  if (!sorted) qsort(keys, (size_t)count, sizeof *keys, compare_keys);
  int32_t kept = 0;
  for (int32_t k = 0; k < count; k++)
    if (kept == 0 || keys[k] != keys[kept - 1]) keys[kept++] = keys[k];
  return kept;
}

static int32_t find_key(const uint64_t *keys, int32_t count, uint64_t key)
{
  int32_t low = 0;
  while (count > 1) {
    const int32_t half = count / 2;
    if (keys[low + half] <= key) low += half;
    count -= half;
  }
  return low;
}

static void copy_cells(struct grid *g, const struct grid_cells *cells)
{
  const uint64_t mask = ((uint64_t)1 << GRID_INDEX_BITS) - 1;
  reserve_cells(g, cells->count);
  memcpy(g->cell_start, cells->start, ((size_t)cells->count + 1) * sizeof *cells->start);
  g->cell_count = cells->count;
  g->largest_cell = 0;
  int32_t plane = 0;
  g->plane_cell[0] = 0;
  for (int32_t c = 0; c < cells->count; c++) {
    const uint64_t key = cells->key[c];
    const int32_t here = grid_key_plane(key) - g->first, particles = cells->start[c + 1] - cells->start[c];
    FIRN_ASSERT(here >= plane && here < g->planes);
    while (plane < here) g->plane_cell[++plane] = c;
    g->cell_y[c] = (int32_t)(key >> GRID_INDEX_BITS & mask);
    g->cell_z[c] = (int32_t)(key & mask);
    if (particles > g->largest_cell) g->largest_cell = particles;
  }
  while (plane < g->planes) g->plane_cell[++plane] = g->cell_count;
}

/* The blocks of one plane: cells come in rows, so a tile's cells are found through a stamp for each z tile of
 * the current tile row. */
static void collect_blocks(struct grid *g, int32_t plane, int32_t z_offset)
{
  const int reach = g->geometry.support - 1;
  const int32_t plane_first = g->block_count;
  int32_t row_first = plane_first, row_tile = -1;
  for (int32_t c = g->plane_cell[plane]; c < g->plane_cell[plane + 1]; c++) {
    const int32_t ty = g->cell_y[c] / TILE_Y, tz = g->cell_z[c] / TILE_Z;
    if (ty != row_tile) {
      row_tile = ty;
      row_first = g->block_count;
    }
    int32_t *stamp = &g->stamp[tz - z_offset];
    if (*stamp < row_first || *stamp >= g->block_count) {
      reserve_blocks(g, g->block_count + 1);
      *stamp = g->block_count++;
      g->block_y[*stamp] = ty;
      g->block_z[*stamp] = tz;
      for (int k = 0; k < 4; k++) g->block_foot[4 * *stamp + k] = -1;
    }
    g->cell_block[c] = *stamp;
    const int past_y = g->cell_y[c] % TILE_Y + reach >= TILE_Y,
              past_z = g->cell_z[c] % TILE_Z + reach >= TILE_Z;
    int32_t *foot = &g->block_foot[4 * *stamp];
    foot[0] = 0;
    if (past_z) foot[1] = 0;
    if (past_y) foot[2] = 0;
    if (past_y && past_z) foot[3] = 0;
  }
}

/* The footprint of one plane, from its blocks [block, g->block_count). */
static void collect_footprint(struct grid *g, int32_t plane, int32_t block)
{
  const int64_t wanted = 4 * (int64_t)(g->block_count - block);
  if (wanted > g->key_capacity) {
    mem_free(g->keys);
    g->key_capacity = wanted + wanted / 2;
    g->keys = mem_alloc((size_t)g->key_capacity, sizeof *g->keys);
  }
  int32_t count = 0;
  for (int32_t b = block; b < g->block_count; b++)
    for (int k = 0; k < 4; k++)
      if (g->block_foot[4 * b + k] == 0)
        g->keys[count++] = grid_tile_key(g->block_y[b] + k / 2, g->block_z[b] + k % 2);
  count = sort_unique(g->keys, count);
  reserve_foot(g, g->foot_count + count);
  if (count == 0) {
    g->plane_foot[plane + 1] = g->foot_count;
    return;
  }
  memcpy(g->foot_key + g->foot_count, g->keys, (size_t)count * sizeof *g->keys);
  for (int32_t b = block; b < g->block_count; b++)
    for (int k = 0; k < 4; k++)
      if (g->block_foot[4 * b + k] == 0)
        g->block_foot[4 * b + k] =
            find_key(g->keys, count, grid_tile_key(g->block_y[b] + k / 2, g->block_z[b] + k % 2));
  g->foot_count += count;
  g->plane_foot[plane + 1] = g->foot_count;
  if (count > g->largest_footprint) g->largest_footprint = count;
}

void grid_collect(struct grid *g, int32_t first, int32_t planes, const struct grid_cells *cells)
{
  reserve_planes(g, planes);
  g->first = first;
  g->planes = planes;
  grid_chunks(g, 1, (const int32_t[]){0, planes});
  copy_cells(g, cells);

  int32_t low = INT32_MAX, high = 0;
  for (int32_t c = 0; c < g->cell_count; c++) {
    const int32_t tz = g->cell_z[c] / TILE_Z;
    if (tz < low) low = tz;
    if (tz > high) high = tz;
  }
  if (g->cell_count && high - low + 1 > g->stamp_capacity) {
    mem_free(g->stamp);
    g->stamp_capacity = high - low + 65;
    g->stamp = mem_alloc((size_t)g->stamp_capacity, sizeof *g->stamp);
  }
  for (int64_t k = 0; k < g->stamp_capacity; k++) g->stamp[k] = -1;

  g->block_count = g->foot_count = g->largest_footprint = 0;
  g->plane_foot[0] = 0;
  for (int32_t plane = 0; plane < planes; plane++) {
    const int32_t block = g->block_count;
    collect_blocks(g, plane, low);
    collect_footprint(g, plane, block);
  }
}

int32_t grid_plane_tiles(const struct grid *g, int32_t plane, const uint64_t *extra, int32_t extra_count,
                         uint64_t *out)
{
  const uint64_t *head[MAX_SUPPORT + 1], *end[MAX_SUPPORT + 1];
  int lists = 0;
  for (int a = 0; a < g->geometry.support; a++) {
    const int32_t cell_plane = plane - a;
    if (cell_plane < 0 || cell_plane >= g->planes) continue;
    head[lists] = g->foot_key + g->plane_foot[cell_plane];
    end[lists++] = g->foot_key + g->plane_foot[cell_plane + 1];
  }
  head[lists] = extra;
  end[lists++] = extra + extra_count;
  int32_t count = 0;
  for (;;) {
    uint64_t least = UINT64_MAX;
    for (int k = 0; k < lists; k++)
      if (head[k] < end[k] && *head[k] < least) least = *head[k];
    if (least == UINT64_MAX) return count;
    for (int k = 0; k < lists; k++)
      if (head[k] < end[k] && *head[k] == least) head[k]++;
    if (out) out[count] = least;
    count++;
  }
}

static struct grid_extra extra_of(const struct grid *g, const struct grid_extra *extra, int32_t plane)
{
  const int shared = g->geometry.support - 1;
  if (g->has_left && plane < shared) return extra[plane];
  if (g->has_right && plane >= g->planes) return extra[shared + plane - g->planes];
  return (struct grid_extra){NULL, 0};
}

/* Whether a chunk has anything left of it. */
static bool keeps_apart(const struct grid *g, int c)
{
  return c > 0 || g->has_left;
}

static void reserve_apart(struct grid *g, int c)
{
  const int64_t wanted =
      keeps_apart(g, c) ? grid_apart_offset(g, g->chunk[c], g->geometry.support - 1, 0) : 0;
  if (wanted <= g->apart_capacity[c]) return;
  g->apart_capacity[c] = wanted + wanted / 2;
  for (int f = 0; f < NODE_FIELDS; f++) {
    mem_free(g->apart[c][f]);
    g->apart[c][f] = NULL;
  }
}

void grid_chunks(struct grid *g, int count, const int32_t *cut)
{
  FIRN_ASSERT(count >= 1 && count <= MAX_CHUNKS && cut[0] == 0 && cut[count] == g->planes);
  g->chunk_count = count;
  memcpy(g->chunk, cut, (size_t)(count + 1) * sizeof *cut);
}

void grid_number(struct grid *g, bool has_left, bool has_right,
                 const struct grid_extra extra[2 * (MAX_SUPPORT - 1)])
{
  g->has_left = has_left;
  g->has_right = has_right;
  g->node_planes = g->planes + g->geometry.support - 1;
  g->plane_tile[0] = 0;
  int64_t total = 0;
  for (int32_t plane = 0; plane < g->node_planes; plane++) {
    const struct grid_extra x = extra_of(g, extra, plane);
    total += grid_plane_tiles(g, plane, x.keys, x.count, NULL);
    if (total > INT32_MAX)
      firn_fatal("%lld grid tiles on one rank are too many: use more ranks", (long long)total);
    g->plane_tile[plane + 1] = (int32_t)total;
  }
  reserve_tiles(g, (int32_t)total);
  g->tile_count = (int32_t)total;
  for (int32_t plane = 0; plane < g->node_planes; plane++) {
    const struct grid_extra x = extra_of(g, extra, plane);
    grid_plane_tiles(g, plane, x.keys, x.count, g->tile_key + g->plane_tile[plane]);
  }
  for (int32_t plane = 0; plane < g->planes; plane++)
    for (int a = 0; a < g->geometry.support; a++) {
      int32_t tile = g->plane_tile[plane + a];
      for (int32_t f = g->plane_foot[plane]; f < g->plane_foot[plane + 1]; f++) {
        while (g->tile_key[tile] != g->foot_key[f]) tile++;
        g->foot_tile[f * MAX_SUPPORT + a] = tile;
      }
    }

  for (int c = 0; c < g->chunk_count; c++) reserve_apart(g, c);
  FIRN_DEBUG_ASSERT(grid_is_valid(g));
}

static void clear_chunk(struct grid *g, enum node_field field, int c)
{
  const int64_t begin = g->plane_tile[g->chunk[c]],
                end = c + 1 < g->chunk_count ? g->plane_tile[g->chunk[c + 1]] : g->tile_count;
  memset(g->node[field] + begin * TILE_DOUBLES, 0, (size_t)(end - begin) * TILE_DOUBLES * sizeof(double));
}

static void clear_apart(struct grid *g, enum node_field field, int c)
{
  const int64_t doubles =
      keeps_apart(g, c) ? grid_apart_offset(g, g->chunk[c], g->geometry.support - 1, 0) : 0;
  if (doubles) memset(g->apart[c][field], 0, (size_t)doubles * sizeof(double));
}

static void make_field(struct grid *g, enum node_field field)
{
  if (!g->node[field]) g->node[field] = mem_alloc((size_t)g->tile_capacity * TILE_DOUBLES, sizeof(double));
}

/* Each chunk by the thread that works on it: the thread that touches new memory first has it near. The team
 * is the whole crew or one thread: OpenMP ends the threads that any other leaves out, and new ones are not
 * bound. */
void grid_clear(struct grid *g, enum node_field field)
{
  make_field(g, field);
#pragma omp parallel for num_threads(g->threads) schedule(static, 1)
  for (int c = 0; c < g->chunk_count; c++) clear_chunk(g, field, c);
}

void grid_clear_sum(struct grid *g, enum node_field field)
{
  make_field(g, field);
  for (int c = 0; c < g->chunk_count; c++)
    if (!g->apart[c][field] && g->apart_capacity[c])
      g->apart[c][field] = mem_alloc((size_t)g->apart_capacity[c], sizeof(double));
#pragma omp parallel for num_threads(g->threads) schedule(static, 1)
  for (int c = 0; c < g->chunk_count; c++) {
    clear_chunk(g, field, c);
    clear_apart(g, field, c);
  }
}

int64_t grid_apart_offset(const struct grid *g, int32_t shared, int j, int a)
{
  const int planes = g->geometry.support - 1;
  int64_t tiles = 0;
  for (int row = 0; row <= j; row++)
    for (int k = 0; row + k < planes && (row < j || k < a); k++)
      tiles += grid_plane_tile_count(g, shared + row + k);
  return tiles * TILE_DOUBLES;
}

double *grid_target(const struct grid *g, enum node_field field, int32_t j, int a)
{
  int c = 0;
  while (c + 1 < g->chunk_count && g->chunk[c + 1] <= j) c++;
  const int32_t within = j - g->chunk[c];
  if (!keeps_apart(g, c) || within + a >= g->geometry.support - 1) return g->node[field];
  return g->apart[c][field] + grid_apart_offset(g, g->chunk[c], (int)within, a) -
         (int64_t)g->plane_tile[j + a] * TILE_DOUBLES;
}

/* One thread's share of the tiles of each shared plane. */
static void add_share(struct grid *g, enum node_field field, int32_t shared, const double *apart, int w)
{
  const int planes = g->geometry.support - 1;
  const flush_mode mode = flush_begin(); /* as what is added */
  for (int j = 0; j < planes; j++)
    for (int a = 0; j + a < planes; a++) {
      const double *part = apart + grid_apart_offset(g, shared, j, a);
      double *sum = g->node[field] + (int64_t)g->plane_tile[shared + j + a] * TILE_DOUBLES;
      const int64_t tiles = grid_plane_tile_count(g, shared + j + a),
                    end = tiles * (w + 1) / g->threads * TILE_DOUBLES;
      for (int64_t k = tiles * w / g->threads * TILE_DOUBLES; k < end; k++) sum[k] += part[k];
    }
  flush_end(mode);
}

void grid_add_apart(struct grid *g, enum node_field field, int32_t shared, const double *apart)
{
#pragma omp parallel for num_threads(g->threads) schedule(static, 1)
  for (int w = 0; w < g->threads; w++) add_share(g, field, shared, apart, w);
}

/* The planes of one cut lie apart from those of the next, so that a thread may be done with one before
 * another begins with it. */
void grid_join(struct grid *g, enum node_field field)
{
  if (g->chunk_count < 2) return;
#pragma omp parallel for num_threads(g->threads) schedule(static, 1)
  for (int w = 0; w < g->threads; w++)
    for (int c = 1; c < g->chunk_count; c++) add_share(g, field, g->chunk[c], g->apart[c][field], w);
}

/* --- checks
 * ------------------------------------------------------------------------------------------------------ */

/* 0 = at[0] <= at[1] <= ... <= at[count] = end. */
static bool rises(const int32_t *at, int32_t count, int32_t end)
{
  for (int32_t k = 0; k < count; k++)
    if (at[k] > at[k + 1]) return false;
  return at[0] == 0 && at[count] == end;
}

static bool is_sorted(const uint64_t *keys, int32_t begin, int32_t end)
{
  for (int32_t k = begin + 1; k < end; k++)
    if (keys[k - 1] >= keys[k]) return false;
  return true;
}

/* A cell has particles, is behind the one before, and its stencils reach only tiles of its footprint. */
static bool cell_is_valid(const struct grid *g, int32_t plane, int32_t c)
{
  const int reach = g->geometry.support - 1;
  if (g->cell_start[c] >= g->cell_start[c + 1] || g->cell_block[c] >= g->block_count) return false;
  if (c > g->plane_cell[plane] && grid_cell_key(g, plane, c - 1) >= grid_cell_key(g, plane, c)) return false;
  const int32_t y = g->cell_y[c], z = g->cell_z[c], *foot = &g->block_foot[4 * g->cell_block[c]];
  for (int k = 0; k < 4; k++) {
    const bool reached =
        (k / 2 == 0 || y % TILE_Y + reach >= TILE_Y) && (k % 2 == 0 || z % TILE_Z + reach >= TILE_Z);
    if (!reached) continue;
    const int32_t f = g->plane_foot[plane] + foot[k];
    if (foot[k] < 0 || f >= g->plane_foot[plane + 1]) return false;
    if (g->foot_key[f] != grid_tile_key(y / TILE_Y + k / 2, z / TILE_Z + k % 2)) return false;
  }
  return true;
}

static bool plane_is_valid(const struct grid *g, int32_t plane)
{
  for (int32_t c = g->plane_cell[plane]; c < g->plane_cell[plane + 1]; c++)
    if (!cell_is_valid(g, plane, c)) return false;
  if (!is_sorted(g->foot_key, g->plane_foot[plane], g->plane_foot[plane + 1])) return false;
  for (int32_t f = g->plane_foot[plane]; f < g->plane_foot[plane + 1]; f++)
    for (int a = 0; a < g->geometry.support; a++) {
      const int32_t tile = g->foot_tile[f * MAX_SUPPORT + a];
      if (tile < g->plane_tile[plane + a] || tile >= g->plane_tile[plane + a + 1]) return false;
      if (g->tile_key[tile] != g->foot_key[f]) return false;
    }
  return true;
}

bool grid_is_valid(const struct grid *g)
{
  if (g->node_planes != g->planes + g->geometry.support - 1) return false;
  if (!rises(g->plane_cell, g->planes, g->cell_count) || !rises(g->plane_foot, g->planes, g->foot_count) ||
      !rises(g->plane_tile, g->node_planes, g->tile_count) || !rises(g->chunk, g->chunk_count, g->planes))
    return false;
  for (int32_t plane = 0; plane < g->planes; plane++)
    if (!plane_is_valid(g, plane)) return false;
  for (int32_t plane = 0; plane < g->node_planes; plane++)
    if (!is_sorted(g->tile_key, g->plane_tile[plane], g->plane_tile[plane + 1])) return false;
  return true;
}
