/* What all HDF5 code of Firn shares: errors as one line of text, attributes, opening for reading. */
#ifndef FIRN_IO_HDF5_H
#define FIRN_IO_HDF5_H

#include "base/error.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

/* HDF5 prints its error stack by default. Silence it around our calls and give the host program its setting
 * back. */
struct hdf5_silence {
  H5E_auto2_t print;
  void *data;
};

void hdf5_silence_begin(struct hdf5_silence *saved);
void hdf5_silence_end(const struct hdf5_silence *saved);

/* Like error_set(), with ": reason" behind the message, as far as it is in the library's error stack. */
int hdf5_error(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Opens an existing file for reading by this process alone, without MPI. Negative with err set when it
 * cannot. Files of unknown origin must pass hdf5_trial() first. */
hid_t hdf5_open(const char *path, struct error *err);

/* Whether HDF5 survives the structure of a file: a child process tries it. Every file from outside goes
 * through here once before it is opened; those that this run wrote need not. Not for the middle of a run: it
 * forks. */
int hdf5_trial(const char *path, struct error *err);

/* Opens an object of this very file: links to other files are not followed. Closed with H5Oclose(). */
hid_t hdf5_object_open(hid_t group, const char *name);

/* Closes a file that was written. False if the system does not let HDF5 write the rest: the process can go
 * on and end all the same. */
bool hdf5_close_written(hid_t file);

/* Files that were not closed stay so: HDF5 does not end itself, which would follow them or wait for ranks
 * that do not come. */
void hdf5_abandon(void);

/* Whether the file at path is HDF5 that can be read and says in its attribute `format` that it is this one.
 */
bool hdf5_has_format(const char *path, const char *format);

/* Scalar attributes; false when HDF5 fails. In a file that is open collectively these are collective. */
struct scene;

/* The scene's texts and the version of Firn, as attributes: what frames and checkpoints have in common. */
bool hdf5_put_scene(hid_t object, const struct scene *scene);

bool hdf5_put_text(hid_t object, const char *name, const char *text);
bool hdf5_put_f64(hid_t object, const char *name, double value);
bool hdf5_put_i64(hid_t object, const char *name, int64_t value);
bool hdf5_put_u64(hid_t object, const char *name, uint64_t value);

/* A text attribute, to be freed with mem_free(); NULL if there is none. */
char *hdf5_get_text(hid_t object, const char *name);

/* Numeric scalar attributes; false and *value untouched where there is none. */
bool hdf5_get_f64(hid_t object, const char *name, double *value);
bool hdf5_get_i64(hid_t object, const char *name, int64_t *value);

/* A dataset of numbers with up to four axes. As a table it has one row per particle: (n), (n, k) or
 * (n, k, l). */
struct hdf5_table {
  hid_t dataset;
  H5T_class_t class; /* H5T_INTEGER or H5T_FLOAT */
  bool is_signed;
  size_t bytes; /* of an element in the file */
  int axes;
  hsize_t dims[4]; /* 1 beyond axes */
  int64_t rows;
  int components; /* elements per row, of a table */

  bool shuffled, deflated;
  hsize_t chunk[4];
  size_t chunk_bytes; /* 0: the data are in one piece */

  hid_t transfer; /* of the caller; 0: each rank reads for itself */

  unsigned char *unpacked; /* the chunk read last; owned */
  hsize_t unpacked_at[4];
  hid_t unpacked_type;
};

/* Opens group/name of the file at path: plain numbers that lie in this file, in one piece or in chunks with
 * the filters shuffle and deflate. Refuses all others, and sizes that the file cannot hold: a damaged header
 * must not make us allocate a terabyte. */
int hdf5_array_open(struct hdf5_table *array, hid_t group, const char *name, int most_axes, const char *path,
                    struct error *err);

/* The same for up to three axes and rows of 1 to 1024 elements. */
int hdf5_table_open(struct hdf5_table *table, hid_t group, const char *name, const char *path,
                    struct error *err);
void hdf5_table_close(struct hdf5_table *table);

/* Reads `count` rows, along the first axis from `first` on, as elements of memory_type; false if they cannot
 * be read. With table->transfer of together_transfer() all ranks must call, also for no rows; chunks are read
 * by each rank for itself all the same. */
bool hdf5_table_read(struct hdf5_table *table, hid_t memory_type, int64_t first, int64_t count, void *rows);

/* Looks up where all chunks are, as reading them would. */
void hdf5_table_scan(const struct hdf5_table *table);

/* The group that holds the particles: the first of /particles, /initial and / that has a position. */
hid_t hdf5_particle_group(hid_t file, const char *path, struct error *err);

/* True if the group has a link of this name that leads to an object. */
bool hdf5_has(hid_t group, const char *name);

#endif
