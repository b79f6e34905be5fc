/* The liquid's part of a step: which cells it fills, and the solve for snow and water together.
 *
 * Liquid cells are found cell by cell from bits that no rank changes; a slab asks its neighbours for one
 * plane of them on either side. */
#include "sim/liquid_step.h"

#include "base/memory.h"
#include "base/simd.h"
#include "base/vec.h"
#include "sim/sim.h"
#include "solver/cr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_LIQUID = 1, CELL_SOLID = 2 };

static const double least_full = 0.01;     /* of a cell's volume that must be open for a lattice */
static const double reach_of_bodies = 4.7; /* cells from a cell's middle: its nodes, and two cells on */

/* --- which cells
 * ------------------------------------------------------------------------------------------------- */

/* What the particles of each cell are, and J_c of the liquid ones. */
static void look_at_block(void *arguments, struct worker *worker, int32_t block)
{
  (void)worker;
  struct sim *sim = arguments;
  const struct grid *g = sim->mesh.grid;
  const struct particles *p = sim->p;
  for (int32_t c = g->blocks.first[block]; c < g->blocks.first[block + 1]; c++) {
    double now = 0.0, rest = 0.0;
    unsigned char state = 0;
    for (int32_t i = g->cell_start[c]; i < g->cell_start[c + 1]; i++) {
      const int32_t slot = sim->order.slot[i];
      if (particle_flies(p, slot)) continue;
      if (p->liquid[slot] == 0.0) {
        state |= CELL_SOLID;
        continue;
      }
      const double root = p->fe[0][slot], volume = p->volume[sim->order.home[i]];
      state |= CELL_LIQUID;
      now += volume * (root * root * root);
      rest += volume;
    }
    sim->heat.cell_state[c] = state;
    sim->heat.cell_solid[c] = state & CELL_SOLID;
    sim->heat.cell_j[c] = state & CELL_LIQUID ? now / rest : 0.0;
  }
}

static void cell_center(const struct grid_geometry *geometry, const int32_t index[3], double x[3])
{
  for (int a = 0; a < 3; a++)
    x[geometry->axis[a]] = geometry->lower[a] + geometry->spacing * ((double)index[a] + 0.5);
}

/* Some body may have a point within so many cells of x. */
static bool is_near(const struct sim *sim, const double x[3], double cells)
{
  for (int k = 0; k < sim->scene->body_count; k++)
    if (body_may_touch(&sim->poses[k], x, cells * sim->scene->spacing)) return true;
  return false;
}

static bool is_in_body(const struct sim *sim, const double x[3])
{
  for (int k = 0; k < sim->scene->body_count; k++)
    if (body_distance(&sim->poses[k], x, NULL) <= 0.0) return true;
  return false;
}

/* Open volumes at the eight lattice points of a cell; returns their sum. */
static double open_volume(const struct sim *sim, const double center[3], double share[8])
{
  const struct grid_geometry *geometry = &sim->mesh.grid->geometry;
  const double h = geometry->spacing;
  double sum = 0.0;
  for (int point = 0; point < 8; point++) {
    double x[3], volume = 0.125 * (h * h * h);
    for (int a = 0; a < 3; a++)
      x[geometry->axis[a]] = center[geometry->axis[a]] + (point >> (2 - a) & 1 ? 0.25 : -0.25) * h;
    for (int k = 0; k < sim->scene->body_count; k++) {
      const double part = 0.5 + 2.0 * shape_distance(&sim->poses[k].shape, x, NULL) / h;
      volume *= part < 0.0 ? 0.0 : part > 1.0 ? 1.0 : part;
    }
    share[point] = volume;
    sum += volume;
  }
  return sum;
}

/* All liquid cells that a rank sees, in order: the left neighbour's last plane, its own, and the right one's
 * first; and their blocks. */
struct sight {
  uint64_t *key;
  int32_t count;
  uint64_t *block_key;
  int32_t *first; /* [blocks + 1] */
  int32_t blocks;
};

static struct sight sight_create(const struct sim *sim)
{
  const struct liquid *l = &sim->heat.liquid;
  const struct halo_words *other = sim->heat.other;
  const size_t most = (size_t)(other[0].count + l->count + other[1].count);
  struct sight s = {mem_alloc(most, sizeof *s.key), 0, mem_alloc(most, sizeof *s.block_key),
                    mem_alloc(most + 1, sizeof *s.first), 0};
  for (int64_t k = 0; k < other[0].count; k++) s.key[s.count++] = other[0].word[k];
  for (int32_t k = 0; k < l->count; k++) s.key[s.count++] = l->cell[k].key;
  for (int64_t k = 0; k < other[1].count; k++) s.key[s.count++] = other[1].word[k];
  for (int32_t k = 0; k < s.count; k++) {
    if (s.blocks && s.block_key[s.blocks - 1] == grid_key_block(s.key[k])) continue;
    s.block_key[s.blocks] = grid_key_block(s.key[k]);
    s.first[s.blocks++] = k;
  }
  s.first[s.blocks] = s.count;
  return s;
}

static void sight_free(struct sight *s)
{
  mem_free(s->key);
  mem_free(s->block_key);
  mem_free(s->first);
}

/* Which cells of a block, and of the cells around it, are liquid: [x + 1][y + 1][z + 1]. */
struct around {
  unsigned char liquid[BLOCK_X + 2][BLOCK_Y + 2][BLOCK_Z + 2];
};

/* The first block whose key is not below this one. */
static int32_t sight_from(const struct sight *s, uint64_t key)
{
  int32_t low = 0, high = s->blocks;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (s->block_key[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void look_around(const struct sight *s, uint64_t block, struct around *around)
{
  int32_t index[3];
  grid_block_index(block, index);
  memset(around, 0, sizeof *around);
  for (int k = 0; k < 9; k++) {
    const int32_t x = index[0] + k / 3 - 1, y = index[1] + k % 3 - 1, z = index[2] > 0 ? index[2] - 1 : 0;
    if (x < 0 || y < 0) continue;
    for (int32_t b = sight_from(s, grid_block_key(x, y, z));
         b < s->blocks && s->block_key[b] <= grid_block_key(x, y, index[2] + 1); b++)
      for (int32_t c = s->first[b]; c < s->first[b + 1]; c++) {
        int32_t at[3];
        grid_key_index(s->key[c], at);
        const int32_t dx = at[0] - BLOCK_X * index[0] + 1, dy = at[1] - BLOCK_Y * index[1] + 1,
                      dz = at[2] - BLOCK_Z * index[2] + 1;
        if (dx >= 0 && dx < BLOCK_X + 2 && dy >= 0 && dy < BLOCK_Y + 2 && dz >= 0 && dz < BLOCK_Z + 2)
          around->liquid[dx][dy][dz] = 1;
      }
  }
}

/* Whether a cell that is not liquid has its middle in a body. */
static bool is_wall(const struct sim *sim, const int32_t index[3])
{
  double x[3];
  cell_center(&sim->mesh.grid->geometry, index, x);
  return is_in_body(sim, x);
}

/* The 26 cells around are liquid or walls. */
static bool is_surrounded(const struct sim *sim, const struct around *around, uint64_t cell, bool near)
{
  int32_t index[3];
  grid_key_index(cell, index);
  for (int k = 0; k < 27; k++) {
    const int step[3] = {k / 9, k / 3 % 3, k % 3};
    if (around->liquid[grid_place_x(cell) + step[0]][grid_place_y(cell) + step[1]]
                      [grid_place_z(cell) + step[2]])
      continue;
    if (!near) return false;
    const int32_t beside[3] = {index[0] + step[0] - 1, index[1] + step[1] - 1, index[2] + step[2] - 1};
    if (!is_wall(sim, beside)) return false;
  }
  return true;
}

/* Which cells of a block are full, and their open volumes. A particle that has crossed a wall by less than
 * round-off of its motion may be in a cell that is all wall. Its volume is no volume of liquid there:
 * counted, it would be a bump of the liquid's surface, through which the pool leaks away. */
struct full_arguments {
  struct sim *sim;
  const struct sight *sight;
};

static void fill_block(void *arguments, struct worker *worker, int32_t block)
{
  (void)worker;
  const struct full_arguments *a = arguments;
  struct sim *sim = a->sim;
  struct liquid *l = &sim->heat.liquid;
  const struct grid *g = sim->mesh.grid;
  const double h = g->geometry.spacing;
  struct around around;
  look_around(a->sight, l->blocks.key[block], &around);
  for (int32_t k = l->blocks.first[block]; k < l->blocks.first[block + 1]; k++) {
    struct liquid_cell *cell = &l->cell[k];
    int32_t index[3];
    double center[3];
    grid_key_index(cell->key, index);
    cell_center(&g->geometry, index, center);
    const bool near = is_near(sim, center, 1.8);
    cell->volume = h * h * h;
    for (int point = 0; point < 8; point++) cell->share[point] = 0.125 * (h * h * h);
    const double open = near ? open_volume(sim, center, cell->share) : cell->volume;
    cell->behind = open < least_full * (h * h * h);
    cell->full = !cell->behind && !(sim->heat.cell_state[cell->cell] & CELL_SOLID) &&
                 is_surrounded(sim, &around, cell->key, near);
    if (cell->full) cell->volume = open;
    cell->table = cell->full && !is_near(sim, center, reach_of_bodies) ? -1 : 0;
  }
}

/* The blocks of the cells in the list. */
static void collect_cells(struct sim *sim)
{
  struct liquid *l = &sim->heat.liquid;
  l->keys = mem_reserve(l->keys, &l->key_capacity, l->count, sizeof *l->keys);
  for (int32_t k = 0; k < l->count; k++) l->keys[k] = l->cell[k].key;
  block_set_collect(&l->blocks, sim->mesh.grid, l->keys, l->count);
}

/* Lists the liquid cells of this rank. */
static void list_cells(struct sim *sim)
{
  struct sim_heat *heat = &sim->heat;
  struct liquid *l = &heat->liquid;
  const struct grid *g = sim->mesh.grid;
  l->of_cell = mem_reserve(l->of_cell, &l->of_cell_capacity, g->cell_count, sizeof *l->of_cell);
  l->count = 0;
  for (int32_t c = 0; c < g->cell_count; c++) {
    if (!(heat->cell_state[c] & CELL_LIQUID)) continue;
    l->cell = mem_reserve(l->cell, &l->capacity, l->count + 1, sizeof *l->cell);
    l->cell[l->count++] = (struct liquid_cell){.key = g->cell_key[c], .cell = c, .j = heat->cell_j[c]};
  }
  collect_cells(sim);
}

/* Whether a cell is beside the cut on a side: 0 left, 1 right. */
static bool is_beside(const struct grid *g, uint64_t cell, int side)
{
  return grid_key_layer(cell) == (side == 0 ? g->first : g->first + g->layers - 1) &&
         grid_place_x(cell) == (side == 0 ? 0 : BLOCK_X - 1);
}

/* Keys of the liquid cells beside both cuts, to the neighbours. */
static void swap_cells(struct sim *sim)
{
  struct sim_heat *heat = &sim->heat;
  const struct liquid *l = &heat->liquid;
  for (int side = 0; side < 2; side++) {
    struct halo_words *own = &heat->own[side];
    own->count = 0;
    for (int32_t k = 0; k < l->count; k++) {
      if (!is_beside(sim->mesh.grid, l->cell[k].key, side)) continue;
      own->word = mem_reserve(own->word, &own->capacity, own->count + 1, sizeof *own->word);
      own->word[own->count++] = l->cell[k].key;
    }
  }
  halo_swap(sim->mesh.halo, heat->own, heat->other);
}

/* And J_c of those that are full, 0 of the others, in the same order. */
static void swap_fullness(struct sim *sim)
{
  struct sim_heat *heat = &sim->heat;
  const struct liquid *l = &heat->liquid;
  for (int side = 0; side < 2; side++) {
    struct halo_words *own = &heat->own_j[side];
    own->count = 0;
    own->word = mem_reserve(own->word, &own->capacity, heat->own[side].count, sizeof *own->word);
    for (int32_t k = 0; k < l->count; k++) {
      if (!is_beside(sim->mesh.grid, l->cell[k].key, side)) continue;
      const double j = l->cell[k].full ? l->cell[k].j : 0.0;
      memcpy(&own->word[own->count++], &j, sizeof j);
    }
  }
  halo_swap(sim->mesh.halo, heat->own_j, heat->other_j);
}

/* --- rim cells: cut by a wall so that they are too thin for a particle
 * -------------------------------------------- */

/* The way from a cell in bodies to the cell that it is the rim of: along the sum of the bodies' normals.
 * False if its middle is in no body. */
static bool find_parent(const struct sim *sim, const double center[3], int way[3])
{
  const struct grid_geometry *geometry = &sim->mesh.grid->geometry;
  double sum[3] = {0.0, 0.0, 0.0}, most = 0.0;
  bool inside = false;
  for (int k = 0; k < sim->scene->body_count; k++) {
    double n[3];
    if (!(body_distance(&sim->poses[k], center, NULL) <= 0.0)) continue;
    body_distance(&sim->poses[k], center, n);
    vec_axpy(sum, 1.0, n, sum);
    inside = true;
  }
  for (int d = 0; d < 3; d++) most = fmax(most, fabs(sum[d]));
  for (int a = 0; a < 3; a++) {
    const double along = sum[geometry->axis[a]];
    way[a] = fabs(along) > 0.4 * most ? (along > 0.0) - (along < 0.0) : 0;
  }
  return inside;
}

/* Whether a cell of this rank lies within the domain. */
static bool is_in_slab(const struct grid *g, const int32_t index[3])
{
  for (int a = 0; a < 3; a++)
    if (index[a] < 0 || index[a] >= g->geometry.cells[a]) return false;
  const int32_t layer = index[0] / BLOCK_X;
  return layer >= g->first && layer < g->first + g->layers;
}

/* The rim cells of this rank around one full cell, which may be a neighbour's. */
static void add_rims(struct sim *sim, uint64_t full, double j)
{
  const struct grid *g = sim->mesh.grid;
  struct liquid *l = &sim->heat.liquid;
  const double h = g->geometry.spacing;
  int32_t index[3];
  double center[3];
  grid_key_index(full, index);
  cell_center(&g->geometry, index, center);
  if (!is_near(sim, center, 1.8)) return;
  for (int k = 0; k < 27; k++) {
    const int step[3] = {k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1};
    const int32_t at[3] = {index[0] + step[0], index[1] + step[1], index[2] + step[2]};
    int way[3];
    if (k == 13 || !is_in_slab(g, at)) continue;
    if (grid_find_cell(g, grid_key(at[0], at[1], at[2])) >= 0) continue; /* it has particles */
    cell_center(&g->geometry, at, center);
    if (!find_parent(sim, center, way)) continue;
    if (way[0] != -step[0] || way[1] != -step[1] || way[2] != -step[2]) continue;
    struct liquid_cell rim = {.key = grid_key(at[0], at[1], at[2]), .cell = -1, .j = j, .full = true};
    rim.volume = open_volume(sim, center, rim.share);
    if (rim.volume < least_full * (h * h * h)) continue;
    l->cell = mem_reserve(l->cell, &l->capacity, l->count + 1, sizeof *l->cell);
    l->cell[l->count++] = rim;
  }
}

static int by_place(const void *left, const void *right)
{
  const struct liquid_cell *a = left, *b = right;
  return (a->key > b->key) - (a->key < b->key);
}

static void find_rims(struct sim *sim)
{
  struct sim_heat *heat = &sim->heat;
  struct liquid *l = &heat->liquid;
  const int32_t own = l->count;
  for (int32_t k = 0; k < own; k++) {
    const struct liquid_cell cell = l->cell[k];
    if (cell.full && cell.table >= 0) add_rims(sim, cell.key, cell.j);
  }
  for (int side = 0; side < 2; side++)
    for (int64_t k = 0; k < heat->other[side].count; k++) {
      double j;
      memcpy(&j, &heat->other_j[side].word[k], sizeof j);
      if (j > 0.0) add_rims(sim, heat->other[side].word[k], j);
    }
  if (l->count > own) qsort(l->cell, (size_t)l->count, sizeof *l->cell, by_place);
}

/* --- tables
 * -------------------------------------------------------------------------------------------- */

static void place_cells(struct sim *sim)
{
  struct liquid *l = &sim->heat.liquid;
  const struct grid *g = sim->mesh.grid;
  for (int32_t c = 0; c < g->cell_count; c++) l->of_cell[c] = -1;
  int64_t tables = 0;
  for (int32_t k = 0; k < l->count; k++) {
    struct liquid_cell *cell = &l->cell[k];
    if (cell->cell >= 0) l->of_cell[cell->cell] = k;
    if (cell->table >= 0) cell->table = tables++;
  }
  l->table = mem_reserve(l->table, &l->table_capacity, tables * LIQUID_TABLE, sizeof *l->table);
  l->bears = instruments_bodies(sim) != NULL;
  if (l->bears) l->borne = mem_reserve(l->borne, &l->borne_capacity, tables * LIQUID_TABLE, sizeof *l->borne);
  collect_cells(sim);
}

/* A kernel over the blocks of liquid cells; or a sum over them. */
static void liquid_blocks(struct sim *sim, block_kernel *kernel, void *arguments)
{
  crew_blocks(&sim->crew, sim->mesh.grid, &sim->heat.liquid.blocks, kernel, arguments);
}

static void liquid_scatter(struct sim *sim, block_kernel *kernel, void *arguments, enum node_field field)
{
  const struct block_sum sum = {&sim->heat.liquid.blocks, kernel, arguments, PART_NODES, 1, {field}, false};
  sim_sum(sim, &sum, 1);
}

static void find_cells(struct sim *sim)
{
  struct sim_heat *heat = &sim->heat;
  const struct grid *g = sim->mesh.grid;
  heat->cell_state =
      mem_reserve(heat->cell_state, &heat->cell_state_capacity, g->cell_count, sizeof *heat->cell_state);
  heat->cell_solid =
      mem_reserve(heat->cell_solid, &heat->cell_solid_capacity, g->cell_count, sizeof *heat->cell_solid);
  heat->cell_j = mem_reserve(heat->cell_j, &heat->cell_j_capacity, g->cell_count, sizeof *heat->cell_j);
  sim_blocks(sim, look_at_block, sim);
  list_cells(sim);
  swap_cells(sim);
  struct sight sight = sight_create(sim);
  struct full_arguments arguments = {sim, &sight};
  liquid_blocks(sim, fill_block, &arguments);
  sight_free(&sight);
  swap_fullness(sim);
  find_rims(sim);
  place_cells(sim);
  sim->kernels->liquid_common(&heat->liquid, &g->geometry);
}

/* --- nodes: what bodies bear
 * ------------------------------------------------------------------------------------- */

/* The part q of the area `rest` of a node's liquid that body k takes; false if it takes none. */
static bool take_area(const struct sim *sim, int k, const double x[3], bool deep, double rest[3], double q[3])
{
  const struct shape *shape = &sim->poses[k].shape;
  double n[3];
  if (!(shape_distance(shape, x, NULL) < 2.0 * sim->scene->spacing)) return false;
  shape_distance(shape, x, n);
  const double along = vec_dot(n, rest);
  for (int d = 0; d < 3; d++) q[d] = deep ? rest[d] : along < 0.0 ? n[d] * along : 0.0;
  vec_sub(rest, q, rest);
  return true;
}

/* W, a and the part of W that is not full, in; r and t out. */
static void react_at(const struct sim *sim, const double x[3], double weight, const double area[3], bool deep,
                     double reaction[3], double *carried)
{
  double rest[3] = {area[0], area[1], area[2]};
  for (int k = 0; k < sim->scene->body_count; k++) {
    double q[3], velocity[3];
    if (!take_area(sim, k, x, deep, rest, q)) continue;
    vec_axpy(reaction, 1.0 / weight, q, reaction);
    body_velocity(&sim->poses[k], x, velocity);
    *carried += vec_dot(q, velocity) / weight;
  }
}

/* Some body is within two cells of a node of the tile. */
static bool is_tile_near(const struct sim *sim, int32_t tile)
{
  double center[3];
  const double radius = grid_tile_ball(sim->mesh.grid, tile, center) + 2.0 * sim->scene->spacing;
  for (int k = 0; k < sim->scene->body_count; k++)
    if (body_may_touch(&sim->poses[k], center, radius)) return true;
  return false;
}

/* NODE_LIQUID becomes the solve's mass and r, NODE_PRESSURE becomes (e, t). */
static void react_tiles(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct sim *sim = arguments;
  const struct grid *g = sim->mesh.grid;
  const double density = sim->scene->heat.rho_liquid;
  const bool bears = sim->heat.liquid.bears;
  for (int32_t tile = begin; tile < end; tile++) {
    const bool near = is_tile_near(sim, tile);
    for (int k = 0; k < TILE_NODES; k++) {
      const int64_t at = (int64_t)tile * TILE_DOUBLES + 4 * k;
      double *liquid = g->node[NODE_LIQUID] + at, *pressure = g->node[NODE_PRESSURE] + at;
      const double mass = g->node[NODE_MOMENTUM][at], weight = liquid[0], heavy = density * weight / 1000.0;
      double x[3], reaction[3] = {0.0, 0.0, 0.0}, carried = 0.0;
      grid_tile_node(g, tile, k, x);
      if (bears) {
        double *borne = g->node[NODE_BORNE] + at;
        memcpy(borne, liquid, 4 * sizeof *borne);
        if (pressure[0] == 0.0) borne[0] = -weight;
      }
      if (weight > 0.0 && near) react_at(sim, x, weight, liquid + 1, pressure[0] == 0.0, reaction, &carried);
      const double excess = weight > 0.0 ? g->node[NODE_HEAT][at + 3] / (density * weight) - 1.0 : 0.0;
      liquid[0] = mass > heavy ? mass : heavy;
      memcpy(liquid + 1, reaction, sizeof reaction);
      pressure[0] = excess;
      pressure[1] = carried;
      pressure[2] = pressure[3] = 0.0;
    }
  }
}

/* The pressure that bodies bear at a node; scale: that of the area to the impulse on the liquid. In the solve
 * the first body takes the whole area of a deep node. Here each has the part along its normal, and the
 * nearest what is left, so that a floor bears the water above it in a corner too. */
static void bear_at(const struct sim *sim, const double x[3], const double borne[4], double scale,
                    struct body_tally *tallies)
{
  double rest[3] = {borne[1], borne[2], borne[3]}, q[3], least = INFINITY;
  int nearest = -1;
  for (int k = 0; k < sim->scene->body_count; k++) {
    if (!take_area(sim, k, x, false, rest, q)) continue;
    for (int d = 0; d < 3; d++) q[d] *= scale;
    tally_pressure(&tallies[k], &sim->poses[k], x, q);
    const double distance = shape_distance(&sim->poses[k].shape, x, NULL);
    if (distance < least) nearest = k;
    least = fmin(least, distance);
  }
  if (nearest < 0 || borne[0] > 0.0) return;
  for (int d = 0; d < 3; d++) q[d] = rest[d] * scale;
  tally_pressure(&tallies[nearest], &sim->poses[nearest], x, q);
}

/* After the solve, with the sum of s p in the scalar of NODE_PRESSURE. */
static void bear_tiles(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  const struct sim *sim = arguments;
  const struct grid *g = sim->mesh.grid;
  for (int32_t tile = begin; tile < end && worker->counts; tile++) {
    if (!is_tile_near(sim, tile)) continue;
    for (int k = 0; k < TILE_NODES; k++) {
      const int64_t at = (int64_t)tile * TILE_DOUBLES + 4 * k;
      const double *borne = g->node[NODE_BORNE] + at, pressed = g->node[NODE_PRESSURE][at];
      if (borne[0] == 0.0 || pressed == 0.0) continue;
      double x[3];
      grid_tile_node(g, tile, k, x);
      bear_at(sim, x, borne, -sim->transfer.dt * pressed / fabs(borne[0]), worker->bodies);
    }
  }
}

/* --- the solve
 * --------------------------------------------------------------------------------------------------- */

/* 1 - exp(-x), x > 0. */
static double spread_share(double x)
{
  return x < 1.0 ? -vd_expm1(vd_set(-x))[0] : 1.0 - vd_exp(vd_set(-fmin(x, 700.0)))[0];
}

static struct liquid_arguments arguments_of(struct sim *sim)
{
  const struct heat_law *law = &sim->scene->heat;
  const double beta = sim->scene->beta;
  return (struct liquid_arguments){.transfer = &sim->transfer,
                                   .law = law,
                                   .liquid = &sim->heat.liquid,
                                   .spread = spread_share(sim->transfer.dt / law->spread_time),
                                   .scale = beta > 0.0 ? 1.0 / beta : 1.0};
}

/* out = H in + D^T [K D in] / beta, wholly. */
static void apply_whole(struct sim *sim, enum node_field in, enum node_field out)
{
  const bool solid = sim->scene->beta > 0.0 && sim->totals.particles > sim->heat.count;
  struct hessian_arguments hessian = {&sim->transfer, in, out, sim->heat.cell_solid, false};
  struct liquid_arguments liquid = arguments_of(sim);
  liquid.in = in;
  liquid.out = NODE_PRESSURE;
  const struct block_sum sums[2] = {
      {&sim->heat.liquid.blocks, sim->kernels->liquid_product, &liquid, PART_NODES, 1, {NODE_PRESSURE}, true},
      {&sim->mesh.grid->blocks,
       sim->transfer.mixed ? sim->kernels->hessian_mixed : sim->kernels->hessian,
       &hessian,
       sim->transfer.mixed ? PART_SHEETS : sim->kernels->layout,
       1,
       {out},
       true}};
  sim->crew.label = "product blocks";
  if (!solid) grid_clear(sim->mesh.grid, out);
  sim_sum(sim, sums, solid ? 2 : 1);
  liquid.out = out;
  crew_tiles(&sim->crew, sim->mesh.grid, sim->kernels->liquid_join, &liquid, sim->mesh.grid->tile_count, NULL,
             0);
}

static void apply(void *context, enum node_field in, enum node_field out)
{
  apply_whole(context, in, out);
  sim_project(context, out);
}

/* Forces of the pressures lambda (1 - Jt) to NODE_PRESSURE. */
static void push(struct sim *sim)
{
  struct liquid_arguments arguments = arguments_of(sim);
  struct liquid *l = &sim->heat.liquid;
  for (int32_t k = 0; k < l->count; k++)
    l->cell[k].pressure = sim->scene->heat.lambda_liquid * (1.0 - l->cell[k].j_fixed);
  liquid_scatter(sim, sim->kernels->liquid_force, &arguments, NODE_PRESSURE);
}

static void find_divergence(struct sim *sim)
{
  struct liquid_arguments arguments = arguments_of(sim);
  arguments.in = NODE_VELOCITY;
  liquid_blocks(sim, sim->kernels->liquid_divergence, &arguments);
}

/* Which cells push, after a solve. Whether one changed on any rank. */
static bool choose_again(struct sim *sim)
{
  struct liquid *l = &sim->heat.liquid;
  double changed = 0.0;
  for (int32_t k = 0; k < l->count; k++) {
    struct liquid_cell *cell = &l->cell[k];
    const bool active = cell->j_next < (cell->active ? 1.0 + 1e-7 : 1.0 - 1e-7);
    if (active != cell->active) changed = 1.0;
    cell->active = active;
  }
  comm_max(&sim->comm, &changed, 1);
  return changed > 0.0;
}

static bool solve_pass(struct sim *sim)
{
  struct liquid_arguments arguments = arguments_of(sim);
  const struct scene *scene = sim->scene;
  const double dt = sim->transfer.dt;
  push(sim);
  crew_tiles(&sim->crew, sim->mesh.grid, sim->kernels->liquid_right, &arguments, sim->mesh.grid->tile_count,
             NULL, 0);
  sim_project(sim, NODE_RIGHT);
  struct cr_system system = sim_system(sim);
  system.unknown = system.fixed = NODE_VELOCITY;
  system.weight = NODE_LIQUID;
  system.has_right = true;
  system.right = NODE_RIGHT;
  system.measure = NODE_STAR;
  system.factor = (scene->beta > 0.0 ? scene->beta : 1.0) * dt * dt;
  system.product = apply;
  system.project = sim_project;
  const struct cr_result result = cr_solve(&system, scene->tolerance, scene->max_iterations);
  sim->report.iterations += result.iterations;
  sim->report.passes++;
  sim->totals.iterations += result.iterations;
  sim->totals.solves++;
  return result.converged;
}

/* Friction of what the walls gave: along the bodies, wet nodes lose a part of it. */
static void rub(struct sim *sim, double factor, struct body_tally *tallies)
{
  const struct contacts *contacts = &sim->contacts;
  double *const *node = sim->mesh.grid->node;
  const double dt = sim->transfer.dt;
  for (int32_t n = 0; n < contacts->count; n++) {
    const struct contact_node *w = &contacts->node[n];
    if (!w->wet) continue;
    const int64_t at = 4 * (int64_t)w->at;
    double given[3], along[3], *v = node[NODE_VELOCITY] + at + 1;
    for (int d = 0; d < 3; d++)
      given[d] = (factor * node[NODE_A_RESIDUAL][at + 1 + d] - dt * node[NODE_PRESSURE][at + 1 + d]) /
                 node[NODE_LIQUID][at];
    for (int d = 0; d < 3; d++) along[d] = vec_dot(w->p + 3 * d, given);
    vec_sub(given, along, given);
    const double impulse = vec_norm(given);
    for (int32_t t = w->from; t < w->to; t++) {
      const int body = contacts->touch[t].body;
      const struct body_pose *pose = &sim->poses[body];
      const double before[3] = {v[0], v[1], v[2]};
      double carried[3], relative[3], slide[3];
      body_velocity(pose, w->x, carried);
      vec_sub(v, carried, relative);
      for (int d = 0; d < 3; d++) slide[d] = vec_dot(w->p + 3 * d, relative);
      const double speed = vec_norm(slide), lost = pose->body->liquid_friction * impulse;
      if (speed > 0.0) vec_axpy(v, -(lost < speed ? lost / speed : 1.0), slide, v);
      if (tallies && n < contacts->owned)
        tally_collision(&tallies[body], pose, w->x, node[NODE_MOMENTUM][at], before, v);
    }
  }
}

/* What bodies bear of the pressures that the solve found. */
static void bear(struct sim *sim)
{
  struct liquid_arguments arguments = arguments_of(sim);
  struct liquid *l = &sim->heat.liquid;
  for (int32_t k = 0; k < l->count; k++)
    l->cell[k].pressure = sim->scene->heat.lambda_liquid * (1.0 - l->cell[k].j_next);
  liquid_scatter(sim, sim->kernels->liquid_bear, &arguments, NODE_PRESSURE);
  crew_tiles(&sim->crew, sim->mesh.grid, bear_tiles, sim, grid_owned_tiles(sim->mesh.grid), NULL, 0);
}

/* Friction along bodies, and what the solve gave them: one more product, where there is either. */
static void finish_contact(struct sim *sim)
{
  struct body_tally *tallies = instruments_bodies(sim);
  bool rubs = false;
  for (int k = 0; k < sim->scene->body_count; k++) rubs = rubs || sim->scene->bodies[k].liquid_friction > 0.0;
  if (!rubs && !tallies) return;
  const double dt = sim->transfer.dt, beta = sim->scene->beta, factor = (beta > 0.0 ? beta : 1.0) * dt * dt;
  if (tallies) find_divergence(sim);
  apply_whole(sim, NODE_VELOCITY, NODE_A_RESIDUAL);
  push(sim);
  if (tallies) instruments_hold(sim, factor);
  if (rubs) rub(sim, factor, tallies);
  if (tallies) bear(sim);
}

bool liquid_solve(struct sim *sim)
{
  struct liquid *l = &sim->heat.liquid;
  struct grid *g = sim->mesh.grid;
  struct liquid_arguments arguments = arguments_of(sim);
  find_cells(sim);
  const struct block_sum sums = {&l->blocks, sim->kernels->liquid_sums,    &arguments, PART_NODES,
                                 2,          {NODE_LIQUID, NODE_PRESSURE}, false};
  liquid_blocks(sim, sim->kernels->liquid_tables, &arguments);
  sim_sum(sim, &sums, 1);
  if (l->bears) grid_clear(g, NODE_BORNE);
  crew_tiles(&sim->crew, g, react_tiles, sim, g->tile_count, NULL, 0);
  liquid_blocks(sim, sim->kernels->liquid_begin, &arguments);
  grid_clear(g, NODE_STAR);
  grid_clear(g, NODE_RIGHT);
  crew_tiles(&sim->crew, g, sim->kernels->keep_star, &arguments, g->tile_count, NULL, 0);
  sim_project(sim, NODE_STAR);
  find_divergence(sim);
  for (int32_t k = 0; k < l->count; k++) l->cell[k].active = l->cell[k].j_next < 1.0 - 1e-10;
  const int passes = sim->scene->heat.passes;
  for (int pass = 1; pass <= passes; pass++) {
    if (!solve_pass(sim)) return false;
    if (pass == passes) {
      sim->report.pass_limit = true;
      break;
    }
    find_divergence(sim);
    if (!choose_again(sim)) break;
  }
  finish_contact(sim);
  find_divergence(sim);
  sim->heat.pressure = 0.0;
  for (int32_t k = 0; k < l->count; k++)
    if (!l->cell[k].behind)
      sim->heat.pressure =
          fmax(sim->heat.pressure, sim->scene->heat.lambda_liquid * (1.0 - l->cell[k].j_next));
  return true;
}
