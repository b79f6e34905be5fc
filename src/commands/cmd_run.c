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
#include "decomposition/topology.h"
#include "io/particles/run_record.h"
#include "run/launch.h"
#include "run/options.h"
#include "run/run.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  EXIT_CHECKPOINT = 85, /* stopped on request, to be started again: job scripts know this number */
  EXIT_EMPTY = 87       /* done, and all snow has left the domain */
};

static const char usage[] =
    "usage: firn run SCENE.yml [--set KEY=VALUE]... [--output FOLDER] [--restart auto|FILE]\n"
    "                [--give-up N] [--force] [--wall-limit SECONDS] [--threads N] [--bind HOW]\n"
    "                [--isa NAME] [--profile] [--preview]\n"
    "                [--trace FILE.json] [--trace-steps FROM,TO] [--progress WHEN] [--quiet]\n"
    "       mpirun -n RANKS firn run SCENE.yml ...\n"
    "\n"
    "Simulates the scene and writes FOLDER/frames/frame_*.h5, FOLDER/<name>.xdmf for ParaView,\n"
    "FOLDER/history.csv, and at the end FOLDER/run.json: machine, times of all phases, messages, bytes.\n"
    "\n"
    "  --set KEY=VALUE   change any key of the scene, e.g. --set time.end=0.5 --set "
    "bodies.ground.friction=0.3\n"
    "  --output FOLDER   short for --set output.folder=FOLDER\n"
    "  --restart auto    go on from the newest intact checkpoint in FOLDER, or start if there is none\n"
    "  --restart FILE    go on from this checkpoint\n"
    "  --give-up N       an error if the last N starts of the run in FOLDER wrote no checkpoint: for "
    "scripts\n"
    "                    that start a run until it is done\n"
    "  --force           go on in spite of changes that the snow depends on; replace the run that FOLDER\n"
    "                    holds: it is set aside, and removed when the new one is complete\n"
    "  --wall-limit S    write a checkpoint and leave before S seconds have passed; short for\n"
    "                    --set checkpoint.wall_limit=S, and by default what Slurm gives the job\n"
    "  --threads N       threads a rank; by default OMP_NUM_THREADS where that is set, else the cores it\n"
    "                    may use, its share of the node\n"
    "  --bind HOW        core: every thread to a core of its own, among those the launcher left to the\n"
    "                    rank, unless they are too few; none: as the launcher left it; auto (default):\n"
    "                    as core where the threads fill the cores or the launcher reserved them\n"
    "  --isa NAME        portable (sse2 or neon), avx2 or avx512 instead of the best that all machines of\n"
    "                    the run have; one that they lack is an error\n"
    "  --profile         where the time went and how even the work was, at the end\n"
    "  --trace FILE      what every rank and thread did when, for ui.perfetto.dev or chrome://tracing\n"
    "  --trace-steps A,B only steps A to B, counted from 0; about 100 bytes for each of 100 spans a step\n"
    "                    and thread\n"
    "  --progress WHEN   always, never, or auto (default): a bar where stderr is the user's terminal,\n"
    "                    seen through mpirun, and never in a file\n"
    "  --preview         a picture of each frame while it runs, FOLDER/pictures/000012.png\n"
    "  --quiet           warnings, errors and what --profile asks for\n"
    "\n"
    "SIGUSR1, SIGTERM or SIGINT at any rank: a checkpoint after the running step, then exit code 85.\n"
    "SIGINT twice: at once. Exit codes: 0 done, 1 an error, 85 stopped with a checkpoint (start it again\n"
    "with --restart auto), 86 no progress, 87 done, and all snow has left the domain.\n";

struct options {
  struct launch_options launch;
  char limit[128];
  struct restart_options restart;
  int64_t give_up; /* starts; 0 never */
  int threads;     /* 0: as the machine suggests */
  enum binding binding;
  const char *trace; /* file, or NULL */
  double traced[2];  /* first and last step of it */
  enum log_bar bar;
  bool profile, preview, quiet, help;
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
  *o = (struct options){.restart = {.isa = ISA_COUNT}, .traced = {0.0, INFINITY}};
  optind = 1;
  opterr = 0;
  int code = FIRN_OK;
  int64_t count = 0;
  double seconds = 0.0;
  for (int c; !code && (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    switch (c) {
    case SET: code = launch_add_override(&o->launch, optarg, err); break;
    case OUTPUT: code = launch_set_output(&o->launch, optarg, err); break;
    case RESTART: o->restart.from = optarg; break;
    case GIVE_UP: code = option_count("run: --give-up", optarg, 1, 1000000, &o->give_up, err); break;
    case FORCE: o->restart.force = true; break;
    case LIMIT:
      code = option_positive("run: --wall-limit", optarg, &seconds, err);
      snprintf(o->limit, sizeof o->limit, "checkpoint.wall_limit=%.17g", seconds);
      if (!code) code = launch_add_override(&o->launch, o->limit, err);
      break;
    case THREADS:
      code = option_count("run: --threads", optarg, 1, MAX_CHUNKS, &count, err);
      o->threads = (int)count;
      break;
    case BIND: code = binding_by_name(optarg, &o->binding, err); break;
    case ISA: code = isa_by_name(optarg, &o->restart.isa, err); break;
    case PROFILE: o->profile = true; break;
    case TRACE: o->trace = optarg; break;
    case STEPS: code = option_numbers("run: --trace-steps", optarg, 2, o->traced, err); break;
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

/* --threads, or what OMP_NUM_THREADS says (of a list, the first: there is one level), or 0. */
static int wanted_threads(const struct options *o)
{
  const char *variable = getenv("OMP_NUM_THREADS");
  if (o->threads > 0 || !variable || !*variable) return o->threads;
  char first[32];
  int64_t count = 0;
  snprintf(first, sizeof first, "%.*s", (int)strcspn(variable, ","), variable);
  if (option_count("", first, 1, MAX_CHUNKS, &count, NULL))
    log_warn("OMP_NUM_THREADS is \"%s\", not a number from 1 to %d: ignored", variable, MAX_CHUNKS);
  else
    log_info("OMP_NUM_THREADS asks for %d thread%s a rank", (int)count, count == 1 ? "" : "s");
  return (int)count;
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
  run->time_before = sim->clock.time;
  run->first_step = sim->clock.step;
  run->traffic_before = *run->comm.traffic;
  run->planes_before[0] = sim->mesh.halo->messages;
  run->planes_before[1] = sim->mesh.halo->bytes;
  run->moves_seen = sim->totals.rebalanced;
  run->keeps = run->restart.restored;
  sim->hooks.monitor = run_watch;
  sim->hooks.monitor_context = run;
  sim->hooks.poll = poll;
  sim->hooks.poll_context = run;
  sim->hooks.measure_every = run->scene->history_every;
  pace_start(&run->pace, &run->scene->checkpoint, now, run->born, getenv("SLURM_JOB_END_TIME"),
             (double)time(NULL), (double)sim->totals.particles * (double)particles_record_size(sim->p));
}

/* At a step boundary, after a step from number `before`: a checkpoint if one is due, and whether to leave. */
static int tend(struct run *run, int64_t before, struct error *err)
{
  struct sim *sim = run->sim;
  const enum request request = (enum request)(int)sim->hooks.request;
  const bool finished = sim_is_over(sim) && !run->leaving;
  sim->hooks.request = REQUEST_NONE;
  if (request >= REQUEST_LIMIT && !finished) run->leaving = request;
  const bool due = request != REQUEST_NONE || pace_is_due(&run->scene->checkpoint, before, sim->clock.step,
                                                          sim->clock.frame, sim->clock.on_frame);
  const bool beside = finished && !sim_is_on_beat(sim); /* of use only beside the one of keep_way_on() */
  if (run->leaving || (due && !beside) || (finished && run->keeps))
    return run_write_checkpoint(run, finished, err);
  return FIRN_OK;
}

/* Writes the frame that the simulation is at, and shows it. */
static int finish_frame(struct run *run, struct error *err)
{
  const int code = run_write_frame(run, err);
  if (code || run->leaving) return code;
  run_log_frame(run);
  if (run->preview && run->comm.rank == 0 && run->sim->clock.frame % run->scene->frame_every == 0)
    run_preview_draw(run->preview, run->scene, run->sim->clock.frame);
  return FIRN_OK;
}

/* A run that ends between two frames leaves the way of a longer one with its last step. Where checkpoints are
 * kept, there must be one of the state before, from which it can be made longer. */
static int keep_way_on(struct run *run, struct error *err)
{
  const struct scene_checkpoint *rules = &run->scene->checkpoint;
  const bool wanted = run->keeps || (rules->keep > 0 && (rules->steps > 0 || rules->frames > 0));
  const bool there =
      run->restart.restored && run->restart.continues && run->restart.step == run->sim->clock.step;
  return wanted && !there && sim_next_is_cut(run->sim) ? run_write_checkpoint(run, false, err) : FIRN_OK;
}

/* One step, and what belongs to the boundary behind it. */
static int take_step(struct run *run, struct error *err)
{
  const int64_t before = run->sim->clock.step;
  run_trace_step(run, before);
  int code = keep_way_on(run, err);
  const double begin = timer_now();
  if (!code) code = sim_step(run->sim, err);
  timeline_add(run->comm.traffic->timeline, 0, "step", begin, timer_now(), before);
  if (code == FIRN_EDIVERGE) run_keep_last_good(run);
  if (!code) run_write_probes(run, before);
  if (!code && run->sim->clock.on_frame) code = finish_frame(run, err);
  return code ? code : tend(run, before, err);
}

static int nothing_to_do(const struct run *run)
{
  log_info("the run in %s is finished: nothing to do", run->scene->output);
  run_drop_replaced(run);
  return FIRN_OK;
}

static int simulate(struct run *run, struct error *err)
{
  struct sim *sim = run->sim;
  begin_steps(run);
  if (run->restart.continues && run->restart.finished && sim_is_over(sim)) return nothing_to_do(run);
  if (sim->clock.time > scene_end_time(run->scene))
    log_info("the state is at %.9g s, beyond the end at %.9g s: nothing to simulate", sim->clock.time,
             scene_end_time(run->scene));
  int code = run_open_folder(run, err);
  if (!code) run_note_start(run);
  if (!code) run_begin_probes(run);
  /* A run that begins elsewhere has a checkpoint of its own at once: --restart auto must not start from the
   * scene. */
  if (!code && run->restart.restored && !run->restart.continues) code = run_write_checkpoint(run, false, err);
  if (!code && sim->clock.on_frame) {
    code = finish_frame(run, err);
    if (!code && (run->leaving || sim_is_over(sim))) code = tend(run, sim->clock.step, err);
  }
  while (!code && !run->leaving && !sim_is_over(sim)) code = take_step(run, err);
  if (!code && !run->leaving) run_drop_replaced(run);
  return code;
}

static int simulate_aloud(struct run *run, bool profile, struct error *err)
{
  run_log_snow(run);
  const int code = simulate(run, err);
  if (!code) run_log_end(run, profile);
  if (!code) run->emptied = run->sim->totals.particles == 0;
  return code;
}

static int run_scene(struct run *run, const struct options *options, struct error *err)
{
  struct scene *scene = NULL;
  int code = launch_scene(&run->comm, &options->launch, &scene, err);
  run->scene = scene;
  if (!code) run_log_start(run);
  if (!code) run->watchdog = watchdog_start(scene->checkpoint.no_progress, run->comm.rank, run->comm.size);
  if (!code) code = run_check_progress(run, options->give_up, err);
  if (!code) code = run_begin(&run->sim, &run->restart, &run->comm, scene, &options->restart, err);
  if (!code) code = run->restart.complete ? nothing_to_do(run) : simulate_aloud(run, options->profile, err);
  if (!code && run->generation) run_write_record(run);
  history_destroy(&run->history);
  csv_log_destroy(&run->probes);
  fence_destroy(&run->fence);
  sim_destroy(&run->sim);
  scene_destroy(&scene);
  return code;
}

int cmd_run(int argc, char **argv)
{
  struct options options;
  struct error err = {0};
  char *command = run_record_command(argc, argv); /* before getopt moves the words */
  int code = read_options(argc, argv, &options, &err);
  if (!code && options.help) {
    fputs(usage, stdout);
    mem_free(command);
    return EXIT_SUCCESS;
  }
  struct run_preview preview = {.started = false};
  struct run run = {.born = timer_now(), .moved = true, .command = command};
  if (options.preview) run.preview = &preview;
  signals_catch();
  comm_start(&run.comm, &argc, &argv);
  log_configure(options.quiet ? LOG_WARN : LOG_INFO, run.comm.rank, comm_abort);
  run.machine = topology_plan(&run.comm, code ? 1 : wanted_threads(&options), options.binding);
  log_show_progress(options.bar);
  if (!code) code = launch_check_isa(&run.comm, options.restart.isa, &err);
  if (!code && options.trace) run_trace_begin(&run, options.traced);
  if (!code) code = run_scene(&run, &options, &err);
  code = run_trace_end(&run, options.trace, code, &err);
  const int exit_code = code          ? launch_fail(&run.comm, &err)
                        : run.leaving ? EXIT_CHECKPOINT
                        : run.emptied ? EXIT_EMPTY
                                      : EXIT_SUCCESS;
  mem_free(run.machine);
  mem_free(run.command);
  watchdog_expect_end(run.watchdog, exit_code);
  comm_stop(&run.comm);
  watchdog_stop(&run.watchdog);
  return exit_code;
}
