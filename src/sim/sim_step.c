/* One time step, as method.md has it, and what happens when it is not accepted. */
#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "base/vec.h"
#include "bodies/contact.h"
#include "decomposition/reduce.h"
#include "sim/balance.h"
#include "sim/flow_solve.h"
#include "sim/friction.h"
#include "sim/liquid_step.h"
#include "sim/maps.h"
#include "sim/plan.h"
#include "sim/push.h"
#include "sim/settle.h"
#include "sim/sim.h"
#include "sim/sources.h"
#include "sim/trouble.h"
#include "sim/window_move.h"
#include "solver/cr.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { DEEPEST_HALVING = 8 };

/* Steps 1 and 3: mass, momentum and force of all particles, complete on shared bricks. */
static void rasterise(struct sim *sim, double *clock)
{
  const enum node_field fields[2] = {NODE_MOMENTUM, NODE_VELOCITY};
  const bool fused = transfer_is_fused(&sim->transfer);
  if (fused) grid_clear(sim->mesh.grid, NODE_VELOCITY);
  sim->crew.label = "p2g blocks";
  sim_scatter(sim, sim->kernels->p2g, &sim->transfer, sim->kernels->layout, fields, fused ? 1 : 2);
  if (sim->scene->gap) {
    const enum node_field place = NODE_PLACE;
    sim_scatter(sim, sim->kernels->p2g_place, &sim->transfer, sim->kernels->layout, &place, 1);
  }
  if (scene_has_layers(sim->scene)) {
    const enum node_field room = NODE_ROOM;
    sim_scatter(sim, sim->kernels->p2g_room, &sim->transfer, sim->kernels->layout, &room, 1);
  }
  if (sim->scene->has_heat) heat_rasterise(sim);
  sim_end_phase(sim, PHASE_P2G, clock);
}

/* Step 4: v* on all nodes this rank holds; shared bricks are done by both sides alike, here and below. */
static void update_velocities(struct sim *sim)
{
  const struct grid *g = sim->mesh.grid;
  crew_tiles(&sim->crew, g, sim->kernels->velocity, &sim->transfer, g->tile_count, NULL, 0);
  push_nodes(sim, sim->transfer.dt);
}

/* A part of the tiles, which one thread looks at. */
struct contact_share {
  int32_t begin, end;
  bool counts; /* this rank counts it, else the right neighbour does */
  int64_t found;
};

/* The tiles of [begin, end) in shares, behind those in `shares`. Tiles at bodies cost far more than others.
 */
static int share_tiles(struct contact_share *shares, int count, int32_t begin, int32_t end, int parts,
                       bool counts)
{
  for (int k = 0; k < parts; k++)
    shares[count++] =
        (struct contact_share){begin + (int32_t)((int64_t)(end - begin) * k / parts),
                               begin + (int32_t)((int64_t)(end - begin) * (k + 1) / parts), counts, 0};
  return count;
}

/* Each share has a list of its own; in their order they are the list of all tiles. */
static void collide_shares(struct sim *sim, struct contact_share *shares, int count,
                           struct contacts *contacts, bool tallied)
{
  struct grid *g = sim->mesh.grid;
  const int bodies = sim->scene->body_count;
  const double closes = sim->scene->gap ? sim->transfer.dt : 0.0;
  struct contacts *lists = mem_alloc((size_t)count, sizeof *lists);
#pragma omp parallel for num_threads(g->threads) schedule(dynamic, 1)
  for (int k = 0; k < count; k++) {
    struct contact_share *share = &shares[k];
    struct body_tally *tallies =
        tallied && share->counts ? sim->crew.workers[omp_get_thread_num()].bodies : NULL;
    contacts_clear(&lists[k], sim->contacts.heat, sim->contacts.slide, sim->contacts.whole);
    share->found = contact_nodes(g, sim->poses, bodies, share->begin, share->end, closes,
                                 contacts ? &lists[k] : NULL, tallies);
  }
  for (int k = 0; k < count; k++) {
    if (contacts) contacts_append(contacts, &lists[k]);
    if (contacts && shares[k].counts) contacts->owned = contacts->count;
    contacts_free(&lists[k]);
  }
  mem_free(lists);
}

/* Step 5: bodies act on nodes. */
static void collide_nodes(struct sim *sim, double *clock)
{
  enum { SHARES_A_THREAD = 4 };
  struct grid *g = sim->mesh.grid;
  for (int k = 0; k < sim->scene->body_count; k++)
    body_driven_pose(&sim->scene->bodies[k], &sim->drives[k], sim->clock.time, &sim->poses[k]);
  for (int k = 0; k < sim->scene->body_count; k++) sim->poses[k].dt = sim->transfer.dt;
  const int32_t left = g->has_left ? BRICK_TILES * g->layer_brick[1] : 0, right = grid_owned_tiles(g);
  const int parts = g->threads == 1 ? 1 : SHARES_A_THREAD * g->threads;
  const bool wet = sim->heat.count > 0;
  struct contacts *contacts = wet || sim->scene->beta > 0.0 ? &sim->contacts : NULL;
  contacts_clear(&sim->contacts, wet ? g->node[NODE_HEAT] : NULL, sim->scene->slide,
                 sim->scene->whole_friction && !wet);
  rigid_collide(sim);
  rigid_shield(sim, true);
  struct contact_share shares[3 * SHARES_A_THREAD * MAX_THREADS];
  int count = share_tiles(shares, 0, 0, left, parts, true);
  const int of_left = count;
  count = share_tiles(shares, count, left, right, parts, true);
  count = share_tiles(shares, count, right, g->tile_count, parts, false);
  collide_shares(sim, shares, count, contacts, instruments_bodies(sim) != NULL);
  sim->shared_contacts = sim->report.contact_nodes = 0;
  for (int k = 0; k < count; k++) {
    if (k < of_left) sim->shared_contacts += shares[k].found;
    if (shares[k].counts) sim->report.contact_nodes += shares[k].found;
  }
  rigid_shield(sim, false);
  rigid_mark(sim, instruments_bodies(sim));
  sim_end_phase(sim, PHASE_NODES, clock);
}

static void multiply(struct sim *sim, enum node_field in, enum node_field out, bool diagonal)
{
  struct hessian_arguments arguments = {&sim->transfer, in, out, NULL, diagonal};
  sim->crew.label = "product blocks";
  const struct block_sum sum = {.set = &sim->mesh.grid->blocks,
                                .kernel =
                                    sim->transfer.mixed ? sim->kernels->hessian_mixed : sim->kernels->hessian,
                                .arguments = &arguments,
                                .layout = sim->transfer.mixed ? PART_SHEETS : sim->kernels->layout,
                                .fields = 1,
                                .field = {out},
                                .vector = !diagonal};
  sim_sum(sim, &sum, 1);
}

struct project_arguments {
  const struct contacts *contacts;
  double *field;
};

static void project_tiles(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct project_arguments *a = arguments;
  contacts_project(a->contacts, a->field, begin, end);
}

void sim_project(void *context, enum node_field field)
{
  struct sim *sim = context;
  struct grid *g = sim->mesh.grid;
  struct project_arguments arguments = {&sim->contacts, g->node[field]};
  if (sim->contacts.count)
    crew_tiles(&sim->crew, g, project_tiles, &arguments, grid_owned_tiles(sim->mesh.grid), NULL, 0);
  rigid_project(sim, field);
}

static void apply_hessian(void *context, enum node_field in, enum node_field out)
{
  multiply(context, in, out, false);
}

static void multiply_projected(struct sim *sim, enum node_field in, enum node_field out, bool diagonal)
{
  rigid_before_product(sim, in);
  multiply(sim, in, out, diagonal);
  rigid_after_product(sim, in, out);
  sim_project(sim, out);
}

static void apply_projected(void *context, enum node_field in, enum node_field out)
{
  multiply_projected(context, in, out, false);
}

static void apply_with_diagonal(void *context, enum node_field in, enum node_field out)
{
  multiply_projected(context, in, out, true);
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
                            .owned_tiles = grid_owned_tiles(sim->mesh.grid),
                            .context = sim,
                            .reduce = reduce_dots,
                            .reduce_begin = begin_dots,
                            .reduce_end = end_dots};
}

static struct cr_system snow_system(struct sim *sim)
{
  const double dt = sim->transfer.dt;
  struct cr_system system = sim_system(sim);
  system.unknown = system.fixed = NODE_VELOCITY;
  system.weight = NODE_MOMENTUM;
  system.stop = sim->scene->stop_by_strain ? CR_STOP_SCALE : CR_STOP_SIZE;
  system.scale = sim->scene->spacing / dt; /* a velocity that strains a cell by 1 in the step */
  system.least = 10.0 * vec_norm(sim->scene->gravity) * dt; /* the residual may be a hundredth of gravity */
  system.factor = sim->scene->beta * dt * dt;
  system.product = apply_projected;
  system.project = sim_project;
  system.balanced = true;
  system.held = sim->report.contact_nodes + rigid_held(sim);
  if (sim->scene->jacobi) system.first_product = apply_with_diagonal;
  return system;
}

static struct cr_result solve_system(struct sim *sim, const struct cr_system *system)
{
  const struct cr_result result = (sim->scene->pipelined ? cr_solve_pipelined : cr_solve)(
      system, sim->scene->tolerance, sim->scene->max_iterations);
  sim->report.iterations += result.iterations;
  sim->report.passes++;
  sim->totals.iterations += result.iterations;
  sim->totals.solves++;
  return result;
}

static bool solve_once(struct sim *sim)
{
  friction_clear(sim);
  struct cr_system system = snow_system(sim);
  rigid_begin_solve(sim);
  if (sim->rigid) system.coupling = &sim->rigid->coupling;
  const struct cr_result result = solve_system(sim, &system);
  contacts_restore(&sim->contacts,
                   sim->mesh.grid->node[NODE_VELOCITY]); /* Jacobi's balance moves all nodes */
  rigid_end_solve(sim);
  if (!result.converged || !result.held || !sim->scene->whole_friction) return result.converged;
  multiply(sim, NODE_VELOCITY, NODE_A_RESIDUAL, false);
  friction_begin(sim);
  system.unknown = NODE_PRESSURE;
  const bool converged = solve_system(sim, &system).converged;
  friction_end(sim);
  return converged;
}

/* v* stays in NODE_STAR if something needs it after the solve. */
static void keep_star(struct sim *sim)
{
  struct grid *g = sim->mesh.grid;
  if (!instruments_bodies(sim) && !flow_is_checked(sim)) return;
  struct liquid_arguments arguments = {.transfer = &sim->transfer};
  grid_clear(g, NODE_STAR);
  crew_tiles(&sim->crew, g, sim->kernels->keep_star, &arguments, g->tile_count, NULL, 0);
}

/* Step 6 without liquid. */
static bool snow_solve(struct sim *sim, double dt)
{
  rigid_prepare_solve(sim);
  if (sim->scene->beta == 0.0) return true;
  keep_star(sim);
  if (!flow_solve(sim, solve_once)) return false;
  rigid_accept_solve(sim);
  friction_bear(sim);
  instruments_after_solve(sim, sim->scene->beta * dt * dt, apply_hessian);
  return true;
}

/* Step 6, and heat. */
static bool solve(struct sim *sim, double dt, double *clock)
{
  bool solved = sim->heat.count ? liquid_solve(sim) : snow_solve(sim, dt);
  if (solved && sim->scene->has_heat) solved = heat_solve(sim);
  sim_end_phase(sim, PHASE_SOLVE, clock);
  return solved;
}

/* How crowded it is around what flies. */
static void find_crowds(struct sim *sim)
{
  const enum node_field field = NODE_FILLED;
  struct sim_flight *flight = &sim->flight;
  if (flight->count == 0) return;
  flight->crowd = mem_reserve(flight->crowd, &flight->capacity, sim->p->count, sizeof *flight->crowd);
  sim->transfer.crowd = flight->crowd;
  sim_scatter(sim, sim->kernels->p2g_filled, &sim->transfer, sim->kernels->layout, &field, 1);
  sim_blocks(sim, sim->kernels->find_crowds, &sim->transfer);
}

/* How much wind reaches the particles. */
static void find_loose(struct sim *sim)
{
  if (!sim->transfer.air) return;
  sim->loose = mem_reserve(sim->loose, &sim->loose_capacity, sim->p->count, sizeof *sim->loose);
  sim->transfer.loose = sim->loose;
  sim->transfer.time = sim->clock.time;
  sim_blocks(sim, sim->kernels->find_loose, &sim->transfer);
}

/* Steps 7 to 10, into the next state. */
static void update_particles(struct sim *sim, struct step_result *result, double *clock)
{
  const struct grid *g = sim->mesh.grid;
  find_crowds(sim);
  find_loose(sim);
  if (transfer_is_flip(&sim->transfer))
    crew_tiles(&sim->crew, g, sim->kernels->mix, &sim->transfer, g->tile_count, NULL, 0);
  sim->crew.label = "g2p blocks";
  sim_blocks(sim, sim->kernels->g2p, &sim->transfer);
  if (sim->scene->has_heat) heat_update_particles(sim);
  rigid_finish(sim);
  crew_collect(&sim->crew, result, sim->measured, sim->changed);
  sim_end_phase(sim, PHASE_G2P, clock);
}

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
    SUM_SHARED_CHANGED,
    SUM_FLYING
  };
  const int64_t work = sim_work(sim);
  const bool crosses = sim->rigid && sim->rigid->crosses;
  double most[MAXIMA] = {fmax((double)result->trouble, crosses ? TROUBLE_CROSSING : TROUBLE_NONE),
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
                  sim->report.contact_nodes + (sim->rigid ? sim->rigid->touched : 0), sim->leavers.count,
                  result->shared_plastic, sim->shared_contacts + (sim->rigid ? sim->rigid->shared : 0), work,
                  result->melted, result->frozen, result->liquid, result->shared_changed, result->flying}}};
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
  if (sim->rigid) {
    report->measured[MEASURED_KINETIC] += sim->rigid->energy[0];
    report->measured[MEASURED_ELASTIC] += sim->rigid->energy[1];
    report->measured[MEASURED_POTENTIAL] += sim->rigid->energy[2];
  }
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
    sim->flight.count = count[SUM_FLYING];
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
  sim->report.iterations = sim->report.passes = sim->report.repeats = sim->report.heat_iterations = 0;
  sim->report.pass_limit = false;
}

/* What a try adds up starts at zero. */
static void clear_sums(struct sim *sim)
{
  instruments_begin(sim);
  memset(sim->measured, 0, sizeof sim->measured);
  memset(sim->changed, 0, sizeof sim->changed);
  sim->heat.pressure = sim->heat.heat_in = 0.0;
  crew_begin(&sim->crew);
}

/* The ten steps of docs/method.md, with transfers that do several of them in one pass over the particles.
 * Step 2, volumes, belongs to the first state alone (sim.c). False: the solve did not converge, or what the
 * caller gave is refused. */
static bool ten_steps(struct sim *sim, double dt, struct step_result *result, double *clock)
{
  clear_sums(sim);
  rasterise(sim, clock);  /* 1, 3: mass, momentum and forces on nodes */
  update_velocities(sim); /* 4: forces and gravity act on velocities */
  if (push_is_refused(sim)) return false;
  collide_nodes(sim, clock);                /* 5: bodies act on nodes */
  if (!solve(sim, dt, clock)) return false; /* 6: implicit update; heat, liquid */
  update_particles(sim, result, clock);     /* 7 to 10: F, velocities, bodies, positions */
  return true;
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
  for (int k = 0; k < sim->scene->material_count; k++)
    material_set_step(&sim->scene->materials[k], dt, &sim->constants[k]);
  sim->transfer.measuring = row_is_due(sim) || sim->transfer.budget;
  sim->heat.before[0] = sim->totals.heat_in;
  sim->heat.before[1] = sim->totals.melted_mass;
  sim->heat.before[2] = sim->totals.frozen_mass;
  *result = (struct step_result){0};
  *verdict = (struct verdict){0};

  bool solved = ten_steps(sim, dt, result, &clock);
  if (!solved && mixed && !sim->hooks.push.refused.code) {
    set_mixed(sim, false);
    solved = ten_steps(sim, dt, result, &clock);
  }
  if (solved) *verdict = judge(sim, result, &clock);
  if (mixed && !sim->transfer.mixed) set_mixed(sim, true);
  return solved && verdict->trouble == TROUBLE_NONE;
}

/* B, where it has no second copy: the step is accepted, and nobody reads the old one any more. */
static void update_affine(struct sim *sim, double *clock)
{
  if (!(sim->next.once & NEEDS_AFFINE)) return;
  sim->crew.label = "affine blocks";
  sim_blocks(sim, sim->kernels->g2p_affine, &sim->transfer);
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
  for (int k = 0; k < MEASURED_COUNT && sim->report.has_measured; k++)
    if (!isfinite(sim->report.measured[k])) return trouble_not_finite(sim, err);
  if (verdict->outside && sim->scene->leave == LEAVE_STOP) return trouble_leaving(sim, err);
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
  maps_add(sim, end, false);
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
  rigid_accept(sim);
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
  push_particles(sim, dt);
  if (try_step(sim, dt, &result, &verdict)) return accept(sim, dt, end, depth, &verdict, err);
  push_take_back(sim);
  if (sim->hooks.push.refused.code) {
    if (err) *err = sim->hooks.push.refused;
    return sim->hooks.push.refused.code;
  }
  if (verdict.trouble == TROUBLE_CROSSING && sim->scene->step > 0.0)
    return trouble_give_up(sim, dt, &result, &verdict, "lower time.step or set it to auto", err);
  if (depth == DEEPEST_HALVING)
    return trouble_give_up(sim, dt, &result, &verdict,
                           "lower time.step (or time.cfl), or look at the snow there", err);
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

int sim_step_until(struct sim *sim, double limit, struct error *err)
{
  const struct plan plan = plan_step(sim, limit);
  int code = plan_check(sim, &plan, err);
  sim->totals.shortened += plan_is_shortened(sim);
  if (!code) code = advance(sim, plan.dt, plan.end, 0, err);
  if (code || plan.limited || plan.steps > 1.0) return code;
  sim_tidy(sim);
  code = trouble_check_finite(sim, err);
  if (code) return code;
  sim->clock.frame++;
  sim->clock.on_frame = true;
  return FIRN_OK;
}

int sim_step(struct sim *sim, struct error *err)
{
  return sim_step_until(sim, INFINITY, err);
}

int sim_advance_to_frame(struct sim *sim, int64_t frame, struct error *err)
{
  while (sim->clock.frame < frame) {
    const int code = sim_step(sim, err);
    if (code) return code;
  }
  return FIRN_OK;
}
