/* The history of a run: <output>/history.csv, a header and then one line a step, for plots and for tests.
 *
 * What the simulation computed stands first, with 17 digits, and is the same text on any number of ranks;
 * what the machine did (imbalance, seconds) stands last. Rank 0 only; nothing here calls MPI. */
#ifndef FIRN_IO_HISTORY_H
#define FIRN_IO_HISTORY_H

#include "base/error.h"
#include "io/particles/fence.h"

#include <stdbool.h>
#include <stdint.h>

enum { HISTORY_PHASES = 9 };

struct history_row {
  int64_t step;
  double time;           /* s, at the end of the step */
  double dt;             /* s */
  int64_t particles;     /* in the domain */
  int64_t removed;       /* left the domain since the start */
  int64_t iterations;    /* of the solver in this step */
  int64_t halvings;      /* of this step */
  int64_t contact_nodes; /* grid nodes held by a body */
  int64_t plastic;       /* particles whose stretches were clamped in this step */
  int64_t limited;       /* particles that a limit of the material held in this step */
  double mass;           /* kg */
  double momentum[3];    /* kg m/s */
  double angular[3];     /* kg m^2/s, about the origin */
  double kinetic;        /* J */
  double elastic;        /* J */
  double potential;      /* J */
  double max_speed;      /* m/s */
  const double *more;    /* of the columns that the scene asks for */
  double imbalance;      /* counted work of the busiest rank over the mean */
  double seconds[HISTORY_PHASES];
};

/* Columns beside those that every history has: what the scene asks for, then the phases, which are the first
 * so many entries of `seconds`. */
struct history_columns {
  const char *const *more;
  int more_count;
  const char *const *phases;
  int phase_count;
};

struct history;

/* Makes the folder and goes on with the file that is there, without the rows of `step` and later, which will
 * come again. Starts anew where there is none or step is negative. A file that is not a history of these
 * columns is replaced: ask history_fits() before. fence: asked before the file appears; NULL where no other
 * start could write. */
int history_open(struct history **out, const char *output, const struct fence *fence,
                 const struct history_columns *columns, int64_t step, struct error *err);

/* <output>/history.csv, to be freed with mem_free(). */
char *history_path(const char *output);

/* Whether the file at path is a history, of whatever columns; whether it is one without a row yet; and
 * whether it has exactly these columns. */
bool history_is_one(const char *path);
bool history_is_empty(const char *path);
bool history_fits(const char *path, const struct history_columns *columns);

/* Brings what was added to the disk: before a checkpoint, so that no row can be missing that a restart does
 * not write again. Accepts NULL. */
void history_sync(struct history *history);

/* Appends a line. One that cannot be written is a warning, once: a full disk does not end a run because of
 * its log. */
void history_add(struct history *history, const struct history_row *row);

/* Accepts NULL. What was added is on the disk afterwards. */
void history_destroy(struct history **history);

#endif
