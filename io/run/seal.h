/* A seal: the first block of a file, which accounts for every byte behind it.
 *
 * The seal is text in the user block that HDF5 leaves alone: the file's length, for each table of rows where
 * it lies and what its rows sum to, a hash of all bytes that are in no table, and a hash of the seal itself.
 * So a cut or flipped file is known as such before HDF5 reads its structure, which it does not survive for
 * any bytes at all; and rows are checked when they are read.
 *
 * A table's sum is that of its rows' hashes, each seeded with the row's number, modulo 2^64: ranks add up
 * what they have, and the sum depends neither on their number nor on where the cuts lie. Nothing here calls
 * MPI or HDF5. */
#ifndef FIRN_IO_SEAL_H
#define FIRN_IO_SEAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { SEAL_BYTES = 4096, SEAL_ENTRIES = 40 };

struct seal_entry { /* one table of rows */
  char name[32];
  int64_t offset; /* bytes, in the file */
  int64_t rows;
  int64_t row_size; /* bytes */
  uint64_t sum;
};

struct seal {
  int count;
  struct seal_entry entries[SEAL_ENTRIES];
};

/* Adds rows first .. first + n - 1 to the sum. */
void seal_add_rows(struct seal_entry *entry, int64_t first, int64_t n, const void *rows);

/* False when there are too many. */
bool seal_add_entry(struct seal *seal, const struct seal_entry *entry);

/* For a file without tables, as a compressed one: a table whose rows are its blocks of bytes, so that ranks
 * can share the work. Plans it without its sum; then adds blocks first .. first + n - 1, read from the file.
 */
int seal_plan_blocks(struct seal_entry *entry, const char *path, struct error *err);
int seal_sum_blocks(struct seal_entry *entry, const char *path, int64_t first, int64_t n, struct error *err);

/* Whether a seal has such blocks. */
bool seal_has_blocks(const struct seal *seal);

/* Writes the seal of the file at path, which is complete but for its first SEAL_BYTES. */
int seal_write(const struct seal *seal, const char *path, struct error *err);

/* Reads the seal and checks everything but the rows (blocks are no rows); FIRN_EDAMAGED if the file is not
 * what it was, FIRN_EFORMAT if the seal is whole and of another version, FIRN_EIO if the system does
 * not let us read the file: then it may well be whole. */
int seal_check(struct seal *seal, const char *path, struct error *err);

/* Reads the seal and checks nothing but itself and the file's length. */
int seal_read(struct seal *seal, const char *path, struct error *err);

/* Reads a table's rows and checks them; codes as above. */
int seal_check_rows(const struct seal_entry *entry, const char *path, struct error *err);

/* Everything: the seal, what is around the rows, and all rows. */
int seal_check_all(const char *path, struct error *err);

/* Whether a file is one that was sealed, of whatever version and however damaged it is: it begins with a
 * seal, or HDF5 begins where a seal would end. Files of others have no user block of SEAL_BYTES. */
bool seal_is_there(const char *path);

/* NULL if there is no such table. */
const struct seal_entry *seal_find(const struct seal *seal, const char *name);

#endif
