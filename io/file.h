/* Durable files: what stands under a name is always a whole file.
 *
 * A writer works on a temporary name beside the target; file_commit() brings it to the disk and renames it,
 * so that a crash leaves the old file or the new one and at worst a temporary that file_remove_stale() clears
 * later. Nothing here calls MPI: one process (rank 0) does this for all. */
#ifndef FIRN_IO_FILE_H
#define FIRN_IO_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Makes a folder and its parents; one that exists is fine. */
int file_make_folder(const char *path, struct error *err);

/* "folder/name", to be freed with mem_free(). */
char *file_join(const char *folder, const char *name);

/* A name beside target that no other writer uses, to be freed with mem_free(). */
char *file_temp_name(const char *target);

/* Brings the bytes of a file to the disk. */
int file_sync(const char *path, struct error *err);

/* Brings temp to the disk and renames it to target. When that fails temp is removed. */
int file_commit(const char *temp, const char *target, struct error *err);

/* Writes bytes to target by way of a temporary; all or nothing. */
int file_write(const char *target, const void *bytes, size_t size, struct error *err);

/* Removes what interrupted writers left in a folder; returns how many. A missing folder has none. */
int file_remove_stale(const char *folder);

/* Checks that path is a regular file that this process can read. */
int file_check_readable(const char *path, struct error *err);

/* The whole file with a zero byte behind it, to be freed with mem_free(); one above `limit` bytes is an
 * error. */
int file_read(const char *path, size_t limit, char **out, size_t *size, struct error *err);

bool file_is_folder(const char *path);

/* Names in a folder that have this prefix and suffix, by length and then alphabet: numbers of any
 * width come in order. An error for a folder that cannot be read. */
struct file_list {
  int count;
  char **names;
};

int file_list_create(struct file_list **out, const char *folder, const char *prefix, const char *suffix,
                     struct error *err);
void file_list_destroy(struct file_list **list);

/* The order of such a list, as strcmp() tells it. */
int file_name_order(const char *a, const char *b);

#endif
