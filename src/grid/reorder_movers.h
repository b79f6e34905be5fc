/* Particles that changed cell or arrived, sorted by (key, id), to be merged with those who stayed.
 *
 * The arrays are the caller's, two of each kind, since a counting pass copies from one to the other. */
#ifndef FIRN_REORDER_MOVERS_H
#define FIRN_REORDER_MOVERS_H

#include <stdint.h>

struct movers {
  int32_t count;
  uint64_t *key, *id;
  int32_t *slot;
  uint64_t *spare_key, *spare_id;
  int32_t *spare_slot;
};

/* Where one thread left its movers. */
struct mover_range {
  int32_t begin, end;
};

/* Sorts what lies in the ranges, one a thread, to the front of the arrays. */
void movers_sort(struct movers *m, const struct mover_range *range, int threads);

/* The first of the sorted movers whose key is not less. */
int32_t movers_from(const struct movers *m, uint64_t key);

#endif
