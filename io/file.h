/* Durable files: a name always belongs to a complete file.
 *
 * A writer works on a temporary name beside the target; file_commit() brings it to the disk and renames it,
 * so that a crash leaves the old file or the new one and at worst a temporary that file_remove_stale() clears
 * later. Nothing here calls MPI: one process (rank 0) does this for all. */
#ifndef FIRN_IO_FILE_H
#define FIRN_IO_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes a folder and its parents; one that exists is fine. */
int file_make_folder(const char *path, struct error *err);

/* "folder/name", to be freed with mem_free(). */
char *file_join(const char *folder, const char *name);

/* "target.7-1a2b-17c3.part", to be freed with mem_free(): a name that no other writer uses. The first number
 * is the generation of the start that writes (fence.h), 0 for a writer that has none. */
char *file_temp_name(const char *target, int64_t generation);

/* Brings the bytes of a file to the disk. */
int file_sync(const char *path, struct error *err);

/* Brings temp to the disk and renames it to target. When that fails temp is removed. */
int file_commit(const char *temp, const char *target, struct error *err);

/* Writes bytes to target by way of a temporary; all or nothing. generation as in file_temp_name(). */
int file_write(const char *target, int64_t generation, const void *bytes, size_t size, struct error *err);

/* Removes the temporaries that interrupted starts of a generation below `generation` left in a folder, for
 * targets whose name is_target() knows; returns how many. Those of a newer start and of writers without a
 * generation are left alone, and so is every other file. A missing folder has none. */
int file_remove_stale(const char *folder, int64_t generation, bool (*is_target)(const char *name));

/* The number in a name that is exactly prefix, digits (zeros in front up to `width`) and suffix; -1
 * otherwise. */
int64_t file_number(const char *name, const char *prefix, int width, const char *suffix);

/* Whether the file begins with these bytes; false if it cannot be read. */
bool file_begins_with(const char *path, const void *bytes, size_t size);

/* An error if a file is at path that must not be replaced. `known` says whether it is one of its kind, which
 * may be, and `what` names the kind, as in "a PNG picture". */
int file_check_replaceable(const char *path, bool known, const char *what, struct error *err);

/* XXH3 of a file's first `most` bytes. */
int file_hash(const char *path, size_t most, uint64_t *hash, struct error *err);

/* Checks that path is a regular file that this process can read. */
int file_check_readable(const char *path, struct error *err);

/* The whole file with a zero byte behind it, to be freed with mem_free(); one above `limit` bytes is an
 * error. */
int file_read(const char *path, size_t limit, char **out, size_t *size, struct error *err);

bool file_is_folder(const char *path);

/* Whether anybody may write to the file at path: one that all are denied to write to is kept for good. */
bool file_is_writable(const char *path);

/* Names in a folder that have this prefix and suffix, by length and then alphabet: numbers of any
 * width come in order. An error for a folder that cannot be read. */
struct file_list {
  int count;
  char **names;
};

int file_list_create(struct file_list **out, const char *folder, const char *prefix, const char *suffix,
                     struct error *err);
void file_list_destroy(struct file_list **list);

/* The order of such a list, by strcmp(). */
int file_name_order(const char *a, const char *b);

#endif
