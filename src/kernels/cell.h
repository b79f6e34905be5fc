/* The 4 x 4 x 4 nodes of one cell of the cubic kernel, as a block of their own: for kernels whose unit is the
 * cell. Also registers of four doubles, one z row of such a block, on every instruction set. */
#ifndef FIRN_KERNELS_CELL_H
#define FIRN_KERNELS_CELL_H

#include "kernels/stencil.h"

typedef double v4 __attribute__((vector_size(4 * sizeof(double))));
typedef double v4_unaligned __attribute__((vector_size(4 * sizeof(double)), aligned(8), may_alias));

static inline v4 v4_set(double a)
{
  return (v4){a, a, a, a};
}

static inline v4 v4_load(const double *p)
{
  return *(const v4_unaligned *)p;
}

static inline void v4_store(double *p, v4 a)
{
  *(v4_unaligned *)p = a;
}

static inline v4 v4_fma(v4 a, v4 b, v4 c)
{
#if defined __FMA__
  return (v4)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}

static inline double v4_sum(v4 a)
{
  return (a[0] + a[1]) + (a[2] + a[3]);
}

/* Where a cell's nodes are: in the eight bricks of its block, from this place on. */
struct cell_place {
  const int32_t *brick;
  int x, y, z;
};

static inline struct cell_place cell_place(const struct block_set *set, int32_t block, uint64_t cell)
{
  return (struct cell_place){set->brick + 8 * (int64_t)block, grid_place_x(cell), grid_place_y(cell),
                             grid_place_z(cell)};
}

/* The z row of four nodes (a, b) of a cell has two parts: `first` nodes in one brick from node z on, the
 * others from the beginning of the next. Places of the rows in a field; -1: the brick is not there. */
struct cell_row {
  int64_t at[2];
  int first;
};

static inline struct cell_row cell_row(const struct cell_place *place, int a, int b)
{
  const int x = place->x + a, y = place->y + b,
            in_brick = x % BLOCK_X * TILE_DOUBLES + y % BLOCK_Y * TILE_Z * 4;
  const int32_t *brick = place->brick + x / BLOCK_X * 4 + y / BLOCK_Y * 2;
  return (struct cell_row){
      .at = {brick[0] < 0 ? -1 : (int64_t)brick[0] * BRICK_DOUBLES + in_brick + 4 * place->z,
             brick[1] < 0 ? -1 : (int64_t)brick[1] * BRICK_DOUBLES + in_brick},
      .first = place->z > BLOCK_Z - 4 ? BLOCK_Z - place->z : 4};
}

/* Copies all four channels of the cell's nodes: nodes[16 (4 a + b) + 4 c + channel]. */
static inline void cell_load(const struct cell_place *place, const double *field, double nodes[256])
{
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++) {
      const struct cell_row row = cell_row(place, a, b);
      double *to = nodes + 16 * (4 * a + b);
      for (int part = 0, at = 0; part < 2; part++) {
        const int count = part == 0 ? row.first : 4 - row.first;
        if (count == 0) break;
        if (row.at[part] < 0)
          memset(to + 4 * at, 0, (size_t)count * 4 * sizeof(double));
        else
          memcpy(to + 4 * at, field + row.at[part], (size_t)count * 4 * sizeof(double));
        at += count;
      }
    }
}

/* Where a cell's nodes begin in a part of PART_NODES. */
static inline double *cell_corner(const struct cell_place *place, double *part)
{
  return part + place->x * NODES_X + place->y * NODES_Y + 4 * place->z;
}

/* Adds scale * nodes to a part of PART_NODES. */
static inline void cell_add(const struct cell_place *place, double scale, const double nodes[256],
                            double *part)
{
  const v4 s = v4_set(scale);
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++) {
      double *to = cell_corner(place, part) + a * NODES_X + b * NODES_Y;
      for (int c = 0; c < 4; c++)
        v4_store(to + 4 * c, v4_fma(s, v4_load(nodes + 16 * (4 * a + b) + 4 * c), v4_load(to + 4 * c)));
    }
}

/* The same of one channel: nodes[4 (4 a + b) + c]. */
static inline void cell_load_channel(const struct cell_place *place, const double *field, int channel,
                                     double nodes[64])
{
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++) {
      const struct cell_row row = cell_row(place, a, b);
      for (int c = 0; c < 4; c++) {
        const int part = c >= row.first, z = part ? c - row.first : c;
        nodes[4 * (4 * a + b) + c] = row.at[part] < 0 ? 0.0 : field[row.at[part] + 4 * z + channel];
      }
    }
}

static inline void cell_add_channel(const struct cell_place *place, int channel, const double nodes[64],
                                    double *part)
{
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++)
      for (int c = 0; c < 4; c++)
        cell_corner(place, part)[a * NODES_X + b * NODES_Y + 4 * c + channel] += nodes[4 * (4 * a + b) + c];
}

/* A part of PART_NODES before anything is added. */
static inline void cell_clear(double *part)
{
  vd_clear(part, PART_X * NODES_X);
}

/* Weights of a particle or point on one axis: of its four nodes, then their derivatives. */
struct cell_weights {
  double x[8], y[8], z[8];
};

static inline struct cell_weights cell_weights(const struct records *rec, uint32_t i)
{
  struct cell_weights w;
  const double *at = record_weight(rec, i);
  for (int k = 0; k < 8; k++) {
    w.x[k] = at[WEIGHT_X + k * LANES];
    w.y[k] = at[WEIGHT_Y + k * LANES];
    w.z[k] = at[WEIGHT_Z + k * LANES];
  }
  return w;
}

/* All four channels at a particle. */
static inline v4 cell_value(const struct cell_weights *w, const double nodes[256])
{
  v4 value = v4_set(0.0);
  for (int a = 0; a < 4; a++) {
    v4 sheet = v4_set(0.0);
    for (int b = 0; b < 4; b++) {
      const double *row = nodes + 16 * (4 * a + b);
      v4 line = v4_set(w->z[0]) * v4_load(row);
      for (int c = 1; c < 4; c++) line = v4_fma(v4_set(w->z[c]), v4_load(row + 4 * c), line);
      sheet = v4_fma(v4_set(w->y[b]), line, sheet);
    }
    value = v4_fma(v4_set(w->x[a]), sheet, value);
  }
  return value;
}

#endif
