/* The whole state of a simulation on rank 0, and its comparison bit by bit.
 *
 * Every rank packs its particles as for a migration and sends them to rank 0, which sorts them by id: what
 * comes out does not depend on who held what, so the states of two runs are the same memory or they are not
 * the same run. Needs check.h. */
#ifndef FIRN_TESTS_STATE_H
#define FIRN_TESTS_STATE_H

#include "base/memory.h"
#include "decomposition/migrate.h"
#include "sim/sim.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

struct any_file {
  int64_t count;
  size_t record_size;
  unsigned char *records; /* sorted by id */
  unsigned needs;         /* of the particles */
};

static inline int state_compare_ids(const void *a, const void *b)
{
  uint64_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

/* Collective over the simulation's ranks; only rank 0 gets particles. */
static inline void state_gather(struct sim *sim, struct any_file *state)
{
  sim_tidy(sim);
  struct mailbox out = {.record_size = particles_record_size(sim->p)}, in = {0};
  for (int32_t i = 0; i < sim->p->count; i++) particles_pack(sim->p, i, mailbox_add(&out, 0));
  migrate(&sim->comm, &out, &in, true);
  *state = (struct any_file){in.count, in.record_size, mem_alloc((size_t)in.count, in.record_size),
                             particles_needs(sim->p)};
  if (in.count) memcpy(state->records, in.records, (size_t)in.count * in.record_size);
  qsort(state->records, (size_t)in.count, in.record_size, state_compare_ids);
  mailbox_free(&out);
  mailbox_free(&in);
}

static inline void state_free(struct any_file *state)
{
  mem_free(state->records);
  *state = (struct any_file){0};
}

/* Field and component of the word at `offset` of a record, for messages and tolerances. */
static inline const struct particle_field *any_file_field(unsigned needs, size_t offset)
{
  size_t at = 0;
  for (int f = 0; f < PARTICLE_FIELDS; f++) {
    if ((particle_fields[f].needs & needs) != particle_fields[f].needs) continue;
    at += field_size(particle_fields[f].type) * (size_t)particle_fields[f].components;
    if (offset < at) return &particle_fields[f];
  }
  return &particle_fields[PARTICLE_FIELDS - 1];
}

/* Ends the test at the first word that differs. */
static inline void state_check_equal(const struct any_file *a, const struct any_file *b, const char *what)
{
  CHECK_TEXT(a->count == b->count && a->record_size == b->record_size, what);
  for (int64_t k = 0; k < a->count; k++)
    for (size_t at = 0; at < a->record_size; at += 8) {
      const unsigned char *x = a->records + (size_t)k * a->record_size,
                          *y = b->records + (size_t)k * a->record_size;
      if (memcmp(x + at, y + at, 8) == 0) continue;
      double u, v;
      uint64_t id;
      memcpy(&u, x + at, 8);
      memcpy(&v, y + at, 8);
      memcpy(&id, x, 8);
      char text[256];
      snprintf(text, sizeof text, "%s: %s of particle %llu is %.17g and %.17g", what,
               any_file_field(a->needs, at)->name, (unsigned long long)id, u, v);
      CHECK_TEXT(false, text);
    }
}

/* Largest difference of a field's components, relative to the field's largest value. */
static inline double state_difference(const struct any_file *a, const struct any_file *b, int field)
{
  CHECK(a->count == b->count && a->record_size == b->record_size);
  double largest = 0.0, difference = 0.0;
  for (int64_t k = 0; k < a->count; k++)
    for (size_t at = 0; at < a->record_size; at += 8) {
      if (any_file_field(a->needs, at) != &particle_fields[field]) continue;
      double u, v;
      memcpy(&u, a->records + (size_t)k * a->record_size + at, 8);
      memcpy(&v, b->records + (size_t)k * a->record_size + at, 8);
      largest = fmax(largest, fabs(u));
      difference = fmax(difference, fabs(u - v));
    }
  return largest > 0.0 ? difference / largest : difference;
}

#endif
