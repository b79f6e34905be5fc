/* A particle has a hash of its id. Those below a limit are read; they fall into layers by the same hash, each
 * a stream of its own, and as many layers are kept as the page has room for. So no frame is read twice and
 * the choice follows from the ids alone.
 *
 * A stream holds, for its particles in the order of their ids: the ids as differences, the first and the last
 * frame of each, then for each frame positions and fields. A position is 16 bits per axis, as the difference
 * from where the particle would be if it moved on as before: small numbers, which pack well. Bytes of equal
 * weight stand together. */
#include "render/view/view_particles.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/rng.h"
#include "io/particles/any_file.h"
#include "io/particles/frame.h"
#include "io/particles/hdf5.h"
#include "render/cloud.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const uint64_t choice_seed = 0x76696577; /* "view" */
static const double least_packed = 2.0; /* bytes that a particle takes in a frame, at least, when it moves */

static uint64_t hash_of(uint64_t id)
{
  return rng_bits(choice_seed, id, 0);
}

/* --- fields --- */

/* What a dataset is shown as; false if it is not. */
static bool describe(const struct any_file_field *source, struct view_field *field)
{
  memset(field, 0, sizeof *field);
  if (strcmp(source->name, "position") == 0 || strcmp(source->name, "id") == 0) return false;
  snprintf(field->unit, sizeof field->unit, "%s", strcmp(source->unit, "1") == 0 ? "" : source->unit);
  snprintf(field->name, sizeof field->name, "%.*s", (int)sizeof field->name - 8, source->name);
  if (strcmp(source->name, "velocity") == 0) strcpy(field->name, "speed");
  if (source->components == 9) {
    if (strcmp(source->name, "stress") != 0) return false;
    strcpy(field->name, "pressure");
  }
  field->whole = !source->real;
  return source->components == 1 || source->components == 3 || source->components == 9;
}

static const struct any_file_field *source_of(const struct any_file *file, const char *name)
{
  if (strcmp(name, "speed") == 0) return any_file_find(file, "velocity");
  if (strcmp(name, "pressure") == 0 && any_file_find(file, "stress")) return any_file_find(file, "stress");
  return any_file_find(file, name);
}

static void find_fields(struct view_particles *p, const struct any_file *file)
{
  p->field_count = 0;
  for (int k = 0; k < file->field_count && p->field_count < VIEW_FIELDS; k++)
    if (describe(&file->fields[k], &p->field[p->field_count])) p->field_count++;
}

static float value_of(const float *row, int components)
{
  if (components == 1) return row[0];
  if (components == 3) return sqrtf(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]);
  return -(row[0] + row[4] + row[8]) / 3.0f;
}

/* --- reading --- */

static void frame_free(struct view_frame *frame)
{
  mem_free(frame->id);
  mem_free(frame->position);
  for (int k = 0; k < VIEW_FIELDS; k++) mem_free(frame->value[k]);
  memset(frame, 0, sizeof *frame);
}

struct chosen {
  uint64_t id;
  int64_t row;
};

static int by_id(const void *a, const void *b)
{
  const uint64_t x = ((const struct chosen *)a)->id, y = ((const struct chosen *)b)->id;
  return (x > y) - (x < y);
}

/* Rows whose ids are chosen, by id. */
static struct chosen *choose(const uint64_t *id, int64_t count, uint64_t limit, int64_t *found)
{
  *found = 0;
  for (int64_t i = 0; i < count; i++) *found += hash_of(id[i]) <= limit;
  struct chosen *rows = mem_alloc((size_t)*found, sizeof *rows);
  *found = 0;
  for (int64_t i = 0; i < count; i++)
    if (hash_of(id[i]) <= limit) rows[(*found)++] = (struct chosen){id[i], i};
  qsort(rows, (size_t)*found, sizeof *rows, by_id);
  return rows;
}

static int read_positions(struct view_particles *p, struct view_frame *frame, const struct any_file *file,
                          const struct chosen *rows, struct error *err)
{
  void *loaded = NULL;
  const int code = any_file_load(file, any_file_find(file, "position"), H5T_NATIVE_FLOAT, &loaded, err);
  if (code) return code;
  const float *all = loaded;
  frame->position = mem_alloc((size_t)frame->chosen, sizeof *frame->position);
  int bad = FIRN_OK;
  for (int64_t k = 0; k < frame->chosen && !bad; k++) {
    const float *x = all + 3 * rows[k].row;
    if (!isfinite(x[0]) || !isfinite(x[1]) || !isfinite(x[2]))
      bad = error_set(err, FIRN_EINPUT, "%s: the position of particle %llu is not finite", file->path,
                      (unsigned long long)rows[k].id);
    memcpy(frame->position[k], x, sizeof *frame->position);
  }
  if (!(p->spacing > 0.0)) p->spacing = cloud_spacing(all, file->count);
  mem_free(loaded);
  return bad;
}

static int read_values(const struct view_particles *p, struct view_frame *frame, const struct any_file *file,
                       const struct chosen *rows, struct error *err)
{
  int code = FIRN_OK;
  for (int f = 0; f < p->field_count && !code; f++) {
    const struct any_file_field *source = source_of(file, p->field[f].name);
    void *loaded = NULL;
    frame->value[f] = mem_alloc((size_t)frame->chosen, sizeof *frame->value[f]);
    if (source) code = any_file_load(file, source, H5T_NATIVE_FLOAT, &loaded, err);
    for (int64_t k = 0; k < frame->chosen && !code; k++)
      frame->value[f][k] =
          loaded ? value_of((float *)loaded + source->components * rows[k].row, source->components) : NAN;
    mem_free(loaded);
  }
  return code;
}

static int read_frame(struct view_particles *p, struct view_frame *frame, const char *path, uint64_t limit,
                      struct error *err)
{
  struct any_file *file = NULL;
  struct hdf5_silence silence;
  int code = any_file_open(&file, path, true, err);
  if (code) return code;
  hdf5_silence_begin(&silence);
  hdf5_get_i64(file->file, "frame", &frame->index);
  hdf5_get_f64(file->file, "time", &frame->time);
  hdf5_silence_end(&silence);
  if (p->field_count == 0) find_fields(p, file);
  void *ids = NULL;
  const struct any_file_field *id = any_file_find(file, "id");
  if (!id) code = error_set(err, FIRN_EINPUT, "%s: the dataset id is missing", path);
  if (!code) code = any_file_load(file, id, H5T_NATIVE_UINT64, &ids, err);
  if (!code) {
    frame->count = file->count;
    struct chosen *rows = choose(ids, file->count, limit, &frame->chosen);
    frame->id = mem_alloc((size_t)frame->chosen, sizeof *frame->id);
    for (int64_t k = 0; k < frame->chosen; k++) frame->id[k] = rows[k].id;
    code = read_positions(p, frame, file, rows, err);
    if (!code) code = read_values(p, frame, file, rows, err);
    mem_free(rows);
  }
  mem_free(ids);
  any_file_close(&file);
  return code;
}

/* Hashes up to this one belong to particles that may have room: bytes for all of them in all frames. */
static uint64_t limit_of(char *const *paths, int count, int64_t size)
{
  double rows = 0.0;
  for (int k = 0; k < count; k++) {
    struct frame_info info = {.time = 0.0};
    int64_t particles = 0;
    if (frame_read_info(paths[k], &info, &particles, NULL) == FIRN_OK) rows += (double)particles;
  }
  const double share = (double)size / (least_packed * fmax(rows, 1.0));
  return share >= 1.0 ? UINT64_MAX : (uint64_t)(share * 0x1p64);
}

/* --- ranges --- */

static int ascending(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* A field's range leaves out the last thousandth of the particles at both ends. */
static void find_range(const struct view_particles *p, int f, struct view_field *field)
{
  int64_t all = 0, found = 0;
  for (int k = 0; k < p->frame_count; k++) all += p->frame[k].chosen;
  const int64_t stride = all / 200000 + 1;
  float *values = mem_alloc((size_t)(all / stride + p->frame_count + 1), sizeof *values);
  for (int k = 0; k < p->frame_count; k++)
    for (int64_t i = 0; i < p->frame[k].chosen; i += stride)
      if (isfinite(p->frame[k].value[f][i])) values[found++] = p->frame[k].value[f][i];
  qsort(values, (size_t)found, sizeof *values, ascending);
  field->low = found ? values[found / 1000] : 0.0f;
  field->high = found ? values[found - 1 - found / 1000] : 1.0f;
  if (field->whole) {
    field->low = 0.0f;
    field->high = 254.0f;
  }
  if (!(field->high > field->low)) field->high = field->low + fmaxf(1e-6f, 1e-3f * fabsf(field->low));
  mem_free(values);
}

static void find_ranges(struct view_particles *p)
{
  for (int d = 0; d < 3; d++) {
    p->lower[d] = INFINITY;
    p->upper[d] = -INFINITY;
  }
  for (int k = 0; k < p->frame_count; k++)
    for (int64_t i = 0; i < p->frame[k].chosen; i++)
      for (int d = 0; d < 3; d++) {
        p->lower[d] = fmin(p->lower[d], (double)p->frame[k].position[i][d]);
        p->upper[d] = fmax(p->upper[d], (double)p->frame[k].position[i][d]);
      }
  for (int d = 0; d < 3; d++) {
    if (!(p->lower[d] <= p->upper[d])) p->lower[d] = p->upper[d] = 0.0;
    p->upper[d] = fmax(p->upper[d], p->lower[d] + 1e-6);
  }
  for (int f = 0; f < p->field_count; f++) find_range(p, f, &p->field[f]);
}

/* --- streams --- */

/* All chosen particles of the run, by id. */
struct slots {
  int64_t count;
  uint64_t *id;
  uint16_t *first, *last; /* frames */
  int32_t *layer;
};

static int ids_ascending(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void slots_make(struct slots *s, const struct view_particles *p, uint64_t limit)
{
  int64_t all = 0, filled = 0;
  for (int k = 0; k < p->frame_count; k++) all += p->frame[k].chosen;
  s->id = mem_alloc((size_t)all, sizeof *s->id);
  for (int k = 0; k < p->frame_count; k++) {
    memcpy(s->id + filled, p->frame[k].id, (size_t)p->frame[k].chosen * sizeof *s->id);
    filled += p->frame[k].chosen;
  }
  qsort(s->id, (size_t)all, sizeof *s->id, ids_ascending);
  s->count = 0;
  for (int64_t i = 0; i < all; i++)
    if (i == 0 || s->id[i] != s->id[i - 1]) s->id[s->count++] = s->id[i];
  s->first = mem_alloc((size_t)s->count, sizeof *s->first);
  s->last = mem_alloc((size_t)s->count, sizeof *s->last);
  s->layer = mem_alloc((size_t)s->count, sizeof *s->layer);
  for (int64_t i = 0; i < s->count; i++) {
    s->first[i] = UINT16_MAX;
    s->layer[i] = (int32_t)(hash_of(s->id[i]) / (limit / VIEW_LAYERS + 1));
  }
  for (int k = 0; k < p->frame_count; k++)
    for (int64_t i = 0, at = 0; i < p->frame[k].chosen; i++) {
      while (s->id[at] != p->frame[k].id[i]) at++;
      if (s->first[at] == UINT16_MAX) s->first[at] = (uint16_t)k;
      s->last[at] = (uint16_t)k;
    }
}

static void slots_free(struct slots *s)
{
  mem_free(s->id);
  mem_free(s->first);
  mem_free(s->last);
  mem_free(s->layer);
}

/* What is kept of each particle from frame to frame. */
struct state {
  uint16_t now[3], before[3];
  uint8_t code[VIEW_FIELDS];
};

static uint16_t quantised(const struct view_particles *p, float x, int axis)
{
  const double part = ((double)x - p->lower[axis]) / (p->upper[axis] - p->lower[axis]);
  return (uint16_t)(fmin(fmax(part, 0.0), 1.0) * 65535.0 + 0.5);
}

static uint8_t coded(const struct view_field *field, float value)
{
  if (!isfinite(value)) return 255;
  const float part = (value - field->low) / (field->high - field->low);
  return (uint8_t)((part > 0.0f ? part < 1.0f ? part : 1.0f : 0.0f) * 254.0f + 0.5f);
}

static uint16_t zigzag(uint16_t difference)
{
  return (uint16_t)((uint32_t)difference << 1 ^ (difference & 0x8000 ? 0xffffu : 0u));
}

/* Planes of bytes, each with room for `count`. */
struct planes {
  uint8_t *bytes;
  int64_t count;
};

static void put(struct planes *planes, int plane, int64_t at, uint64_t value, int bytes)
{
  for (int b = 0; b < bytes; b++) planes->bytes[(plane + b) * planes->count + at] = (uint8_t)(value >> 8 * b);
}

/* Positions and fields of frame k, of the slots of a layer. */
static void put_frame(struct text *raw, const struct view_particles *p, const struct slots *s, int layer,
                      int k, struct state *states)
{
  const struct view_frame *frame = &p->frame[k];
  struct planes planes = {.count = 0};
  for (int64_t i = 0; i < s->count; i++)
    planes.count += s->layer[i] == layer && s->first[i] <= k && k <= s->last[i];
  const int plane_count = 6 + p->field_count;
  planes.bytes = mem_alloc((size_t)(planes.count * plane_count), 1);
  uint16_t newest[3] = {0, 0, 0};
  for (int64_t i = 0, row = 0, at = 0; i < s->count; i++) {
    while (row < frame->chosen && frame->id[row] < s->id[i]) row++;
    if (s->layer[i] != layer || k < s->first[i] || k > s->last[i]) continue;
    const bool there = row < frame->chosen && frame->id[row] == s->id[i];
    struct state *state = &states[i];
    for (int d = 0; d < 3; d++) {
      const bool fresh = k == s->first[i];
      const uint16_t guess = fresh ? newest[d] : (uint16_t)(2 * state->now[d] - state->before[d]);
      const uint16_t q = there ? quantised(p, frame->position[row][d], d) : state->now[d];
      put(&planes, 2 * d, at, zigzag((uint16_t)(q - guess)), 2);
      state->before[d] = fresh ? q : state->now[d];
      state->now[d] = q;
      if (fresh) newest[d] = q;
    }
    for (int f = 0; f < p->field_count; f++) {
      const uint8_t code = there ? coded(&p->field[f], frame->value[f][row]) : state->code[f];
      put(&planes, 6 + f, at, (uint8_t)(code - state->code[f]), 1);
      state->code[f] = code;
    }
    at++;
  }
  text_add(raw, (char *)planes.bytes, (size_t)(planes.count * plane_count));
  mem_free(planes.bytes);
}

static void put_slots(struct text *raw, const struct slots *s, int layer, int64_t count)
{
  struct planes planes = {mem_alloc((size_t)count, 12), count};
  uint64_t previous = 0;
  for (int64_t i = 0, at = 0; i < s->count; i++) {
    if (s->layer[i] != layer) continue;
    put(&planes, 0, at, s->id[i] - previous, 8);
    put(&planes, 8, at, s->first[i], 2);
    put(&planes, 10, at, s->last[i], 2);
    previous = s->id[i];
    at++;
  }
  text_add(raw, (char *)planes.bytes, (size_t)count * 12);
  mem_free(planes.bytes);
}

/* Without zlib's header. */
static void deflate_all(const struct text *raw, struct text *packed)
{
  z_stream stream = {.next_in = (Bytef *)raw->bytes, .avail_in = 0};
  char buffer[65536];
  size_t given = 0;
  if (deflateInit2(&stream, 6, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    firn_fatal("zlib has no memory");
  for (int state = Z_OK; state != Z_STREAM_END;) {
    if (stream.avail_in == 0 && given < raw->length) {
      const size_t piece = raw->length - given < 1u << 30 ? raw->length - given : 1u << 30;
      stream.next_in = (Bytef *)raw->bytes + given;
      stream.avail_in = (uInt)piece;
      given += piece;
    }
    stream.next_out = (Bytef *)buffer;
    stream.avail_out = sizeof buffer;
    state = deflate(&stream, given == raw->length ? Z_FINISH : Z_NO_FLUSH);
    FIRN_ASSERT(state == Z_OK || state == Z_STREAM_END || state == Z_BUF_ERROR);
    text_add(packed, buffer, sizeof buffer - stream.avail_out);
  }
  deflateEnd(&stream);
}

static void pack(struct view_particles *p, uint64_t limit, int64_t size)
{
  struct slots s;
  int64_t used = 0;
  slots_make(&s, p, limit);
  struct state *states = mem_alloc((size_t)s.count, sizeof *states);
  for (int layer = 0; layer < VIEW_LAYERS; layer++) {
    struct text raw = {NULL, 0, 0}, packed = {NULL, 0, 0};
    int64_t count = 0;
    for (int64_t i = 0; i < s.count; i++) count += s.layer[i] == layer;
    log_progress("packing layer %d of at most %d", layer + 1, VIEW_LAYERS);
    put_slots(&raw, &s, layer, count);
    for (int k = 0; k < p->frame_count; k++) put_frame(&raw, p, &s, layer, k, states);
    deflate_all(&raw, &packed);
    used += (int64_t)packed.length;
    p->raw[layer] = (int64_t)raw.length;
    mem_free(raw.bytes);
    if (used > size && layer > 0) {
      mem_free(packed.bytes);
      break;
    }
    p->layer[layer] = packed;
    p->slots[layer] = count;
    p->layer_count = layer + 1;
  }
  mem_free(states);
  slots_free(&s);
}

int view_particles_read(struct view_particles **out, char *const *paths, int count, int64_t size,
                        struct error *err)
{
  struct view_particles *p = mem_alloc(1, sizeof *p);
  const uint64_t limit = limit_of(paths, count, size);
  p->frame = mem_alloc((size_t)count, sizeof *p->frame);
  struct error why = {.code = FIRN_OK};
  for (int k = 0; k < count; k++) {
    struct view_frame *frame = &p->frame[p->frame_count];
    log_progress("reading frame %d of %d", k + 1, count);
    if (read_frame(p, frame, paths[k], limit, &why)) {
      log_warn("left out: %s", why.text);
      frame_free(frame);
      continue;
    }
    p->most = frame->count > p->most ? frame->count : p->most;
    p->frame_count++;
  }
  if (p->frame_count == 0) {
    view_particles_destroy(&p);
    return error_set(err, FIRN_EINPUT, "none of the %d frames can be read; the first: %s", count, why.text);
  }
  find_ranges(p);
  pack(p, limit, size);
  *out = p;
  return FIRN_OK;
}

void view_particles_destroy(struct view_particles **particles)
{
  struct view_particles *p = *particles;
  if (!p) return;
  for (int k = 0; k < p->frame_count; k++) frame_free(&p->frame[k]);
  for (int k = 0; k < VIEW_LAYERS; k++) mem_free(p->layer[k].bytes);
  mem_free(p->frame);
  mem_free(p);
  *particles = NULL;
}
