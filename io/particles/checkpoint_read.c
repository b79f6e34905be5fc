/* The rows of a checkpoint: each rank gets a contiguous range. With parallel HDF5 all ranks read a field
 * together in rounds of one buffer; with the direct way each opens the file for itself. Rank 0 checks the
 * seal for all. Every rank hashes what it read, and the sums over all ranks must be those of the seal. */
#include "base/log.h"
#include "base/memory.h"
#include "io/particles/checkpoint.h"
#include "io/particles/hdf5.h"
#include "io/particles/together.h"
#include "io/run/seal.h"

#include <math.h>
#include <string.h>

enum { STAGING_BYTES = 4 << 20 };

struct source {
  const struct comm *comm;
  const char *path;
  const struct scene_writing *way;
  bool together; /* through parallel HDF5 */
  struct seal seal;
  hid_t file, group, transfer;
  int64_t total, first, count; /* rows of the file; this rank's */
};

/* This rank's share. */
static int take_share(struct source *s, struct error *err)
{
  const struct seal_entry *ids = seal_find(&s->seal, particle_fields[PARTICLE_ID].name);
  s->group = hdf5_object_open(s->file, "particles");
  if (s->group < 0 || !ids) return error_set(err, FIRN_EDAMAGED, "%s holds no particles", s->path);
  s->total = ids->rows;
  s->first = (int64_t)((__int128)s->total * s->comm->rank / s->comm->size);
  s->count = (int64_t)((__int128)s->total * (s->comm->rank + 1) / s->comm->size) - s->first;
  if (s->count > (int64_t)INT32_MAX - 63)
    return error_set(err, FIRN_ELIMIT, "%s: %lld particles are too many for %d ranks: use more ranks",
                     s->path, (long long)s->total, s->comm->size);
  return FIRN_OK;
}

/* Collective. */
static int open_source(struct source *s, struct error *err)
{
  int code = comm_agree(s->comm, s->comm->rank == 0 ? seal_check(&s->seal, s->path, err) : FIRN_OK, err);
  if (code != FIRN_OK) return code;
  comm_broadcast(s->comm, &s->seal, sizeof s->seal);
  if (s->together) {
    code = together_open(&s->file, s->comm, s->path, H5F_ACC_RDONLY, true, s->way, err);
    s->transfer = together_transfer();
  } else {
    s->file = hdf5_open(s->path, err);
    code = comm_agree(s->comm, s->file < 0 ? FIRN_EDAMAGED : FIRN_OK, err);
  }
  return code != FIRN_OK ? code : comm_agree(s->comm, take_share(s, err), err);
}

/* Collective: a rank that could not read; the others may be waiting for it. */
static int agree(const struct source *s, int code, struct error *err)
{
  return s->together ? together_agree(s->comm, NULL, s->way, code, err) : comm_agree(s->comm, code, err);
}

static bool fits(const struct source *s, const struct hdf5_table *table, const struct particle_field *field,
                 const struct seal_entry *entry)
{
  return entry && table->rows == s->total && entry->rows == s->total &&
         table->components == field->components && table->bytes == field_size(field->type) &&
         (size_t)entry->row_size == table->bytes * (size_t)field->components &&
         table->class == (field->type == FIELD_F64 ? H5T_FLOAT : H5T_INTEGER);
}

/* Interleaved rows to component arrays. */
static void scatter(const struct particles *p, const struct particle_field *field, int64_t first, int64_t n,
                    const void *rows)
{
  const int stride = field->components;
  for (int c = 0; c < stride; c++) {
    void *array = particle_array(p, field, c);
    if (field_size(field->type) == sizeof(uint64_t)) {
      uint64_t *to = (uint64_t *)array + first;
      const uint64_t *from = (const uint64_t *)rows + c;
      for (int64_t i = 0; i < n; i++) to[i] = from[i * stride];
    } else {
      uint32_t *to = (uint32_t *)array + first;
      const uint32_t *from = (const uint32_t *)rows + c;
      for (int64_t i = 0; i < n; i++) to[i] = from[i * stride];
    }
  }
}

/* Collective: this rank's rows of one field, and what they come to. Shares differ by one row at most, so all
 * ranks have the same rounds. */
static int read_rows(const struct source *s, struct hdf5_table *table, const struct particle_field *field,
                     struct particles *p, struct seal_entry *own, struct error *err)
{
  const hid_t type = field->type == FIELD_F64   ? H5T_NATIVE_DOUBLE
                     : field->type == FIELD_U64 ? H5T_NATIVE_UINT64
                                                : H5T_NATIVE_UINT32;
  const int64_t most = STAGING_BYTES / own->row_size, share = (s->total + s->comm->size - 1) / s->comm->size,
                slice = share < most ? share : most;
  void *rows = mem_alloc((size_t)slice, (size_t)own->row_size);
  int code = FIRN_OK;
  for (int64_t done = 0; done < share && code == FIRN_OK; done += slice) {
    const int64_t left = s->count - done, n = left <= 0 ? 0 : left < slice ? left : slice;
    if (!hdf5_table_read(table, type, s->first + done, n, rows)) {
      code = hdf5_error(err, FIRN_EDAMAGED, "%s: cannot read %s", s->path, field->name);
    } else {
      seal_add_rows(own, s->first + done, n, rows);
      scatter(p, field, done, n, rows);
    }
    code = agree(s, code, err);
    log_heartbeat("reading a checkpoint");
  }
  mem_free(rows);
  return code;
}

/* Whether the file has a field as it should be. */
static int open_field(const struct source *s, const struct particle_field *field, struct hdf5_table *table,
                      struct error *err)
{
  const int code = hdf5_table_open(table, s->group, field->name, s->path, err);
  if (code != FIRN_OK) return code;
  table->transfer = s->transfer;
  if (fits(s, table, field, seal_find(&s->seal, field->name))) return FIRN_OK;
  hdf5_table_close(table);
  return error_set(err, FIRN_EDAMAGED, "%s: %s does not have the shape it should", s->path, field->name);
}

/* Collective: one field on all ranks, then the sum. */
static int read_checked(const struct source *s, const struct particle_field *field, struct particles *p,
                        struct error *err)
{
  struct hdf5_table table = {.dataset = -1};
  int code = agree(s, open_field(s, field, &table, err), err);
  if (code == FIRN_OK) {
    const struct seal_entry *entry = seal_find(&s->seal, field->name);
    struct seal_entry own = {.row_size = entry->row_size};
    int64_t sum;
    code = read_rows(s, &table, field, p, &own, err);
    memcpy(&sum, &own.sum, sizeof sum);
    comm_sum_i64(s->comm, &sum, 1);
    if (code == FIRN_OK && memcmp(&sum, &entry->sum, sizeof sum) != 0)
      code =
          error_set(err, FIRN_EDAMAGED, "%s is damaged: the rows of %s have changed", s->path, field->name);
  }
  hdf5_table_close(&table);
  return code;
}

/* Fields that a file leaves out where they are the same for all particles: their initial value. */
static const int uniform[2] = {PARTICLE_STIFFNESS, PARTICLE_MATERIAL};

/* Particles whose material keeps ln J_P get its bits back; JP was made from them. */
static int read_log(const struct source *s, struct particles *p, struct error *err)
{
  if (!seal_find(&s->seal, checkpoint_log.name)) return FIRN_OK;
  double *plastic = mem_alloc((size_t)p->count, sizeof *plastic);
  memcpy(plastic, p->jp, (size_t)p->count * sizeof *plastic);
  const int code = read_checked(s, &checkpoint_log, p, err);
  for (int32_t i = 0; i < p->count; i++)
    if (isnan(p->jp[i])) p->jp[i] = plastic[i];
  mem_free(plastic);
  return code;
}

static int read_all(struct source *s, bool lenient, struct particles *p, struct error *err)
{
  int code = open_source(s, err);
  if (code != FIRN_OK) return code;
  if (seal_find(&s->seal, particle_fields[PARTICLE_LIQUID].name) && !p->liquid)
    return error_set(
        err, FIRN_EINPUT,
        "%s is of a run with heat, and the scene has none: its liquid would become snow; add the "
        "section 'heat'",
        s->path);
  for (int k = 0; k < 2; k++) /* snow that varied continues to vary, even if the scene no longer says so */
    if (seal_find(&s->seal, particle_fields[uniform[k]].name))
      particles_add_needs(p, particle_fields[uniform[k]].needs);
  particles_append(p, s->count);
  for (int f = 0; f < PARTICLE_FIELDS && code == FIRN_OK; f++) {
    const struct particle_field *field = &particle_fields[f];
    const bool may_lack = lenient || f == uniform[0] || f == uniform[1];
    if (!particle_array(p, field, 0) || (may_lack && !seal_find(&s->seal, field->name))) continue;
    code = read_checked(s, field, p, err);
  }
  return code == FIRN_OK ? read_log(s, p, err) : code;
}

static int close_source(struct source *s, int code, struct error *err)
{
  if (s->group >= 0) H5Oclose(s->group);
  if (s->transfer > 0) H5Pclose(s->transfer);
  if (s->file >= 0 && s->together) return together_close(s->file, s->comm, NULL, s->way, code, err);
  if (s->file >= 0) H5Fclose(s->file);
  return code;
}

int checkpoint_read(const struct comm *comm, const char *path, const struct scene_writing *way, bool lenient,
                    struct particles *p, struct error *err)
{
  struct error local = {.code = FIRN_OK};
  struct source s = {.comm = comm,
                     .path = path,
                     .way = way,
                     .together = together_is_chosen(comm, way),
                     .file = -1,
                     .group = -1};
  FIRN_ASSERT(p->count == 0);
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  int code = read_all(&s, lenient, p, &local);
  code = close_source(&s, code, &local);
  hdf5_silence_end(&silence);
  if (code != FIRN_OK) {
    p->count = 0;
    if (err) *err = local;
  }
  return code;
}
