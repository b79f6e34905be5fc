/* A table of numbers that grows with a run: <output>/history.csv and <output>/probes.csv. A header line, then
 * lines whose first column is the step.
 *
 * A run that continues from a checkpoint continues with its file, without the lines that will come again,
 * also if the scene asks for other columns by now: lines are measurements, and none is lost. Lines are
 * flushed once a second rather than each: a step may take a millisecond, and a reader who looks on wants
 * whole lines, soon. A crash loses at most the last second. Rank 0 only; nothing here calls MPI. */
#ifndef FIRN_IO_CSV_LOG_H
#define FIRN_IO_CSV_LOG_H

#include "base/error.h"
#include "io/run/fence.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct csv_log;

/* How a file begins, or continues. */
struct csv_start {
  const char *header; /* the columns, with the end of the line */
  int64_t step;     /* lines of this step and later go, and will come again; negative: the file begins anew */
  int64_t expected; /* so many lines should be there of steps before `before`; 0: not known. Less is a */
  int64_t before;   /* warning: they were lost */
  /* Whether a column of the file means something else now than the one of the same name; NULL: never. */
  bool (*is_other)(const void *context, const char *column);
  const void *context;
};

/* Goes on with the file at path, which must be a log if it is there. Columns go by their names. Those that
 * the file lacks have `nan` in the lines before; those that nobody writes any more stay behind all others,
 * with `nan` in the lines to come. If a column's name means something else now, the old one gets
 * `_until_<step>` behind its name. Lines that are none are left out with a warning. fence: asked before the
 * file appears; NULL if no other start could write. */
int csv_log_open(struct csv_log **out, const char *path, const struct fence *fence,
                 const struct csv_start *start, struct error *err);

/* Whether the file at path has a header that begins so, and no line yet. */
bool csv_log_is_empty(const char *path, const char *beginning);

/* Lines that are in the file or on their way. Accepts NULL. */
int64_t csv_log_rows(const struct csv_log *log);

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
