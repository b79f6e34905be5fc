/* A table of numbers from a CSV file with a header line, such as the history of a run. Serial, no MPI. */
#ifndef FIRN_IO_CSV_TABLE_H
#define FIRN_IO_CSV_TABLE_H

#include "base/error.h"
#include "base/listing.h"

#include <stdint.h>

struct table {
  int columns;
  int64_t rows;
  char **name;    /* of the columns */
  double **value; /* [column][row] */
};

/* A last line without an end is left out: the file may still be growing. Any other line that does not fit the
 * header is an error. */
int table_read(struct table **out, const char *path, struct error *err);
void table_destroy(struct table **table);

/* Writes a listing as CSV. A file that is there is replaced only if it begins with `beginning`, as such
 * listings do. */
int table_write(const struct listing *listing, const char *path, const char *beginning, struct error *err);

/* The column's values, or NULL if there is none of that name. */
const double *table_column(const struct table *table, const char *name);

#endif
