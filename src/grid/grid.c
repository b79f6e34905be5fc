#include "grid/grid.h"

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

void block_set_free(struct block_set *set)
{
  mem_free(set->key);
  mem_free(set->first);
  mem_free(set->reach);
  mem_free(set->brick);
  mem_free(set->of_brick);
  *set = (struct block_set){0};
}

void grid_destroy(struct grid **grid)
{
  if (!*grid) return;
  struct grid *g = *grid;
  block_set_free(&g->blocks);
  mem_free(g->cell_start);
  mem_free(g->cell_key);
  mem_free(g->layer_block);
  mem_free(g->layer_brick);
  mem_free(g->brick_key);
  for (int f = 0; f < NODE_FIELDS; f++) mem_free(g->node[f]);
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

static void reserve_layers(struct grid *g, int32_t layers)
{
  if (g->layer_block && layers <= g->layer_capacity) return;
  mem_free(g->layer_block);
  mem_free(g->layer_brick);
  g->layer_capacity = layers;
  g->layer_block = mem_alloc((size_t)layers + 1, sizeof *g->layer_block);
  g->layer_brick = mem_alloc((size_t)layers + 2, sizeof *g->layer_brick);
}

static void reserve_cells(struct grid *g, int32_t wanted)
{
  if (wanted + 1 <= g->cell_capacity) return;
  const int32_t capacity = grown(wanted);
  mem_free(g->cell_start);
  mem_free(g->cell_key);
  g->cell_start = mem_alloc((size_t)capacity, sizeof *g->cell_start);
  g->cell_key = mem_alloc((size_t)capacity, sizeof *g->cell_key);
  g->cell_capacity = capacity;
}

static void reserve_blocks(struct block_set *set, int32_t wanted)
{
  if (set->first && wanted <= set->capacity) return;
  const int32_t capacity = grown(wanted);
  const size_t kept = set->first ? (size_t)set->count : 0, size = (size_t)capacity;
  set->key = mem_resize(set->key, kept, size, sizeof *set->key);
  set->first = mem_resize(set->first, kept, size + 1, sizeof *set->first);
  set->reach = mem_resize(set->reach, kept, size, sizeof *set->reach);
  mem_free(set->brick);
  set->brick = mem_alloc(8 * size, sizeof *set->brick);
  set->capacity = capacity;
}

static void reserve_bricks(struct grid *g, int32_t wanted)
{
  if (wanted <= g->brick_capacity) return;
  const int32_t capacity = grown(wanted);
  if (capacity > INT32_MAX / BRICK_TILES)
    firn_fatal("%lld grid bricks on one rank are too many: use more ranks", (long long)wanted);
  mem_free(g->brick_key);
  g->brick_key = mem_alloc((size_t)capacity, sizeof *g->brick_key);
  for (int f = 0; f < NODE_FIELDS; f++) {
    mem_free(g->node[f]);
    g->node[f] = NULL;
  }
  g->brick_capacity = capacity;
}

/* The bricks that the stencils of a cell reach. */
static unsigned char reach_of(uint64_t cell, int reach)
{
  const bool x = grid_place_x(cell) + reach >= BLOCK_X, y = grid_place_y(cell) + reach >= BLOCK_Y,
             z = grid_place_z(cell) + reach >= BLOCK_Z;
  const unsigned along_z = z ? 3 : 1, along_y = y ? along_z | along_z << 2 : along_z;
  return (unsigned char)(x ? along_y | along_y << 4 : along_y);
}

/* The blocks of some cells, and which bricks they reach. */
static void collect_blocks(struct block_set *set, const uint64_t *cells, int32_t count, int reach)
{
  set->count = 0;
  reserve_blocks(set, 0);
  for (int32_t c = 0; c < count; c++) {
    const uint64_t key = grid_key_block(cells[c]);
    if (set->count == 0 || set->key[set->count - 1] != key) {
      reserve_blocks(set, set->count + 1);
      set->key[set->count] = key;
      set->first[set->count] = c;
      set->reach[set->count++] = 0;
    }
    set->reach[set->count - 1] |= reach_of(cells[c], reach);
  }
  set->first[set->count] = count;
}

void grid_collect(struct grid *g, int32_t first, int32_t layers, const struct grid_cells *cells)
{
  reserve_layers(g, layers);
  reserve_cells(g, cells->count);
  g->first = first;
  g->layers = layers;
  g->cell_count = cells->count;
  memcpy(g->cell_start, cells->start, ((size_t)cells->count + 1) * sizeof *cells->start);
  memcpy(g->cell_key, cells->key, (size_t)cells->count * sizeof *cells->key);
  g->largest_cell = 0;
  for (int32_t c = 0; c < cells->count; c++) {
    const int32_t particles = cells->start[c + 1] - cells->start[c];
    if (particles > g->largest_cell) g->largest_cell = particles;
  }
  struct block_set *set = &g->blocks;
  collect_blocks(set, g->cell_key, g->cell_count, g->geometry.support - 1);
  int32_t block = 0;
  for (int32_t layer = 0; layer <= layers; layer++) {
    while (block < set->count && set->key[block] < grid_block_key(first + layer, 0, 0)) block++;
    g->layer_block[layer] = block;
  }
  FIRN_ASSERT(g->layer_block[0] == 0 && g->layer_block[layers] == set->count);
}

/* One of the lists that are merged: blocks that reach the k-th brick. */
struct head {
  int32_t block, end;
  uint64_t step;
  unsigned char bit;
};

static void skip_others(const struct block_set *set, struct head *head)
{
  while (head->block < head->end && !(set->reach[head->block] & head->bit)) head->block++;
}

int32_t grid_layer_bricks(const struct grid *g, int32_t layer, const uint64_t *extra, int32_t extra_count,
                          uint64_t *out)
{
  const struct block_set *set = &g->blocks;
  struct head head[8];
  int heads = 0;
  for (int k = 0; k < 8; k++) {
    const int32_t of = layer - (k >> 2); /* the layer of the blocks */
    if (of < 0 || of >= g->layers) continue;
    head[heads] = (struct head){g->layer_block[of], g->layer_block[of + 1], grid_brick_step(k),
                                (unsigned char)(1u << k)};
    skip_others(set, &head[heads++]);
  }
  int32_t count = 0;
  for (int32_t next = 0;;) {
    uint64_t least = next < extra_count ? extra[next] : UINT64_MAX;
    for (int k = 0; k < heads; k++)
      if (head[k].block < head[k].end && set->key[head[k].block] + head[k].step < least)
        least = set->key[head[k].block] + head[k].step;
    if (least == UINT64_MAX) return count;
    for (int k = 0; k < heads; k++) {
      if (head[k].block >= head[k].end || set->key[head[k].block] + head[k].step != least) continue;
      head[k].block++;
      skip_others(set, &head[k]);
    }
    if (next < extra_count && extra[next] == least) next++;
    if (out) out[count] = least;
    count++;
  }
}

/* Blocks and bricks know each other. */
static void link_bricks(struct block_set *set, const struct grid *g)
{
  int32_t at[8] = {0};
  set->of_brick =
      mem_reserve(set->of_brick, &set->of_brick_capacity, 8 * (int64_t)g->brick_count, sizeof *set->of_brick);
  for (int64_t k = 0; k < 8 * (int64_t)g->brick_count; k++) set->of_brick[k] = -1;
  for (int32_t block = 0; block < set->count; block++)
    for (int k = 0; k < 8; k++) {
      int32_t *brick = &set->brick[8 * (int64_t)block + k];
      *brick = -1;
      if (!(set->reach[block] >> k & 1)) continue;
      const uint64_t key = set->key[block] + grid_brick_step(k);
      while (at[k] < g->brick_count && g->brick_key[at[k]] < key) at[k]++;
      if (at[k] == g->brick_count || g->brick_key[at[k]] != key) continue;
      *brick = at[k];
      set->of_brick[8 * (int64_t)at[k] + k] = block;
    }
  const uint64_t low = grid_block_key(g->first + 1, 0, 0),
                 high = grid_block_key(g->first + g->layers - 1, 0, 0);
  set->inside[0] = 0;
  set->inside[1] = set->count;
  while (g->has_left && set->inside[0] < set->count && set->key[set->inside[0]] < low) set->inside[0]++;
  while (g->has_right && set->inside[1] > set->inside[0] && set->key[set->inside[1] - 1] >= high)
    set->inside[1]--;
}

void grid_number(struct grid *g, bool has_left, bool has_right, const struct grid_extra extra[2])
{
  static const struct grid_extra none = {NULL, 0};
  g->has_left = has_left;
  g->has_right = has_right;
  int64_t total = 0;
  g->layer_brick[0] = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t layer = 0; layer <= g->layers; layer++) {
      const struct grid_extra x = has_left && layer == 0            ? extra[0]
                                  : has_right && layer == g->layers ? extra[1]
                                                                    : none;
      if (pass == 0)
        total += grid_layer_bricks(g, layer, x.keys, x.count, NULL);
      else
        g->layer_brick[layer + 1] =
            g->layer_brick[layer] +
            grid_layer_bricks(g, layer, x.keys, x.count, g->brick_key + g->layer_brick[layer]);
    }
    if (pass == 0) {
      if (total > INT32_MAX / BRICK_TILES)
        firn_fatal("%lld grid bricks on one rank are too many: use more ranks", (long long)total);
      reserve_bricks(g, (int32_t)total);
    }
  }
  g->brick_count = (int32_t)total;
  g->tile_count = BRICK_TILES * g->brick_count;
  link_bricks(&g->blocks, g);
  FIRN_DEBUG_ASSERT(grid_is_valid(g));
}

void block_set_collect(struct block_set *set, const struct grid *g, const uint64_t *cells, int32_t count)
{
  collect_blocks(set, cells, count, g->geometry.support - 1);
  link_bricks(set, g);
}

/* The last of [low, high) that is not above the key, or low. */
static int32_t find_key(const uint64_t *keys, int32_t low, int32_t high, uint64_t key)
{
  int32_t count = high - low;
  while (count > 1) {
    const int32_t half = count / 2;
    if (keys[low + half] <= key) low += half;
    count -= half;
  }
  return low;
}

int32_t block_set_find(const struct block_set *set, uint64_t key)
{
  const int32_t at = find_key(set->key, 0, set->count, key);
  return at < set->count && set->key[at] == key ? at : -1;
}

int32_t grid_find_cell(const struct grid *g, uint64_t key)
{
  const int32_t block = block_set_find(&g->blocks, grid_key_block(key));
  if (block < 0) return -1;
  const int32_t at = find_key(g->cell_key, g->blocks.first[block], g->blocks.first[block + 1], key);
  return g->cell_key[at] == key ? at : -1;
}

int32_t grid_find_brick(const struct grid *g, uint64_t key)
{
  const int32_t at = find_key(g->brick_key, 0, g->brick_count, key);
  return at < g->brick_count && g->brick_key[at] == key ? at : -1;
}

void grid_make(struct grid *g, enum node_field field)
{
  if (!g->node[field]) g->node[field] = mem_alloc((size_t)g->brick_capacity * BRICK_DOUBLES, sizeof(double));
}

void grid_clear(struct grid *g, enum node_field field)
{
  grid_make(g, field);
#pragma omp parallel for num_threads(g->threads) schedule(static)
  for (int32_t brick = 0; brick < g->brick_count; brick++)
    memset(g->node[field] + (int64_t)brick * BRICK_DOUBLES, 0, BRICK_DOUBLES * sizeof(double));
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

static bool is_sorted(const uint64_t *keys, int32_t count)
{
  for (int32_t k = 1; k < count; k++)
    if (keys[k - 1] >= keys[k]) return false;
  return true;
}

/* A block has cells of its own, all of which lie in it, and knows the bricks that they reach. */
static bool block_is_valid(const struct grid *g, int32_t block)
{
  const struct block_set *set = &g->blocks;
  unsigned char reach = 0;
  for (int32_t c = set->first[block]; c < set->first[block + 1]; c++) {
    if (grid_key_block(g->cell_key[c]) != set->key[block] || g->cell_start[c] >= g->cell_start[c + 1])
      return false;
    reach |= reach_of(g->cell_key[c], g->geometry.support - 1);
  }
  if (reach == 0 || reach != set->reach[block]) return false;
  for (int k = 0; k < 8; k++) {
    const int32_t brick = set->brick[8 * (int64_t)block + k];
    if (!(reach >> k & 1)) {
      if (brick != -1) return false;
      continue;
    }
    if (brick < 0 || brick >= g->brick_count) return false;
    if (g->brick_key[brick] != set->key[block] + grid_brick_step(k)) return false;
    if (set->of_brick[8 * (int64_t)brick + k] != block) return false;
  }
  return true;
}

/* Within its layer, and reached by the blocks that it knows. */
static bool brick_is_valid(const struct grid *g, int32_t layer, int32_t brick)
{
  const struct block_set *set = &g->blocks;
  int32_t index[3];
  grid_block_index(g->brick_key[brick], index);
  if (index[0] != g->first + layer) return false;
  for (int k = 0; k < 8; k++) {
    const int32_t block = set->of_brick[8 * (int64_t)brick + k];
    if (block < -1 || block >= set->count) return false;
    if (block >= 0 && set->brick[8 * (int64_t)block + k] != brick) return false;
  }
  return true;
}

bool grid_is_valid(const struct grid *g)
{
  const struct block_set *set = &g->blocks;
  if (!rises(g->layer_block, g->layers, set->count) || !rises(set->first, set->count, g->cell_count) ||
      !rises(g->layer_brick, g->layers + 1, g->brick_count) || g->tile_count != BRICK_TILES * g->brick_count)
    return false;
  if (!is_sorted(g->cell_key, g->cell_count) || !is_sorted(set->key, set->count) ||
      !is_sorted(g->brick_key, g->brick_count))
    return false;
  for (int32_t layer = 0; layer < g->layers; layer++)
    for (int32_t b = g->layer_block[layer]; b < g->layer_block[layer + 1]; b++)
      if ((int32_t)(set->key[b] >> (KEY_Y_BITS + KEY_Z_BITS)) != g->first + layer || !block_is_valid(g, b))
        return false;
  for (int32_t layer = 0; layer <= g->layers; layer++)
    for (int32_t b = g->layer_brick[layer]; b < g->layer_brick[layer + 1]; b++)
      if (!brick_is_valid(g, layer, b)) return false;
  return set->inside[0] >= 0 && set->inside[0] <= set->inside[1] && set->inside[1] <= set->count;
}
