/* A run: the simulation, its files, its log. `firn run` and libfirn drive it alike.
 *
 *   code = run_create(&run, &comm, scene, &options, err);
 *   if (!code) code = run_advance_to_end(run, err);
 *   if (!code) run_finish(run);
 *   code = run_destroy(&run, code, err);
 *
 * All of it is the same on all ranks, and all functions are collective, unless they say otherwise. */
#ifndef FIRN_RUN_H
#define FIRN_RUN_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/run/csv_log.h"
#include "io/run/fence.h"
#include "io/run/history.h"
#include "io/scene/scene.h"
#include "io/timeline_file.h"
#include "run/pace.h"
#include "run/restart.h"
#include "sim/sim.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct run;

/* Called between steps. A code other than 0 ends the run's step with it, on all ranks if on one. */
typedef int run_hook(void *context, struct run *run, struct error *err);

struct run_options {
  bool writes; /* the scene's folder: frames, checkpoints, history, probes, records */
  struct restart_options restart;
  int64_t give_up;     /* starts that come to nothing; 0: never */
  const char *command; /* as it was typed */
  const char *machine; /* topology_plan()'s line; rank 0 only */
  double born;         /* timer_now() when the program started */
  const char *trace;   /* file, or NULL */
  double traced[2];    /* first and last step of the trace */
  bool profile;        /* report at the end where the time went */
  /* Called on every rank after a frame was written; NULL: nothing is. */
  void (*on_frame)(void *context, const struct run *run);
  void *on_frame_context;
};

struct run_hooks {
  run_hook *before, *after; /* a step; NULL: none */
  void *context;
};

struct spread {
  int64_t count;
  double sum, most;
};

struct run {
  struct comm comm;
  struct run_options options;
  struct run_hooks hooks;
  const struct scene *scene;
  struct sim *sim;             /* NULL if the run was complete when it began */
  struct restart restart;      /* where it began */
  struct timeline_clock clock; /* where the run is traced */

  struct fence *fence;     /* rank 0 */
  struct history *history; /* rank 0 */
  struct csv_log *probes;  /* rank 0; NULL: the scene has none */
  int64_t generation;
  struct pace pace; /* times are rank 0's; failures are the same on all */
  bool keeps;       /* has written or read a checkpoint: it ends with one */
  bool done;        /* nothing was left to do when it began */
  bool failed;      /* a step: none follows */
  bool wanted;      /* a checkpoint, by a hook, at the boundary behind the step */
  /* By the caller, on this rank; perhaps in a signal handler. */
  volatile sig_atomic_t asked;
  enum request leaving; /* why, once it was asked to; REQUEST_NONE otherwise */

  /* This rank's, for the log. */
  double started, drawn; /* when the steps began; when the progress was last shown */
  double time_before;    /* s of simulated time when the steps began */
  double seconds[PHASES];
  double framing, keeping;              /* s spent on writing frames and checkpoints */
  struct spread all_steps, after_moves; /* of the imbalance; after_moves: steps that follow a move */
  struct spread threads;                /* of the imbalance of this rank's threads */
  int64_t moves_seen, all_iterations, first_step;
  double all_particle_steps;
  struct traffic traffic_before;   /* when the steps began */
  int64_t planes_before[2];        /* likewise, messages and bytes of the halo */
  int64_t limited;                 /* particles held by a limit, the most in any step */
  bool shortened;                  /* sound has cut a fixed step */
  bool emptied;                    /* no particle was left at the end of the last step */
  bool moved;                      /* the cuts, since the last step */
  int64_t steps, iterations;       /* since the last frame */
  double particle_steps, stepping; /* since the last frame */
};

/* run.c: the run itself. */

/* Makes the simulation from the scene or a checkpoint. With a folder it takes that and writes what belongs to
 * the first state. `comm` (with its threads planned) and `scene` (loaded) must live longer than the run. On
 * failure *out is there all the same, for run_destroy(). */
int run_create(struct run **out, const struct comm *comm, const struct scene *scene,
               const struct run_options *options, struct error *err);

/* Whether no step is left: the scene's end, or a request to leave. Not collective. */
bool run_is_over(const struct run *run);

/* One step of the scene's rule, with what is due behind it. FIRN_EINPUT at the end of the scene if the run
 * has a folder. */
int run_advance_step(struct run *run, struct error *err);

/* Steps until the time is that of the frame, or the given time (s), or until the run is over. A time between
 * two frames cuts the step that would pass it: a run that does not stop there takes others. */
int run_advance_to_frame(struct run *run, int64_t frame, struct error *err);
int run_advance_to_time(struct run *run, double time, struct error *err);
int run_advance_to_end(struct run *run, struct error *err);

/* The last lines of the log, and the record; what the run replaced is removed if it is complete. */
void run_finish(struct run *run);

/* Writes the trace if one was asked for, also of a run that failed with `code`. Returns that, or what came of
 * writing. Accepts a NULL run. */
int run_destroy(struct run **run, int code, struct error *err);

/* run_report.c: what a user sees. */
void run_log_start(const struct run *run); /* before there is a simulation */
void run_log_snow(const struct run *run);  /* once there is */
void run_log_idle(const struct run *run);  /* run_idle.c: cores without work; collective */
void run_log_frame(struct run *run);
void run_log_end(const struct run *run, bool profile);
void run_watch(void *context, const struct sim *sim); /* sim.monitor */

/* run_progress.c: a line for this start, once the folder is its own; and an error if the last `most`
 * starts of the run in the output folder came to nothing (0: never), which is collective. */
void run_note_start(const struct run *run);
int run_check_progress(const struct run *run, int64_t most, struct error *err);

/* run_json_write.c: what it took, for programs. Collective. A record that cannot be written is a warning. */
void run_write_record(const struct run *run);

/* The maps of the flow, if the scene has some (run_maps.c). Collective. */
void run_write_maps(struct run *run);

/* run_trace.c: spans of all threads. Collective but run_trace_step(). */
int run_trace_begin(struct run *run, const char *path, struct error *err);
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

/* The run is complete: what it replaced is removed, unless another start has taken over or no snow is left.
 * Not collective. */
void run_drop_replaced(const struct run *run);

/* The frame that the simulation is at, unless it is there already or the scene leaves it out. One that cannot
 * be written is tried again, as often as the scene says; run->leaving may be set meanwhile. */
int run_write_frame(struct run *run, struct error *err);

/* The same once and in any case: what is there of that name is replaced. */
int run_replace_frame(struct run *run, struct error *err);

/* A checkpoint. One that cannot be written is a warning, and an error when it was the last try that the scene
 * allows or the run is leaving. */
int run_write_checkpoint(struct run *run, bool finished, struct error *err);

/* After a failed step: the state before it, for inspection. Says where. */
void run_keep_last_good(struct run *run);

#endif
