/* The grid: blocks of cells, and bricks of nodes, present only where there is snow.
 *
 * Indices. Grid axis 0 is the slab axis (any world axis, see `axis`), 1 and 2 the others. A particle's *base*
 * is the first node of its stencil on each axis; it has weight on nodes base .. base + support - 1. Node n
 * stands at lower + h (n - 1): the first node lies one cell outside the domain, so bases and nodes start at 0
 * and a stencil always exists. "Cell" means all particles of one base.
 *
 * A *block* is 4 x 4 x 8 cells, anchored at index 0. Particles are ordered by (block, cell in the block, id).
 * A *brick* is the 4 x 4 x 8 nodes with the same indices: four *tiles*, one for each node plane. A block
 * reaches at most the eight bricks with its indices or one more along each axis. A *layer* is the blocks or
 * bricks with the same index on axis 0.
 *
 * Every node has fields of four doubles that one kernel touches together; channel 0 is a scalar, channels
 * 1..3 a vector in world axes.
 *
 * Everything is rebuilt each step from the sorted particles in arrays that are reused: no allocation once
 * sizes have settled, and cost and memory follow the snow, never the box. */
#ifndef FIRN_GRID_H
#define FIRN_GRID_H

#include <stdbool.h>
#include <stdint.h>

enum {
  BLOCK_X = 4,
  BLOCK_Y = 4,
  BLOCK_Z = 8,
  BLOCK_CELLS = BLOCK_X * BLOCK_Y * BLOCK_Z,
  TILE_Y = BLOCK_Y,
  TILE_Z = BLOCK_Z,
  TILE_NODES = TILE_Y * TILE_Z,
  TILE_DOUBLES = TILE_NODES * 4,
  BRICK_TILES = BLOCK_X,
  BRICK_DOUBLES = BRICK_TILES * TILE_DOUBLES,
  MAX_SUPPORT = 4,
  SHARED_PLANES = MAX_SUPPORT - 1, /* node planes of a brick that blocks of the layer before it reach */
  MAX_THREADS = 128,
};

/* A cell key: the block's indices, then the cell's place in the block; it sorts as particles are ordered. */
enum {
  KEY_X_BITS = 19,
  KEY_Y_BITS = 19,
  KEY_Z_BITS = 18,
  KEY_PLACE_BITS = 7,
};

/* kg: a node of less mass counts as one that no particle reaches.
 *
 * At a fraction f of a cell from the edge of its support a particle gives a node the mass m f^3 / 6 and a
 * force in proportion to f^2. The factored weights keep both exact to their last bit, so force over mass is
 * right and grows as 1/f, and what particles get back from the node vanishes: as f in the velocity gradient,
 * f^2 in the velocity. That ends where the mass leaves the range of doubles: near 1e-308 its digits go, then
 * its inverse is infinite. Particles have 1e-100 kg at least (sim.c), so at this bound the fractions of the
 * three axes have a product below 1e-56, and the least of them, below 1e-18, changes no bit; force over mass
 * is below some 1e100, whose squares are finite. */
#define GRID_LEAST_MASS 0x1p-900

/* What nodes hold, each field four doubles a node: a scalar and a vector. */
enum node_field {
  NODE_MOMENTUM, /* mass, momentum; after the velocity update: mass, velocity at time n; for FLIP's G2P: what
                    it gathers (kernels->mix) */
  NODE_VELOCITY, /* 0, force; after the velocity update: contact (0, or 1 + the body), v* and then v(n+1) */
  NODE_RESIDUAL, /* of a solve: residual r, direction p, and the products A r and A p */
  NODE_DIRECTION,
  NODE_A_RESIDUAL,
  NODE_A_DIRECTION,
  NODE_AA_RESIDUAL, /* and, of a pipelined solve, A A r and A A p */
  NODE_AA_DIRECTION,
  NODE_STAR,     /* v* as the solve's measure; the temperature before the heat solve */
  NODE_RIGHT,    /* the right side of a solve that has one of its own */
  NODE_HEAT,     /* heat capacity C; C y with y = T - T_melt, conductivity S, liquid mass */
  NODE_SPACE,    /* V, A: volume and its surface; then G, G y of surfaces; then what particles gather of heat:
                    change, share that is mixed, mass */
  NODE_WARM,     /* 0; y, the unknown of the heat solve */
  NODE_LIQUID,   /* W, a of the liquid cells; then the solve's mass, and r */
  NODE_PRESSURE, /* W of cells that are not full; then e, t; then D^T of a pressure */
  NODE_FILLED,   /* volume at rest of what does not fly */
  NODE_BORNE,    /* where bodies are measured: W, with a minus sign on deep nodes, and a */
  NODE_PLACE,    /* mass; times the mean place of what reaches it, from the lower corner */
  NODE_ROOM,     /* volume as it is now, for the friction of a layered ground */
  NODE_FIELDS
};

struct grid_geometry { /* where the grid lies in the world; fixed for a run */
  int support;         /* nodes a stencil has an axis: 4 cubic, 3 quadratic */
  int axis[3];         /* world axis of grid axis 0, 1, 2 */
  double lower[3];     /* m, by grid axis */
  double spacing;      /* m */
  double inverse;      /* 1 / spacing */
  int64_t cells[3];    /* by grid axis */
};

/* Some blocks, the bricks that they reach, and of each brick the blocks that reach it. Blocks with particles
 * are one set, blocks with liquid cells another. */
struct block_set {
  int32_t count, capacity;
  uint64_t *key;        /* [count] rising */
  int32_t *first;       /* [count + 1] cells, in the list that the set was made of */
  unsigned char *reach; /* [count] bit 4 dx + 2 dy + dz: a stencil reaches that brick */
  int32_t *brick;       /* [8 count] bricks by 4 dx + 2 dy + dz; -1: not reached, or not there */
  int32_t *of_brick;    /* [8 bricks] blocks at brick - (dx, dy, dz), likewise */
  int64_t of_brick_capacity;
  int32_t inside[2]; /* blocks [inside[0], inside[1]) reach no brick that another rank has too */
};

struct grid {
  struct grid_geometry geometry;

  /* Blocks of this rank have indices [first, first + layers) on axis 0. */
  int32_t first, layers;
  int32_t cell_count, cell_capacity;
  int32_t *cell_start;  /* [cell_count + 1] first particle */
  uint64_t *cell_key;   /* [cell_count] */
  int32_t largest_cell; /* particles in the fullest one */
  struct block_set blocks;
  int32_t *layer_block; /* [layers + 1] first block */

  /* Bricks, layer by layer: one layer more than blocks have. */
  int32_t brick_count, brick_capacity;
  uint64_t *brick_key;  /* [brick_count] rising */
  int32_t *layer_brick; /* [layers + 2] first brick */
  int32_t layer_capacity;
  int32_t tile_count;        /* BRICK_TILES brick_count: tile t is node plane t % 4 of brick t / 4 */
  double *node[NODE_FIELDS]; /* [BRICK_DOUBLES brick_count] each; NULL until first wanted */

  /* The neighbour ranks reach the bricks of the first layer, and of the last, as well. Of the last, node
   * plane 3 belongs to the right neighbour alone and has nothing here. */
  bool has_left, has_right;
  int threads; /* that work on it: the whole crew, or one */
};

/* Key of a cell, and of the block or brick that an index is in. */
static inline uint64_t grid_block_key(int64_t x, int64_t y, int64_t z)
{
  return ((uint64_t)x << KEY_Y_BITS | (uint64_t)y) << KEY_Z_BITS | (uint64_t)z;
}

static inline uint64_t grid_key(int64_t plane, int64_t y, int64_t z)
{
  return grid_block_key(plane / BLOCK_X, y / BLOCK_Y, z / BLOCK_Z) << KEY_PLACE_BITS |
         (uint64_t)(plane % BLOCK_X * BLOCK_Y * BLOCK_Z + y % BLOCK_Y * BLOCK_Z + z % BLOCK_Z);
}

static inline uint64_t grid_key_block(uint64_t cell)
{
  return cell >> KEY_PLACE_BITS;
}

/* What is added to a block's key for the k-th of the bricks that it reaches. */
static inline uint64_t grid_brick_step(int k)
{
  return grid_block_key(k >> 2 & 1, k >> 1 & 1, k & 1);
}

/* Indices of a block, and where a cell is in its block. */
static inline void grid_block_index(uint64_t block, int32_t index[3])
{
  index[0] = (int32_t)(block >> (KEY_Y_BITS + KEY_Z_BITS));
  index[1] = (int32_t)(block >> KEY_Z_BITS & (((uint64_t)1 << KEY_Y_BITS) - 1));
  index[2] = (int32_t)(block & (((uint64_t)1 << KEY_Z_BITS) - 1));
}

static inline int grid_place_x(uint64_t cell)
{
  return (int)(cell >> 5 & 3);
}

static inline int grid_place_y(uint64_t cell)
{
  return (int)(cell >> 3 & 3);
}

static inline int grid_place_z(uint64_t cell)
{
  return (int)(cell & 7);
}

/* Indices of a cell. */
static inline void grid_key_index(uint64_t cell, int32_t index[3])
{
  grid_block_index(grid_key_block(cell), index);
  index[0] = index[0] * BLOCK_X + grid_place_x(cell);
  index[1] = index[1] * BLOCK_Y + grid_place_y(cell);
  index[2] = index[2] * BLOCK_Z + grid_place_z(cell);
}

static inline int32_t grid_key_layer(uint64_t cell)
{
  return (int32_t)(cell >> (KEY_PLACE_BITS + KEY_Y_BITS + KEY_Z_BITS));
}

/* Layers of blocks that hold the cells of a domain. */
static inline int32_t grid_layers(const struct grid_geometry *geometry)
{
  return (int32_t)(geometry->cells[0] / BLOCK_X + 1);
}

/* World position of a node. */
static inline void grid_node_position(const struct grid_geometry *geometry, int64_t plane, int64_t y,
                                      int64_t z, double x[3])
{
  const int64_t index[3] = {plane, y, z};
  for (int a = 0; a < 3; a++)
    x[geometry->axis[a]] = geometry->lower[a] + geometry->spacing * (double)(index[a] - 1);
}

/* Of node k of a tile. */
static inline void grid_tile_node(const struct grid *grid, int32_t tile, int k, double x[3])
{
  int32_t brick[3];
  grid_block_index(grid->brick_key[tile / BRICK_TILES], brick);
  grid_node_position(&grid->geometry, (int64_t)brick[0] * BLOCK_X + tile % BRICK_TILES,
                     (int64_t)brick[1] * TILE_Y + k / TILE_Z, (int64_t)brick[2] * TILE_Z + k % TILE_Z, x);
}

/* Middle of a tile, and the radius of a ball around it that holds all its nodes. */
static inline double grid_tile_ball(const struct grid *grid, int32_t tile, double center[3])
{
  double low[3], high[3], square = 0.0;
  grid_tile_node(grid, tile, 0, low);
  grid_tile_node(grid, tile, TILE_NODES - 1, high);
  for (int d = 0; d < 3; d++) {
    center[d] = 0.5 * (low[d] + high[d]);
    square += 0.25 * (high[d] - low[d]) * (high[d] - low[d]);
  }
  return 1.001 * __builtin_sqrt(square);
}

/* Base of a position on one grid axis. The kernels compute the same expression lane by lane. */
int64_t grid_base(const struct grid_geometry *geometry, int axis, double x);

/* As grid_base(), of a position inside the domain, where bases are not negative. */
static inline uint64_t grid_base_inside(const struct grid_geometry *geometry, int axis, double x)
{
  const double u = (x - geometry->lower[axis]) * geometry->inverse;
  return (uint64_t)(int64_t)(geometry->support == 4 ? u : u + 0.5);
}

/* Key of a position (m, world axes) inside the domain. */
static inline uint64_t grid_key_inside(const struct grid_geometry *geometry, const double x[3])
{
  int64_t base[3];
  for (int a = 0; a < 3; a++) base[a] = (int64_t)grid_base_inside(geometry, a, x[geometry->axis[a]]);
  return grid_key(base[0], base[1], base[2]);
}

/* Key of a position (m, world axes); UINT64_MAX outside the domain or not finite. */
uint64_t grid_key_of(const struct grid_geometry *geometry, const double x[3]);

struct grid *grid_create(const struct grid_geometry *geometry);
void grid_destroy(struct grid **grid);

/* Cells that have particles, in order of their keys; particles [start[c], start[c + 1]) are in the c-th. */
struct grid_cells {
  int32_t count;
  const uint64_t *key;  /* [count] */
  const int32_t *start; /* [count + 1] */
};

/* First half of the rebuild: the blocks, all within layers [first, first + layers). */
void grid_collect(struct grid *grid, int32_t first, int32_t layers, const struct grid_cells *cells);

/* Sorted keys of the bricks of one layer (of layers + 1) as this rank alone would have them, merged with
 * `extra` (sorted, may be empty). Returns the count; `out` must hold it (out NULL: only count). */
int32_t grid_layer_bricks(const struct grid *grid, int32_t layer, const uint64_t *extra, int32_t extra_count,
                          uint64_t *out);

/* Second half: numbers the bricks. extra: the neighbours' bricks of the first layer, and of the last. */
struct grid_extra {
  const uint64_t *keys;
  int32_t count;
};
void grid_number(struct grid *grid, bool has_left, bool has_right, const struct grid_extra extra[2]);

/* A set of the blocks that some cells are in, keys rising; bricks that the grid does not have are left out.
 * After grid_number(). */
void block_set_collect(struct block_set *set, const struct grid *grid, const uint64_t *cells, int32_t count);
void block_set_free(struct block_set *set);

/* The cell with this key, the block with this one, or the brick; -1: it has no particles, or no block reaches
 * it. */
int32_t grid_find_cell(const struct grid *grid, uint64_t key);
int32_t block_set_find(const struct block_set *set, uint64_t key);
int32_t grid_find_brick(const struct grid *grid, uint64_t key);

/* Zeroes a field over all active tiles, and makes it on first use. grid_make(): only that. */
void grid_make(struct grid *grid, enum node_field field);
void grid_clear(struct grid *grid, enum node_field field);

/* Whether everything above holds together: cells, blocks and bricks sorted without repeats, every index where
 * it should point. After grid_number(). */
bool grid_is_valid(const struct grid *grid);

/* Whether stencils of this block touch bricks that another rank has too. */
static inline bool grid_block_is_shared(const struct grid *grid, int32_t block)
{
  return block < grid->blocks.inside[0] || block >= grid->blocks.inside[1];
}

/* Tiles [0, this) count in sums over all ranks; the others are counted by the right neighbour. */
static inline int32_t grid_owned_tiles(const struct grid *grid)
{
  return BRICK_TILES * grid->layer_brick[grid->has_right ? grid->layers : grid->layers + 1];
}

#endif
