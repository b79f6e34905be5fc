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
static void look_at_plane(void *arguments, struct worker *worker, int32_t plane)
{
  (void)worker;
  struct sim *sim = arguments;
  const struct grid *g = sim->mesh.grid;
  const struct particles *p = sim->p;
  for (int32_t c = g->plane_cell[plane]; c < g->plane_cell[plane + 1]; c++) {
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

static void cell_center(const struct grid_geometry *geometry, const int64_t index[3], double x[3])
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

/* The liquid cells of one plane, of this rank or beside it, in order. */
struct sheet {
  const int32_t *y, *z;
  const unsigned char *state; /* NULL: all are liquid */
  int32_t count;
};

/* All sheets that a rank sees: [0] is the left neighbour's last plane, [planes + 1] the right one's first. */
struct sheets {
  struct sheet *of;
  int32_t *beside; /* coordinates of the neighbours' cells */
};

static struct sheet sheet_of_words(const struct halo_words *words, int32_t *room)
{
  const uint64_t mask = ((uint64_t)1 << GRID_INDEX_BITS) - 1;
  for (int64_t k = 0; k < words->count; k++) {
    room[k] = (int32_t)(words->word[k] >> GRID_INDEX_BITS & mask);
    room[words->count + k] = (int32_t)(words->word[k] & mask);
  }
  return (struct sheet){room, room + words->count, NULL, (int32_t)words->count};
}

static struct sheets sheets_create(const struct sim *sim)
{
  const struct grid *g = sim->mesh.grid;
  const struct halo_words *other = sim->heat.other;
  struct sheets s = {mem_alloc((size_t)g->planes + 2, sizeof *s.of),
                     mem_alloc((size_t)(2 * (other[0].count + other[1].count)), sizeof *s.beside)};
  s.of[0] = sheet_of_words(&other[0], s.beside);
  s.of[g->planes + 1] = sheet_of_words(&other[1], s.beside + 2 * other[0].count);
  for (int32_t plane = 0; plane < g->planes; plane++) {
    const int32_t c = g->plane_cell[plane];
    s.of[plane + 1] =
        (struct sheet){g->cell_y + c, g->cell_z + c, sim->heat.cell_state + c, g->plane_cell[plane + 1] - c};
  }
  return s;
}

static void sheets_free(struct sheets *s)
{
  mem_free(s->of);
  mem_free(s->beside);
}

/* Place of (y, z) in a sheet, or of the first cell behind it. */
static int32_t sheet_find(const struct sheet *s, int32_t y, int32_t z)
{
  int32_t low = 0, high = s->count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (s->y[middle] < y || (s->y[middle] == y && s->z[middle] < z))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Which of the cells (y, z - 1), (y, z), (y, z + 1) are liquid, one bit each. *from is a place at or before
 * the first of them, and moves on. */
static unsigned liquid_row(const struct sheet *s, int32_t y, int32_t z, int32_t *from)
{
  unsigned found = 0;
  while (*from < s->count && (s->y[*from] < y || (s->y[*from] == y && s->z[*from] < z - 1))) ++*from;
  for (int32_t k = *from; k < s->count && s->y[k] == y && s->z[k] <= z + 1; k++)
    if (!s->state || s->state[k] & CELL_LIQUID) found |= 1u << (s->z[k] - (z - 1));
  return found;
}

/* Whether a cell that is not liquid has its middle in a body. */
static bool is_wall(const struct sim *sim, int64_t plane, int64_t y, int64_t z)
{
  double x[3];
  cell_center(&sim->mesh.grid->geometry, (const int64_t[3]){plane, y, z}, x);
  return is_in_body(sim, x);
}

/* The 26 cells around are liquid or walls. from[9] are places in the rows around, see liquid_row(). */
static bool is_surrounded(const struct sim *sim, const struct sheets *sheets, int32_t plane,
                          const struct liquid_cell *cell, bool near, int32_t from[9])
{
  const int64_t first = sim->mesh.grid->first;
  for (int k = 0; k < 9; k++) {
    const int32_t y = cell->y + k % 3 - 1;
    const unsigned row = liquid_row(&sheets->of[plane + k / 3], y, cell->z, &from[k]);
    if (row == 7) continue;
    if (!near) return false;
    for (int d = 0; d < 3; d++)
      if (!(row >> d & 1) && !is_wall(sim, first + plane + k / 3 - 1, y, cell->z + d - 1)) return false;
  }
  return true;
}

/* Which cells of a plane are full, and their open volumes. A particle that has crossed a wall by less than
 * round-off of its motion may be in a cell that is all wall. Its volume is no volume of liquid there:
 * counted, it would be a bump of the liquid's surface, through which the pool leaks away. */
struct full_arguments {
  struct sim *sim;
  const struct sheets *sheets;
};

static void fill_plane(void *arguments, struct worker *worker, int32_t plane)
{
  (void)worker;
  const struct full_arguments *a = arguments;
  struct sim *sim = a->sim;
  struct liquid *l = &sim->heat.liquid;
  const struct grid *g = sim->mesh.grid;
  const double h = g->geometry.spacing;
  int32_t from[9] = {0};
  for (int32_t k = l->plane_first[plane]; k < l->plane_first[plane + 1]; k++) {
    struct liquid_cell *cell = &l->cell[k];
    double center[3];
    cell_center(&g->geometry, (const int64_t[3]){g->first + plane, cell->y, cell->z}, center);
    if (k == l->plane_first[plane] || cell->y != cell[-1].y)
      for (int r = 0; r < 9; r++)
        from[r] = sheet_find(&a->sheets->of[plane + r / 3], cell->y + r % 3 - 1, cell->z - 1);
    const bool near = is_near(sim, center, 1.8);
    cell->volume = h * h * h;
    for (int point = 0; point < 8; point++) cell->share[point] = 0.125 * (h * h * h);
    const double open = near ? open_volume(sim, center, cell->share) : cell->volume;
    cell->behind = open < least_full * (h * h * h);
    cell->full = !cell->behind && !(sim->heat.cell_state[cell->cell] & CELL_SOLID) &&
                 is_surrounded(sim, a->sheets, plane, cell, near, from);
    if (cell->full) cell->volume = open;
    cell->table = cell->full && !is_near(sim, center, reach_of_bodies) ? -1 : 0;
  }
}

/* Lists the liquid cells of this rank. */
static void list_cells(struct sim *sim)
{
  struct sim_heat *heat = &sim->heat;
  struct liquid *l = &heat->liquid;
  const struct grid *g = sim->mesh.grid;
  l->plane_first =
      mem_reserve(l->plane_first, &l->plane_capacity, 2 * ((int64_t)g->planes + 1), sizeof *l->plane_first);
  l->plane_foot = l->plane_first + g->planes + 1;
  l->of_cell = mem_reserve(l->of_cell, &l->of_cell_capacity, g->cell_count, sizeof *l->of_cell);
  l->count = 0;
  for (int32_t plane = 0; plane < g->planes; plane++) {
    l->plane_first[plane] = l->count;
    for (int32_t c = g->plane_cell[plane]; c < g->plane_cell[plane + 1]; c++) {
      if (!(heat->cell_state[c] & CELL_LIQUID)) continue;
      l->cell = mem_reserve(l->cell, &l->capacity, l->count + 1, sizeof *l->cell);
      l->cell[l->count++] = (struct liquid_cell){
          .y = g->cell_y[c], .z = g->cell_z[c], .cell = c, .j = heat->cell_j[c], .plane = plane};
    }
  }
  l->plane_first[g->planes] = l->count;
}

/* Keys of the liquid cells beside both cuts, to the neighbours. */
static void swap_cells(struct sim *sim)
{
  struct sim_heat *heat = &sim->heat;
  const struct liquid *l = &heat->liquid;
  const struct grid *g = sim->mesh.grid;
  for (int side = 0; side < 2; side++) {
    struct halo_words *own = &heat->own[side];
    const int32_t plane = side == 0 ? 0 : g->planes - 1;
    own->count = 0;
    if (g->planes == 0) continue;
    const int32_t begin = l->plane_first[plane], end = l->plane_first[plane + 1];
    own->word = mem_reserve(own->word, &own->capacity, end - begin, sizeof *own->word);
    for (int32_t k = begin; k < end; k++) own->word[own->count++] = grid_key(0, l->cell[k].y, l->cell[k].z);
  }
  halo_swap(sim->mesh.halo, heat->own, heat->other);
}

/* And J_c of those that are full, 0 of the others, in the same order. */
static void swap_fullness(struct sim *sim)
{
  struct sim_heat *heat = &sim->heat;
  const struct liquid *l = &heat->liquid;
  const struct grid *g = sim->mesh.grid;
  for (int side = 0; side < 2; side++) {
    struct halo_words *own = &heat->own_j[side];
    const int32_t plane = side == 0 ? 0 : g->planes - 1;
    own->count = heat->own[side].count;
    own->word = mem_reserve(own->word, &own->capacity, own->count, sizeof *own->word);
    for (int64_t k = 0; k < own->count; k++) {
      const struct liquid_cell *cell = &l->cell[l->plane_first[plane] + k];
      const double j = cell->full ? cell->j : 0.0;
      memcpy(&own->word[k], &j, sizeof j);
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

static bool has_particles(const struct sheets *sheets, int32_t plane, int32_t y, int32_t z)
{
  const struct sheet *s = &sheets->of[plane + 1];
  const int32_t k = sheet_find(s, y, z);
  return k < s->count && s->y[k] == y && s->z[k] == z;
}

/* Whether a cell of a plane of this rank lies within the domain. */
static bool is_in_domain(const struct grid *g, const int32_t at[3])
{
  const int64_t index[3] = {g->first + at[0], at[1], at[2]};
  for (int a = 0; a < 3; a++)
    if (index[a] < 0 || index[a] >= g->geometry.cells[a]) return false;
  return true;
}

/* The rim cells of this rank around one full cell, which may be a neighbour's. */
static void add_rims(struct sim *sim, const struct sheets *sheets, int32_t plane, int32_t y, int32_t z,
                     double j)
{
  const struct grid *g = sim->mesh.grid;
  struct liquid *l = &sim->heat.liquid;
  const double h = g->geometry.spacing;
  double center[3];
  cell_center(&g->geometry, (const int64_t[3]){g->first + plane, y, z}, center);
  if (!is_near(sim, center, 1.8)) return;
  for (int k = 0; k < 27; k++) {
    const int step[3] = {k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1};
    const int32_t at[3] = {plane + step[0], y + step[1], z + step[2]};
    int way[3];
    if (k == 13 || at[0] < 0 || at[0] >= g->planes || !is_in_domain(g, at)) continue;
    if (has_particles(sheets, at[0], at[1], at[2])) continue;
    cell_center(&g->geometry, (const int64_t[3]){g->first + at[0], at[1], at[2]}, center);
    if (!find_parent(sim, center, way)) continue;
    if (way[0] != -step[0] || way[1] != -step[1] || way[2] != -step[2]) continue;
    struct liquid_cell rim = {.y = at[1], .z = at[2], .cell = -1, .j = j, .plane = at[0], .full = true};
    rim.volume = open_volume(sim, center, rim.share);
    if (rim.volume < least_full * (h * h * h)) continue;
    l->cell = mem_reserve(l->cell, &l->capacity, l->count + 1, sizeof *l->cell);
    l->cell[l->count++] = rim;
  }
}

static int by_place(const void *left, const void *right)
{
  const struct liquid_cell *a = left, *b = right;
  const uint64_t ka = grid_key(a->plane, a->y, a->z), kb = grid_key(b->plane, b->y, b->z);
  return (ka > kb) - (ka < kb);
}

static void find_rims(struct sim *sim, const struct sheets *sheets)
{
  struct sim_heat *heat = &sim->heat;
  struct liquid *l = &heat->liquid;
  const int32_t own = l->count, planes = sim->mesh.grid->planes;
  for (int32_t k = 0; k < own; k++) {
    const struct liquid_cell cell = l->cell[k];
    if (cell.full && cell.table >= 0) add_rims(sim, sheets, cell.plane, cell.y, cell.z, cell.j);
  }
  for (int side = 0; side < 2; side++) {
    const int32_t plane = side == 0 ? -1 : planes;
    const struct sheet *s = &sheets->of[plane + 1];
    for (int32_t k = 0; k < s->count; k++) {
      double j;
      memcpy(&j, &heat->other_j[side].word[k], sizeof j);
      if (j > 0.0) add_rims(sim, sheets, plane, s->y[k], s->z[k], j);
    }
  }
  if (l->count > own) qsort(l->cell, (size_t)l->count, sizeof *l->cell, by_place);
}

/* --- tiles and tables
 * -------------------------------------------------------------------------------------------- */

/* Bits of the tiles (dy, dz) that a cell reaches. */
static unsigned reach_of(const struct liquid_cell *cell)
{
  const bool y = cell->y % TILE_Y + MAX_SUPPORT > TILE_Y, z = cell->z % TILE_Z + MAX_SUPPORT > TILE_Z;
  return 1u | (z ? 2u : 0u) | (y ? 4u : 0u) | (y && z ? 8u : 0u);
}

static uint64_t tile_of(const struct liquid_cell *cell, int k)
{
  return grid_tile_key(cell->y / TILE_Y + k / 2, cell->z / TILE_Z + k % 2);
}

static int by_key(const void *left, const void *right)
{
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

/* The tiles that the cells of a plane reach, sorted, behind those of the planes before. */
static void collect_tiles(struct liquid *l, int32_t plane)
{
  int32_t count = 0;
  uint64_t last = UINT64_MAX;
  unsigned last_reach = 0;
  for (int32_t c = l->plane_first[plane]; c < l->plane_first[plane + 1]; c++) {
    const unsigned reach = reach_of(&l->cell[c]);
    if (tile_of(&l->cell[c], 0) == last && (reach & ~last_reach) == 0) continue;
    last = tile_of(&l->cell[c], 0);
    last_reach = reach;
    l->foot_key = mem_reserve(l->foot_key, &l->foot_capacity, l->foot_count + count + 4, sizeof *l->foot_key);
    for (int k = 0; k < 4; k++)
      if (reach >> k & 1) l->foot_key[l->foot_count + count++] = tile_of(&l->cell[c], k);
  }
  uint64_t *keys = l->foot_key + l->foot_count;
  if (count) qsort(keys, (size_t)count, sizeof *keys, by_key);
  int32_t kept = 0;
  for (int32_t k = 0; k < count; k++)
    if (kept == 0 || keys[k] != keys[kept - 1]) keys[kept++] = keys[k];
  for (int32_t c = l->plane_first[plane]; c < l->plane_first[plane + 1]; c++)
    for (int k = 0; k < 4; k++) {
      const uint64_t key = tile_of(&l->cell[c], k);
      const uint64_t *found =
          reach_of(&l->cell[c]) >> k & 1 ? bsearch(&key, keys, (size_t)kept, sizeof key, by_key) : NULL;
      l->cell[c].foot[k] = found ? (int32_t)(found - keys) : -1;
    }
  l->foot_count += kept;
  if (kept > l->largest_footprint) l->largest_footprint = kept;
}

/* Where those tiles are on the node planes; -1 where no particle reaches them. */
static void number_tiles(struct liquid *l, const struct grid *g, int32_t plane)
{
  for (int a = 0; a < MAX_SUPPORT; a++) {
    int32_t tile = g->plane_tile[plane + a];
    const int32_t end = g->plane_tile[plane + a + 1];
    for (int32_t f = l->plane_foot[plane]; f < l->plane_foot[plane + 1]; f++) {
      while (tile < end && g->tile_key[tile] < l->foot_key[f]) tile++;
      const bool there = tile < end && g->tile_key[tile] == l->foot_key[f];
      l->foot_tile[(int64_t)f * MAX_SUPPORT + a] = there ? tile : -1;
    }
  }
}

static void place_cells(struct sim *sim)
{
  struct liquid *l = &sim->heat.liquid;
  const struct grid *g = sim->mesh.grid;
  for (int32_t c = 0; c < g->cell_count; c++) l->of_cell[c] = -1;
  int32_t plane = 0;
  int64_t tables = 0;
  for (int32_t k = 0; k < l->count; k++) {
    struct liquid_cell *cell = &l->cell[k];
    while (plane <= cell->plane) l->plane_first[plane++] = k;
    if (cell->cell >= 0) l->of_cell[cell->cell] = k;
    if (cell->table >= 0) cell->table = tables++;
  }
  while (plane <= g->planes) l->plane_first[plane++] = l->count;
  l->table = mem_reserve(l->table, &l->table_capacity, tables * LIQUID_TABLE, sizeof *l->table);
  l->bears = instruments_bodies(sim) != NULL;
  if (l->bears) l->borne = mem_reserve(l->borne, &l->borne_capacity, tables * LIQUID_TABLE, sizeof *l->borne);
  l->foot_count = l->largest_footprint = 0;
  for (plane = 0; plane < g->planes; plane++) {
    l->plane_foot[plane] = l->foot_count;
    collect_tiles(l, plane);
  }
  l->plane_foot[g->planes] = l->foot_count;
  l->foot_tile = mem_reserve(l->foot_tile, &l->tile_capacity, (int64_t)l->foot_count * MAX_SUPPORT,
                             sizeof *l->foot_tile);
  for (plane = 0; plane < g->planes; plane++) number_tiles(l, g, plane);
  crew_fit_tiles(&sim->crew, g, l->largest_footprint);
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
  crew_planes(&sim->crew, g, look_at_plane, sim, PASS_ALL);
  list_cells(sim);
  swap_cells(sim);
  struct sheets sheets = sheets_create(sim);
  struct full_arguments arguments = {sim, &sheets};
  crew_planes(&sim->crew, g, fill_plane, &arguments, PASS_ALL);
  swap_fullness(sim);
  find_rims(sim, &sheets);
  sheets_free(&sheets);
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
static bool is_tile_near(const struct sim *sim, int32_t plane, int32_t tile)
{
  double center[3];
  const double radius = grid_tile_ball(sim->mesh.grid, plane, tile, center) + 2.0 * sim->scene->spacing;
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
  int32_t plane = 0;
  for (int32_t tile = begin; tile < end; tile++) {
    while (g->plane_tile[plane + 1] <= tile) plane++;
    const bool near = is_tile_near(sim, plane, tile);
    for (int k = 0; k < TILE_NODES; k++) {
      const int64_t at = (int64_t)tile * TILE_DOUBLES + 4 * k;
      double *liquid = g->node[NODE_LIQUID] + at, *pressure = g->node[NODE_PRESSURE] + at;
      const double mass = g->node[NODE_MOMENTUM][at], weight = liquid[0], heavy = density * weight / 1000.0;
      double x[3], reaction[3] = {0.0, 0.0, 0.0}, carried = 0.0;
      grid_tile_node(g, plane, tile, k, x);
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
  int32_t plane = 0;
  for (int32_t tile = begin; tile < end && worker->counts; tile++) {
    while (g->plane_tile[plane + 1] <= tile) plane++;
    if (!is_tile_near(sim, plane, tile)) continue;
    for (int k = 0; k < TILE_NODES; k++) {
      const int64_t at = (int64_t)tile * TILE_DOUBLES + 4 * k;
      const double *borne = g->node[NODE_BORNE] + at, pressed = g->node[NODE_PRESSURE][at];
      if (borne[0] == 0.0 || pressed == 0.0) continue;
      double x[3];
      grid_tile_node(g, plane, tile, k, x);
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

/* Snow's part of a product and the liquid's, plane by plane. */
struct product_arguments {
  plane_kernel *snow, *water;
  struct hessian_arguments *hessian; /* NULL: no particle is solid, or the step is explicit */
  struct liquid_arguments *liquid;
};

static void product_plane(void *arguments, struct worker *worker, int32_t plane)
{
  const struct product_arguments *a = arguments;
  if (a->hessian) a->snow(a->hessian, worker, plane);
  a->water(a->liquid, worker, plane);
}

/* out = H in + D^T [K D in] / beta, wholly. */
static void apply_whole(struct sim *sim, enum node_field in, enum node_field out)
{
  const bool solid = sim->scene->beta > 0.0 && sim->totals.particles > sim->heat.count;
  struct hessian_arguments hessian = {&sim->transfer, in, out, sim->heat.cell_solid, false};
  struct liquid_arguments liquid = arguments_of(sim);
  liquid.in = in;
  liquid.out = NODE_PRESSURE;
  struct product_arguments arguments = {sim->transfer.mixed ? sim->kernels->hessian_mixed
                                                            : sim->kernels->hessian,
                                        sim->kernels->liquid_product, solid ? &hessian : NULL, &liquid};
  const enum node_field fields[2] = {NODE_PRESSURE, out};
  sim->crew.label = "product planes";
  if (!solid) grid_clear(sim->mesh.grid, out);
  sim_scatter(sim, product_plane, &arguments, fields, solid ? 2 : 1);
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
  const enum node_field out = arguments.out = NODE_PRESSURE;
  for (int32_t k = 0; k < l->count; k++)
    l->cell[k].pressure = sim->scene->heat.lambda_liquid * (1.0 - l->cell[k].j_fixed);
  sim_scatter(sim, sim->kernels->liquid_force, &arguments, &out, 1);
}

static void find_divergence(struct sim *sim)
{
  struct liquid_arguments arguments = arguments_of(sim);
  arguments.in = NODE_VELOCITY;
  crew_planes(&sim->crew, sim->mesh.grid, sim->kernels->liquid_divergence, &arguments, PASS_ALL);
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
  const enum node_field out = arguments.out = NODE_PRESSURE;
  for (int32_t k = 0; k < l->count; k++)
    l->cell[k].pressure = sim->scene->heat.lambda_liquid * (1.0 - l->cell[k].j_next);
  sim_scatter(sim, sim->kernels->liquid_bear, &arguments, &out, 1);
  crew_tiles(&sim->crew, sim->mesh.grid, bear_tiles, sim, sim_owned_tiles(sim), NULL, 0);
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
  crew_planes(&sim->crew, g, sim->kernels->liquid_tables, &arguments, PASS_ALL);
  sim_scatter(sim, sim->kernels->liquid_sums, &arguments,
              (const enum node_field[]){NODE_LIQUID, NODE_PRESSURE}, 2);
  if (l->bears) grid_clear(g, NODE_BORNE);
  crew_tiles(&sim->crew, g, react_tiles, sim, g->tile_count, NULL, 0);
  crew_planes(&sim->crew, g, sim->kernels->liquid_begin, &arguments, PASS_ALL);
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
