/* One HDF5 file of particles written by all ranks together: whole under its name, or not there.
 *
 * Frames and checkpoints share this. Rank 0 alone makes the file and its structure; then every rank writes
 * its own rows to where they belong. Collective HDF5 would do the same in more steps, but it does not survive
 * an error on one rank: a full disk hangs it in a collective call that the others never reach. Here nothing
 * is collective but the agreement on what came of it. (Compressed columns are the exception: their chunks
 * cross ranks, so they go through MPI-IO, once the space they may need is reserved.)
 *
 * The file is the same, byte for byte, whatever the number of ranks. */
#ifndef FIRN_IO_WRITER_H
#define FIRN_IO_WRITER_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/particles/fence.h"
#include "io/particles/hdf5.h"

#include <stdbool.h>
#include <stdint.h>

enum { WRITER_COLUMNS = 40 };

/* A dataset of /particles: (n), (n, 3) or (n, 3, 3) elements of `type`, which must be a native one. */
struct writer_column {
  const char *name, *unit;
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
  const void *context;
  const struct fence *fence; /* rank 0: asked before anything appears; NULL where nobody else could write */
};

/* Collective: all ranks return the same code. On success the file is on the disk under its name; otherwise
 * nothing is left of it. *bytes (may be NULL) becomes its size on rank 0. */
int writer_write(const struct comm *comm, const struct writer_plan *plan, int64_t *bytes, struct error *err);

#endif
