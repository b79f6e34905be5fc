#include "base/places.h"

#include "base/memory.h"

#include <omp.h>
#include <string.h>

int places_union(uint64_t units[PLACES_WORDS])
{
  memset(units, 0, PLACES_WORDS * sizeof *units);
  const int places = omp_get_num_places();
  for (int p = 0; p < places; p++) {
    const int count = omp_get_place_num_procs(p);
    int *ids = mem_alloc((size_t)count + 1, sizeof *ids);
    omp_get_place_proc_ids(p, ids);
    for (int k = 0; k < count; k++)
      if (ids[k] >= 0 && ids[k] < PLACES_UNITS) units[ids[k] / 64] |= (uint64_t)1 << ids[k] % 64;
    mem_free(ids);
  }
  return places;
}
