/* Frames for other programs: PLY, VTK's VTP, CSV, NumPy's NPZ. Serial, no MPI. A file appears under its name
 * only when it is complete. */
#ifndef FIRN_IO_EXPORT_H
#define FIRN_IO_EXPORT_H

#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

enum export_type { EXPORT_F32, EXPORT_F64, EXPORT_U32, EXPORT_U64 };

struct export_field {
  char name[64];
  int components;
  enum export_type type;
  void *rows;
};

/* All fields of a file of particles; position comes first. */
struct export_data {
  int64_t count;
  double time; /* s */
  int field_count;
  struct export_field *field;
};

int export_load(struct export_data **out, const char *path, struct error *err);
void export_destroy(struct export_data **data);

static inline size_t export_size(enum export_type type)
{
  return type == EXPORT_F32 || type == EXPORT_U32 ? 4 : 8;
}

/* Writes to a file that is open; the caller looks for errors of the stream. */
void export_ply(FILE *file, const struct export_data *data);
void export_vtp(FILE *file, const struct export_data *data);
void export_csv(FILE *file, const struct export_data *data);
void export_npz(FILE *file, const struct export_data *data);

/* Opens a temporary, calls the writer, and gives the file its name. */
int export_write(const char *path, void (*writer)(FILE *, const struct export_data *),
                 const struct export_data *data, struct error *err);

#endif
