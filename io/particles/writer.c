/* See writer.h. What usually goes wrong is found first: the fence, the folder, the space for the whole file,
 * which is reserved before the first row is written. */
#include "io/particles/writer_parts.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/particles/together.h"
#include "io/run/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { CHUNK_ROWS = 65536 };

/* Columns of at least so many alignments are aligned: gaps are a sixteenth of a file at most. */
enum { ALIGNED_FROM = 16 };

size_t writer_row_size(const struct writer_column *column)
{
  return H5Tget_size(column->type) * (size_t)column->components;
}

int64_t writer_total(const struct writer *w, int c)
{
  return w->total + w->plan->columns[c].one_more;
}

int64_t writer_rows(const struct writer *w, int c)
{
  return w->plan->rows + (w->plan->columns[c].one_more && w->comm->rank == w->comm->size - 1);
}

const char *writer_group(const struct writer_column *column)
{
  return column->group ? column->group : "particles";
}

int writer_shape(const struct writer_column *column, int64_t rows, hsize_t dims[3])
{
  dims[0] = (hsize_t)rows;
  dims[1] = dims[2] = 3;
  return column->components == 1 ? 1 : column->components == 3 ? 2 : 3;
}

static int64_t alignment_of(const struct writer *w)
{
  return w->plan->way && w->plan->way->alignment > 1 ? w->plan->way->alignment : 1;
}

static bool has_aligned(const struct writer *w)
{
  const int64_t least = ALIGNED_FROM * alignment_of(w);
  bool any = false;
  for (int c = 0; c < w->plan->column_count; c++)
    any = any || writer_total(w, c) * (int64_t)writer_row_size(&w->plan->columns[c]) >= least;
  return any && !w->compressed && alignment_of(w) > 1;
}

/* 0, or the errno of the obstacle. If blocks cannot be reserved, the free ones are counted. */
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
  for (int c = 0; c < w->plan->column_count; c++)
    bytes += writer_total(w, c) * (int64_t)writer_row_size(&w->plan->columns[c]);
  return bytes;
}

/* Rank 0: an empty file made by MPI-IO, since hints about stripes count only then. */
static int create_hinted(const struct writer *w, struct error *err)
{
  MPI_Info info = together_hints(w->plan->way);
  MPI_File file;
  const int mode = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR;
  int failed = MPI_File_open(MPI_COMM_SELF, w->temp, mode, info, &file);
  if (!failed) failed = MPI_File_close(&file);
  MPI_Info_free(&info);
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  if (!failed) return FIRN_OK;
  MPI_Error_string(failed, text, &length);
  return error_set(err, FIRN_EIO, "cannot create %s with output.hints: %s", w->plan->target, text);
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
  if (w->together && w->plan->way && w->plan->way->hint_count > 0) code = create_hinted(w, err);
  if (code != FIRN_OK) return code;
  const int fd = open(w->temp, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return error_set(err, FIRN_EIO, "cannot write %s: %s", target, strerror(errno));
  const int64_t bytes =
      bytes_of_rows(w) + (1 << 20) + (has_aligned(w) ? w->plan->column_count * alignment_of(w) : 0);
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
  const int axes = writer_shape(column, writer_total(w, c), dims);
  const hid_t space = H5Screate_simple(axes, dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(creation, false);
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
  if (w->compressed) {
    hsize_t chunk[3] = {dims[0] < CHUNK_ROWS ? dims[0] : CHUNK_ROWS, 3, 3};
    H5Pset_chunk(creation, axes, chunk);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, (unsigned)w->plan->compression);
  }
  const hid_t dataset =
      H5Dcreate2(group, column->name, column->type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  bool fine = dataset >= 0 && (!column->unit || hdf5_put_text(dataset, "unit", column->unit));
  if (fine && !w->compressed && writer_total(w, c) > 0) {
    const haddr_t offset = H5Dget_offset(dataset);
    w->offset[c] = (int64_t)offset;
    fine = offset != HADDR_UNDEF;
  }
  if (dataset >= 0) fine = H5Dclose(dataset) >= 0 && fine;
  H5Pclose(creation);
  H5Sclose(space);
  return fine;
}

/* The columns of one group, in their order. */
static bool create_group(struct writer *w, hid_t file, const char *name)
{
  const hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
  H5Pset_obj_track_times(creation, false);
  const hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, creation, H5P_DEFAULT);
  H5Pclose(creation);
  bool fine = group >= 0;
  for (int c = 0; c < w->plan->column_count && fine; c++)
    if (strcmp(writer_group(&w->plan->columns[c]), name) == 0) fine = create_dataset(w, group, c);
  if (group >= 0) H5Gclose(group);
  return fine;
}

static bool fill_structure(struct writer *w, hid_t file)
{
  if (!w->plan->describe(file, w->plan->context) || !create_group(w, file, "particles")) return false;
  for (int c = 0; c < w->plan->column_count; c++) {
    const char *name = writer_group(&w->plan->columns[c]);
    if (H5Lexists(file, name, H5P_DEFAULT) == 0 && !create_group(w, file, name)) return false;
  }
  return !w->plan->link || w->plan->link(file, w->total);
}

/* An empty file. HDF5 refuses to create one with an alignment that the user block is no multiple of, but
 * opens it so. */
static hid_t create_file(const struct writer *w, hid_t access, hid_t creation)
{
  const hid_t file = H5Fcreate(w->temp, H5F_ACC_TRUNC, creation, access);
  if (file < 0 || !has_aligned(w)) return file;
  H5Pset_alignment(access, (hsize_t)(ALIGNED_FROM * alignment_of(w)), (hsize_t)alignment_of(w));
  return hdf5_close_written(file) ? H5Fopen(w->temp, H5F_ACC_RDWR, access) : -1;
}

/* Rank 0: everything but the rows. */
static int create_structure(struct writer *w, struct error *err)
{
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_FILE_CREATE);
  /* The format of HDF5 1.8: attributes beyond 64 KiB, which a long scene needs. */
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
  H5Pset_obj_track_times(creation, false);
  if (w->plan->sealed) H5Pset_userblock(creation, SEAL_BYTES);
  const hid_t file = create_file(w, access, creation);
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
    reason = reserve_bytes(fd, w->size + (w->compressed ? bytes_of_rows(w) : 0));
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
    log_unfinished(w->temp);
    code = create_temp(w, err);
    if (code == FIRN_OK) code = create_structure(w, err);
    if (code == FIRN_OK) code = reserve_space(w, err);
  }
  code = comm_agree(w->comm, code, err);
  comm_broadcast_text(w->comm, &w->temp);
  comm_sum_i64(w->comm, w->offset, WRITER_COLUMNS); /* rank 0's */
  return code;
}

/* Collective: what all ranks' rows come to. */
static void seal_rows(const struct writer *w, struct seal *seal)
{
  int64_t sums[WRITER_COLUMNS];
  memcpy(sums, w->sum, sizeof sums);
  comm_sum_i64(w->comm, sums, WRITER_COLUMNS); /* wraps, as the sum of the rows does */
  for (int c = 0; c < w->plan->column_count; c++) {
    const struct writer_column *column = &w->plan->columns[c];
    struct seal_entry entry = {.offset = writer_total(w, c) > 0 ? w->offset[c] : SEAL_BYTES,
                               .rows = writer_total(w, c),
                               .row_size = (int64_t)writer_row_size(column)};
    strncpy(entry.name, column->name, sizeof entry.name - 1);
    memcpy(&entry.sum, &sums[c], sizeof entry.sum);
    seal_add_entry(seal, &entry);
  }
}

/* Collective: a compressed file has no rows, only bytes, which are read back. Each rank takes its share. */
static int seal_blocks(const struct writer *w, struct seal *seal, struct error *err)
{
  struct seal_entry entry = {.rows = 0};
  int code = comm_agree(w->comm, w->comm->rank == 0 ? seal_plan_blocks(&entry, w->temp, err) : FIRN_OK, err);
  if (code != FIRN_OK) return code;
  comm_broadcast(w->comm, &entry, sizeof entry);
  const int64_t size = w->comm->size, rank = w->comm->rank;
  const int64_t first = entry.rows * rank / size, end = entry.rows * (rank + 1) / size;
  code = comm_agree(w->comm, seal_sum_blocks(&entry, w->temp, first, end - first, err), err);
  int64_t sum;
  memcpy(&sum, &entry.sum, sizeof sum);
  comm_sum_i64(w->comm, &sum, 1);
  memcpy(&entry.sum, &sum, sizeof sum);
  if (entry.rows > 0) seal_add_entry(seal, &entry);
  return code;
}

static int make_seal(const struct writer *w, struct seal *seal, struct error *err)
{
  *seal = (struct seal){0};
  if (!w->plan->sealed) return FIRN_OK;
  if (w->compressed) return seal_blocks(w, seal, err);
  seal_rows(w, seal);
  return FIRN_OK;
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
  code = w->together ? writer_write_parallel(w, err) : comm_agree(w->comm, writer_write_direct(w, err), err);
  if (code != FIRN_OK) return code;
  struct seal seal;
  code = make_seal(w, &seal, err);
  if (code != FIRN_OK) return code;
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
  w.compressed = plan->compression > 0 && w.total > 0;
  w.together = w.compressed || (w.total > 0 && together_is_chosen(comm, plan->way));
  const int code = write_all(&w, &local);
  if (code != FIRN_OK && comm->rank == 0 && w.temp) unlink(w.temp);
  log_unfinished(NULL);
  if (code != FIRN_OK && err) *err = local;
  if (bytes) *bytes = w.size;
  mem_free(w.temp);
  hdf5_silence_end(&silence);
  return code;
}
