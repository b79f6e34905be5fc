/* The grid: node planes of small tiles, present only where there is snow.
 *
 * Indices. Grid axis 0 is the slab axis (any world axis, see `axis`), 1 and 2 the others. A particle's *base*
 * is the first node of its stencil on each axis; it has weight on nodes base .. base + support - 1. Node n
 * stands at lower + h (n - 1): the first node lies one cell outside the domain, so bases and nodes start at 0
 * and a stencil always exists. "Cell" means all particles of one base, and particles are ordered by (cell,
 * id).
 *
 * Storage. A node plane (fixed axis-0 index) is a sorted list of active tiles, 4 x 8 nodes on axes 1 and 2,
 * anchored at index 0. Tiles of a plane are contiguous in memory, so a shared plane is sent as it lies. Every
 * node has fields of four doubles that one kernel touches together; channel 0 is a scalar, channels 1..3 a
 * vector in world axes.
 *
 * Everything is rebuilt each step from the sorted particles in arrays that are reused: no allocation once
 * sizes have settled, and cost and memory follow the snow, never the box. */
#ifndef FIRN_GRID_H
#define FIRN_GRID_H

#include <stdbool.h>
#include <stdint.h>

enum {
  TILE_Y = 4,
  TILE_Z = 8,
  TILE_NODES = TILE_Y * TILE_Z,
  TILE_DOUBLES = TILE_NODES * 4,
  MAX_SUPPORT = 4,
  GRID_INDEX_BITS = 21, /* of one axis in a cell key */
  MAX_CHUNKS = 128,
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

struct grid {
  struct grid_geometry geometry;

  /* Cells of this rank: bases [first, first + planes) on axis 0. */
  int32_t first, planes;
  int32_t *plane_cell; /* [planes + 1] cells of a plane */
  int32_t cell_count, cell_capacity;
  int32_t *cell_start; /* [cell_count + 1] first particle */
  int32_t *cell_y, *cell_z, *cell_block;
  int32_t largest_cell; /* particles in the fullest one */

  /* Blocks: the cells of a plane that share a tile; for each, which footprint entries its stencils reach. */
  int32_t block_count, block_capacity;
  int32_t *block_foot; /* [4 block_count] by (dy, dz), -1 where not reached */
  int32_t *block_y, *block_z;

  /* Footprint of a cell plane: the (y, z) tiles its stencils touch, the same on each of its `support` node
   * planes. */
  int32_t *plane_foot; /* [planes + 1] */
  int32_t foot_count, foot_capacity;
  uint64_t *foot_key;
  int32_t
      *foot_tile; /* [support foot_count]: tile of entry f on the a-th node plane is [f * MAX_SUPPORT + a] */
  int32_t largest_footprint; /* entries in the largest one */

  /* Node planes [first, first + node_planes), node_planes = planes + support - 1. */
  int32_t node_planes;
  int32_t *plane_tile; /* [node_planes + 1] */
  int32_t tile_count, tile_capacity;
  uint64_t *tile_key;
  double *node[NODE_FIELDS]; /* [TILE_DOUBLES tile_count] each; NULL until first wanted */

  /* Chunks of the cell planes, one a thread (see crew.h): planes [chunk[c], chunk[c + 1]). The first planes
   * of a chunk keep their contributions to the nodes shared with what lies left of it apart: of chunk 0 for
   * the left neighbour (halo.h), of the others for grid_join(). */
  bool has_left, has_right;
  bool edge_apart; /* the last chunk is what the right neighbour waits for, so that it may be done first */
  int threads;     /* that work on it: the whole crew, or one */
  int chunk_count;
  int32_t chunk[MAX_CHUNKS + 1];
  double *apart[MAX_CHUNKS][NODE_FIELDS]; /* of fields that are sums over particles; NULL until wanted */
  int64_t apart_capacity[MAX_CHUNKS];

  int32_t *stamp; /* scratch of the build */
  int64_t stamp_capacity;
  uint64_t *keys;
  int64_t key_capacity;
};

/* Cell key: sorts as (plane, y, z). */
static inline uint64_t grid_key(int64_t plane, int64_t y, int64_t z)
{
  return (uint64_t)plane << 2 * GRID_INDEX_BITS | (uint64_t)y << GRID_INDEX_BITS | (uint64_t)z;
}

static inline int32_t grid_key_plane(uint64_t key)
{
  return (int32_t)(key >> 2 * GRID_INDEX_BITS);
}

static inline uint64_t grid_tile_key(int64_t tile_y, int64_t tile_z)
{
  return (uint64_t)tile_y << 32 | (uint64_t)tile_z;
}

static inline uint64_t grid_cell_key(const struct grid *grid, int32_t plane, int32_t cell)
{
  return grid_key(grid->first + plane, grid->cell_y[cell], grid->cell_z[cell]);
}

/* World position of a node. */
static inline void grid_node_position(const struct grid_geometry *geometry, int64_t plane, int64_t y,
                                      int64_t z, double x[3])
{
  const int64_t index[3] = {plane, y, z};
  for (int a = 0; a < 3; a++)
    x[geometry->axis[a]] = geometry->lower[a] + geometry->spacing * (double)(index[a] - 1);
}

/* Of node k of a tile on node plane `plane` of this rank. */
static inline void grid_tile_node(const struct grid *grid, int32_t plane, int32_t tile, int k, double x[3])
{
  const int64_t ty = (int64_t)(grid->tile_key[tile] >> 32),
                tz = (int64_t)(grid->tile_key[tile] & 0xffffffffu);
  grid_node_position(&grid->geometry, grid->first + plane, ty * TILE_Y + k / TILE_Z, tz * TILE_Z + k % TILE_Z,
                     x);
}

/* Middle of a tile, and the radius of a ball around it that holds all its nodes. */
static inline double grid_tile_ball(const struct grid *grid, int32_t plane, int32_t tile, double center[3])
{
  double low[3], high[3], square = 0.0;
  grid_tile_node(grid, plane, tile, 0, low);
  grid_tile_node(grid, plane, tile, TILE_NODES - 1, high);
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
  uint64_t key = 0;
  for (int a = 0; a < 3; a++)
    key = key << GRID_INDEX_BITS | grid_base_inside(geometry, a, x[geometry->axis[a]]);
  return key;
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

/* First half of the rebuild: blocks and footprints from the cells, all within [first, first + planes). */
void grid_collect(struct grid *grid, int32_t first, int32_t planes, const struct grid_cells *cells);

/* Sorted tile keys of one node plane as this rank alone would have them, merged with `extra` (sorted, may be
 * empty). Returns the count; `out` must hold it (out NULL: only count). */
int32_t grid_plane_tiles(const struct grid *grid, int32_t plane, const uint64_t *extra, int32_t extra_count,
                         uint64_t *out);

/* Second half: numbers the tiles. extra[k] are the neighbours' tiles on shared plane k: of the left cut first
 * (support - 1 planes from `first`), then of the right cut (support - 1 planes from first + planes). */
struct grid_extra {
  const uint64_t *keys;
  int32_t count;
};
void grid_number(struct grid *grid, bool has_left, bool has_right,
                 const struct grid_extra extra[2 * (MAX_SUPPORT - 1)]);

/* Between the halves: cuts the planes into chunks of at least support - 1 planes (by default there is one).
 * cut[count + 1] from 0 to planes. */
void grid_chunks(struct grid *grid, int count, const int32_t *cut);

/* Zeroes a field over all active tiles, and makes it on first use. grid_clear_sum(): of a field that is a sum
 * over particles, with the parts that are kept apart. */
void grid_clear(struct grid *grid, enum node_field field);
void grid_clear_sum(struct grid *grid, enum node_field field);

/* Where cell plane `first + j` adds its part for node plane `first + j + a`: tile t at result + t *
 * TILE_DOUBLES. */
double *grid_target(const struct grid *grid, enum node_field field, int j, int a);

/* The parts that belong to a cut: those of the cell planes right of it for the shared planes, which start at
 * node plane `shared`. Offset (doubles) of the part of cell plane j for shared plane j + a; (support - 1, 0)
 * gives the size of all. */
int64_t grid_apart_offset(const struct grid *grid, int32_t shared, int j, int a);

/* Adds such parts to the shared planes, in order. */
void grid_add_apart(struct grid *grid, enum node_field field, int32_t shared, const double *apart);

/* Adds the parts that chunks kept apart from the chunk before; after it only the left neighbour's are still
 * apart. */
void grid_join(struct grid *grid, enum node_field field);

/* Whether everything above holds together: cells, footprints and tiles sorted without repeats, every index
 * where it should point, chunks that cover the planes. After grid_number(). */
bool grid_is_valid(const struct grid *grid);

/* Whether stencils of this cell plane touch node planes that another rank has too. */
static inline bool grid_plane_is_shared(const struct grid *grid, int32_t plane)
{
  const int shared = grid->geometry.support - 1;
  return (grid->has_left && plane < shared) || (grid->has_right && plane >= grid->planes - shared);
}

static inline int32_t grid_plane_tile_count(const struct grid *grid, int32_t node_plane)
{
  return grid->plane_tile[node_plane + 1] - grid->plane_tile[node_plane];
}

#endif
