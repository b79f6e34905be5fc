/* Reading a frame back, for pictures: single precision is enough there and halves the memory. */
#include "io/particles/frame.h"

#include "base/memory.h"
#include "decomposition/node_block.h"
#include "io/particles/any_file.h"
#include "io/particles/hdf5.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Loads a field into *rows; a field that is not there stays NULL, or is an error if it is required. */
static int load(const struct any_file *state, const char *name, int components, hid_t type, bool required,
                void **rows, struct error *err)
{
  const struct any_file_field *field = any_file_find(state, name);
  if (!field && required)
    return error_set(err, FIRN_EINPUT, "%s: the dataset %s is missing", state->path, name);
  if (!field) return FIRN_OK;
  if (field->components != components)
    return error_set(err, FIRN_EINPUT, "%s: %s has %d components, expected %d", state->path, name,
                     field->components, components);
  return any_file_load(state, field, type, rows, err);
}

static int load_floats(const struct any_file *state, const char *name, int components, bool required,
                       float **out, struct error *err)
{
  void *rows = NULL;
  const int code = load(state, name, components, H5T_NATIVE_FLOAT, required, &rows, err);
  *out = rows;
  return code;
}

static int load_fields(struct frame *frame, const struct any_file *state, struct error *err)
{
  void *ids = NULL;
  int code = load(state, "id", 1, H5T_NATIVE_UINT64, true, &ids, err);
  frame->id = ids;
  if (code == FIRN_OK) code = load_floats(state, "position", 3, true, &frame->position, err);
  if (code == FIRN_OK) code = load_floats(state, "velocity", 3, true, &frame->velocity, err);
  if (code == FIRN_OK) code = load_floats(state, "density", 1, false, &frame->density, err);
  if (code == FIRN_OK) code = load_floats(state, "JP", 1, false, &frame->jp, err);
  if (code == FIRN_OK) code = load_floats(state, "mass", 1, false, &frame->mass, err);
  if (code == FIRN_OK) code = load_floats(state, "phase", 1, false, &frame->phase, err);
  if (code == FIRN_OK) code = load_floats(state, "temperature", 1, false, &frame->temperature, err);
  void *materials = NULL;
  if (code == FIRN_OK) code = load(state, "material", 1, H5T_NATIVE_UINT32, false, &materials, err);
  frame->material = materials;
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
  frame->files = hdf5_get_text(file, "scene_files");
  frame->free_bodies = hdf5_get_text(file, "free_bodies");
  hdf5_silence_end(&silence);
}

int frame_read_info(const char *path, struct frame_info *info, int64_t *count, struct error *err)
{
  struct any_file *state = NULL;
  struct frame frame = {.count = 0};
  const int code = any_file_open(&state, path, true, err);
  if (!code) {
    load_attributes(&frame, state->file);
    *info = frame.info;
    *count = state->count;
    mem_free(frame.scene);
    mem_free(frame.resolved);
    mem_free(frame.files);
    mem_free(frame.free_bodies);
  }
  any_file_close(&state);
  return code;
}

bool frame_lost_seal(hid_t file)
{
  if (H5Aexists(file, "format") < 0) return true; /* attributes that cannot be read: damaged in any case */
  char *format = hdf5_get_text(file, "format");
  int64_t version = 0;
  hdf5_get_i64(file, "format_version", &version);
  const bool lost = format && (strcmp(format, "firn checkpoint") == 0 ||
                               (strcmp(format, "firn frame") == 0 && version >= FRAME_VERSION_SEALED));
  mem_free(format);
  return lost;
}

static bool read_origin(struct frame_origin *origin, hid_t file)
{
  char *format = hdf5_get_text(file, "format"), *hash = hdf5_get_text(file, "scene_hash");
  origin->resolved = hdf5_get_text(file, "scene_resolved");
  origin->files = hdf5_get_text(file, "scene_files");
  origin->commit = hdf5_get_text(file, "firn_commit");
  if (hash) origin->scene_hash = strtoull(hash, NULL, 16);
  const bool whole = format && strcmp(format, "firn frame") == 0 && hash && origin->resolved &&
                     origin->commit && hdf5_get_i64(file, "frame", &origin->info.index) &&
                     hdf5_get_i64(file, "step", &origin->info.step) &&
                     hdf5_get_f64(file, "time", &origin->info.time);
  mem_free(format);
  mem_free(hash);
  return whole;
}

int frame_read_origin(struct frame_origin *out, const char *path, struct error *err)
{
  struct any_file *state = NULL;
  *out = (struct frame_origin){.scene_hash = 0};
  int code = any_file_open(&state, path, true, err);
  if (code != FIRN_OK) return code;
  struct hdf5_silence silence;
  hdf5_silence_begin(&silence);
  if (!read_origin(out, state->file)) code = error_set(err, FIRN_EINPUT, "%s is not a frame of Firn", path);
  hdf5_silence_end(&silence);
  any_file_close(&state);
  if (code != FIRN_OK) frame_origin_free(out);
  return code;
}

void frame_origin_free(struct frame_origin *origin)
{
  mem_free(origin->resolved);
  mem_free(origin->files);
  mem_free(origin->commit);
  *origin = (struct frame_origin){.scene_hash = 0};
}

int frame_read(struct frame **out, const char *path, struct error *err)
{
  struct error local = {.code = FIRN_OK};
  struct any_file *state = NULL;
  struct frame *frame = NULL;
  int code = any_file_open(&state, path, true, &local);
  if (code == FIRN_OK) {
    frame = mem_alloc(1, sizeof *frame);
    frame->count = state->count;
    load_attributes(frame, state->file);
    code = load_fields(frame, state, &local);
  }
  any_file_close(&state);
  if (code == FIRN_OK) {
    *out = frame;
  } else {
    frame_destroy(&frame);
    if (err) *err = local;
  }
  return code;
}

/* The arrays of a frame, in one list: where each pointer is and how many bytes a particle takes. */
enum { ARRAYS = 9 };

static void list_arrays(struct frame *frame, void **where[ARRAYS], size_t bytes[ARRAYS])
{
  void **const all[ARRAYS] = {
      (void **)&frame->id,      (void **)&frame->position,    (void **)&frame->velocity,
      (void **)&frame->density, (void **)&frame->jp,          (void **)&frame->mass,
      (void **)&frame->phase,   (void **)&frame->temperature, (void **)&frame->material};
  static const size_t sizes[ARRAYS] = {8, 12, 12, 4, 4, 4, 4, 4, 4};
  memcpy(where, all, sizeof all);
  memcpy(bytes, sizes, sizeof sizes);
}

/* Moves rank 0's arrays to memory that all ranks of a node see. */
static void share(struct frame *frame, const struct comm *comm)
{
  void **where[ARRAYS];
  size_t bytes[ARRAYS], start[ARRAYS + 1] = {0};
  int there[ARRAYS];
  list_arrays(frame, where, bytes);
  for (int k = 0; k < ARRAYS; k++) there[k] = *where[k] != NULL;
  comm_broadcast(comm, there, sizeof there);
  for (int k = 0; k < ARRAYS; k++) {
    const size_t size = there[k] ? (size_t)frame->count * bytes[k] : 0;
    start[k + 1] = start[k] + (size + 63) / 64 * 64;
  }
  frame->memory = node_block_create(comm, start[ARRAYS]);
  for (int k = 0; k < ARRAYS; k++) {
    char *to = (char *)frame->memory->bytes + start[k];
    if (comm->rank == 0 && there[k]) {
      memcpy(to, *where[k], (size_t)frame->count * bytes[k]);
      mem_free(*where[k]);
    }
    *where[k] = there[k] ? to : NULL;
  }
  node_block_broadcast(frame->memory);
}

int frame_read_shared(struct frame **out, const struct comm *comm, const char *path, struct error *err)
{
  struct error local = {.code = FIRN_OK};
  struct frame *frame = NULL;
  int code = comm->rank == 0 ? frame_read(&frame, path, &local) : FIRN_OK;
  code = comm_agree(comm, code, &local);
  if (code) {
    if (err) *err = local;
    return code;
  }
  if (!frame) frame = mem_alloc(1, sizeof *frame);
  comm_broadcast(comm, &frame->info, sizeof frame->info);
  comm_broadcast(comm, &frame->count, sizeof frame->count);
  frame->info.fence = NULL;
  comm_broadcast_text(comm, &frame->scene);
  comm_broadcast_text(comm, &frame->resolved);
  comm_broadcast_text(comm, &frame->free_bodies);
  share(frame, comm);
  *out = frame;
  return FIRN_OK;
}

void frame_destroy(struct frame **frame)
{
  if (!frame || !*frame) return;
  void **where[ARRAYS];
  size_t bytes[ARRAYS];
  list_arrays(*frame, where, bytes);
  for (int k = 0; k < ARRAYS && !(*frame)->memory; k++) mem_free(*where[k]);
  node_block_destroy(&(*frame)->memory);
  mem_free((*frame)->scene);
  mem_free((*frame)->resolved);
  mem_free((*frame)->files);
  mem_free((*frame)->free_bodies);
  mem_free(*frame);
  *frame = NULL;
}
