/* Loading, and the formats that are a header and rows. NPZ, which is an archive, is in export_npz.c. */
#include "io/particles/export.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/particles/any_file.h"
#include "io/particles/hdf5.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static enum export_type type_of(const struct any_file_field *field)
{
  if (field->real) return field->bytes > 4 ? EXPORT_F64 : EXPORT_F32;
  return field->bytes > 4 ? EXPORT_U64 : EXPORT_U32;
}

static hid_t memory_type(enum export_type type)
{
  switch (type) {
  case EXPORT_F32: return H5T_NATIVE_FLOAT;
  case EXPORT_F64: return H5T_NATIVE_DOUBLE;
  case EXPORT_U32: return H5T_NATIVE_UINT32;
  default: return H5T_NATIVE_UINT64;
  }
}

int export_load(struct export_data **out, const char *path, struct error *err)
{
  struct any_file *state = NULL;
  *out = NULL;
  int code = any_file_open(&state, path, true, err);
  if (code) return code;
  struct export_data *data = mem_alloc(1, sizeof *data);
  data->count = state->count;
  data->field_count = state->field_count;
  data->field = mem_alloc((size_t)state->field_count, sizeof *data->field);
  hdf5_get_f64(state->file, "time", &data->time);
  for (int k = 0; k < state->field_count && !code; k++) {
    struct export_field *to = &data->field[k];
    snprintf(to->name, sizeof to->name, "%s", state->fields[k].name);
    to->components = state->fields[k].components;
    to->type = type_of(&state->fields[k]);
    code = any_file_load(state, &state->fields[k], memory_type(to->type), &to->rows, err);
  }
  any_file_close(&state);
  if (code) export_destroy(&data);
  *out = data;
  return code;
}

void export_destroy(struct export_data **data)
{
  struct export_data *d = *data;
  if (!d) return;
  for (int k = 0; k < d->field_count; k++) mem_free(d->field[k].rows);
  mem_free(d->field);
  mem_free(d);
  *data = NULL;
}

int export_write(const char *path, void (*writer)(FILE *, const struct export_data *),
                 const struct export_data *data, struct error *err)
{
  char *temp = file_temp_name(path, 0);
  FILE *file = fopen(temp, "wb");
  int code = FIRN_OK;
  if (!file)
    code = error_set(err, FIRN_EIO, "%s: cannot be written: %s", path, strerror(errno));
  else {
    errno = 0;
    writer(file, data);
    const int failed = ferror(file);
    if (fclose(file) || failed) {
      code = error_set(err, FIRN_EIO, "%s: cannot be written: %s", path, strerror(errno ? errno : EIO));
      unlink(temp);
    }
  }
  if (!code) code = file_commit(temp, path, err);
  mem_free(temp);
  return code;
}

/* "x", "vx", "FE_3": what other programs expect of positions and velocities, and plain numbers for the rest.
 */
static void component_name(const struct export_field *field, int component, char out[80])
{
  if (strcmp(field->name, "position") == 0)
    snprintf(out, 80, "%c", "xyz"[component]);
  else if (strcmp(field->name, "velocity") == 0)
    snprintf(out, 80, "v%c", "xyz"[component]);
  else if (field->components == 1)
    snprintf(out, 80, "%s", field->name);
  else
    snprintf(out, 80, "%s_%d", field->name, component);
}

/* PLY knows no integers of 64 bits: ids go as doubles, exact up to 2^53. */
static const char *ply_type(enum export_type type)
{
  static const char *const names[] = {"float", "double", "uint", "double"};
  return names[type];
}

void export_ply(FILE *file, const struct export_data *d)
{
  fprintf(file,
          "ply\nformat binary_little_endian 1.0\ncomment firn, time %.9g s\nelement vertex %" PRId64 "\n",
          d->time, d->count);
  for (int k = 0; k < d->field_count; k++)
    for (int c = 0; c < d->field[k].components; c++) {
      char name[80];
      component_name(&d->field[k], c, name);
      fprintf(file, "property %s %s\n", ply_type(d->field[k].type), name);
    }
  fputs("end_header\n", file);
  for (int64_t i = 0; i < d->count; i++)
    for (int k = 0; k < d->field_count; k++) {
      const struct export_field *f = &d->field[k];
      const size_t row = export_size(f->type) * (size_t)f->components;
      if (f->type != EXPORT_U64) {
        fwrite((const char *)f->rows + (size_t)i * row, 1, row, file);
        continue;
      }
      for (int c = 0; c < f->components; c++) {
        const double value = (double)((const uint64_t *)f->rows)[i * f->components + c];
        fwrite(&value, sizeof value, 1, file);
      }
    }
}

static void csv_value(FILE *file, const struct export_field *f, int64_t at)
{
  switch (f->type) {
  case EXPORT_F32: fprintf(file, "%.9g", (double)((const float *)f->rows)[at]); break;
  case EXPORT_F64: fprintf(file, "%.17g", ((const double *)f->rows)[at]); break;
  case EXPORT_U32: fprintf(file, "%" PRIu32, ((const uint32_t *)f->rows)[at]); break;
  case EXPORT_U64: fprintf(file, "%" PRIu64, ((const uint64_t *)f->rows)[at]); break;
  }
}

void export_csv(FILE *file, const struct export_data *d)
{
  for (int k = 0; k < d->field_count; k++)
    for (int c = 0; c < d->field[k].components; c++) {
      char name[80];
      component_name(&d->field[k], c, name);
      fprintf(file, "%s%s", k || c ? "," : "", name);
    }
  fputc('\n', file);
  for (int64_t i = 0; i < d->count; i++) {
    for (int k = 0; k < d->field_count; k++)
      for (int c = 0; c < d->field[k].components; c++) {
        if (k || c) fputc(',', file);
        csv_value(file, &d->field[k], i * d->field[k].components + c);
      }
    fputc('\n', file);
  }
}

/* An array of the file's appended part. */
static void vtp_array(FILE *file, const char *type, const char *name, int components, uint64_t *offset,
                      uint64_t bytes)
{
  fprintf(file,
          "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"appended\" offset=\"%" PRIu64
          "\"/>\n",
          type, name, components, *offset);
  *offset += bytes + sizeof bytes;
}

static const char *vtk_type(enum export_type type)
{
  static const char *const names[] = {"Float32", "Float64", "UInt32", "UInt64"};
  return names[type];
}

static uint64_t field_bytes(const struct export_data *d, const struct export_field *f)
{
  return (uint64_t)d->count * (uint64_t)f->components * export_size(f->type);
}

static void vtp_field(FILE *file, const struct export_data *d, const struct export_field *f)
{
  const uint64_t bytes = field_bytes(d, f);
  fwrite(&bytes, sizeof bytes, 1, file);
  fwrite(f->rows, 1, bytes, file);
}

/* The numbers first, first + 1, ... as cells of one vertex each. */
static void vtp_numbers(FILE *file, int64_t count, int64_t first)
{
  const uint64_t bytes = (uint64_t)count * sizeof first;
  fwrite(&bytes, sizeof bytes, 1, file);
  for (int64_t i = 0; i < count; i++) {
    const int64_t value = first + i;
    fwrite(&value, sizeof value, 1, file);
  }
}

void export_vtp(FILE *file, const struct export_data *d)
{
  const uint64_t numbers = (uint64_t)d->count * sizeof(int64_t);
  uint64_t offset = 0;
  fprintf(
      file,
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" "
      "header_type=\"UInt64\">\n<PolyData>\n<FieldData><DataArray type=\"Float64\" Name=\"TimeValue\" "
      "NumberOfTuples=\"1\" format=\"ascii\">%.17g</DataArray></FieldData>\n<Piece NumberOfPoints=\"%" PRId64
      "\" NumberOfVerts=\"%" PRId64 "\">\n<Points>\n",
      d->time, d->count, d->count);
  vtp_array(file, vtk_type(d->field[0].type), "position", 3, &offset, field_bytes(d, &d->field[0]));
  fputs("</Points>\n<Verts>\n", file);
  vtp_array(file, "Int64", "connectivity", 1, &offset, numbers);
  vtp_array(file, "Int64", "offsets", 1, &offset, numbers);
  fputs("</Verts>\n<PointData>\n", file);
  for (int k = 1; k < d->field_count; k++)
    vtp_array(file, vtk_type(d->field[k].type), d->field[k].name, d->field[k].components, &offset,
              field_bytes(d, &d->field[k]));
  fputs("</PointData>\n</Piece>\n</PolyData>\n<AppendedData encoding=\"raw\">\n_", file);
  vtp_field(file, d, &d->field[0]);
  vtp_numbers(file, d->count, 0);
  vtp_numbers(file, d->count, 1);
  for (int k = 1; k < d->field_count; k++) vtp_field(file, d, &d->field[k]);
  fputs("\n</AppendedData>\n</VTKFile>\n", file);
}
