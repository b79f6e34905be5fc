/* Any file of particles, opened by one process to look at: frames, states, particle files.
 *
 * Lists the numeric fields it finds beside `position` and loads them one at a time, so that two files of 10^8
 * particles can be compared without holding either. A sealed file is checked against its seal (seal.h): what
 * is around the rows when it is opened, before HDF5 reads it, and each field's rows when they are loaded.
 * Serial, no MPI. */
#ifndef FIRN_IO_ANY_FILE_H
#define FIRN_IO_ANY_FILE_H

#include "base/error.h"
#include "io/run/seal.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

struct any_file_field {
  char name[64];
  char unit[32]; /* empty if the file has none */
  bool real;
  bool is_signed; /* integers only */
  int bytes;      /* of an element in the file */
  int components;
};

enum { ANY_FILE_FIELDS = 64 };

struct any_file {
  char *path;
  hid_t file;
  hid_t group;
  int64_t count; /* particles */
  bool checked;  /* against `seal` */
  struct seal seal;
  int field_count;
  struct any_file_field fields[ANY_FILE_FIELDS]; /* position, then the others by name */
};

/* An error unless the file is sound and all its fields have one row a particle. Without `check` its seal is
 * not looked at: for a list of many files whose rows nobody reads. */
int any_file_open(struct any_file **out, const char *path, bool check, struct error *err);
void any_file_close(struct any_file **state);

/* NULL if the file has no such field. */
const struct any_file_field *any_file_find(const struct any_file *state, const char *name);

/* All rows as elements of memory_type (HDF5 converts), into a block for mem_free(). */
int any_file_load(const struct any_file *state, const struct any_file_field *field, hid_t memory_type,
                  void **rows, struct error *err);

#endif
