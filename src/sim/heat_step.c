#include "sim/heat_step.h"

#include "base/fmath.h"
#include "base/memory.h"
#include "base/vec.h"
#include "material/models.h"
#include "sim/sim.h"
#include "solver/cr.h"

#include <math.h>

static struct heat_arguments arguments_of(struct sim *sim)
{
  const struct scene *scene = sim->scene;
  bool space = scene->heat.ambient_exchange > 0.0;
  for (int k = 0; k < scene->body_count; k++) space = space || scene->bodies[k].has_temperature;
  return (struct heat_arguments){.transfer = &sim->transfer,
                                 .law = &scene->heat,
                                 .conduction = sim->heat.conduction,
                                 .space = space,
                                 .liquid = sim->heat.count ? &sim->heat.liquid : NULL};
}

void heat_begin(struct sim *sim)
{
  if (!sim->scene->has_heat) return;
  int64_t count = 0;
  for (int32_t i = 0; i < sim->p->count; i++) count += sim->p->liquid[i] != 0.0;
  comm_sum_i64(&sim->comm, &count, 1);
  sim->heat.count = count;
}

void heat_rasterise(struct sim *sim)
{
  struct sim_heat *heat = &sim->heat;
  enum { MOST_LANES = 8 }; /* of any instruction set: whole registers are read from any particle on */
  heat->conduction = mem_reserve(heat->conduction, &heat->conduction_capacity, sim->p->count + MOST_LANES,
                                 sizeof *heat->conduction);
  struct heat_arguments arguments = arguments_of(sim);
  const enum node_field fields[2] = {NODE_HEAT, NODE_SPACE};
  sim->crew.label = "heat blocks";
  if (!arguments.space) grid_clear(sim->mesh.grid, NODE_SPACE);
  sim_scatter(sim, sim->kernels->p2g_heat, &arguments, sim->kernels->layout, fields, arguments.space ? 2 : 1);
}

/* --- what passes through surfaces
 * ------------------------------------------------------------------------------- */

/* G and G y of a node: bodies take their share of its surface, the rest is the air's. */
static void exchange_at(const struct sim *sim, const double *temperature, const double x[3],
                        const double heat[4], bool near, double space[4])
{
  const struct heat_law *law = &sim->scene->heat;
  const double h = sim->scene->spacing, volume = space[0];
  double rest[3] = {space[1], space[2], space[3]}, conductance = 0.0, flow = 0.0;
  space[0] = space[1] = space[2] = space[3] = 0.0;
  if (!(volume > 0.0)) return;
  for (int k = 0; k < sim->scene->body_count && near; k++) {
    const struct body_pose *pose = &sim->poses[k];
    double n[3];
    if (!(shape_distance(&pose->shape, x, NULL) < 2.0 * h)) continue;
    shape_distance(&pose->shape, x, n);
    const double along = vec_dot(n, rest);
    if (!(along < 0.0)) continue;
    vec_axpy(rest, -along, n, rest);
    if (!pose->body->has_temperature) continue;
    const double g = -along * (heat[2] / volume) / (law->contact_cells * h);
    conductance += g;
    flow += g * temperature[k];
  }
  const double open = 2.0 * (1.0 - volume / (h * h * h)), part = open < 0.0 ? 0.0 : open > 1.0 ? 1.0 : open;
  const double g = law->ambient_exchange * (4.0 / 3.0) * part * vec_norm(rest);
  space[0] = conductance + g;
  space[1] = flow + g * (law->ambient_temperature - law->melting_point);
}

/* NODE_SPACE becomes (G, G y). */
struct exchange_arguments {
  const struct sim *sim;
  const double *temperature; /* T - T_melt of each body */
};

static void exchange_tiles(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct exchange_arguments *a = arguments;
  const struct sim *sim = a->sim;
  const struct grid *g = sim->mesh.grid;
  for (int32_t tile = begin; tile < end; tile++) {
    double center[3];
    const double radius = grid_tile_ball(g, tile, center) + 2.0 * sim->scene->spacing;
    bool near = false;
    for (int k = 0; k < sim->scene->body_count; k++)
      near = near || body_may_touch(&sim->poses[k], center, radius);
    for (int k = 0; k < TILE_NODES; k++) {
      const int64_t at = (int64_t)tile * TILE_DOUBLES + 4 * k;
      double x[3];
      grid_tile_node(g, tile, k, x);
      exchange_at(sim, a->temperature, x, g->node[NODE_HEAT] + at, near, g->node[NODE_SPACE] + at);
    }
  }
}

static void exchange(struct sim *sim)
{
  const struct scene *scene = sim->scene;
  double *temperature = mem_alloc((size_t)scene->body_count, sizeof *temperature);
  for (int k = 0; k < scene->body_count; k++)
    if (scene->bodies[k].has_temperature)
      temperature[k] = body_temperature(&scene->bodies[k], sim->clock.time) - scene->heat.melting_point;
  struct exchange_arguments arguments = {sim, temperature};
  crew_tiles(&sim->crew, sim->mesh.grid, exchange_tiles, &arguments, sim->mesh.grid->tile_count, NULL, 0);
  mem_free(temperature);
}

/* --- the solve
 * --------------------------------------------------------------------------------------------------- */

static void conduct(void *context, enum node_field in, enum node_field out)
{
  struct sim *sim = context;
  struct heat_arguments arguments = arguments_of(sim);
  arguments.in = in;
  arguments.out = out;
  sim->crew.label = "heat blocks";
  sim_scatter(sim, sim->kernels->heat_product, &arguments, PART_NODES, &out, 1);
  if (arguments.space)
    crew_tiles(&sim->crew, sim->mesh.grid, sim->kernels->heat_loss, &arguments, sim->mesh.grid->tile_count,
               NULL, 0);
}

bool heat_solve(struct sim *sim)
{
  struct grid *g = sim->mesh.grid;
  const struct heat_law *law = &sim->scene->heat;
  struct heat_arguments arguments = arguments_of(sim);
  if (arguments.space) exchange(sim);
  const enum node_field made[3] = {NODE_WARM, NODE_STAR, NODE_RIGHT};
  for (int k = 0; k < 3; k++) grid_clear(g, made[k]);
  crew_tiles(&sim->crew, g, sim->kernels->heat_begin, &arguments, g->tile_count, NULL, 0);
  struct cr_system system = sim_system(sim);
  system.unknown = system.fixed = NODE_WARM;
  system.weight = NODE_HEAT;
  system.has_right = true;
  system.right = NODE_RIGHT;
  system.measure = NODE_STAR;
  system.factor = sim->transfer.dt;
  system.product = conduct;
  system.may_be_solved = true; /* natural conduction hardly moves within a step */
  const struct cr_result result = cr_solve(&system, law->tolerance, law->max_iterations);
  sim->report.heat_iterations += result.iterations;
  if (!result.converged) return false;
  struct exact_sum gained = {{0}};
  crew_tiles(&sim->crew, g, sim->kernels->heat_end, &arguments, grid_owned_tiles(sim->mesh.grid), &gained, 1);
  reduce_exact(&sim->comm, &gained, 1);
  sim->heat.heat_in = exact_value(&gained);
  return true;
}

/* --- particles
 * --------------------------------------------------------------------------------------------------- */

void heat_update_particles(struct sim *sim)
{
  struct heat_arguments arguments = arguments_of(sim);
  sim->crew.label = "heat blocks";
  sim_blocks(sim, sim->kernels->g2p_heat, &arguments);
}

static void set_isotropic(struct particles *p, int32_t i, double stretch, bool log_volume)
{
  for (int k = 0; k < 9; k++) p->fe[k][i] = k % 4 == 0 ? stretch : 0.0;
  p->jp[i] = log_volume ? 0.0 : 1.0;
  if (p->shear) p->shear[i] = 0.0;
  if (p->flow) p->flow[i] = 0.0;
}

static double volume_ratio(const struct particles *p, int32_t i, bool log_volume)
{
  double *const *f = p->fe;
  const double j = f[0][i] * (f[4][i] * f[8][i] - f[5][i] * f[7][i]) -
                   f[1][i] * (f[3][i] * f[8][i] - f[5][i] * f[6][i]) +
                   f[2][i] * (f[3][i] * f[7][i] - f[4][i] * f[6][i]);
  return j * (log_volume ? vd_exp(vd_set(p->jp[i]))[0] : p->jp[i]);
}

/* Of the next state's particle i, whose constants are at `home`. */
static void melt(struct sim *sim, int32_t i, int32_t home, bool log_volume)
{
  const double rest = sim->p->mass[home] / sim->scene->heat.rho_liquid;
  const double j = sim->p->volume[home] * volume_ratio(sim->next.p, i, log_volume) / rest;
  sim->p->volume[home] = rest;
  set_isotropic(sim->next.p, i, fmath_cbrt(j > 1.0 ? j : 1.0), log_volume);
  sim->next.p->liquid[i] = 1.0;
}

static void freeze(struct particles *next, int32_t i, bool log_volume)
{
  if (next->fe[0][i] > 1.0) set_isotropic(next, i, 1.0, log_volume);
  next->liquid[i] = 0.0;
}

void heat_change_phases(struct sim *sim)
{
  struct particles *next = sim->next.p;
  const bool tallied = instruments_want_phases(sim);
  for (int32_t i = 0; i < sim->p->count; i++) {
    const double u = next->enthalpy[i];
    const bool melts = next->liquid[i] == 0.0 && u >= sim->scene->heat.latent,
               freezes = next->liquid[i] != 0.0 && u <= 0.0;
    if (!melts && !freezes) continue;
    const int32_t home = sim->order.home[i];
    const bool log_volume = models[sim->scene->materials[particle_material(sim->p, home)].model]->log_volume;
    const double before = tallied ? instruments_elastic(sim, next, i, sim->p, home) : 0.0;
    if (melts)
      melt(sim, i, home, log_volume);
    else
      freeze(next, i, log_volume);
    if (tallied) instruments_change_phase(sim, before, instruments_elastic(sim, next, i, sim->p, home));
  }
}

void heat_free(struct sim_heat *heat)
{
  struct liquid *l = &heat->liquid;
  mem_free(heat->conduction);
  mem_free(heat->cell_state);
  mem_free(heat->cell_solid);
  mem_free(heat->cell_j);
  for (int side = 0; side < 2; side++) {
    mem_free(heat->own[side].word);
    mem_free(heat->other[side].word);
    mem_free(heat->own_j[side].word);
    mem_free(heat->other_j[side].word);
  }
  block_set_free(&l->blocks);
  mem_free(l->keys);
  mem_free(l->cell);
  mem_free(l->of_cell);
  mem_free(l->table);
  mem_free(l->borne);
  *heat = (struct sim_heat){0};
}
