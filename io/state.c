/* See state.h. */
#include "io/state.h"

#include "base/memory.h"
#include "io/hdf5.h"

#include <stdio.h>
#include <string.h>

struct scan {
  struct state *state;
  struct error *err;
  int code;
};

static int add_field(struct state *state, const char *name, struct error *err)
{
  struct hdf5_table table;
  const int code = hdf5_table_open(&table, state->group, name, state->path, err);
  if (code != FIRN_OK) return code;
  struct state_field *field = &state->fields[state->field_count];
  *field = (struct state_field){.real = table.class == H5T_FLOAT,
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
  const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
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
  struct state *state = scan->state;
  if (strcmp(name, "position") == 0 || !is_numeric_dataset(group, name)) return 0;
  if (strlen(name) >= sizeof state->fields->name || state->field_count == STATE_FIELDS)
    scan->code = error_set(scan->err, FIRN_ELIMIT, "%s: more than %d fields, or one with too long a name",
                           state->path, STATE_FIELDS);
  else
    scan->code = add_field(state, name, scan->err);
  return scan->code == FIRN_OK ? 0 : 1;
}

static int scan_fields(struct state *state, struct error *err)
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

int state_open(struct state **out, const char *path, struct error *err)
{
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  struct state *state = mem_alloc(1, sizeof *state);
  state->path = mem_strdup(path);
  state->count = -1;
  state->group = -1;
  int code = FIRN_OK;
  state->file = hdf5_open(path, err);
  if (state->file >= 0) state->group = hdf5_particle_group(state->file, path, err);
  if (state->group < 0)
    code = err ? err->code : FIRN_EINPUT;
  else
    code = scan_fields(state, err);
  if (code == FIRN_OK)
    *out = state;
  else
    state_close(&state);
  hdf5_silence_end(&silence);
  return code;
}

void state_close(struct state **state)
{
  if (!state || !*state) return;
  if ((*state)->group >= 0) H5Gclose((*state)->group);
  if ((*state)->file >= 0) H5Fclose((*state)->file);
  mem_free((*state)->path);
  mem_free(*state);
  *state = NULL;
}

const struct state_field *state_find(const struct state *state, const char *name)
{
  for (int f = 0; f < state->field_count; f++)
    if (strcmp(state->fields[f].name, name) == 0) return &state->fields[f];
  return NULL;
}

int state_load(const struct state *state, const struct state_field *field, hid_t memory_type, void **rows,
               struct error *err)
{
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  struct hdf5_table table;
  int code = hdf5_table_open(&table, state->group, field->name, state->path, err);
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
