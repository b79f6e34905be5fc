/* Cuts of least cost, by bisection over the cost that no slab may exceed.
 *
 * A larger slab never costs less, so the fewest slabs that keep a limit are found by going as far as it
 * allows, from the end down; and cutting a slab in two keeps the limit too, so any number from there to one
 * per layer can keep it. */
#include "decomposition/slabs.h"

#include "base/log.h"
#include "base/memory.h"

#include <stdbool.h>

struct chain {
  int32_t layers;
  int64_t *before; /* [layers + 1] work of all layers before a cut */
  int64_t *up_to;  /* [layers + 1] that and what a slab ending there does beyond: [a, b) costs up_to[b] -
                      before[a] */
  int32_t *fewest; /* [layers + 1] slabs from a cut to the end; more than there are layers: none can */
};

static void chain_create(struct chain *c, int32_t layers, struct slab_work work)
{
  const size_t cuts = (size_t)layers + 1;
  *c = (struct chain){.layers = layers,
                      .before = mem_alloc(cuts, sizeof *c->before),
                      .up_to = mem_alloc(cuts, sizeof *c->up_to),
                      .fewest = mem_alloc(cuts, sizeof *c->fewest)};
  for (int32_t k = 0; k <= layers; k++) {
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
}

/* Slabs from every cut to the end of the domain, none of them above the limit. From a cut the farthest end is
 * the best one, and it falls with the cut. */
static void count_slabs(struct chain *c, int64_t limit)
{
  int32_t end = c->layers;
  c->fewest[c->layers] = 0;
  for (int32_t a = c->layers - 1; a >= 0; a--) {
    while (end > a && c->up_to[end] - c->before[a] > limit) end--;
    c->fewest[a] = end > a ? c->fewest[end] + 1 : c->layers + 1;
  }
}

/* Whether exactly `count` slabs lead from a cut to the end. */
static bool leads_on(const struct chain *c, int32_t cut, int count)
{
  return c->fewest[cut] <= count && count <= c->layers - cut;
}

/* The least limit that `count` slabs can keep; leaves its counts in the chain. */
static int64_t least_limit(struct chain *c, int count)
{
  int64_t low = c->before[c->layers] / count, high = c->up_to[c->layers];
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
  const double goal = (double)c->before[c->layers] * (r + 1) / count;
  int32_t best = -1;
  double least = 0.0;
  for (int32_t b = first + 1; b <= c->layers && c->up_to[b] - c->before[first] <= limit; b++) {
    const double miss =
        (double)c->before[b] < goal ? goal - (double)c->before[b] : (double)c->before[b] - goal;
    if (!leads_on(c, b, count - r - 1) || (best >= 0 && miss >= least)) continue;
    best = b;
    least = miss;
  }
  FIRN_ASSERT(best >= 0);
  return best;
}

struct slabs *slabs_create(int ranks, int32_t layers, struct slab_work work)
{
  struct slabs *slabs = mem_alloc(1, sizeof *slabs);
  slabs->count = ranks < layers ? ranks : layers;
  slabs->layers = layers;
  slabs->cut = mem_alloc((size_t)slabs->count + 1, sizeof *slabs->cut);
  slabs->cut[slabs->count] = layers;
  if (slabs->count == 1) return slabs;

  struct chain chain;
  chain_create(&chain, layers, work);
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

int slabs_owner(const struct slabs *slabs, int32_t layer)
{
  int low = 0, high = slabs->count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (slabs->cut[middle] <= layer)
      low = middle;
    else
      high = middle;
  }
  return low;
}

bool slabs_is_valid(const struct slabs *s)
{
  if (s->count < 1 || s->cut[0] != 0 || s->cut[s->count] != s->layers) return false;
  for (int r = 0; r < s->count; r++)
    if (s->cut[r + 1] - s->cut[r] < 1) return false;
  return true;
}
