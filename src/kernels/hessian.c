/* The product with the Hessian of the elastic energy: gather the gradient, apply the tangent, scatter, in one
 * pass over the particles (method.md, step 6). What the tangent is made of was kept by P2G. */
#include "kernels/stiffness.h"

static void snow_product(const struct kept *kept, int32_t s, const vd g[9], vd stress[9])
{
  struct snow_tangent tangent = {
      .mu = vd_load(kept->mu + s), .bulk = vd_load(kept->bulk + s), .pressure = vd_load(kept->pressure + s)};
  for (int k = 0; k < 6; k++) tangent.v[k] = vd_load(kept->stretch[k] + s);
  snow_tangent_apply(&tangent, g, stress);
}

static void general_product(const struct kept *kept, int32_t s, const vd g[9], vd stress[9])
{
  struct tangent tangent;
  for (int k = 0; k < 9; k++) tangent.u[k] = vd_load(kept->u[k] + s);
  for (int k = 0; k < 6; k++) tangent.d[k] = vd_load(kept->d[k] + s);
  for (int k = 0; k < 9; k++) tangent.pair[k / 3][k % 3] = vd_load(kept->pair[k] + s);
  tangent_apply(&tangent, g, stress);
}

static void tangent_batch(const struct transfer *t, int32_t s, const double *gathered, struct records *rec,
                          double scale)
{
  const struct grid_geometry *geometry = &t->grid->geometry;
  vd rows[16], g[9], stress[9], coefficient[3][3];
  gathered_lanes(gathered, rows);
  gathered_gradient(geometry, rows, scale, g);
  if (t->snow_alone)
    snow_product(&t->kept, s, g, stress);
  else
    general_product(&t->kept, s, g, stress);
  for (int a = 0; a < 3; a++)
    for (int r = 0; r < 3; r++) coefficient[a][r] = stress[3 * r + geometry->axis[a]] * vd_set(scale);
  const vd zero[3] = {vd_set(0.0), vd_set(0.0), vd_set(0.0)};
  stencil_values(rec, vd_set(0.0), zero, coefficient);
}

/* The cells [c, end) of a block. */
ALWAYS_INLINE void hessian_pass(const struct transfer *t, struct worker *worker, int32_t c, int32_t end,
                                int support)
{
  struct workspace *w = &worker->work;
  const struct grid *g = t->grid;
  const enum linear linear = t->mls ? OFFSET : GRADIENT;
  const int32_t s = g->cell_start[c], n = g->cell_start[end] - s;
  struct records *rec = w->records[0];
  for (int32_t i = 0; i < n; i += LANES) {
    const struct batch batch = batch_at(t, s + i, n - i);
    vd x[3];
    batch_positions(t, &batch, x);
    stencil_weigh(t, x, linear, rec + i / LANES);
  }
  for (int32_t k = c; k < end; k++) {
    const uint32_t begin = (uint32_t)(g->cell_start[k] - s);
    gather_cell(rec, begin, (uint32_t)(g->cell_start[k + 1] - s), block_corner(w->nodes[0], g->cell_key[k]),
                NULL, support, w->out[0] + begin * GATHERED_DOUBLES);
  }
  const double scale = stencil_scale(&g->geometry, linear);
  for (int32_t i = 0; i < n; i += LANES)
    tangent_batch(t, s + i, w->out[0] + i * GATHERED_DOUBLES, rec + i / LANES, scale);
  for (int32_t k = c; k < end; k++)
    scatter_cell(rec, (uint32_t)(g->cell_start[k] - s), (uint32_t)(g->cell_start[k + 1] - s),
                 part_corner(worker->part[0], g->cell_key[k]), NULL, support, false, true);
}

void KERNEL(hessian)(void *arguments, struct worker *worker, int32_t block)
{
  const struct hessian_arguments *a = arguments;
  const struct transfer *t = a->transfer;
  const struct grid *g = t->grid;
  const int32_t end = g->blocks.first[block + 1];
#if defined __AVX2__
  if (!a->diagonal)
    sheets_clear_vectors(worker->part[0]);
  else
#endif
    part_clear(worker->part[0]);
  if (stencil_is_liquid(a->solid, g->blocks.first[block], end)) return;
  block_load(worker->work.nodes[0], g, block, g->node[a->in]);
  for (int32_t c = g->blocks.first[block]; c < end;) {
    const int32_t pass_end = stencil_pass_end(g, c, end, PASS_SCATTER);
    if (stencil_is_liquid(a->solid, c, pass_end)) {
      c = pass_end;
      continue;
    }
    if (g->geometry.support == 4)
      hessian_pass(t, worker, c, pass_end, 4);
    else
      hessian_pass(t, worker, c, pass_end, 3);
    c = pass_end;
  }
  if (a->diagonal) add_stiffness(t, worker->work.records[0], block, worker->part[0]);
}
