/* The timelines of all ranks as one file in the trace-event format, which Perfetto (ui.perfetto.dev) and
 * chrome://tracing open: a process per rank, a track per thread, times in microseconds since the steps began.
 */
#ifndef FIRN_IO_TIMELINE_FILE_H
#define FIRN_IO_TIMELINE_FILE_H

#include "base/error.h"
#include "decomposition/comm.h"

/* A rank's clock beside rank 0's, taken at the start: nodes do not agree on the time, nor on how fast it
 * passes. */
struct timeline_clock {
  double zero;   /* s of rank 0's clock that become 0 */
  double taken;  /* s of this rank's clock */
  double offset; /* s that it was ahead */
};

/* Collective. */
struct timeline_clock timeline_clock_take(const struct comm *comm);

/* An error if a file is at path that is not a trace. Not collective. */
int timeline_check_path(const char *path, struct error *err);

/* Collective: rank 0 writes what comm->traffic->timeline of every rank holds. */
int timeline_write(const struct comm *comm, const struct timeline_clock *clock, const char *path,
                   struct error *err);

#endif
