/* What the two ways of writing rows share (writer.c, writer_direct.c, writer_parallel.c). */
#ifndef FIRN_IO_WRITER_PARTS_H
#define FIRN_IO_WRITER_PARTS_H

#include "io/particles/writer.h"

struct writer {
  const struct writer_plan *plan;
  const struct comm *comm;
  bool compressed;
  bool together; /* through parallel HDF5 */
  char *temp;
  int64_t total; /* rows of all ranks */
  int64_t first; /* row of this rank's first one */
  int64_t size;  /* of the whole file, as far as it is known before it is written */
  int64_t offset[WRITER_COLUMNS];
  uint64_t sum[WRITER_COLUMNS]; /* of this rank's rows (seal.h) */
};

size_t writer_row_size(const struct writer_column *column);

/* Rows of a column: all ranks' and this rank's. */
int64_t writer_total(const struct writer *w, int c);
int64_t writer_rows(const struct writer *w, int c);

/* The group that a column lies in. */
const char *writer_group(const struct writer_column *column);

/* Rows by components: (n), (n, 3) or (n, 3, 3); returns the number of axes. */
int writer_shape(const struct writer_column *column, int64_t rows, hsize_t dims[3]);

/* Writes all bytes at a place; 0 or an errno. */
int writer_put_bytes(int fd, const char *bytes, size_t size, int64_t at);

/* This rank's rows by pwrite() to where they belong, and to the disk. Not collective. */
int writer_write_direct(struct writer *w, struct error *err);

/* All ranks' rows by collective calls of HDF5. Collective. */
int writer_write_parallel(struct writer *w, struct error *err);

#endif
