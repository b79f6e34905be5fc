/* See particle_file.h. Each rank opens the file for itself and reads a contiguous range of rows; all ranks
 * agree on the outcome after every field.
 *
 * Reading through MPI-IO would save little, since the ranges do not overlap, and it has a price: a rank that
 * fails alone inside a collective open or close leaves the others waiting there. This way nothing but
 * comm_agree() and the exchange of ids is collective, so a file that one node cannot see or read is an error
 * and never a hang. Fields are checked in one fixed order and ranks hold ascending rows, so the message names
 * the same first bad row on any number of ranks. */
#include "io/particle_file.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/hdf5.h"
#include "io/unique_ids.h"

#include <math.h>
#include <string.h>

enum { SLICE_ROWS = 65536 };

struct reader {
  const struct comm *comm;
  const char *path;
  hid_t file;
  hid_t group;
  struct particles *particles;
  int64_t total;  /* rows of the file */
  int64_t first;  /* of this rank's rows */
  int64_t count;  /* of this rank's rows */
  int32_t target; /* where they go in particles */
};

/* What a row of a field must be. */
enum rule { RULE_FINITE, RULE_POSITIVE, RULE_INVERTIBLE };

struct column {
  const char *name;
  int components;
  bool required;
  enum rule rule;
  int field; /* of particle_fields, where it is stored */
};

static const struct column columns[] = {
    {"position", 3, true, RULE_FINITE, PARTICLE_POSITION},
    {"velocity", 3, true, RULE_FINITE, PARTICLE_VELOCITY},
    {"mass", 1, true, RULE_POSITIVE, PARTICLE_MASS},
    {"volume", 1, false, RULE_POSITIVE, PARTICLE_VOLUME},
    {"FE", 9, false, RULE_INVERTIBLE, PARTICLE_FE},
    {"JP", 1, false, RULE_POSITIVE, PARTICLE_JP},
    {"FP", 9, false, RULE_INVERTIBLE, PARTICLE_JP}, /* of which only the determinant is kept */
};

static double determinant(const double f[9])
{
  return f[0] * (f[4] * f[8] - f[5] * f[7]) + f[1] * (f[5] * f[6] - f[3] * f[8]) +
         f[2] * (f[3] * f[7] - f[4] * f[6]);
}

static int check_row(const struct reader *r, const struct column *column, int64_t row, const double *value,
                     struct error *err)
{
  for (int c = 0; c < column->components; c++)
    if (!isfinite(value[c]))
      return error_set(err, FIRN_EINPUT, "%s: %s of row %lld is not finite", r->path, column->name,
                       (long long)row);
  if (column->rule == RULE_POSITIVE && !(value[0] > 0.0))
    return error_set(err, FIRN_EINPUT, "%s: %s of row %lld is %g, it must be positive", r->path, column->name,
                     (long long)row, value[0]);
  if (column->rule == RULE_INVERTIBLE) {
    const double j = determinant(value);
    if (!(j > 0.0) || !isfinite(j))
      return error_set(err, FIRN_EINPUT, "%s: the determinant of %s of row %lld is %g, it must be positive",
                       r->path, column->name, (long long)row, j);
  }
  return FIRN_OK;
}

static void store_row(const struct reader *r, const struct column *column, int64_t index, const double *value)
{
  const struct particle_field *field = &particle_fields[column->field];
  if (field->components == column->components)
    for (int c = 0; c < column->components; c++)
      ((double *)particle_array(r->particles, field, c))[index] = value[c];
  else
    ((double *)particle_array(r->particles, field, 0))[index] = determinant(value);
}

static int check_shape(const struct reader *r, const struct column *column, const struct hdf5_table *table,
                       struct error *err)
{
  const int axes = column->components == 1 ? 1 : column->components == 3 ? 2 : 3;
  const char *shape = axes == 1 ? "(N)" : axes == 2 ? "(N, 3)" : "(N, 3, 3)";
  if (table->axes != axes || (axes > 1 && table->dims[1] != 3) || (axes > 2 && table->dims[2] != 3))
    return error_set(err, FIRN_EINPUT, "%s: %s has the wrong shape, expected %s", r->path, column->name,
                     shape);
  if (table->rows != r->total)
    return error_set(err, FIRN_EINPUT, "%s: %s has %lld rows where position has %lld", r->path, column->name,
                     (long long)table->rows, (long long)r->total);
  return FIRN_OK;
}

static int read_rows(const struct reader *r, const struct column *column, const struct hdf5_table *table,
                     struct error *err)
{
  const int64_t slice = r->count < SLICE_ROWS ? r->count : SLICE_ROWS;
  double *rows = mem_alloc((size_t)slice, (size_t)column->components * sizeof *rows);
  int code = FIRN_OK;
  for (int64_t done = 0; done < r->count && code == FIRN_OK; done += slice) {
    const int64_t n = r->count - done < slice ? r->count - done : slice;
    if (!hdf5_table_read(table, H5T_NATIVE_DOUBLE, r->first + done, n, rows))
      code = hdf5_error(err, FIRN_EINPUT, "%s: cannot read %s", r->path, column->name);
    for (int64_t i = 0; i < n && code == FIRN_OK; i++) {
      const double *value = rows + i * column->components;
      code = check_row(r, column, r->first + done + i, value, err);
      if (code == FIRN_OK) store_row(r, column, r->target + done + i, value);
    }
  }
  mem_free(rows);
  return code;
}

static int read_column(const struct reader *r, const struct column *column, struct error *err)
{
  if (!column->required && !hdf5_has(r->group, column->name)) return FIRN_OK;
  struct hdf5_table table;
  int code = hdf5_table_open(&table, r->group, column->name, r->path, err);
  if (code != FIRN_OK) return code;
  code = check_shape(r, column, &table, err);
  if (code == FIRN_OK) code = read_rows(r, column, &table, err);
  hdf5_table_close(&table);
  return code;
}

/* Opens the file and learns how many rows there are. */
static int open_file(struct reader *r, struct error *err)
{
  r->file = hdf5_open(r->path, err);
  if (r->file < 0) return err->code;
  r->group = hdf5_particle_group(r->file, r->path, err);
  if (r->group < 0) return err->code;
  if (hdf5_has(r->group, "FP") && hdf5_has(r->group, "JP"))
    return error_set(err, FIRN_EINPUT, "%s: has FP and JP, give one of them", r->path);
  struct hdf5_table table;
  const int code = hdf5_table_open(&table, r->group, "position", r->path, err);
  if (code != FIRN_OK) return code;
  r->total = table.rows;
  hdf5_table_close(&table);
  if (r->total == 0) return error_set(err, FIRN_EINPUT, "%s: has no particles", r->path);
  return FIRN_OK;
}

/* This rank's share of the rows, and room for it. */
static int take_share(struct reader *r, struct error *err)
{
  const int64_t size = r->comm->size, rank = r->comm->rank;
  const int64_t each = r->total / size, extra = r->total % size;
  r->first = each * rank + (rank < extra ? rank : extra);
  r->count = each + (rank < extra);
  const int64_t limit = (int64_t)INT32_MAX - 63;
  if (r->count > limit - r->particles->count)
    return error_set(err, FIRN_ELIMIT,
                     "%s: %lld particles are too many for %d ranks, at most %lld fit on one: use more ranks",
                     r->path, (long long)r->total, r->comm->size, (long long)limit);
  return FIRN_OK;
}

static int check_sign(const struct reader *r, const uint64_t *ids, struct error *err)
{
  for (int64_t i = 0; i < r->count; i++)
    if (ids[i] > (uint64_t)INT64_MAX)
      return error_set(err, FIRN_EINPUT, "%s: id of row %lld is %lld, it must not be negative", r->path,
                       (long long)(r->first + i), (long long)ids[i]);
  return FIRN_OK;
}

static int read_ids(const struct reader *r, uint64_t first_id, struct error *err)
{
  uint64_t *ids = r->particles->id + r->target;
  for (int64_t i = 0; i < r->count; i++) ids[i] = first_id + (uint64_t)(r->first + i);
  if (!hdf5_has(r->group, "id")) return FIRN_OK;
  const struct column column = {"id", 1, true, RULE_FINITE, PARTICLE_ID};
  struct hdf5_table table;
  int code = hdf5_table_open(&table, r->group, "id", r->path, err);
  if (code != FIRN_OK) return code;
  code = check_shape(r, &column, &table, err);
  if (code == FIRN_OK && table.class != H5T_INTEGER)
    code = error_set(err, FIRN_EINPUT, "%s: id must hold integers", r->path);
  /* HDF5 would turn a negative number into 0 on the way to an unsigned one. */
  const hid_t type = table.is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
  if (code == FIRN_OK && !hdf5_table_read(&table, type, r->first, r->count, ids))
    code = hdf5_error(err, FIRN_EINPUT, "%s: cannot read id", r->path);
  if (code == FIRN_OK && table.is_signed) code = check_sign(r, ids, err);
  hdf5_table_close(&table);
  return code;
}

static int check_unique(const struct reader *r, struct error *err)
{
  const int code = unique_ids_check(r->comm, r->particles->id + r->target, r->count, err);
  return code == FIRN_OK ? FIRN_OK : error_prefix(err, "%s", r->path);
}

static int read_all(struct reader *r, uint32_t material, uint64_t first_id, struct error *err)
{
  int code = comm_agree(r->comm, open_file(r, err), err);
  if (code == FIRN_OK) code = comm_agree(r->comm, take_share(r, err), err);
  if (code != FIRN_OK) return code;
  r->target = particles_append(r->particles, r->count);
  for (int64_t i = 0; i < r->count; i++) r->particles->material[r->target + i] = material;
  for (size_t c = 0; c < sizeof columns / sizeof *columns && code == FIRN_OK; c++)
    code = comm_agree(r->comm, read_column(r, &columns[c], err), err);
  if (code == FIRN_OK) code = comm_agree(r->comm, read_ids(r, first_id, err), err);
  if (code == FIRN_OK) code = check_unique(r, err);
  return code;
}

int particle_file_read(const struct comm *comm, const char *path, uint32_t material, uint64_t first_id,
                       struct particles *p, int64_t *total, struct error *err)
{
  struct error local = {.code = FIRN_OK};
  struct reader r = {.comm = comm, .path = path, .file = -1, .group = -1, .particles = p};
  const int32_t before = p->count;
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  const int code = read_all(&r, material, first_id, &local);
  if (r.group >= 0) H5Gclose(r.group);
  if (r.file >= 0) H5Fclose(r.file);
  hdf5_silence_end(&silence);
  if (code == FIRN_OK) {
    *total = r.total;
  } else {
    p->count = before;
    if (err) *err = local;
  }
  return code;
}
