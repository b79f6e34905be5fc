/* A fence between two starts of one run.
 *
 * Each start takes the next generation number of its output folder: a file `generation_000007` that is
 * made only if it is not there (O_EXCL) and names the run. Older ones are then removed, so one that finds its
 * own gone knows that another start has taken over: an orphan on a node that the scheduler gave up leaves
 * instead of writing beside its successor. The file is opened, not looked at: a network file system must ask
 * its server then. Rank 0 only; nothing here calls MPI. */
#ifndef FIRN_IO_FENCE_H
#define FIRN_IO_FENCE_H

#include "base/error.h"

#include <stdint.h>

enum { RUN_ID_SIZE = 17 };

struct fence {
  char *folder;
  int64_t generation;
  char run_id[RUN_ID_SIZE]; /* 16 hexadecimal digits: the same over all starts of a run */
};

/* A new run id, from the system's random numbers. */
void fence_new_run(char run_id[RUN_ID_SIZE]);

/* The run and the generation that a folder belongs to; an empty id and 0 if there is none. */
void fence_look(const char *folder, char run_id[RUN_ID_SIZE], int64_t *generation);

/* Makes the folder if need be and takes its next generation, which is above `above`: that of the checkpoint
 * the run continues from, whose folder may have lost its own count. With `seen` >= 0 only if the folder's
 * newest generation is still that one, FIRN_ESTALE otherwise: a start that found the folder free must not
 * take it from another that came first. */
int fence_take(struct fence **out, const char *folder, const char *run_id, int64_t above, int64_t seen,
               struct error *err);
void fence_destroy(struct fence **fence);

/* FIRN_ESTALE if another start has taken over, FIRN_EIO if the folder is gone or was emptied. */
int fence_check(const struct fence *fence, struct error *err);

#endif
