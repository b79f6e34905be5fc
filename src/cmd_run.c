/* `firn run`: a scene from time 0 to its end, with frames, a history and a line in the log for each frame. */
#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "base/version.h"
#include "commands.h"
#include "io/file.h"
#include "io/frame.h"
#include "io/history.h"
#include "launch.h"
#include "sim.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: firn run SCENE.yml [--set KEY=VALUE]... [--output FOLDER] [--isa NAME] [--profile] [--quiet]\n"
    "       mpirun -n RANKS firn run SCENE.yml ...\n"
    "\n"
    "Simulates the scene and writes FOLDER/frames/frame_*.h5, FOLDER/<name>.xdmf for ParaView and "
    "FOLDER/history.csv.\n"
    "\n"
    "  --set KEY=VALUE   change any key of the scene, e.g. --set time.end=0.5 --set "
    "bodies.ground.friction=0.3\n"
    "  --output FOLDER   short for --set output.folder=FOLDER\n"
    "  --isa NAME        portable, avx2 or avx512 instead of the best this machine runs\n"
    "  --profile         where the time went, at the end\n"
    "  --quiet           warnings and errors only\n";

struct options {
  struct launch_options launch;
  char output[4096];
  enum isa isa;
  bool profile, quiet, help;
};

static int read_options(int argc, char **argv, struct options *o, struct error *err)
{
  enum { SET = 1000, OUTPUT, ISA, PROFILE, QUIET, HELP };
  static const struct option known[] = {{"set", required_argument, NULL, SET},
                                        {"output", required_argument, NULL, OUTPUT},
                                        {"isa", required_argument, NULL, ISA},
                                        {"profile", no_argument, NULL, PROFILE},
                                        {"quiet", no_argument, NULL, QUIET},
                                        {"help", no_argument, NULL, HELP},
                                        {NULL, 0, NULL, 0}};
  *o = (struct options){.isa = ISA_COUNT};
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
    case ISA: code = isa_by_name(optarg, &o->isa, err); break;
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

/* A run on rank 0's screen and disk. */
struct run {
  struct comm comm;
  const struct scene *scene;
  struct sim *sim;
  struct history *history;
  double started, drawn;
  double seconds[PHASES];
  int64_t last_frame;
  int64_t steps, iterations;       /* since the last frame */
  double particle_steps, stepping; /* since the last frame */
};

static void add_history(struct run *run, const struct step_report *r)
{
  struct history_row row = {.step = r->step,
                            .time = r->time,
                            .dt = r->dt,
                            .particles = r->particles,
                            .removed = r->removed,
                            .iterations = r->iterations,
                            .halvings = r->halvings,
                            .contact_nodes = r->contact_nodes,
                            .plastic = r->plastic,
                            .mass = r->measured[MEASURED_MASS],
                            .kinetic = r->measured[MEASURED_KINETIC],
                            .elastic = r->measured[MEASURED_ELASTIC],
                            .potential = r->measured[MEASURED_POTENTIAL],
                            .max_speed = r->max_speed,
                            .imbalance = r->imbalance};
  for (int d = 0; d < 3; d++) {
    row.momentum[d] = r->measured[MEASURED_MOMENTUM + d];
    row.angular[d] = r->measured[MEASURED_ANGULAR + d];
  }
  for (int k = 0; k < PHASES; k++) row.seconds[k] = r->seconds[k];
  history_add(run->history, &row);
}

static void format_seconds(double s, char out[32])
{
  if (s < 99.5)
    snprintf(out, 32, "%.0f s", s);
  else if (s < 5940.0)
    snprintf(out, 32, "%.0f min", s / 60.0);
  else
    snprintf(out, 32, "%.1f h", s / 3600.0);
}

static double remaining_seconds(const struct run *run)
{
  const double share = run->sim->time / (double)run->last_frame * run->scene->frame_rate;
  return share > 0.0 ? (timer_now() - run->started) * (1.0 - share) / share : 0.0;
}

static void on_step(void *context, const struct sim *sim)
{
  struct run *run = context;
  const struct step_report *r = &sim->report;
  for (int k = 0; k < PHASES; k++) {
    run->seconds[k] += r->seconds[k];
    run->stepping += r->seconds[k];
  }
  run->particle_steps += (double)r->particles;
  run->steps++;
  run->iterations += r->iterations;
  if (run->history && r->has_measured) add_history(run, r);
  const double now = timer_now();
  if (now - run->drawn < 0.2) return;
  run->drawn = now;
  const int64_t frame = sim->frame, last = run->last_frame;
  const int width = 28,
            filled =
                last > 0 ? (int)((double)width * sim->time * run->scene->frame_rate / (double)last) : width;
  char bar[64], left[32];
  for (int k = 0; k < width; k++) bar[k] = k < filled ? '#' : '.';
  bar[width] = '\0';
  format_seconds(remaining_seconds(run), left);
  log_progress("[%s] frame %lld/%lld  t %.4f s  step %lld  dt %.2e s  %s left", bar, (long long)frame,
               (long long)last, sim->time, (long long)sim->step, r->dt, left);
}

static void log_frame(struct run *run)
{
  const struct sim *sim = run->sim;
  char left[32];
  format_seconds(remaining_seconds(run), left);
  const double per_step = run->steps ? (double)run->iterations / (double)run->steps : 0.0;
  log_info("frame %4lld  t %8.4f s  step %6lld  dt %.2e s  %lld particles  CR %4.1f  imbalance %.2f  %.2f M "
           "particle-steps/s  %s left",
           (long long)sim->frame, sim->time, (long long)sim->step, sim->report.dt, (long long)sim->particles,
           per_step, sim->report.imbalance,
           run->stepping > 0.0 ? 1e-6 * run->particle_steps / run->stepping : 0.0, left);
  run->steps = run->iterations = 0;
  run->particle_steps = run->stepping = 0.0;
}

/* Rank 0: the output folder, without the frames of an earlier run, which would mix with ours. */
static int prepare_folder(const struct scene *scene, struct error *err)
{
  char *frames = file_join(scene->output, "frames");
  struct file_list *old = NULL;
  int code = file_make_folder(frames, err);
  if (!code) code = file_list_create(&old, frames, "frame_", ".h5", err);
  if (!code) {
    file_remove_stale(frames);
    if (old->count) log_info("replacing %d frames of an earlier run in %s", old->count, frames);
    for (int k = 0; k < old->count; k++) {
      char *path = file_join(frames, old->names[k]);
      unlink(path);
      mem_free(path);
    }
  }
  file_list_destroy(&old);
  mem_free(frames);
  return code;
}

static int write_frame(struct run *run, struct error *err)
{
  const struct sim *sim = run->sim;
  if (sim->frame % run->scene->frame_every != 0) return FIRN_OK;
  const struct frame_info info = {.index = sim->frame, .step = sim->step, .time = sim->time};
  int code = frame_write(&run->comm, run->scene, sim->p, &info, err);
  if (code) return code;
  if (run->comm.rank == 0) code = frame_write_series(run->scene, err);
  return comm_agree(&run->comm, code, err);
}

static void log_start(const struct run *run)
{
  const struct sim *sim = run->sim;
  const struct scene *scene = run->scene;
  log_info("firn %s (%s): %s on %d rank%s, %s kernels", FIRN_VERSION, FIRN_COMMIT, scene->name,
           run->comm.size, run->comm.size > 1 ? "s" : "", sim->kernels->name);
  log_info("%lld particles, %lld x %lld x %lld cells of %g m, slabs along %c, %s (beta %g), %s/%s/%s",
           (long long)sim->particles, (long long)scene->cells[0], (long long)scene->cells[1],
           (long long)scene->cells[2], scene->spacing, 'x' + sim->grid->frame.axis[0],
           scene->beta > 0.0 ? "semi-implicit" : "explicit", scene->beta,
           scene->scheme == SCHEME_APIC ? "apic" : "flip",
           scene->kernel == KERNEL_CUBIC ? "cubic" : "quadratic", scene->force == FORCE_MLS ? "mls" : "mpm");
}

static void log_end(const struct run *run, bool profile)
{
  const struct sim *sim = run->sim;
  char took[32];
  format_seconds(timer_now() - run->started, took);
  log_info("done: %lld steps (%lld halvings) in %s, %lld particles left the domain; frames in %s/frames",
           (long long)sim->step, (long long)sim->totals.halvings, took, (long long)sim->removed,
           run->scene->output);
  if (!profile) return;
  double total = 0.0;
  for (int k = 0; k < PHASES; k++) total += run->seconds[k];
  for (int k = 0; k < PHASES; k++)
    log_info("  %-9s %8.3f s  %5.1f %%", phase_names[k], run->seconds[k],
             total > 0.0 ? 100.0 * run->seconds[k] / total : 0.0);
  log_info("  shared planes: %lld messages, %.1f MB sent by rank 0; %lld particles migrated",
           (long long)sim->halo->messages, 1e-6 * (double)sim->halo->bytes, (long long)sim->totals.migrated);
}

static int simulate(struct run *run, struct error *err)
{
  const struct scene *scene = run->scene;
  int code = run->comm.rank == 0 ? prepare_folder(scene, err) : FIRN_OK;
  if (!code && run->comm.rank == 0 && scene->history_every > 0)
    code = history_create(&run->history, scene->output, phase_names, PHASES, err);
  code = comm_agree(&run->comm, code, err);
  if (code) return code;
  run->started = timer_now();
  run->last_frame = scene_last_frame(scene);
  run->sim->monitor = on_step;
  run->sim->monitor_context = run;
  run->sim->measure_every = scene->history_every;
  for (int64_t frame = 0; !code && frame <= run->last_frame; frame++) {
    code = sim_advance_to_frame(run->sim, frame, err);
    if (!code) code = write_frame(run, err);
    if (!code) log_frame(run);
  }
  return code;
}

static int run_scene(struct run *run, const struct options *options, struct error *err)
{
  struct scene *scene = NULL;
  int code = launch_scene(&run->comm, &options->launch, &scene, err);
  run->scene = scene;
  if (!code) code = sim_create(&run->sim, &run->comm, scene, options->isa, err);
  if (!code) log_start(run);
  if (!code) code = simulate(run, err);
  if (!code) log_end(run, options->profile);
  history_destroy(&run->history);
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
  struct run run = {0};
  comm_start(&run.comm, &argc, &argv);
  log_configure(options.quiet ? LOG_WARN : LOG_INFO, run.comm.rank, comm_abort);
  if (!code) code = run_scene(&run, &options, &err);
  const int exit_code = code ? launch_fail(&run.comm, &err) : EXIT_SUCCESS;
  comm_stop(&run.comm);
  return exit_code;
}
