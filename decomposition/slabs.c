#include "decomposition/slabs.h"

#include "base/memory.h"

struct slabs *slabs_create(int ranks, int32_t planes, const int64_t *weight)
{
  struct slabs *slabs = mem_alloc(1, sizeof *slabs);
  const int32_t most = planes / SLAB_LEAST > 1 ? planes / SLAB_LEAST : 1;
  slabs->count = ranks < most ? ranks : most;
  slabs->planes = planes;
  slabs->cut = mem_alloc((size_t)slabs->count + 1, sizeof *slabs->cut);
  int64_t total = 0;
  for (int32_t k = 0; k < planes; k++) total += weight[k];

  int64_t before = 0;
  int32_t plane = 0;
  for (int r = 1; r < slabs->count; r++) {
    const double goal = (double)total * r / slabs->count;
    while (plane < planes && (double)before + 0.5 * (double)weight[plane] < goal) before += weight[plane++];
    const int32_t low = slabs->cut[r - 1] + SLAB_LEAST, high = planes - SLAB_LEAST * (slabs->count - r);
    slabs->cut[r] = plane < low ? low : plane > high ? high : plane;
  }
  slabs->cut[slabs->count] = planes;
  return slabs;
}

void slabs_destroy(struct slabs **slabs)
{
  if (!*slabs) return;
  mem_free((*slabs)->cut);
  mem_free(*slabs);
  *slabs = NULL;
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
