/* A run as `firn run` sees it: the simulation, its files, its log. All of it is the same on all ranks unless
 * it says otherwise. */
#ifndef FIRN_RUN_H
#define FIRN_RUN_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/particles/csv_log.h"
#include "io/particles/fence.h"
#include "io/particles/history.h"
#include "io/scene/scene.h"
#include "io/timeline_file.h"
#include "run/pace.h"
#include "run/restart.h"
#include "run/watchdog.h"
#include "sim/sim.h"

#include <stdbool.h>
#include <stdint.h>

struct run_preview;

struct spread {
  int64_t count;
  double sum, most;
};

struct run {
  struct comm comm;
  char *machine;               /* ranks, threads and cores in a line; rank 0 only */
  char *command;               /* as it was typed */
  struct run_preview *preview; /* pictures of the frames; NULL: none */
  const struct scene *scene;
  struct sim *sim;
  struct restart restart;      /* where it began */
  struct timeline_clock clock; /* where the run is traced */
  double traced[2];            /* first and last step of the trace */

  struct watchdog *watchdog;
  struct fence *fence;     /* rank 0 */
  struct history *history; /* rank 0 */
  struct csv_log *probes;  /* rank 0; NULL: the scene has none */
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
  int64_t moves_seen, all_iterations, first_step;
  double all_particle_steps;
  struct traffic traffic_before;   /* when the steps began */
  int64_t planes_before[2];        /* likewise, messages and bytes of the halo */
  int64_t limited;                 /* particles held by a limit, the most in any step */
  bool emptied;                    /* no particle was left at the end of the last step */
  bool moved;                      /* the cuts, since the last step */
  int64_t steps, iterations;       /* since the last frame */
  double particle_steps, stepping; /* since the last frame */
};

/* run_report.c: what a user sees. */
void run_log_start(const struct run *run); /* before there is a simulation */
void run_log_snow(const struct run *run);  /* once there is */
void run_log_frame(struct run *run);
void run_log_end(const struct run *run, bool profile);
void run_watch(void *context, const struct sim *sim); /* sim.monitor */

/* run_progress.c: a line for this start, once the folder is its own; and an error where the last `most`
 * starts of the run in the output folder came to nothing (0: never), which is collective. */
void run_note_start(const struct run *run);
int run_check_progress(const struct run *run, int64_t most, struct error *err);

/* run_record.c: what it took, for programs. Collective. A record that cannot be written is a warning. */
void run_write_record(const struct run *run);

/* run_trace.c: spans of all threads. Collective but run_trace_step(). */
void run_trace_begin(struct run *run, const double steps[2]);
void run_trace_step(const struct run *run,
                    int64_t step); /* before it: whether it is one of those asked for */
/* Writes the trace if there is one, of a run that failed as well. Returns `code` if that is an error already,
 * else what came of writing. */
int run_trace_end(struct run *run, const char *path, int code, struct error *err);

/* run_files.c: what is on the disk. Collective. */

/* Takes the output folder: the generation, what of an earlier run stays, the history. */
int run_open_folder(struct run *run, struct error *err);

/* A line of probes.csv, if one is due after the step from number `before`, or at the end of the run; and the
 * first one. A restart keeps those up to its checkpoint. */
void run_write_probes(struct run *run, int64_t before);
void run_begin_probes(struct run *run);

/* The run is complete: what it replaced is removed, unless another start has taken over. Not collective. */
void run_drop_replaced(const struct run *run);

/* The frame that the simulation stands on, unless it is there already or the scene leaves it out. One that
 * cannot be written is tried again, as often as the scene says; run->leaving may be set meanwhile. */
int run_write_frame(struct run *run, struct error *err);

/* A checkpoint. One that cannot be written is a warning, and an error when it was the last try that the scene
 * allows or the run is leaving. */
int run_write_checkpoint(struct run *run, bool finished, struct error *err);

/* After a failed step: the state before it, for inspection. Says where. */
void run_keep_last_good(struct run *run);

#endif
