/* Keys of a body that deforms, in one HDF5 file (docs/file-format.md): for each key its time, a grid of
 * signed distances and one of velocities. */
#ifndef FIRN_IO_LEVELSET_FILE_H
#define FIRN_IO_LEVELSET_FILE_H

#include "base/error.h"
#include "levelset/keyed.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writing: keys in the order of their times; all or nothing. */
struct levelset_writer {
  char *target, *temp;
  hid_t file;
  int64_t count;
};

int levelset_writer_open(struct levelset_writer *w, const char *path, double spacing, struct error *err);
int levelset_writer_add(struct levelset_writer *w, double time, const struct sdf *key, struct error *err);

/* Commits the file, or with commit false throws it away. */
int levelset_writer_close(struct levelset_writer *w, bool commit, struct error *err);

/* Reading, by one process. First the plan: everything but samples, in flat memory. */
struct levelset_plan {
  int64_t count;
  struct levelset_key {
    double time, lower[3], spacing;
    int64_t n[3];
    double max_speed;
    int64_t offset; /* of phi among the file's samples, in floats; velocities follow it */
  } * key;
  int64_t floats; /* samples of all keys */
};

int levelset_plan_read(struct levelset_plan *plan, const char *path, struct error *err);
void levelset_plan_free(struct levelset_plan *plan);

/* All samples into memory for plan->floats of them; finds the largest speeds, refuses what is not finite. */
int levelset_samples_read(struct levelset_plan *plan, const char *path, float *samples, struct error *err);

/* Keys over such memory, which they borrow. */
void levelset_keys(const struct levelset_plan *plan, const float *samples, bool cyclic, struct keyed *keys);
void levelset_keys_free(struct keyed *keys);

#endif
