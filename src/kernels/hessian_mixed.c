/* The product with the Hessian in single precision, summed in double: hessian.c with twice the lanes and half
 * the bytes.
 *
 * In single precision are what one particle gathers, its tangent, and what the particles of a run add to
 * their nodes: cells of a row of the block, until there are RUN_PARTICLES of them or the row ends. A run
 * follows from the block's cells alone. From there on all is double and has the one shape that all sums have
 * (docs/architecture.md), and so has everything that the solve makes of the product. What a block gathers
 * from is relative to one of its nodes, so that flight costs no digits: a gradient does not see it.
 *
 * Nodes are apart by component here: the 4 x 4 nodes of one node plane of a cell, z by y, are sixteen floats
 * of a component, one register of AVX-512 or two of AVX2. A run's sums stay in registers: from a cell to the
 * next along z the first row of nodes is complete and leaves, and the others move up. A particle's weights
 * along y and z are multiplied out once for both ways; x weights come one at a time. */
#include "kernels/cell.h"
#include "kernels/stencil.h"
#include "material/tangent_single.h"

enum {
  PARTS = 16 / SINGLES,               /* registers of one node plane and component */
  GROUPS = (3 + BLOCKS - 1) / BLOCKS, /* registers that hold three sums, a block each */
  TOGETHER = SINGLES == 16 ? 3 : 1,   /* components that there are registers for at once */
  RUN_PARTICLES = 16
};

/* SINGLES particles between gather and scatter, in the place of struct records. */
struct single_records {
  float x[8][SINGLES];                          /* weights along axis 0, then their derivatives */
  float yz[SINGLES][3][16];                     /* w w, w' w and w w' along axes 1 and 2 */
  float gathered[SINGLES][3][GROUPS * SINGLES]; /* of each component, derivatives along the axes */
  float coefficient[3][3][SINGLES];             /* component, axis: what is scattered */
  float stiffness[SINGLES];                     /* where the diagonal is wanted */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct single_records) <= SINGLES * RECORD_BYTES, "too large for the workspace");

/* A block's nodes to gather from: component, x, z, y. Rows along y as in PART_SHEETS. */
struct single_nodes {
  float node[3][PART_X][ROW_NODES][SHEET_ROW];
};
_Static_assert(sizeof(struct single_nodes) <= PART_DOUBLES * sizeof(double), "too large for the workspace");

/* --- weights
 * ------------------------------------------------------------------------------------------------ */

/* As stencil_weights(), from the places that P2G kept: `place` is the way from the particle's lower bound, or
 * to its upper one with a minus sign, whichever is less, in cells. So the weight of the node that is hardly
 * reached keeps its relative accuracy. */
ALWAYS_INLINE void single_weights(int support, enum linear linear, vf place, vf w[8])
{
  const vf half = vf_set(0.5F), one = vf_set(1.0F), two = vf_set(2.0F), sixth = vf_set(1.0F / 6.0F);
  const vf beyond = (vf)((place < vf_set(0.0F)) & (vf_mask)one);
  const vf f = place + beyond, g = (one - beyond) - place, f2 = f * f, g2 = g * g;
  if (support == 4) {
    const vf two_thirds = vf_set(2.0F / 3.0F);
    w[0] = g2 * g * sixth;
    w[1] = vf_fma(f2, vf_fma(half, f, -one), two_thirds);
    w[2] = vf_fma(g2, vf_fma(half, g, -one), two_thirds);
    w[3] = f2 * f * sixth;
    if (linear == GRADIENT) {
      w[4] = -half * g2;
      w[5] = f * vf_fma(vf_set(1.5F), f, -two);
      w[6] = -g * vf_fma(vf_set(1.5F), g, -two);
      w[7] = half * f2;
    } else {
      w[4] = w[0] * (-one - f);
      w[5] = w[1] * -f;
      w[6] = w[2] * g;
      w[7] = w[3] * (two - f);
    }
  } else {
    const vf middle = f - half; /* from the middle node */
    w[0] = half * g2;
    w[1] = vf_fma(-middle, middle, vf_set(0.75F));
    w[2] = half * f2;
    if (linear == GRADIENT) {
      w[4] = -g;
      w[5] = -two * middle;
      w[6] = f;
    } else {
      w[4] = w[0] * (-one - middle);
      w[5] = w[1] * -middle;
      w[6] = w[2] * (one - middle);
    }
    w[3] = w[7] = vf_set(0.0F);
  }
}

/* Each particle's four weights along an axis, then their derivatives. */
ALWAYS_INLINE void single_rows(const vf w[8], float rows[SINGLES][8])
{
  for (int half = 0; half < 2; half++) {
    vf turned[4];
    vf_turn4(w + 4 * half, turned);
    for (int k = 0; k < 4; k++)
      for (int b = 0; b < BLOCKS; b++) {
        const quad_single row = vf_block(turned[k], b);
        memcpy(rows[4 * b + k] + 4 * half, &row, sizeof row);
      }
  }
}

ALWAYS_INLINE void single_weigh(const struct transfer *t, int32_t s, int support, enum linear linear,
                                struct single_records *rec)
{
  vf w[8];
  float y[SINGLES][8], z[SINGLES][8];
  single_weights(support, linear, vf_load(t->kept.single[0] + s), w);
  for (int k = 0; k < 8; k++) vf_store_aligned(rec->x[k], w[k]);
  single_weights(support, linear, vf_load(t->kept.single[1] + s), w);
  single_rows(w, y);
  single_weights(support, linear, vf_load(t->kept.single[2] + s), w);
  single_rows(w, z);
  for (int l = 0; l < SINGLES; l++) {
    const vf wz = vf_repeat(z[l]), dz = vf_repeat(z[l] + 4), wy = vf_repeat(y[l]), dy = vf_repeat(y[l] + 4);
    for (int q = 0; q < PARTS; q++) {
      const vf along = vf_spread(wz, q * BLOCKS);
      vf_store_aligned(rec->yz[l][0] + q * SINGLES, wy * along);
      vf_store_aligned(rec->yz[l][1] + q * SINGLES, dy * along);
      vf_store_aligned(rec->yz[l][2] + q * SINGLES, wy * vf_spread(dz, q * BLOCKS));
    }
  }
}

/* --- gather
 * ------------------------------------------------------------------------------------------------- */

/* Rows of four floats, SHEET_ROW apart. */
ALWAYS_INLINE void store_rows(float *to, quads a)
{
  float rows[4 * QUADS];
  quads_store_single(rows, a);
  for (int k = 0; k < QUADS; k++) memcpy(to + k * SHEET_ROW, rows + 4 * k, 4 * sizeof(float));
}

/* One tile, from its z-th nodes on, as rows along y of the three components. */
ALWAYS_INLINE void turn_tile(float *to, const double *tile, int count, quads base)
{
  for (int z = 0; z < count; z += QUADS) {
    quads node[4], turned[4];
    for (int y = 0; y < TILE_Y; y++) node[y] = quads_load(tile + (y * TILE_Z + z) * 4) - base;
    quads_turn(node, turned);
    for (int r = 0; r < 3; r++)
      store_rows(to + r * (PART_X * ROW_NODES * SHEET_ROW) + z * SHEET_ROW, turned[1 + r]);
  }
}

/* As block_load(), relative to a node in the middle of the first cell's. It must be in the middle along all
 * axes: particles give such a node a good part of their mass. A node at the edge may have next to none and a
 * value of 1e8, beside which single precision loses all digits of the others. Rows along y are gathered four
 * nodes wide, with a weight of 0 beyond the quadratic kernel's three: that node must be a number too. */
static void single_load_block(struct single_nodes *nodes, const struct grid *g, int32_t block,
                              const double *field)
{
  static const double none[TILE_DOUBLES] __attribute__((aligned(64)));
  const struct block_extent e = block_extent(g, &g->blocks, g->cell_key, block);
  const int high = e.high[1] + MAX_SUPPORT - g->geometry.support;
  const uint64_t cell = g->cell_key[g->blocks.first[block]];
  const int middle[3] = {grid_place_x(cell) + 1, grid_place_y(cell) + 1, grid_place_z(cell) + 1};
  const double *tile[4];
  block_tiles(&g->blocks, block, middle[0], field, tile);
  const quads base = quads_repeat(tile[middle[1] / BLOCK_Y * 2 + middle[2] / BLOCK_Z] +
                                  (middle[1] % BLOCK_Y * TILE_Z + middle[2] % BLOCK_Z) * 4);
  for (int x = e.low[0]; x < e.high[0]; x++) {
    block_tiles(&g->blocks, block, x, field, tile);
    for (int half = 0; half < 2 && half * BLOCK_Y < high; half++) {
      float *to = nodes->node[0][x][0] + half * BLOCK_Y;
      turn_tile(to, tile[2 * half] ? tile[2 * half] : none, TILE_Z, base);
      turn_tile(to + TILE_Z * SHEET_ROW, tile[2 * half + 1] ? tile[2 * half + 1] : none, ROW_NODES - TILE_Z,
                base);
    }
  }
}

/* Part q of the 4 x 4 nodes, z by y, of one node plane: rows from `row` on, nodes from the y-th on. */
ALWAYS_INLINE vf sheet_load(const float *row, int y, int q)
{
#if defined __AVX512F__
  static const int32_t index[BLOCK_Y][16]
      __attribute__((aligned(64))) = {{0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27},
                                      {1, 2, 3, 4, 9, 10, 11, 12, 17, 18, 19, 20, 25, 26, 27, 28},
                                      {2, 3, 4, 5, 10, 11, 12, 13, 18, 19, 20, 21, 26, 27, 28, 29},
                                      {3, 4, 5, 6, 11, 12, 13, 14, 19, 20, 21, 22, 27, 28, 29, 30}};
  (void)q;
  return (vf)_mm512_permutex2var_ps(_mm512_loadu_ps(row), _mm512_load_si512(index[y]),
                                    _mm512_loadu_ps(row + 2 * SHEET_ROW));
#elif defined __AVX2__
  row += 2 * q * SHEET_ROW + y;
  return (vf)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row)), _mm_loadu_ps(row + SHEET_ROW),
                                  1);
#else
  return vf_load(row + q * SHEET_ROW + y);
#endif
}

/* Gathers the derivatives of TOGETHER components from r on for the particles [begin, end), those of one
 * cell. */
ALWAYS_INLINE void single_gather(struct single_records *rec, uint32_t begin, uint32_t end,
                                 const struct single_nodes *nodes, uint64_t cell, int support, int r)
{
  const int x0 = grid_place_x(cell), y0 = grid_place_y(cell), z0 = grid_place_z(cell);
  vf node[TOGETHER][MAX_SUPPORT][PARTS];
  for (int c = 0; c < TOGETHER; c++)
    for (int a = 0; a < support; a++)
      for (int q = 0; q < PARTS; q++) node[c][a][q] = sheet_load(nodes->node[r + c][x0 + a][z0], y0, q);
  for (uint32_t i = begin; i < end; i++) {
    struct single_records *one = &rec[i / SINGLES];
    const float *x = one->x[0] + i % SINGLES, *yz = one->yz[i % SINGLES][0];
    for (int c = 0; c < TOGETHER; c++) {
      vf row[PARTS], row_x[PARTS], sum[GROUPS * BLOCKS];
      for (int q = 0; q < PARTS; q++) {
        row[q] = vf_set(x[0]) * node[c][0][q];
        row_x[q] = vf_set(x[4 * SINGLES]) * node[c][0][q];
      }
      for (int a = 1; a < support; a++) {
        const vf wx = vf_set(x[a * SINGLES]), dx = vf_set(x[(4 + a) * SINGLES]);
        for (int q = 0; q < PARTS; q++) {
          row[q] = vf_fma(wx, node[c][a][q], row[q]);
          row_x[q] = vf_fma(dx, node[c][a][q], row_x[q]);
        }
      }
      for (int k = 0; k < GROUPS * BLOCKS; k++) sum[k] = vf_set(0.0F);
      for (int k = 0; k < 3; k++)
        for (int q = 0; q < PARTS; q++) {
          const vf from = k == 0 ? row_x[q] : row[q], weight = vf_load_aligned(yz + 16 * k + q * SINGLES);
          sum[k] = q == 0 ? from * weight : vf_fma(from, weight, sum[k]);
        }
      for (int k = 0; k < GROUPS; k++)
        vf_store_aligned(one->gathered[i % SINGLES][r + c] + k * SINGLES, vf_sum_blocks(sum + k * BLOCKS));
    }
  }
}

ALWAYS_INLINE void single_gather_cell(struct single_records *rec, uint32_t begin, uint32_t end,
                                      const struct single_nodes *nodes, uint64_t cell, int support)
{
  for (int r = 0; r < 3; r += TOGETHER) single_gather(rec, begin, end, nodes, cell, support, r);
}

/* The derivatives of component r, as lanes: out[k] along axis k. */
ALWAYS_INLINE void single_gathered(const struct single_records *rec, int r, vf out[GROUPS * BLOCKS])
{
  for (int k = 0; k < GROUPS; k++) {
    for (int b = 0; b < BLOCKS; b++) {
      vf row[4];
      for (int l = 0; l < 4; l++) row[l] = vf_load_aligned(rec->gathered[4 * b + l][r] + k * SINGLES);
      out[k * BLOCKS + b] = vf_sum4(row[0], row[1], row[2], row[3]);
    }
    vf_turn_blocks(out + k * BLOCKS);
  }
}

/* --- tangent
 * ------------------------------------------------------------------------------------------------ */

ALWAYS_INLINE void single_load(const struct kept *kept, int first, int count, int32_t s, vf out[])
{
  for (int k = 0; k < count; k++) out[k] = vf_load(kept->single[first + k] + s);
}

static void single_snow(const struct kept *kept, int32_t s, const vf g[9], vf out[9])
{
  vf stretch[6], moduli[3];
  single_load(kept, SINGLE_SNOW_STRETCH, 6, s, stretch);
  single_load(kept, SINGLE_SNOW_MU, 3, s, moduli);
  single_snow_apply(stretch, moduli[0], moduli[1], moduli[2], g, out);
}

static void single_general(const struct kept *kept, int32_t s, const vf g[9], vf out[9])
{
  vf u[9], d[6], pair[9], local[9], stress[9];
  single_load(kept, SINGLE_AXES, 9, s, u);
  single_load(kept, SINGLE_TANGENT, 6, s, d);
  single_load(kept, SINGLE_TANGENT + 6, 9, s, pair);
  single_to_axes(u, g, local);
  single_general_local(d, pair, local, stress);
  single_from_axes(u, stress, out);
}

static void single_tangent(const struct transfer *t, int32_t s, float scale, struct single_records *rec)
{
  const int *axis = t->grid->geometry.axis;
  vf along[GROUPS * BLOCKS], g[9], stress[9];
  for (int r = 0; r < 3; r++) {
    single_gathered(rec, r, along);
    for (int a = 0; a < 3; a++) g[3 * r + axis[a]] = along[a] * vf_set(scale);
  }
  if (t->snow_alone)
    single_snow(&t->kept, s, g, stress);
  else
    single_general(&t->kept, s, g, stress);
  for (int r = 0; r < 3; r++)
    for (int a = 0; a < 3; a++)
      vf_store_aligned(rec->coefficient[r][a], stress[3 * r + axis[a]] * vf_set(scale));
}

/* As stiffness.h has it. */
static void single_stiffness(const struct transfer *t, int32_t s, float scale, struct single_records *rec)
{
  static const int diagonal[9] = {0, 3, 5, 6, 7, 9, 10, 12, 13};
  vf found = vf_set(0.0F);
  if (t->snow_alone) {
    vf moduli[3];
    single_load(&t->kept, SINGLE_SNOW_MU, 3, s, moduli);
    found = vf_fma(vf_set(4.0F), moduli[0], moduli[1] - moduli[2]) * vf_set(1.0F / 3.0F);
  } else {
    for (int k = 0; k < 9; k++) found += vf_load(t->kept.single[SINGLE_TANGENT + diagonal[k]] + s);
    found *= vf_set(1.0F / 9.0F);
  }
  const vf_mask positive = found > vf_set(0.0F);
  vf_store_aligned(rec->stiffness, (vf)((vf_mask)found & positive) * vf_set(scale * scale));
}

/* --- scatter
 * ------------------------------------------------------------------------------------------------ */

/* Four doubles of a block of four. */
ALWAYS_INLINE v4 widen(quad_single a)
{
#if defined __AVX__
  return (v4)_mm256_cvtps_pd((__m128)a);
#else
  return __builtin_convertvector(a, v4);
#endif
}

/* The first of the four rows is complete: it is added, and the others move up. Returns it. */
ALWAYS_INLINE v4 first_row(vf sum[PARTS], double *row)
{
  const v4 part = widen(vf_block(sum[0], 0));
#if defined __AVX512F__
  sum[0] = (vf)_mm512_maskz_shuffle_f32x4(0x0fff, (__m512)sum[0], (__m512)sum[0], 1 | 2 << 2 | 3 << 4);
#elif defined __AVX2__
  sum[0] = (vf)_mm256_permute2f128_ps((__m256)sum[0], (__m256)sum[1], 0x21);
  sum[1] = (vf)_mm256_permute2f128_ps((__m256)sum[1], (__m256)sum[1], 0x81);
#else
  for (int q = 0; q + 1 < PARTS; q++) sum[q] = sum[q + 1];
  sum[PARTS - 1] = vf_set(0.0F);
#endif
  v4_store(row, v4_load(row) + part);
  return part;
}

/* One component of the four rows that a run ends with. Forces between its nodes add up to nothing but for
 * rounding; the rest, of which `rest` has what the rows before left over, is taken from a node in the middle,
 * so that the solve keeps momentum to the last digits of doubles. That is done before anything is stored: a
 * scalar stored by itself would make the next load of its row wait. */
ALWAYS_INLINE void last_rows(vf sum[MAX_SUPPORT][PARTS], double *to, v4 rest, int support)
{
  v4 part[MAX_SUPPORT][4];
  for (int a = 0; a < support; a++)
    for (int b = 0; b < 4; b++) {
      part[a][b] = widen(vf_block(sum[a][b / BLOCKS], b % BLOCKS));
      rest += part[a][b];
    }
  part[1][1] -= (v4){0.0, v4_sum(rest), 0.0, 0.0};
  for (int a = 0; a < support; a++)
    for (int b = 0; b < 4; b++) {
      double *row = to + a * SHEET_X + b * SHEET_ROW;
      v4_store(row, v4_load(row) + part[a][b]);
    }
}

/* Adds what the particles of the cells [c, end), a run, sum up to, in order from +0.0, to the block's part:
 * TOGETHER components from r on. Particle s is the first of `rec`. */
ALWAYS_INLINE void scatter_run(const struct single_records *rec, const struct grid *g, int32_t c, int32_t end,
                               int32_t s, double *corner, int support, int r)
{
  vf sum[TOGETHER][MAX_SUPPORT][PARTS];
  v4 rest[TOGETHER];
  for (int k = 0; k < TOGETHER; k++) {
    rest[k] = v4_set(0.0);
    for (int a = 0; a < support; a++)
      for (int q = 0; q < PARTS; q++) sum[k][a][q] = vf_set(0.0F);
  }
  double *to = corner + (1 + r) * SHEET_CHANNEL;
  for (uint64_t key = g->cell_key[c]; c < end; c++) {
    for (; key < g->cell_key[c]; key++, to += SHEET_ROW)
#pragma GCC unroll 3
      for (int k = 0; k < TOGETHER; k++)
        for (int a = 0; a < support; a++)
          rest[k] += first_row(sum[k][a], to + a * SHEET_X + k * SHEET_CHANNEL);
    const uint32_t behind = (uint32_t)(g->cell_start[c + 1] - s);
    for (uint32_t i = (uint32_t)(g->cell_start[c] - s); i < behind; i++) {
      const struct single_records *one = &rec[i / SINGLES];
      const float *x = one->x[0] + i % SINGLES, *yz = one->yz[i % SINGLES][0];
      vf along_x[TOGETHER][PARTS], across[TOGETHER][PARTS];
      for (int k = 0; k < TOGETHER; k++) {
        const float *by = one->coefficient[r + k][0] + i % SINGLES;
        for (int q = 0; q < PARTS; q++) {
          along_x[k][q] = vf_set(by[0]) * vf_load_aligned(yz + q * SINGLES);
          across[k][q] = vf_fma(vf_set(by[SINGLES]), vf_load_aligned(yz + 16 + q * SINGLES),
                                vf_set(by[2 * SINGLES]) * vf_load_aligned(yz + 32 + q * SINGLES));
        }
      }
      for (int a = 0; a < support; a++) {
        const vf wx = vf_set(x[a * SINGLES]), dx = vf_set(x[(4 + a) * SINGLES]);
        for (int k = 0; k < TOGETHER; k++)
          for (int q = 0; q < PARTS; q++)
            sum[k][a][q] = vf_fma(dx, along_x[k][q], vf_fma(wx, across[k][q], sum[k][a][q]));
      }
    }
  }
#pragma GCC unroll 3 /* else GCC keeps the sums in memory */
  for (int k = 0; k < TOGETHER; k++) last_rows(sum[k], to + k * SHEET_CHANNEL, rest[k], support);
}

/* Adds the squares of a cell's weights, times stiffness, to the scalars of the block's part. */
ALWAYS_INLINE void single_scatter_squares(const struct single_records *rec, uint32_t begin, uint32_t end,
                                          double *corner, int support)
{
  vf sum[MAX_SUPPORT][PARTS];
  for (int a = 0; a < support; a++)
    for (int q = 0; q < PARTS; q++) sum[a][q] = vf_set(0.0F);
  for (uint32_t i = begin; i < end; i++) {
    const struct single_records *one = &rec[i / SINGLES];
    const float *x = one->x[0] + i % SINGLES, *yz = one->yz[i % SINGLES][0];
    const vf stiffness = vf_set(one->stiffness[i % SINGLES]);
    for (int q = 0; q < PARTS; q++) {
      const vf w = vf_load_aligned(yz + q * SINGLES), dy = vf_load_aligned(yz + 16 + q * SINGLES),
               dz = vf_load_aligned(yz + 32 + q * SINGLES);
      const vf along_x = stiffness * (w * w), across = stiffness * vf_fma(dy, dy, dz * dz);
      for (int a = 0; a < support; a++) {
        const vf wx = vf_set(x[a * SINGLES]), dx = vf_set(x[(4 + a) * SINGLES]);
        sum[a][q] = vf_fma(dx * dx, along_x, vf_fma(wx * wx, across, sum[a][q]));
      }
    }
  }
  for (int a = 0; a < support; a++)
    for (int b = 0; b < 4; b++) {
      double *row = corner + a * SHEET_X + b * SHEET_ROW;
      v4_store(row, v4_load(row) + widen(vf_block(sum[a][b / BLOCKS], b % BLOCKS)));
    }
}

/* --- the kernel
 * --------------------------------------------------------------------------------------------- */

/* Asks for what was kept of the SINGLES particles at s: some dozen arrays are more than the hardware follows
 * by itself. */
static inline void prefetch_kept(const struct transfer *t, int32_t s)
{
  for (int k = 0; k < transfer_singles(t); k++) __builtin_prefetch(t->kept.single[k] + s);
}

ALWAYS_INLINE int32_t run_end(const struct grid *g, int32_t c, int32_t end)
{
  const uint64_t row = g->cell_key[c] / BLOCK_Z;
  const int32_t start = g->cell_start[c];
  do c++;
  while (c < end && g->cell_key[c] / BLOCK_Z == row && g->cell_start[c] - start < RUN_PARTICLES);
  return c;
}

/* Whole runs from c on until a pass is full. */
ALWAYS_INLINE int32_t mixed_pass_end(const struct grid *g, int32_t c, int32_t end)
{
  const int32_t start = g->cell_start[c];
  do c = run_end(g, c, end);
  while (c < end && g->cell_start[c] - start < PASS_MIXED);
  return c;
}

/* Where a cell's nodes begin in a part of PART_SHEETS. */
static inline double *sheet_corner(double *part, uint64_t cell)
{
  return part + grid_place_x(cell) * SHEET_X + grid_place_z(cell) * SHEET_ROW + grid_place_y(cell);
}

/* The cells [c, end) of a block, whole runs. */
ALWAYS_INLINE void mixed_pass(const struct transfer *t, struct single_records *rec,
                              const struct single_nodes *nodes, double *part, int32_t c, int32_t end,
                              int support, bool diagonal)
{
  const struct grid *g = t->grid;
  const enum linear linear = t->mls ? OFFSET : GRADIENT;
  const float scale = (float)stencil_scale(&g->geometry, linear);
  const int32_t s = g->cell_start[c], n = g->cell_start[end] - s;
  for (int32_t i = 0; i < n; i += SINGLES) {
    prefetch_kept(t, s + n + i);
    single_weigh(t, s + i, support, linear, rec + i / SINGLES);
  }
  for (int32_t k = c; k < end; k++)
    single_gather_cell(rec, (uint32_t)(g->cell_start[k] - s), (uint32_t)(g->cell_start[k + 1] - s), nodes,
                       g->cell_key[k], support);
  for (int32_t i = 0; i < n; i += SINGLES) {
    single_tangent(t, s + i, scale, rec + i / SINGLES);
    if (diagonal) single_stiffness(t, s + i, scale, rec + i / SINGLES);
  }
  for (int32_t k = c, run; k < end; k = run) {
    run = run_end(g, k, end);
    for (int r = 0; r < 3; r += TOGETHER)
      scatter_run(rec, g, k, run, s, sheet_corner(part, g->cell_key[k]), support, r);
  }
  for (int32_t k = c; k < end && diagonal; k++)
    single_scatter_squares(rec, (uint32_t)(g->cell_start[k] - s), (uint32_t)(g->cell_start[k + 1] - s),
                           sheet_corner(part, g->cell_key[k]), support);
}

void KERNEL(hessian_mixed)(void *arguments, struct worker *worker, int32_t block)
{
  const struct hessian_arguments *a = arguments;
  const struct transfer *t = a->transfer;
  const struct grid *g = t->grid;
  const int32_t end = g->blocks.first[block + 1];
  struct single_records *rec = (struct single_records *)worker->work.records[0];
  struct single_nodes *nodes = (struct single_nodes *)worker->work.nodes[0];
  double *part = worker->part[0];
  if (a->diagonal)
    part_clear(part);
  else
    sheets_clear_vectors(part);
  if (stencil_is_liquid(a->solid, g->blocks.first[block], end)) return;
  single_load_block(nodes, g, block, g->node[a->in]);
  for (int32_t c = g->blocks.first[block]; c < end;) {
    const int32_t pass_end = mixed_pass_end(g, c, end);
    if (stencil_is_liquid(a->solid, c, pass_end)) {
      c = pass_end;
      continue;
    }
    if (a->diagonal && g->geometry.support == 4)
      mixed_pass(t, rec, nodes, part, c, pass_end, 4, true);
    else if (a->diagonal)
      mixed_pass(t, rec, nodes, part, c, pass_end, 3, true);
    else if (g->geometry.support == 4)
      mixed_pass(t, rec, nodes, part, c, pass_end, 4, false);
    else
      mixed_pass(t, rec, nodes, part, c, pass_end, 3, false);
    c = pass_end;
  }
}
