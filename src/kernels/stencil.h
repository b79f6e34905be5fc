/* The transfer stencil: weights, and the scatter and gather of one cell.
 *
 * All particles of a cell share their 4 x 4 x 4 nodes (3 x 3 x 3 quadratic). A scatter takes one node plane
 * of the cell at a time: its 4 x 4 nodes of four channels are eight registers of AVX-512, all particles of
 * the cell are added to them in id order from +0.0, and only then do they meet memory. A vector register
 * holds two z-neighbours of four channels each.
 *
 * The sum over cells has one fixed shape (docs/architecture.md): cells of a row in z order into `span`, the
 * row's buffer; rows of a plane in y order into the plane's own tiles `q`; planes in x order into the grid.
 * So neither ranks nor threads can change a bit. */
#ifndef FIRN_KERNELS_STENCIL_H
#define FIRN_KERNELS_STENCIL_H

#include "kernels.h"
#include "kernels/stencil_sizes.h"

#define KERNEL_JOIN(name, isa) name##_##isa
#define KERNEL_NAME(name, isa) KERNEL_JOIN(name, isa)
#define KERNEL(name)           KERNEL_NAME(name, FIRN_ISA)
#define ALWAYS_INLINE          static inline __attribute__((always_inline))

/* The parts of the table in table.c, each in its own file. */
void KERNEL(p2g)(struct transfer *t, struct workspace *w, int32_t plane);
void KERNEL(p2g_mass)(struct transfer *t, struct workspace *w, int32_t plane);
void KERNEL(estimate_volume)(struct transfer *t, struct workspace *w, int32_t plane);
void KERNEL(g2p)(struct transfer *t, struct workspace *w, int32_t plane, struct step_result *result);
void KERNEL(hessian)(struct transfer *t, struct workspace *w, int32_t plane, enum grid_group in,
                     enum grid_group out);
void KERNEL(velocity)(struct transfer *t, int32_t begin, int32_t end);
void KERNEL(cr_product)(struct grid *g, double factor, int32_t begin, int32_t end, struct exact_sum dots[4]);
void KERNEL(cr_residual)(struct grid *g, double factor, int32_t begin, int32_t end, struct exact_sum *norm);
void KERNEL(cr_update)(struct grid *g, double a, double b, int32_t begin, int32_t end);
void KERNEL(bare_p2g)(struct bare *bare);
void KERNEL(bare_g2p)(struct bare *bare);

/* One particle as the transfers read it. */
struct record {
  v8 x;     /* weights of the four x nodes, then their derivatives */
  v8 y;     /* likewise */
  v8 z[4];  /* z weights of nodes 0,1 and 2,3, each spread over four channels; then their derivatives */
  v8 value; /* four channels of the particle's value, then of its x coefficient */
  v8 slope; /* y and z coefficients */
};
_Static_assert(sizeof(struct record) == RECORD_BYTES, "workspace and kernels disagree");

enum { RECORD_X = 0, RECORD_Y = 8, RECORD_VALUE = 48, RECORD_TX = 52, RECORD_TY = 56, RECORD_TZ = 60 };

/* Eight particles in order and where they stand. G2P leaves the new state in the old order, so most are
 * neighbours still, and where all eight are a plain load does. Lanes behind the last particle repeat it. */
struct batch {
  i8 slot, home;
  int count; /* lanes that are particles */
  bool dense;
};

static inline struct batch batch_at(const struct transfer *t, int32_t s, int32_t left)
{
  struct batch batch = {.count = left < LANES ? left : LANES};
  if (left >= LANES) {
    memcpy(&batch.slot, t->slot + s, sizeof batch.slot);
    memcpy(&batch.home, t->home + s, sizeof batch.home);
  } else {
    for (int l = 0; l < LANES; l++) {
      const int32_t k = s + (l < left ? l : left - 1);
      batch.slot[l] = t->slot[k];
      batch.home[l] = t->home[k];
    }
  }
  batch.dense = i8_is_run(batch.slot);
  return batch;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion" /* the intrinsic's own macro, without optimisation */
#pragma GCC diagnostic ignored "-Wsign-conversion"
static inline v8 batch_gather(const double *array, i8 index)
{
#if defined __AVX512F__
  return (v8)_mm512_i32gather_pd((__m256i)index, array, 8);
#else
  v8 a;
  for (int l = 0; l < LANES; l++) a[l] = array[index[l]];
  return a;
#endif
}
#pragma GCC diagnostic pop

/* State of the eight. */
static inline v8 batch_load(const double *array, const struct batch *batch)
{
  return batch->dense ? v8_load(array + batch->slot[0]) : batch_gather(array, batch->slot);
}

/* What never changes. */
static inline v8 batch_constant(const double *array, const struct batch *batch)
{
  return batch_gather(array, batch->home);
}

static inline struct snow_lanes batch_material(const struct transfer *t, const struct batch *batch)
{
  uint32_t material[LANES] = {0};
  for (int l = 0; l < LANES && t->material_count > 1; l++) material[l] = t->p->material[batch->home[l]];
  return snow_gather(t->materials, material);
}

enum linear { GRADIENT, OFFSET }; /* what "derivative" of a weight means: dw/du, or w (x_i - x_p) / h */

/* Rounds down; |u| < 2^51. */
static inline v8 stencil_floor(v8 u)
{
  const v8 magic = v8_set(0x1.8p52);
  const v8 r = (u + magic) - magic;
  return v8_where_greater(r, u, r - v8_set(1.0), r);
}

/* Weights w[0..3] and derivatives w[4..7] of eight particles on one axis; u is the position in cells. The
 * outer branches stay factored: a weight near the edge of its support keeps full relative accuracy, so force
 * over mass of a nearly weightless node is no noise. */
ALWAYS_INLINE void stencil_weights(int support, enum linear linear, v8 u, v8 w[8])
{
  const v8 half = v8_set(0.5), one = v8_set(1.0), two = v8_set(2.0), sixth = v8_set(1.0 / 6.0);
  if (support == 4) {
    const v8 f = u - stencil_floor(u), g = one - f;
    const v8 f2 = f * f, g2 = g * g, two_thirds = v8_set(2.0 / 3.0);
    w[0] = g2 * g * sixth;
    w[1] = v8_fma(f2, v8_fma(half, f, -one), two_thirds);
    w[2] = v8_fma(g2, v8_fma(half, g, -one), two_thirds);
    w[3] = f2 * f * sixth;
    if (linear == GRADIENT) {
      w[4] = -half * g2;
      w[5] = f * v8_fma(v8_set(1.5), f, -two);
      w[6] = -g * v8_fma(v8_set(1.5), g, -two);
      w[7] = half * f2;
    } else {
      w[4] = w[0] * (-one - f);
      w[5] = w[1] * -f;
      w[6] = w[2] * g;
      w[7] = w[3] * (two - f);
    }
  } else {
    const v8 f = u - stencil_floor(u + half); /* -1/2 .. 1/2 from the middle node */
    const v8 low = half - f, high = half + f;
    w[0] = half * low * low;
    w[1] = v8_fma(-f, f, v8_set(0.75));
    w[2] = half * high * high;
    w[3] = v8_set(0.0);
    if (linear == GRADIENT) {
      w[4] = -low;
      w[5] = -two * f;
      w[6] = high;
    } else {
      w[4] = w[0] * (-one - f);
      w[5] = w[1] * -f;
      w[6] = w[2] * (one - f);
    }
    w[7] = v8_set(0.0);
  }
}

static inline v8 stencil_position(const struct grid_frame *frame, v8 x, int a)
{
  return (x - v8_set(frame->lower[a])) * v8_set(frame->inverse);
}

/* What a derivative of a weight must be multiplied with: 1/h, or D^-1 h with D = h^2/3 (cubic), h^2/4
 * (quadratic). */
static inline double stencil_scale(const struct grid_frame *frame, enum linear linear)
{
  if (linear == GRADIENT) return frame->inverse;
  return (frame->support == 4 ? 3.0 : 4.0) * frame->inverse;
}

/* Weights of eight particles at x (world axes) into their records. */
ALWAYS_INLINE void stencil_records(const struct transfer *t, const v8 x[3], enum linear linear,
                                   struct record *rec)
{
  const struct grid_frame *frame = &t->grid->frame;
  v8 w[8];
  for (int a = 0; a < 3; a++) {
    const v8 u = stencil_position(frame, x[frame->axis[a]], a);
    if (frame->support == 4)
      stencil_weights(4, linear, u, w);
    else
      stencil_weights(3, linear, u, w);
    v8_transpose(w);
    for (int l = 0; l < LANES; l++) {
      if (a == 0) rec[l].x = w[l];
      if (a == 1) rec[l].y = w[l];
      if (a == 2) {
        rec[l].z[0] = __builtin_shuffle(w[l], (m8){0, 0, 0, 0, 1, 1, 1, 1});
        rec[l].z[1] = __builtin_shuffle(w[l], (m8){2, 2, 2, 2, 3, 3, 3, 3});
        rec[l].z[2] = __builtin_shuffle(w[l], (m8){4, 4, 4, 4, 5, 5, 5, 5});
        rec[l].z[3] = __builtin_shuffle(w[l], (m8){6, 6, 6, 6, 7, 7, 7, 7});
      }
    }
  }
}

static inline void batch_positions(const struct transfer *t, const struct batch *batch, v8 x[3])
{
  for (int d = 0; d < 3; d++) x[d] = batch_load(t->p->x[d], batch);
}

/* Value (mass and vector) and coefficients of eight particles into their records. t[a][r]: coefficient of
 * grid axis a, world component r. */
ALWAYS_INLINE void stencil_values(struct record *rec, v8 scalar, const v8 vector[3], v8 coefficient[3][3])
{
  const v8 zero = v8_set(0.0);
  v8 a[8] = {scalar, vector[0],         vector[1],         vector[2],
             zero,   coefficient[0][0], coefficient[0][1], coefficient[0][2]};
  v8 b[8] = {zero, coefficient[1][0], coefficient[1][1], coefficient[1][2],
             zero, coefficient[2][0], coefficient[2][1], coefficient[2][2]};
  v8_transpose(a);
  v8_transpose(b);
  for (int l = 0; l < LANES; l++) {
    rec[l].value = a[l];
    rec[l].slope = b[l];
  }
}

/* --- runs: consecutive cells of one row in one tile
 * -------------------------------------------------------------- */

ALWAYS_INLINE int32_t stencil_run_end(const struct grid *g, int32_t c, int32_t end)
{
  const int32_t y = g->cell_y[c], block = g->cell_block[c];
  do c++;
  while (c < end && g->cell_y[c] == y && g->cell_block[c] == block);
  return c;
}

/* Whole runs from c on until a window is full. */
ALWAYS_INLINE int32_t stencil_window_end(const struct grid *g, int32_t c, int32_t end)
{
  const int32_t start = g->cell_start[c];
  do c = stencil_run_end(g, c, end);
  while (c < end && g->cell_start[c] - start < WINDOW_PARTICLES);
  return c;
}

/* --- scatter
 * ----------------------------------------------------------------------------------------------------- */

/* Row buffer: z nodes 8k .. 8k+11 of the 4 x 4 node rows that a run's cells touch. */
struct span {
  double node[MAX_SUPPORT * MAX_SUPPORT][SPAN_NODES][4] __attribute__((aligned(64)));
};
enum { SPAN_STRIDE1 = SPAN_NODES * 4, SPAN_STRIDE0 = MAX_SUPPORT * SPAN_STRIDE1 };

/* Starts a run: what the run before left on the nodes it shares with this one, or zero. */
static inline void span_begin(struct span *span, bool continued)
{
  if (!continued) {
    memset(span, 0, sizeof *span);
    return;
  }
  for (int r = 0; r < MAX_SUPPORT * MAX_SUPPORT; r++) {
    memcpy(span->node[r][0], span->node[r][TILE_Z], 4 * 4 * sizeof(double));
    memset(span->node[r][4], 0, (SPAN_NODES - 4) * 4 * sizeof(double));
  }
}

/* Adds the run's finished nodes to the plane's tiles, and the rest too when the next run does not continue
 * this one. */
ALWAYS_INLINE void span_flush(const struct span *span, const struct grid *g, int32_t cell, int32_t foot_count,
                              bool continued, double *q)
{
  const int support = g->frame.support;
  const int32_t y = g->cell_y[cell];
  const int32_t *foot = &g->block_foot[4 * g->cell_block[cell]];
  for (int a = 0; a < support; a++)
    for (int b = 0; b < support; b++) {
      const double(*node)[4] = span->node[MAX_SUPPORT * a + b];
      const int dy = (y % TILE_Y + b) / TILE_Y, row = (y + b) % TILE_Y;
      double *tile = q + ((int64_t)a * foot_count + foot[2 * dy]) * TILE_DOUBLES + row * TILE_Z * 4;
      for (int k = 0; k < TILE_Z; k += 2) v8_store(tile + 4 * k, v8_load(tile + 4 * k) + v8_load(node[k]));
      if (continued || foot[2 * dy + 1] < 0) continue;
      tile = q + ((int64_t)a * foot_count + foot[2 * dy + 1]) * TILE_DOUBLES + row * TILE_Z * 4;
      for (int k = 0; k < 4; k += 2)
        v8_store(tile + 4 * k, v8_load(tile + 4 * k) + v8_load(node[TILE_Z + k]));
    }
}

/* Adds n particles of one cell to its nodes: `corner` is the first, the strides (doubles) lead along axes 0
 * and 1. */
ALWAYS_INLINE void scatter_cell(const struct record *rec, int32_t n, double *corner, int64_t stride0,
                                int64_t stride1, int support, bool value, bool slope)
{
  for (int a = 0; a < support; a++)
    for (int part = 0; part < 16 / VN; part += 2) {
      vn sum[MAX_SUPPORT][2];
      for (int b = 0; b < support; b++) sum[b][0] = sum[b][1] = vn_set(0.0);
      for (int32_t i = 0; i < n; i++) {
        const double *r = (const double *)&rec[i], *z = (const double *)rec[i].z + VN * part;
        const vn wx = vn_set(r[RECORD_X + a]), dx = vn_set(r[RECORD_X + 4 + a]);
        vn base = vn_set(0.0), along_y = base, along_z = base;
        if (value) base = wx * vn_repeat(r + RECORD_VALUE);
        if (slope) {
          base = value ? vn_fma(dx, vn_repeat(r + RECORD_TX), base) : dx * vn_repeat(r + RECORD_TX);
          along_y = wx * vn_repeat(r + RECORD_TY);
          along_z = wx * vn_repeat(r + RECORD_TZ);
        }
        for (int h = 0; h < 2; h++) {
          const vn wz = vn_load(z + VN * h);
          vn here = base * wz;
          if (slope) here = vn_fma(along_z, vn_load(z + 16 + VN * h), here);
          const vn turned = along_y * wz;
          for (int b = 0; b < support; b++) {
            sum[b][h] = vn_fma(vn_set(r[RECORD_Y + b]), here, sum[b][h]);
            if (slope) sum[b][h] = vn_fma(vn_set(r[RECORD_Y + 4 + b]), turned, sum[b][h]);
          }
        }
      }
      for (int b = 0; b < support; b++) {
        double *node = corner + a * stride0 + b * stride1 + VN * part;
        vn_store(node, vn_load(node) + sum[b][0]);
        vn_store(node + VN, vn_load(node + VN) + sum[b][1]);
      }
    }
}

/* Adds a finished plane to the grid, or to the parts that a left neighbour wants apart. */
static inline void scatter_plane_end(struct grid *g, int32_t plane, enum grid_group group, const double *q)
{
  const int32_t first = g->plane_foot[plane], count = g->plane_foot[plane + 1] - first;
  for (int a = 0; a < g->frame.support; a++) {
    double *target = grid_target(g, group, plane, a);
    for (int32_t f = 0; f < count; f++) {
      double *tile = target + (int64_t)g->foot_tile[(first + f) * MAX_SUPPORT + a] * TILE_DOUBLES;
      const double *from = q + ((int64_t)a * count + f) * TILE_DOUBLES;
      for (int k = 0; k < TILE_DOUBLES; k += 8) v8_store(tile + k, v8_load(tile + k) + v8_load(from + k));
    }
  }
}

/* --- gather
 * ------------------------------------------------------------------------------------------------------ */

/* The 4 x 4 x 4 nodes of one cell, aligned. */
struct stencil_nodes {
  double node[MAX_SUPPORT * MAX_SUPPORT][4][4] __attribute__((aligned(64)));
};

/* Loads the nodes that a run's cells touch. Entries outside the footprint are not read by any of its cells
 * and become zero. */
ALWAYS_INLINE void span_load(struct span *span, const struct grid *g, int32_t plane, int32_t cell,
                             const double *group)
{
  const int support = g->frame.support;
  const int32_t y = g->cell_y[cell], first = g->plane_foot[plane];
  const int32_t *foot = &g->block_foot[4 * g->cell_block[cell]];
  for (int a = 0; a < support; a++)
    for (int b = 0; b < support; b++) {
      double(*node)[4] = span->node[MAX_SUPPORT * a + b];
      const int dy = (y % TILE_Y + b) / TILE_Y, row = (y + b) % TILE_Y;
      const int64_t tile = g->foot_tile[(first + foot[2 * dy]) * MAX_SUPPORT + a];
      memcpy(node[0], group + tile * TILE_DOUBLES + row * TILE_Z * 4, TILE_Z * 4 * sizeof(double));
      if (foot[2 * dy + 1] < 0) {
        memset(node[TILE_Z], 0, 4 * 4 * sizeof(double));
        continue;
      }
      const int64_t next = g->foot_tile[(first + foot[2 * dy + 1]) * MAX_SUPPORT + a];
      memcpy(node[TILE_Z], group + next * TILE_DOUBLES + row * TILE_Z * 4, 4 * 4 * sizeof(double));
    }
}

ALWAYS_INLINE void stencil_nodes_load(struct stencil_nodes *nodes, const double *corner, int64_t stride0,
                                      int64_t stride1, int support)
{
  for (int a = 0; a < support; a++)
    for (int b = 0; b < support; b++) {
      const double *from = corner + a * stride0 + b * stride1;
      const int r = MAX_SUPPORT * a + b;
      v8_store_aligned(nodes->node[r][0], v8_load(from));
      v8_store_aligned(nodes->node[r][2], v8_load(from + 8));
    }
}

/* Gathers for n particles: out[16 i ..] = value, and derivatives along grid axes 0, 1, 2, of four channels
 * each. With `other` the value comes from those nodes instead. */
ALWAYS_INLINE void gather_cell(const struct record *rec, int32_t n, const struct stencil_nodes *nodes,
                               const struct stencil_nodes *other, int support, double *out)
{
  for (int32_t i = 0; i < n; i++, out += GATHERED_DOUBLES) {
    const double *r = (const double *)&rec[i], *z = (const double *)rec[i].z;
    vn value = vn_set(0.0), gx = value, gy = value, gz = value;
    for (int a = 0; a < support; a++) {
      vn plane = vn_set(0.0), plane_y = plane, plane_z = plane, plane_value = plane;
      for (int b = 0; b < support; b++) {
        const double *node = nodes->node[MAX_SUPPORT * a + b][0];
        vn along = vn_load(node) * vn_load(z), slope = vn_load(node) * vn_load(z + 16);
        for (int k = VN; k < 16; k += VN) {
          along = vn_fma(vn_load(node + k), vn_load(z + k), along);
          slope = vn_fma(vn_load(node + k), vn_load(z + 16 + k), slope);
        }
        const vn wy = vn_set(r[RECORD_Y + b]);
        plane = vn_fma(wy, along, plane);
        plane_y = vn_fma(vn_set(r[RECORD_Y + 4 + b]), along, plane_y);
        plane_z = vn_fma(wy, slope, plane_z);
        if (other) {
          node = other->node[MAX_SUPPORT * a + b][0];
          along = vn_load(node) * vn_load(z);
          for (int k = VN; k < 16; k += VN) along = vn_fma(vn_load(node + k), vn_load(z + k), along);
          plane_value = vn_fma(wy, along, plane_value);
        }
      }
      const vn wx = vn_set(r[RECORD_X + a]);
      value = vn_fma(wx, other ? plane_value : plane, value);
      gy = vn_fma(wx, plane_y, gy);
      gz = vn_fma(wx, plane_z, gz);
      gx = vn_fma(vn_set(r[RECORD_X + 4 + a]), plane, gx);
    }
    vn_fold(value, out);
    vn_fold(gx, out + 4);
    vn_fold(gy, out + 8);
    vn_fold(gz, out + 12);
  }
}

/* Eight particles' gathered rows as lanes: channel c of part k (value, x, y, z derivative) is lanes[4 k + c].
 */
ALWAYS_INLINE void gathered_lanes(const double *out, v8 lanes[16])
{
  for (int l = 0; l < LANES; l++) {
    lanes[l] = v8_load(out + l * GATHERED_DOUBLES);
    lanes[8 + l] = v8_load(out + l * GATHERED_DOUBLES + 8);
  }
  v8_transpose(lanes);
  v8_transpose(lanes + 8);
}

/* The velocity gradient (world axes, row-major) from gathered lanes. */
ALWAYS_INLINE void gathered_gradient(const struct grid_frame *frame, const v8 lanes[16], double scale,
                                     v8 g[9])
{
  for (int a = 0; a < 3; a++)
    for (int r = 0; r < 3; r++) g[3 * r + frame->axis[a]] = lanes[4 * (1 + a) + 1 + r] * v8_set(scale);
}

#endif
