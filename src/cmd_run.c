/* `firn run`: a scene to its end, from time 0 or from a checkpoint, with frames, a history and a line in the
 * log for each frame.
 *
 * What may come in between (a signal, the job's time limit, a full disk, a dead node) is told in
 * docs/restart.md. All ranks leave a run together, after the same step. */
#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "commands.h"
#include "decomposition/topology.h"
#include "launch.h"
#include "run.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_CHECKPOINT = 85 }; /* stopped on request, to be started again: job scripts know this number */

static const char usage[] =
    "usage: firn run SCENE.yml [--set KEY=VALUE]... [--output FOLDER] [--restart auto|FILE] [--force]\n"
    "                [--wall-limit SECONDS] [--threads N] [--bind HOW] [--isa NAME] [--profile]\n"
    "                [--quiet]\n"
    "       mpirun -n RANKS firn run SCENE.yml ...\n"
    "\n"
    "Simulates the scene and writes FOLDER/frames/frame_*.h5, FOLDER/<name>.xdmf for ParaView and "
    "FOLDER/history.csv.\n"
    "\n"
    "  --set KEY=VALUE   change any key of the scene, e.g. --set time.end=0.5 --set "
    "bodies.ground.friction=0.3\n"
    "  --output FOLDER   short for --set output.folder=FOLDER\n"
    "  --restart auto    go on from the newest intact checkpoint in FOLDER, or start if there is none\n"
    "  --restart FILE    go on from this checkpoint\n"
    "  --force           go on in spite of changes that the snow depends on; start over in a folder\n"
    "                    that holds an unfinished run\n"
    "  --wall-limit S    write a checkpoint and leave before S seconds have passed; short for\n"
    "                    --set checkpoint.wall_limit=S, and by default what Slurm gives the job\n"
    "  --threads N       threads a rank; by default the cores it may use, its share of the node\n"
    "  --bind HOW        core: every thread to a core of its own, among those the launcher left to the\n"
    "                    rank, unless they are too few; none: as the launcher left it; auto (default):\n"
    "                    as core where the threads fill the cores or the launcher reserved them\n"
    "  --isa NAME        portable, avx2 or avx512 instead of the best this machine runs\n"
    "  --profile         where the time went and how even the work was, at the end\n"
    "  --quiet           warnings and errors only\n"
    "\n"
    "SIGUSR1, SIGTERM or SIGINT at any rank: a checkpoint after the running step, then exit code 85.\n"
    "SIGINT twice: at once. Exit codes: 0 done, 1 an error, 85 stopped with a checkpoint (start it again\n"
    "with --restart auto), 86 no progress.\n";

struct options {
  struct launch_options launch;
  char output[4096], limit[128];
  struct restart_options restart;
  int threads; /* 0: as the machine suggests */
  enum binding binding;
  bool profile, quiet, help;
};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  enum { SET = 1000, OUTPUT, RESTART, FORCE, LIMIT, THREADS, BIND, ISA, PROFILE, QUIET, HELP };
  static const struct option known[] = {{"set", required_argument, NULL, SET},
                                        {"output", required_argument, NULL, OUTPUT},
                                        {"restart", required_argument, NULL, RESTART},
                                        {"force", no_argument, NULL, FORCE},
                                        {"wall-limit", required_argument, NULL, LIMIT},
                                        {"threads", required_argument, NULL, THREADS},
                                        {"bind", required_argument, NULL, BIND},
                                        {"isa", required_argument, NULL, ISA},
                                        {"profile", no_argument, NULL, PROFILE},
                                        {"quiet", no_argument, NULL, QUIET},
                                        {"help", no_argument, NULL, HELP},
                                        {NULL, 0, NULL, 0}};
  *o = (struct options){.restart = {.isa = ISA_COUNT}};
  optind = 1;
  opterr = 0;
  int code = FIRN_OK;
  for (int c; !code && (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    switch (c) {
    case SET: code = launch_add_override(&o->launch, optarg, err); break;
    case OUTPUT:
      snprintf(o->output, sizeof o->output, "output.folder='%s'", optarg);
      code = launch_add_override(&o->launch, o->output, err);
      break;
    case RESTART: o->restart.from = optarg; break;
    case FORCE: o->restart.force = true; break;
    case LIMIT:
      snprintf(o->limit, sizeof o->limit, "checkpoint.wall_limit=%s", optarg);
      code = launch_add_override(&o->launch, o->limit, err);
      break;
    case THREADS:
      o->threads = atoi(optarg);
      if (o->threads < 1 || o->threads > MAX_CHUNKS)
        code = error_set(err, FIRN_EINPUT, "run: --threads needs a number from 1 to %d, not \"%s\"",
                         MAX_CHUNKS, optarg);
      break;
    case BIND: code = binding_by_name(optarg, &o->binding, err); break;
    case ISA: code = isa_by_name(optarg, &o->restart.isa, err); break;
    case PROFILE: o->profile = true; break;
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

/* Asked near the end of every step, on every rank: signals may reach any of them, the clock is rank 0's. */
static double poll(void *context)
{
  struct run *run = context;
  enum request request = signals_seen();
  if (run->comm.rank == 0) {
    const enum request timed = pace_poll(&run->pace, timer_now());
    if (timed > request) request = timed;
  }
  return (double)request;
}

static void begin_steps(struct run *run)
{
  struct sim *sim = run->sim;
  const double now = timer_now();
  run->started = now;
  run->time_before = sim->time;
  run->moves_seen = sim->totals.rebalanced;
  run->last_frame = scene_last_frame(run->scene);
  run->keeps = run->restart.restored;
  sim->monitor = run_watch;
  sim->monitor_context = run;
  sim->poll = poll;
  sim->poll_context = run;
  sim->measure_every = run->scene->history_every;
  pace_start(&run->pace, &run->scene->checkpoint, now, run->born, getenv("SLURM_JOB_END_TIME"),
             (double)time(NULL), (double)sim->particles * (double)particles_record_size(sim->p));
}

/* At a step boundary: a checkpoint if one is due, and whether to leave. */
static int tend(struct run *run, struct error *err)
{
  struct sim *sim = run->sim;
  const enum request request = (enum request)(int)sim->request;
  const bool finished = sim->frame >= run->last_frame && !run->leaving;
  sim->request = REQUEST_NONE;
  if (request >= REQUEST_LIMIT && !finished) run->leaving = request;
  const bool due =
      request != REQUEST_NONE || pace_is_due(&run->scene->checkpoint, sim->step, sim->frame, sim->on_frame);
  if (run->leaving || due || (finished && run->keeps)) return run_write_checkpoint(run, finished, err);
  return FIRN_OK;
}

/* One step, and what belongs to the boundary behind it. */
static int take_step(struct run *run, struct error *err)
{
  int code = sim_step(run->sim, err);
  if (code == FIRN_EDIVERGE) run_keep_last_good(run);
  if (!code && run->sim->on_frame) {
    code = run_write_frame(run, err);
    if (!code && !run->leaving) run_log_frame(run);
  }
  return code ? code : tend(run, err);
}

static int simulate(struct run *run, struct error *err)
{
  struct sim *sim = run->sim;
  begin_steps(run);
  if (run->restart.continues && run->restart.finished && sim->frame >= run->last_frame) {
    log_info("the run in %s is finished: nothing to do", run->scene->output);
    return FIRN_OK;
  }
  int code = run_open_folder(run, err);
  if (!code && sim->on_frame) {
    code = run_write_frame(run, err);
    if (!code) run_log_frame(run);
    if (!code && (run->leaving || sim->frame >= run->last_frame)) code = tend(run, err);
  }
  while (!code && !run->leaving && sim->frame < run->last_frame) code = take_step(run, err);
  return code;
}

static int run_scene(struct run *run, const struct options *options, struct error *err)
{
  struct scene *scene = NULL;
  int code = launch_scene(&run->comm, &options->launch, &scene, err);
  run->scene = scene;
  if (!code) run->watchdog = watchdog_start(scene->checkpoint.no_progress, run->comm.rank, run->comm.size);
  if (!code) code = restart_create(&run->sim, &run->restart, &run->comm, scene, &options->restart, err);
  if (!code) run_log_start(run);
  if (!code) code = simulate(run, err);
  if (!code) run_log_end(run, options->profile);
  history_destroy(&run->history);
  fence_destroy(&run->fence);
  sim_destroy(&run->sim);
  scene_destroy(&scene);
  return code;
}

int cmd_run(int argc, char **argv)
{
  struct options options;
  struct error err = {0};
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    fputs(usage, stdout);
    return EXIT_SUCCESS;
  }
  struct run run = {.born = timer_now(), .moved = true};
  signals_catch();
  comm_start(&run.comm, &argc, &argv);
  log_configure(options.quiet ? LOG_WARN : LOG_INFO, run.comm.rank, comm_abort);
  run.machine = topology_plan(&run.comm, options.threads, options.binding);
  if (!code) code = run_scene(&run, &options, &err);
  const int exit_code = code ? launch_fail(&run.comm, &err) : run.leaving ? EXIT_CHECKPOINT : EXIT_SUCCESS;
  mem_free(run.machine);
  watchdog_expect_end(run.watchdog, exit_code);
  comm_stop(&run.comm);
  watchdog_stop(&run.watchdog);
  return exit_code;
}
