/* Are these ids unique over all ranks? */
#ifndef FIRN_IO_UNIQUE_IDS_H
#define FIRN_IO_UNIQUE_IDS_H

#include "base/error.h"
#include "decomposition/comm.h"

#include <stdint.h>

/* Collective. FIRN_EINPUT on all ranks if an id occurs twice, with the smallest such id in the message. */
int unique_ids_check(const struct comm *comm, const uint64_t *ids, int64_t count, struct error *err);

#endif
