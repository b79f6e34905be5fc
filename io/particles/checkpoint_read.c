/* The rows of a checkpoint. As with particle files, each rank opens the file for itself and reads a
 * contiguous range, so that nothing but the agreement is collective and a rank that cannot read is an error
 * and not a hang. Every rank hashes what it read; the sums over all ranks must be those of the seal. */
#include "base/log.h"
#include "base/memory.h"
#include "io/particles/checkpoint.h"
#include "io/particles/hdf5.h"
#include "io/particles/seal.h"

#include <string.h>

enum { STAGING_BYTES = 4 << 20 };

struct source {
  const struct comm *comm;
  const char *path;
  struct seal seal;
  hid_t file, group;
  int64_t total, first, count; /* rows of the file; this rank's */
};

static int open_source(struct source *s, struct error *err)
{
  int code = seal_check(&s->seal, s->path, err);
  if (code != FIRN_OK) return code;
  s->file = hdf5_open(s->path, err);
  if (s->file < 0) return FIRN_EDAMAGED;
  s->group = H5Gopen2(s->file, "particles", H5P_DEFAULT);
  const struct seal_entry *ids = seal_find(&s->seal, particle_fields[PARTICLE_ID].name);
  if (s->group < 0 || !ids) return error_set(err, FIRN_EDAMAGED, "%s holds no particles", s->path);
  s->total = ids->rows;
  s->first = (int64_t)((__int128)s->total * s->comm->rank / s->comm->size);
  s->count = (int64_t)((__int128)s->total * (s->comm->rank + 1) / s->comm->size) - s->first;
  if (s->count > (int64_t)INT32_MAX - 63)
    return error_set(err, FIRN_ELIMIT, "%s: %lld particles are too many for %d ranks: use more ranks",
                     s->path, (long long)s->total, s->comm->size);
  return FIRN_OK;
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

/* This rank's rows of one field, and what they come to. */
static int read_rows(const struct source *s, const struct hdf5_table *table,
                     const struct particle_field *field, struct particles *p, struct seal_entry *own,
                     struct error *err)
{
  const hid_t type = field->type == FIELD_F64   ? H5T_NATIVE_DOUBLE
                     : field->type == FIELD_U64 ? H5T_NATIVE_UINT64
                                                : H5T_NATIVE_UINT32;
  const int64_t most = STAGING_BYTES / own->row_size, slice = s->count < most ? s->count : most;
  void *rows = mem_alloc((size_t)slice, (size_t)own->row_size);
  int code = FIRN_OK;
  for (int64_t done = 0; done < s->count && code == FIRN_OK; done += slice) {
    const int64_t n = s->count - done < slice ? s->count - done : slice;
    if (!hdf5_table_read(table, type, s->first + done, n, rows)) {
      code = hdf5_error(err, FIRN_EDAMAGED, "%s: cannot read %s", s->path, field->name);
    } else {
      seal_add_rows(own, s->first + done, n, rows);
      scatter(p, field, done, n, rows);
    }
    log_heartbeat("reading a checkpoint");
  }
  mem_free(rows);
  return code;
}

static int read_field(const struct source *s, const struct particle_field *field, struct particles *p,
                      struct seal_entry *own, struct error *err)
{
  struct hdf5_table table;
  int code = hdf5_table_open(&table, s->group, field->name, s->path, err);
  if (code != FIRN_OK) return code;
  const struct seal_entry *entry = seal_find(&s->seal, field->name);
  if (!fits(s, &table, field, entry)) {
    code = error_set(err, FIRN_EDAMAGED, "%s: %s does not have the shape it should", s->path, field->name);
  } else {
    own->row_size = entry->row_size;
    code = read_rows(s, &table, field, p, own, err);
  }
  hdf5_table_close(&table);
  return code;
}

/* Collective: one field on all ranks, then the sum. */
static int read_checked(const struct source *s, const struct particle_field *field, struct particles *p,
                        struct error *err)
{
  struct seal_entry own = {.sum = 0};
  const int code = comm_agree(s->comm, read_field(s, field, p, &own, err), err);
  if (code != FIRN_OK) return code;
  int64_t sum;
  memcpy(&sum, &own.sum, sizeof sum);
  comm_sum_i64(s->comm, &sum, 1);
  if (memcmp(&sum, &seal_find(&s->seal, field->name)->sum, sizeof sum) == 0) return FIRN_OK;
  return error_set(err, FIRN_EDAMAGED, "%s is damaged: the rows of %s have changed", s->path, field->name);
}

/* Fields that a file leaves out where they are the same for all particles: their initial value. */
static const int uniform[2] = {PARTICLE_STIFFNESS, PARTICLE_MATERIAL};

static int read_all(struct source *s, bool lenient, struct particles *p, struct error *err)
{
  int code = comm_agree(s->comm, open_source(s, err), err);
  if (code != FIRN_OK) return code;
  if (seal_find(&s->seal, particle_fields[PARTICLE_LIQUID].name) && !p->liquid)
    return error_set(
        err, FIRN_EINPUT,
        "%s is of a run with heat, and the scene has none: its liquid would become snow; add the "
        "section 'heat'",
        s->path);
  for (int k = 0; k < 2; k++) /* snow that varied goes on so, even where the scene no longer says it */
    if (seal_find(&s->seal, particle_fields[uniform[k]].name))
      particles_add_needs(p, particle_fields[uniform[k]].needs);
  particles_append(p, s->count);
  for (int f = 0; f < PARTICLE_FIELDS && code == FIRN_OK; f++) {
    const struct particle_field *field = &particle_fields[f];
    const bool may_lack = lenient || f == uniform[0] || f == uniform[1];
    if (!particle_array(p, field, 0) || (may_lack && !seal_find(&s->seal, field->name))) continue;
    code = read_checked(s, field, p, err);
  }
  return code;
}

int checkpoint_read(const struct comm *comm, const char *path, bool lenient, struct particles *p,
                    struct error *err)
{
  struct error local = {.code = FIRN_OK};
  struct source s = {.comm = comm, .path = path, .file = -1, .group = -1};
  FIRN_ASSERT(p->count == 0);
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  const int code = read_all(&s, lenient, p, &local);
  if (s.group >= 0) H5Gclose(s.group);
  if (s.file >= 0) H5Fclose(s.file);
  hdf5_silence_end(&silence);
  if (code != FIRN_OK) {
    p->count = 0;
    if (err) *err = local;
  }
  return code;
}
