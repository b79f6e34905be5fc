/* B of the particles after a step is accepted, for scenes that keep one copy of it (struct next, `once`):
 * what G2P would have found, from the same velocities at the same places. Nobody reads the old B any more, so
 * the new one takes its place, in the order of the step as all of the new state. */
#include "kernels/stencil.h"

enum { LINE = 8, LINE_BATCHES = LINE / LANES }; /* doubles of a cache line */

/* Gathers for the particles of one run; particle s has row `row`. */
ALWAYS_INLINE void gather_run(const struct transfer *t, struct workspace *w, int32_t plane, int32_t c,
                              int32_t run, int32_t s, int32_t row, int support)
{
  const struct grid *g = t->grid;
  struct span span;
  span_load(&span, g, plane, c, g->node[NODE_VELOCITY]);
  for (; c < run; c++)
    gather_cell(w->records[0], (uint32_t)(g->cell_start[c] - s), (uint32_t)(g->cell_start[c + 1] - s),
                span_corner(&span, g->cell_z[c] % TILE_Z), NULL, SPAN_STRIDE0, SPAN_STRIDE1, support,
                w->out[0] + (row + g->cell_start[c] - s) * GATHERED_DOUBLES);
}

/* A line of each array, or what there is of it, from particle s on: past the caches, as G2P does it. */
static void store_line(const struct transfer *t, int32_t s, int32_t count, const double *gathered)
{
  const struct grid_geometry *geometry = &t->grid->geometry;
  vd b[LINE_BATCHES][9];
  int size[LINE_BATCHES], n = 0;
  for (int32_t done = 0; done < count; n++) {
    const int32_t whole = LANES - (s + done) % LANES, left = count - done;
    vd rows[16];
    gathered_lanes(gathered + done * GATHERED_DOUBLES, rows);
    gathered_gradient(geometry, rows, geometry->spacing, b[n]);
    size[n] = left < whole ? left : whole;
    for (int l = 0; l < size[n] && t->p->flying; l++)
      for (int k = 0; k < 9 && particle_flies(t->p, t->slot[s + done + l]); k++) b[n][k][l] = 0.0;
    done += size[n];
  }
  for (int k = 0; k < 9; k++)
    for (int i = 0, at = s; i < n; at += size[i++]) vd_stream_some(t->p->b[k] + at, b[i][k], size[i]);
}

/* What does not fill a line waits for the next pass, unless this is the last. Returns how many wait. */
static int32_t store_waiting(const struct transfer *t, struct workspace *w, int32_t first, int32_t waiting,
                             bool last)
{
  int32_t done = 0;
  for (;;) {
    const int32_t whole = LINE - (first + done) % LINE, left = waiting - done;
    if (left < whole && !(last && left > 0)) break;
    const int32_t count = left < whole ? left : whole;
    store_line(t, first + done, count, w->out[0] + done * GATHERED_DOUBLES);
    done += count;
  }
  if (done < waiting)
    memmove(w->out[0], w->out[0] + done * GATHERED_DOUBLES,
            (size_t)(waiting - done) * GATHERED_DOUBLES * sizeof(double));
  return waiting - done;
}

void KERNEL(g2p_affine)(void *arguments, struct worker *worker, int32_t plane)
{
  struct transfer *t = arguments;
  struct workspace *w = &worker->work;
  const struct grid *g = t->grid;
  const int32_t end = g->plane_cell[plane + 1];
  int32_t waiting = 0;
  for (int32_t c = g->plane_cell[plane]; c < end;) {
    const int32_t pass_end = stencil_pass_end(g, c, end, PASS_GATHER), s = g->cell_start[c],
                  n = g->cell_start[pass_end] - s;
    for (int32_t i = 0; i < n; i += LANES) {
      const struct batch batch = batch_at(t, s + i, n - i);
      vd x[3];
      batch_positions(t, &batch, x);
      stencil_weigh(t, x, OFFSET, w->records[0] + i / LANES);
    }
    while (c < pass_end) {
      const int32_t run = stencil_run_end(g, c, pass_end);
      if (g->geometry.support == 4)
        gather_run(t, w, plane, c, run, s, waiting, 4);
      else
        gather_run(t, w, plane, c, run, s, waiting, 3);
      c = run;
    }
    waiting = store_waiting(t, w, s - waiting, waiting + n, pass_end == end);
  }
  vd_stream_end();
}
