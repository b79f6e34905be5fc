/* `firn run`: a scene to its end, from time 0 or from a checkpoint, with frames, a history and a line in the
 * log for each frame.
 *
 * What may come in between (a signal, the job's time limit, a full disk, a dead node) is told in
 * docs/restart.md. All ranks leave a run together, after the same step. */
#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "commands/cmd_run_preview.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "decomposition/topology.h"
#include "io/run/run_yml.h"
#include "run/launch.h"
#include "run/run.h"
#include "run/watchdog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  /* Stopped with a checkpoint: job scripts know these numbers. */
  EXIT_CHECKPOINT = 85, /* by the time limit or SIGUSR1: to be started again */
  EXIT_CANCELLED = 88,  /* by SIGTERM or SIGINT: not to be started again by itself */
  EXIT_EMPTY = 87       /* done, and all snow has left the domain */
};

static const char head[] =
    "usage: firn run SCENE.yml [OPTIONS]\n"
    "       mpirun -n RANKS firn run SCENE.yml [OPTIONS]\n"
    "\n"
    "Simulates the scene. Writes FOLDER/frames/frame_*.h5, FOLDER/<name>.xdmf for ParaView and\n"
    "FOLDER/history.csv. At the end it writes FOLDER/run.json: machine, times of all phases, messages\n"
    "and bytes.\n"
    "\n";

static const char foot[] =
    "\n"
    "SIGUSR1 at any rank, or the time limit: a checkpoint after the running step, then exit code 85.\n"
    "SIGTERM or SIGINT: the same with exit code 88. SIGINT twice: at once.\n"
    "\n"
    "Exit codes: 0 done; 1 an error; 85 stopped with a checkpoint, to be continued (--restart auto);\n"
    "86 no progress; 87 done, and all snow has left the domain; 88 cancelled, with a checkpoint.\n"
    "Job scripts continue runs that end with 85 or 86 and leave those that end with 88.\n";

struct options {
  struct launch_options launch;
  char limit[128];
  struct run_options run;
  int threads; /* 0: as the machine suggests */
  int binding; /* enum binding, in the order of the row's words */
  int bar;     /* enum log_bar, likewise */
  bool preview, quiet, help;
};

static int take_set(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return launch_add_override(&((struct options *)into)->launch, text, err);
}

static int take_output(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return launch_set_output(&((struct options *)into)->launch, text, err);
}

static int take_limit(void *into, const struct option_row *row, const char *text, struct error *err)
{
  struct options *o = into;
  double seconds = 0.0;
  (void)row;
  const int code = option_positive("run: --wall-limit", text, &seconds, err);
  snprintf(o->limit, sizeof o->limit, "checkpoint.wall_limit=%.17g", seconds);
  return code ? code : launch_add_override(&o->launch, o->limit, err);
}

static int take_isa(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)row;
  return isa_by_name(text, &((struct options *)into)->run.restart.isa, err);
}

static const struct option_row option_rows[] = {
    {"set", "KEY=VALUE",
     "override a key of the scene, such as --set time.end=0.5 or --set bodies.ground.friction=0.3; may be "
     "given several times",
     OPTION_CALL(take_set)},
    {"output", "FOLDER", "short for --set output.folder=FOLDER", OPTION_CALL(take_output)},
    {"restart", "auto|FILE",
     "auto: continue from the newest intact checkpoint in FOLDER, or start if there is none; FILE: continue "
     "from this checkpoint",
     OPTION_TEXT(struct options, run.restart.from)},
    {"give-up", "N",
     "fail if the last N starts of the run in FOLDER wrote no checkpoint; for scripts that start a run until "
     "it is done",
     OPTION_COUNT(struct options, run.give_up, 1, 1000000)},
    {"force", NULL,
     "continue in spite of changes that the snow depends on; replace an earlier run in FOLDER, which is kept "
     "until the new one is complete",
     OPTION_FLAG(struct options, run.restart.force)},
    {"wall-limit", "S",
     "write a checkpoint and exit before S seconds have passed; short for --set checkpoint.wall_limit=S "
     "(default: the limit of the Slurm job)",
     OPTION_CALL(take_limit)},
    {"threads", "N",
     "threads per rank (default: OMP_NUM_THREADS if set, else the cores that the rank may use, its share of "
     "the node)",
     OPTION_INT(struct options, threads, 1, MAX_THREADS)},
    {"bind", "auto|core|none",
     "core: bind each thread to its own core, among those that the launcher left to the rank, unless they "
     "are "
     "too few; none: leave binding to the launcher; auto (default): as core if the threads fill the cores or "
     "the launcher reserved them, else as none",
     OPTION_WORD(struct options, binding)},
    {"isa", "portable|avx2|avx512",
     "instruction set; portable is sse2 or neon (default: the best that all machines of the run have; one "
     "that they lack is an error)",
     OPTION_CALL(take_isa)},
    {"profile", NULL, "print at the end how the time was spent and how even the work was",
     OPTION_FLAG(struct options, run.profile)},
    {"trace", "FILE", "record what each rank and thread did, for ui.perfetto.dev or chrome://tracing",
     OPTION_TEXT(struct options, run.trace)},
    {"trace-steps", "A,B",
     "record only steps A to B, counted from 0; about 100 spans of 100 bytes per step and thread",
     OPTION_NUMBERS(struct options, run.traced, 2)},
    {"progress", "auto|always|never",
     "whether to show a bar; auto (default): if stderr is a terminal, also through mpirun, and never in a "
     "file",
     OPTION_WORD(struct options, bar)},
    {"preview", NULL, "draw a picture of each frame during the run, FOLDER/pictures/000012.png",
     OPTION_FLAG(struct options, preview)},
    {"quiet", NULL, "print only warnings, errors and the output of --profile",
     OPTION_FLAG(struct options, quiet)},
};

static const struct option_table known = {"run", head, option_rows, sizeof option_rows / sizeof *option_rows,
                                          foot};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  struct option_words words;
  *o = (struct options){.run = {.restart = {.isa = ISA_COUNT}, .traced = {0.0, INFINITY}}};
  const int code = options_read(&known, argc, argv, o, &words, err);
  o->help = words.help;
  if (code || o->help) return code;
  if (words.count != 1)
    return error_set(err, FIRN_EINPUT,
                     "run: give exactly one scene file, e.g. firn run scenes/snowball_drop.yml");
  o->launch.scene_path = words.word[0];
  return FIRN_OK;
}

/* A picture of the frame that was just written. */
static void draw_frame(void *context, const struct run *run)
{
  if (run->comm.rank == 0) run_preview_draw(context, run->scene, run->sim->clock.frame);
}

/* How the process ends: a run that stops with a checkpoint has not failed. */
static int code_of_run(const struct run *run)
{
  if (!run->leaving) return run->emptied ? EXIT_EMPTY : EXIT_SUCCESS;
  return run->leaving >= REQUEST_TERM ? EXIT_CANCELLED : EXIT_CHECKPOINT;
}

/* The whole run; *exit_code is set if it did not fail. */
static int run_scene(const struct comm *comm, const struct scene *scene, const struct run_options *options,
                     int *exit_code, struct error *err)
{
  struct run *run = NULL;
  int code = run_create(&run, comm, scene, options, err);
  if (!code) code = run_advance_to_end(run, err);
  if (!code) run_finish(run);
  if (!code) *exit_code = code_of_run(run);
  return run_destroy(&run, code, err);
}

/* With FIRN_NOTE the code of a run that was stopped goes to that file, and the launcher sees 0. */
static int note_code(const struct comm *comm, int exit_code)
{
  if (exit_code != EXIT_CHECKPOINT && exit_code != EXIT_CANCELLED) return exit_code;
  char text[16];
  snprintf(text, sizeof text, "%d", exit_code);
  return launch_note(comm, text) ? EXIT_SUCCESS : exit_code;
}

/* From the start of MPI to its end. A wrong option is an error of all ranks, told by one. */
static int run_on_all(struct options *o, int *argc, char ***argv, int code, struct error *err)
{
  struct comm comm;
  struct scene *scene = NULL;
  struct watchdog *watchdog = NULL;
  int exit_code = EXIT_SUCCESS;
  comm_start(&comm, argc, argv);
  log_configure(o->quiet ? LOG_WARN : LOG_INFO, comm.rank, comm_abort);
  launch_note(&comm, "started");
  char *machine = topology_plan(&comm, code ? 1 : launch_threads(o->threads), (enum binding)o->binding);
  o->run.machine = machine;
  log_show_progress((enum log_bar)o->bar);
  if (!code) code = launch_check_isa(&comm, o->run.restart.isa, err);
  if (!code) code = launch_scene(&comm, &o->launch, &scene, err);
  if (!code) watchdog = watchdog_start(scene->checkpoint.no_progress, comm.rank, comm.size);
  if (!code) code = run_scene(&comm, scene, &o->run, &exit_code, err);
  scene_destroy(&scene);
  exit_code = code ? launch_fail(&comm, err) : note_code(&comm, exit_code);
  mem_free(machine);
  watchdog_expect_end(watchdog, exit_code);
  comm_stop(&comm);
  watchdog_stop(&watchdog);
  return exit_code;
}

int cmd_run(int argc, char **argv)
{
  struct options o;
  struct error err = {0};
  struct run_preview preview = {.started = false};
  char *command = run_record_command(argc, argv); /* before getopt moves the words */
  const double born = timer_now();
  const int code = read_options(argc, argv, &o, &err);
  o.run.writes = true;
  o.run.command = command;
  o.run.born = born;
  if (o.preview) o.run.on_frame = draw_frame;
  o.run.on_frame_context = &preview;
  int exit_code = EXIT_SUCCESS;
  if (!code && o.help) {
    options_help(&known);
  } else {
    signals_catch();
    exit_code = run_on_all(&o, &argc, &argv, code, &err);
  }
  mem_free(command);
  return exit_code;
}
