#include "kernels/crew.h"

#include "base/flush.h"
#include "base/memory.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* A single thread may have two chunks (grid.h, edge_apart). */
static int worker_count(const struct crew *crew)
{
  return crew->size < 2 ? 2 : crew->size;
}

void crew_create(struct crew *crew, int threads)
{
  crew->size = threads;
  crew->label = "planes";
  crew->workers = mem_alloc((size_t)worker_count(crew), sizeof *crew->workers);
}

void crew_free(struct crew *crew)
{
  for (int w = 0; w < worker_count(crew); w++) {
    struct worker *worker = &crew->workers[w];
    workspace_free(&worker->work);
    for (int k = 0; k < crew->bodies; k++) push_log_destroy(&worker->bodies[k].log);
    mem_free(worker->bodies);
  }
  mem_free(crew->workers);
  *crew = (struct crew){0};
}

void crew_fit(struct crew *crew, const struct grid *grid)
{
  for (int w = 0; w < grid->chunk_count; w++) workspace_fit(&crew->workers[w].work, grid);
}

void crew_fit_tiles(struct crew *crew, const struct grid *grid, int32_t footprint)
{
  for (int w = 0; w < grid->chunk_count; w++) workspace_fit_tiles(&crew->workers[w].work, footprint);
}

/* Adds the sums of one worker to another's: integers, so exact. */
static void add_sums(struct exact_sum *to, const struct exact_sum *from, int count)
{
  for (int k = 0; k < count; k++) exact_join(&to[k], &from[k]);
}

/* Planes [*begin, *end) of a chunk in a pass. Without an edge apart nothing can be sent to the right before
 * all is done, so all comes first then. */
static void planes_of(const struct grid *g, int c, enum pass pass, int32_t *begin, int32_t *end)
{
  *begin = g->chunk[c];
  *end = g->chunk[c + 1];
  if (pass == PASS_ALL) return;
  const bool all_first = g->has_right && !g->edge_apart, edge = g->edge_apart && c == g->chunk_count - 1;
  int32_t first = *begin;
  if (all_first || edge)
    first = *end;
  else if (c == 0 && g->has_left)
    first = *begin + g->geometry.support < *end ? *begin + g->geometry.support : *end;
  if (pass == PASS_EDGES)
    *end = first;
  else
    *begin = first;
}

void crew_planes(struct crew *crew, const struct grid *g, plane_kernel *kernel, void *arguments,
                 enum pass pass)
{
#pragma omp parallel for num_threads(g->threads) schedule(static, 1)
  for (int c = 0; c < g->chunk_count; c++) {
    const double since = timeline_begin(crew->timeline);
    const flush_mode mode = flush_begin();
    int32_t begin, end;
    planes_of(g, c, pass, &begin, &end);
    for (int32_t plane = begin; plane < end; plane++) {
      kernel(arguments, &crew->workers[c], plane);
      if (c == 0 && pass != PASS_ALL && crew->meanwhile) crew->meanwhile(crew->context);
    }
    flush_end(mode);
    if (begin < end) timeline_end(crew->timeline, omp_get_thread_num(), crew->label, since);
  }
}

/* Where the share of worker w begins, out of `count` tiles. */
static int32_t share(int32_t count, int w, int workers)
{
  return (int32_t)((int64_t)count * w / workers);
}

void crew_tiles(struct crew *crew, const struct grid *g, tile_kernel *kernel, void *arguments, int32_t owned,
                struct exact_sum *sums, int count)
{
  const int32_t others = g->tile_count - owned;
#pragma omp parallel for num_threads(g->threads) schedule(static, 1)
  for (int w = 0; w < g->threads; w++) {
    const double since = timeline_begin(crew->timeline);
    const flush_mode mode = flush_begin();
    struct worker *worker = &crew->workers[w];
    memset(worker->sum, 0, (size_t)count * sizeof *worker->sum);
    worker->counts = true;
    kernel(arguments, worker, share(owned, w, g->threads), share(owned, w + 1, g->threads));
    worker->counts = false;
    kernel(arguments, worker, owned + share(others, w, g->threads), owned + share(others, w + 1, g->threads));
    flush_end(mode);
    timeline_end(crew->timeline, w, "tiles", since);
  }
  for (int w = 0; w < g->threads; w++) add_sums(sums, crew->workers[w].sum, count);
}

void crew_begin(struct crew *crew)
{
  for (int w = 0; w < worker_count(crew); w++) {
    crew->workers[w].result = (struct step_result){0};
    memset(crew->workers[w].measured, 0, sizeof crew->workers[w].measured);
    crew->workers[w].melted = crew->workers[w].frozen = (struct exact_sum){{0}};
  }
}

static void add_result(struct step_result *to, const struct step_result *from)
{
  to->max_speed = fmax(to->max_speed, from->max_speed);
  to->max_sound = fmax(to->max_sound, from->max_sound);
  to->plastic += from->plastic;
  to->shared_plastic += from->shared_plastic;
  to->limited += from->limited;
  to->outside += from->outside;
  to->contacts += from->contacts;
  to->melted += from->melted;
  to->frozen += from->frozen;
  to->liquid += from->liquid;
  to->stiffened += from->stiffened;
  to->flying += from->flying;
  to->shared_changed += from->shared_changed;
  if (from->trouble <= to->trouble) return;
  to->trouble = from->trouble;
  to->trouble_particle = from->trouble_particle;
}

void crew_collect(const struct crew *crew, const struct grid *g, struct step_result *result,
                  struct exact_sum measured[MEASURED_COUNT], struct exact_sum changed[2])
{
  for (int c = 0; c < g->chunk_count; c++) {
    add_result(result, &crew->workers[c].result);
    add_sums(measured, crew->workers[c].measured, MEASURED_COUNT);
    add_sums(&changed[0], &crew->workers[c].melted, 1);
    add_sums(&changed[1], &crew->workers[c].frozen, 1);
  }
}

static struct body_tally *make_tallies(int bodies, const struct body_tally *like)
{
  struct body_tally *made = mem_alloc((size_t)bodies, sizeof *made);
  for (int k = 0; k < bodies; k++)
    if (like[k].log) made[k].log = push_log_create(like[k].log->spacing, like[k].log->lower);
  return made;
}

void crew_tally(struct crew *crew, int bodies, const struct body_tally *like)
{
  crew->bodies = bodies;
  for (int w = 0; w < worker_count(crew); w++) {
    struct worker *worker = &crew->workers[w];
    memset(worker->energy, 0, sizeof worker->energy);
    if (!worker->bodies) worker->bodies = make_tallies(bodies, like);
    for (int k = 0; k < bodies; k++) tally_clear(&worker->bodies[k]);
  }
}

void crew_collect_tallies(const struct crew *crew, int bodies, struct body_tally *tallies,
                          struct exact_sum energy[ENERGY_COUNT])
{
  for (int w = 0; w < worker_count(crew); w++) {
    const struct worker *worker = &crew->workers[w];
    for (int k = 0; k < bodies; k++) {
      add_sums(tallies[k].sum, worker->bodies[k].sum, TAKEN_COUNT);
      if (tallies[k].log) push_log_append(tallies[k].log, worker->bodies[k].log);
    }
    add_sums(energy, worker->energy, ENERGY_COUNT);
  }
}
