/* One time step, as method.md has it, and what happens when it is not accepted. */
#include "base/log.h"
#include "base/timer.h"
#include "base/vec.h"
#include "bodies/contact.h"
#include "decomposition/reduce.h"
#include "sim/balance.h"
#include "sim/settle.h"
#include "sim/sim.h"
#include "sim/sources.h"
#include "sim/window_move.h"
#include "solver/cr.h"

#include <math.h>
#include <string.h>

enum { DEEPEST_HALVING = 8 };

/* Steps 1 and 3: mass, momentum and force of all particles, complete on shared planes. */
static void rasterise(struct sim *sim, double *clock)
{
  const enum node_field fields[2] = {NODE_MOMENTUM, NODE_VELOCITY};
  const bool fused = transfer_is_fused(&sim->transfer);
  if (fused) grid_clear(sim->mesh.grid, NODE_VELOCITY);
  sim->crew.label = "p2g planes";
  sim_scatter(sim, sim->kernels->p2g, &sim->transfer, fields, fused ? 1 : 2);
  if (sim->scene->has_heat) heat_rasterise(sim);
  sim_end_phase(sim, PHASE_P2G, clock);
}

/* Steps 4 and 5: v* on all nodes this rank holds; shared planes are done by both sides alike. */
static void update_velocities(struct sim *sim, double *clock)
{
  struct grid *g = sim->mesh.grid;
  crew_tiles(&sim->crew, g, sim->kernels->velocity, &sim->transfer, g->tile_count, NULL, 0);
  for (int k = 0; k < sim->scene->body_count; k++)
    body_pose_at(&sim->scene->bodies[k], sim->clock.time, &sim->poses[k]);
  const int shared = g->geometry.support - 1, bodies = sim->scene->body_count;
  const int32_t left = g->has_left ? shared : 0, right = g->has_right ? g->planes : g->node_planes;
  struct body_tally *tallies = instruments_bodies(sim);
  struct wet_contacts *wet = sim->heat.count ? &sim->heat.wet : NULL;
  if (wet) {
    wet->count = wet->bodies = 0;
    wet->heat = g->node[NODE_HEAT];
  }
  const int64_t of_left = contact_nodes(g, sim->poses, bodies, 0, left, wet, tallies);
  sim->report.contact_nodes = of_left + contact_nodes(g, sim->poses, bodies, left, right, wet, tallies);
  if (wet) wet->owned = wet->count;
  contact_nodes(g, sim->poses, bodies, right, g->node_planes, wet, NULL); /* counted by the right neighbour */
  sim->shared_contacts = of_left;
  sim_end_phase(sim, PHASE_NODES, clock);
}

static void multiply(struct sim *sim, enum node_field in, enum node_field out, bool diagonal)
{
  struct hessian_arguments arguments = {&sim->transfer, in, out, NULL, diagonal};
  sim->crew.label = "product planes";
  sim_scatter(sim, sim->transfer.mixed ? sim->kernels->hessian_mixed : sim->kernels->hessian, &arguments,
              &out, 1);
}

static void apply_hessian(void *context, enum node_field in, enum node_field out)
{
  multiply(context, in, out, false);
}

static void apply_with_diagonal(void *context, enum node_field in, enum node_field out)
{
  multiply(context, in, out, true);
}

static void reduce_dots(void *context, struct exact_sum *sums, int count)
{
  const struct sim *sim = context;
  reduce_exact(&sim->comm, sums, count);
  log_heartbeat(phase_names[PHASE_SOLVE]);
}

static void begin_dots(void *context, struct exact_sum *sums, int count)
{
  struct sim *sim = context;
  reduce_begin(&sim->reduction, &sim->comm, sums, count);
}

static void end_dots(void *context)
{
  reduce_end(&((struct sim *)context)->reduction);
  log_heartbeat(phase_names[PHASE_SOLVE]);
}

struct cr_system sim_system(struct sim *sim)
{
  return (struct cr_system){.grid = sim->mesh.grid,
                            .crew = &sim->crew,
                            .kernels = sim->kernels,
                            .owned_tiles = sim_owned_tiles(sim),
                            .context = sim,
                            .reduce = reduce_dots,
                            .reduce_begin = begin_dots,
                            .reduce_end = end_dots};
}

/* Step 6 without liquid. */
static bool snow_solve(struct sim *sim, double dt)
{
  if (sim->scene->beta == 0.0) return true;
  instruments_before_solve(sim);
  struct cr_system system = sim_system(sim);
  system.unknown = system.fixed = NODE_VELOCITY;
  system.weight = NODE_MOMENTUM;
  system.stop = sim->scene->stop_by_strain ? CR_STOP_SCALE : CR_STOP_SIZE;
  system.scale = sim->scene->spacing / dt; /* a velocity that strains a cell by 1 in the step */
  system.least = 10.0 * vec_norm(sim->scene->gravity) * dt; /* the residual may be a hundredth of gravity */
  system.factor = sim->scene->beta * dt * dt;
  system.product = apply_hessian;
  if (sim->scene->jacobi) system.first_product = apply_with_diagonal;
  const struct cr_result result = (sim->scene->pipelined ? cr_solve_pipelined : cr_solve)(
      &system, sim->scene->tolerance, sim->scene->max_iterations);
  sim->report.iterations += result.iterations;
  sim->report.passes++;
  sim->totals.iterations += result.iterations;
  sim->totals.solves++;
  if (result.converged) instruments_after_solve(sim, sim->scene->beta * dt * dt, apply_hessian);
  return result.converged;
}

/* Step 6, and heat. */
static bool solve(struct sim *sim, double dt, double *clock)
{
  bool solved = sim->heat.count ? liquid_solve(sim) : snow_solve(sim, dt);
  if (solved && sim->scene->has_heat) solved = heat_solve(sim);
  sim_end_phase(sim, PHASE_SOLVE, clock);
  return solved;
}

/* Steps 7 to 10, into the next state. */
static void update_particles(struct sim *sim, struct step_result *result, double *clock)
{
  const struct grid *g = sim->mesh.grid;
  if (transfer_is_flip(&sim->transfer))
    crew_tiles(&sim->crew, g, sim->kernels->mix, &sim->transfer, g->tile_count, NULL, 0);
  sim->crew.label = "g2p planes";
  crew_planes(&sim->crew, g, sim->kernels->g2p, &sim->transfer, PASS_ALL);
  if (sim->scene->has_heat) heat_update_particles(sim);
  crew_collect(&sim->crew, g, result, sim->measured, sim->changed);
  sim_end_phase(sim, PHASE_G2P, clock);
}

/* What all ranks must know of the step that was tried. */
struct verdict {
  enum trouble trouble;
  bool farther;
  int64_t outside;
};

/* Whether the history has a row of this step. */
static bool row_is_due(const struct sim *sim)
{
  return sim->hooks.measure_every > 0 && sim->clock.step % sim->hooks.measure_every == 0;
}

static struct verdict judge(struct sim *sim, const struct step_result *result, double *clock)
{
  enum { MAX_TROUBLE, MAX_FARTHER, MAX_SPEED, MAX_SOUND, MAX_WORK, MAX_REQUEST, MAX_PRESSURE, MAXIMA };
  enum {
    SUM_PLASTIC,
    SUM_LIMIT,
    SUM_OUTSIDE,
    SUM_TOUCHED,
    SUM_NODES,
    SUM_LEAVERS,
    SUM_SHARED_PLASTIC,
    SUM_SHARED_NODES,
    SUM_WORK,
    SUM_MELTED,
    SUM_FROZEN,
    SUM_LIQUID,
    SUM_SHARED_CHANGED
  };
  const int64_t work = sim_work(sim);
  double most[MAXIMA] = {(double)result->trouble,
                         sim_find_leavers(sim) ? 1.0 : 0.0,
                         result->max_speed,
                         result->max_sound,
                         (double)work,
                         sim->hooks.poll ? sim->hooks.poll(sim->hooks.poll_context) : 0.0,
                         sim->heat.pressure};
  struct {
    struct exact_sum measured[MEASURED_COUNT];
    struct exact_sum counts; /* integers ride along in one more sum's limbs */
    struct exact_sum changed[2];
  } sums = {
      .counts = {{result->plastic, result->limited, result->outside, result->contacts,
                  sim->report.contact_nodes, sim->leavers.count, result->shared_plastic, sim->shared_contacts,
                  work, result->melted, result->frozen, result->liquid, result->shared_changed}}};
  memcpy(sums.measured, sim->measured, sizeof sums.measured);
  memcpy(sums.changed, sim->changed, sizeof sums.changed);
  comm_max(&sim->comm, most, MAXIMA);
  sim->hooks.request = fmax(sim->hooks.request, most[MAX_REQUEST]);
  const int skipped = sim->transfer.measuring ? 0 : MEASURED_COUNT;
  const int behind = sim->scene->has_heat ? 2 : 0;
  reduce_exact(&sim->comm, &sums.measured[skipped], MEASURED_COUNT + 1 + behind - skipped);
  instruments_collect(sim);

  const int64_t *count = sums.counts.limb;
  struct step_report *report = &sim->report;
  report->plastic = count[SUM_PLASTIC];
  report->limited = count[SUM_LIMIT];
  report->contact_particles = count[SUM_TOUCHED];
  report->contact_nodes = count[SUM_NODES];
  report->max_speed = most[MAX_SPEED];
  report->liquid = count[SUM_LIQUID];
  report->pressure = most[MAX_PRESSURE];
  report->imbalance = count[SUM_WORK] ? most[MAX_WORK] * sim->comm.size / (double)count[SUM_WORK] : 1.0;
  report->has_measured = row_is_due(sim);
  for (int k = 0; k < MEASURED_COUNT; k++) report->measured[k] = exact_value(&sums.measured[k]);
  sim_end_phase(sim, PHASE_MIGRATE, clock); /* who leaves was counted here; the sums are told apart */
  const struct verdict verdict = {(enum trouble)(int)most[MAX_TROUBLE], most[MAX_FARTHER] > 0.0,
                                  count[SUM_OUTSIDE]};
  if (verdict.trouble == TROUBLE_NONE) {
    sim->max_speed = most[MAX_SPEED];
    sim->max_sound = most[MAX_SOUND];
    sim->totals.migrated += count[SUM_LEAVERS];
    sim->totals.shared_plastic += count[SUM_SHARED_PLASTIC];
    sim->totals.shared_contacts += count[SUM_SHARED_NODES];
    sim->totals.shared_changed += count[SUM_SHARED_CHANGED];
    sim->totals.melted += count[SUM_MELTED];
    sim->totals.frozen += count[SUM_FROZEN];
    sim->totals.melted_mass += exact_value(&sums.changed[0]);
    sim->totals.frozen_mass += exact_value(&sums.changed[1]);
    sim->totals.heat_in += sim->heat.heat_in;
    sim->totals.pass_limits += report->pass_limit;
  }
  return verdict;
}

/* Failed tries count as part of the step that is accepted in the end. Other waiting since the last step (for
 * files) is no part of either. */
static void begin_report(struct sim *sim)
{
  memcpy(sim->waited, sim->comm.traffic->waited, sizeof sim->waited);
  if (sim->reported) memset(sim->report.seconds, 0, sizeof sim->report.seconds);
  sim->reported = false;
  sim->report.iterations = sim->report.passes = sim->report.heat_iterations = 0;
  sim->report.pass_limit = false;
}

/* Up to the velocities at n+1. False: the solve did not converge. */
static bool find_velocities(struct sim *sim, double dt, double *clock)
{
  instruments_begin(sim);
  memset(sim->measured, 0, sizeof sim->measured);
  memset(sim->changed, 0, sizeof sim->changed);
  sim->heat.pressure = sim->heat.heat_in = 0.0;
  crew_begin(&sim->crew);
  rasterise(sim, clock);
  update_velocities(sim, clock);
  return solve(sim, dt, clock);
}

/* What P2G keeps for the solve is kept in single or in double precision. */
static void set_mixed(struct sim *sim, bool mixed)
{
  sim->transfer.mixed = mixed;
  transfer_point(&sim->transfer);
}

/* Tries one step of length dt. The old state stays in place until it is accepted. Nodes that particles reach
 * with next to no weight may move faster than single precision has numbers for: a solve that does not
 * converge is tried again in double, on all ranks alike, before the step is cut. */
static bool try_step(struct sim *sim, double dt, struct step_result *result, struct verdict *verdict)
{
  double clock = timer_now();
  const bool mixed = sim->transfer.mixed;
  begin_report(sim);
  sim->transfer.dt = dt;
  sim->transfer.measuring = row_is_due(sim) || sim->transfer.budget;
  sim->heat.before[0] = sim->totals.heat_in;
  sim->heat.before[1] = sim->totals.melted_mass;
  sim->heat.before[2] = sim->totals.frozen_mass;
  *result = (struct step_result){0};
  *verdict = (struct verdict){0};

  bool solved = find_velocities(sim, dt, &clock);
  if (!solved && mixed) {
    set_mixed(sim, false);
    solved = find_velocities(sim, dt, &clock);
  }
  if (solved) {
    update_particles(sim, result, &clock);
    *verdict = judge(sim, result, &clock);
  }
  if (mixed && !sim->transfer.mixed) set_mixed(sim, true);
  return solved && verdict->trouble == TROUBLE_NONE;
}

static const char *describe(enum trouble trouble)
{
  switch (trouble) {
  case TROUBLE_GRADIENT: return "its velocity gradient times the step exceeds 0.5";
  case TROUBLE_INVERTED: return "its deformation turns inside out";
  case TROUBLE_CROSSING: return "it would cross more than a cell";
  case TROUBLE_NOT_FINITE: return "its state is not finite";
  default: return "the solver does not converge";
  }
}

/* The error that ends a run: which particle, where, why. All ranks agree on the lowest rank that has one to
 * show. */
static int give_up(struct sim *sim, double dt, const struct step_result *result,
                   const struct verdict *verdict, const char *advice, struct error *err)
{
  int code = FIRN_OK;
  if (verdict->trouble == TROUBLE_NONE) {
    code = error_set(err, FIRN_EDIVERGE,
                     "step %lld at %.9g s: the solver does not converge with a step of %.3g s; %s",
                     (long long)sim->clock.step, sim->clock.time, dt, advice);
  } else if (result->trouble == verdict->trouble) {
    const int32_t i = sim->order.slot[result->trouble_particle];
    const double x[3] = {sim->p->x[0][i], sim->p->x[1][i], sim->p->x[2][i]};
    const double *lower = sim->scene->lower, h = sim->scene->spacing;
    code = error_set(err, FIRN_EDIVERGE,
                     "step %lld at %.9g s: particle %llu in cell (%.0f, %.0f, %.0f) on rank %d: %s with a "
                     "step of %.3g s; %s",
                     (long long)sim->clock.step, sim->clock.time,
                     (unsigned long long)sim->p->id[sim->order.home[result->trouble_particle]],
                     floor((x[0] - lower[0]) / h), floor((x[1] - lower[1]) / h), floor((x[2] - lower[2]) / h),
                     sim->comm.rank, describe(verdict->trouble), dt, advice);
  }
  return comm_agree(&sim->comm, code, err);
}

/* The first particle of this rank that left the domain, as an error. */
static int stop_leaving(struct sim *sim, struct error *err)
{
  int code = FIRN_OK;
  for (int32_t i = 0; i < sim->p->count && !code; i++)
    if (sim->next.fate[i] == FATE_GONE)
      code = error_set(err, FIRN_EDIVERGE,
                       "step %lld at %.9g s: particle %llu leaves the domain near (%.4g, %.4g, %.4g) m; "
                       "enlarge the domain or set "
                       "domain.leave to remove",
                       (long long)sim->clock.step, sim->clock.time,
                       (unsigned long long)sim->p->id[sim->order.home[i]], sim->next.p->x[0][i],
                       sim->next.p->x[1][i], sim->next.p->x[2][i]);
  return comm_agree(&sim->comm, code, err);
}

/* B, where it has no second copy: the step is accepted, and nobody reads the old one any more. */
static void update_affine(struct sim *sim, double *clock)
{
  if (!(sim->next.once & NEEDS_AFFINE)) return;
  sim->crew.label = "affine planes";
  crew_planes(&sim->crew, sim->mesh.grid, sim->kernels->g2p_affine, &sim->transfer, PASS_ALL);
  sim_end_phase(sim, PHASE_G2P, clock);
}

/* Where a step had to be cut, the next ones would have to be cut too, at the price of each try: they begin at
 * the length that was accepted and grow slowly, so that the next try in vain is twice the length and some 14
 * steps away. */
static void learn_step(struct sim *sim, double dt, int halvings)
{
  static const double growth = 1.05;
  struct sim_clock *clock = &sim->clock;
  if (halvings > 0)
    clock->trusted = dt;
  else
    clock->trusted *= growth;
  if (clock->trusted > sim->scene->max_step) clock->trusted = 0.0;
}

/* The step of length dt that was tried, which ends at `end`. */
static int accept(struct sim *sim, double dt, double end, int halvings, const struct verdict *verdict,
                  struct error *err)
{
  if (verdict->outside && sim->scene->leave == LEAVE_STOP) return stop_leaving(sim, err);
  double clock = timer_now();
  update_affine(sim, &clock);
  if (sim->scene->has_heat) {
    heat_change_phases(sim);
    sim->heat.count = sim->report.liquid;
  }
  instruments_cross(sim);
  if (verdict->outside) instruments_pass_gone(sim);
  const bool cuts_moved = sim_balance(sim);
  if (cuts_moved) sim_find_leavers(sim);
  sim_end_phase(sim, PHASE_MIGRATE, &clock);
  sim_settle(sim, cuts_moved || verdict->farther);
  sim->totals.removed += verdict->outside;
  sim->totals.particles -= verdict->outside;
  clock = timer_now();
  window_move(sim, end);
  sources_act(sim, end);
  sim_end_phase(sim, PHASE_MIGRATE, &clock);
  struct step_report *report = &sim->report;
  report->step = sim->clock.step++;
  report->time = sim->clock.time;
  report->dt = dt;
  report->halvings = halvings;
  report->particles = sim->totals.particles;
  report->removed = sim->totals.removed;
  instruments_accept(sim, dt, report->has_measured);
  sim->clock.time = end;
  sim->clock.on_frame = false;
  learn_step(sim, dt, halvings);
  sim->reported = true;
  log_set_step(sim->clock.step);
  if (sim->hooks.monitor) sim->hooks.monitor(sim->hooks.monitor_context, sim);
  return FIRN_OK;
}

/* A step of length dt from the present time to `end`, which is their sum but for rounding: all that looks at
 * the time of the state (bodies, the window, a restart) must find the very same number. */
static int advance(struct sim *sim, double dt, double end, int depth, struct error *err)
{
  struct step_result result;
  struct verdict verdict;
  if (try_step(sim, dt, &result, &verdict)) return accept(sim, dt, end, depth, &verdict, err);
  if (verdict.trouble == TROUBLE_CROSSING && sim->scene->step > 0.0)
    return give_up(sim, dt, &result, &verdict, "lower time.step or set it to auto", err);
  if (depth == DEEPEST_HALVING)
    return give_up(sim, dt, &result, &verdict, "lower time.step (or time.cfl), or look at the snow there",
                   err);
  sim->totals.halvings++;
  const int code = advance(sim, 0.5 * dt, sim->clock.time + 0.5 * dt, depth + 1, err);
  return code ? code : advance(sim, 0.5 * dt, end, depth + 1, err);
}

int sim_advance(struct sim *sim, double dt, struct error *err)
{
  const int code = advance(sim, dt, sim->clock.time + dt, 0, err);
  sim_tidy(sim);
  sim_find_frame(sim);
  return code;
}

void sim_find_frame(struct sim *sim)
{
  const double rate = sim->scene->frame_rate;
  int64_t frame = (int64_t)fmin(floor(sim->clock.time * rate), 0x1p53);
  if ((double)(frame + 1) / rate <= sim->clock.time) frame++;
  if ((double)frame / rate > sim->clock.time) frame--;
  sim->clock.frame = frame;
  sim->clock.on_frame = sim->clock.time == (double)frame / rate;
}

static double stable_step(const struct sim *sim)
{
  const struct scene *scene = sim->scene;
  if (scene->step > 0.0) return scene->step;
  double speed = sim->max_speed;
  const double soon = sim->clock.time + scene->max_step;
  for (int k = 0; k < scene->body_count; k++)
    speed = fmax(speed, body_max_speed_between(&scene->bodies[k], sim->clock.time, soon));
  double dt = scene->max_step;
  if (speed > 0.0) dt = fmin(dt, scene->cfl * scene->spacing / speed);
  const double gravity = vec_norm(scene->gravity);
  if (gravity > 0.0) dt = fmin(dt, sqrt(scene->cfl * scene->spacing / gravity));
  if (sim->transfer.want_sound && sim->max_sound > 0.0)
    dt = fmin(dt, scene->cfl_sound * scene->spacing / sim->max_sound);
  if (sim->clock.trusted > 0.0) dt = fmin(dt, sim->clock.trusted);
  return dt;
}

/* Steps to one frame beyond which no computer gets to its end. */
static const double most_steps = 1e12;

struct plan {
  double dt, end; /* s: length of the next step, and the time at which it ends */
  double steps;   /* of this length to the next frame */
  bool cut;       /* the scene ends here, before a frame is due */
};

/* Steps of equal length to the next frame; a hair of rounding does not make one more. Where the scene ends
 * before that frame, only the step that would pass its end is shorter: all before it are those of a scene
 * that ends later. */
static struct plan plan_step(const struct sim *sim)
{
  const double frame = (double)(sim->clock.frame + 1) / sim->scene->frame_rate,
               remaining = frame - sim->clock.time;
  const double steps = fmax(1.0, ceil(remaining / stable_step(sim) - 1e-6)), dt = remaining / steps;
  const double last = scene_end_time(sim->scene), left = last - sim->clock.time;
  if (left > 0.0 && last < frame && left <= dt * (1.0 + 1e-6))
    return (struct plan){.dt = left, .end = last, .steps = 1.0, .cut = true};
  return (struct plan){.dt = dt, .end = steps == 1.0 ? frame : sim->clock.time + dt, .steps = steps};
}

double sim_next_step(const struct sim *sim)
{
  return plan_step(sim).dt;
}

bool sim_is_over(const struct sim *sim)
{
  return sim->clock.time >= scene_end_time(sim->scene);
}

bool sim_is_on_beat(const struct sim *sim)
{
  return sim->clock.time == (double)sim->clock.frame / sim->scene->frame_rate;
}

bool sim_next_is_cut(const struct sim *sim)
{
  return plan_step(sim).cut;
}

/* Time must move on, and the next frame must come within a lifetime. Every rank finds the same. */
static int check_plan(const struct sim *sim, const struct plan *plan, struct error *err)
{
  if (plan->end > sim->clock.time && plan->steps <= most_steps) return FIRN_OK;
  return error_set(
      err, FIRN_EDIVERGE,
      "step %lld at %.9g s: the next step would be %.3g s long, and %.3g of them lead to the next "
      "frame: the snow moves at %.3g m/s; look at its velocities, stiffness and density, and at "
      "those of the bodies",
      (long long)sim->clock.step, sim->clock.time, plan->dt, plan->steps, sim->max_speed);
}

int sim_step(struct sim *sim, struct error *err)
{
  const struct plan plan = plan_step(sim);
  int code = check_plan(sim, &plan, err);
  if (!code) code = advance(sim, plan.dt, plan.end, 0, err);
  if (code || plan.steps > 1.0) return code;
  sim_tidy(sim);
  sim->clock.frame++;
  sim->clock.on_frame = true;
  return FIRN_OK;
}

int sim_advance_to_frame(struct sim *sim, int64_t frame, struct error *err)
{
  while (sim->clock.frame < frame) {
    const int code = sim_step(sim, err);
    if (code) return code;
  }
  return FIRN_OK;
}
