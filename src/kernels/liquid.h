/* The cells that liquid fills, and what each pushes its nodes with (docs/method.md, liquid).
 *
 * A liquid cell has one pressure. Its divergence is a sum over its 64 nodes, d . v, and its force on them is
 * the transpose, d p: one table of d a cell. Cells full of liquid and away from bodies share one table.
 * The list is made anew each step, in the order of cells. Its blocks are a set of their own: a rim cell may
 * lie in a block without particles. */
#ifndef FIRN_KERNELS_LIQUID_H
#define FIRN_KERNELS_LIQUID_H

#include "grid/grid.h"

#include <stdbool.h>
#include <stdint.h>

enum { LIQUID_TABLE = 256 }; /* doubles: of each node a scalar s and a vector b, and then 0 and d */

struct liquid_cell {
  uint64_t key;
  int32_t cell;   /* of the grid; -1: a rim cell, too thin for a particle */
  int64_t table;  /* among the tables; -1: the common one */
  bool full;      /* liquid all around: sums are over points of a lattice, else over its liquid particles */
  bool behind;    /* behind a wall: its particles keep their J, and it neither pushes nor is pushed */
  bool active;    /* it pushes */
  double volume;  /* V_c, m^3 */
  double j;       /* J_c: volume over that at rest */
  double j_fixed; /* Jt_c: J' = j_fixed + dt j (D v) / volume */
  double j_next;  /* J' of the velocities that liquid_divergence last saw */
  double stiffness, pressure;
  double share[8]; /* m^3 at the lattice points, of full cells with a table */
};

struct liquid {
  struct liquid_cell *cell;
  int32_t count;
  int64_t capacity;
  int32_t *of_cell; /* of each grid cell, its place in the list; -1: it has no liquid */
  int64_t of_cell_capacity;
  struct block_set blocks;
  uint64_t *keys; /* of the cells, to make the set */
  int64_t key_capacity;

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
