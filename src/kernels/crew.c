#include "kernels/crew.h"

#include "base/flush.h"
#include "base/memory.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* Blocks [next, end) of a pass that a thread has not begun; on a cache line of its own. */
struct share {
  int32_t next, end;
} __attribute__((aligned(64)));

void crew_create(struct crew *crew, int threads, const struct kernels *kernels)
{
  crew->size = threads;
  crew->kernels = kernels;
  crew->label = "blocks";
  crew->workers = mem_alloc((size_t)threads, sizeof *crew->workers);
  crew->shares = mem_alloc((size_t)threads, sizeof *crew->shares);
}

static void store_free(struct part_store *store)
{
  for (int32_t k = 0; k < store->made_count; k++) mem_free(store->made[k]);
  mem_free(store->made);
  mem_free(store->spare);
}

void crew_free(struct crew *crew)
{
  for (int w = 0; w < crew->size; w++) {
    struct worker *worker = &crew->workers[w];
    workspace_free(&worker->work);
    for (int k = 0; k < crew->bodies; k++) push_log_destroy(&worker->bodies[k].log);
    mem_free(worker->bodies);
  }
  for (int k = 0; k < CREW_SUMS; k++) {
    mem_free(crew->sum[k].part);
    mem_free(crew->sum[k].left);
    mem_free(crew->sum[k].wait);
  }
  for (int k = 0; k < WORKER_PARTS; k++) store_free(&crew->store[k]);
  mem_free(crew->workers);
  mem_free(crew->shares);
  *crew = (struct crew){0};
}

void crew_fit(struct crew *crew, const struct grid *grid)
{
  for (int w = 0; w < grid->threads; w++) workspace_fit(&crew->workers[w].work, grid);
}

/* Adds the sums of one worker to another's: integers, so exact. */
static void add_sums(struct exact_sum *to, const struct exact_sum *from, int count)
{
  for (int k = 0; k < count; k++) exact_join(&to[k], &from[k]);
}

/* --- which blocks
 * ------------------------------------------------------------------------------------------------------- */

/* The blocks of a pass, in order: [0, gap) and from gap + skip on, `count` of them. */
struct listed {
  int32_t count, gap, skip;
};

static struct listed blocks_of(const struct block_set *set, enum pass pass)
{
  const int32_t inside = set->inside[1] - set->inside[0];
  switch (pass) {
  case PASS_EDGES: return (struct listed){set->count - inside, set->inside[0], inside};
  case PASS_INSIDE: return (struct listed){inside, 0, set->inside[0]};
  default: return (struct listed){set->count, set->count, 0};
  }
}

static int32_t listed_block(const struct listed *list, int32_t k)
{
  return k < list->gap ? k : k + list->skip;
}

/* Threads begin with equal numbers of cells; who is done early takes from the others. */
static void share_out(struct crew *crew, int threads, const struct block_set *set, const struct listed *list)
{
  int64_t cells = 0, before = 0;
  for (int32_t k = 0; k < list->count; k++) {
    const int32_t b = listed_block(list, k);
    cells += set->first[b + 1] - set->first[b];
  }
  int32_t k = 0;
  for (int w = 0; w < threads; w++) {
    crew->shares[w].next = k;
    while (k < list->count && (w + 1 == threads || before < cells * (w + 1) / threads)) {
      const int32_t b = listed_block(list, k++);
      before += set->first[b + 1] - set->first[b];
    }
    crew->shares[w].end = k;
  }
}

/* The next block for a thread: its own, then those of the threads behind it. *from is whose it takes. */
static int32_t take(struct crew *crew, int threads, int w, int *from)
{
  for (; *from < threads; ++*from) {
    struct share *share = &crew->shares[(w + *from) % threads];
    if (__atomic_load_n(&share->next, __ATOMIC_RELAXED) >= share->end) continue;
    const int32_t k = __atomic_fetch_add(&share->next, 1, __ATOMIC_RELAXED);
    if (k < share->end) return k;
  }
  return -1;
}

/* --- parts
 * --------------------------------------------------------------------------------------------------------------
 */

/* Critical sections have no name: OpenMP would make it a symbol of the shared library. */
static double *store_take(struct part_store *store, int fields)
{
  double *part = NULL;
#pragma omp critical
  {
    if (store->spare_count) part = store->spare[--store->spare_count];
  }
  if (part) return part;
  part = mem_alloc((size_t)fields * PART_DOUBLES, sizeof *part);
#pragma omp critical
  {
    store->made = mem_reserve(store->made, &store->made_capacity, store->made_count + 1, sizeof *store->made);
    store->spare =
        mem_reserve(store->spare, &store->spare_capacity, store->made_count + 1, sizeof *store->spare);
    store->made[store->made_count++] = part;
  }
  return part;
}

static void store_give(struct part_store *store, double *part)
{
#pragma omp critical
  store->spare[store->spare_count++] = part;
}

/* One thread's share of the counters, before any block is begun. */
static void sum_begin(struct sum_state *state, struct grid *g, const struct block_sum *sum, int w,
                      int threads)
{
  const struct block_set *set = sum->set;
  const int32_t blocks[2] = {(int32_t)((int64_t)set->count * w / threads),
                             (int32_t)((int64_t)set->count * (w + 1) / threads)},
                bricks[2] = {(int32_t)((int64_t)g->brick_count * w / threads),
                             (int32_t)((int64_t)g->brick_count * (w + 1) / threads)};
  for (int32_t b = blocks[0]; b < blocks[1]; b++) {
    state->left[b] = 0;
    for (int k = 0; k < 8; k++) state->left[b] += set->brick[8 * (int64_t)b + k] >= 0;
  }
  for (int32_t b = bricks[0]; b < bricks[1]; b++) {
    state->wait[b] = 0;
    for (int k = 0; k < 8; k++) state->wait[b] += set->of_brick[8 * (int64_t)b + k] >= 0;
    for (int f = 0; f < sum->fields && state->wait[b] == 0; f++)
      memset(g->node[sum->field[f]] + (int64_t)b * BRICK_DOUBLES, 0, BRICK_DOUBLES * sizeof(double));
  }
}

/* All blocks of a brick are done. */
static void merge_brick(struct crew *crew, struct sum_state *state, struct grid *g,
                        const struct block_sum *sum, int32_t brick)
{
  const int32_t *blocks = sum->set->of_brick + 8 * (int64_t)brick;
  for (int f = 0; f < sum->fields; f++) {
    struct brick_parts parts;
    for (int k = 0; k < 8; k++)
      parts.part[k] = blocks[k] < 0 ? NULL : state->part[blocks[k]] + (int64_t)f * PART_DOUBLES;
    crew->kernels->merge(sum->layout, sum->vector, &parts,
                         g->node[sum->field[f]] + (int64_t)brick * BRICK_DOUBLES);
  }
  for (int k = 0; k < 8; k++)
    if (blocks[k] >= 0 && __atomic_sub_fetch(&state->left[blocks[k]], 1, __ATOMIC_ACQ_REL) == 0)
      store_give(&crew->store[sum->fields - 1], state->part[blocks[k]]);
}

static void sum_block(struct crew *crew, struct sum_state *state, struct grid *g, const struct block_sum *sum,
                      struct worker *worker, int32_t block)
{
  double *part = state->part[block] = store_take(&crew->store[sum->fields - 1], sum->fields);
  for (int f = 0; f < sum->fields; f++) worker->part[f] = part + (int64_t)f * PART_DOUBLES;
  sum->kernel(sum->arguments, worker, block);
  if (state->left[block] == 0) { /* none of its bricks is there: liquid that no particle is near */
    store_give(&crew->store[sum->fields - 1], part);
    return;
  }
  for (int k = 0; k < 8; k++) {
    const int32_t brick = sum->set->brick[8 * (int64_t)block + k];
    if (brick >= 0 && __atomic_sub_fetch(&state->wait[brick], 1, __ATOMIC_ACQ_REL) == 0)
      merge_brick(crew, state, g, sum, brick);
  }
}

void crew_sum(struct crew *crew, struct grid *g, const struct block_sum *sum, int n, enum pass pass)
{
  const struct listed list = blocks_of(sum->set, pass);
  struct sum_state *state = &crew->sum[n];
  const int threads = g->threads;
  if (pass != PASS_INSIDE) {
    const int64_t blocks = sum->set->count, bricks = g->brick_count;
    for (int f = 0; f < sum->fields; f++) grid_make(g, sum->field[f]);
    state->part = mem_reserve(state->part, &state->part_capacity, blocks, sizeof *state->part);
    state->left = mem_reserve(state->left, &state->left_capacity, blocks, sizeof *state->left);
    state->wait = mem_reserve(state->wait, &state->wait_capacity, bricks, sizeof *state->wait);
  }
  share_out(crew, threads, sum->set, &list);
#pragma omp parallel num_threads(threads)
  {
    const int w = omp_get_thread_num(), team = omp_get_num_threads();
    const flush_mode mode = flush_begin();
    if (pass != PASS_INSIDE) {
      sum_begin(state, g, sum, w, team);
#pragma omp barrier
    }
    const double since = timeline_begin(crew->timeline);
    int from = 0;
    bool any = false;
    for (int32_t k = take(crew, threads, w, &from); k >= 0; k = take(crew, threads, w, &from)) {
      any = true;
      sum_block(crew, state, g, sum, &crew->workers[w], listed_block(&list, k));
      if (w == 0 && pass == PASS_INSIDE && crew->meanwhile) crew->meanwhile(crew->context);
    }
    flush_end(mode);
    if (any) timeline_end(crew->timeline, w, crew->label, since);
  }
}

void crew_blocks(struct crew *crew, const struct grid *g, const struct block_set *set, block_kernel *kernel,
                 void *arguments)
{
  const struct listed list = blocks_of(set, PASS_ALL);
  const int threads = g->threads;
  share_out(crew, threads, set, &list);
#pragma omp parallel num_threads(threads)
  {
    const int w = omp_get_thread_num();
    const double since = timeline_begin(crew->timeline);
    const flush_mode mode = flush_begin();
    int from = 0;
    bool any = false;
    for (int32_t k = take(crew, threads, w, &from); k >= 0; k = take(crew, threads, w, &from)) {
      any = true;
      kernel(arguments, &crew->workers[w], k);
    }
    flush_end(mode);
    if (any) timeline_end(crew->timeline, w, crew->label, since);
  }
}

/* Where the share of worker w begins, out of `count` tiles. */
static int32_t tiles_before(int32_t count, int w, int workers)
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
    kernel(arguments, worker, tiles_before(owned, w, g->threads), tiles_before(owned, w + 1, g->threads));
    worker->counts = false;
    kernel(arguments, worker, owned + tiles_before(others, w, g->threads),
           owned + tiles_before(others, w + 1, g->threads));
    flush_end(mode);
    timeline_end(crew->timeline, w, "tiles", since);
  }
  for (int w = 0; w < g->threads; w++) add_sums(sums, crew->workers[w].sum, count);
}

void crew_begin(struct crew *crew)
{
  for (int w = 0; w < crew->size; w++) {
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
  if (from->trouble) step_note_trouble(to, from->trouble, from->trouble_particle);
}

void crew_collect(const struct crew *crew, struct step_result *result,
                  struct exact_sum measured[MEASURED_COUNT], struct exact_sum changed[2])
{
  for (int w = 0; w < crew->size; w++) {
    add_result(result, &crew->workers[w].result);
    add_sums(measured, crew->workers[w].measured, MEASURED_COUNT);
    add_sums(&changed[0], &crew->workers[w].melted, 1);
    add_sums(&changed[1], &crew->workers[w].frozen, 1);
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
  for (int w = 0; w < crew->size; w++) {
    struct worker *worker = &crew->workers[w];
    memset(worker->energy, 0, sizeof worker->energy);
    if (!worker->bodies) worker->bodies = make_tallies(bodies, like);
    for (int k = 0; k < bodies; k++) tally_clear(&worker->bodies[k]);
  }
}

void crew_collect_tallies(const struct crew *crew, int bodies, struct body_tally *tallies,
                          struct exact_sum energy[ENERGY_COUNT])
{
  for (int w = 0; w < crew->size; w++) {
    const struct worker *worker = &crew->workers[w];
    for (int k = 0; k < bodies; k++) {
      add_sums(tallies[k].sum, worker->bodies[k].sum, TAKEN_COUNT);
      if (tallies[k].log) push_log_append(tallies[k].log, worker->bodies[k].log);
    }
    add_sums(energy, worker->energy, ENERGY_COUNT);
  }
}
