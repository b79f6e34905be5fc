/* One HDF5 file of particles written by all ranks together: whole under its name, or not there.
 *
 * Frames and checkpoints share this. Rank 0 makes the file and its structure and reserves the space for all
 * of it, so that a full disk shows before a row is written. Then all ranks write their rows, in one of two
 * ways:
 *
 * - parallel HDF5 (writer_parallel.c): collective calls of all ranks, through MPI-IO with its aggregators and
 *   hints. Compressed columns always go this way, since chunks cross ranks.
 * - direct (writer_direct.c): each rank writes to where its rows belong, and only the agreement on what came
 * of it is collective.
 *
 * The file is the same, byte for byte, whatever the number of ranks and the way. */
#ifndef FIRN_IO_WRITER_H
#define FIRN_IO_WRITER_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/particles/hdf5.h"
#include "io/run/fence.h"
#include "io/scene/scene_writing.h"

#include <stdbool.h>
#include <stdint.h>

enum { WRITER_COLUMNS = 40 };

/* A dataset: (n), (n, 3) or (n, 3, 3) elements of `type`, which must be a native one. */
struct writer_column {
  const char *name, *unit; /* unit: NULL where it has none */
  const char *group;       /* NULL: particles */
  bool one_more;           /* the last rank has one row more than the plan says */
  hid_t type;
  int components; /* 1, 3 or 9 */
  /* Rows first .. first + n - 1 of this rank, interleaved. */
  void (*gather)(const void *context, int32_t first, int32_t n, void *rows);
  const void *context;
};

struct writer_plan {
  const char *target; /* where the file will stand */
  const char *what;   /* "writing a frame": for whoever watches the run */
  int64_t rows;       /* this rank's */
  int column_count;
  struct writer_column columns[WRITER_COLUMNS];
  int compression; /* deflate level, 0 none */
  bool sealed;     /* every byte is accounted for in a seal at the file's front (seal.h) */
  /* Rank 0: puts the attributes of the file; false when HDF5 fails. */
  bool (*describe)(hid_t file, const void *context);
  /* Rank 0, once the datasets are there, of which /particles has `rows`; NULL: nothing is to do. */
  bool (*link)(hid_t file, int64_t rows);
  const void *context;
  const struct scene_writing *way; /* NULL: the default */
  const struct fence *fence; /* rank 0: asked before anything appears; NULL if nobody else could write */
};

/* Collective: all ranks return the same code. On success the file is on the disk under its name; otherwise
 * nothing is left of it. *bytes (may be NULL) becomes its size on rank 0. */
int writer_write(const struct comm *comm, const struct writer_plan *plan, int64_t *bytes, struct error *err);

#endif
