#include "reorder.h"

#include "base/log.h"
#include "base/memory.h"

#include <string.h>

struct mover {
  uint64_t key, id;
  int32_t slot, home;
};

void reorder_fit(struct reorder *r, const struct particles *p)
{
  if (r->capacity >= p->capacity) return;
  const size_t old = (size_t)r->capacity, capacity = (size_t)p->capacity;
  r->key = mem_resize(r->key, old, capacity, sizeof *r->key);
  r->slot = mem_resize(r->slot, old, capacity, sizeof *r->slot);
  r->home = mem_resize(r->home, old, capacity, sizeof *r->home);
  r->spare_key = mem_resize(r->spare_key, 0, capacity, sizeof *r->spare_key);
  r->spare_home = mem_resize(r->spare_home, 0, capacity, sizeof *r->spare_home);
  r->capacity = p->capacity;
}

void reorder_free(struct reorder *r)
{
  void *blocks[] = {r->key, r->slot, r->home, r->spare_key, r->spare_home, r->movers, r->spare_movers};
  for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) mem_free(blocks[k]);
  *r = (struct reorder){0};
}

static void stand_in_place(struct reorder *r, int32_t count)
{
  for (int32_t k = 0; k < count; k++) r->slot[k] = r->home[k] = k;
  r->homes_used = count;
  r->moved = 0;
  r->tidy = true;
}

void reorder_reset(struct reorder *r, const struct particles *p)
{
  reorder_fit(r, p);
  stand_in_place(r, p->count);
  for (int32_t k = 0; k < p->count; k++)
    r->key[k] = REORDER_GONE - 1; /* no cell: everything counts as moved */
}

struct particles reorder_view(const struct particles *p, const struct scratch *next)
{
  struct particles view = *p;
  memcpy(view.x, next->x, sizeof view.x);
  memcpy(view.v, next->v, sizeof view.v);
  memcpy(view.fe, next->fe, sizeof view.fe);
  memcpy(view.b, next->b, sizeof view.b);
  view.jp = next->jp;
  return view;
}

/* The new state becomes the state: the arrays change places. */
static void exchange_state(struct particles *p, struct scratch *next)
{
  const struct particles old = *p;
  *p = reorder_view(p, next);
  memcpy(next->x, old.x, sizeof old.x);
  memcpy(next->v, old.v, sizeof old.v);
  memcpy(next->fe, old.fe, sizeof old.fe);
  memcpy(next->b, old.b, sizeof old.b);
  next->jp = old.jp;
}

static bool precedes(const struct mover *a, const struct mover *b)
{
  return a->key != b->key ? a->key < b->key : a->id < b->id;
}

static void add_mover(struct reorder *r, int64_t *count, uint64_t key, uint64_t id, int32_t slot,
                      int32_t home)
{
  if (*count == r->mover_capacity) {
    r->mover_capacity = *count + *count / 2 + 1024;
    r->movers = mem_resize(r->movers, (size_t)*count, (size_t)r->mover_capacity, sizeof *r->movers);
    r->spare_movers = mem_resize(r->spare_movers, 0, (size_t)r->mover_capacity, sizeof *r->spare_movers);
  }
  r->movers[(*count)++] = (struct mover){key, id, slot, home};
}

/* One stable counting pass by eleven bits of the key. */
static void radix_pass(struct reorder *r, int64_t count, int shift)
{
  enum { DIGITS = 1 << 11 };
  int64_t at[DIGITS + 1] = {0};
  for (int64_t k = 0; k < count; k++) at[(r->movers[k].key >> shift & (DIGITS - 1)) + 1]++;
  for (int d = 0; d < DIGITS; d++) at[d + 1] += at[d];
  for (int64_t k = 0; k < count; k++)
    r->spare_movers[at[r->movers[k].key >> shift & (DIGITS - 1)]++] = r->movers[k];
  struct mover *keep = r->movers;
  r->movers = r->spare_movers;
  r->spare_movers = keep;
}

/* Sorts by (key, id): counting passes over the bits in which keys differ, then an insertion sort by id, which
 * finds each cell's few movers nearly in order. */
static void sort_movers(struct reorder *r, int64_t count)
{
  uint64_t differ = 0;
  for (int64_t k = 1; k < count; k++) differ |= r->movers[k].key ^ r->movers[0].key;
  for (int shift = 0; shift < 64 && count > 64; shift += 11)
    if (differ >> shift & 0x7ff) radix_pass(r, count, shift);
  for (int64_t k = 1; k < count; k++) {
    const struct mover m = r->movers[k];
    int64_t j = k;
    for (; j > 0 && precedes(&m, &r->movers[j - 1]); j--) r->movers[j] = r->movers[j - 1];
    r->movers[j] = m;
  }
}

static void put(struct reorder *r, int32_t k, uint64_t key, int32_t slot, int32_t home)
{
  r->spare_key[k] = key;
  r->slot[k] = slot;
  r->spare_home[k] = home;
}

/* Merges those who stayed with the sorted movers. Returns the new count. */
static int32_t merge(struct reorder *r, const struct particles *p, const uint64_t *next_key, int64_t movers)
{
  int32_t count = 0;
  int64_t m = 0;
  uint64_t upcoming = movers ? r->movers[0].key : REORDER_GONE;
  for (int32_t i = 0; i < p->count; i++) {
    const uint64_t key = r->key[i];
    const int32_t home = r->home[i];
    if (next_key[i] != key) continue;
    while (upcoming <= key && m < movers && (upcoming < key || r->movers[m].id < p->id[home])) {
      put(r, count++, upcoming, r->movers[m].slot, r->movers[m].home);
      upcoming = ++m < movers ? r->movers[m].key : REORDER_GONE;
    }
    put(r, count++, key, i, home);
  }
  for (; m < movers; m++) put(r, count++, r->movers[m].key, r->movers[m].slot, r->movers[m].home);
  return count;
}

static void swap_spare(struct reorder *r)
{
  uint64_t *key = r->key;
  int32_t *home = r->home;
  r->key = r->spare_key;
  r->home = r->spare_home;
  r->spare_key = key;
  r->spare_home = home;
}

/* At the start, and when cuts move, all particles are movers: what holds them is not kept. */
static void drop_movers(struct reorder *r)
{
  mem_free(r->movers);
  mem_free(r->spare_movers);
  r->movers = r->spare_movers = NULL;
  r->mover_capacity = 0;
}

void reorder_particles(struct reorder *r, struct particles *p, struct scratch *next, int32_t arrived)
{
  int64_t movers = 0;
  int32_t gone = 0;
  for (int32_t i = 0; i < p->count; i++) {
    if (next->key[i] == r->key[i]) continue;
    if (next->key[i] == REORDER_GONE)
      gone++;
    else
      add_mover(r, &movers, next->key[i], p->id[r->home[i]], i, r->home[i]);
  }
  for (int32_t k = 0; k < arrived; k++) {
    const int32_t home = r->homes_used + k;
    add_mover(r, &movers, next->key[p->count + k], p->id[home], p->count + k, home);
  }
  exchange_state(p, next);
  sort_movers(r, movers);
  const int32_t count = merge(r, p, next->key, movers);
  FIRN_ASSERT(count == p->count - gone + arrived);
  if (movers > count / 2) drop_movers(r);
  swap_spare(r);
  p->count = count;
  r->homes_used += arrived;
  r->moved += movers + gone;
  r->tidy = false;
}

bool reorder_is_untidy(const struct reorder *r, const struct particles *p)
{
  return r->moved > p->count || r->homes_used > p->count + p->count / 16 + 1024;
}

static void gather_words(uint64_t *to, const uint64_t *from, const int32_t *index, int32_t count)
{
  for (int32_t k = 0; k < count; k++) to[k] = from[index[k]];
}

void reorder_tidy(struct reorder *r, struct particles *p, struct scratch *next)
{
  if (r->tidy) return;
  const struct particles view = reorder_view(p, next);
  const int32_t count = p->count;
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    for (int c = 0; c < field->components; c++) {
      void *from = particle_array(p, field, c), *to = particle_array(&view, field, c);
      if (!from) continue;
      if (to != from) { /* the state: into the scratch's arrays, which then change places */
        gather_words(to, from, r->slot, count);
      } else if (field_size(field->type) == sizeof(uint64_t)) {
        gather_words(r->spare_key, from, r->home, count);
        memcpy(from, r->spare_key, (size_t)count * sizeof(uint64_t));
      } else {
        uint32_t *spare = (uint32_t *)r->spare_home;
        for (int32_t k = 0; k < count; k++) spare[k] = ((const uint32_t *)from)[r->home[k]];
        memcpy(from, spare, (size_t)count * sizeof(uint32_t));
      }
    }
  }
  exchange_state(p, next);
  stand_in_place(r, count);
}

/* Calls copy(element, record) for every element of a particle, in the order of particles_pack(). */
static void visit_record(const struct particles *p, const struct scratch *next, int32_t k, int32_t home,
                         char *record, bool pack)
{
  const struct particles view = reorder_view(p, next);
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    const size_t size = field_size(field->type);
    for (int c = 0; c < field->components; c++) {
      char *array = particle_array(&view, field, c);
      if (!array) continue;
      const bool constant = array == (char *)particle_array(p, field, c);
      char *element = array + (size_t)(constant ? home : k) * size;
      if (pack)
        memcpy(record, element, size);
      else
        memcpy(element, record, size);
      record += size;
    }
  }
}

void reorder_pack(const struct particles *p, const struct scratch *next, int32_t k, int32_t home,
                  void *record)
{
  memset(record, 0, particles_record_size(p)); /* the padding travels too */
  visit_record(p, next, k, home, record, true);
}

void reorder_unpack(struct particles *p, const struct scratch *next, int32_t k, int32_t home,
                    const void *record)
{
  char copy[512];
  FIRN_ASSERT(particles_record_size(p) <= sizeof copy);
  memcpy(copy, record, particles_record_size(p));
  visit_record(p, next, k, home, copy, false);
}
