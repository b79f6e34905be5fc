/* A study: several runs of one scene that belong together, in one folder.
 *
 * A sweep changes keys of the scene from run to run. A strong study runs the scene as it is on more and more
 * ranks; a weak one makes it longer with the ranks (domain.copies), and runs each length once more on another
 * number of ranks, since only the same scene can have the same bits. What is to be run is in
 * FOLDER/study.json; each run has a folder FOLDER/run_000, run_001, ... as its output. Nothing here starts
 * MPI. */
#ifndef FIRN_STUDY_H
#define FIRN_STUDY_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum study_kind { STUDY_SWEEP, STUDY_STRONG, STUDY_WEAK, STUDY_KINDS };
extern const char *const study_kinds[STUDY_KINDS];

enum { STUDY_MOST_RUNS = 100000, STUDY_MOST_KEYS = 64 };

struct study_run {
  int ranks;     /* 0: as many as the job that runs it has */
  int threads;   /* of a rank; 0: as the run's arguments and the machine have it */
  bool check;    /* for its bits, not for its time */
  char **values; /* [key_count] */
};

struct study {
  enum study_kind kind;
  char *folder;
  char *scene;      /* absolute path */
  char **arguments; /* more words for firn run, in all runs */
  int argument_count;
  char **keys;
  int key_count;
  struct study_run *runs;
  int run_count;
};

/* All runs of KEY=A,B,C words, the last word's values changing fastest; or, of one word without '=', the rows
 * of a table in CSV whose header names the keys. Commas inside brackets and quotes belong to a value. */
int study_sweep(struct study **out, const char *scene, char *const *words, int word_count, struct error *err);

/* What a scaling study is asked for. */
struct study_plan {
  const char *ranks;  /* "1,2,4,8", or with threads "1x4,2x4,4x4"; cores do not fall */
  int repeats;        /* runs of each, 1 at least */
  int64_t copy_cells; /* weak: from one copy of the scene to the next; 0: as the scene has it */
};

/* `repeats` runs for each entry of the list. */
int study_scaling(struct study **out, enum study_kind kind, const char *scene, const struct study_plan *plan,
                  struct error *err);

void study_destroy(struct study **study);

/* An error if a word of some run cannot be handed on by a script, line by line. study_read() checks it too.
 */
int study_check_words(const struct study *study, struct error *err);

/* Makes the folder and writes study.json; one that holds another study is an error. */
int study_write(const struct study *study, struct error *err);
int study_read(struct study **out, const char *folder, struct error *err);

/* Folder of run k, to be freed with mem_free(). */
char *study_run_folder(const struct study *study, int k);

/* The --set assignments of run k, key_count of them, to be freed with study_free_words(). */
char **study_assignments(const struct study *study, int k);
void study_free_words(char **words, int count);

/* The words of firn run for run k, one a line. */
void study_print_arguments(const struct study *study, int k, FILE *file);

/* The table to `file`, and as FOLDER/results.csv. */
struct listing;
int study_write_table(const struct study *study, const struct listing *listing, FILE *file,
                      struct error *err);

/* What came of a study: a table for `file` and FOLDER/results.csv, pictures in FOLDER. columns: what a sweep
 * shows, NULL for a choice; see firn help study. */
int study_collect_sweep(const struct study *study, const char *columns, FILE *file, struct error *err);
int study_collect_scaling(const struct study *study, FILE *file, struct error *err);

#endif
