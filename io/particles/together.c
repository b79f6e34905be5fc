/* See together.h. */
#include "io/particles/together.h"

#include "base/log.h"
#include "io/file.h"
#include "io/particles/hdf5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_BUFFER = 16 << 20, MOST_BUFFER = 256 << 20 };
enum { EXIT_STUCK = 86 }; /* as a run without progress, which job scripts start again (run/watchdog.h) */
static const double default_patience = 60.0; /* s */

bool together_is_chosen(const struct comm *comm, const struct scene_writing *way)
{
  const enum scene_writer writer = way ? way->writer : WRITER_AUTO;
  if (comm->mpi == MPI_COMM_NULL) return false;
  return writer == WRITER_PARALLEL_HDF5 || (writer == WRITER_AUTO && comm->size > 1);
}

const char *together_reason(const struct comm *comm, const struct scene_writing *way, int compression)
{
  static const char *const reasons[3][2] = {
      {"direct (one rank)", "parallel_hdf5 (several ranks)"},
      {"parallel_hdf5 (output.writer)", "parallel_hdf5 (output.writer)"},
      {"direct (output.writer)", "direct (output.writer)"},
  };
  if (compression > 0 && !together_is_chosen(comm, way))
    return way->writer == WRITER_DIRECT ? "direct (output.writer), parallel_hdf5 for compressed frames"
                                        : "direct (one rank), parallel_hdf5 for compressed frames";
  return reasons[way->writer][comm->size > 1];
}

/* Ends the job. Only one of the ranks that failed has the word: the one that removes the file. */
static _Noreturn void give_up(const struct comm *comm, const char *remove, double patience,
                              const struct error *err)
{
  const bool speaks = !remove || unlink(remove) == 0 || errno != ENOENT;
  if (speaks)
    fprintf(
        stderr,
        "firn: %s; other ranks hang in MPI-IO for it: no answer to rank %d in %.3g s. Ending the run: look "
        "at that rank's node and file system, then start it with --restart auto\n",
        err->text, comm->rank, patience);
  fflush(stderr);
  const struct timespec moment = {.tv_sec = speaks ? 0 : 10};
  nanosleep(&moment, NULL);
  comm_abort(EXIT_STUCK);
  _exit(EXIT_STUCK);
}

int together_agree(const struct comm *comm, const char *remove, const struct scene_writing *way, int code,
                   struct error *err)
{
  const double patience = way && way->patience > 0.0 ? way->patience : default_patience;
  struct error local = {.code = code};
  if (!comm_agree_within(comm, patience, &code, err ? err : &local))
    give_up(comm, remove, patience, err ? err : &local);
  return code;
}

int64_t together_buffer(const char *path)
{
  struct stat status;
  int64_t block = stat(path, &status) == 0 ? status.st_blksize : 0;
  if (block <= 0 || block > MOST_BUFFER) block = 4096;
  return (LEAST_BUFFER + block - 1) / block * block;
}

MPI_Info together_hints(const struct scene_writing *way)
{
  MPI_Info info;
  MPI_Info_create(&info);
  for (int k = 0; way && k < way->hint_count; k++) MPI_Info_set(info, way->hints[k].key, way->hints[k].value);
  return info;
}

/* All ranks must give MPI the same number, so it is rank 0's. */
static MPI_Info file_hints(const struct comm *comm, const char *path, const struct scene_writing *way)
{
  MPI_Info info = together_hints(way);
  int64_t buffer = comm->rank == 0 ? together_buffer(path) : 0;
  int given;
  char text[32];
  comm_broadcast(comm, &buffer, sizeof buffer);
  MPI_Info_get_valuelen(info, "cb_buffer_size", &(int){0}, &given);
  snprintf(text, sizeof text, "%lld", (long long)buffer);
  if (!given) MPI_Info_set(info, "cb_buffer_size", text);
  return info;
}

/* What usually keeps a rank from opening a file shows here, where it can say so alone. */
static int check_access(const struct comm *comm, const char *path, unsigned flags, struct error *err)
{
  if (!(flags & H5F_ACC_RDWR)) return file_check_readable(path, err);
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd >= 0) close(fd);
  if (fd >= 0) return FIRN_OK;
  return error_set(err, FIRN_EIO, "rank %d cannot open %s: %s; all ranks must see one file system",
                   comm->rank, path, strerror(errno));
}

int together_open(hid_t *file, const struct comm *comm, const char *path, unsigned flags, bool alike,
                  const struct scene_writing *way, struct error *err)
{
  *file = -1;
  int code = comm_agree(comm, check_access(comm, path, flags, err), err);
  if (code != FIRN_OK) return code;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
  H5Pget_mdc_config(access, &cache);
  /* Few bytes, and HDF5 hangs if one of several ranks cannot write its share of them. */
  cache.metadata_write_strategy = H5AC_METADATA_WRITE_STRATEGY__PROCESS_0_ONLY;
  MPI_Info info = file_hints(comm, path, way);
  H5Pset_fapl_mpio(access, comm->mpi, info);
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
  H5Pset_mdc_config(access, &cache);
  H5Pset_all_coll_metadata_ops(access, alike);
  *file = H5Fopen(path, flags, access);
  MPI_Info_free(&info);
  H5Pclose(access);
  if (*file < 0) code = hdf5_error(err, FIRN_EIO, "rank %d cannot open %s", comm->rank, path);
  code = together_agree(comm, NULL, way, code, err);
  if (code == FIRN_OK) return FIRN_OK;
  if (*file >= 0) hdf5_abandon(); /* closing it would wait for the ranks that never opened it */
  *file = -1;
  return code;
}

int together_close(hid_t file, const struct comm *comm, const char *remove, const struct scene_writing *way,
                   int code, struct error *err)
{
  struct error second = {.code = FIRN_OK};
  int closed = FIRN_OK;
  if (remove && code == FIRN_OK) {
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
      code = hdf5_error(err, FIRN_EIO, "rank %d cannot write %s", comm->rank, remove);
    code = together_agree(comm, remove, way, code, err);
  }
  if (!hdf5_close_written(file))
    closed = hdf5_error(&second, FIRN_EIO, "rank %d cannot close the file", comm->rank);
  closed = together_agree(comm, remove, way, closed, &second);
  if (code == FIRN_OK && closed != FIRN_OK && err) *err = second;
  return code != FIRN_OK ? code : closed;
}

hid_t together_transfer(void)
{
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  return transfer;
}
