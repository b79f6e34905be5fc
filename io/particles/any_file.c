/* See state.h. */
#include "io/particles/any_file.h"

#include "base/memory.h"
#include "io/particles/frame.h"
#include "io/particles/hdf5.h"

#include <stdio.h>
#include <string.h>

struct scan {
  struct any_file *state;
  struct error *err;
  int code;
};

static int add_field(struct any_file *state, const char *name, struct error *err)
{
  struct hdf5_table table;
  const int code = hdf5_table_open(&table, state->group, name, state->path, err);
  if (code != FIRN_OK) return code;
  struct any_file_field *field = &state->fields[state->field_count];
  *field = (struct any_file_field){.real = table.class == H5T_FLOAT,
                                   .is_signed = table.is_signed,
                                   .bytes = (int)table.bytes,
                                   .components = table.components};
  snprintf(field->name, sizeof field->name, "%s", name);
  char *unit = hdf5_get_text(table.dataset, "unit");
  if (unit) snprintf(field->unit, sizeof field->unit, "%s", unit);
  mem_free(unit);
  hdf5_table_close(&table);
  if (state->count >= 0 && table.rows != state->count)
    return error_set(err, FIRN_EINPUT, "%s: %s has %lld rows where position has %lld: the file is damaged",
                     state->path, name, (long long)table.rows, (long long)state->count);
  state->count = table.rows;
  state->field_count++;
  return FIRN_OK;
}

/* Other things may stand beside the particles: groups, and texts or records that are no field. */
static bool is_numeric_dataset(hid_t group, const char *name)
{
  const hid_t object = hdf5_object_open(group, name);
  if (object < 0) return false;
  bool numeric = false;
  if (H5Iget_type(object) == H5I_DATASET) {
    const hid_t type = H5Dget_type(object);
    numeric = H5Tget_class(type) == H5T_INTEGER || H5Tget_class(type) == H5T_FLOAT;
    H5Tclose(type);
  }
  H5Oclose(object);
  return numeric;
}

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *link, void *data)
{
  (void)link;
  struct scan *scan = data;
  struct any_file *state = scan->state;
  if (strcmp(name, "position") == 0 || !is_numeric_dataset(group, name)) return 0;
  if (strlen(name) >= sizeof state->fields->name || state->field_count == ANY_FILE_FIELDS)
    scan->code = error_set(scan->err, FIRN_ELIMIT, "%s: more than %d fields, or one with too long a name",
                           state->path, ANY_FILE_FIELDS);
  else
    scan->code = add_field(state, name, scan->err);
  return scan->code == FIRN_OK ? 0 : 1;
}

static int scan_fields(struct any_file *state, struct error *err)
{
  struct scan scan = {state, err, FIRN_OK};
  const int code = add_field(state, "position", err); /* first: it says how many rows there are */
  if (code != FIRN_OK) return code;
  if (state->fields[0].components != 3)
    return error_set(err, FIRN_EINPUT, "%s: position has %d components, expected 3", state->path,
                     state->fields[0].components);
  hsize_t place = 0;
  if (H5Literate(state->group, H5_INDEX_NAME, H5_ITER_INC, &place, visit_link, &scan) < 0)
    return hdf5_error(err, FIRN_EINPUT, "%s is damaged", state->path);
  return scan.code;
}

/* Before HDF5 reads the file, whose structure it takes on trust. */
static int check_seal(struct any_file *state, struct error *err)
{
  if (!seal_is_there(state->path)) return FIRN_OK;
  state->checked = true;
  return seal_check(&state->seal, state->path, err);
}

static int open_group(struct any_file *state, struct error *err)
{
  state->file = hdf5_open(state->path, err);
  if (state->file >= 0) state->group = hdf5_particle_group(state->file, state->path, err);
  if (state->group < 0) return err ? err->code : FIRN_EINPUT;
  return scan_fields(state, err);
}

int any_file_open(struct any_file **out, const char *path, bool check, struct error *err)
{
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  struct any_file *state = mem_alloc(1, sizeof *state);
  state->path = mem_strdup(path);
  state->count = -1;
  state->file = state->group = -1;
  int code = check ? check_seal(state, err) : FIRN_OK;
  if (code == FIRN_OK && check) code = hdf5_trial(path, err);
  if (code == FIRN_OK) code = open_group(state, err);
  if (code == FIRN_OK && check && !state->checked && frame_lost_seal(state->file))
    code = error_set(err, FIRN_EDAMAGED, "%s is damaged: its seal is gone", path);
  if (code == FIRN_OK)
    *out = state;
  else
    any_file_close(&state);
  hdf5_silence_end(&silence);
  return code;
}

void any_file_close(struct any_file **state)
{
  if (!state || !*state) return;
  if ((*state)->group >= 0) H5Oclose((*state)->group);
  if ((*state)->file >= 0) H5Fclose((*state)->file);
  mem_free((*state)->path);
  mem_free(*state);
  *state = NULL;
}

const struct any_file_field *any_file_find(const struct any_file *state, const char *name)
{
  for (int f = 0; f < state->field_count; f++)
    if (strcmp(state->fields[f].name, name) == 0) return &state->fields[f];
  return NULL;
}

int any_file_load(const struct any_file *state, const struct any_file_field *field, hid_t memory_type,
                  void **rows, struct error *err)
{
  const struct seal_entry *entry = state->checked ? seal_find(&state->seal, field->name) : NULL;
  int code = entry ? seal_check_rows(entry, state->path, err) : FIRN_OK;
  if (code != FIRN_OK) return code;
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  struct hdf5_table table;
  code = hdf5_table_open(&table, state->group, field->name, state->path, err);
  if (code == FIRN_OK) {
    const size_t row_size = H5Tget_size(memory_type) * (size_t)field->components;
    void *block = mem_alloc((size_t)state->count, row_size);
    if (hdf5_table_read(&table, memory_type, 0, state->count, block)) {
      *rows = block;
    } else {
      mem_free(block);
      code = hdf5_error(err, FIRN_EINPUT, "%s: cannot read %s", state->path, field->name);
    }
    hdf5_table_close(&table);
  }
  hdf5_silence_end(&silence);
  return code;
}
