/* Movers come nearly in order, from the cells of a few planes into the same planes: a first pass puts each
 * plane's together, and what remains is done plane by plane, in the cache. */
#include "grid/reorder_movers.h"

#include <string.h>

enum { TOP_BITS = 11, LOW_BITS = 8, FEW = 48, MANY = 1 << 18 };

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

void movers_sort(struct movers *m, int threads)
{
  uint64_t differ = 0;
  for (int32_t k = 1; k < m->count; k++) differ |= m->key[k] ^ m->key[0];
  if (differ == 0) differ = 1;
  const int highest = 63 - __builtin_clzll(differ), shift = highest < TOP_BITS ? 0 : highest + 1 - TOP_BITS;
  int32_t at[(1 << TOP_BITS) + 2];
  const struct side first = side_at(m->key, m->id, m->slot, 0),
                    spare = side_at(m->spare_key, m->spare_id, m->spare_slot, 0);
  counting_pass(&first, &spare, m->count, shift, TOP_BITS, at);
  at[0] = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8) if (threads > 1 && m->count > MANY)
  for (int d = 0; d < 1 << TOP_BITS; d++) {
    const int32_t begin = at[d], count = at[d + 1] - begin;
    if (count == 0) continue;
    sort_part(side_at(m->spare_key, m->spare_id, m->spare_slot, begin),
              side_at(m->key, m->id, m->slot, begin), count);
  }
}
