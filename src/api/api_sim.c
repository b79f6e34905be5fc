/* Simulations of the public interface: a thin client of struct run. */
#include "api/api.h"
#include "base/memory.h"
#include "base/timer.h"
#include "decomposition/topology.h"
#include "run/launch.h"
#include "sim/push.h"

#include <string.h>

int api_check(const struct firn_sim *sim, bool outside_hooks, bool whole, struct error *err)
{
  if (sim->ended)
    return error_set(err, FIRN_EINPUT, "the run was ended: the simulation may only be destroyed");
  if (sim->run->failed)
    return error_set(err, FIRN_EINPUT, "a step failed: the simulation may only be destroyed");
  if (outside_hooks && sim->hooked)
    return error_set(err, FIRN_EINPUT, "a hook is called between two steps: it may not step or end the run");
  if (whole && sim->run->sim && sim->run->sim->edited)
    return error_set(err, FIRN_EINPUT, "particles were changed: commit the changes first");
  return FIRN_OK;
}

static int read_options(const struct firn_options *from, struct run_options *to, struct error *err)
{
  if (from->version != FIRN_OPTIONS_VERSION)
    return error_set(err, FIRN_EINPUT,
                     "options of version %d: begin with FIRN_OPTIONS_INIT of the header that belongs to "
                     "libfirn %s",
                     from->version, firn_version());
  *to = (struct run_options){
      .writes = from->writes != 0,
      .command = "a program that uses libfirn",
      .born = timer_now(),
      .restart = {
          .from = from->restart, .force = from->force != 0, .isa = ISA_COUNT, .detached = !from->writes}};
  if (from->threads < 0 || from->threads > MAX_THREADS)
    return error_set(err, FIRN_EINPUT, "%d threads: expected 0 to %d", from->threads, MAX_THREADS);
  return from->isa ? isa_by_name(from->isa, &to->restart.isa, err) : FIRN_OK;
}

static int create(struct firn_sim *sim, struct scene *scene, const struct firn_options *wanted,
                  struct error *err)
{
  struct run_options options;
  int code = comm_agree(&sim->comm, read_options(wanted, &options, err), err);
  if (code) return code;
  sim->machine =
      topology_plan(&sim->comm, launch_threads(wanted->threads), wanted->bind ? BIND_CORE : BIND_NONE);
  options.machine = sim->machine;
  code = launch_check_isa(&sim->comm, options.restart.isa, err);
  if (!code) code = scene_load(scene, &sim->comm, err); /* a parsed scene may still name files */
  return code ? code : run_create(&sim->run, &sim->comm, scene, &options, err);
}

int firn_sim_create(struct firn_sim **out, MPI_Comm comm, const struct firn_scene *scene,
                    const struct firn_options *options, struct firn_error *err)
{
  static const struct firn_options standard = FIRN_OPTIONS_INIT;
  struct error error = {0};
  struct firn_sim *sim = mem_alloc(1, sizeof *sim);
  *out = sim;
  sim->materials = mem_alloc(1, sizeof *sim->materials);
  sim->plastic = mem_alloc(1, sizeof *sim->plastic);
  comm_create(&sim->comm, comm);
  api_enter(&sim->comm);
  int code = create(sim, scene->scene, options ? options : &standard, &error);
  if (!code && sim->run->restart.complete)
    code = error_set(&error, FIRN_EINPUT,
                     "the run in %s is finished, and no checkpoint of it is left to continue from",
                     scene->scene->output);
  if (code) firn_sim_destroy(out);
  return api_return(code, &error, err);
}

void firn_sim_destroy(struct firn_sim **sim)
{
  if (!*sim) return;
  struct firn_sim *s = *sim;
  api_enter(&s->comm);
  run_destroy(&s->run, FIRN_OK, NULL);
  mem_free(s->materials->at);
  mem_free(s->materials);
  mem_free(s->plastic->at);
  mem_free(s->plastic);
  mem_free(s->machine);
  comm_destroy(&s->comm);
  mem_free(s);
  *sim = NULL;
}

int firn_sim_end(struct firn_sim *sim, struct firn_error *err)
{
  struct error error = {0};
  struct run *run = sim->run;
  api_enter(&sim->comm);
  int code = api_check(sim, true, true, &error);
  if (!code && run->options.writes && !run_is_over(run)) {
    run->leaving = REQUEST_CALLER;
    code = run_write_checkpoint(run, false, &error);
  }
  if (!code && run->options.writes) run_finish(run);
  if (!code) sim->ended = true;
  return api_return(code, &error, err);
}

/* FIRN_EINPUT for a run that was complete when it was opened: its files are there, and are not this start's.
 */
static int check_files(const struct firn_sim *sim, struct error *err)
{
  const int code = api_check(sim, false, true, err);
  if (code || !sim->run->done) return code;
  return error_set(err, FIRN_EINPUT, "the run in %s is finished: nothing is left to write",
                   sim->run->scene->output);
}

/* After steps: the caller may look at the arrays. */
static int stepped(struct firn_sim *sim, int code, const struct error *error, struct firn_error *err)
{
  sim_tidy(sim->run->sim);
  return api_return(code, error, err);
}

int firn_sim_step(struct firn_sim *sim, struct firn_error *err)
{
  struct error error = {0};
  api_enter(&sim->comm);
  int code = api_check(sim, true, true, &error);
  if (code) return api_return(code, &error, err);
  code = run_advance_step(sim->run, &error);
  return stepped(sim, code, &error, err);
}

int firn_sim_advance_to_frame(struct firn_sim *sim, int64_t frame, struct firn_error *err)
{
  struct error error = {0};
  api_enter(&sim->comm);
  int code = api_check(sim, true, true, &error);
  if (code) return api_return(code, &error, err);
  code = run_advance_to_frame(sim->run, frame, &error);
  return stepped(sim, code, &error, err);
}

int firn_sim_advance_to_time(struct firn_sim *sim, double time, struct firn_error *err)
{
  struct error error = {0};
  api_enter(&sim->comm);
  int code = api_check(sim, true, true, &error);
  if (code) return api_return(code, &error, err);
  code = run_advance_to_time(sim->run, time, &error);
  return stepped(sim, code, &error, err);
}

int firn_sim_advance_to_end(struct firn_sim *sim, struct firn_error *err)
{
  struct error error = {0};
  api_enter(&sim->comm);
  int code = api_check(sim, true, true, &error);
  if (code) return api_return(code, &error, err);
  code = run_advance_to_end(sim->run, &error);
  return stepped(sim, code, &error, err);
}

int firn_sim_write_frame(struct firn_sim *sim, struct firn_error *err)
{
  struct error error = {0};
  const struct sim_clock *clock = &sim->run->sim->clock;
  api_enter(&sim->comm);
  int code = check_files(sim, &error);
  if (!code && !clock->on_frame)
    code =
        error_set(&error, FIRN_EINPUT, "the simulation is between frames %lld and %lld: advance to one first",
                  (long long)clock->frame, (long long)clock->frame + 1);
  if (!code) code = run_replace_frame(sim->run, &error);
  return api_return(code, &error, err);
}

int firn_sim_write_checkpoint(struct firn_sim *sim, struct firn_error *err)
{
  struct error error = {0};
  api_enter(&sim->comm);
  int code = sim->hooked ? api_check(sim, false, false, &error) : check_files(sim, &error);
  if (!code && !sim->run->options.writes)
    code =
        error_set(&error, FIRN_EINPUT,
                  "this simulation writes no files, so it has no folder for checkpoints: set options.writes");
  if (!code && sim->hooked)
    sim->run->wanted = true;
  else if (!code)
    code = run_write_checkpoint(sim->run, sim_is_over(sim->run->sim), &error);
  return api_return(code, &error, err);
}

void firn_sim_stop(struct firn_sim *sim)
{
  sim->run->asked = REQUEST_CALLER;
}

void firn_sim_get_info(const struct firn_sim *sim, struct firn_sim_info *info)
{
  const struct sim *s = sim->run->sim;
  *info = (struct firn_sim_info){.time = s->clock.time,
                                 .last_step = s->report.dt,
                                 .step = s->clock.step,
                                 .frame = s->clock.frame,
                                 .on_frame = s->clock.on_frame,
                                 .particles = s->totals.particles,
                                 .removed = s->totals.removed,
                                 .halvings = s->totals.halvings,
                                 .iterations = s->totals.iterations,
                                 .max_speed = s->max_speed,
                                 .over = sim_is_over(s),
                                 .stopping = sim->run->leaving != REQUEST_NONE,
                                 .threads = sim->comm.threads};
}

/* --- hooks and accelerations --- */

/* The caller's hook sees arrays in order, and what it changed is committed before the step goes on. */
static int call(struct firn_sim *sim, firn_hook *hook, struct error *err)
{
  sim_tidy(sim->run->sim);
  sim->hooked = true;
  const int said = hook(sim->hook_context, sim);
  sim->hooked = false;
  const int code = api_check(sim, false, true, err);
  return code ? code : said ? FIRN_ESTOPPED : FIRN_OK;
}

static int call_before(void *context, struct run *run, struct error *err)
{
  struct firn_sim *sim = context;
  (void)run;
  return call(sim, sim->before, err);
}

static int call_after(void *context, struct run *run, struct error *err)
{
  struct firn_sim *sim = context;
  (void)run;
  return call(sim, sim->after, err);
}

void firn_sim_set_hooks(struct firn_sim *sim, firn_hook *before, firn_hook *after, void *context)
{
  sim->before = before;
  sim->after = after;
  sim->hook_context = context;
  sim->run->hooks = (struct run_hooks){
      .before = before ? call_before : NULL, .after = after ? call_after : NULL, .context = sim};
}

static int check_budget(const struct firn_sim *sim, firn_acceleration *give, struct error *err)
{
  const int code = api_check(sim, false, false, err);
  if (code || !give || !sim->run->scene->budget) return code;
  return error_set(
      err, FIRN_EINPUT,
      "output.budget does not know the work of accelerations that a program gives: set it to false");
}

int firn_sim_accelerate_nodes(struct firn_sim *sim, firn_acceleration *give, void *context,
                              struct firn_error *err)
{
  struct error error = {0};
  const int code = check_budget(sim, give, &error);
  struct sim_push *push = &sim->run->sim->hooks.push;
  if (!code) push->nodes = give;
  if (!code) push->nodes_context = context;
  return api_return(code, &error, err);
}

int firn_sim_accelerate_particles(struct firn_sim *sim, firn_acceleration *give, void *context,
                                  struct firn_error *err)
{
  struct error error = {0};
  const int code = check_budget(sim, give, &error);
  struct sim_push *push = &sim->run->sim->hooks.push;
  if (!code) push->particles = give;
  if (!code) push->particles_context = context;
  return api_return(code, &error, err);
}
