#include "reorder.h"

#include "base/log.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct mover {
  uint64_t key, id;
  int32_t index;
};

void reorder_fit(struct reorder *r, const struct particles *p)
{
  if (r->capacity >= p->capacity) return;
  const size_t old = (size_t)r->capacity, capacity = (size_t)p->capacity;
  r->key = mem_resize(r->key, old, capacity, sizeof *r->key);
  r->spare = mem_resize(r->spare, 0, capacity, sizeof *r->spare);
  r->source = mem_resize(r->source, 0, capacity, sizeof *r->source);
  r->capacity = p->capacity;
}

void reorder_free(struct reorder *r)
{
  mem_free(r->key);
  mem_free(r->spare);
  mem_free(r->source);
  mem_free(r->movers);
  *r = (struct reorder){0};
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

static bool precedes(const struct mover *a, const struct mover *b)
{
  return a->key != b->key ? a->key < b->key : a->id < b->id;
}

static int compare_movers(const void *a, const void *b)
{
  return precedes(a, b) ? -1 : 1;
}

static void add_mover(struct reorder *r, int64_t *count, uint64_t key, uint64_t id, int32_t index)
{
  if (*count == r->mover_capacity) {
    r->mover_capacity = *count + *count / 2 + 1024;
    r->movers = mem_resize(r->movers, (size_t)*count, (size_t)r->mover_capacity, sizeof *r->movers);
  }
  r->movers[(*count)++] = (struct mover){key, id, index};
}

/* Merges those who stayed with the sorted movers into r->source and r->spare (keys). Returns the new count.
 */
static int32_t merge(struct reorder *r, const struct particles *p, const uint64_t *next_key, int64_t movers)
{
  int32_t count = 0;
  int64_t m = 0;
  for (int32_t i = 0; i < p->count; i++) {
    if (next_key[i] != r->key[i]) continue;
    const struct mover settled = {r->key[i], p->id[i], i};
    while (m < movers && precedes(&r->movers[m], &settled)) {
      r->spare[count] = r->movers[m].key;
      r->source[count++] = r->movers[m++].index;
    }
    r->spare[count] = settled.key;
    r->source[count++] = i;
  }
  for (; m < movers; m++) {
    r->spare[count] = r->movers[m].key;
    r->source[count++] = r->movers[m].index;
  }
  return count;
}

static void swap_u64(uint64_t **a, uint64_t **b)
{
  uint64_t *keep = *a;
  *a = *b;
  *b = keep;
}

static void gather_words(uint64_t *to, const uint64_t *from, const int32_t *source, int32_t count)
{
  for (int32_t k = 0; k < count; k++) to[k] = from[source[k]];
}

/* Copies every field into its new order: the state from the scratch, what G2P does not touch by way of the
 * spare array. */
static void copy_fields(struct reorder *r, struct particles *p, const struct scratch *next, int32_t count)
{
  const struct particles view = reorder_view(p, next);
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    const struct particle_field *field = &particle_fields[f];
    for (int c = 0; c < field->components; c++) {
      void *to = particle_array(p, field, c);
      const void *from = particle_array(&view, field, c);
      if (!to) continue;
      if (to != from) {
        gather_words(to, from, r->source, count);
      } else if (field_size(field->type) == sizeof(uint64_t)) {
        gather_words(r->spare, from, r->source, count);
        memcpy(to, r->spare, (size_t)count * sizeof(uint64_t));
      } else {
        uint32_t *spare = (uint32_t *)r->spare;
        for (int32_t k = 0; k < count; k++) spare[k] = ((const uint32_t *)from)[r->source[k]];
        memcpy(to, spare, (size_t)count * sizeof(uint32_t));
      }
    }
  }
}

/* Nothing moved: the new state simply becomes the state. */
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

int32_t reorder_particles(struct reorder *r, struct particles *p, struct scratch *next, int32_t arrived)
{
  int64_t movers = 0;
  int32_t gone = 0;
  for (int32_t i = 0; i < p->count; i++) {
    if (next->key[i] == r->key[i]) continue;
    if (next->key[i] == REORDER_GONE)
      gone++;
    else
      add_mover(r, &movers, next->key[i], p->id[i], i);
  }
  const int32_t moved = (int32_t)movers;
  for (int32_t i = p->count; i < p->count + arrived; i++) add_mover(r, &movers, next->key[i], p->id[i], i);
  if (movers == 0 && gone == 0 && next->capacity == p->capacity) {
    exchange_state(p, next);
    return 0;
  }
  qsort(r->movers, (size_t)movers, sizeof *r->movers, compare_movers);
  const int32_t count = merge(r, p, next->key, movers);
  FIRN_ASSERT(count == p->count - gone + arrived);
  swap_u64(&r->key, &r->spare);
  copy_fields(r, p, next, count);
  p->count = count;
  return moved;
}
