/* Particles that changed cell or arrived: sorted by (key, id), to be merged with those who stayed.
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

/* By (key, id), which no two share: the result does not depend on the number of threads. */
void movers_sort(struct movers *m, int threads);

#endif
