/* A run: create, step, tend, end. `firn run` and libfirn drive it alike.
 *
 * A step of a run is a step of the simulation and what belongs to the boundary behind it: a row of the
 * history and of the probes, a frame, a checkpoint. A run without a folder takes the same steps and writes
 * nothing. Hooks see the state at boundaries only, where a checkpoint may be taken: what they change before a
 * step is changed again after a restart, what they change after it is part of the checkpoint. */
#include "run/run.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "run/launch.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* Asked near the end of every step, on every rank: signals may reach any of them, the clock is rank 0's. */
static double poll(void *context)
{
  struct run *run = context;
  enum request request = signals_seen();
  if (run->asked > (sig_atomic_t)request) request = (enum request)run->asked;
  if (run->comm.rank == 0 && run->options.writes) {
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
  sim->hooks.measure_every = run->options.writes ? run->scene->history_every : 0;
  pace_start(&run->pace, &run->scene->checkpoint, now, run->options.born, launch_job_end(),
             (double)time(NULL), (double)sim->totals.particles * (double)particles_record_size(sim->p));
}

/* At a step boundary, after a step from number `before`: a checkpoint if one is due, and whether to leave. */
static int tend(struct run *run, int64_t before, struct error *err)
{
  struct sim *sim = run->sim;
  const enum request request = (enum request)(int)sim->hooks.request;
  const bool finished = sim_is_over(sim) && !run->leaving;
  const bool wanted = run->wanted;
  sim->hooks.request = REQUEST_NONE; /* the caller's word stays: it may have come after the poll */
  run->wanted = false;
  if (request >= REQUEST_LIMIT && !finished) run->leaving = request;
  if (!run->options.writes) return FIRN_OK;
  const bool due =
      wanted || request != REQUEST_NONE ||
      pace_is_due(&run->scene->checkpoint, before, sim->clock.step, sim->clock.frame, sim->clock.on_frame);
  const bool beside = finished && !sim_is_on_beat(sim); /* of use only beside the one of keep_way_on() */
  if (run->leaving || (due && !beside) || (finished && run->keeps))
    return run_write_checkpoint(run, finished, err);
  return FIRN_OK;
}

/* Writes the frame that the simulation is at, and shows it. */
static int finish_frame(struct run *run, struct error *err)
{
  if (!run->options.writes) return FIRN_OK;
  const int code = run_write_frame(run, err);
  if (code || run->leaving) return code;
  run_log_frame(run);
  if (run->options.on_frame && run->sim->clock.frame % run->scene->frame_every == 0)
    run->options.on_frame(run->options.on_frame_context, run);
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
  if (!run->options.writes || !wanted || there || !sim_next_is_cut(run->sim)) return FIRN_OK;
  return run_write_checkpoint(run, false, err);
}

/* A hook's word, which all ranks follow if one of them says stop. */
static int call_hook(struct run *run, run_hook *hook, const char *when, struct error *err)
{
  if (!hook) return FIRN_OK;
  struct error own = {0};
  int code = hook(run->hooks.context, run, &own);
  if (code && !*own.text)
    error_set(&own, code, "stopped by the caller's hook %s step %lld", when, (long long)run->sim->clock.step);
  code = comm_agree(&run->comm, code, &own);
  if (code) *err = own;
  return code;
}

/* What belongs to the boundary behind a step. A hook that stops the caller there takes nothing from the
 * files.
 */
static int finish_step(struct run *run, int64_t before, struct error *err)
{
  struct error said = {0};
  const int stopped = call_hook(run, run->hooks.after, "after", &said);
  int code = stopped == FIRN_ESTOPPED ? FIRN_OK : stopped;
  if (!code && run->options.writes) run_write_probes(run, before);
  if (!code && run->sim->clock.on_frame) code = finish_frame(run, err);
  if (!code) code = tend(run, before, err);
  if (!stopped || (code && code != stopped)) return code;
  *err = said;
  return stopped;
}

/* One step that does not pass the time `limit`, and what belongs to the boundary behind it. A failure may
 * have come between a state and its files, so no step follows it. */
static int take_step(struct run *run, double limit, struct error *err)
{
  const int64_t before = run->sim->clock.step;
  run_trace_step(run, before);
  int code = keep_way_on(run, err);
  if (!code) code = call_hook(run, run->hooks.before, "before", err);
  if (!code) {
    const double begin = timer_now();
    instruments_begin_loads(run->sim);
    code = sim_step_until(run->sim, limit, err);
    timeline_add(run->comm.traffic->timeline, 0, "step", begin, timer_now(), before);
    if (code == FIRN_EDIVERGE && run->options.writes) run_keep_last_good(run);
    if (!code) code = finish_step(run, before, err);
  }
  run->failed = code && code != FIRN_ESTOPPED;
  return code;
}

static void say_nothing_to_do(const struct run *run)
{
  log_info("the run in %s is finished: nothing to do", run->scene->output);
  run_drop_replaced(run);
}

/* Takes the folder, and writes what belongs to the state that the run begins with. */
static int open_files(struct run *run, struct error *err)
{
  int code = run_open_folder(run, err);
  if (!code) run_note_start(run);
  if (!code) run_begin_probes(run);
  /* A run that begins elsewhere has a checkpoint of its own at once: --restart auto must not start from the
   * scene. */
  if (!code && run->restart.restored && !run->restart.continues) code = run_write_checkpoint(run, false, err);
  if (!code && run->sim->clock.on_frame) {
    code = finish_frame(run, err);
    if (!code && (run->leaving || sim_is_over(run->sim))) code = tend(run, run->sim->clock.step, err);
  }
  return code;
}

static int begin(struct run *run, struct error *err)
{
  if (run->restart.complete) {
    say_nothing_to_do(run);
    return FIRN_OK;
  }
  const struct sim *sim = run->sim;
  run_log_snow(run);
  run_log_idle(run);
  begin_steps(run);
  run->done = run->restart.continues && run->restart.finished && sim_is_over(sim);
  if (run->done) {
    say_nothing_to_do(run);
    return FIRN_OK;
  }
  if (sim->clock.time > scene_end_time(run->scene))
    log_info("the state is at %.9g s, beyond the end at %.9g s: nothing to simulate", sim->clock.time,
             scene_end_time(run->scene));
  return run->options.writes ? open_files(run, err) : FIRN_OK;
}

int run_create(struct run **out, const struct comm *comm, const struct scene *scene,
               const struct run_options *options, struct error *err)
{
  struct run *run = mem_alloc(1, sizeof *run);
  run->comm = *comm;
  run->scene = scene;
  run->options = *options;
  run->moved = true;
  *out = run;
  int code = options->trace ? run_trace_begin(run, options->trace, err) : FIRN_OK;
  if (!code) run_log_start(run);
  if (!code) code = run_check_progress(run, options->give_up, err);
  if (!code) code = run_begin(&run->sim, &run->restart, &run->comm, scene, &options->restart, err);
  return code ? code : begin(run, err);
}

bool run_is_over(const struct run *run)
{
  return run->restart.complete || run->done || run->leaving || sim_is_over(run->sim);
}

/* A run with a folder ends where its scene does: what is beyond would be frames that the scene has not. */
static int check_more(const struct run *run, struct error *err)
{
  if (run->failed)
    return error_set(err, FIRN_EINPUT, "step %lld failed: the simulation may only be destroyed",
                     (long long)run->sim->clock.step);
  if (run->restart.complete || run->done || (run->options.writes && sim_is_over(run->sim)))
    return error_set(err, FIRN_EINPUT,
                     "the run in %s has reached the end of its scene, %.9g s; a larger time.end extends it",
                     run->scene->output, scene_end_time(run->scene));
  if (run->leaving)
    return error_set(err, FIRN_ESTOPPED, "the run was stopped by %s at step %lld; restart it to continue",
                     request_name(run->leaving), (long long)run->sim->clock.step);
  return FIRN_OK;
}

int run_advance_step(struct run *run, struct error *err)
{
  const int code = check_more(run, err);
  return code ? code : take_step(run, INFINITY, err);
}

int run_advance_to_frame(struct run *run, int64_t frame, struct error *err)
{
  const struct sim_clock *clock = &run->sim->clock;
  if (frame < clock->frame || (frame == clock->frame && !clock->on_frame))
    return error_set(err, FIRN_EINPUT, "frame %lld lies in the past: the simulation is at %.9g s",
                     (long long)frame, clock->time);
  int code = FIRN_OK;
  while (!code && clock->frame < frame) code = run_advance_step(run, err);
  return code;
}

int run_advance_to_time(struct run *run, double time, struct error *err)
{
  const struct sim_clock *clock = &run->sim->clock;
  if (!(time >= clock->time) || !isfinite(time))
    return error_set(err, FIRN_EINPUT, "%.9g s lies in the past: the simulation is at %.9g s", time,
                     clock->time);
  int code = FIRN_OK;
  const double hair = 1e-9 / run->scene->frame_rate;
  while (!code && time - clock->time > hair) {
    code = check_more(run, err);
    if (!code) code = take_step(run, time, err);
  }
  return code;
}

int run_advance_to_end(struct run *run, struct error *err)
{
  int code = FIRN_OK;
  while (!code && !run_is_over(run)) {
    code = check_more(run, err);
    if (!code) code = take_step(run, INFINITY, err);
  }
  return code;
}

void run_finish(struct run *run)
{
  if (run->restart.complete) return;
  if (!run->done && !run->leaving && run->options.writes && sim_is_over(run->sim)) run_drop_replaced(run);
  if (run->generation) run_write_maps(run);
  run_log_end(run, run->options.profile);
  run->emptied = run->sim->totals.particles == 0;
  if (run->generation) run_write_record(run);
}

int run_destroy(struct run **out, int code, struct error *err)
{
  struct run *run = *out;
  if (!run) return code;
  code = run_trace_end(run, run->options.trace, code, err);
  history_destroy(&run->history);
  csv_log_destroy(&run->probes);
  fence_destroy(&run->fence);
  sim_destroy(&run->sim);
  mem_free(run);
  *out = NULL;
  return code;
}
