/* A table of numbers that grows with a run: <output>/history.csv and <output>/probes.csv. A header line, then
 * lines whose first column is the step.
 *
 * A run that goes on from a checkpoint goes on with its file, without the lines that will come again. Lines
 * are flushed once a second rather than each: a step may take a millisecond, and a reader who looks on wants
 * whole lines, soon. A crash loses at most the last second. Rank 0 only; nothing here calls MPI. */
#ifndef FIRN_IO_CSV_LOG_H
#define FIRN_IO_CSV_LOG_H

#include "base/error.h"
#include "io/particles/fence.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct csv_log;

/* Goes on with the file at path, without the lines of `step` and later. Starts anew where there is none,
 * where its header is another one, or where step is negative. fence: asked before the file appears; NULL
 * where no other start could write. */
int csv_log_open(struct csv_log **out, const char *path, const struct fence *fence, const char *header,
                 int64_t step, struct error *err);

/* Whether the file at path has exactly this header; and whether it has one that begins so, and no line yet.
 */
bool csv_log_fits(const char *path, const char *header);
bool csv_log_is_empty(const char *path, const char *beginning);

/* Where to print the columns of a line, which csv_log_end_line() ends; NULL once writing has failed. That is
 * a warning, once: a full disk does not end a run because of its log. */
FILE *csv_log_line(struct csv_log *log);
void csv_log_end_line(struct csv_log *log);

/* Brings what was added to the disk: before a checkpoint, so that no line can be missing that a restart does
 * not write again. Accepts NULL. */
void csv_log_sync(struct csv_log *log);

/* Accepts NULL. What was added is on the disk afterwards. */
void csv_log_destroy(struct csv_log **log);

#endif
