/* See particles.h. Every loop over fields goes through the table, so a new field is one line there and one
 * member in the struct.
 *
 * Arrays grow together: by a half where particles are made one after the other, and by a little where
 * migration brings a few a step, since the rest of a huge page costs memory; either is amortised constant
 * time. The capacity is a multiple of eight and memory comes zeroed: lanes behind the last particle can
 * always be read, and hold either zeros or an old particle, never a trap. */
#include "particles.h"

#include "base/log.h"
#include "base/memory.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#define AT(member) offsetof(struct particles, member)

const struct particle_field particle_fields[PARTICLE_FIELDS] = {
    [PARTICLE_ID] = {"id", "1", FIELD_U64, 1, AT(id)},
    [PARTICLE_POSITION] = {"position", "m", FIELD_F64, 3, AT(x)},
    [PARTICLE_VELOCITY] = {"velocity", "m/s", FIELD_F64, 3, AT(v)},
    [PARTICLE_MASS] = {"mass", "kg", FIELD_F64, 1, AT(mass)},
    [PARTICLE_VOLUME] = {"volume", "m^3", FIELD_F64, 1, AT(volume)},
    [PARTICLE_FE] = {"FE", "1", FIELD_F64, 9, AT(fe)},
    [PARTICLE_JP] = {"JP", "1", FIELD_F64, 1, AT(jp)},
    [PARTICLE_B] = {"B", "m^2/s", FIELD_F64, 9, AT(b)},
    [PARTICLE_STIFFNESS] = {"stiffness", "1", FIELD_F64, 1, AT(stiffness)},
    [PARTICLE_MATERIAL] = {"material", "1", FIELD_U32, 1, AT(material)},
};

/* The slot of struct particles that holds a component's array. All slots are object pointers of one
 * representation, which memcpy moves without aliasing them as void *. */
static char *slot_of(const struct particles *p, const struct particle_field *field, int component)
{
  return (char *)p + field->offset + (size_t)component * sizeof(void *);
}

static void set_array(struct particles *p, const struct particle_field *field, int component, void *array)
{
  memcpy(slot_of(p, field, component), &array, sizeof array);
}

void *particle_array(const struct particles *p, const struct particle_field *field, int component)
{
  void *array;
  memcpy(&array, slot_of(p, field, component), sizeof array);
  return array;
}

size_t field_size(enum field_type type)
{
  return type == FIELD_U32 ? sizeof(uint32_t) : sizeof(uint64_t);
}

struct particles *particles_create(int affine)
{
  struct particles *p = mem_alloc(1, sizeof *p);
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    if (f == PARTICLE_B && !affine) continue;
    for (int c = 0; c < field->components; c++) set_array(p, field, c, mem_alloc(8, field_size(field->type)));
  }
  p->capacity = 8;
  return p;
}

void particles_destroy(struct particles **p)
{
  if (!p || !*p) return;
  for (int f = 0; f < PARTICLE_FIELDS; f++)
    for (int c = 0; c < particle_fields[f].components; c++)
      mem_free(particle_array(*p, &particle_fields[f], c));
  mem_free(*p);
  *p = NULL;
}

/* Makes room for count particles and, if possible, some more. */
static void grow(struct particles *p, int64_t count, int64_t more)
{
  const int64_t limit = (int64_t)INT32_MAX - 63;
  if (count > limit)
    firn_fatal("%lld particles on one rank, at most %lld fit: use more ranks", (long long)count,
               (long long)limit);
  int64_t capacity = count + 8 + more;
  if (capacity > limit) capacity = limit;
  capacity = (capacity + 7) / 8 * 8;
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    for (int c = 0; c < field->components; c++) {
      void *array = particle_array(p, field, c);
      if (!array) continue;
      set_array(p, field, c,
                mem_resize(array, (size_t)p->capacity, (size_t)capacity, field_size(field->type)));
    }
  }
  p->capacity = (int32_t)capacity;
}

static bool has_room(const struct particles *p, int64_t count)
{
  return count + 8 <= p->capacity;
}

void particles_reserve(struct particles *p, int64_t count)
{
  if (!has_room(p, count)) grow(p, count, p->count ? count / 32 : 0);
}

void particles_trim(struct particles *p)
{
  const int32_t capacity = (p->count + 8 + 7) / 8 * 8;
  if (capacity >= p->capacity) return;
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    for (int c = 0; c < field->components; c++) {
      void *array = particle_array(p, field, c);
      if (array) mem_trim(array, (size_t)capacity, field_size(field->type));
    }
  }
  p->capacity = capacity;
}

static void copy_shares(char *to, const char *from, int64_t count, size_t size, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int w = 0; w < threads; w++) {
    const size_t begin = (size_t)(count * w / threads) * size,
                 end = (size_t)(count * (w + 1) / threads) * size;
    memcpy(to + begin, from + begin, end - begin);
  }
}

void particles_spread(struct particles *p, int threads)
{
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    const size_t size = field_size(field->type);
    for (int c = 0; c < field->components; c++) {
      void *array = particle_array(p, field, c);
      if (!array) continue;
      void *moved = mem_alloc((size_t)p->capacity, size);
      copy_shares(moved, array, p->count, size, threads);
      mem_free(array);
      set_array(p, field, c, moved);
    }
  }
}

int32_t particles_append(struct particles *p, int64_t n)
{
  const int32_t first = p->count;
  FIRN_ASSERT(n >= 0);
  if (!has_room(p, first + n)) grow(p, first + n, p->capacity / 2);
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    const size_t size = field_size(field->type);
    for (int c = 0; c < field->components; c++) {
      char *array = particle_array(p, field, c);
      if (array) memset(array + (size_t)first * size, 0, (size_t)n * size);
    }
  }
  p->count = (int32_t)(first + n);
  for (int32_t i = first; i < p->count; i++) {
    for (int d = 0; d < 3; d++) p->fe[4 * d][i] = 1.0;
    p->jp[i] = 1.0;
    p->stiffness[i] = 1.0;
  }
  return first;
}

size_t particles_record_size(const struct particles *p)
{
  size_t bytes = 0;
  for (int f = 0; f < PARTICLE_FIELDS; f++)
    if (particle_array(p, &particle_fields[f], 0))
      bytes += field_size(particle_fields[f].type) * (size_t)particle_fields[f].components;
  return (bytes + 7) / 8 * 8; /* whole words, so that records in a row stay aligned */
}

void particles_pack(const struct particles *p, int32_t index, void *record)
{
  char *cursor = record;
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    const size_t size = field_size(field->type);
    for (int c = 0; c < field->components; c++) {
      const char *array = particle_array(p, field, c);
      if (!array) continue;
      memcpy(cursor, array + (size_t)index * size, size);
      cursor += size;
    }
  }
  /* The padding travels too: it must not carry what happened to be in memory. */
  memset(cursor, 0, particles_record_size(p) - (size_t)(cursor - (char *)record));
}

void particles_unpack(struct particles *p, int32_t index, const void *record)
{
  const char *cursor = record;
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    const size_t size = field_size(field->type);
    for (int c = 0; c < field->components; c++) {
      char *array = particle_array(p, field, c);
      if (!array) continue;
      memcpy(array + (size_t)index * size, cursor, size);
      cursor += size;
    }
  }
}
