/* One time step, as method.md has it, and what happens when it is not accepted. */
#include "base/log.h"
#include "base/timer.h"
#include "base/vec.h"
#include "contact.h"
#include "decomposition/reduce.h"
#include "sim.h"
#include "solver/cr.h"

#include <math.h>
#include <string.h>

enum { DEEPEST_HALVING = 8 };

static void clock_phase(struct sim *sim, enum phase phase, double *since)
{
  const double now = timer_now();
  sim->report.seconds[phase] += now - *since;
  log_set_phase(phase_names[phase]);
  *since = now;
}

/* Steps 1 and 3: mass, momentum and force of all particles, complete on shared planes. */
static void rasterise(struct sim *sim, double *clock)
{
  const enum grid_group groups[2] = {GROUP_MOMENTUM, GROUP_VELOCITY};
  const int count = transfer_is_fused(&sim->transfer) ? 1 : 2;
  for (int k = 0; k < 2; k++) grid_clear(sim->grid, groups[k]);
  crew_p2g(&sim->crew, sim->kernels, &sim->transfer, PASS_EDGES);
  halo_begin(sim->halo, sim->grid, groups, count);
  crew_p2g(&sim->crew, sim->kernels, &sim->transfer, PASS_INSIDE);
  clock_phase(sim, PHASE_P2G, clock);
  halo_end(sim->halo, sim->grid, groups, count);
  clock_phase(sim, PHASE_EXCHANGE, clock);
}

/* Steps 4 and 5: v* on all nodes this rank holds; shared planes are done by both sides alike. */
static void update_velocities(struct sim *sim, double *clock)
{
  struct grid *g = sim->grid;
  crew_velocity(&sim->crew, sim->kernels, &sim->transfer);
  for (int k = 0; k < sim->scene->body_count; k++)
    body_pose_at(&sim->scene->bodies[k], sim->time, &sim->poses[k]);
  const int shared = g->frame.support - 1, bodies = sim->scene->body_count;
  const int32_t left = g->has_left ? shared : 0, right = g->has_right ? g->planes : g->node_planes;
  const int64_t of_left = contact_nodes(g, sim->poses, bodies, 0, left);
  sim->report.contact_nodes = of_left + contact_nodes(g, sim->poses, bodies, left, right);
  contact_nodes(g, sim->poses, bodies, right, g->node_planes); /* counted by the right neighbour */
  sim->shared_contacts = of_left;
  clock_phase(sim, PHASE_NODES, clock);
}

static void apply_hessian(void *context, enum grid_group in, enum grid_group out)
{
  struct sim *sim = context;
  grid_clear(sim->grid, out);
  crew_hessian(&sim->crew, sim->kernels, &sim->transfer, in, out, PASS_EDGES);
  halo_begin(sim->halo, sim->grid, &out, 1);
  crew_hessian(&sim->crew, sim->kernels, &sim->transfer, in, out, PASS_INSIDE);
  halo_end(sim->halo, sim->grid, &out, 1);
}

static void reduce_dots(void *context, struct exact_sum *sums, int count)
{
  const struct sim *sim = context;
  reduce_exact(&sim->comm, sums, count);
  log_set_phase(phase_names[PHASE_SOLVE]);
}

/* Step 6. */
static bool solve(struct sim *sim, double dt, double *clock)
{
  if (sim->scene->beta == 0.0) return true;
  const struct cr_system system = {.grid = sim->grid,
                                   .crew = &sim->crew,
                                   .kernels = sim->kernels,
                                   .factor = sim->scene->beta * dt * dt,
                                   .owned_tiles = sim_owned_tiles(sim),
                                   .context = sim,
                                   .hessian = apply_hessian,
                                   .reduce = reduce_dots};
  const struct cr_result result = cr_solve(&system, sim->scene->tolerance, sim->scene->max_iterations);
  sim->report.iterations += result.iterations;
  sim->totals.iterations += result.iterations;
  sim->totals.solves++;
  clock_phase(sim, PHASE_SOLVE, clock);
  return result.converged;
}

/* Steps 7 to 10, into the scratch. */
static void update_particles(struct sim *sim, struct step_result *result, int64_t *shared_plastic,
                             double *clock)
{
  *shared_plastic = 0;
  if (transfer_is_flip(&sim->transfer)) crew_mix(&sim->crew, sim->kernels, &sim->transfer);
  crew_g2p(&sim->crew, sim->kernels, &sim->transfer, result, shared_plastic);
  clock_phase(sim, PHASE_G2P, clock);
}

/* Particles that change rank, and whether one of them goes farther than to a neighbour. */
static int64_t count_leavers(const struct sim *sim, double *farther)
{
  const int rank = sim->comm.rank;
  if (sim->slabs->count == 1 || rank >= sim->slabs->count) return 0; /* nowhere to go, or nobody there */
  const int32_t low = sim->slabs->cut[rank], high = sim->slabs->cut[rank + 1];
  int64_t leavers = 0;
  for (int32_t i = 0; i < sim->p->count; i++) {
    if (sim->next.key[i] == REORDER_GONE) continue;
    const int32_t plane = grid_key_plane(sim->next.key[i]);
    if (plane >= low && plane < high) continue;
    leavers++;
    const int owner = slabs_owner(sim->slabs, plane);
    if (owner != rank - 1 && owner != rank + 1) *farther = 1.0;
  }
  return leavers;
}

/* What all ranks must know of the step that was tried. */
struct verdict {
  enum trouble trouble;
  bool farther;
  int64_t outside;
};

static struct verdict judge(struct sim *sim, const struct step_result *result, int64_t shared_plastic,
                            double *clock)
{
  enum { MAX_TROUBLE, MAX_FARTHER, MAX_SPEED, MAX_SOUND, MAX_WORK, MAX_REQUEST, MAXIMA };
  enum {
    SUM_PLASTIC,
    SUM_LIMIT,
    SUM_OUTSIDE,
    SUM_TOUCHED,
    SUM_NODES,
    SUM_LEAVERS,
    SUM_SHARED_PLASTIC,
    SUM_SHARED_NODES,
    SUM_WORK
  };
  const int64_t work = sim_work(sim);
  double most[MAXIMA] = {
      (double)result->trouble, 0.0,          result->max_speed,
      result->max_sound,       (double)work, sim->poll ? sim->poll(sim->poll_context) : 0.0};
  struct {
    struct exact_sum measured[MEASURED_COUNT];
    struct exact_sum counts; /* integers ride along in one more sum's limbs */
  } sums = {.counts = {{result->plastic, result->hardened_to_limit, result->outside, result->contacts,
                        sim->report.contact_nodes, count_leavers(sim, &most[MAX_FARTHER]), shared_plastic,
                        sim->shared_contacts, work}}};
  memcpy(sums.measured, sim->measured, sizeof sums.measured);
  comm_max(&sim->comm, most, MAXIMA);
  sim->request = fmax(sim->request, most[MAX_REQUEST]);
  const int skipped = sim->transfer.measuring ? 0 : MEASURED_COUNT;
  reduce_exact(&sim->comm, &sums.measured[skipped], MEASURED_COUNT + 1 - skipped);

  const int64_t *count = sums.counts.limb;
  struct step_report *report = &sim->report;
  report->plastic = count[SUM_PLASTIC];
  report->hardened_to_limit = count[SUM_LIMIT];
  report->contact_particles = count[SUM_TOUCHED];
  report->contact_nodes = count[SUM_NODES];
  report->max_speed = most[MAX_SPEED];
  report->imbalance = count[SUM_WORK] ? most[MAX_WORK] * sim->comm.size / (double)count[SUM_WORK] : 1.0;
  report->has_measured = sim->transfer.measuring;
  for (int k = 0; k < MEASURED_COUNT; k++) report->measured[k] = exact_value(&sums.measured[k]);
  clock_phase(sim, PHASE_REDUCE, clock);
  const struct verdict verdict = {(enum trouble)(int)most[MAX_TROUBLE], most[MAX_FARTHER] > 0.0,
                                  count[SUM_OUTSIDE]};
  if (verdict.trouble == TROUBLE_NONE) {
    sim->max_speed = most[MAX_SPEED];
    sim->max_sound = most[MAX_SOUND];
    sim->totals.migrated += count[SUM_LEAVERS];
    sim->totals.shared_plastic += count[SUM_SHARED_PLASTIC];
    sim->totals.shared_contacts += count[SUM_SHARED_NODES];
  }
  return verdict;
}

/* Tries one step of length dt. The old state stays in place until it is accepted. */
static bool try_step(struct sim *sim, double dt, struct step_result *result, struct verdict *verdict)
{
  double clock = timer_now();
  memset(sim->report.seconds, 0, sizeof sim->report.seconds);
  sim->report.iterations = 0;
  sim->transfer.dt = dt;
  sim->transfer.measuring = sim->measure_every > 0 && sim->step % sim->measure_every == 0;
  memset(sim->measured, 0, sizeof sim->measured);

  rasterise(sim, &clock);
  update_velocities(sim, &clock);
  const bool solved = solve(sim, dt, &clock);
  int64_t shared_plastic = 0;
  *result = (struct step_result){0};
  *verdict = (struct verdict){0};
  if (!solved) return false;
  update_particles(sim, result, &shared_plastic, &clock);
  *verdict = judge(sim, result, shared_plastic, &clock);
  return verdict->trouble == TROUBLE_NONE;
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
                     (long long)sim->step, sim->time, dt, advice);
  } else if (result->trouble == verdict->trouble) {
    const int32_t i = sim->order.slot[result->trouble_particle];
    const double x[3] = {sim->p->x[0][i], sim->p->x[1][i], sim->p->x[2][i]};
    const double *lower = sim->scene->lower, h = sim->scene->spacing;
    code = error_set(err, FIRN_EDIVERGE,
                     "step %lld at %.9g s: particle %llu in cell (%.0f, %.0f, %.0f) on rank %d: %s with a "
                     "step of %.3g s; %s",
                     (long long)sim->step, sim->time,
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
    if (sim->next.key[i] == REORDER_GONE)
      code = error_set(err, FIRN_EDIVERGE,
                       "step %lld at %.9g s: particle %llu leaves the domain near (%.4g, %.4g, %.4g) m; "
                       "enlarge the domain or set "
                       "domain.leave to remove",
                       (long long)sim->step, sim->time, (unsigned long long)sim->p->id[sim->order.home[i]],
                       sim->next.x[0][i], sim->next.x[1][i], sim->next.x[2][i]);
  return comm_agree(&sim->comm, code, err);
}

static int accept(struct sim *sim, double dt, int halvings, const struct verdict *verdict, struct error *err)
{
  if (verdict->outside && sim->scene->leave == LEAVE_STOP) return stop_leaving(sim, err);
  const bool cuts_moved = sim_balance(sim);
  sim_settle(sim, cuts_moved || verdict->farther);
  sim->removed += verdict->outside;
  sim->particles -= verdict->outside;
  window_move(sim, sim->time + dt);
  struct step_report *report = &sim->report;
  report->step = sim->step++;
  report->time = sim->time;
  report->dt = dt;
  report->halvings = halvings;
  report->particles = sim->particles;
  report->removed = sim->removed;
  sim->time += dt;
  sim->on_frame = false;
  log_set_step(sim->step);
  if (sim->monitor) sim->monitor(sim->monitor_context, sim);
  return FIRN_OK;
}

static int advance(struct sim *sim, double dt, int depth, struct error *err)
{
  struct step_result result;
  struct verdict verdict;
  if (try_step(sim, dt, &result, &verdict)) return accept(sim, dt, depth, &verdict, err);
  if (verdict.trouble == TROUBLE_CROSSING && sim->scene->step > 0.0)
    return give_up(sim, dt, &result, &verdict, "lower time.step or set it to auto", err);
  if (depth == DEEPEST_HALVING)
    return give_up(sim, dt, &result, &verdict, "lower time.step (or time.cfl), or look at the snow there",
                   err);
  sim->totals.halvings++;
  const int code = advance(sim, 0.5 * dt, depth + 1, err);
  return code ? code : advance(sim, 0.5 * dt, depth + 1, err);
}

static int advance_whole(struct sim *sim, double dt, struct error *err)
{
  const double end = sim->time + dt;
  const int code = advance(sim, dt, 0, err);
  if (!code) sim->time = end;
  return code;
}

int sim_advance(struct sim *sim, double dt, struct error *err)
{
  const int code = advance_whole(sim, dt, err);
  sim_tidy(sim);
  return code;
}

static double stable_step(const struct sim *sim)
{
  const struct scene *scene = sim->scene;
  if (scene->step > 0.0) return scene->step;
  double speed = sim->max_speed;
  const double soon = sim->time + scene->max_step;
  for (int k = 0; k < scene->body_count; k++)
    speed = fmax(speed, body_max_speed_between(&scene->bodies[k], sim->time, soon));
  double dt = scene->max_step;
  if (speed > 0.0) dt = fmin(dt, scene->cfl * scene->spacing / speed);
  const double gravity = vec_norm(scene->gravity);
  if (gravity > 0.0) dt = fmin(dt, sqrt(scene->cfl * scene->spacing / gravity));
  if (scene->beta == 0.0 && sim->max_sound > 0.0)
    dt = fmin(dt, scene->cfl_sound * scene->spacing / sim->max_sound);
  return dt;
}

/* Steps of equal length to the next frame; a hair of rounding does not make one more. */
static int64_t steps_to_frame(const struct sim *sim, double remaining)
{
  return (int64_t)fmax(1.0, ceil(remaining / stable_step(sim) - 1e-6));
}

double sim_next_step(const struct sim *sim)
{
  const double remaining = (double)(sim->frame + 1) / sim->scene->frame_rate - sim->time;
  return remaining / (double)steps_to_frame(sim, remaining);
}

int sim_step(struct sim *sim, struct error *err)
{
  const double target = (double)(sim->frame + 1) / sim->scene->frame_rate, remaining = target - sim->time;
  const int64_t steps = steps_to_frame(sim, remaining);
  const int code = advance_whole(sim, remaining / (double)steps, err);
  if (code || steps > 1) return code;
  sim_tidy(sim);
  sim->time = target;
  sim->frame++;
  sim->on_frame = true;
  return FIRN_OK;
}

int sim_advance_to_frame(struct sim *sim, int64_t frame, struct error *err)
{
  while (sim->frame < frame) {
    const int code = sim_step(sim, err);
    if (code) return code;
  }
  return FIRN_OK;
}
