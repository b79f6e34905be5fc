/* The history of a run: <output>/history.csv, a header and then one line per step, for plots and for tests.
 *
 * What the simulation computed stands first, with 17 digits, and is the same text on any number of ranks;
 * what the machine did (imbalance, seconds) stands last. Rank 0 only; nothing here calls MPI. */
#ifndef FIRN_IO_HISTORY_H
#define FIRN_IO_HISTORY_H

#include "base/error.h"
#include "io/run/fence.h"

#include <stdbool.h>
#include <stdint.h>

enum { HISTORY_PHASES = 9 };

/* The columns that every history has, in their order: INTEGER(name) and REAL(name). A column is a row here
 * and a line in src/run/run_report.c, where it gets its number. New ones come last: scripts know the others.
 */
#define FIRN_HISTORY(INTEGER, REAL)                                                                          \
  INTEGER(step)                                                                                              \
  REAL(time)             /* s, at the start of the step */                                                   \
  REAL(dt)               /* s */                                                                             \
  INTEGER(particles)     /* in the domain */                                                                 \
  INTEGER(removed)       /* left the domain since the start */                                               \
  INTEGER(iterations)    /* of the solver in this step */                                                    \
  INTEGER(halvings)      /* of this step */                                                                  \
  INTEGER(contact_nodes) /* grid nodes held by a body */                                                     \
  INTEGER(plastic)       /* particles whose stretches were clamped in this step */                           \
  INTEGER(limited)       /* particles that a limit of the material held in this step */                      \
  REAL(mass)             /* kg */                                                                            \
  REAL(momentum_x)       /* kg m/s */                                                                        \
  REAL(momentum_y)                                                                                           \
  REAL(momentum_z)                                                                                           \
  REAL(angular_x) /* kg m^2/s, about the origin */                                                           \
  REAL(angular_y)                                                                                            \
  REAL(angular_z)                                                                                            \
  REAL(kinetic)   /* J */                                                                                    \
  REAL(elastic)   /* J */                                                                                    \
  REAL(potential) /* J */                                                                                    \
  REAL(max_speed) /* m/s */

#define HISTORY_INTEGER(name) int64_t name;
#define HISTORY_REAL(name)    double name;
struct history_row {
  FIRN_HISTORY(HISTORY_INTEGER, HISTORY_REAL)
  int64_t repeats;    /* solves of this step that were repeated; a column if the scene repeats any */
  const double *more; /* of the columns that the scene asks for */
  double imbalance;   /* counted work of the busiest rank over the mean */
  double seconds[HISTORY_PHASES];
};
#undef HISTORY_INTEGER
#undef HISTORY_REAL

/* Columns beside those that every history has: what the scene asks for, then the phases, which are the first
 * so many entries of `seconds`. */
struct history_columns {
  const char *const *more;
  int more_count;
  bool repeats;
  const char *const *phases;
  int phase_count;
};

struct history;

/* Makes the folder and continues with the history that is there, without the rows of `step` and later, which
 * will come again; columns may have changed (csv_log.h). `expected` rows should be there, 0 if that is not
 * known. Starts anew where there is none or step is negative. fence: asked before the file appears; NULL
 * if no other start could write. */
int history_open(struct history **out, const char *output, const struct fence *fence,
                 const struct history_columns *columns, int64_t step, int64_t expected, struct error *err);

/* <output>/history.csv, to be freed with mem_free(). */
char *history_path(const char *output);

/* Whether the file at path is a history, of whatever columns; and whether it is one without a row yet. */
bool history_is_one(const char *path);
bool history_is_empty(const char *path);

/* Rows that it has. Accepts NULL. */
int64_t history_rows(const struct history *history);

/* Brings what was added to the disk: before a checkpoint, so that no row can be missing that a restart does
 * not write again. Accepts NULL. */
void history_sync(struct history *history);

/* Appends a line. One that cannot be written is a warning, once: a full disk does not end a run because of
 * its log. */
void history_add(struct history *history, const struct history_row *row);

/* Accepts NULL. What was added is on the disk afterwards. */
void history_destroy(struct history **history);

#endif
