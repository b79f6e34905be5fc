#include "crew.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* A single thread may have two chunks (grid.h, edge_apart). */
static int worker_count(const struct crew *crew)
{
  return crew->size < 2 ? 2 : crew->size;
}

void crew_create(struct crew *crew, int threads)
{
  crew->size = threads;
  crew->workers = mem_alloc((size_t)worker_count(crew), sizeof *crew->workers);
}

void crew_free(struct crew *crew)
{
  for (int w = 0; w < worker_count(crew); w++) workspace_free(&crew->workers[w].work);
  mem_free(crew->workers);
  *crew = (struct crew){0};
}

void crew_fit(struct crew *crew, const struct grid *grid)
{
  for (int w = 0; w < grid->chunk_count; w++) workspace_fit(&crew->workers[w].work, grid);
}

/* Adds the sums of one worker to another's: integers, so exact. */
static void add_sums(struct exact_sum *to, const struct exact_sum *from, int count)
{
  for (int k = 0; k < count; k++)
    for (int l = 0; l < EXACT_LIMBS; l++) to[k].limb[l] += from[k].limb[l];
}

#define FOR_CHUNKS(crew, grid, c)                                                                            \
  _Pragma("omp parallel for num_threads((crew)->size) schedule(static, 1)") for (int c = 0;                  \
                                                                                 c < (grid)->chunk_count;    \
                                                                                 c++)

/* Planes [*begin, *end) of a chunk in a pass. Without an edge apart nothing can be sent to the right before
 * all is done, so all comes first then. */
static void planes_of(const struct grid *g, int c, enum pass pass, int32_t *begin, int32_t *end)
{
  *begin = g->chunk[c];
  *end = g->chunk[c + 1];
  const bool all_first = g->has_right && !g->edge_apart, edge = g->edge_apart && c == g->chunk_count - 1;
  int32_t first = *begin;
  if (all_first || edge)
    first = *end;
  else if (c == 0 && g->has_left)
    first = *begin + g->frame.support < *end ? *begin + g->frame.support : *end;
  if (pass == PASS_EDGES)
    *end = first;
  else
    *begin = first;
}

static void meanwhile(const struct crew *crew, int c, enum pass pass)
{
  if (c == 0 && pass == PASS_INSIDE && crew->meanwhile) crew->meanwhile(crew->context);
}

void crew_p2g(struct crew *crew, const struct kernels *kernels, struct transfer *t, enum pass pass)
{
  struct grid *g = t->grid;
  FOR_CHUNKS(crew, g, c)
  {
    struct worker *w = &crew->workers[c];
    struct transfer mine = *t;
    int32_t begin, end;
    planes_of(g, c, pass, &begin, &end);
    if (pass == PASS_EDGES) {
      memset(w->measured, 0, sizeof w->measured);
      w->hardened_to_limit = 0;
    }
    mine.measured = w->measured;
    mine.hardened_to_limit = &w->hardened_to_limit;
    for (int32_t plane = begin; plane < end; plane++) {
      kernels->p2g(&mine, &w->work, plane);
      meanwhile(crew, c, pass);
    }
  }
  if (pass == PASS_EDGES) return;
  for (int c = 0; c < g->chunk_count && t->measuring; c++)
    add_sums(t->measured, crew->workers[c].measured, MEASURED_COUNT);
  grid_join(g, GROUP_MOMENTUM);
  if (!transfer_is_fused(t)) grid_join(g, GROUP_VELOCITY);
}

void crew_estimate_volume(struct crew *crew, const struct kernels *kernels, struct transfer *t)
{
  struct grid *g = t->grid;
  FOR_CHUNKS(crew, g, c)
  for (int32_t plane = g->chunk[c]; plane < g->chunk[c + 1]; plane++)
    kernels->estimate_volume(t, &crew->workers[c].work, plane);
}

void crew_hessian(struct crew *crew, const struct kernels *kernels, struct transfer *t, enum grid_group in,
                  enum grid_group out, enum pass pass)
{
  struct grid *g = t->grid;
  FOR_CHUNKS(crew, g, c)
  {
    int32_t begin, end;
    planes_of(g, c, pass, &begin, &end);
    for (int32_t plane = begin; plane < end; plane++) {
      kernels->hessian(t, &crew->workers[c].work, plane, in, out);
      meanwhile(crew, c, pass);
    }
  }
  if (pass == PASS_INSIDE) grid_join(g, out);
}

static void add_result(struct step_result *to, const struct step_result *from)
{
  to->max_speed = fmax(to->max_speed, from->max_speed);
  to->max_sound = fmax(to->max_sound, from->max_sound);
  to->plastic += from->plastic;
  to->hardened_to_limit += from->hardened_to_limit;
  to->outside += from->outside;
  to->contacts += from->contacts;
  if (from->trouble <= to->trouble) return;
  to->trouble = from->trouble;
  to->trouble_particle = from->trouble_particle;
}

void crew_g2p(struct crew *crew, const struct kernels *kernels, struct transfer *t,
              struct step_result *result, int64_t *shared_plastic)
{
  const struct grid *g = t->grid;
  const int shared = g->frame.support - 1;
  FOR_CHUNKS(crew, g, c)
  {
    struct worker *w = &crew->workers[c];
    w->result = (struct step_result){.hardened_to_limit = w->hardened_to_limit};
    w->shared_plastic = 0;
    for (int32_t plane = g->chunk[c]; plane < g->chunk[c + 1]; plane++) {
      const int64_t before = w->result.plastic;
      kernels->g2p(t, &w->work, plane, &w->result);
      if ((g->has_left && plane < shared) || (g->has_right && plane >= g->planes - shared))
        w->shared_plastic += w->result.plastic - before;
    }
  }
  for (int c = 0; c < g->chunk_count; c++) {
    add_result(result, &crew->workers[c].result);
    *shared_plastic += crew->workers[c].shared_plastic;
  }
}

/* Tiles [begin, end) of worker w out of `count`. */
static int32_t share(int32_t count, int w, int workers)
{
  return (int32_t)((int64_t)count * w / workers);
}

#define FOR_WORKERS(crew, w)                                                                                 \
  _Pragma("omp parallel for num_threads((crew)->size) schedule(static, 1)") for (int w = 0;                  \
                                                                                 w < (crew)->size; w++)

void crew_velocity(struct crew *crew, const struct kernels *kernels, struct transfer *t)
{
  const int32_t tiles = t->grid->tile_count;
  FOR_WORKERS(crew, w)
  kernels->velocity(t, share(tiles, w, crew->size), share(tiles, w + 1, crew->size));
}

void crew_mix(struct crew *crew, const struct kernels *kernels, struct transfer *t)
{
  const int32_t tiles = t->grid->tile_count;
  FOR_WORKERS(crew, w)
  kernels->mix(t, share(tiles, w, crew->size), share(tiles, w + 1, crew->size));
}

void crew_cr_product(struct crew *crew, const struct kernels *kernels, struct grid *grid, double factor,
                     int32_t owned, struct exact_sum dots[4])
{
  const int32_t others = grid->tile_count - owned;
  FOR_WORKERS(crew, w)
  {
    struct worker *worker = &crew->workers[w];
    memset(worker->dots, 0, sizeof worker->dots);
    kernels->cr_product(grid, factor, share(owned, w, crew->size), share(owned, w + 1, crew->size),
                        worker->dots);
    kernels->cr_product(grid, factor, owned + share(others, w, crew->size),
                        owned + share(others, w + 1, crew->size), NULL);
  }
  for (int w = 0; w < crew->size; w++) add_sums(dots, crew->workers[w].dots, 4);
}

void crew_cr_residual(struct crew *crew, const struct kernels *kernels, struct grid *grid, double factor,
                      int32_t owned, struct exact_sum *norm)
{
  const int32_t others = grid->tile_count - owned;
  FOR_WORKERS(crew, w)
  {
    struct worker *worker = &crew->workers[w];
    memset(worker->dots, 0, sizeof worker->dots);
    kernels->cr_residual(grid, factor, share(owned, w, crew->size), share(owned, w + 1, crew->size),
                         worker->dots);
    kernels->cr_residual(grid, factor, owned + share(others, w, crew->size),
                         owned + share(others, w + 1, crew->size), NULL);
  }
  for (int w = 0; w < crew->size; w++) add_sums(norm, crew->workers[w].dots, 1);
}

void crew_cr_update(struct crew *crew, const struct kernels *kernels, struct grid *grid, double a, double b)
{
  const int32_t tiles = grid->tile_count;
  FOR_WORKERS(crew, w)
  kernels->cr_update(grid, a, b, share(tiles, w, crew->size), share(tiles, w + 1, crew->size));
}
