/* A run as `firn run` sees it: the simulation, its files, its log. All of it is the same on all ranks unless
 * it says otherwise. */
#ifndef FIRN_RUN_H
#define FIRN_RUN_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/fence.h"
#include "io/history.h"
#include "io/scene.h"
#include "pace.h"
#include "restart.h"
#include "sim.h"
#include "watchdog.h"

#include <stdbool.h>
#include <stdint.h>

struct spread {
  int64_t count;
  double sum, most;
};

struct run {
  struct comm comm;
  char *machine; /* ranks, threads and cores in a line; rank 0 only */
  const struct scene *scene;
  struct sim *sim;
  struct restart restart; /* where it began */
  int64_t last_frame;

  struct watchdog *watchdog;
  struct fence *fence;     /* rank 0 */
  struct history *history; /* rank 0 */
  int64_t generation;
  struct pace pace;     /* times are rank 0's; failures are the same on all */
  bool keeps;           /* has written or read a checkpoint: it ends with one */
  enum request leaving; /* why, once it was asked to; REQUEST_NONE otherwise */

  /* This rank's, for the log. */
  double born;           /* when the program started */
  double started, drawn; /* when the steps began; when the progress was last shown */
  double time_before;    /* s of simulated time when the steps began */
  double seconds[PHASES];
  double framing, keeping;              /* s spent on writing frames and checkpoints */
  struct spread all_steps, after_moves; /* of the imbalance; after_moves: steps that follow a move */
  int64_t moves_seen, all_iterations;
  bool moved;                      /* the cuts, since the last step */
  int64_t steps, iterations;       /* since the last frame */
  double particle_steps, stepping; /* since the last frame */
};

/* run_report.c: what a user sees. */
void run_log_start(const struct run *run);
void run_log_frame(struct run *run);
void run_log_end(const struct run *run, bool profile);
void run_watch(void *context, const struct sim *sim); /* sim.monitor */

/* run_files.c: what is on the disk. Collective. */

/* Takes the output folder: the generation, what of an earlier run stays, the history. */
int run_open_folder(struct run *run, struct error *err);

/* The frame that the simulation stands on, unless it is there already or the scene leaves it out. One that
 * cannot be written is tried again, as often as the scene says; run->leaving may be set meanwhile. */
int run_write_frame(struct run *run, struct error *err);

/* A checkpoint. One that cannot be written is a warning, and an error when it was the last try that the scene
 * allows or the run is leaving. */
int run_write_checkpoint(struct run *run, bool finished, struct error *err);

/* After a failed step: the state before it, for inspection. Says where. */
void run_keep_last_good(struct run *run);

#endif
