/* The transfer stencil: weights, and the scatter and gather of one cell.
 *
 * All particles of a cell share their 4 x 4 x 4 nodes (3 x 3 x 3 quadratic). A scatter takes as many of them
 * as registers hold, adds all particles of the cell in id order from +0.0, and only then touches memory.
 * With AVX-512 and AVX2 these are the cell's 64 nodes, or half of them, of one channel. The 16 nodes of a
 * node plane, four along z by four along y, are a "sheet": what a particle gives to it is found once, and
 * takes one operation more for each node plane (two with a slope). Two lanes take a node plane at a time, and
 * half a node in a register: the first two channels are summed in a pass of their own, then the other two.
 *
 * The sum over cells has one fixed shape (docs/architecture.md): the cells of a block in order into the
 * block's part, and the parts of a brick in pairs. So neither ranks nor threads can change a bit. */
#ifndef FIRN_KERNELS_STENCIL_H
#define FIRN_KERNELS_STENCIL_H

#include "kernels/kernels.h"
#include "kernels/stencil_sizes.h"
#include "material/models.h"
#include "material/tangent.h"

#define KERNEL(name)            KERNEL_NAME(name, FIRN_ISA)
#define ALWAYS_INLINE           static inline __attribute__((always_inline))

/* The parts of the table in table.c, each in its own file. */
#define BLOCK_PROTOTYPE(kernel) block_kernel KERNEL(kernel);
#define TILE_PROTOTYPE(kernel)  tile_kernel KERNEL(kernel);
FIRN_BLOCK_KERNELS(BLOCK_PROTOTYPE)
FIRN_TILE_KERNELS(TILE_PROTOTYPE)
void KERNEL(merge)(enum part_layout layout, bool vector, const struct brick_parts *parts, double *brick);
void KERNEL(liquid_common)(struct liquid *liquid, const struct grid_geometry *geometry);
void KERNEL(bare_p2g)(struct bare *bare);
void KERNEL(bare_g2p)(struct bare *bare);
void KERNEL(plain_p2g)(struct bare *bare);
void KERNEL(plain_g2p)(struct bare *bare);

#if defined __AVX2__ /* and so AVX-512 */

/* What is scattered of one particle. A sheet are its 4 x 4 nodes along z and y, y varying fastest. */
struct scattered {
  double sheet[3][16]; /* products of z and y weights; the same with derivatives along y, and along z */
  double value[16];    /* four channels of the particle's value, then of its x, y and z coefficients */
};

/* LANES particles as the transfers read them. */
struct records {
  double weight[3][8][LANES]; /* each axis: weights of the four nodes, then their derivatives */
  struct scattered scattered[LANES];
} __attribute__((aligned(64)));

static inline const double *record_weight(const struct records *rec, uint32_t i)
{
  return rec[i / LANES].weight[0][0] + i % LANES;
}

/* One weight in all lanes. */
static inline vd weight_lanes(const double *weight)
{
  return vd_set(*weight);
}

/* The k-th weight along an axis of each particle. */
static inline vd record_lanes(const struct records *rec, int axis, int k)
{
  return vd_load_aligned(rec->weight[axis][k]);
}

#else

/* Two lanes: all weights of a particle are spread over a register, since SSE2 has no load that does it. */
struct scattered {
  double weight[3][8][LANES]; /* as below */
  double value[16];
};

struct records {
  struct scattered scattered[LANES];
} __attribute__((aligned(64)));

enum { WEIGHT_ALONG_Z = 4 * LANES };

static inline const double *record_weight(const struct records *rec, uint32_t i)
{
  return rec[i / LANES].scattered[i % LANES].weight[0][0];
}

static inline const double *record_along_z(const struct records *rec, uint32_t i)
{
  return rec[i / LANES].scattered[i % LANES].weight[2][0];
}

static inline vd weight_lanes(const double *weight)
{
  return vd_load_aligned(weight);
}

static inline vd record_lanes(const struct records *rec, int axis, int k)
{
  return __builtin_shufflevector(vd_load_aligned(rec->scattered[0].weight[axis][k]),
                                 vd_load_aligned(rec->scattered[1].weight[axis][k]), 0, 2);
}

#endif
_Static_assert(sizeof(struct records) <= LANES * RECORD_BYTES, "workspace and kernels disagree");

/* Places of node 0's weight and derivative, in doubles from record_weight(). */
enum {
  WEIGHT_X = 0,
  WEIGHT_Y = 8 * LANES,
  WEIGHT_Z = 16 * LANES,
  WEIGHT_SLOPE = 4 * LANES /* from a weight to its derivative */
};

/* LANES particles in order and where they stand. G2P leaves the new state in the old order, so most are
 * neighbours still, and where all are a plain load does. Lanes behind the last particle repeat it. */
struct batch {
  vi slot, home;
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
  batch.dense = vi_is_run(batch.slot);
  return batch;
}

/* Loads one by one: the gather instruction takes longer on Zen 4, where it is microcode, and on Intel since
 * the microcode against Downfall. */
static inline vd batch_gather(const double *array, vi index)
{
#if defined __AVX512F__
  const __m256d low = _mm256_set_pd(array[index[3]], array[index[2]], array[index[1]], array[index[0]]),
                high = _mm256_set_pd(array[index[7]], array[index[6]], array[index[5]], array[index[4]]);
  return (vd)_mm512_insertf64x4(_mm512_castpd256_pd512(low), high, 1);
#else
  vd a;
  for (int l = 0; l < LANES; l++) a[l] = array[index[l]];
  return a;
#endif
}

/* State of the batch. */
static inline vd batch_load(const double *array, const struct batch *batch)
{
  return batch->dense ? vd_load(array + batch->slot[0]) : batch_gather(array, batch->slot);
}

/* What never changes. */
static inline vd batch_constant(const double *array, const struct batch *batch)
{
  return batch_gather(array, batch->home);
}

/* Factor on the stresses; a product with 1 changes no bit. */
static inline vd batch_stiffness(const struct transfer *t, const struct batch *batch)
{
  return t->p->stiffness ? batch_constant(t->p->stiffness, batch) : vd_set(1.0);
}

static inline void batch_indices(const struct transfer *t, const struct batch *batch,
                                 uint32_t material[LANES])
{
  for (int l = 0; l < LANES; l++) material[l] = particle_material(t->p, batch->home[l]);
}

/* Where all materials are snow. */
static inline struct snow_lanes batch_snow(const struct transfer *t, const struct batch *batch)
{
  if (t->material_count == 1) return snow_same(t->materials);
  uint32_t material[LANES];
  batch_indices(t, batch, material);
  return snow_gather(t->materials, material);
}

/* Where they may be others. */
static inline void batch_materials(const struct transfer *t, const struct batch *batch,
                                   struct material_lanes *out)
{
  uint32_t material[LANES];
  batch_indices(t, batch, material);
  material_gather(t->materials, material, out);
}

static inline struct history batch_history(const struct transfer *t, const struct batch *batch)
{
  return (struct history){batch_load(t->p->jp, batch),
                          t->p->shear ? batch_load(t->p->shear, batch) : vd_set(0.0)};
}

enum linear { GRADIENT, OFFSET }; /* what "derivative" of a weight means: dw/du, or w (x_i - x_p) / h */

/* Rounds down; |u| < 2^51. */
static inline vd stencil_floor(vd u)
{
  const vd magic = vd_set(0x1.8p52);
  const vd r = (u + magic) - magic;
  return vd_where_greater(r, u, r - vd_set(1.0), r);
}

/* Weights w[0..3] and derivatives w[4..7] of a batch on one axis; u is the position in cells. The
 * outer branches stay factored: a weight near the edge of its support keeps full relative accuracy, so force
 * over mass of a nearly weightless node is no noise. */
ALWAYS_INLINE void stencil_weights(int support, enum linear linear, vd u, vd w[8])
{
  const vd half = vd_set(0.5), one = vd_set(1.0), two = vd_set(2.0), sixth = vd_set(1.0 / 6.0);
  if (support == 4) {
    const vd f = u - stencil_floor(u), g = one - f;
    const vd f2 = f * f, g2 = g * g, two_thirds = vd_set(2.0 / 3.0);
    w[0] = g2 * g * sixth;
    w[1] = vd_fma(f2, vd_fma(half, f, -one), two_thirds);
    w[2] = vd_fma(g2, vd_fma(half, g, -one), two_thirds);
    w[3] = f2 * f * sixth;
    if (linear == GRADIENT) {
      w[4] = -half * g2;
      w[5] = f * vd_fma(vd_set(1.5), f, -two);
      w[6] = -g * vd_fma(vd_set(1.5), g, -two);
      w[7] = half * f2;
    } else {
      w[4] = w[0] * (-one - f);
      w[5] = w[1] * -f;
      w[6] = w[2] * g;
      w[7] = w[3] * (two - f);
    }
  } else {
    const vd f = u - stencil_floor(u + half); /* -1/2 .. 1/2 from the middle node */
    const vd low = half - f, high = half + f;
    w[0] = half * low * low;
    w[1] = vd_fma(-f, f, vd_set(0.75));
    w[2] = half * high * high;
    w[3] = vd_set(0.0);
    if (linear == GRADIENT) {
      w[4] = -low;
      w[5] = -two * f;
      w[6] = high;
    } else {
      w[4] = w[0] * (-one - f);
      w[5] = w[1] * -f;
      w[6] = w[2] * (one - f);
    }
    w[7] = vd_set(0.0);
  }
}

static inline vd stencil_position(const struct grid_geometry *geometry, vd x, int a)
{
  return (x - vd_set(geometry->lower[a])) * vd_set(geometry->inverse);
}

/* What a derivative of a weight must be multiplied with: 1/h, or D^-1 h with D = h^2/3 (cubic), h^2/4
 * (quadratic). */
static inline double stencil_scale(const struct grid_geometry *geometry, enum linear linear)
{
  if (linear == GRADIENT) return geometry->inverse;
  return (geometry->support == 4 ? 3.0 : 4.0) * geometry->inverse;
}

/* Weights of a batch at x (world axes). */
ALWAYS_INLINE void stencil_weigh(const struct transfer *t, const vd x[3], enum linear linear,
                                 struct records *rec)
{
  const struct grid_geometry *geometry = &t->grid->geometry;
  vd w[8];
  for (int a = 0; a < 3; a++) {
    const vd u = stencil_position(geometry, x[geometry->axis[a]], a);
    if (geometry->support == 4)
      stencil_weights(4, linear, u, w);
    else
      stencil_weights(3, linear, u, w);
    for (int k = 0; k < 8; k++) {
#if defined __AVX2__
      vd_store_aligned(rec->weight[a][k], w[k]);
#else
      vd_store_aligned(rec->scattered[0].weight[a][k], __builtin_shufflevector(w[k], w[k], 0, 0));
      vd_store_aligned(rec->scattered[1].weight[a][k], __builtin_shufflevector(w[k], w[k], 1, 1));
#endif
    }
  }
}

static inline void batch_positions(const struct transfer *t, const struct batch *batch, vd x[3])
{
  for (int d = 0; d < 3; d++) x[d] = batch_load(t->p->x[d], batch);
}

/* The sheets of a batch that is weighed; two lanes have none. */
ALWAYS_INLINE void stencil_sheets(struct records *rec)
{
#if defined __AVX2__
  double along_y[LANES][8] __attribute__((aligned(64))); /* weights and derivatives, particle by particle */
  vd w[8];
  for (int k = 0; k < 8; k++) w[k] = record_lanes(rec, 1, k);
  vd_to_rows(w, along_y[0], 8);
  for (int l = 0; l < LANES; l++) {
    double(*sheet)[16] = rec->scattered[l].sheet;
    const vd y = vd_repeat(along_y[l]), dy = vd_repeat(along_y[l] + 4);
    for (int k = 0; k < 16; k += LANES) {
      const double *weight = rec->weight[2][k / 4] + l;
      const vd z = vd_spread(weight, LANES), dz = vd_spread(weight + WEIGHT_SLOPE, LANES);
      vd_store_aligned(sheet[0] + k, y * z);
      vd_store_aligned(sheet[1] + k, dy * z);
      vd_store_aligned(sheet[2] + k, y * dz);
    }
  }
#else
  (void)rec;
#endif
}

/* What is scattered of a batch: value (mass and vector) and coefficients. t[a][r]: coefficient of
 * grid axis a, world component r. */
ALWAYS_INLINE void stencil_values(struct records *rec, vd scalar, const vd vector[3], vd coefficient[3][3])
{
  const vd zero = vd_set(0.0);
  vd a[8] = {scalar, vector[0],         vector[1],         vector[2],
             zero,   coefficient[0][0], coefficient[0][1], coefficient[0][2]};
  vd b[8] = {zero, coefficient[1][0], coefficient[1][1], coefficient[1][2],
             zero, coefficient[2][0], coefficient[2][1], coefficient[2][2]};
  vd_to_rows(a, rec->scattered[0].value, sizeof(struct scattered) / sizeof(double));
  vd_to_rows(b, rec->scattered[0].value + 8, sizeof(struct scattered) / sizeof(double));
  stencil_sheets(rec);
}

/* --- blocks
 * ----------------------------------------------------------------------------------------------------- */

/* Cells from c on until a pass of this many particles is full. */
ALWAYS_INLINE int32_t stencil_pass_end(const struct grid *g, int32_t c, int32_t end, int32_t particles)
{
  const int32_t start = g->cell_start[c];
  do c++;
  while (c < end && g->cell_start[c] - start < particles);
  return c;
}

/* Whether the cells [c, end) have no solid particles: a product over them adds nothing. */
static inline bool stencil_is_liquid(const unsigned char *solid, int32_t c, int32_t end)
{
  if (!solid) return false;
  while (c < end && !solid[c]) c++;
  return c == end;
}

/* Whether index lies too far from `other` to be in lines that a neighbour's prefetch brings. */
ALWAYS_INLINE bool prefetch_is_far(int32_t index, int32_t other)
{
  enum { NEAR = 32 };
  return (uint32_t)(index - other + NEAR) > 2 * NEAR;
}

/* Prefetches for the k-th particle: once for a line of particles that are neighbours still, and for each that
 * came from another row of cells. The one after such a particle is compared with the one before it. Into the
 * L2 cache: so far ahead they would push a pass's records out of an L1 of 32 KiB. */
ALWAYS_INLINE void prefetch_indexed(const struct arrays *arrays, const int32_t *index, int32_t k)
{
  enum { LINE = 8 }; /* doubles */
  const int32_t at = index[k];
  if (k % LINE != 0 && !(prefetch_is_far(at, index[k - 1]) && prefetch_is_far(at, index[k - 2]))) return;
  for (int a = 0; a < arrays->count; a++) __builtin_prefetch(arrays->at[a] + at, 0, 2);
}

/* Prefetches the state `by_slot` and the constants of the particles PASS_AHEAD behind [begin, end): a kernel
 * calls it cell by cell, since all lines of a pass at once would wait for each other. */
ALWAYS_INLINE void prefetch_particles(const struct transfer *t, const struct arrays *by_slot, int32_t begin,
                                      int32_t end)
{
  const int32_t last = end + PASS_AHEAD < t->p->count ? end + PASS_AHEAD : t->p->count;
  for (int32_t k = begin + PASS_AHEAD; k < last; k++) {
    prefetch_indexed(by_slot, t->slot, k);
    prefetch_indexed(&t->by_home, t->home, k);
  }
}

/* --- scatter
 * ----------------------------------------------------------------------------------------------------- */

static inline void add_nodes(double *to, const double *from, int count)
{
  for (int k = 0; k < count; k += LANES) vd_store(to + k, vd_load(to + k) + vd_load(from + k));
}

#if defined __AVX2__ /* and so AVX-512 */

#define STENCIL_LAYOUT PART_SHEETS
enum { PART_STRIDE0 = SHEET_X, PART_STRIDE1 = SHEET_CHANNEL };

/* Where a cell's nodes begin in its block's part. */
static inline double *part_corner(double *part, uint64_t cell)
{
  return part + grid_place_x(cell) * SHEET_X + grid_place_z(cell) * SHEET_ROW + grid_place_y(cell);
}

/* Adds a register of a sheet, one row along y or two, to rows that are `row` doubles apart. */
static inline void rows_add(double *to, vd sum, int64_t row)
{
#if defined __AVX512F__
  if (row != 4) {
    const __m256d low = _mm512_castpd512_pd256((__m512d)sum), high = _mm512_extractf64x4_pd((__m512d)sum, 1);
    _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), low));
    _mm256_storeu_pd(to + row, _mm256_add_pd(_mm256_loadu_pd(to + row), high));
    return;
  }
#endif
  (void)row;
  vd_store(to, vd_load(to) + sum);
}

enum { SHEETS = LANES == 8 ? 2 : 1 }; /* channels without a slope that are summed together */

/* Adds the particles [begin, end) of `rec` to the sheets of `count` channels from `first` on. */
ALWAYS_INLINE void scatter_sheets(const struct records *rec, uint32_t begin, uint32_t end, double *corner,
                                  int64_t stride0, int64_t stride1, int64_t row, int support, int first,
                                  int count, bool value, bool slope)
{
  enum { PARTS = 2 }; /* registers of a sheet that are filled together */
  for (int at = 0; at < 16; at += PARTS * LANES) {
    vd sum[SHEETS][MAX_SUPPORT][PARTS];
    for (int c = 0; c < count; c++)
      for (int a = 0; a < support; a++)
        for (int h = 0; h < PARTS; h++) sum[c][a][h] = vd_set(0.0);
    for (uint32_t i = begin; i < end; i++) {
      const struct scattered *from = &rec[i / LANES].scattered[i % LANES];
      const double *x = record_weight(rec, i) + WEIGHT_X;
      for (int c = 0; c < count; c++) {
        const double *v = from->value + first + c;
        vd across[PARTS], along[PARTS];
        for (int h = 0; h < PARTS; h++) {
          const int k = at + h * LANES;
          const vd plain = vd_load_aligned(from->sheet[0] + k);
          if (value) across[h] = vd_set(v[0]) * plain;
          if (!slope) continue;
          const vd dy = vd_load_aligned(from->sheet[1] + k), dz = vd_load_aligned(from->sheet[2] + k);
          across[h] = value ? vd_fma(vd_set(v[8]), dy, across[h]) : vd_set(v[8]) * dy;
          across[h] = vd_fma(vd_set(v[12]), dz, across[h]);
          along[h] = vd_set(v[4]) * plain;
        }
        for (int a = 0; a < support; a++) {
          const vd wx = vd_set(x[a * LANES]);
          for (int h = 0; h < PARTS; h++) sum[c][a][h] = vd_fma(wx, across[h], sum[c][a][h]);
          if (!slope) continue;
          const vd dx = vd_set(x[WEIGHT_SLOPE + a * LANES]);
          for (int h = 0; h < PARTS; h++) sum[c][a][h] = vd_fma(dx, along[h], sum[c][a][h]);
        }
      }
    }
    for (int c = 0; c < count; c++)
      for (int a = 0; a < support; a++)
        for (int h = 0; h < PARTS; h++) {
          double *to = corner + a * stride0 + (first + c) * stride1 + (at + h * LANES) / 4 * row;
          rows_add(to, sum[c][a][h], row);
        }
  }
}

#else

#define STENCIL_LAYOUT PART_NODES
enum { PART_STRIDE0 = NODES_X, PART_STRIDE1 = NODES_Y };

static inline double *part_corner(double *part, uint64_t cell)
{
  return part + grid_place_x(cell) * NODES_X + grid_place_y(cell) * NODES_Y + 4 * grid_place_z(cell);
}

/* As scatter_cell(), of the channels from `first` on. */
ALWAYS_INLINE void scatter_nodes(const struct records *rec, uint32_t begin, uint32_t end, double *corner,
                                 int64_t stride0, int64_t stride1, int support, int first, bool value,
                                 bool slope)
{
  enum { PARTS = 2 }; /* registers along z that are filled together */
  const vd zero = vd_set(0.0);
  for (int a = 0; a < support; a++)
    for (int channel = first; channel < NODE_STEP; channel += LANES)
      for (int part = 0; part < 16 / NODE_STEP; part += PARTS) {
        vd sum[MAX_SUPPORT][PARTS];
        for (int b = 0; b < support; b++)
          for (int h = 0; h < PARTS; h++) sum[b][h] = zero;
        for (uint32_t i = begin; i < end; i++) {
          const double *v = rec[i / LANES].scattered[i % LANES].value + channel,
                       *z = record_along_z(rec, i) + LANES * part,
                       *x = record_weight(rec, i) + WEIGHT_X + a * LANES,
                       *y = record_weight(rec, i) + WEIGHT_Y;
          const vd wx = weight_lanes(x);
          vd base = zero, along_x = zero, along_y = zero, along_z = zero;
          if (value) base = wx * vd_load(v);
          if (slope) {
            const vd dx = weight_lanes(x + WEIGHT_SLOPE);
            along_x = value ? vd_fma(dx, vd_load(v + 4), base) : dx * vd_load(v + 4);
            along_y = wx * vd_load(v + 8);
            along_z = wx * vd_load(v + 12);
          }
          vd plain[PARTS], turned[PARTS];
          for (int h = 0; h < PARTS; h++) {
            const vd wz = vd_load(z + LANES * h);
            plain[h] =
                slope ? vd_fma(along_z, vd_load(z + WEIGHT_ALONG_Z + LANES * h), along_x * wz) : base * wz;
            turned[h] = along_y * wz;
          }
          for (int b = 0; b < support; b++)
            for (int h = 0; h < PARTS; h++) {
              sum[b][h] = vd_fma(weight_lanes(y + b * LANES), plain[h], sum[b][h]);
              if (slope) sum[b][h] = vd_fma(weight_lanes(y + WEIGHT_SLOPE + b * LANES), turned[h], sum[b][h]);
            }
        }
        for (int b = 0; b < support; b++)
          for (int h = 0; h < PARTS; h++) {
            double *to = corner + a * stride0 + b * stride1 + NODE_STEP * (part + h) + channel;
            vd_store(to, vd_load(to) + sum[b][h]);
          }
      }
}

/* The slope of channel 1 alone, registers of two z-neighbours: that of channel 0 is always zero, and with it
 * half of every register would be. */
ALWAYS_INLINE void scatter_channel_1(const struct records *rec, uint32_t begin, uint32_t end, double *corner,
                                     int64_t stride0, int64_t stride1, int support)
{
  for (int a = 0; a < support; a++) {
    vd sum[MAX_SUPPORT][2];
    for (int b = 0; b < support; b++) sum[b][0] = sum[b][1] = vd_set(0.0);
    for (uint32_t i = begin; i < end; i++) {
      const double *v = rec[i / LANES].scattered[i % LANES].value + 1, *z = record_along_z(rec, i),
                   *x = record_weight(rec, i) + WEIGHT_X + a * LANES, *y = record_weight(rec, i) + WEIGHT_Y;
      const vd wx = weight_lanes(x), along_x = weight_lanes(x + WEIGHT_SLOPE) * vd_set(v[4]),
               along_y = wx * vd_set(v[8]), along_z = wx * vd_set(v[12]);
      vd turned[2], sloped[2];
      for (int h = 0; h < 2; h++, z += 2 * LANES) {
        const double *dz = z + WEIGHT_ALONG_Z;
        const vd wz = __builtin_shufflevector(weight_lanes(z), weight_lanes(z + LANES), 0, 2);
        turned[h] = along_y * wz;
        sloped[h] = vd_fma(along_z, __builtin_shufflevector(weight_lanes(dz), weight_lanes(dz + LANES), 0, 2),
                           along_x * wz);
      }
      for (int b = 0; b < support; b++)
        for (int h = 0; h < 2; h++)
          sum[b][h] = vd_fma(weight_lanes(y + WEIGHT_SLOPE + b * LANES), turned[h],
                             vd_fma(weight_lanes(y + b * LANES), sloped[h], sum[b][h]));
    }
    for (int b = 0; b < support; b++)
      for (int k = 0; k < 4; k++) corner[a * stride0 + b * stride1 + 4 * k + 1] += sum[b][k / 2][k % 2];
  }
}
#endif

/* Adds the particles [begin, end) of `rec`, those of one cell, to its nodes: `corner` is the first, the
 * strides (doubles) lead along axis 0 and along axis 1, or with AVX2 from channel to channel, and there `row`
 * along axis 2. With `other` the slope goes to nodes that lie there instead. */
ALWAYS_INLINE void scatter_nodes_of(const struct records *rec, uint32_t begin, uint32_t end, double *corner,
                                    double *other, int64_t stride0, int64_t stride1, int64_t row, int support,
                                    bool value, bool slope)
{
#if defined __AVX2__ /* and so AVX-512 */
  const bool joined = value && slope && !other;
  if (joined) /* the scalar has no slope */
    scatter_sheets(rec, begin, end, corner, stride0, stride1, row, support, 0, 1, true, false);
  for (int c = 0; c < 4 && value && !joined; c += SHEETS)
    scatter_sheets(rec, begin, end, corner, stride0, stride1, row, support, c, SHEETS, true, false);
  double *sloped = other ? other : corner;
  for (int c = 1; c < 4 && slope; c++)
    scatter_sheets(rec, begin, end, sloped, stride0, stride1, row, support, c, 1, joined, true);
#else
  (void)row;
  double *sloped = other ? other : corner; /* in a pass of its own, since registers are short */
  if (value) scatter_nodes(rec, begin, end, corner, stride0, stride1, support, 0, true, slope && !other);
  if (!slope || (value && !other)) return;
  scatter_channel_1(rec, begin, end, sloped, stride0, stride1, support);
  scatter_nodes(rec, begin, end, sloped, stride0, stride1, support, 2, false, true);
#endif
}

/* The same to a block's part. */
ALWAYS_INLINE void scatter_cell(const struct records *rec, uint32_t begin, uint32_t end, double *corner,
                                double *other, int support, bool value, bool slope)
{
  scatter_nodes_of(rec, begin, end, corner, other, PART_STRIDE0, PART_STRIDE1, SHEET_ROW, support, value,
                   slope);
}

static inline void part_clear(double *part)
{
  vd_clear(part, PART_DOUBLES);
}

/* All but the scalars, of PART_SHEETS. */
static inline void sheets_clear_vectors(double *part)
{
  for (int x = 0; x < PART_X; x++) vd_clear(part + x * SHEET_X + SHEET_CHANNEL, 3 * SHEET_CHANNEL);
}

/* --- gather
 * ------------------------------------------------------------------------------------------------------ */

/* Gathering with two lanes has the nodes of a row channel by channel, [channel][z] in place of [z][channel]:
 * a register holds two z-neighbours, and the channel that a velocity does not have costs nothing. */
static inline void row_copy(double *to, int z, const double *from, int count)
{
#if defined __AVX2__
  memcpy(to + 4 * z, from, (size_t)count * 4 * sizeof(double));
#else
  for (int k = 0; k < 4 * count; k += 8, z += 2)
    for (int c = 0; c < 4; c += 2) {
      const vd first = vd_load(from + k + c), second = vd_load(from + k + 4 + c);
      vd_store(to + c * ROW_NODES + z, __builtin_shufflevector(first, second, 0, 2));
      vd_store(to + (c + 1) * ROW_NODES + z, __builtin_shufflevector(first, second, 1, 3));
    }
#endif
}

/* Where the stencils of a block's cells are: nodes [low, high) along axes 0 and 1 of the block's 7 x 7. */
struct block_extent {
  int low[2], high[2];
};

static inline struct block_extent block_extent(const struct grid *g, const struct block_set *set,
                                               const uint64_t *cells, int32_t block)
{
  const int32_t begin = set->first[block], end = set->first[block + 1];
  struct block_extent e = {{grid_place_x(cells[begin]), PART_Y}, {grid_place_x(cells[end - 1]), 0}};
  for (int32_t c = begin; c < end; c++) {
    const int y = grid_place_y(cells[c]);
    if (y < e.low[1]) e.low[1] = y;
    if (y > e.high[1]) e.high[1] = y;
  }
  for (int a = 0; a < 2; a++) e.high[a] += g->geometry.support;
  return e;
}

/* The tiles of a block's nodes on its node plane x, by (dy, dz); NULL: it is not there. */
static inline void block_tiles(const struct block_set *set, int32_t block, int x, const double *field,
                               const double *tile[4])
{
  const int32_t *brick = set->brick + 8 * (int64_t)block + x / BLOCK_X * 4;
  for (int k = 0; k < 4; k++)
    tile[k] = brick[k] < 0 ? NULL : field + ((int64_t)brick[k] * BRICK_TILES + x % BLOCK_X) * TILE_DOUBLES;
}

/* Copies the nodes that a block's cells touch, to gather from. Those that are not there become zero. */
ALWAYS_INLINE void block_load(double *nodes, const struct grid *g, int32_t block, const double *field)
{
  static const double none[TILE_Z * 4];
  const struct block_extent e = block_extent(g, &g->blocks, g->cell_key, block);
  for (int x = e.low[0]; x < e.high[0]; x++) {
    const double *tile[4];
    block_tiles(&g->blocks, block, x, field, tile);
    for (int y = e.low[1]; y < e.high[1]; y++) {
      const double *const *from = tile + y / BLOCK_Y * 2;
      const int row = y % BLOCK_Y * TILE_Z * 4;
      double *to = nodes + x * NODES_X + y * NODES_Y;
      row_copy(to, 0, from[0] ? from[0] + row : none, TILE_Z);
      row_copy(to, TILE_Z, from[1] ? from[1] + row : none, ROW_NODES - TILE_Z);
    }
  }
}

/* What gather_cell() takes as the corner of a cell. */
static inline const double *block_corner(const double *nodes, uint64_t cell)
{
  return nodes + grid_place_x(cell) * NODES_X + grid_place_y(cell) * NODES_Y +
         (LANES == 2 ? 1 : 4) * grid_place_z(cell);
}

/* Gathers for the particles [begin, end) of `rec`, those of one cell, from its nodes, as scatter_cell().
 * out[16 (i - begin) ..] = value, and derivatives along grid axes 0, 1, 2, of the channels from `first` on,
 * as gathered_lanes() reads them. With `other` the value comes from nodes that lie there instead. x goes
 * first, then y: each makes one of four, whereas z lies within a register. */
#if defined __AVX2__ /* and so AVX-512 */

ALWAYS_INLINE void gather_channels(const struct records *rec, uint32_t begin, uint32_t end,
                                   const double *corner, const double *other, int64_t stride0,
                                   int64_t stride1, int support, int first, double *out)
{
  (void)first; /* a register holds all */
  const vd zero = vd_set(0.0);
  for (uint32_t i = begin; i < end; i++, out += GATHERED_DOUBLES) {
    const double *x = record_weight(rec, i) + WEIGHT_X, *y = record_weight(rec, i) + WEIGHT_Y,
                 *z = record_weight(rec, i) + WEIGHT_Z;
    vd value = zero, gx = zero, gy = zero, gz = zero;
    for (int k = 0; k < 16; k += LANES) {
      vd row[MAX_SUPPORT], row_x[MAX_SUPPORT], row_value[MAX_SUPPORT];
      for (int b = 0; b < support; b++) row[b] = row_x[b] = row_value[b] = zero;
      for (int a = 0; a < support; a++) {
        const vd wx = vd_set(x[a * LANES]), dx = vd_set(x[WEIGHT_SLOPE + a * LANES]);
        for (int b = 0; b < support; b++) {
          const int64_t at = a * stride0 + b * stride1 + k;
          vd node = vd_load(corner + at);
          if (!other) vd_keep(&node); /* with it AVX2 has no register left */
          row[b] = vd_fma(wx, node, row[b]);
          row_x[b] = vd_fma(dx, node, row_x[b]);
          if (other) row_value[b] = vd_fma(wx, vd_load(other + at), row_value[b]);
        }
      }
      vd line = zero, line_x = zero, line_y = zero, line_value = zero;
      for (int b = 0; b < support; b++) {
        const vd wy = vd_set(y[b * LANES]);
        line = vd_fma(wy, row[b], line);
        line_x = vd_fma(wy, row_x[b], line_x);
        line_y = vd_fma(vd_set(y[WEIGHT_SLOPE + b * LANES]), row[b], line_y);
        if (other) line_value = vd_fma(wy, row_value[b], line_value);
      }
      const vd wz = vd_spread(z + k / 4 * LANES, LANES);
      value = vd_fma(wz, other ? line_value : line, value);
      gx = vd_fma(wz, line_x, gx);
      gy = vd_fma(wz, line_y, gy);
      gz = vd_fma(vd_spread(z + WEIGHT_SLOPE + k / 4 * LANES, LANES), line, gz);
    }
    vd_fold(value, out);
    vd_fold(gx, out + 4);
    vd_fold(gy, out + 8);
    vd_fold(gz, out + 12);
  }
}

#else

/* Values of a row of nodes along y, two z-neighbours each: contracted along x. */
ALWAYS_INLINE void gather_rows(const double *x, const double *node, int64_t stride0, int64_t stride1,
                               int support, vd row[MAX_SUPPORT])
{
  for (int a = 0; a < support; a++)
    for (int b = 0; b < support; b++) {
      const vd wx = weight_lanes(x + a * LANES), at = vd_load(node + a * stride0 + b * stride1);
      row[b] = a == 0 ? wx * at : vd_fma(wx, at, row[b]);
    }
}

/* The same with weights and derivatives. */
ALWAYS_INLINE void gather_slopes(const double *x, const double *node, int64_t stride0, int64_t stride1,
                                 int support, vd row[MAX_SUPPORT], vd row_x[MAX_SUPPORT])
{
  for (int a = 0; a < support; a++)
    for (int b = 0; b < support; b++) {
      const vd wx = weight_lanes(x + a * LANES), dx = weight_lanes(x + WEIGHT_SLOPE + a * LANES);
      const vd at = vd_load(node + a * stride0 + b * stride1);
      row[b] = a == 0 ? wx * at : vd_fma(wx, at, row[b]);
      row_x[b] = a == 0 ? dx * at : vd_fma(dx, at, row_x[b]);
    }
}

/* Along y. */
ALWAYS_INLINE vd gather_line(const double *y, const vd row[MAX_SUPPORT], int support)
{
  vd line = weight_lanes(y) * row[0];
  for (int b = 1; b < support; b++) line = vd_fma(weight_lanes(y + b * LANES), row[b], line);
  return line;
}

ALWAYS_INLINE void gather_channels(const struct records *rec, uint32_t begin, uint32_t end,
                                   const double *corner, const double *other, int64_t stride0,
                                   int64_t stride1, int support, int first, double *out)
{
  for (uint32_t i = begin; i < end; i++, out += GATHERED_DOUBLES) {
    const double *x = record_weight(rec, i) + WEIGHT_X, *y = record_weight(rec, i) + WEIGHT_Y,
                 *z = record_weight(rec, i) + WEIGHT_Z;
    vd along_z[4]; /* z weights of two nodes, of the other two; then their derivatives */
    for (int k = 0; k < 4; k++)
      along_z[k] = __builtin_shufflevector(weight_lanes(z + 4 * k), weight_lanes(z + 4 * k + LANES), 0, 2);
    for (int c = first; c < 4; c++) {
      vd sum[4];
      for (int q = 0; q < 2; q++) {
        const int at = c * ROW_NODES + 2 * q;
        vd row[MAX_SUPPORT] = {vd_set(0.0)}, row_x[MAX_SUPPORT] = {vd_set(0.0)};
        gather_slopes(x, corner + at, stride0, stride1, support, row, row_x);
        const vd line = gather_line(y, row, support), line_x = gather_line(y, row_x, support),
                 line_y = gather_line(y + WEIGHT_SLOPE, row, support);
        vd value = line;
        if (other) {
          gather_rows(x, other + at, stride0, stride1, support, row);
          value = gather_line(y, row, support);
        }
        const vd part[4] = {value * along_z[q], line_x * along_z[q], line_y * along_z[q],
                            line * along_z[2 + q]};
        for (int k = 0; k < 4; k++) sum[k] = q == 0 ? part[k] : sum[k] + part[k];
      }
      for (int k = 0; k < 4; k += 2)
        vd_store(out + 4 * c + k, __builtin_shufflevector(sum[k], sum[k + 1], 0, 2) +
                                      __builtin_shufflevector(sum[k], sum[k + 1], 1, 3));
    }
  }
}

#endif

/* Of a vector field, whose channel 0 is not wanted, from a block's nodes. */
ALWAYS_INLINE void gather_cell(const struct records *rec, uint32_t begin, uint32_t end, const double *corner,
                               const double *other, int support, double *out)
{
  gather_channels(rec, begin, end, corner, other, NODES_X, NODES_Y, support, 1, out);
}

/* The gathered rows of a batch as lanes: channel c of part k (value, x, y, z derivative) is lanes[4 k + c].
 */
ALWAYS_INLINE void gathered_lanes(const double *out, vd lanes[16])
{
#if defined __AVX2__
  vd_from_rows(out, GATHERED_DOUBLES, lanes);
  vd_from_rows(out + 8, GATHERED_DOUBLES, lanes + 8);
#else
  vd turned[16];
  vd_from_rows(out, GATHERED_DOUBLES, turned);
  vd_from_rows(out + 8, GATHERED_DOUBLES, turned + 8);
  for (int k = 0; k < 16; k++) lanes[k] = turned[4 * (k % 4) + k / 4];
#endif
}

/* The velocity gradient (world axes, row-major) from gathered lanes. */
ALWAYS_INLINE void gathered_gradient(const struct grid_geometry *geometry, const vd lanes[16], double scale,
                                     vd g[9])
{
  for (int a = 0; a < 3; a++)
    for (int r = 0; r < 3; r++) g[3 * r + geometry->axis[a]] = lanes[4 * (1 + a) + 1 + r] * vd_set(scale);
}

#endif
