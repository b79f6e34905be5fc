/* The cells that liquid fills, and what each pushes its nodes with (docs/method.md, liquid).
 *
 * A liquid cell has one pressure. Its divergence is a sum over its 64 nodes, d . v, and its force on them is
 * the transpose, d p: one table of d a cell. Cells full of liquid and away from bodies share one table.
 * The list is made anew each step, in order of the planes, and in a plane by (y, z). */
#ifndef FIRN_KERNELS_LIQUID_H
#define FIRN_KERNELS_LIQUID_H

#include "grid/grid.h"

#include <stdbool.h>
#include <stdint.h>

enum { LIQUID_TABLE = 256 }; /* doubles: of each node a scalar s and a vector b, and then 0 and d */

struct liquid_cell {
  int32_t y, z;
  int32_t cell;    /* of the grid; -1: a rim cell, too thin for a particle */
  int32_t foot[4]; /* by (dy, dz) in the tiles of its plane; -1 where it reaches none */
  int64_t table;   /* among the tables; -1: the common one */
  bool full;       /* liquid all around: sums are over points of a lattice, else over its liquid particles */
  bool behind;     /* behind a wall: its particles keep their J, and it neither pushes nor is pushed */
  bool active;     /* it pushes */
  double volume;   /* V_c, m^3 */
  double j;        /* J_c: volume over that at rest */
  double j_fixed;  /* Jt_c: J' = j_fixed + dt j (D v) / volume */
  double j_next;   /* J' of the velocities that liquid_divergence last saw */
  double stiffness, pressure;
  double share[8]; /* m^3 at the lattice points, of full cells with a table */
  int32_t plane;
};

struct liquid {
  int32_t *plane_first; /* [planes + 1] cells of a plane */
  struct liquid_cell *cell;
  int32_t count;
  int64_t capacity;
  int32_t *of_cell; /* of each grid cell, its place in the list; -1: it has no liquid */
  int64_t of_cell_capacity;

  /* Tiles that the cells of a plane reach; the same on each of its node planes, where they are there. */
  int32_t *plane_foot; /* [planes + 1], behind plane_first in memory */
  uint64_t *foot_key;
  int32_t *foot_tile; /* [MAX_SUPPORT foot_count] */
  int32_t foot_count, largest_footprint;
  int64_t foot_capacity, tile_capacity, plane_capacity;

  double *table; /* [LIQUID_TABLE table_count] */
  int64_t table_count, table_capacity;
  /* Where bodies are measured, of each table what they bear: s of its nodes, and b of those that no particle
   * reaches. NULL else. */
  bool bears;
  double *borne; /* [LIQUID_TABLE table_count] */
  int64_t borne_capacity;
  double common[LIQUID_TABLE], common_push[LIQUID_TABLE]; /* (s, b) and (0, b) of a full cell */
};

#endif
