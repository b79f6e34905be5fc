/* Movers come nearly in order, from the cells of some blocks into the same or the next ones: a first pass
 * puts those of each part of the domain together, and what remains is done part by part, in the cache. */
#include "grid/reorder_movers.h"

#include "base/memory.h"

#include <string.h>

enum { TOP_BITS = 11, TOP = 1 << TOP_BITS, LOW_BITS = 8, FEW = 48 };

/* One of the two sets of arrays, from some mover on. */
struct side {
  uint64_t *key, *id;
  int32_t *slot;
};

static struct side side_at(uint64_t *key, uint64_t *id, int32_t *slot, int32_t first)
{
  return (struct side){key + first, id + first, slot + first};
}

/* One stable counting pass by the digit of so many bits; at[d + 1] becomes the end of those with digit d. */
static void counting_pass(const struct side *from, const struct side *to, int32_t count, int shift, int bits,
                          int32_t *at)
{
  const uint64_t mask = ((uint64_t)1 << bits) - 1;
  memset(at, 0, (((size_t)1 << bits) + 2) * sizeof *at);
  for (int32_t k = 0; k < count; k++) at[(from->key[k] >> shift & mask) + 2]++;
  for (uint64_t d = 2; d <= mask + 1; d++) at[d] += at[d - 1];
  for (int32_t k = 0; k < count; k++) {
    const int32_t place = at[(from->key[k] >> shift & mask) + 1]++;
    to->key[place] = from->key[k];
    to->id[place] = from->id[k];
    to->slot[place] = from->slot[k];
  }
}

static void insertion_sort(const struct side *a, int32_t count)
{
  for (int32_t k = 1; k < count; k++) {
    const uint64_t key = a->key[k], id = a->id[k];
    const int32_t slot = a->slot[k];
    int32_t j = k;
    for (; j > 0 && (key != a->key[j - 1] ? key < a->key[j - 1] : id < a->id[j - 1]); j--) {
      a->key[j] = a->key[j - 1];
      a->id[j] = a->id[j - 1];
      a->slot[j] = a->slot[j - 1];
    }
    a->key[j] = key;
    a->id[j] = id;
    a->slot[j] = slot;
  }
}

static void copy(const struct side *from, const struct side *to, int32_t count)
{
  memcpy(to->key, from->key, (size_t)count * sizeof *to->key);
  memcpy(to->id, from->id, (size_t)count * sizeof *to->id);
  memcpy(to->slot, from->slot, (size_t)count * sizeof *to->slot);
}

/* Sorts `from` into `to` (which may be the same) by counting passes over the bits in which keys differ, a
 * few of each axis, so that a digit starts at the lowest bit that is left; then by id, which an insertion
 * sort finds each cell's movers nearly ordered by. */
static void sort_part(struct side from, struct side to, int32_t count)
{
  const struct side goal = to;
  uint64_t differ = 0;
  for (int32_t k = 1; k < count; k++) differ |= from.key[k] ^ from.key[0];
  while (differ && count > FEW) {
    int32_t at[(1 << LOW_BITS) + 2];
    const int shift = __builtin_ctzll(differ);
    counting_pass(&from, &to, count, shift, LOW_BITS, at);
    differ &= ~((((uint64_t)1 << LOW_BITS) - 1) << shift);
    const struct side keep = from;
    from = to;
    to = keep;
  }
  if (from.key != goal.key) copy(&from, &goal, count);
  insertion_sort(&goal, count);
}

/* The digit of the first pass: the highest bits in which keys differ. */
static int top_shift(const struct movers *m, const struct mover_range *range, int threads)
{
  uint64_t differ = 0, some = 0;
  for (int w = 0; w < threads; w++)
    if (range[w].begin < range[w].end) some = m->key[range[w].begin];
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(| : differ)
  for (int w = 0; w < threads; w++)
    for (int32_t k = range[w].begin; k < range[w].end; k++) differ |= m->key[k] ^ some;
  if (differ == 0) return 0;
  const int highest = 63 - __builtin_clzll(differ);
  return highest < TOP_BITS ? 0 : highest + 1 - TOP_BITS;
}

static uint32_t top_digit(uint64_t key, int shift)
{
  return (uint32_t)(key >> shift & (TOP - 1));
}

void movers_sort(struct movers *m, const struct mover_range *range, int threads)
{
  int32_t(*at)[TOP] = mem_alloc((size_t)threads, sizeof *at); /* by thread and digit */
  int32_t first[TOP + 1];
  const int shift = top_shift(m, range, threads);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int w = 0; w < threads; w++)
    for (int32_t k = range[w].begin; k < range[w].end; k++) at[w][top_digit(m->key[k], shift)]++;
  m->count = 0;
  for (int d = 0; d < TOP; d++) {
    first[d] = m->count;
    for (int w = 0; w < threads; w++) {
      const int32_t count = at[w][d];
      at[w][d] = m->count;
      m->count += count;
    }
  }
  first[TOP] = m->count;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int w = 0; w < threads; w++)
    for (int32_t k = range[w].begin; k < range[w].end; k++) {
      const int32_t place = at[w][top_digit(m->key[k], shift)]++;
      m->spare_key[place] = m->key[k];
      m->spare_id[place] = m->id[k];
      m->spare_slot[place] = m->slot[k];
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
  for (int d = 0; d < TOP; d++)
    if (first[d] < first[d + 1])
      sort_part(side_at(m->spare_key, m->spare_id, m->spare_slot, first[d]),
                side_at(m->key, m->id, m->slot, first[d]), first[d + 1] - first[d]);
  mem_free(at);
}

int32_t movers_from(const struct movers *m, uint64_t key)
{
  int32_t low = 0, high = m->count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (m->key[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
