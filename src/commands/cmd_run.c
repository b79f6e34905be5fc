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

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  /* Stopped with a checkpoint: job scripts know these numbers. */
  EXIT_CHECKPOINT = 85, /* by the time limit or SIGUSR1: to be started again */
  EXIT_CANCELLED = 88,  /* by SIGTERM or SIGINT: not to be started again by itself */
  EXIT_EMPTY = 87       /* done, and all snow has left the domain */
};

static const char usage[] =
    "usage: firn run SCENE.yml [--set KEY=VALUE]... [--output FOLDER] [--restart auto|FILE]\n"
    "                [--give-up N] [--force] [--wall-limit SECONDS] [--threads N] [--bind HOW]\n"
    "                [--isa NAME] [--profile] [--preview]\n"
    "                [--trace FILE.json] [--trace-steps FROM,TO] [--progress WHEN] [--quiet]\n"
    "       mpirun -n RANKS firn run SCENE.yml ...\n"
    "\n"
    "Simulates the scene. Writes FOLDER/frames/frame_*.h5, FOLDER/<name>.xdmf for ParaView and\n"
    "FOLDER/history.csv. At the end it writes FOLDER/run.json: machine, times of all phases, messages\n"
    "and bytes.\n"
    "\n"
    "  --set KEY=VALUE    override a key of the scene, such as --set time.end=0.5\n"
    "                     or --set bodies.ground.friction=0.3\n"
    "  --output FOLDER    short for --set output.folder=FOLDER\n"
    "  --restart auto     continue from the newest intact checkpoint in FOLDER; start if there is none\n"
    "  --restart FILE     continue from this checkpoint\n"
    "  --give-up N        fail if the last N starts of the run in FOLDER wrote no checkpoint; for\n"
    "                     scripts that start a run until it is done\n"
    "  --force            continue in spite of changes that the snow depends on; replace an earlier\n"
    "                     run in FOLDER, which is kept until the new one is complete\n"
    "  --wall-limit S     write a checkpoint and exit before S seconds have passed; short for\n"
    "                     --set checkpoint.wall_limit=S (default: the limit of the Slurm job)\n"
    "  --threads N        threads per rank (default: OMP_NUM_THREADS if set, else the cores that the\n"
    "                     rank may use, its share of the node)\n"
    "  --bind HOW         core: bind each thread to its own core, among those that the launcher left to\n"
    "                     the rank, unless they are too few; none: leave binding to the launcher;\n"
    "                     auto (default): as core if the threads fill the cores or the launcher\n"
    "                     reserved them, else as none\n"
    "  --isa NAME         portable (sse2 or neon), avx2 or avx512; default: the best that all machines\n"
    "                     of the run have; one that they lack is an error\n"
    "  --profile          print at the end how the time was spent and how even the work was\n"
    "  --trace FILE       record what each rank and thread did, for ui.perfetto.dev or chrome://tracing\n"
    "  --trace-steps A,B  record only steps A to B, counted from 0; about 100 spans of 100 bytes per\n"
    "                     step and thread\n"
    "  --progress WHEN    always, never, or auto (default): show a bar if stderr is a terminal, also\n"
    "                     through mpirun, and never in a file\n"
    "  --preview          draw a picture of each frame during the run, FOLDER/pictures/000012.png\n"
    "  --quiet            print only warnings, errors and the output of --profile\n"
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
  enum binding binding;
  enum log_bar bar;
  bool preview, quiet, help;
};

static int read_bar(const char *word, enum log_bar *out, struct error *err)
{
  static const char *const words[] = {"auto", "always", "never"};
  for (int k = 0; k < 3; k++)
    if (strcmp(word, words[k]) == 0) {
      *out = (enum log_bar)k;
      return FIRN_OK;
    }
  return error_set(err, FIRN_EINPUT, "run: --progress takes auto, always or never, not \"%s\"", word);
}

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  enum {
    SET = 1000,
    OUTPUT,
    RESTART,
    GIVE_UP,
    FORCE,
    LIMIT,
    THREADS,
    BIND,
    ISA,
    PROFILE,
    PREVIEW,
    TRACE,
    STEPS,
    BAR,
    QUIET,
    HELP
  };
  static const struct option known[] = {{"set", required_argument, NULL, SET},
                                        {"output", required_argument, NULL, OUTPUT},
                                        {"restart", required_argument, NULL, RESTART},
                                        {"give-up", required_argument, NULL, GIVE_UP},
                                        {"force", no_argument, NULL, FORCE},
                                        {"wall-limit", required_argument, NULL, LIMIT},
                                        {"threads", required_argument, NULL, THREADS},
                                        {"bind", required_argument, NULL, BIND},
                                        {"isa", required_argument, NULL, ISA},
                                        {"profile", no_argument, NULL, PROFILE},
                                        {"trace", required_argument, NULL, TRACE},
                                        {"trace-steps", required_argument, NULL, STEPS},
                                        {"progress", required_argument, NULL, BAR},
                                        {"preview", no_argument, NULL, PREVIEW},
                                        {"quiet", no_argument, NULL, QUIET},
                                        {"help", no_argument, NULL, HELP},
                                        {NULL, 0, NULL, 0}};
  *o = (struct options){.run = {.restart = {.isa = ISA_COUNT}, .traced = {0.0, INFINITY}}};
  optind = 1;
  opterr = 0;
  int code = FIRN_OK;
  int64_t count = 0;
  double seconds = 0.0;
  for (int c; !code && (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    switch (c) {
    case SET: code = launch_add_override(&o->launch, optarg, err); break;
    case OUTPUT: code = launch_set_output(&o->launch, optarg, err); break;
    case RESTART: o->run.restart.from = optarg; break;
    case GIVE_UP: code = option_count("run: --give-up", optarg, 1, 1000000, &o->run.give_up, err); break;
    case FORCE: o->run.restart.force = true; break;
    case LIMIT:
      code = option_positive("run: --wall-limit", optarg, &seconds, err);
      snprintf(o->limit, sizeof o->limit, "checkpoint.wall_limit=%.17g", seconds);
      if (!code) code = launch_add_override(&o->launch, o->limit, err);
      break;
    case THREADS:
      code = option_count("run: --threads", optarg, 1, MAX_THREADS, &count, err);
      o->threads = (int)count;
      break;
    case BIND: code = binding_by_name(optarg, &o->binding, err); break;
    case ISA: code = isa_by_name(optarg, &o->run.restart.isa, err); break;
    case PROFILE: o->run.profile = true; break;
    case TRACE: o->run.trace = optarg; break;
    case STEPS: code = option_numbers("run: --trace-steps", optarg, 2, o->run.traced, err); break;
    case BAR: code = read_bar(optarg, &o->bar, err); break;
    case PREVIEW: o->preview = true; break;
    case QUIET: o->quiet = true; break;
    case HELP: o->help = true; return FIRN_OK;
    default:
      return error_set(err, FIRN_EINPUT,
                       "run: option \"%s\" is unknown or lacks its value; see firn help run",
                       argv[optind - 1]);
    }
  }
  if (code) return code;
  if (optind + 1 != argc)
    return error_set(err, FIRN_EINPUT,
                     "run: give exactly one scene file, e.g. firn run scenes/snowball_drop.yml");
  o->launch.scene_path = argv[optind];
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
  char *machine = topology_plan(&comm, code ? 1 : launch_threads(o->threads), o->binding);
  o->run.machine = machine;
  log_show_progress(o->bar);
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
    fputs(usage, stdout);
  } else {
    signals_catch();
    exit_code = run_on_all(&o, &argc, &argv, code, &err);
  }
  mem_free(command);
  return exit_code;
}
