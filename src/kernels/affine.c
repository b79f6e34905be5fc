/* B of the particles after a step is accepted, for scenes that keep one copy of it (struct next, `once`):
 * what G2P would have found, from the same velocities at the same places. Nobody reads the old B any more, so
 * the new one takes its place, in the order of the step as all of the new state. */
#include "kernels/stencil.h"

enum { LINE = 8, LINE_BATCHES = LINE / LANES }; /* doubles of a cache line */

/* Gathers for the particles of the cells [c, end); the first has row `row`. */
ALWAYS_INLINE void gather_pass(const struct transfer *t, struct workspace *w, int32_t c, int32_t end,
                               int32_t row, int support)
{
  const struct grid *g = t->grid;
  const int32_t s = g->cell_start[c];
  for (; c < end; c++)
    gather_cell(w->records[0], (uint32_t)(g->cell_start[c] - s), (uint32_t)(g->cell_start[c + 1] - s),
                block_corner(w->nodes[0], g->cell_key[c]), NULL, support,
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

void KERNEL(g2p_affine)(void *arguments, struct worker *worker, int32_t block)
{
  struct transfer *t = arguments;
  struct workspace *w = &worker->work;
  const struct grid *g = t->grid;
  const int32_t end = g->blocks.first[block + 1];
  int32_t waiting = 0;
  block_load(w->nodes[0], g, block, g->node[NODE_VELOCITY]);
  for (int32_t c = g->blocks.first[block]; c < end;) {
    const int32_t pass_end = stencil_pass_end(g, c, end, PASS_GATHER), s = g->cell_start[c],
                  n = g->cell_start[pass_end] - s;
    for (int32_t i = 0; i < n; i += LANES) {
      const struct batch batch = batch_at(t, s + i, n - i);
      vd x[3];
      batch_positions(t, &batch, x);
      stencil_weigh(t, x, OFFSET, w->records[0] + i / LANES);
    }
    if (g->geometry.support == 4)
      gather_pass(t, w, c, pass_end, waiting, 4);
    else
      gather_pass(t, w, c, pass_end, waiting, 3);
    waiting = store_waiting(t, w, s - waiting, waiting + n, pass_end == end);
    c = pass_end;
  }
  vd_stream_end();
}
