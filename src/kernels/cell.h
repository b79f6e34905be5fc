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

/* Where a cell's nodes are: `foot` are its four tiles by (dy, dz) in the list `tiles` of its plane, of
 * MAX_SUPPORT node planes each; a tile of -1 is not there. */
struct cell_place {
  const int32_t *foot, *tiles;
  int32_t y, z;
};

static inline struct cell_place cell_place(const struct grid *g, int32_t plane, int32_t cell)
{
  return (struct cell_place){&g->block_foot[4 * g->cell_block[cell]],
                             g->foot_tile + (int64_t)g->plane_foot[plane] * MAX_SUPPORT, g->cell_y[cell],
                             g->cell_z[cell]};
}

/* The two parts of a z row of four nodes: `first` of them in the tile (dy, 0) from node z on, the others from
 * the beginning of (dy, 1). */
struct cell_row {
  int32_t foot[2];
  int first, row, z; /* nodes in the first part; row of the tile; first node there */
};

static inline struct cell_row cell_row(const struct cell_place *place, int b)
{
  const int dy = (place->y % TILE_Y + b) / TILE_Y, z = place->z % TILE_Z;
  return (struct cell_row){.foot = {place->foot[2 * dy], place->foot[2 * dy + 1]},
                           .first = z > TILE_Z - 4 ? TILE_Z - z : 4,
                           .row = (place->y + b) % TILE_Y,
                           .z = z};
}

/* Copies all four channels of the cell's nodes: nodes[16 (4 a + b) + 4 c + channel]. */
static inline void cell_load(const struct cell_place *place, const double *field, double nodes[256])
{
  for (int b = 0; b < 4; b++) {
    const struct cell_row row = cell_row(place, b);
    for (int a = 0; a < 4; a++) {
      double *to = nodes + 16 * (4 * a + b);
      for (int part = 0, at = 0; part < 2; part++) {
        const int count = part == 0 ? row.first : 4 - row.first, z = part == 0 ? row.z : 0;
        if (count == 0) break;
        const int64_t tile = row.foot[part] < 0 ? -1 : place->tiles[row.foot[part] * MAX_SUPPORT + a];
        if (tile < 0)
          memset(to + 4 * at, 0, (size_t)count * 4 * sizeof(double));
        else
          memcpy(to + 4 * at, field + tile * TILE_DOUBLES + (row.row * TILE_Z + z) * 4,
                 (size_t)count * 4 * sizeof(double));
        at += count;
      }
    }
  }
}

/* Adds scale * nodes to the plane's tiles q, which lie as scatter_plane_end() wants them. */
static inline void cell_add(const struct cell_place *place, int32_t foot_count, double scale,
                            const double nodes[256], double *q)
{
  const v4 s = v4_set(scale);
  for (int b = 0; b < 4; b++) {
    const struct cell_row row = cell_row(place, b);
    for (int a = 0; a < 4; a++)
      for (int c = 0; c < 4; c++) {
        const int part = c >= row.first, z = part ? c - row.first : row.z + c;
        if (row.foot[part] < 0) continue;
        double *to =
            q + ((int64_t)a * foot_count + row.foot[part]) * TILE_DOUBLES + (row.row * TILE_Z + z) * 4;
        v4_store(to, v4_fma(s, v4_load(nodes + 16 * (4 * a + b) + 4 * c), v4_load(to)));
      }
  }
}

/* The same of one channel: nodes[4 (4 a + b) + c]. */
static inline void cell_load_channel(const struct cell_place *place, const double *field, int channel,
                                     double nodes[64])
{
  for (int b = 0; b < 4; b++) {
    const struct cell_row row = cell_row(place, b);
    for (int a = 0; a < 4; a++)
      for (int c = 0; c < 4; c++) {
        const int part = c >= row.first, z = part ? c - row.first : row.z + c;
        const int64_t tile = row.foot[part] < 0 ? -1 : place->tiles[row.foot[part] * MAX_SUPPORT + a];
        nodes[4 * (4 * a + b) + c] =
            tile < 0 ? 0.0 : field[tile * TILE_DOUBLES + (row.row * TILE_Z + z) * 4 + channel];
      }
  }
}

static inline void cell_add_channel(const struct cell_place *place, int32_t foot_count, int channel,
                                    const double nodes[64], double *q)
{
  for (int b = 0; b < 4; b++) {
    const struct cell_row row = cell_row(place, b);
    for (int a = 0; a < 4; a++)
      for (int c = 0; c < 4; c++) {
        const int part = c >= row.first, z = part ? c - row.first : row.z + c;
        if (row.foot[part] < 0) continue;
        q[((int64_t)a * foot_count + row.foot[part]) * TILE_DOUBLES + (row.row * TILE_Z + z) * 4 + channel] +=
            nodes[4 * (4 * a + b) + c];
      }
  }
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
