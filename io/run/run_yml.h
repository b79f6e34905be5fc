/* <output>/run.yml: how a run was started, where and on what, once for each start. Frames hold nothing of the
 * machine, so that they are the same everywhere; this file is where such things go. Pictures find the files
 * of the scene's bodies through it. No MPI: rank 0 writes. */
#ifndef FIRN_IO_RUN_YML_H
#define FIRN_IO_RUN_YML_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct run_start {
  char *command; /* as typed, words quoted where they need it */
  char *folder;  /* where it was typed */
  char *time;    /* "2025-01-31 12:00:00 +0000" */
  char *host;
  char *machine; /* ranks, threads and cores */
  char *version; /* of Firn, with its commit */
};

struct run_record {
  char *scene; /* absolute path of the scene file */
  int count;
  struct run_start *start;
};

/* Adds a start to the record in the folder `output`; `fresh` forgets the earlier ones. generation as in
 * file_temp_name(). */
int run_record_add(const char *output, const char *scene, const char *command, const char *machine,
                   bool fresh, int64_t generation, struct error *err);

/* By what is inside. */
bool run_record_is_one(const char *path);

/* NULL and FIRN_OK where there is none. */
int run_record_read(struct run_record **out, const char *output, struct error *err);
void run_record_destroy(struct run_record **record);

/* The words of a subcommand as one line that a shell reads back, "firn run ...", for mem_free(). */
char *run_record_command(int argc, char *const *argv);

#endif
