/* What a user sees of a run: the first lines, a line per frame, a progress bar, the last lines; and the
 * history for programs. */
#include "base/log.h"
#include "base/timer.h"
#include "base/version.h"
#include "io/particles/together.h"
#include "io/scene/scene_doubts.h"
#include "run/run.h"
#include "sim/balance.h"

#include <math.h>
#include <stdio.h>

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
                            .limited = r->limited,
                            .mass = r->measured[MEASURED_MASS],
                            .momentum_x = r->measured[MEASURED_MOMENTUM],
                            .momentum_y = r->measured[MEASURED_MOMENTUM + 1],
                            .momentum_z = r->measured[MEASURED_MOMENTUM + 2],
                            .angular_x = r->measured[MEASURED_ANGULAR],
                            .angular_y = r->measured[MEASURED_ANGULAR + 1],
                            .angular_z = r->measured[MEASURED_ANGULAR + 2],
                            .kinetic = r->measured[MEASURED_KINETIC],
                            .elastic = r->measured[MEASURED_ELASTIC],
                            .potential = r->measured[MEASURED_POTENTIAL],
                            .max_speed = r->max_speed,
                            .repeats = r->repeats,
                            .more = run->sim->instruments ? run->sim->instruments->row : NULL,
                            .imbalance = r->imbalance};
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

/* From what was simulated since the steps began, which may have been in the middle. */
static double remaining_seconds(const struct run *run)
{
  const double end = scene_end_time(run->scene), done = run->sim->clock.time - run->time_before;
  return done > 0.0 ? (timer_now() - run->started) * (end - run->sim->clock.time) / done : 0.0;
}

static void draw_progress(struct run *run, const struct sim *sim)
{
  const int64_t last = scene_last_frame(run->scene);
  const int width = 28;
  const int filled = (int)(width * fmin(1.0, sim->clock.time / scene_end_time(run->scene)));
  char bar[64], left[32];
  for (int k = 0; k < width; k++) bar[k] = k < filled ? '#' : '.';
  bar[width] = '\0';
  format_seconds(remaining_seconds(run), left);
  log_progress("[%s] frame %lld/%lld  t %.4f s  step %lld  dt %.2e s  %s left", bar,
               (long long)sim->clock.frame, (long long)last, sim->clock.time, (long long)sim->clock.step,
               sim->report.dt, left);
}

static void add_to(struct spread *spread, double value)
{
  spread->count++;
  spread->sum += value;
  if (value > spread->most) spread->most = value;
}

/* Counted work of this rank's busiest thread over the mean of all, those without work among them. Threads
 * take blocks as they come, so the busiest has the mean, or the largest block if that is more. */
static double thread_imbalance(const struct sim *sim)
{
  const struct grid *g = sim->mesh.grid;
  const double threads = sim->crew.size;
  int64_t most = 0, all = 0;
  for (int32_t k = 0; k < g->blocks.count; k++) {
    const int64_t work = sim_blocks_work(sim, k, k + 1);
    if (work > most) most = work;
    all += work;
  }
  if (all == 0) return 1.0;
  if (g->threads == 1) return threads;
  return fmax(1.0, (double)most * threads / (double)all);
}

/* The cuts move after a step, so it is the next one that has them; the first step has new cuts as well. */
static void watch_balance(struct run *run, const struct sim *sim)
{
  add_to(&run->all_steps, sim->report.imbalance);
  if (sim->crew.size > 1) add_to(&run->threads, thread_imbalance(sim));
  if (run->moved) add_to(&run->after_moves, sim->report.imbalance);
  run->moved = sim->totals.rebalanced != run->moves_seen;
  run->moves_seen = sim->totals.rebalanced;
}

/* Once, when the last particle leaves; where a window moves on, more may come. */
static void watch_snow(struct run *run, const struct step_report *r)
{
  if (r->limited > run->limited) run->limited = r->limited;
  if (r->particles == 0 && !run->emptied && !run->scene->window.given)
    log_warn("at %.6g s the last of the snow left the domain; the run continues without any",
             r->time + r->dt);
  run->emptied = r->particles == 0;
}

/* Once, when sound first makes a step shorter than the scene wants it. */
static void watch_sound(struct run *run, const struct sim *sim)
{
  if (sim->totals.shortened > 0 && !run->shortened)
    log_warn("at %.6g s sound crosses %g cells in %.3g s: explicit steps must not be longer, so time.step of "
             "%g s is cut if necessary (counted at the end; set it to auto, or see time.cfl_sound)",
             sim->report.time, run->scene->cfl_sound,
             run->scene->cfl_sound * run->scene->spacing / sim->max_sound, run->scene->step);
  run->shortened = sim->totals.shortened > 0;
}

void run_watch(void *context, const struct sim *sim)
{
  struct run *run = context;
  const struct step_report *r = &sim->report;
  for (int k = 0; k < PHASES; k++) {
    run->seconds[k] += r->seconds[k];
    run->stepping += r->seconds[k];
  }
  watch_balance(run, sim);
  watch_snow(run, r);
  watch_sound(run, sim);
  run->particle_steps += (double)r->particles;
  run->all_particle_steps += (double)r->particles;
  run->steps++;
  run->iterations += r->iterations;
  run->all_iterations += r->iterations;
  if (run->history && r->has_measured) add_history(run, r);
  const double now = timer_now();
  if (now - run->drawn < 0.2) return;
  run->drawn = now;
  draw_progress(run, sim);
}

void run_log_frame(struct run *run)
{
  const struct sim *sim = run->sim;
  char left[32];
  format_seconds(remaining_seconds(run), left);
  const double per_step = run->steps ? (double)run->iterations / (double)run->steps : 0.0;
  log_info("frame %4lld  t %8.4f s  step %6lld  dt %.2e s  %lld particles  CR %4.1f  imbalance %.2f  %.2f M "
           "particle-steps/s  %s left",
           (long long)sim->clock.frame, sim->clock.time, (long long)sim->clock.step, sim->report.dt,
           (long long)sim->totals.particles, per_step, sim->report.imbalance,
           run->stepping > 0.0 ? 1e-6 * run->particle_steps / run->stepping : 0.0, left);
  run->steps = run->iterations = 0;
  run->particle_steps = run->stepping = 0.0;
}

static void warn(void *path, int line, const char *text)
{
  if (line > 0)
    log_warn("%s:%d: %s", (const char *)path, line, text);
  else
    log_warn("%s: %s", (const char *)path, text);
}

void run_log_start(const struct run *run)
{
  const struct scene *scene = run->scene;
  log_info("firn %s (%s): %s on %d rank%s", FIRN_VERSION, FIRN_COMMIT, scene->name, run->comm.size,
           run->comm.size > 1 ? "s" : "");
  if (run->options.machine) log_info("%s", run->options.machine);
  log_info("%lld x %lld x %lld cells of %g m, %s (beta %g), %s/%s/%s", (long long)scene->cells[0],
           (long long)scene->cells[1], (long long)scene->cells[2], scene->spacing,
           scene->beta > 0.0 ? "semi-implicit" : "explicit", scene->beta,
           scene->scheme == SCHEME_APIC ? "apic" : "flip",
           scene->kernel == KERNEL_CUBIC ? "cubic" : "quadratic", scene->force == FORCE_MLS ? "mls" : "mpm");
  log_info("writer: %s", together_reason(&run->comm, &scene->writing, scene->compression));
  if (run->comm.rank == 0) scene_doubts(scene, warn, scene->path);
}

void run_log_snow(const struct run *run)
{
  const struct sim *sim = run->sim;
  log_info("%lld particles, slabs along %c, %s kernels; ready after %.2f s", (long long)sim->totals.particles,
           'x' + sim->mesh.grid->geometry.axis[0], sim->kernels->name, timer_now() - run->options.born);
}

/* What rank 0 sent at its cuts, and the share of the steps that it waited. By design a product of the solve
 * sends three node planes of the shared bricks each way, in one message; tests hold it to that. */
static void log_communication(const struct run *run, double total)
{
  const struct sim *sim = run->sim;
  const int64_t messages = sim->mesh.halo->messages - run->planes_before[0],
                bytes = sim->mesh.halo->bytes - run->planes_before[1];
  const double steps = run->all_steps.count ? (double)run->all_steps.count : 1.0;
  const double waited = run->seconds[PHASE_EXCHANGE] + run->seconds[PHASE_REDUCE];
  log_report(
      "  communication: %.1f %% of rank 0's time in the steps was waiting, for neighbours (exchange) or all "
      "(reduce)",
      total > 0.0 ? 100.0 * waited / total : 0.0);
  log_report("  shared nodes: %lld messages, %.1f MB sent by rank 0 (%.1f messages, %.3f MB per step); %lld "
             "particles migrated",
             (long long)messages, 1e-6 * (double)bytes, (double)messages / steps,
             1e-6 * (double)bytes / steps, (long long)sim->totals.migrated);
  if (sim->scene->beta > 0.0)
    log_report("  per step: %.2f matrix products, %.2f allreduces", (double)run->all_iterations / steps + 2.0,
               (double)run->all_iterations / steps + 1.0);
}

static double mean_of(const struct spread *spread)
{
  return spread->count ? spread->sum / (double)spread->count : 1.0;
}

static void log_balance(const struct run *run)
{
  if (run->threads.count)
    log_report("  threads: counted work of rank 0's busiest of %d over their mean %.3f, at most %.3f",
               run->comm.threads, mean_of(&run->threads), run->threads.most);
  if (run->comm.size == 1) return;
  log_report(
      "  balance: counted work of the busiest rank over the mean %.3f, at most %.3f; after the cuts moved "
      "(%lld times) %.3f, at most %.3f",
      mean_of(&run->all_steps), run->all_steps.most, (long long)run->sim->totals.rebalanced,
      mean_of(&run->after_moves), run->after_moves.most);
}

void run_log_end(const struct run *run, bool profile)
{
  const struct sim *sim = run->sim;
  char took[32];
  format_seconds(timer_now() - run->started, took);
  if (run->leaving)
    log_info("stopped by %s after step %lld (%.6g s): continue it with --restart auto",
             request_name(run->leaving), (long long)sim->clock.step, sim->clock.time);
  else
    log_info("done: %lld steps (%lld halvings) in %s, %lld particles left the domain; frames in %s/frames",
             (long long)sim->clock.step, (long long)sim->totals.halvings, took,
             (long long)sim->totals.removed, run->scene->output);
  if (sim->totals.repeats > 0)
    log_info("%lld of %lld solves were repeated, with more stiffness where particles that flow would have "
             "gained energy (docs/materials.md, flow_repeats)",
             (long long)sim->totals.repeats, (long long)sim->totals.solves);
  if (sim->totals.shortened > 0)
    log_info("%lld steps were shorter than time.step, since explicit steps may not be longer than sound lets "
             "them be",
             (long long)sim->totals.shortened);
  if (run->limited > 0)
    log_info(
        "at most %lld particles at once reached the hardening or volume limit of their material; this is "
        "normal if snow is crushed (docs/materials.md, hardening_limit)",
        (long long)run->limited);
  if (!run->leaving && sim->totals.particles == 0)
    log_warn(
        "no snow is left: all %lld particles have left the domain; enlarge it, or look for the body that "
        "should have held them (exit code 87)",
        (long long)sim->totals.removed);
  if (run->scene->window.given)
    log_info("the window: %lld entered ahead, %lld left behind or through a side",
             (long long)sim->totals.entered, (long long)sim->totals.removed);
  if (!profile) return;
  double total = 0.0;
  for (int k = 0; k < PHASES; k++) total += run->seconds[k];
  for (int k = 0; k < PHASES; k++)
    log_report("  %-9s %8.3f s  %5.1f %%", phase_names[k], run->seconds[k],
               total > 0.0 ? 100.0 * run->seconds[k] / total : 0.0);
  log_report("  files     %8.3f s in frames, %.3f s in checkpoints", run->framing, run->keeping);
  log_communication(run, total);
  log_balance(run);
}
