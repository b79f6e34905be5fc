/* Writing frames. All ranks write one file together through MPI-IO, each its own rows.
 *
 * The file is the same, byte for byte, whatever the number of ranks: uncompressed columns are contiguous and
 * allocated when they are made, compressed ones are written in one call each so that no chunk is ever
 * rewritten, objects carry no times, and nothing in the file tells the ranks or the clock. Rows go through a
 * staging buffer of bounded size; every rank makes the same number of collective calls, those without rows
 * with an empty selection.
 *
 * A rank that fails alone inside a collective HDF5 call would leave the others waiting. So what usually goes
 * wrong is found before: each rank proves that it can open the file, and rank 0 reserves the disk space.
 * After each column all ranks agree whether to go on. */
#include "io/frame.h"

#include "base/memory.h"
#include "base/version.h"
#include "io/file.h"
#include "io/frame_fields.h"
#include "io/hdf5.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { SLICE_ROWS = 65536 };

struct writer {
  const struct comm *comm;
  const struct scene *scene;
  const struct particles *particles;
  const struct frame_info *info;
  char *target;
  char *temp;
  int64_t total; /* rows of all ranks */
  int64_t first; /* row of this rank's first particle */
  int64_t most;  /* rows of the fullest rank */
  int64_t slice; /* rows a call */
  void *staging;
  hid_t file;
  hid_t group;
  hid_t transfer;
};

char *frame_path(const char *output, int64_t index)
{
  char name[64];
  snprintf(name, sizeof name, "frames/frame_%06lld.h5", (long long)index);
  return file_join(output, name);
}

static bool wanted(const struct writer *w, const struct frame_column *column)
{
  return column->bit == 0 || (w->scene->fields & column->bit);
}

/* Rank 0: the folder, and an empty file under the temporary name. */
static int create_temp(struct writer *w, struct error *err)
{
  char *folder = file_join(w->scene->output, "frames");
  int code = file_make_folder(folder, err);
  mem_free(folder);
  if (code != FIRN_OK) return code;
  const int fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return error_set(err, FIRN_EIO, "cannot write %s: %s", w->target, strerror(errno));
  close(fd);
  return FIRN_OK;
}

static int prepare(struct writer *w, struct error *err)
{
  int code = FIRN_OK;
  w->target = frame_path(w->scene->output, w->info->index);
  if (w->comm->rank == 0) {
    w->temp = file_temp_name(w->target);
    code = create_temp(w, err);
  }
  code = comm_agree(w->comm, code, err);
  comm_broadcast_text(w->comm, &w->temp);
  if (code != FIRN_OK) return code;
  const int fd = open(w->temp, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    code = error_set(err, FIRN_EIO, "rank %d cannot open %s: %s; all ranks must see one file system",
                     w->comm->rank, w->temp, strerror(errno));
  else
    close(fd);
  return comm_agree(w->comm, code, err);
}

static void count_rows(struct writer *w)
{
  const int64_t mine = w->particles->count;
  w->total = mine;
  comm_sum_i64(w->comm, &w->total, 1);
  w->first = comm_exscan_i64(w->comm, mine);
  double most = (double)mine; /* a count of 32 bits is exact */
  comm_max(w->comm, &most, 1);
  w->most = (int64_t)most;
  w->slice = w->scene->compression > 0 ? w->most : SLICE_ROWS;
  size_t widest = 0;
  for (int c = 0; c < FRAME_COLUMNS; c++) {
    const size_t size = frame_row_size(&frame_columns[c], w->scene->frame_bits);
    if (wanted(w, &frame_columns[c]) && size > widest) widest = size;
  }
  w->staging = mem_alloc((size_t)(mine < w->slice ? mine : w->slice), widest);
}

static int create_file(struct writer *w, struct error *err)
{
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_fapl_mpio(access, w->comm->mpi, MPI_INFO_NULL);
  /* The format of HDF5 1.8: attributes beyond 64 KiB, which a long scene needs. */
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
  H5Pset_coll_metadata_write(access, true);
  H5Pset_obj_track_times(creation, false);
  w->file = H5Fcreate(w->temp, H5F_ACC_TRUNC, creation, access);
  H5Pclose(creation);
  H5Pclose(access);
  if (w->file < 0) return hdf5_error(err, FIRN_EIO, "cannot create %s", w->target);
  return FIRN_OK;
}

/* Bytes that the whole file will need at most. */
static int64_t expected_bytes(const struct writer *w)
{
  int64_t bytes = 65536 + 2 * (int64_t)(strlen(w->scene->text) + strlen(w->scene->resolved));
  for (int c = 0; c < FRAME_COLUMNS; c++)
    if (wanted(w, &frame_columns[c]))
      bytes += 4096 + w->total * (int64_t)frame_row_size(&frame_columns[c], w->scene->frame_bits);
  return bytes;
}

/* 0 or the errno of what stands in the way. Where blocks cannot be reserved, the free ones are counted. */
static int reserve_bytes(int fd, int64_t bytes)
{
  if (fallocate(fd, 0, 0, bytes) == 0) return 0;
  if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) return errno;
  struct statvfs disk;
  if (fstatvfs(fd, &disk) != 0) return 0;
  return (double)disk.f_bavail * (double)disk.f_frsize < (double)bytes ? ENOSPC : 0;
}

/* Rank 0: a full disk or quota shows here, with the system's own words, and not inside a collective call,
 * where it would stop one rank and hang the rest. HDF5 cuts the file to its length at the end. */
static int reserve_space(const struct writer *w, struct error *err)
{
  const int64_t bytes = expected_bytes(w);
  const int fd = open(w->temp, O_RDWR | O_CLOEXEC);
  const int reason = fd < 0 ? errno : reserve_bytes(fd, bytes);
  if (fd >= 0) close(fd);
  if (reason == 0) return FIRN_OK;
  return error_set(err, FIRN_EIO, "cannot write %s (%.1f MiB): %s", w->target, (double)bytes / 1048576.0,
                   strerror(reason));
}

static int write_attributes(const struct writer *w, struct error *err)
{
  const struct scene *scene = w->scene;
  char hash[32];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)scene->hash);
  const bool written =
      hdf5_put_text(w->file, "format", "firn frame") && hdf5_put_i64(w->file, "format_version", 1) &&
      hdf5_put_i64(w->file, "frame", w->info->index) && hdf5_put_i64(w->file, "step", w->info->step) &&
      hdf5_put_f64(w->file, "time", w->info->time) && hdf5_put_text(w->file, "units", "SI: m, kg, s") &&
      hdf5_put_text(w->file, "scene_name", scene->name) && hdf5_put_text(w->file, "scene_hash", hash) &&
      hdf5_put_text(w->file, "scene", scene->text) &&
      hdf5_put_text(w->file, "scene_resolved", scene->resolved) &&
      hdf5_put_text(w->file, "firn_version", FIRN_VERSION) &&
      hdf5_put_text(w->file, "firn_commit", FIRN_COMMIT);
  return written ? FIRN_OK : hdf5_error(err, FIRN_EIO, "cannot write the attributes of %s", w->target);
}

static int create_group(struct writer *w, struct error *err)
{
  const hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
  H5Pset_obj_track_times(creation, false);
  w->group = H5Gcreate2(w->file, "particles", H5P_DEFAULT, creation, H5P_DEFAULT);
  H5Pclose(creation);
  return w->group >= 0 ? FIRN_OK : hdf5_error(err, FIRN_EIO, "cannot write %s", w->target);
}

/* Rows by components: (n), (n, 3) or (n, 3, 3). */
static int shape_of(const struct particle_field *field, int64_t rows, hsize_t dims[3])
{
  dims[0] = (hsize_t)rows;
  dims[1] = dims[2] = 3;
  return field->components == 1 ? 1 : field->components == 3 ? 2 : 3;
}

static hid_t memory_type(const struct writer *w, enum field_type type)
{
  if (type == FIELD_U64) return H5T_NATIVE_UINT64;
  if (type == FIELD_U32) return H5T_NATIVE_UINT32;
  return w->scene->frame_bits == 32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

static hid_t file_type(const struct writer *w, enum field_type type)
{
  if (type == FIELD_U64) return H5T_STD_U64LE;
  if (type == FIELD_U32) return H5T_STD_U32LE;
  return w->scene->frame_bits == 32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE;
}

static hid_t create_dataset(const struct writer *w, const struct particle_field *field)
{
  hsize_t dims[3];
  const int axes = shape_of(field, w->total, dims);
  const hid_t space = H5Screate_simple(axes, dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(creation, false);
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  if (w->scene->compression > 0 && w->total > 0) {
    hsize_t chunk[3] = {dims[0] < SLICE_ROWS ? dims[0] : SLICE_ROWS, 3, 3};
    H5Pset_chunk(creation, axes, chunk);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, (unsigned)w->scene->compression);
  }
  const hid_t dataset =
      H5Dcreate2(w->group, field->name, file_type(w, field->type), space, H5P_DEFAULT, creation, H5P_DEFAULT);
  H5Pclose(creation);
  H5Sclose(space);
  return dataset;
}

/* One collective call: this rank's rows from `from` on, at most a slice of them. */
static bool write_slice(const struct writer *w, const struct frame_column *column, hid_t dataset,
                        int64_t from)
{
  const int64_t left = w->particles->count - from;
  const int64_t rows = left <= 0 ? 0 : left < w->slice ? left : w->slice;
  hsize_t count[3], start[3] = {(hsize_t)(w->first + from), 0, 0};
  const int axes = shape_of(column->field, rows, count);
  const hid_t disk = H5Dget_space(dataset), memory = H5Screate_simple(axes, count, NULL);
  if (rows > 0) {
    frame_gather(column, w->scene, w->particles, (int32_t)from, (int32_t)rows, w->staging);
    H5Sselect_hyperslab(disk, H5S_SELECT_SET, start, NULL, count, NULL);
  } else {
    H5Sselect_none(disk);
    H5Sselect_none(memory);
  }
  const bool written =
      H5Dwrite(dataset, memory_type(w, column->field->type), memory, disk, w->transfer, w->staging) >= 0;
  H5Sclose(memory);
  H5Sclose(disk);
  return written;
}

static int write_column(const struct writer *w, const struct frame_column *column, struct error *err)
{
  const char *name = column->field->name;
  int code = FIRN_OK;
  const hid_t dataset = create_dataset(w, column->field);
  if (dataset < 0 || !hdf5_put_text(dataset, "unit", column->field->unit))
    code = hdf5_error(err, FIRN_EIO, "cannot write %s in %s", name, w->target);
  code = comm_agree(w->comm, code, err);
  /* A failed slice does not end the loop: the other ranks are already waiting in the next one. */
  int local = FIRN_OK;
  for (int64_t from = 0; code == FIRN_OK && from < w->most; from += w->slice)
    if (!write_slice(w, column, dataset, from) && local == FIRN_OK)
      local = hdf5_error(err, FIRN_EIO, "cannot write %s in %s", name, w->target);
  if (dataset >= 0 && H5Dclose(dataset) < 0 && local == FIRN_OK && code == FIRN_OK)
    local = hdf5_error(err, FIRN_EIO, "cannot write %s in %s", name, w->target);
  return comm_agree(w->comm, code != FIRN_OK ? code : local, err);
}

static int write_contents(struct writer *w, struct error *err)
{
  int code = w->comm->rank == 0 ? reserve_space(w, err) : FIRN_OK;
  code = comm_agree(w->comm, code, err);
  if (code == FIRN_OK) code = comm_agree(w->comm, write_attributes(w, err), err);
  if (code == FIRN_OK) code = comm_agree(w->comm, create_group(w, err), err);
  for (int c = 0; c < FRAME_COLUMNS && code == FIRN_OK; c++)
    if (wanted(w, &frame_columns[c])) code = write_column(w, &frame_columns[c], err);
  if (code != FIRN_OK) return code;
  /* Each rank's bytes leave its own cache here; rank 0's fsync later covers what closing adds. */
  if (H5Fflush(w->file, H5F_SCOPE_GLOBAL) < 0) code = hdf5_error(err, FIRN_EIO, "cannot write %s", w->target);
  return comm_agree(w->comm, code, err);
}

static int write_file(struct writer *w, struct error *err)
{
  int code = comm_agree(w->comm, create_file(w, err), err);
  if (code == FIRN_OK) {
    w->transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(w->transfer, H5FD_MPIO_COLLECTIVE);
    code = write_contents(w, err);
    H5Pclose(w->transfer);
  }
  int closing = FIRN_OK;
  if (w->group >= 0) H5Gclose(w->group);
  if (w->file >= 0 && H5Fclose(w->file) < 0)
    closing = hdf5_error(code == FIRN_OK ? err : NULL, FIRN_EIO, "cannot write %s", w->target);
  return comm_agree(w->comm, code != FIRN_OK ? code : closing, err);
}

int frame_write(const struct comm *comm, const struct scene *scene, const struct particles *p,
                const struct frame_info *info, struct error *err)
{
  struct error local = {.code = FIRN_OK};
  struct writer w = {.comm = comm, .scene = scene, .particles = p, .info = info, .file = -1, .group = -1};
  count_rows(&w);
  int code = prepare(&w, &local);
  if (code == FIRN_OK) {
    struct hdf5_silence silence;
    hdf5_silence_begin(&silence);
    code = write_file(&w, &local);
    hdf5_silence_end(&silence);
    if (code != FIRN_OK && comm->rank == 0) unlink(w.temp);
  }
  if (code == FIRN_OK) {
    if (comm->rank == 0) code = file_commit(w.temp, w.target, &local);
    code = comm_agree(comm, code, &local);
  }
  mem_free(w.staging);
  mem_free(w.temp);
  mem_free(w.target);
  if (code != FIRN_OK && err) *err = local;
  return code;
}
