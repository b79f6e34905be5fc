/* See writer.h. What usually goes wrong is found first: the fence, the folder, the space for the whole file,
 * which is reserved before the first row is written. */
#include "io/particles/writer.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/particles/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { STAGING_BYTES = 8 << 20, CHUNK_ROWS = 65536 };

struct writer {
  const struct writer_plan *plan;
  const struct comm *comm;
  char *temp;
  int64_t total; /* rows of all ranks */
  int64_t first; /* row of this rank's first one */
  int64_t size;  /* of the whole file, as far as it is known before it is written */
  int64_t offset[WRITER_COLUMNS];
  uint64_t sum[WRITER_COLUMNS]; /* of this rank's rows (seal.h) */
  void *staging;
};

static size_t row_size(const struct writer_column *column)
{
  return H5Tget_size(column->type) * (size_t)column->components;
}

static bool is_compressed(const struct writer *w)
{
  return w->plan->compression > 0 && w->total > 0;
}

/* Rows by components: (n), (n, 3) or (n, 3, 3). */
static int shape_of(const struct writer_column *column, int64_t rows, hsize_t dims[3])
{
  dims[0] = (hsize_t)rows;
  dims[1] = dims[2] = 3;
  return column->components == 1 ? 1 : column->components == 3 ? 2 : 3;
}

/* 0 or the errno of what stands in the way. Where blocks cannot be reserved, the free ones are counted. */
static int reserve_bytes(int fd, int64_t bytes)
{
  if (bytes == 0 || fallocate(fd, 0, 0, bytes) == 0) return 0;
  if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) return errno;
  struct statvfs disk;
  if (fstatvfs(fd, &disk) != 0) return 0;
  return (double)disk.f_bavail * (double)disk.f_frsize < (double)bytes ? ENOSPC : 0;
}

static int64_t bytes_of_rows(const struct writer *w)
{
  int64_t bytes = 0;
  for (int c = 0; c < w->plan->column_count; c++) bytes += w->total * (int64_t)row_size(&w->plan->columns[c]);
  return bytes;
}

/* Rank 0: the folder, and an empty file under the temporary name, once it is clear that all of it will fit.
 */
static int create_temp(struct writer *w, struct error *err)
{
  const char *target = w->plan->target;
  int code = w->plan->fence ? fence_check(w->plan->fence, err) : FIRN_OK;
  if (code != FIRN_OK) return code;
  char *folder = mem_strdup(target), *slash = strrchr(folder, '/');
  if (slash && slash != folder) {
    *slash = '\0';
    code = file_make_folder(folder, err);
  }
  mem_free(folder);
  if (code != FIRN_OK) return code;
  const int fd = open(w->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return error_set(err, FIRN_EIO, "cannot write %s: %s", target, strerror(errno));
  const int64_t bytes = bytes_of_rows(w) + (1 << 20);
  const int reason = reserve_bytes(fd, bytes);
  if (reason != 0)
    code = error_set(err, FIRN_EIO, "cannot write %s (%.1f MiB): %s", target, (double)bytes / 1048576.0,
                     strerror(reason));
  else if (ftruncate(fd, 0) != 0)
    code = error_set(err, FIRN_EIO, "cannot write %s: %s", target, strerror(errno));
  close(fd);
  return code;
}

/* Space is given to a contiguous dataset at once, so that its place is known. */
static bool create_dataset(struct writer *w, hid_t group, int c)
{
  const struct writer_column *column = &w->plan->columns[c];
  hsize_t dims[3];
  const int axes = shape_of(column, w->total, dims);
  const hid_t space = H5Screate_simple(axes, dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(creation, false);
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
  if (is_compressed(w)) {
    hsize_t chunk[3] = {dims[0] < CHUNK_ROWS ? dims[0] : CHUNK_ROWS, 3, 3};
    H5Pset_chunk(creation, axes, chunk);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, (unsigned)w->plan->compression);
  }
  const hid_t dataset =
      H5Dcreate2(group, column->name, column->type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  bool fine = dataset >= 0 && hdf5_put_text(dataset, "unit", column->unit);
  if (fine && !is_compressed(w) && w->total > 0) {
    const haddr_t offset = H5Dget_offset(dataset);
    w->offset[c] = (int64_t)offset;
    fine = offset != HADDR_UNDEF;
  }
  if (dataset >= 0) fine = H5Dclose(dataset) >= 0 && fine;
  H5Pclose(creation);
  H5Sclose(space);
  return fine;
}

static bool fill_structure(struct writer *w, hid_t file)
{
  if (!w->plan->describe(file, w->plan->context)) return false;
  const hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
  H5Pset_obj_track_times(creation, false);
  const hid_t group = H5Gcreate2(file, "particles", H5P_DEFAULT, creation, H5P_DEFAULT);
  H5Pclose(creation);
  bool fine = group >= 0;
  for (int c = 0; c < w->plan->column_count && fine; c++) fine = create_dataset(w, group, c);
  if (group >= 0) H5Gclose(group);
  return fine;
}

/* Rank 0: everything but the rows. */
static int create_structure(struct writer *w, struct error *err)
{
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_FILE_CREATE);
  /* The format of HDF5 1.8: attributes beyond 64 KiB, which a long scene needs. */
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
  H5Pset_obj_track_times(creation, false);
  if (w->plan->sealed) H5Pset_userblock(creation, SEAL_BYTES);
  const hid_t file = H5Fcreate(w->temp, H5F_ACC_TRUNC, creation, access);
  H5Pclose(creation);
  H5Pclose(access);
  bool fine = file >= 0 && fill_structure(w, file);
  if (file >= 0) fine = hdf5_close_written(file) && fine;
  return fine ? FIRN_OK : hdf5_error(err, FIRN_EIO, "cannot write %s", w->plan->target);
}

/* Rank 0: a full disk or quota shows here, with the system's own words, before anybody writes a row. */
static int reserve_space(struct writer *w, struct error *err)
{
  const int fd = open(w->temp, O_RDWR | O_CLOEXEC);
  struct stat status;
  int reason = fd < 0 || fstat(fd, &status) != 0 ? errno : 0;
  if (reason == 0) {
    w->size = status.st_size;
    reason = reserve_bytes(fd, w->size + (is_compressed(w) ? bytes_of_rows(w) : 0));
  }
  if (fd >= 0) close(fd);
  if (reason == 0) return FIRN_OK;
  return error_set(err, FIRN_EIO, "cannot write %s: %s", w->plan->target, strerror(reason));
}

static int prepare(struct writer *w, struct error *err)
{
  int code = FIRN_OK;
  if (w->comm->rank == 0) {
    w->temp = file_temp_name(w->plan->target, w->plan->fence ? w->plan->fence->generation : 0);
    code = create_temp(w, err);
    if (code == FIRN_OK) code = create_structure(w, err);
    if (code == FIRN_OK) code = reserve_space(w, err);
  }
  code = comm_agree(w->comm, code, err);
  comm_broadcast_text(w->comm, &w->temp);
  comm_sum_i64(w->comm, w->offset, WRITER_COLUMNS); /* rank 0's */
  return code;
}

static int write_bytes(int fd, const char *bytes, size_t size, int64_t at)
{
  while (size > 0) {
    const ssize_t written = pwrite(fd, bytes, size, at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes += written;
    at += written;
    size -= (size_t)written;
  }
  return 0;
}

/* This rank's rows of one column; 0 or an errno. */
static int write_rows(struct writer *w, int fd, int c)
{
  const struct writer_column *column = &w->plan->columns[c];
  const size_t size = row_size(column);
  const int64_t slice = (int64_t)(STAGING_BYTES / size);
  struct seal_entry entry = {.row_size = (int64_t)size};
  int reason = 0;
  for (int64_t from = 0; from < w->plan->rows && reason == 0; from += slice) {
    const int64_t left = w->plan->rows - from, rows = left < slice ? left : slice;
    column->gather(column->context, (int32_t)from, (int32_t)rows, w->staging);
    if (w->plan->sealed) seal_add_rows(&entry, w->first + from, rows, w->staging);
    const int64_t at = w->offset[c] + (w->first + from) * (int64_t)size;
    reason = write_bytes(fd, w->staging, (size_t)rows * size, at);
    /* The disk begins now and not at the sync, while the next rows are gathered. Only a hint: the sync tells.
     */
    if (reason == 0) sync_file_range(fd, at, rows * (int64_t)size, SYNC_FILE_RANGE_WRITE);
    log_heartbeat(w->plan->what);
  }
  w->sum[c] = entry.sum;
  return reason;
}

/* Every rank brings its own bytes to the disk: another machine's cache is not rank 0's to flush. */
static int write_columns(struct writer *w, struct error *err)
{
  const int fd = open(w->temp, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return error_set(err, FIRN_EIO, "rank %d cannot open %s: %s; all ranks must see one file system",
                     w->comm->rank, w->temp, strerror(errno));
  int reason = 0;
  w->staging = mem_alloc(STAGING_BYTES, 1);
  for (int c = 0; c < w->plan->column_count && reason == 0; c++) reason = write_rows(w, fd, c);
  mem_free(w->staging);
  if (reason == 0 && fsync(fd) != 0 && errno != EINVAL) reason = errno;
  if (close(fd) != 0 && reason == 0) reason = errno;
  if (reason == 0) return FIRN_OK;
  return error_set(err, FIRN_EIO, "rank %d cannot write %s: %s", w->comm->rank, w->plan->target,
                   strerror(reason));
}

/* One column in one collective call, so that no chunk is ever rewritten. */
static bool write_compressed(struct writer *w, hid_t file, hid_t transfer, int c)
{
  const struct writer_column *column = &w->plan->columns[c];
  const int64_t rows = w->plan->rows;
  const hid_t group = H5Gopen2(file, "particles", H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(group, column->name, H5P_DEFAULT);
  hsize_t count[3], start[3] = {(hsize_t)w->first, 0, 0};
  const int axes = shape_of(column, rows, count);
  const hid_t disk = H5Dget_space(dataset), memory = H5Screate_simple(axes, count, NULL);
  void *staging = mem_alloc((size_t)rows, row_size(column));
  if (rows > 0) {
    column->gather(column->context, 0, (int32_t)rows, staging);
    H5Sselect_hyperslab(disk, H5S_SELECT_SET, start, NULL, count, NULL);
  } else {
    H5Sselect_none(disk);
    H5Sselect_none(memory);
  }
  const bool written = H5Dwrite(dataset, column->type, memory, disk, transfer, staging) >= 0;
  mem_free(staging);
  H5Sclose(memory);
  H5Sclose(disk);
  H5Dclose(dataset);
  H5Gclose(group);
  log_heartbeat(w->plan->what);
  return written;
}

/* A failed column does not end the loop: the other ranks are already waiting in the next one. */
static int write_through_mpi(struct writer *w, struct error *err)
{
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, w->comm->mpi, MPI_INFO_NULL);
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
  H5Pset_coll_metadata_write(access, true);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const hid_t file = H5Fopen(w->temp, H5F_ACC_RDWR, access);
  bool fine = file >= 0;
  for (int c = 0; c < w->plan->column_count && file >= 0; c++)
    fine = write_compressed(w, file, transfer, c) && fine;
  if (file >= 0) {
    fine = H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0 && fine;
    fine = hdf5_close_written(file) && fine;
  }
  H5Pclose(transfer);
  H5Pclose(access);
  return fine ? FIRN_OK : hdf5_error(err, FIRN_EIO, "cannot write %s", w->plan->target);
}

/* Collective: what all ranks' rows come to. A compressed file has no tables of rows: all of it is the rest,
 * which rank 0 reads back. */
static void make_seal(const struct writer *w, struct seal *seal)
{
  int64_t sums[WRITER_COLUMNS];
  memcpy(sums, w->sum, sizeof sums);
  *seal = (struct seal){0};
  if (!w->plan->sealed || is_compressed(w)) return;
  comm_sum_i64(w->comm, sums, WRITER_COLUMNS); /* wraps, as the sum of the rows does */
  for (int c = 0; c < w->plan->column_count; c++) {
    const struct writer_column *column = &w->plan->columns[c];
    struct seal_entry entry = {.offset = w->total > 0 ? w->offset[c] : SEAL_BYTES,
                               .rows = w->total,
                               .row_size = (int64_t)row_size(column)};
    strncpy(entry.name, column->name, sizeof entry.name - 1);
    memcpy(&entry.sum, &sums[c], sizeof entry.sum);
    seal_add_entry(seal, &entry);
  }
}

/* Rank 0: a file that is complete becomes the one under the name. */
static int commit(const struct writer *w, const struct seal *seal, struct error *err)
{
  int code = w->plan->sealed ? seal_write(seal, w->temp, err) : FIRN_OK;
  if (code == FIRN_OK) code = file_sync(w->temp, err);
  /* Once more, with nothing slow left between this and the rename: another start may have taken over while
   * we wrote, and have cleared our file away. */
  if (w->plan->fence) {
    struct error fenced;
    const int allowed = fence_check(w->plan->fence, &fenced);
    if (allowed == FIRN_ESTALE || (allowed != FIRN_OK && code == FIRN_OK)) {
      *err = fenced;
      code = allowed;
    }
  }
  return code == FIRN_OK ? file_commit(w->temp, w->plan->target, err) : code;
}

static int write_all(struct writer *w, struct error *err)
{
  int code = prepare(w, err);
  if (code != FIRN_OK) return code;
  code = comm_agree(w->comm, is_compressed(w) ? write_through_mpi(w, err) : write_columns(w, err), err);
  if (code != FIRN_OK) return code;
  struct seal seal;
  make_seal(w, &seal);
  return comm_agree(w->comm, w->comm->rank == 0 ? commit(w, &seal, err) : FIRN_OK, err);
}

int writer_write(const struct comm *comm, const struct writer_plan *plan, int64_t *bytes, struct error *err)
{
  FIRN_ASSERT(plan->column_count <= WRITER_COLUMNS);
  struct error local = {.code = FIRN_OK};
  struct writer w = {.plan = plan, .comm = comm, .total = plan->rows};
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  log_heartbeat(plan->what);
  comm_sum_i64(comm, &w.total, 1);
  w.first = comm_exscan_i64(comm, plan->rows);
  const int code = write_all(&w, &local);
  if (code != FIRN_OK && comm->rank == 0 && w.temp) unlink(w.temp);
  if (code != FIRN_OK && err) *err = local;
  if (bytes) *bytes = w.size;
  mem_free(w.temp);
  hdf5_silence_end(&silence);
  return code;
}
