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

ALWAYS_INLINE void hessian_pass(const struct transfer *t, struct workspace *w, int32_t plane, int32_t c,
                                int32_t pass_end, int32_t end, const double *in, struct span *out,
                                bool *continued, int support)
{
  const struct grid *g = t->grid;
  const enum linear linear = t->mls ? OFFSET : GRADIENT;
  const int32_t s = g->cell_start[c], n = g->cell_start[pass_end] - s, first = c;
  const int32_t foot_count = g->plane_foot[plane + 1] - g->plane_foot[plane];
  struct records *rec = w->records[0];
  struct span span;
  for (int32_t i = 0; i < n; i += LANES) {
    const struct batch batch = batch_at(t, s + i, n - i);
    vd x[3];
    batch_positions(t, &batch, x);
    stencil_weigh(t, x, linear, rec + i / LANES);
  }
  while (c < pass_end) {
    const int32_t run = stencil_run_end(g, c, pass_end);
    span_load(&span, g, plane, c, in);
    for (; c < run; c++) {
      const uint32_t begin = (uint32_t)(g->cell_start[c] - s);
      gather_cell(rec, begin, (uint32_t)(g->cell_start[c + 1] - s), span_corner(&span, g->cell_z[c] % TILE_Z),
                  NULL, SPAN_STRIDE0, SPAN_STRIDE1, support, w->out[0] + begin * GATHERED_DOUBLES);
    }
  }
  const double scale = stencil_scale(&g->geometry, linear);
  for (int32_t i = 0; i < n; i += LANES)
    tangent_batch(t, s + i, w->out[0] + i * GATHERED_DOUBLES, rec + i / LANES, scale);
  for (c = first; c < pass_end;) {
    const int32_t run = stencil_run_end(g, c, pass_end);
    const bool goes_on = stencil_goes_on(g, c, run, end);
    span_begin(out, *continued);
    for (int32_t k = c; k < run; k++)
      scatter_cell(rec, (uint32_t)(g->cell_start[k] - s), (uint32_t)(g->cell_start[k + 1] - s),
                   out->node[0][g->cell_z[k] % TILE_Z], NULL, SPAN_STRIDE0, SPAN_STRIDE1, support, false,
                   true);
    span_flush(out, g, c, foot_count, goes_on, w->q);
    *continued = goes_on;
    c = run;
  }
}

void KERNEL(hessian)(void *arguments, struct worker *worker, int32_t plane)
{
  const struct hessian_arguments *a = arguments;
  const struct transfer *t = a->transfer;
  struct workspace *w = &worker->work;
  struct grid *g = t->grid;
  const int32_t end = g->plane_cell[plane + 1], foot_count = g->plane_foot[plane + 1] - g->plane_foot[plane];
  if (g->plane_cell[plane] == end) return;
  memset(w->q, 0, (size_t)MAX_SUPPORT * (size_t)foot_count * TILE_DOUBLES * sizeof(double));
  struct span span;
  bool continued = false;
  for (int32_t c = g->plane_cell[plane]; c < end;) {
    const int32_t pass_end = stencil_pass_end(g, c, end, PASS_SCATTER);
    if (!continued && stencil_is_liquid(a->solid, c, pass_end)) {
      c = pass_end;
      continue;
    }
    if (g->geometry.support == 4)
      hessian_pass(t, w, plane, c, pass_end, end, g->node[a->in], &span, &continued, 4);
    else
      hessian_pass(t, w, plane, c, pass_end, end, g->node[a->in], &span, &continued, 3);
    c = pass_end;
  }
  if (a->diagonal) add_stiffness(t, w->records[0], plane, w->q);
  scatter_plane_end(g, plane, a->out, w->q);
}
