/* What runs leave in an output folder: which files are theirs, and what may become of them.
 *
 * A file counts as Firn's only if its name is exactly one that Firn gives and what is inside is what Firn
 * writes under that name. No other file is ever removed, and none that is in the way is written over: it is
 * set aside, into <output>/replaced_000007 for the start of generation 7 (fence.h). A forced start puts the
 * run that it replaces there too, whole; what is Firn's of it is removed once the new run is complete. Rank 0
 * only; nothing here calls MPI. */
#ifndef FIRN_IO_RUN_FOLDER_H
#define FIRN_IO_RUN_FOLDER_H

#include "base/error.h"
#include "io/file.h"

#include <stdbool.h>
#include <stdint.h>

/* What a folder holds under the names that Firn gives. */
struct run_folder {
  int frames, checkpoints, last_good;
  bool history;
  char replaced[32]; /* the last folder of things set aside; empty if there is none */
  char *foreign;     /* path of a file under such a name that is not Firn's inside; NULL if none was met */
};

/* `series` is the name of the run's XDMF file. Looks into the first file of each kind only. */
void run_folder_look(struct run_folder *found, const char *output, const char *series);
void run_folder_free(struct run_folder *found);

/* Paths in the folder ("frames/frame_000003.h5") of all files that are Firn's, by name and by what is inside,
 * damaged ones included: frames, checkpoints, last good states, history, record, series, run.json,
 * starts.csv. */
int run_folder_list(struct file_list **out, const char *output, struct error *err);

/* Moves the file of that path in the folder to the folder of things set aside. FIRN_EIO if it cannot. */
int run_folder_set_aside(const char *output, int64_t generation, const char *name, struct error *err);

/* All of a list, or none. */
int run_folder_set_all_aside(const char *output, int64_t generation, const struct file_list *list,
                             struct error *err);

/* Leaves a second name of the file there instead, so that it survives a new file under the first one. */
int run_folder_keep_copy(const char *output, int64_t generation, const char *name, struct error *err);

/* Before a frame, checkpoint or note is written: sets aside what is in its place unless it may be replaced.
 * That may be a file of Firn's kind, sound or damaged, that is not denied to be written to; a sound
 * checkpoint only if it is of this run. */
int run_folder_make_way(const char *output, int64_t generation, const char *run_id, const char *name,
                        struct error *err);

/* Removes what starts of an older generation left half-written. Only after the fence was taken. */
void run_folder_clean(const char *output, int64_t generation);

/* Whether there are folders of things set aside. */
bool run_folder_has_replaced(const char *output);

/* The run is complete: removes what is Firn's of the things that starts up to this generation set aside. */
void run_folder_drop_replaced(const char *output, int64_t generation);

#endif
