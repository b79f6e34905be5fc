/* See particle_file.h. Each rank gets a contiguous range of rows. With parallel HDF5 all ranks read a column
 * together in rounds; with the direct way each opens the file for itself. Chunks are unpacked by our own code
 * (hdf5_table.c), so that each rank fetches its own in any case.
 *
 * Fields are checked in one fixed order, ranks hold ascending rows, and a bad row does not end the rounds. So
 * the message names the same first bad row on any number of ranks. */
#include "io/particles/particle_file.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/particles/frame.h"
#include "io/particles/hdf5.h"
#include "io/particles/together.h"
#include "io/particles/unique_ids.h"
#include "io/run/seal.h"

#include <math.h>
#include <string.h>

enum { SLICE_ROWS = 65536 };

struct reader {
  const struct comm *comm;
  const char *path;
  const struct scene_writing *way;
  bool together;  /* through parallel HDF5 */
  hid_t transfer; /* likewise */
  hid_t file;
  hid_t group;
  struct particles *particles; /* NULL: a look at all that particles with these needs have */
  unsigned needs;
  int64_t total;  /* rows of the file */
  int64_t first;  /* of this rank's rows */
  int64_t count;  /* of this rank's rows */
  int32_t target; /* where they go in particles */
};

/* F_P, of which only the determinant is kept. */
static const struct particle_field plastic_gradient = {
    .name = "FP", .type = FIELD_F64, .components = 9, .rule = RULE_INVERTIBLE};

/* The columns that are read as they are, in one fixed order: all rows of the table but ids, then F_P. */
enum { FILE_COLUMNS = PARTICLE_FIELDS + 1 };
static const struct particle_field *file_column(int k)
{
  return k < PARTICLE_FIELDS ? &particle_fields[k] : &plastic_gradient;
}

static double determinant(const double f[9])
{
  return f[0] * (f[4] * f[8] - f[5] * f[7]) + f[1] * (f[5] * f[6] - f[3] * f[8]) +
         f[2] * (f[3] * f[7] - f[4] * f[6]);
}

/* As in scenes, numbers are bounded so that all products of them are finite, and divisors are above 0. */
static const double largest = 1e15, smallest = 1e-60;

static int check_size(const struct reader *r, const char *what, int64_t row, double value, bool positive,
                      struct error *err)
{
  if (fabs(value) <= largest && (!positive || value >= smallest)) return FIRN_OK;
  return error_set(err, FIRN_EINPUT,
                   "%s: %s of row %lld is %g, and nothing can be computed with it: expected %s1e15 in size; "
                   "is the file in SI units?",
                   r->path, what, (long long)row, value, positive ? "1e-60 to " : "at most ");
}

static int check_row(const struct reader *r, const struct particle_field *field, int64_t row,
                     const double *value, struct error *err)
{
  for (int c = 0; c < field->components; c++)
    if (!isfinite(value[c]))
      return error_set(err, FIRN_EINPUT, "%s: %s of row %lld is not finite", r->path, field->name,
                       (long long)row);
  if (field->rule == RULE_POSITIVE && !(value[0] > 0.0))
    return error_set(err, FIRN_EINPUT, "%s: %s of row %lld is %g, it must be positive", r->path, field->name,
                     (long long)row, value[0]);
  if (field->rule == RULE_NOT_NEGATIVE && !(value[0] >= 0.0))
    return error_set(err, FIRN_EINPUT, "%s: %s of row %lld is %g, it must not be negative", r->path,
                     field->name, (long long)row, value[0]);
  if (field->rule == RULE_FLAG && value[0] != 0.0 && value[0] != 1.0)
    return error_set(err, FIRN_EINPUT, "%s: %s of row %lld is %g, it must be 0 or 1", r->path, field->name,
                     (long long)row, value[0]);
  if (field->rule == RULE_INVERTIBLE) {
    const double j = determinant(value);
    if (!(j > 0.0) || !isfinite(j))
      return error_set(err, FIRN_EINPUT, "%s: the determinant of %s of row %lld is %g, it must be positive",
                       r->path, field->name, (long long)row, j);
    if (check_size(r, "the determinant", row, j, true, err)) return FIRN_EINPUT;
  }
  for (int c = 0; c < field->components; c++)
    if (check_size(r, field->name, row, value[c], field->rule == RULE_POSITIVE, err)) return FIRN_EINPUT;
  return FIRN_OK;
}

static void store_row(const struct reader *r, const struct particle_field *field, int64_t index,
                      const double *value)
{
  if (field == &plastic_gradient)
    r->particles->jp[index] = determinant(value);
  else
    for (int c = 0; c < field->components; c++)
      ((double *)particle_array(r->particles, field, c))[index] = value[c];
}

static int check_shape(const struct reader *r, const struct particle_field *field,
                       const struct hdf5_table *table, struct error *err)
{
  const int axes = field->components == 1 ? 1 : field->components == 3 ? 2 : 3;
  const char *shape = axes == 1 ? "(N)" : axes == 2 ? "(N, 3)" : "(N, 3, 3)";
  if (table->axes != axes || (axes > 1 && table->dims[1] != 3) || (axes > 2 && table->dims[2] != 3))
    return error_set(err, FIRN_EINPUT, "%s: %s has the wrong shape, expected %s", r->path, field->name,
                     shape);
  if (table->rows != r->total)
    return error_set(err, FIRN_EINPUT, "%s: %s has %lld rows where position has %lld", r->path, field->name,
                     (long long)table->rows, (long long)r->total);
  return FIRN_OK;
}

/* Of rows that were read; the first bad one counts. */
static int keep_rows(const struct reader *r, const struct particle_field *field, int64_t done, int64_t n,
                     const double *rows, struct error *err)
{
  int code = FIRN_OK;
  for (int64_t i = 0; i < n && code == FIRN_OK; i++) {
    const double *value = rows + i * field->components;
    code = check_row(r, field, r->first + done + i, value, err);
    if (code == FIRN_OK) store_row(r, field, r->target + done + i, value);
  }
  return code;
}

/* Collective: rounds of one slice per rank. Shares differ by one row at most, so all ranks have the same
 * rounds. The code is this rank's, unless no rank could read. */
static int read_rows(const struct reader *r, const struct particle_field *field, struct hdf5_table *table,
                     struct error *err)
{
  const int64_t share = (r->total + r->comm->size - 1) / r->comm->size,
                slice = share < SLICE_ROWS ? share : SLICE_ROWS;
  double *rows = mem_alloc((size_t)slice, (size_t)field->components * sizeof *rows);
  int code = FIRN_OK, lost = FIRN_OK;
  for (int64_t done = 0; done < share && lost == FIRN_OK; done += slice) {
    const int64_t left = r->count - done, n = left <= 0 ? 0 : left < slice ? left : slice;
    struct error unread = {.code = FIRN_OK};
    if (!hdf5_table_read(table, H5T_NATIVE_DOUBLE, r->first + done, n, rows))
      lost = hdf5_error(&unread, FIRN_EINPUT, "%s: cannot read %s", r->path, field->name);
    if (r->together) lost = together_agree(r->comm, NULL, r->way, lost, &unread);
    if (lost != FIRN_OK) *err = unread;
    if (code == FIRN_OK && lost == FIRN_OK) code = keep_rows(r, field, done, n, rows, err);
  }
  mem_free(rows);
  return lost != FIRN_OK ? lost : code;
}

/* Whether a column is to be read: the file has it or must have it, and the particles want it. */
static bool is_there(const struct reader *r, const struct particle_field *field)
{
  if (field->rule <= RULE_ID) return false;
  const bool wanted =
      field == &plastic_gradient || (r->particles ? particle_array(r->particles, field, 0) != NULL
                                                  : (field->needs & ~r->needs) == NEEDS_NOTHING);
  return wanted && (field->required || hdf5_has(r->group, field->name));
}

static int open_column(const struct reader *r, const struct particle_field *field, struct hdf5_table *table,
                       struct error *err)
{
  int code = hdf5_table_open(table, r->group, field->name, r->path, err);
  if (code != FIRN_OK) return code;
  code = check_shape(r, field, table, err);
  if (code != FIRN_OK) hdf5_table_close(table);
  return code;
}

/* Collective. */
static int read_column(const struct reader *r, const struct particle_field *field, struct error *err)
{
  struct hdf5_table table = {.dataset = -1};
  int code = comm_agree(r->comm, open_column(r, field, &table, err), err);
  table.transfer = r->transfer;
  if (code == FIRN_OK) code = comm_agree(r->comm, read_rows(r, field, &table, err), err);
  hdf5_table_close(&table);
  return code;
}

/* One rank's part: a frame or checkpoint that is read back must be what was written, and any file must be one
 * that HDF5 survives. */
static int examine(const struct reader *r, struct error *err)
{
  const int code = seal_is_there(r->path) ? seal_check_all(r->path, err) : FIRN_OK;
  return code ? code : hdf5_trial(r->path, err);
}

/* Learns from an open file how many rows there are. */
static int look_at_file(struct reader *r, struct error *err)
{
  const bool sealed = seal_is_there(r->path);
  if (!sealed && frame_lost_seal(r->file))
    return error_set(err, FIRN_EDAMAGED, "%s is damaged: its seal is gone", r->path);
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

/* Opens it for this process alone. */
static int open_file(struct reader *r, struct error *err)
{
  r->file = hdf5_open(r->path, err);
  return r->file < 0 ? err->code : look_at_file(r, err);
}

/* Collective. */
static int open_together(struct reader *r, struct error *err)
{
  const int code = together_open(&r->file, r->comm, r->path, H5F_ACC_RDONLY, false, r->way, err);
  if (code != FIRN_OK) return code;
  r->transfer = together_transfer();
  return comm_agree(r->comm, look_at_file(r, err), err);
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

static int open_ids(const struct reader *r, struct hdf5_table *table, struct error *err)
{
  int code = hdf5_table_open(table, r->group, "id", r->path, err);
  if (code != FIRN_OK) return code;
  code = check_shape(r, &particle_fields[PARTICLE_ID], table, err);
  if (code == FIRN_OK && table->class != H5T_INTEGER)
    code = error_set(err, FIRN_EINPUT, "%s: id must hold integers", r->path);
  if (code != FIRN_OK) hdf5_table_close(table);
  return code;
}

/* Collective. */
static int read_ids(const struct reader *r, uint64_t first_id, struct error *err)
{
  uint64_t *ids = r->particles->id + r->target;
  for (int64_t i = 0; i < r->count; i++) ids[i] = first_id + (uint64_t)(r->first + i);
  if (!hdf5_has(r->group, "id")) return FIRN_OK;
  struct hdf5_table table = {.dataset = -1};
  int code = comm_agree(r->comm, open_ids(r, &table, err), err);
  if (code != FIRN_OK) return code;
  table.transfer = r->transfer;
  /* HDF5 would turn a negative number into 0 on the way to an unsigned one. */
  const hid_t type = table.is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
  if (!hdf5_table_read(&table, type, r->first, r->count, ids))
    code = hdf5_error(err, FIRN_EINPUT, "%s: cannot read id", r->path);
  if (r->together) code = together_agree(r->comm, NULL, r->way, code, err);
  if (code == FIRN_OK && table.is_signed) code = check_sign(r, ids, err);
  hdf5_table_close(&table);
  return comm_agree(r->comm, code, err);
}

static int check_unique(const struct reader *r, struct error *err)
{
  const int code = unique_ids_check(r->comm, r->particles->id + r->target, r->count, err);
  return code == FIRN_OK ? FIRN_OK : error_prefix(err, "%s", r->path);
}

static int read_all(struct reader *r, uint32_t material, uint64_t first_id, struct error *err)
{
  int code = comm_agree(r->comm, r->comm->rank == 0 ? examine(r, err) : FIRN_OK, err);
  if (code == FIRN_OK)
    code = r->together ? open_together(r, err) : comm_agree(r->comm, open_file(r, err), err);
  if (code == FIRN_OK) code = comm_agree(r->comm, take_share(r, err), err);
  if (code != FIRN_OK) return code;
  r->target = particles_append(r->particles, r->count);
  for (int64_t i = 0; i < r->count && r->particles->material; i++)
    r->particles->material[r->target + i] = material;
  for (int f = 0; f < FILE_COLUMNS && code == FIRN_OK; f++)
    if (is_there(r, file_column(f))) code = read_column(r, file_column(f), err);
  if (code == FIRN_OK) code = read_ids(r, first_id, err);
  if (code == FIRN_OK) code = check_unique(r, err);
  return code;
}

static struct particle_file_info info_of(const struct reader *r)
{
  struct particle_file_info info = {.rows = r->total, .columns = 0};
  for (int k = 0; r->group >= 0 && k < PARTICLE_FIELDS; k++)
    if (hdf5_has(r->group, particle_fields[k].name)) info.columns |= 1u << k;
  return info;
}

static int close_file(struct reader *r, int code, struct error *err)
{
  if (r->group >= 0) H5Oclose(r->group);
  if (r->transfer > 0) H5Pclose(r->transfer);
  if (r->file >= 0 && r->together) return together_close(r->file, r->comm, NULL, r->way, code, err);
  if (r->file >= 0) H5Fclose(r->file);
  return code;
}

int particle_file_read(const struct comm *comm, const char *path, const struct scene_writing *way,
                       uint32_t material, uint64_t first_id, struct particles *p,
                       struct particle_file_info *info, struct error *err)
{
  struct error local = {.code = FIRN_OK};
  struct reader r = {.comm = comm,
                     .path = path,
                     .way = way,
                     .together = together_is_chosen(comm, way),
                     .file = -1,
                     .group = -1,
                     .particles = p};
  const int32_t before = p->count;
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  int code = read_all(&r, material, first_id, &local);
  if (code == FIRN_OK) *info = info_of(&r);
  code = close_file(&r, code, &local);
  hdf5_silence_end(&silence);
  if (code != FIRN_OK) {
    p->count = before;
    if (err) *err = local;
  }
  return code;
}

/* Rows of one column in pieces that are spread over the file; positions are kept. */
static int look_at_column(const struct reader *r, const struct particle_field *field, int most, double *x,
                          int *count, struct error *err)
{
  enum { PIECES = 16 };
  const int64_t piece = r->total < most ? r->total : most / PIECES, pieces = r->total < most ? 1 : PIECES;
  struct hdf5_table table;
  int code = open_column(r, field, &table, err), kept = 0;
  if (code != FIRN_OK) return code;
  double *rows = mem_alloc((size_t)piece, (size_t)field->components * sizeof *rows);
  for (int64_t k = 0; k < pieces && code == FIRN_OK; k++) {
    const int64_t first =
        pieces == 1 ? 0 : (int64_t)((double)(r->total - piece) * (double)k / (double)(pieces - 1));
    if (!hdf5_table_read(&table, H5T_NATIVE_DOUBLE, first, piece, rows))
      code = hdf5_error(err, FIRN_EINPUT, "%s: cannot read %s", r->path, field->name);
    for (int64_t i = 0; i < piece && code == FIRN_OK; i++)
      code = check_row(r, field, first + i, rows + i * field->components, err);
    if (x && field == &particle_fields[PARTICLE_POSITION] && code == FIRN_OK)
      memcpy(x + 3 * kept, rows, (size_t)piece * 3 * sizeof *x);
    kept += (int)piece;
  }
  if (field == &particle_fields[PARTICLE_POSITION]) *count = kept;
  mem_free(rows);
  hdf5_table_close(&table);
  return code;
}

static int look_at_all(struct reader *r, int most, double *x, int *count, struct error *err)
{
  struct hdf5_table table;
  int code = examine(r, err);
  if (code == FIRN_OK) code = open_file(r, err);
  for (int f = 0; f < FILE_COLUMNS && code == FIRN_OK; f++)
    if (is_there(r, file_column(f))) code = look_at_column(r, file_column(f), most, x, count, err);
  if (code != FIRN_OK || !hdf5_has(r->group, "id")) return code;
  code = open_ids(r, &table, err);
  if (code == FIRN_OK) hdf5_table_close(&table);
  return code;
}

int particle_file_look(const char *path, unsigned needs, struct particle_file_info *info, int most, double *x,
                       int *count, struct error *err)
{
  struct error local = {.code = FIRN_OK};
  struct reader r = {.path = path, .file = -1, .group = -1, .needs = needs};
  struct hdf5_silence silence;
  *count = 0;
  hdf5_silence_begin(&silence);
  const int code = look_at_all(&r, most, x, count, &local);
  *info = info_of(&r);
  close_file(&r, code, NULL);
  hdf5_silence_end(&silence);
  if (code != FIRN_OK && err) *err = local;
  return code;
}
