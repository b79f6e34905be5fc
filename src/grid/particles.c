/* See particles.h.
 *
 * Arrays grow together: by a half where particles are made one after the other, which particles_trim() takes
 * back, and by a little where migration brings a few a step, since what is kept in reserve lies on huge pages
 * with the end of one array and the start of the next, and so takes memory. Large arrays grow without being
 * copied (mem_resize()). The capacity is a multiple of eight and memory comes zeroed: lanes behind the last
 * particle can always be read, and hold either zeros or an old particle, never a trap. */
#include "grid/particles.h"

#include "base/log.h"
#include "base/memory.h"

#include <limits.h>
#include <string.h>

#define AT(member) offsetof(struct particles, member)

const struct particle_field particle_fields[PARTICLE_FIELDS] = {
    [PARTICLE_ID] = {"id", "1", FIELD_U64, 1, AT(id), ROLE_CONSTANT, 0, NEEDS_NOTHING, RULE_ID, false},
    [PARTICLE_POSITION] = {"position", "m", FIELD_F64, 3, AT(x), ROLE_STATE, 0, NEEDS_NOTHING, RULE_FINITE,
                           true},
    [PARTICLE_VELOCITY] = {"velocity", "m/s", FIELD_F64, 3, AT(v), ROLE_STATE, 0, NEEDS_NOTHING, RULE_FINITE,
                           true},
    [PARTICLE_MASS] = {"mass", "kg", FIELD_F64, 1, AT(mass), ROLE_CONSTANT, 0, NEEDS_NOTHING, RULE_POSITIVE,
                       true},
    [PARTICLE_VOLUME] = {"volume", "m^3", FIELD_F64, 1, AT(volume), ROLE_CONSTANT, 0, NEEDS_NOTHING,
                         RULE_POSITIVE, false},
    [PARTICLE_FE] = {"FE", "1", FIELD_F64, 9, AT(fe), ROLE_STATE, 1, NEEDS_NOTHING, RULE_INVERTIBLE, false},
    [PARTICLE_JP] = {"JP", "1", FIELD_F64, 1, AT(jp), ROLE_STATE, 1, NEEDS_NOTHING, RULE_POSITIVE, false},
    [PARTICLE_SHEAR] = {"kappa", "1", FIELD_F64, 1, AT(shear), ROLE_STATE, 0, NEEDS_SHEAR, RULE_NOT_NEGATIVE,
                        false},
    [PARTICLE_FLOW] = {"flow", "1", FIELD_F64, 1, AT(flow), ROLE_STATE, 0, NEEDS_FLOW, RULE_ABSENT, false},
    [PARTICLE_FLYING] = {"flying", "1", FIELD_F64, 1, AT(flying), ROLE_STATE, 0, NEEDS_FLYING, RULE_ABSENT,
                         false},
    [PARTICLE_B] = {"B", "m^2/s", FIELD_F64, 9, AT(b), ROLE_STATE, 0, NEEDS_AFFINE, RULE_ABSENT, false},
    [PARTICLE_STIFFNESS] = {"stiffness", "1", FIELD_F64, 1, AT(stiffness), ROLE_CONSTANT, 1, NEEDS_STIFFNESS,
                            RULE_ABSENT, false},
    [PARTICLE_ENTHALPY] = {"enthalpy", "J/kg", FIELD_F64, 1, AT(enthalpy), ROLE_STATE, 0, NEEDS_HEAT,
                           RULE_FINITE, false},
    [PARTICLE_LIQUID] = {"phase", "1", FIELD_F64, 1, AT(liquid), ROLE_STATE, 0, NEEDS_HEAT, RULE_FLAG, false},
    [PARTICLE_CONDUCTIVITY] = {"conductivity", "W/(m K)", FIELD_F64, 1, AT(conductivity), ROLE_CONSTANT, 0,
                               NEEDS_HEAT, RULE_NOT_NEGATIVE, false},
    [PARTICLE_MATERIAL] = {"material", "1", FIELD_U32, 1, AT(material), ROLE_CONSTANT, 0, NEEDS_MATERIAL,
                           RULE_ABSENT, false},
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

struct particle_walk particle_walk(const struct particles *p)
{
  return (struct particle_walk){.p = p, .field = particle_fields, .component = -1};
}

bool particle_next(struct particle_walk *walk)
{
  do {
    if (++walk->component == walk->field->components) {
      walk->component = 0;
      walk->field = &particle_fields[++walk->row];
    }
    if (walk->row == PARTICLE_FIELDS) return false;
    walk->array = particle_array(walk->p, walk->field, walk->component);
  } while (!walk->array);
  return true;
}

static void make_arrays(struct particles *p, unsigned needs, bool state_alone)
{
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    if ((field->needs & needs) != field->needs || (state_alone && field->role != ROLE_STATE)) continue;
    if (particle_array(p, field, 0)) continue;
    for (int c = 0; c < field->components; c++)
      set_array(p, field, c, mem_alloc((size_t)p->capacity, field_size(field->type)));
  }
}

static struct particles *create(unsigned needs, bool state_alone)
{
  struct particles *p = mem_alloc(1, sizeof *p);
  p->capacity = 8;
  make_arrays(p, needs, state_alone);
  return p;
}

struct particles *particles_create(unsigned needs)
{
  return create(needs, false);
}

void particles_add_needs(struct particles *p, unsigned needs)
{
  FIRN_ASSERT(p->count == 0);
  make_arrays(p, needs, false);
}

unsigned particles_needs(const struct particles *p)
{
  unsigned needs = NEEDS_NOTHING;
  for (struct particle_walk w = particle_walk(p); particle_next(&w);) needs |= w.field->needs;
  return needs;
}

void particles_destroy(struct particles **p)
{
  if (!p || !*p) return;
  for (struct particle_walk w = particle_walk(*p); particle_next(&w);) mem_free(w.array);
  mem_free(*p);
  *p = NULL;
}

static void resize(struct particles *p, int32_t capacity)
{
  for (struct particle_walk w = particle_walk(p); particle_next(&w);)
    set_array(p, w.field, w.component,
              mem_resize(w.array, (size_t)p->capacity, (size_t)capacity, field_size(w.field->type)));
  p->capacity = capacity;
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
  resize(p, (int32_t)((capacity + 7) / 8 * 8));
}

static bool has_room(const struct particles *p, int64_t count)
{
  return count + 8 <= p->capacity;
}

void particles_reserve(struct particles *p, int64_t count)
{
  enum { MOST_MORE = 4096 };
  const int64_t more = count / 32 < MOST_MORE ? count / 32 : MOST_MORE;
  if (!has_room(p, count)) grow(p, count, p->count ? more : 0);
}

void particles_trim(struct particles *p)
{
  const int32_t capacity = (p->count + 8 + 7) / 8 * 8;
  if (capacity >= p->capacity) return;
  for (struct particle_walk w = particle_walk(p); particle_next(&w);)
    mem_trim(w.array, (size_t)capacity, field_size(w.field->type));
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
  for (struct particle_walk w = particle_walk(p); particle_next(&w);) {
    const size_t size = field_size(w.field->type);
    void *moved = mem_alloc((size_t)p->capacity, size);
    copy_shares(moved, w.array, p->count, size, threads);
    mem_free(w.array);
    set_array(p, w.field, w.component, moved);
  }
}

/* Particles [begin, end) as the table has them at first. */
static void begin_particles(const struct particles *p, int64_t begin, int64_t end)
{
  for (struct particle_walk w = particle_walk(p); particle_next(&w);) {
    const size_t size = field_size(w.field->type);
    if (w.field->initial == 0.0 || (w.field->components == 9 && w.component % 4 != 0))
      memset((char *)w.array + (size_t)begin * size, 0, (size_t)(end - begin) * size);
    else
      for (int64_t i = begin; i < end; i++) ((double *)w.array)[i] = w.field->initial;
  }
}

int32_t particles_append_shared(struct particles *p, int64_t n, int threads)
{
  const int32_t first = p->count;
  FIRN_ASSERT(n >= 0);
  if (!has_room(p, first + n)) grow(p, first + n, p->capacity / 2);
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int w = 0; w < threads; w++)
    begin_particles(p, first + n * w / threads, first + n * (w + 1) / threads);
  p->count = (int32_t)(first + n);
  return first;
}

int32_t particles_append(struct particles *p, int64_t n)
{
  return particles_append_shared(p, n, 1);
}

size_t particles_record_size(const struct particles *p)
{
  size_t bytes = 0;
  for (struct particle_walk w = particle_walk(p); particle_next(&w);) bytes += field_size(w.field->type);
  return (bytes + 7) / 8 * 8; /* whole words, so that records in a row stay aligned */
}

void particles_pack(const struct particles *p, int32_t index, void *record)
{
  char *cursor = record;
  for (struct particle_walk w = particle_walk(p); particle_next(&w);) {
    const size_t size = field_size(w.field->type);
    memcpy(cursor, (char *)w.array + (size_t)index * size, size);
    cursor += size;
  }
  /* The padding travels too: it must not carry what happened to be in memory. */
  memset(cursor, 0, particles_record_size(p) - (size_t)(cursor - (char *)record));
}

void particles_unpack(struct particles *p, int32_t index, const void *record)
{
  const char *cursor = record;
  for (struct particle_walk w = particle_walk(p); particle_next(&w);) {
    const size_t size = field_size(w.field->type);
    memcpy((char *)w.array + (size_t)index * size, cursor, size);
    cursor += size;
  }
}

/* --- the next state
 * ---------------------------------------------------------------------------------------------- */

void next_fit(struct next *next, const struct particles *p)
{
  if (!next->p) {
    next->p = create(particles_needs(p) & ~next->once, true);
    next->fate = mem_alloc((size_t)next->p->capacity, sizeof *next->fate);
  }
  if (next->p->capacity >= p->capacity) return;
  next->fate = mem_resize(next->fate, (size_t)next->p->capacity, (size_t)p->capacity, sizeof *next->fate);
  resize(next->p, p->capacity);
}

void next_stage(struct next *next, const struct particles *p, int threads)
{
  for (struct particle_walk w = particle_walk(next->p); particle_next(&w);)
    copy_shares(w.array, particle_array(p, w.field, w.component), p->count, field_size(w.field->type),
                threads);
}

void next_free(struct next *next)
{
  particles_destroy(&next->p);
  mem_free(next->fate);
  *next = (struct next){.once = next->once};
}

void next_exchange(struct next *next, struct particles *p)
{
  for (struct particle_walk w = particle_walk(next->p); particle_next(&w);) {
    set_array(next->p, w.field, w.component, particle_array(p, w.field, w.component));
    set_array(p, w.field, w.component, w.array);
  }
}

double *next_spare(const struct next *next, int n)
{
  for (struct particle_walk w = particle_walk(next->p); particle_next(&w);)
    if (w.field->type == FIELD_F64 && n-- == 0) return w.array;
  return NULL;
}

/* The element of a particle whose state is the k-th of next and whose constants are at home. */
static char *element(const struct particle_walk *w, const struct next *next, int32_t k, int32_t home)
{
  char *second = particle_array(next->p, w->field, w->component), *array = second ? second : w->array;
  return array + (size_t)(w->field->role == ROLE_STATE ? k : home) * field_size(w->field->type);
}

void next_pack(const struct next *next, int32_t k, const struct particles *p, int32_t home, void *record)
{
  char *cursor = record;
  for (struct particle_walk w = particle_walk(p); particle_next(&w);) {
    memcpy(cursor, element(&w, next, k, home), field_size(w.field->type));
    cursor += field_size(w.field->type);
  }
  memset(cursor, 0, particles_record_size(p) - (size_t)(cursor - (char *)record));
}

void next_unpack(struct next *next, int32_t k, struct particles *p, int32_t home, const void *record)
{
  const char *cursor = record;
  for (struct particle_walk w = particle_walk(p); particle_next(&w);) {
    memcpy(element(&w, next, k, home), cursor, field_size(w.field->type));
    cursor += field_size(w.field->type);
  }
}
