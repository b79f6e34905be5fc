#include "surface/bins.h"

#include "base/log.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct keyed_particle {
  int32_t bin[3];
  int32_t index;
};

static int by_bin(const void *a, const void *b)
{
  const struct keyed_particle *x = a, *y = b;
  for (int d = 0; d < 3; d++)
    if (x->bin[d] != y->bin[d]) return x->bin[d] < y->bin[d] ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

void bins_place(const struct bins *bins, const double x[3], int32_t bin[3])
{
  for (int d = 0; d < 3; d++) {
    const double at = floor((x[d] - bins->origin[d]) / bins->edge);
    bin[d] = (int32_t)fmin(fmax(at, -1e9), 1e9);
  }
}

struct bins *bins_create(const float *position, int64_t count, double edge)
{
  struct bins *bins = mem_alloc(1, sizeof *bins);
  struct keyed_particle *keys = mem_alloc((size_t)count, sizeof *keys);
  bins->edge = edge;
  bins->count = count;
  bins->order = mem_alloc((size_t)count, sizeof *bins->order);
  for (int64_t i = 0; i < count; i++) {
    const double x[3] = {(double)position[3 * i], (double)position[3 * i + 1], (double)position[3 * i + 2]};
    bins_place(bins, x, keys[i].bin);
    keys[i].index = (int32_t)i;
  }
  qsort(keys, (size_t)count, sizeof *keys, by_bin);
  for (int64_t i = 0; i < count; i++) {
    bins->order[i] = keys[i].index;
    bins->bin_count += i == 0 || memcmp(keys[i].bin, keys[i - 1].bin, sizeof keys[i].bin) != 0;
  }
  bins->bin = mem_alloc((size_t)bins->bin_count, sizeof *bins->bin);
  bins->start = mem_alloc((size_t)bins->bin_count + 1, sizeof *bins->start);
  for (int64_t i = 0, b = 0; i < count; i++) {
    if (i > 0 && memcmp(keys[i].bin, keys[i - 1].bin, sizeof keys[i].bin) == 0) continue;
    memcpy(bins->bin[b], keys[i].bin, sizeof keys[i].bin);
    bins->start[b++] = i;
  }
  bins->start[bins->bin_count] = count;
  mem_free(keys);
  return bins;
}

void bins_destroy(struct bins **bins)
{
  if (!*bins) return;
  mem_free((*bins)->order);
  mem_free((*bins)->bin);
  mem_free((*bins)->start);
  mem_free(*bins);
  *bins = NULL;
}

/* The first bin that is not before (x, y, z). */
static int64_t lower_bin(const struct bins *bins, int32_t x, int32_t y, int32_t z)
{
  int64_t low = 0, high = bins->bin_count;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    const int32_t *b = bins->bin[middle];
    const bool before = b[0] != x ? b[0] < x : b[1] != y ? b[1] < y : b[2] < z;
    if (before)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int bins_around(const struct bins *bins, const int32_t low[3], const int32_t high[3],
                int64_t out[BINS_RUNS][2])
{
  int found = 0;
  for (int32_t x = low[0]; x <= high[0]; x++)
    for (int32_t y = low[1]; y <= high[1]; y++) {
      const int64_t first = lower_bin(bins, x, y, low[2]), last = lower_bin(bins, x, y, high[2] + 1);
      if (first == last) continue;
      FIRN_ASSERT(found < BINS_RUNS);
      out[found][0] = bins->start[first];
      out[found++][1] = bins->start[last];
    }
  return found;
}
