#include "sim/instruments.h"

#include "base/memory.h"
#include "bodies/contact.h"
#include "decomposition/reduce.h"
#include "material/models.h"
#include "sim/probes.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Columns of a measured body; those of the budget come last. */
enum { OF_FORCE = 0, OF_TORQUE = 3, OF_AREA = 6, BODY_COLUMNS };

static const char *const budget_names[BUDGET_COUNT] = {"lost_plastic", "lost_friction", "lost_scheme",
                                                       "work_bodies",  "energy_in",     "energy_out",
                                                       "lost_phase",   "work_push",     "work_air"};

/* Of heat and liquid: what the last step's report and the totals say. They come last of all. */
enum {
  HEAT_IN,
  HEAT_STORED,
  HEAT_MELTED,
  HEAT_FROZEN,
  HEAT_LIQUID_VOLUME,
  HEAT_PRESSURE,
  HEAT_PASSES,
  HEAT_ITERATIONS,
  HEAT_COLUMNS
};
static const char *const heat_names[HEAT_COLUMNS] = {"heat_in",       "heat_stored",    "melted_mass",
                                                     "frozen_mass",   "liquid_volume",  "liquid_pressure",
                                                     "liquid_passes", "heat_iterations"};

/* Of a free body, of the state that a row begins with. */
enum { FREE_COLUMNS = 14 };
static const char *const free_names[FREE_COLUMNS] = {"x",  "y",  "z",  "qw", "qx", "qy", "qz",
                                                     "vx", "vy", "vz", "wx", "wy", "wz", "kinetic"};

static bool budget_has(const struct instruments *in, enum budget k)
{
  return in->budget && (k != BUDGET_PHASE || in->heat) && (k != BUDGET_PUSH || in->free) &&
         (k != BUDGET_AIR || in->air);
}

static int budget_columns(const struct instruments *in)
{
  int count = 0;
  for (int k = 0; k < BUDGET_COUNT; k++) count += budget_has(in, (enum budget)k);
  return count;
}

/* Columns that are numbers of the row's own state. */
static int noted_columns(const struct instruments *in)
{
  return (in->heat ? HEAT_COLUMNS : 0) + in->free_count * FREE_COLUMNS;
}

static void add_name(struct instruments *in, const char *format, const char *of, const char *end)
{
  char name[96];
  snprintf(name, sizeof name, format, of, end);
  in->names[in->columns++] = mem_strdup(name);
}

static void name_vector(struct instruments *in, const char *format, const char *of)
{
  static const char *const axes[3] = {"x", "y", "z"};
  for (int d = 0; d < 3; d++) add_name(in, format, of, axes[d]);
}

static void name_columns(struct instruments *in, const struct scene *scene)
{
  in->names = mem_alloc(
      (size_t)((BODY_COLUMNS + 3 + FREE_COLUMNS) * scene->body_count + 6 + BUDGET_COUNT + HEAT_COLUMNS + 1),
      sizeof *in->names);
  for (int k = 0; k < scene->body_count; k++) {
    if (!scene->bodies[k].measured) continue;
    name_vector(in, "force_%s_%s", scene->bodies[k].name);
    name_vector(in, "torque_%s_%s", scene->bodies[k].name);
    add_name(in, "area_%s%s", scene->bodies[k].name, "");
    if (scene->bodies[k].free) name_vector(in, "contact_%s_%s", scene->bodies[k].name);
  }
  if (in->forces) name_vector(in, "%s_%s", "unbalanced");
  if (in->air) name_vector(in, "%s_%s", "force_air");
  for (int k = 0; k < BUDGET_COUNT; k++)
    if (budget_has(in, (enum budget)k)) add_name(in, "%s%s", budget_names[k], "");
  for (int k = 0; k < HEAT_COLUMNS && in->heat; k++) add_name(in, "%s%s", heat_names[k], "");
  for (int k = 0; k < scene->body_count; k++)
    for (int c = 0; c < FREE_COLUMNS && scene->bodies[k].free; c++)
      add_name(in, "%s_%s", scene->bodies[k].name, free_names[c]);
  in->names[in->columns] = mem_strdup("span");
}

struct instruments *instruments_create(const struct scene *scene)
{
  bool forces = false;
  int free_count = 0;
  for (int k = 0; k < scene->body_count; k++) {
    forces |= scene->bodies[k].measured;
    free_count += scene->bodies[k].free != NULL;
  }
  const int flux_count = 4 * probes_flux_count(scene);
  if (!forces && !scene->budget && !scene->has_heat && !flux_count && !free_count && !scene->air) return NULL;
  struct instruments *in = mem_alloc(1, sizeof *in);
  in->forces = forces;
  in->budget = scene->budget;
  in->heat = scene->has_heat;
  in->free_count = free_count;
  in->air = scene->air != NULL;
  in->free = free_count > 0;
  in->body_count = scene->body_count;
  in->step = mem_alloc(1, sizeof *in->step + (size_t)scene->body_count * sizeof *in->step->body);
  for (int k = 0; k < scene->body_count; k++) {
    if (!scene->bodies[k].mapped) continue;
    in->step->body[k].log = push_log_create(scene->spacing, scene->lower);
    in->maps = true;
  }
  name_columns(in, scene);
  in->row = mem_alloc((size_t)in->columns, sizeof *in->row);
  in->carried = mem_alloc((size_t)in->columns + 1, sizeof *in->carried);
  in->since = mem_alloc((size_t)in->columns + 1, sizeof *in->since);
  in->flux_count = flux_count;
  in->load = mem_alloc((size_t)scene->body_count, sizeof *in->load);
  in->crossed = mem_alloc((size_t)flux_count, sizeof *in->crossed);
  in->flux = mem_alloc((size_t)flux_count, sizeof *in->flux);
  return in;
}

void instruments_destroy(struct instruments **instruments)
{
  struct instruments *in = *instruments;
  if (!in) return;
  for (int k = 0; k <= in->columns; k++) mem_free(in->names[k]);
  mem_free(in->names);
  mem_free(in->row);
  mem_free(in->carried);
  mem_free(in->since);
  for (int k = 0; k < in->body_count; k++) push_log_destroy(&in->step->body[k].log);
  mem_free(in->step);
  contact_map_free(&in->map);
  mem_free(in->load);
  mem_free(in->crossed);
  mem_free(in->flux);
  mem_free(in);
  *instruments = NULL;
}

/* Whether contact and energies are tallied. */
static bool tallies(const struct instruments *in)
{
  return in && (in->forces || in->budget);
}

void instruments_begin(struct sim *sim)
{
  struct instruments *in = sim->instruments;
  if (!tallies(in) && !(in && (in->free || in->air))) return;
  memset(in->step, 0, sizeof *in->step);
  for (int k = 0; k < in->body_count; k++) tally_clear(&in->step->body[k]);
  memset(in->passing, 0, sizeof in->passing);
  crew_tally(&sim->crew, in->body_count, in->step->body);
}

struct body_tally *instruments_bodies(struct sim *sim)
{
  return tallies(sim->instruments) ? sim->instruments->step->body : NULL;
}

void instruments_after_solve(struct sim *sim, double factor,
                             void (*product)(void *context, enum node_field in, enum node_field out))
{
  if (!tallies(sim->instruments) || factor == 0.0) return;
  product(sim, NODE_VELOCITY, NODE_A_RESIDUAL);
  instruments_hold(sim, factor);
}

void instruments_hold(struct sim *sim, double factor)
{
  struct instruments *in = sim->instruments;
  const struct grid *g = sim->mesh.grid;
  const struct contact_solve solve = {.grid = g,
                                      .poses = sim->poses,
                                      .pose_count = sim->scene->body_count,
                                      .factor = factor,
                                      .dt = sim->transfer.dt,
                                      .contacts = &sim->contacts,
                                      .tallies = in->step->body,
                                      .unbalanced = in->step->unbalanced};
  rigid_shield(sim, true);
  contact_hold(&solve, grid_owned_tiles(g));
  rigid_shield(sim, false);
  rigid_hold(sim, factor, in->step->body, in->step->unbalanced);
}

/* All sums of the step in one message. */
static void reduce_step(const struct comm *comm, struct instruments *in)
{
  enum { FIRST = sizeof *in->step / sizeof(struct exact_sum) };
  const int count = FIRST + TAKEN_COUNT * in->body_count;
  struct exact_sum *all = mem_alloc((size_t)count, sizeof *all), *bodies = all + FIRST;
  memcpy(all, in->step, sizeof *in->step);
  for (int k = 0; k < in->body_count; k++)
    memcpy(bodies + TAKEN_COUNT * k, in->step->body[k].sum, sizeof in->step->body[k].sum);
  reduce_exact(comm, all, count);
  memcpy(in->step, all, sizeof *in->step);
  for (int k = 0; k < in->body_count; k++)
    memcpy(in->step->body[k].sum, bodies + TAKEN_COUNT * k, sizeof in->step->body[k].sum);
  mem_free(all);
}

void instruments_collect(struct sim *sim)
{
  struct instruments *in = sim->instruments;
  if (!tallies(in) && !(in && in->air)) return;
  crew_collect_tallies(&sim->crew, in->body_count, in->step->body, in->step->energy);
  reduce_step(&sim->comm, in);
}

/* --- energy of single particles --- */

static vd all_lanes(const double *array, int32_t i)
{
  return vd_set(array[i]);
}

double instruments_elastic(const struct sim *sim, const struct particles *state, int32_t i,
                           const struct particles *constants, int32_t home)
{
  if (sim->scene->has_heat && state->liquid[i] != 0.0)
    return heat_pressed(&sim->scene->heat, state->fe[0][i]) * constants->volume[home];
  struct material_lanes m;
  uint32_t material[LANES];
  vd f[9], upper[6], energy;
  for (int l = 0; l < LANES; l++) material[l] = particle_material(constants, home);
  material_gather(sim->constants, material, &m);
  for (int k = 0; k < 9; k++) f[k] = all_lanes(state->fe[k], i);
  const struct history h = {all_lanes(state->jp, i), state->shear ? all_lanes(state->shear, i) : vd_set(0.0)};
  material_left(&m, f, &h, upper, &energy);
  return energy[0] * particle_stiffness(constants, home) * constants->volume[home];
}

void instruments_pass(struct sim *sim, bool enters, const struct particles *state, int32_t i,
                      const struct particles *constants, int32_t home)
{
  struct instruments *in = sim->instruments;
  if (!in || !in->budget) return;
  const double *g = sim->scene->gravity, h = sim->scene->spacing;
  double speed2 = 0.0, fall = 0.0;
  for (int d = 0; d < 3; d++) {
    speed2 += state->v[d][i] * state->v[d][i];
    fall += g[d] * state->x[d][i];
  }
  for (int k = 0; k < 9 && sim->transfer.affine; k++)
    speed2 += state->b[k][i] * state->b[k][i] * (sim->mesh.grid->geometry.support == 4 ? 3.0 : 4.0) / (h * h);
  const double mass = constants->mass[home];
  exact_add(&in->passing[!enters],
            mass * (0.5 * speed2 - fall) + instruments_elastic(sim, state, i, constants, home));
}

void instruments_pass_gone(struct sim *sim)
{
  if (!sim->instruments || !sim->instruments->budget) return;
  for (int32_t i = 0; i < sim->p->count; i++)
    if (sim->next.fate[i] == FATE_GONE)
      instruments_pass(sim, false, sim->next.p, i, sim->p, sim->order.home[i]);
}

bool instruments_want_phases(const struct sim *sim)
{
  return sim->instruments && sim->instruments->budget;
}

void instruments_change_phase(struct sim *sim, double before, double after)
{
  exact_add(&sim->instruments->passing[2], before);
  exact_add(&sim->instruments->passing[2], -after);
}

/* --- from step to step --- */

static void carry(struct carried *to, double value)
{
  const double sum = to->sum + value, part = sum - to->sum;
  to->rest += (to->sum - (sum - part)) + (value - part);
  to->sum = sum;
}

static double carried_value(const struct carried *from)
{
  return from->sum + from->rest;
}

static void carry_body(struct carried *to, const struct body_tally *tally, double spacing, double dt)
{
  for (int d = 0; d < 3; d++) {
    carry(&to[OF_FORCE + d], exact_value(&tally->sum[TAKEN_IMPULSE + d]));
    carry(&to[OF_TORQUE + d], exact_value(&tally->sum[TAKEN_TORQUE + d]));
  }
  carry(&to[OF_AREA], dt * tally_area(tally, spacing));
}

/* Columns of bodies and of what the solve left; returns where the budget begins. */
static struct carried *carry_forces(struct sim *sim, double dt)
{
  const struct instruments *in = sim->instruments;
  struct carried *to = in->carried;
  for (int k = 0; k < in->body_count; k++) {
    if (!sim->scene->bodies[k].measured) continue;
    carry_body(to, &in->step->body[k], sim->scene->spacing, dt);
    to += BODY_COLUMNS;
    if (!sim->scene->bodies[k].free) continue;
    for (int d = 0; d < 3; d++) carry(to++, sim->rigid->body[sim->rigid->index[k]].others[d]);
  }
  for (int d = 0; d < 3 && in->forces; d++) carry(to++, exact_value(&in->step->unbalanced[d]));
  for (int d = 0; d < 3 && in->air; d++) carry(to++, exact_value(&in->step->energy[ENERGY_BLOWN + d]));
  return to;
}

static double taken_of_all(const struct sim *sim, enum taken which, bool scripted)
{
  const struct instruments *in = sim->instruments;
  double sum = 0.0;
  for (int k = 0; k < in->body_count; k++)
    if (!scripted || !sim->scene->bodies[k].free) sum += exact_value(&in->step->body[k].sum[which]);
  return sum;
}

/* The state before the step has the report's energies; after the step but for yielding it has `after`. */
static void carry_budget(struct sim *sim, struct carried *to)
{
  struct instruments *in = sim->instruments;
  reduce_exact(&sim->comm, in->passing, in->heat ? 3 : 2);
  const double *measured = sim->report.measured;
  const double before =
      measured[MEASURED_KINETIC] + measured[MEASURED_ELASTIC] + measured[MEASURED_POTENTIAL];
  const double *moved = in->free ? sim->rigid->after : NULL;
  const double after =
      exact_value(&in->step->energy[ENERGY_AFTER]) + (moved ? moved[0] + moved[1] + moved[2] : 0.0);
  const double friction = taken_of_all(sim, TAKEN_FRICTION, false);
  const double work = taken_of_all(sim, TAKEN_WORK, true), push = in->free ? sim->rigid->work_push : 0.0;
  const double blown = exact_value(&in->step->energy[ENERGY_AIR]);
  carry(&to[BUDGET_PLASTIC], exact_value(&in->step->energy[ENERGY_PLASTIC]));
  carry(&to[BUDGET_FRICTION], friction);
  carry(&to[BUDGET_SCHEME], before - after + (work + push + blown - friction));
  carry(&to[BUDGET_BODIES], work);
  carry(&to[BUDGET_IN], exact_value(&in->passing[0]));
  carry(&to[BUDGET_OUT], exact_value(&in->passing[1]));
  to += BUDGET_PHASE;
  if (in->heat) carry(to++, exact_value(&in->passing[2]));
  if (in->free) carry(to++, push);
  if (in->air) carry(to++, blown);
}

static void note_heat(const struct sim *sim, double *row)
{
  row[HEAT_IN] = sim->heat.before[0];
  row[HEAT_STORED] = sim->report.measured[MEASURED_HEAT];
  row[HEAT_MELTED] = sim->heat.before[1];
  row[HEAT_FROZEN] = sim->heat.before[2];
  row[HEAT_LIQUID_VOLUME] = sim->report.measured[MEASURED_LIQUID];
  row[HEAT_PRESSURE] = sim->report.pressure;
  row[HEAT_PASSES] = sim->report.passes;
  row[HEAT_ITERATIONS] = sim->report.heat_iterations;
}

/* The bodies as they were when the step began. */
static void note_free(const struct sim *sim, double *row)
{
  const struct rigid *r = sim->rigid;
  for (int k = 0; r && k < r->count; k++, row += FREE_COLUMNS) {
    const struct rigid_body *b = &r->body[k];
    memcpy(row, b->state.center, 3 * sizeof *row);
    memcpy(row + 3, b->state.turn, 4 * sizeof *row);
    memcpy(row + 7, b->begin.before, 6 * sizeof *row);
    row[13] = free_kinetic(b->free, &b->state);
  }
}

double instruments_flux(const struct sim *sim, int k)
{
  return carried_value(&sim->instruments->flux[k]);
}

static void carry_flux(struct sim *sim)
{
  struct instruments *in = sim->instruments;
  if (!in->flux_count) return;
  reduce_exact(&sim->comm, in->crossed, in->flux_count);
  for (int k = 0; k < in->flux_count; k++) carry(&in->flux[k], exact_value(&in->crossed[k]));
}

void instruments_cross(struct sim *sim)
{
  struct instruments *in = sim->instruments;
  if (!in || !in->flux_count) return;
  memset(in->crossed, 0, (size_t)in->flux_count * sizeof *in->crossed);
  probes_cross(sim, in->crossed);
}

/* --- where bodies are pushed --- */

/* The map begins anew with the first step after a frame that is written, so a checkpoint of the frame's own
 * state still has what the frame shows. */
static void carry_map(struct sim *sim, double dt)
{
  struct instruments *in = sim->instruments;
  const double h = sim->scene->spacing;
  if (!in->maps) return;
  if (sim->clock.on_frame && sim->clock.frame % sim->scene->frame_every == 0) {
    contact_map_clear(&in->map);
    in->map_span = (struct carried){0.0, 0.0};
  }
  for (int k = 0; k < in->body_count; k++) {
    const struct body_tally *tally = &in->step->body[k];
    if (!tally->log) continue;
    const double q = exact_value(&tally->sum[TAKEN_COVER]), q2 = exact_value(&tally->sum[TAKEN_COVER2]);
    contact_map_add(&in->map, k, tally->log, q2 > 0.0 ? dt * h * h * (q / q2) : 0.0);
  }
  carry(&in->map_span, dt);
}

/* Rank 0: all ranks' places in order. Collective. */
static struct map_node *gather_map(const struct sim *sim, int64_t *count)
{
  const struct contact_map *map = &sim->instruments->map;
  struct map_node *own = mem_alloc((size_t)map->count, sizeof *own);
  int64_t found = 0;
  for (int64_t k = 0; k < map->capacity; k++)
    if (map->node[k].body >= 0) own[found++] = map->node[k];
  struct map_node *all = comm_gather_rows(&sim->comm, own, found, sizeof *own, count);
  *count = contact_map_sort(all, *count);
  mem_free(own);
  return all;
}

struct contact_table *instruments_contacts(const struct sim *sim)
{
  const struct instruments *in = sim->instruments;
  if (!in || !in->maps) return NULL;
  int64_t count;
  struct map_node *node = gather_map(sim, &count);
  struct contact_table *table = NULL;
  if (node)
    table = contact_table_create(node, count, carried_value(&in->map_span), sim->scene->bodies,
                                 sim->scene->spacing, sim->scene->lower, sim->clock.time);
  mem_free(node);
  return table;
}

void instruments_begin_loads(struct sim *sim)
{
  struct instruments *in = sim->instruments;
  if (in) memset(in->load, 0, (size_t)in->body_count * sizeof *in->load);
}

static void add_loads(const struct sim *sim, double dt)
{
  const struct instruments *in = sim->instruments;
  for (int k = 0; tallies(in) && k < in->body_count; k++) {
    const struct body_tally *tally = &in->step->body[k];
    struct body_load *load = &in->load[k];
    for (int d = 0; d < 3; d++) {
      load->impulse[d] += exact_value(&tally->sum[TAKEN_IMPULSE + d]);
      load->torque[d] += exact_value(&tally->sum[TAKEN_TORQUE + d]);
    }
    load->area += dt * tally_area(tally, sim->scene->spacing);
    load->span += dt;
  }
}

/* Forces are means since the last row; the budget of a row is that of the state it begins with. */
void instruments_accept(struct sim *sim, double dt, bool has_row)
{
  struct instruments *in = sim->instruments;
  if (!in) return;
  carry_flux(sim);
  const int carried = in->columns - noted_columns(in), summed = carried - budget_columns(in);
  if (in->heat && has_row) note_heat(sim, in->row + carried);
  if (in->free && has_row) note_free(sim, in->row + carried + (in->heat ? HEAT_COLUMNS : 0));
  for (int k = summed; k < carried && has_row; k++) in->row[k] = carried_value(&in->carried[k]);
  struct carried *budget = carry_forces(sim, dt), *span = &in->carried[in->columns];
  if (in->budget) carry_budget(sim, budget);
  carry(span, dt);
  carry_map(sim, dt);
  add_loads(sim, dt);
  if (!has_row) return;
  for (int k = 0; k < summed; k++) {
    in->row[k] = carried_value(&in->carried[k]) / (carried_value(span) - in->since[k]);
    in->carried[k] = (struct carried){0.0, 0.0};
    in->since[k] = 0.0;
  }
  *span = (struct carried){0.0, 0.0};
}

enum { FLUX_NAME = 96 };

/* The probe that sum k of the flux probes is of. */
static int flux_probe(const struct scene *scene, int k)
{
  int probe = 0;
  for (int before = k / 4; scene->probes[probe].kind != PROBE_FLUX || before-- > 0;) probe++;
  return probe;
}

/* What it goes by in a checkpoint. */
static const char *flux_name(const struct scene *scene, int k, char name[FLUX_NAME])
{
  snprintf(name, FLUX_NAME, "flux_%s_%d", scene->probes[flux_probe(scene, k)].name, k % 4);
  return name;
}

static char *save_map(const struct sim *sim, char *text, size_t used)
{
  enum { LINE = sizeof sim->scene->bodies->name + 3 * 12 + 2 * MAP_SUMS * 21 + 16 };
  int64_t count;
  struct map_node *node = gather_map(sim, &count);
  char *grown = mem_resize(text, used + 1, used + 1 + (size_t)count * LINE, 1), *at = grown + used;
  for (int64_t k = 0; k < count; k++) {
    const struct map_node *n = &node[k];
    at += sprintf(at, "place %s %d %d %d", sim->scene->bodies[n->body].name, n->at[0], n->at[1], n->at[2]);
    for (int s = 0; s < MAP_SUMS; s++)
      at += sprintf(at, " %lld %lld", (long long)n->sum[s].high, (long long)n->sum[s].low);
    at += sprintf(at, "\n");
  }
  mem_free(node);
  return grown;
}

enum { LOADS = sizeof(struct body_load) / sizeof(double), LOAD_NAME = BODY_NAME + 16 };

/* What number n of the load of body k goes by in a checkpoint. */
static const char *load_name(const struct scene *scene, int k, int n, char name[LOAD_NAME])
{
  snprintf(name, LOAD_NAME, "load_%s_%d", scene->bodies[k].name, n);
  return name;
}

static double *load_number(const struct instruments *in, int k, int n)
{
  return (double *)&in->load[k] + n;
}

/* A program that reads forces between steps finds the same ones after a restart. */
static int save_loads(const struct sim *sim, char *at)
{
  char name[LOAD_NAME], *const begin = at;
  for (int k = 0; k < sim->instruments->body_count; k++)
    for (int n = 0; n < LOADS && sim->scene->bodies[k].measured; n++)
      at += sprintf(at, "%s %a 0\n", load_name(sim->scene, k, n, name), *load_number(sim->instruments, k, n));
  return (int)(at - begin);
}

static void restore_load(struct sim *sim, const char *name, double value)
{
  char own[LOAD_NAME];
  for (int k = 0; k < sim->instruments->body_count; k++)
    for (int n = 0; n < LOADS && sim->scene->bodies[k].measured; n++)
      if (strcmp(load_name(sim->scene, k, n, own), name) == 0) *load_number(sim->instruments, k, n) = value;
}

char *instruments_save(const struct sim *sim)
{
  enum { NUMBERS = 96 }; /* characters of three numbers, and what is around them */
  const struct instruments *in = sim->instruments;
  char name[FLUX_NAME];
  if (!in) return NULL;
  size_t size = 1 + (size_t)(in->flux_count + 1) * 2 * NUMBERS;
  for (int k = 0; k <= in->columns; k++) size += strlen(in->names[k]) + NUMBERS;
  size += (size_t)in->body_count * LOADS * (LOAD_NAME + NUMBERS);
  char *text = mem_alloc(size, 1), *at = text;
  for (int k = 0; k <= in->columns; k++)
    at += sprintf(at, "%s %a %a %a\n", in->names[k], in->carried[k].sum, in->carried[k].rest, in->since[k]);
  for (int k = 0; k < in->flux_count; k++)
    at += sprintf(at, "%s %a %a\n", flux_name(sim->scene, k, name), in->flux[k].sum, in->flux[k].rest);
  at += save_loads(sim, at);
  if (!in->maps) return text;
  at += sprintf(at, "map_span %a %a\n", in->map_span.sum, in->map_span.rest);
  return save_map(sim, text, (size_t)(at - text));
}

/* A line of save_map(), copied from the text: sscanf() takes the length of all that follows. */
static void restore_place(struct sim *sim, const char *text)
{
  struct map_node node = {.body = -1};
  char line[1024];
  snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
  char name[sizeof sim->scene->bodies->name];
  int length = 0;
  if (sscanf(line, "place %71s %d %d %d%n", name, &node.at[0], &node.at[1], &node.at[2], &length) != 4)
    return;
  for (int k = 0; k < sim->scene->body_count; k++)
    if (sim->scene->bodies[k].mapped && strcmp(sim->scene->bodies[k].name, name) == 0) node.body = k;
  for (int s = 0; s < MAP_SUMS; s++) {
    long long high, low;
    int more = 0;
    if (sscanf(line + length, " %lld %lld%n", &high, &low, &more) != 2) return;
    node.sum[s] = (struct fixed){high, low};
    length += more;
  }
  if (node.body >= 0) contact_map_add_node(&sim->instruments->map, &node);
}

/* A line of a name and two or three numbers. */
static bool restore_line(struct sim *sim, const char *line, bool *known)
{
  struct instruments *in = sim->instruments;
  char name[96], flux[FLUX_NAME];
  struct carried value;
  double since = 0.0;
  if (sscanf(line, "%95s %la %la%*[ ]%la", name, &value.sum, &value.rest, &since) < 3) return false;
  if (strcmp(name, "map_span") == 0) in->map_span = value;
  if (strncmp(name, "load_", 5) == 0) restore_load(sim, name, value.sum);
  for (int k = 0; k <= in->columns; k++) {
    if (strcmp(in->names[k], name) != 0) continue;
    in->carried[k] = value;
    in->since[k] = since;
    known[k] = true;
  }
  for (int k = 0; k < in->flux_count; k++)
    if (!sim->new_probes[flux_probe(sim->scene, k)] && strcmp(flux_name(sim->scene, k, flux), name) == 0)
      in->flux[k] = value;
  return true;
}

void instruments_restore(struct sim *sim, const char *text)
{
  struct instruments *in = sim->instruments;
  if (!in) return;
  bool *known = mem_alloc((size_t)in->columns + 1, sizeof *known);
  for (const char *line = text; line && strchr(line, '\n'); line = strchr(line, '\n') + 1) {
    const bool place = strncmp(line, "place ", 6) == 0;
    if (place && in->maps && sim->comm.rank == 0) restore_place(sim, line);
    if (!place && !restore_line(sim, line, known)) break;
  }
  for (int k = 0; k < in->columns; k++)
    if (!known[k]) in->since[k] = carried_value(&in->carried[in->columns]);
  mem_free(known);
}
