/* Reading a frame back, for pictures: single precision is enough there and halves the memory. */
#include "io/frame.h"

#include "base/memory.h"
#include "io/hdf5.h"
#include "io/state.h"

#include <math.h>

/* Loads a field into *rows; a field that is not there stays NULL, or is an error if it is required. */
static int load(const struct state *state, const char *name, int components, hid_t type, bool required,
                void **rows, struct error *err)
{
  const struct state_field *field = state_find(state, name);
  if (!field && required)
    return error_set(err, FIRN_EINPUT, "%s: the dataset %s is missing", state->path, name);
  if (!field) return FIRN_OK;
  if (field->components != components)
    return error_set(err, FIRN_EINPUT, "%s: %s has %d components, expected %d", state->path, name,
                     field->components, components);
  return state_load(state, field, type, rows, err);
}

static int load_floats(const struct state *state, const char *name, int components, bool required,
                       float **out, struct error *err)
{
  void *rows = NULL;
  const int code = load(state, name, components, H5T_NATIVE_FLOAT, required, &rows, err);
  *out = rows;
  return code;
}

static int load_fields(struct frame *frame, const struct state *state, struct error *err)
{
  void *ids = NULL;
  int code = load(state, "id", 1, H5T_NATIVE_UINT64, true, &ids, err);
  frame->id = ids;
  if (code == FIRN_OK) code = load_floats(state, "position", 3, true, &frame->position, err);
  if (code == FIRN_OK) code = load_floats(state, "velocity", 3, true, &frame->velocity, err);
  if (code == FIRN_OK) code = load_floats(state, "density", 1, false, &frame->density, err);
  if (code == FIRN_OK) code = load_floats(state, "JP", 1, false, &frame->jp, err);
  for (int64_t k = 0; code == FIRN_OK && k < 3 * frame->count; k++)
    if (!isfinite(frame->position[k]))
      code = error_set(err, FIRN_EINPUT, "%s: the position of particle %llu is not finite", state->path,
                       (unsigned long long)frame->id[k / 3]);
  return code;
}

static void load_attributes(struct frame *frame, hid_t file)
{
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  hdf5_get_i64(file, "frame", &frame->info.index);
  hdf5_get_i64(file, "step", &frame->info.step);
  hdf5_get_f64(file, "time", &frame->info.time);
  frame->scene = hdf5_get_text(file, "scene");
  frame->resolved = hdf5_get_text(file, "scene_resolved");
  hdf5_silence_end(&silence);
}

int frame_read(struct frame **out, const char *path, struct error *err)
{
  struct error local = {.code = FIRN_OK};
  struct state *state = NULL;
  struct frame *frame = NULL;
  int code = state_open(&state, path, &local);
  if (code == FIRN_OK) {
    frame = mem_alloc(1, sizeof *frame);
    frame->count = state->count;
    load_attributes(frame, state->file);
    code = load_fields(frame, state, &local);
  }
  state_close(&state);
  if (code == FIRN_OK) {
    *out = frame;
  } else {
    frame_destroy(&frame);
    if (err) *err = local;
  }
  return code;
}

void frame_destroy(struct frame **frame)
{
  if (!frame || !*frame) return;
  mem_free((*frame)->id);
  mem_free((*frame)->position);
  mem_free((*frame)->velocity);
  mem_free((*frame)->density);
  mem_free((*frame)->jp);
  mem_free((*frame)->scene);
  mem_free((*frame)->resolved);
  mem_free(*frame);
  *frame = NULL;
}
