/* Files that all ranks have open together: HDF5 over MPI-IO, and what to do when it fails.
 *
 * A rank that fails inside a collective call returns from it, and others may wait there forever. So every
 * such call is followed by together_agree(): a rank that failed waits a while for the others, and ends the
 * job with its message if they do not come. A call that never returns on any rank is for the watchdog of the
 * run. */
#ifndef FIRN_IO_TOGETHER_H
#define FIRN_IO_TOGETHER_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/scene/scene_writing.h"

#include <hdf5.h>
#include <stdbool.h>

/* Whether files are written and read so; `way` may be NULL for the default. */
bool together_is_chosen(const struct comm *comm, const struct scene_writing *way);

/* One line for the log: which writer runs, and why. */
const char *together_reason(const struct comm *comm, const struct scene_writing *way, int compression);

/* Collective. *file is open on all ranks, or on none and the code is the same on all; flags as in H5Fopen().
 * A file to be written gets the buffers of its file system. With `alike` all ranks promise to make the same
 * calls, and one reads the structure for all. */
int together_open(hid_t *file, const struct comm *comm, const char *path, unsigned flags, bool alike,
                  const struct scene_writing *way, struct error *err);

/* Collective. Flushes what was written to the disk and closes; `code` is what came before, all ranks', and is
 * returned if it is an error. remove as below. */
int together_close(hid_t file, const struct comm *comm, const char *remove, const struct scene_writing *way,
                   int code, struct error *err);

/* Collective: comm_agree() after a call of HDF5 or MPI-IO. Does not return on ranks that failed if the others
 * hang; `remove` (may be NULL) is the file that they hang in, which goes away then. */
int together_agree(const struct comm *comm, const char *remove, const struct scene_writing *way, int code,
                   struct error *err);

/* How a dataset is read or written collectively; for H5Pclose(). */
hid_t together_transfer(void);

/* The hints of the scene as MPI wants them, for MPI_Info_free(). */
MPI_Info together_hints(const struct scene_writing *way);

/* Bytes that a rank hands over at a time, and that an aggregator collects: whole blocks or stripes of the
 * file system that `path` is on. */
int64_t together_buffer(const char *path);

#endif
