/* The product with the Hessian in single precision, summed in double: hessian.c with twice the lanes and half
 * the bytes.
 *
 * In single precision are what one particle gathers, its tangent, and what the particles of one cell add to
 * its nodes. Sums over cells, rows and planes are in double, in the one shape that all sums have
 * (docs/architecture.md), and so is everything that the solve makes of the product. What a cell gathers from
 * is relative to one of its row's nodes, so that flight costs no digits: a gradient does not see it.
 *
 * Nodes are apart by component here: the 4 x 4 nodes of one node plane of a cell, z by y, are sixteen floats
 * of a component, one register of AVX-512 or two of AVX2. They are neighbours in memory for each cell of a
 * row along z. A particle's weights along y and z are multiplied out once for both ways; x weights come one
 * at a time. */
#include "kernels/stencil.h"
#include "material/tangent_single.h"

enum {
  PARTS = 16 / SINGLES,               /* registers of one node plane and component */
  GROUPS = (3 + BLOCKS - 1) / BLOCKS, /* registers that hold three sums, a block each */
  TOGETHER = SINGLES == 16 ? 3 : 1    /* components that there are registers for at once */
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

/* Rows of nodes along z as in struct span, a component at a time: component, node plane, z, y. */
struct single_span {
  float node[3][MAX_SUPPORT][SPAN_NODES][MAX_SUPPORT] __attribute__((aligned(64)));
};
enum { SPAN_DIAGONAL = 3 }; /* behind the components, where it is wanted */
struct sum_span {
  double node[4][MAX_SUPPORT][SPAN_NODES][MAX_SUPPORT] __attribute__((aligned(64)));
};

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

/* The tiles that a run's rows of nodes along z are in, by y, at the z-th node from the start of the first
 * tile, and where the rows begin there. -1: no node of the run. */
struct row_places {
  int32_t foot[MAX_SUPPORT], offset[MAX_SUPPORT];
};

ALWAYS_INLINE struct row_places row_places(const struct grid *g, int32_t cell, int z)
{
  const int support = g->geometry.support;
  const int32_t y = g->cell_y[cell], *foot = &g->block_foot[4 * g->cell_block[cell]];
  struct row_places at;
  for (int b = 0; b < MAX_SUPPORT; b++) {
    at.foot[b] = b < support ? foot[2 * ((y % TILE_Y + b) / TILE_Y) + z / TILE_Z] : -1;
    at.offset[b] = (y + b) % TILE_Y * TILE_Z * 4;
  }
  return at;
}

/* As span_load(), relative to a node in the middle of the first cell's. It must be in the middle along all
 * axes: particles give such a node a good part of their mass. A node at the edge may have next to none and a
 * value of 1e8, beside which single precision loses all digits of the others. */
ALWAYS_INLINE void single_span_load(struct single_span *span, const struct grid *g, int32_t plane,
                                    int32_t cell, const double *field)
{
  const int32_t(*tiles)[MAX_SUPPORT] = (const void *)&g->foot_tile[g->plane_foot[plane] * MAX_SUPPORT];
  const int middle = g->cell_z[cell] % TILE_Z + 1; /* along z, perhaps in the next tile */
  struct row_places at = row_places(g, cell, middle);
  const double *row = field + (int64_t)tiles[at.foot[1]][1] * TILE_DOUBLES + at.offset[1];
  const quads base = quads_repeat(row + middle % TILE_Z * 4);
  double absent[TILE_Z * 4] __attribute__((aligned(64))); /* becomes zero */
  for (int k = 0; k < TILE_Z * 4; k += 4 * QUADS) quads_store(absent + k, base);
  for (int half = 0; half < SPAN_NODES; half += TILE_Z) {
    at = row_places(g, cell, half);
    for (int a = 0; a < g->geometry.support; a++) {
      const double *from[MAX_SUPPORT];
      for (int b = 0; b < MAX_SUPPORT; b++) {
        from[b] = absent;
        if (at.foot[b] >= 0) from[b] = field + (int64_t)tiles[at.foot[b]][a] * TILE_DOUBLES + at.offset[b];
      }
      for (int z = half; z < half + TILE_Z && z < SPAN_NODES; z += QUADS) {
        quads node[4], turned[4];
        for (int b = 0; b < MAX_SUPPORT; b++) node[b] = quads_load(from[b] + (z - half) * 4) - base;
        quads_turn(node, turned);
        for (int r = 0; r < 3; r++) quads_store_single(span->node[r][a][z], turned[1 + r]);
      }
    }
  }
}

/* Gathers the derivatives of TOGETHER components from r on for the particles [begin, end), those of one cell,
 * whose first node along z is the z-th. */
ALWAYS_INLINE void single_gather(struct single_records *rec, uint32_t begin, uint32_t end,
                                 const struct single_span *span, int z, int support, int r)
{
  vf node[TOGETHER][MAX_SUPPORT][PARTS];
  for (int c = 0; c < TOGETHER; c++)
    for (int a = 0; a < support; a++)
      for (int q = 0; q < PARTS; q++) node[c][a][q] = vf_load(span->node[r + c][a][z + q * BLOCKS]);
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
                                      const struct single_span *span, int z, int support)
{
  for (int r = 0; r < 3; r += TOGETHER) single_gather(rec, begin, end, span, z, support, r);
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

/* Adds one component of a cell's nodes to the row. Forces between them add up to nothing but for rounding;
 * the rest is taken from a node in the middle, so that the solve keeps momentum to the last digits of
 * doubles. */
ALWAYS_INLINE void single_add(vf sum[MAX_SUPPORT][PARTS],
                              double (*node)[MAX_SUPPORT][SPAN_NODES][MAX_SUPPORT], int z, int support)
{
  quads rest = {0};
  for (int a = 0; a < support; a++)
    for (int b = 0; b < MAX_SUPPORT; b += QUADS) {
      double *to = (*node)[a][z + b];
      const quads part = quads_widen(sum[a][b / BLOCKS], b % BLOCKS);
      rest += part;
      quads_store(to, quads_load(to) + part);
    }
  (*node)[1][z + 1][1] -= quads_sum(rest);
}

/* Adds what the particles of one cell sum up to, in id order from +0.0, to the row: TOGETHER components from
 * r on. */
ALWAYS_INLINE void single_scatter(const struct single_records *rec, uint32_t begin, uint32_t end,
                                  struct sum_span *span, int z, int support, int r)
{
  vf sum[TOGETHER][MAX_SUPPORT][PARTS];
  for (int c = 0; c < TOGETHER; c++)
    for (int a = 0; a < support; a++)
      for (int q = 0; q < PARTS; q++) sum[c][a][q] = vf_set(0.0F);
  for (uint32_t i = begin; i < end; i++) {
    const struct single_records *one = &rec[i / SINGLES];
    const float *x = one->x[0] + i % SINGLES, *yz = one->yz[i % SINGLES][0];
    vf along_x[TOGETHER][PARTS], across[TOGETHER][PARTS];
    for (int c = 0; c < TOGETHER; c++) {
      const float *by = one->coefficient[r + c][0] + i % SINGLES;
      for (int q = 0; q < PARTS; q++) {
        along_x[c][q] = vf_set(by[0]) * vf_load_aligned(yz + q * SINGLES);
        across[c][q] = vf_fma(vf_set(by[SINGLES]), vf_load_aligned(yz + 16 + q * SINGLES),
                              vf_set(by[2 * SINGLES]) * vf_load_aligned(yz + 32 + q * SINGLES));
      }
    }
    for (int a = 0; a < support; a++) {
      const vf wx = vf_set(x[a * SINGLES]), dx = vf_set(x[(4 + a) * SINGLES]);
      for (int c = 0; c < TOGETHER; c++)
        for (int q = 0; q < PARTS; q++)
          sum[c][a][q] = vf_fma(dx, along_x[c][q], vf_fma(wx, across[c][q], sum[c][a][q]));
    }
  }
  for (int c = 0; c < TOGETHER; c++) single_add(sum[c], &span->node[r + c], z, support);
}

ALWAYS_INLINE void single_scatter_cell(const struct single_records *rec, uint32_t begin, uint32_t end,
                                       struct sum_span *span, int z, int support)
{
  for (int r = 0; r < 3; r += TOGETHER) single_scatter(rec, begin, end, span, z, support, r);
}

/* Adds the squares of a cell's weights, times stiffness, to the row's diagonal. */
ALWAYS_INLINE void single_scatter_squares(const struct single_records *rec, uint32_t begin, uint32_t end,
                                          struct sum_span *span, int z, int support)
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
    for (int b = 0; b < MAX_SUPPORT; b += QUADS) {
      double *to = span->node[SPAN_DIAGONAL][a][z + b];
      quads_store(to, quads_load(to) + quads_widen(sum[a][b / BLOCKS], b % BLOCKS));
    }
}

/* As span_begin(). */
ALWAYS_INLINE void sum_span_begin(struct sum_span *span, bool continued, bool diagonal)
{
  for (int r = 0; r < (diagonal ? 4 : 3); r++)
    for (int a = 0; a < MAX_SUPPORT; a++) {
      double *node = span->node[r][a][0];
      if (continued)
        memcpy(node, node + TILE_Z * 4, 4 * 4 * sizeof(double));
      else
        vd_clear(node, 4 * 4);
      vd_clear(node + 4 * 4, (SPAN_NODES - 4) * 4);
    }
}

/* As span_flush(). */
ALWAYS_INLINE void sum_span_flush(const struct sum_span *span, const struct grid *g, int32_t cell,
                                  int32_t foot_count, bool continued, bool diagonal, double *q)
{
  double unwanted[TILE_Z * 4] __attribute__((aligned(64)));
  vd_clear(unwanted, TILE_Z * 4);
  for (int half = 0; half < (continued ? TILE_Z : SPAN_NODES); half += TILE_Z) {
    const struct row_places at = row_places(g, cell, half);
    for (int a = 0; a < g->geometry.support; a++) {
      double *to[MAX_SUPPORT];
      for (int b = 0; b < MAX_SUPPORT; b++) {
        to[b] = unwanted;
        if (at.foot[b] >= 0) to[b] = q + ((int64_t)a * foot_count + at.foot[b]) * TILE_DOUBLES + at.offset[b];
      }
      for (int z = half; z < half + TILE_Z && z < SPAN_NODES; z += QUADS) {
        quads component[4] = {{0}}, node[4];
        if (diagonal) component[0] = quads_load(span->node[SPAN_DIAGONAL][a][z]);
        for (int r = 0; r < 3; r++) component[1 + r] = quads_load(span->node[r][a][z]);
        quads_turn(component, node);
        for (int b = 0; b < MAX_SUPPORT; b++) {
          double *sum = to[b] + (z - half) * 4;
          quads_store(sum, quads_load(sum) + node[b]);
        }
      }
    }
  }
}

/* --- the kernel
 * --------------------------------------------------------------------------------------------- */

struct product {
  const struct transfer *t;
  struct single_records *rec;
  double *q;
  const double *in;
  int32_t plane, end, foot_count;
  struct single_span from; /* nodes that no support reaches stay zero */
  struct sum_span span;
  bool continued;
};

/* Asks for what was kept of the SINGLES particles at s: some dozen arrays are more than the hardware follows
 * by itself. */
static inline void prefetch_kept(const struct transfer *t, int32_t s)
{
  for (int k = 0; k < transfer_singles(t); k++) __builtin_prefetch(t->kept.single[k] + s);
}

/* The cells [c, pass_end), whole runs. */
ALWAYS_INLINE void mixed_pass(struct product *p, int32_t c, int32_t pass_end, int support, bool diagonal)
{
  const struct transfer *t = p->t;
  const struct grid *g = t->grid;
  const enum linear linear = t->mls ? OFFSET : GRADIENT;
  const float scale = (float)stencil_scale(&g->geometry, linear);
  const int32_t first = c, s = g->cell_start[c], n = g->cell_start[pass_end] - s;
  for (int32_t i = 0; i < n; i += SINGLES) {
    prefetch_kept(t, s + n + i);
    single_weigh(t, s + i, support, linear, p->rec + i / SINGLES);
  }
  while (c < pass_end) {
    const int32_t run = stencil_run_end(g, c, pass_end);
    single_span_load(&p->from, g, p->plane, c, p->in);
    for (; c < run; c++)
      single_gather_cell(p->rec, (uint32_t)(g->cell_start[c] - s), (uint32_t)(g->cell_start[c + 1] - s),
                         &p->from, g->cell_z[c] % TILE_Z, support);
  }
  for (int32_t i = 0; i < n; i += SINGLES) {
    single_tangent(t, s + i, scale, p->rec + i / SINGLES);
    if (diagonal) single_stiffness(t, s + i, scale, p->rec + i / SINGLES);
  }
  for (c = first; c < pass_end;) {
    const int32_t run = stencil_run_end(g, c, pass_end);
    const bool goes_on = stencil_goes_on(g, c, run, p->end);
    sum_span_begin(&p->span, p->continued, diagonal);
    for (int32_t k = c; k < run; k++) {
      const uint32_t begin = (uint32_t)(g->cell_start[k] - s), behind = (uint32_t)(g->cell_start[k + 1] - s);
      single_scatter_cell(p->rec, begin, behind, &p->span, g->cell_z[k] % TILE_Z, support);
      if (diagonal) single_scatter_squares(p->rec, begin, behind, &p->span, g->cell_z[k] % TILE_Z, support);
    }
    sum_span_flush(&p->span, g, c, p->foot_count, goes_on, diagonal, p->q);
    p->continued = goes_on;
    c = run;
  }
}

void KERNEL(hessian_mixed)(void *arguments, struct worker *worker, int32_t plane)
{
  const struct hessian_arguments *a = arguments;
  const struct transfer *t = a->transfer;
  struct grid *g = t->grid;
  const int32_t end = g->plane_cell[plane + 1], foot_count = g->plane_foot[plane + 1] - g->plane_foot[plane];
  if (g->plane_cell[plane] == end) return;
  struct product p = {.t = t,
                      .rec = (struct single_records *)worker->work.records[0],
                      .q = worker->work.q,
                      .in = g->node[a->in],
                      .plane = plane,
                      .end = end,
                      .foot_count = foot_count};
  memset(p.q, 0, (size_t)MAX_SUPPORT * (size_t)foot_count * TILE_DOUBLES * sizeof(double));
  for (int32_t c = g->plane_cell[plane]; c < end;) {
    const int32_t pass_end = stencil_pass_end(g, c, end, PASS_MIXED);
    if (!p.continued && stencil_is_liquid(a->solid, c, pass_end)) {
      c = pass_end;
      continue;
    }
    if (a->diagonal && g->geometry.support == 4)
      mixed_pass(&p, c, pass_end, 4, true);
    else if (a->diagonal)
      mixed_pass(&p, c, pass_end, 3, true);
    else if (g->geometry.support == 4)
      mixed_pass(&p, c, pass_end, 4, false);
    else
      mixed_pass(&p, c, pass_end, 3, false);
    c = pass_end;
  }
  scatter_plane_end(g, plane, a->out, p.q);
}
