/* Particles on their way to other ranks, as packed records.
 *
 * Most steps move a few particles to the next slab: two small messages each way. A fast particle or new cuts
 * may send records anywhere: then all ranks take the general exchange, agreed beforehand (`anywhere`). */
#ifndef FIRN_DECOMPOSITION_MIGRATE_H
#define FIRN_DECOMPOSITION_MIGRATE_H

#include "decomposition/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mailbox {
  size_t record_size;
  int64_t count, capacity; /* records */
  unsigned char *records;
  int *destination; /* one a record; outgoing mail only */
};

void mailbox_free(struct mailbox *box);

/* Makes room for one more record and returns it. */
void *mailbox_add(struct mailbox *box, int destination);

/* Collective: sends every record of `out` to its destination; `in` gets what arrives, in no particular order.
 * With anywhere false, destinations may only be rank - 1 and rank + 1. */
void migrate(const struct comm *comm, struct mailbox *out, struct mailbox *in, bool anywhere);

#endif
