/* Rows through parallel HDF5: every call that moves data is made by all ranks, and MPI-IO brings the rows to
 * a few aggregators that write whole blocks of the file.
 *
 * Contiguous columns go in rounds of one buffer per rank, so that memory stays bounded. A compressed column
 * goes in one call, since a chunk that is written twice would move, and leave a gap that depends on the
 * ranks. All ranks agree after each call, so that none begins the next one without the others. */
#include "io/particles/writer_parts.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/particles/together.h"
#include "io/run/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* One call of H5Dwrite(): rows from .. from + count - 1 of this rank, perhaps none. */
struct round {
  const struct writer_column *column;
  int c;
  int64_t from, count;
  hid_t dataset, transfer;
  int fd; /* of the same file, for hints to the system; -1: none */
  void *staging;
};

/* Whether an errno says what became of a file. */
static bool is_telling(int reason)
{
  static const int known[] = {ENOSPC, EDQUOT, EIO, EROFS, EFBIG, ESTALE, EACCES, EPERM, ETIMEDOUT, ENODEV};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if (reason == known[k]) return true;
  return false;
}

/* The system's reason, which MPI-IO does not hand on: the same rows are tried by ourselves. `left` is what
 * errno was after the failed call. */
static int find_reason(const struct writer *w, const struct round *round, int left)
{
  int reason = 0;
  const size_t size = writer_row_size(round->column);
  const int fd = open(w->temp, O_RDWR | O_CLOEXEC);
  if (fd < 0) return errno;
  if (!w->compressed)
    reason = writer_put_bytes(fd, round->staging, (size_t)round->count * size,
                              w->offset[round->c] + (w->first + round->from) * (int64_t)size);
  if (reason == 0 && fsync(fd) != 0) reason = errno;
  close(fd);
  return reason == 0 && is_telling(left) ? left : reason;
}

static int write_failed(const struct writer *w, const struct round *round, int left, struct error *err)
{
  const int reason = find_reason(w, round, left), rank = w->comm->rank;
  if (reason == 0) return hdf5_error(err, FIRN_EIO, "rank %d cannot write %s", rank, w->plan->target);
  H5Eclear2(H5E_DEFAULT);
  return error_set(err, FIRN_EIO, "rank %d cannot write %s: %s", rank, w->plan->target, strerror(reason));
}

static int write_round(const struct writer *w, const struct round *round, struct error *err)
{
  hsize_t count[3], start[3] = {(hsize_t)(w->first + round->from), 0, 0};
  const int axes = writer_shape(round->column, round->count, count);
  const hid_t disk = H5Dget_space(round->dataset), memory = H5Screate_simple(axes, count, NULL);
  if (round->count > 0) {
    H5Sselect_hyperslab(disk, H5S_SELECT_SET, start, NULL, count, NULL);
  } else {
    H5Sselect_none(disk);
    H5Sselect_none(memory);
  }
  errno = 0;
  const bool written =
      H5Dwrite(round->dataset, round->column->type, memory, disk, round->transfer, round->staging) >= 0;
  const int left = errno;
  H5Sclose(memory);
  H5Sclose(disk);
  log_heartbeat(w->plan->what);
  const int code = written ? FIRN_OK : write_failed(w, round, left, err);
  return together_agree(w->comm, w->temp, w->plan->way, code, err);
}

/* The disk begins now, while the next rows are gathered. Only a hint, for pages that are in this node's
 * cache. */
static void begin_write_out(const struct writer *w, const struct round *round)
{
  const int64_t size = (int64_t)writer_row_size(round->column);
  if (round->fd < 0 || w->compressed || round->count == 0) return;
  sync_file_range(round->fd, w->offset[round->c] + (w->first + round->from) * size, round->count * size,
                  SYNC_FILE_RANGE_WRITE);
}

/* All rounds of one column whose dataset is open; most is the greatest number of rows of any rank. */
static int write_rounds(struct writer *w, struct round *round, int64_t buffer, int64_t most,
                        struct error *err)
{
  const size_t size = writer_row_size(round->column);
  const int64_t slice = w->compressed || most < buffer / (int64_t)size ? most : buffer / (int64_t)size;
  struct seal_entry entry = {.row_size = (int64_t)size};
  const int64_t rows = writer_rows(w, round->c);
  int code = FIRN_OK;
  round->staging = mem_alloc((size_t)(slice < rows ? slice : rows), size);
  for (int64_t from = 0; from < most && code == FIRN_OK; from += slice) {
    const int64_t left = rows - from;
    round->from = left > 0 ? from : 0;
    round->count = left <= 0 ? 0 : left < slice ? left : slice;
    if (round->count > 0)
      round->column->gather(round->column->context, (int32_t)round->from, (int32_t)round->count,
                            round->staging);
    if (w->plan->sealed) seal_add_rows(&entry, w->first + round->from, round->count, round->staging);
    code = write_round(w, round, err);
    begin_write_out(w, round);
  }
  w->sum[round->c] = entry.sum;
  mem_free(round->staging);
  return code;
}

static int write_column(struct writer *w, hid_t file, struct round *round, int64_t buffer, int64_t most,
                        struct error *err)
{
  const char *name = round->column->name;
  const hid_t group = H5Gopen2(file, writer_group(round->column), H5P_DEFAULT);
  round->dataset = group < 0 ? -1 : H5Dopen2(group, name, H5P_DEFAULT);
  int code = FIRN_OK;
  if (round->dataset < 0) code = hdf5_error(err, FIRN_EIO, "cannot open %s of %s", name, w->plan->target);
  code = together_agree(w->comm, w->temp, w->plan->way, code, err);
  if (code == FIRN_OK) code = write_rounds(w, round, buffer, most, err);
  if (round->dataset >= 0) H5Dclose(round->dataset);
  if (group >= 0) H5Gclose(group);
  return code;
}

static int write_columns(struct writer *w, hid_t file, struct error *err)
{
  double most = (double)w->plan->rows + 1.0; /* rows of a rank fit into an int */
  int64_t buffer = w->comm->rank == 0 ? together_buffer(w->temp) : 0;
  comm_max(w->comm, &most, 1);
  comm_broadcast(w->comm, &buffer, sizeof buffer);
  struct round round = {.transfer = together_transfer(), .fd = open(w->temp, O_RDWR | O_CLOEXEC)};
  int code = FIRN_OK;
  for (int c = 0; c < w->plan->column_count && code == FIRN_OK; c++) {
    round.c = c;
    round.column = &w->plan->columns[c];
    code = write_column(w, file, &round, buffer, (int64_t)most - !round.column->one_more, err);
  }
  H5Pclose(round.transfer);
  if (round.fd >= 0) close(round.fd);
  return code;
}

int writer_write_parallel(struct writer *w, struct error *err)
{
  hid_t file;
  int code = together_open(&file, w->comm, w->temp, H5F_ACC_RDWR, !w->compressed, w->plan->way, err);
  if (code != FIRN_OK) return code;
  code = write_columns(w, file, err);
  return together_close(file, w->comm, w->temp, w->plan->way, code, err);
}
