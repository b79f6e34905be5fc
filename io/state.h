/* Any file of particles, opened by one process to look at: frames, states, particle files.
 *
 * Lists the numeric fields it finds beside `position` and loads them one at a time, so that two files of 10^8
 * particles can be compared without holding either. Serial, no MPI. */
#ifndef FIRN_IO_STATE_H
#define FIRN_IO_STATE_H

#include "base/error.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

struct state_field {
  char name[64];
  char unit[32]; /* empty where the file has none */
  bool real;
  bool is_signed; /* integers only */
  int bytes;      /* of an element in the file */
  int components;
};

enum { STATE_FIELDS = 64 };

struct state {
  char *path;
  hid_t file;
  hid_t group;
  int64_t count; /* particles */
  int field_count;
  struct state_field fields[STATE_FIELDS]; /* position, then the others by name */
};

/* An error unless the file is sound and all its fields have one row a particle. */
int state_open(struct state **out, const char *path, struct error *err);
void state_close(struct state **state);

/* NULL where the file has no such field. */
const struct state_field *state_find(const struct state *state, const char *name);

/* All rows as elements of memory_type (HDF5 converts), into a block for mem_free(). */
int state_load(const struct state *state, const struct state_field *field, hid_t memory_type, void **rows,
               struct error *err);

#endif
