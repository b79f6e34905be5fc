/* Cuts of least cost, by bisection over the cost that no slab may exceed.
 *
 * Whether a limit can be kept is a question of how many slabs can reach each plane. Going as far as the limit
 * allows is no answer: the next slab must have its least planes, which may be heavy ones. But the counts that
 * reach a plane have no gaps: of two ways with k and k + 2 slabs, some slab of the second lies inside one of
 * the first in the place where changing over from the one way to the other gives k + 1. So the fewest and the
 * most slabs to each plane tell all, and both come from one sweep with a range that only moves forward. */
#include "decomposition/slabs.h"

#include "base/log.h"
#include "base/memory.h"

#include <stdbool.h>

struct chain {
  int32_t planes;
  int64_t *before; /* [planes + 1] work of all planes before a cut */
  int64_t *up_to;  /* [planes + 1] that and what a slab ending there does beyond: [a, b) costs up_to[b] -
                      before[a] */
  int32_t *fewest, *most; /* [planes + 1] slabs from a cut to the end; most 0: none can */
  int32_t *queue[2];      /* cuts of the range that may still be the best, for each of the two */
};

static void chain_create(struct chain *c, int32_t planes, struct slab_work work)
{
  const size_t cuts = (size_t)planes + 1;
  *c = (struct chain){.planes = planes,
                      .before = mem_alloc(cuts, sizeof *c->before),
                      .up_to = mem_alloc(cuts, sizeof *c->up_to),
                      .fewest = mem_alloc(cuts, sizeof *c->fewest),
                      .most = mem_alloc(cuts, sizeof *c->most)};
  for (int k = 0; k < 2; k++) c->queue[k] = mem_alloc(cuts, sizeof *c->queue[k]);
  for (int32_t k = 0; k <= planes; k++) {
    if (k > 0) c->before[k] = c->before[k - 1] + work.weight[k - 1];
    c->up_to[k] = c->before[k] + (work.beyond ? work.beyond[k] : 0);
    FIRN_ASSERT(k == 0 || (c->before[k] >= c->before[k - 1] && c->up_to[k] >= c->up_to[k - 1]));
  }
}

static void chain_free(struct chain *c)
{
  mem_free(c->before);
  mem_free(c->up_to);
  mem_free(c->fewest);
  mem_free(c->most);
  for (int k = 0; k < 2; k++) mem_free(c->queue[k]);
}

/* Slabs from every cut to the end of the domain, none of them above the limit, by sweeping down: the cuts b
 * that a slab from a can end at are [a + SLAB_LEAST, end), and both bounds fall with a. */
static void count_slabs(struct chain *c, int64_t limit)
{
  int32_t head[2] = {0, 0}, tail[2] = {0, 0};
  c->fewest[c->planes] = c->most[c->planes] = 0;
  for (int32_t a = c->planes - 1; a >= 0; a--) {
    c->fewest[a] = c->most[a] = 0;
    const int32_t b = a + SLAB_LEAST;
    if (b > c->planes) continue;
    if (b == c->planes || c->most[b] > 0) {
      while (tail[0] > head[0] && c->fewest[c->queue[0][tail[0] - 1]] >= c->fewest[b]) tail[0]--;
      while (tail[1] > head[1] && c->most[c->queue[1][tail[1] - 1]] <= c->most[b]) tail[1]--;
      for (int k = 0; k < 2; k++) c->queue[k][tail[k]++] = b;
    }
    for (int k = 0; k < 2; k++)
      while (head[k] < tail[k] && c->up_to[c->queue[k][head[k]]] - c->before[a] > limit) head[k]++;
    if (head[0] == tail[0]) continue;
    c->fewest[a] = c->fewest[c->queue[0][head[0]]] + 1;
    c->most[a] = c->most[c->queue[1][head[1]]] + 1;
  }
}

/* Whether exactly `count` slabs lead from a cut to the end. */
static bool leads_on(const struct chain *c, int32_t cut, int count)
{
  return c->fewest[cut] <= count && count <= c->most[cut];
}

/* The least limit that `count` slabs can keep; leaves its counts in the chain. */
static int64_t least_limit(struct chain *c, int count)
{
  int64_t low = c->before[c->planes] / count, high = c->up_to[c->planes];
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    count_slabs(c, middle);
    if (leads_on(c, 0, count))
      high = middle;
    else
      low = middle + 1;
  }
  count_slabs(c, low);
  return low;
}

/* The end of slab r, which starts at `first`: of those that keep the limit and lead on, the one nearest to
 * equal shares of all work. */
static int32_t choose_cut(const struct chain *c, int32_t first, int r, int count, int64_t limit)
{
  const double goal = (double)c->before[c->planes] * (r + 1) / count;
  int32_t best = -1;
  double least = 0.0;
  for (int32_t b = first + SLAB_LEAST; b <= c->planes && c->up_to[b] - c->before[first] <= limit; b++) {
    const double miss =
        (double)c->before[b] < goal ? goal - (double)c->before[b] : (double)c->before[b] - goal;
    if (!leads_on(c, b, count - r - 1) || (best >= 0 && miss >= least)) continue;
    best = b;
    least = miss;
  }
  FIRN_ASSERT(best >= 0);
  return best;
}

struct slabs *slabs_create(int ranks, int32_t planes, struct slab_work work)
{
  struct slabs *slabs = mem_alloc(1, sizeof *slabs);
  const int32_t most = planes / SLAB_LEAST > 1 ? planes / SLAB_LEAST : 1;
  slabs->count = ranks < most ? ranks : most;
  slabs->planes = planes;
  slabs->cut = mem_alloc((size_t)slabs->count + 1, sizeof *slabs->cut);
  slabs->cut[slabs->count] = planes;
  if (slabs->count == 1) return slabs;

  struct chain chain;
  chain_create(&chain, planes, work);
  const int64_t limit = least_limit(&chain, slabs->count);
  for (int r = 0; r + 1 < slabs->count; r++)
    slabs->cut[r + 1] = choose_cut(&chain, slabs->cut[r], r, slabs->count, limit);
  chain_free(&chain);
  return slabs;
}

void slabs_destroy(struct slabs **slabs)
{
  if (!*slabs) return;
  mem_free((*slabs)->cut);
  mem_free(*slabs);
  *slabs = NULL;
}

int64_t slabs_most(const struct slabs *slabs, struct slab_work work)
{
  int64_t most = 0;
  for (int r = 0; r < slabs->count; r++) {
    int64_t sum = work.beyond ? work.beyond[slabs->cut[r + 1]] : 0;
    for (int32_t k = slabs->cut[r]; k < slabs->cut[r + 1]; k++) sum += work.weight[k];
    if (sum > most) most = sum;
  }
  return most;
}

int slabs_owner(const struct slabs *slabs, int32_t plane)
{
  int low = 0, high = slabs->count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (slabs->cut[middle] <= plane)
      low = middle;
    else
      high = middle;
  }
  return low;
}

bool slabs_is_valid(const struct slabs *s)
{
  if (s->count < 1 || s->cut[0] != 0 || s->cut[s->count] != s->planes) return false;
  for (int r = 0; r < s->count; r++)
    if (s->cut[r + 1] - s->cut[r] < (s->count > 1 ? SLAB_LEAST : 1)) return false;
  return true;
}
