/* Particles to grid: method.md, steps 1 to 3, and the estimate of V0. */
#include "base/simd_single.h"
#include "kernels/stencil.h"

/* Sums over a block's particles, in lanes; folded in fixed order when the block is done. */
struct tally {
  vd sum[MEASURED_COUNT];
};

static void tally_batch(struct tally *tally, const struct transfer *t, const struct batch *batch, vd energy)
{
  const struct particles *p = t->p;
  const vm live = vm_first(batch->count);
  const vd zero = vd_set(0.0), m = vd_select(live, batch_constant(p->mass, batch), zero);
  vd x[3], v[3];
  for (int d = 0; d < 3; d++) {
    x[d] = vd_select(live, batch_load(p->x[d], batch), zero);
    v[d] = vd_select(live, batch_load(p->v[d], batch), zero);
  }
  vd speed2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
  vd *sum = tally->sum;
  sum[MEASURED_MASS] += m;
  for (int d = 0; d < 3; d++) {
    const int e = (d + 1) % 3, f = (d + 2) % 3;
    sum[MEASURED_MOMENTUM + d] += m * v[d];
    sum[MEASURED_ANGULAR + d] += m * (x[e] * v[f] - x[f] * v[e]);
    sum[MEASURED_POTENTIAL] -= m * vd_set(t->gravity[d]) * x[d];
  }
  if (t->affine) { /* the affine part of APIC carries momentum and energy of its own */
    vd b[9];
    for (int k = 0; k < 9; k++) b[k] = vd_select(live, batch_load(p->b[k], batch), zero);
    const double inverse = stencil_scale(&t->grid->geometry, OFFSET) * t->grid->geometry.inverse;
    for (int k = 0; k < 9; k++) speed2 += b[k] * b[k] * vd_set(inverse);
    for (int d = 0; d < 3; d++) {
      const int e = (d + 1) % 3, f = (d + 2) % 3;
      sum[MEASURED_ANGULAR + d] += m * (b[3 * f + e] - b[3 * e + f]);
    }
  }
  sum[MEASURED_KINETIC] += vd_set(0.5) * m * speed2;
  if (t->heat) {
    const vd root = batch_load(p->fe[0], batch), j = root * root * root,
             pressed = vd_min(j, vd_set(1.0)) - vd_set(1.0);
    const vd liquid = vd_select(live, batch_load(p->liquid, batch), zero) * batch_constant(p->volume, batch);
    sum[MEASURED_HEAT] += m * batch_load(p->enthalpy, batch);
    sum[MEASURED_LIQUID] += liquid * j;
    energy += vd_set(0.5 * t->heat->lambda_liquid) * liquid * pressed * pressed;
  }
  sum[MEASURED_ELASTIC] += vd_select(live, energy, zero);
}

static void tally_end(const struct tally *tally, struct exact_sum *measured)
{
  for (int k = 0; k < MEASURED_COUNT; k++) exact_add(&measured[k], vd_sum(tally->sum[k]));
}

static void keep_single(const struct kept *kept, int first, int32_t s, int count, const vd a[], int n)
{
  for (int k = 0; k < n; k++) vd_store_single(kept->single[first + k] + s, a[k], count);
}

/* Where the particles are in their cells, for a mixed solve: from the lower bound or, with a minus sign, to
 * the upper one, whichever is nearer. Either way the rounding is relative to the distance. */
static void keep_places(const struct transfer *t, int32_t s, int count, const vd x[3])
{
  const struct grid_geometry *geometry = &t->grid->geometry;
  for (int a = 0; a < 3; a++) {
    const vd u =
        stencil_position(geometry, x[geometry->axis[a]], a) + vd_set(geometry->support == 4 ? 0.0 : 0.5);
    const vd f = u - stencil_floor(u), place = vd_where_greater(f, vd_set(0.5), f - vd_set(1.0), f);
    vd_store_single(t->kept.single[SINGLE_PLACE + a] + s, place, count);
  }
}

/* What the solve needs of snow. */
static void keep_snow(const struct kept *kept, bool mixed, int32_t s, int count,
                      const struct snow_tangent *tangent)
{
  if (mixed) {
    keep_single(kept, SINGLE_SNOW_STRETCH, s, count, tangent->v, 6);
    keep_single(kept, SINGLE_SNOW_MU, s, count, &tangent->mu, 1);
    keep_single(kept, SINGLE_SNOW_BULK, s, count, &tangent->bulk, 1);
    keep_single(kept, SINGLE_SNOW_PRESSURE, s, count, &tangent->pressure, 1);
    return;
  }
  for (int k = 0; k < 6; k++) vd_store_some(kept->stretch[k] + s, tangent->v[k], count);
  vd_store_some(kept->mu + s, tangent->mu, count);
  vd_store_some(kept->bulk + s, tangent->bulk, count);
  vd_store_some(kept->pressure + s, tangent->pressure, count);
}

/* And of any model. */
static void keep_tangent(const struct kept *kept, bool mixed, int32_t s, int count,
                         const struct tangent *tangent)
{
  if (mixed) {
    keep_single(kept, SINGLE_AXES, s, count, tangent->u, 9);
    keep_single(kept, SINGLE_TANGENT, s, count, tangent->d, 6);
    keep_single(kept, SINGLE_TANGENT + 6, s, count, tangent->pair[0], 9);
    return;
  }
  for (int k = 0; k < 9; k++) vd_store_some(kept->u[k] + s, tangent->u[k], count);
  for (int k = 0; k < 6; k++) vd_store_some(kept->d[k] + s, tangent->d[k], count);
  for (int k = 0; k < 9; k++) vd_store_some(kept->pair[k] + s, tangent->pair[k / 3][k % 3], count);
}

/* What the grid has of a batch: nothing of what flies. */
static inline vd landed(const struct transfer *t, const struct batch *batch, vd a)
{
  const vd zero = vd_set(0.0);
  return t->p->flying ? vd_select(batch_load(t->p->flying, batch) > zero, zero, a) : a;
}

/* Neither liquid nor what flies has a stress of its own: a factor on what a solid of its material would have.
 */
static inline vd of_solids(const struct transfer *t, const struct batch *batch, vd factor)
{
  const vd zero = vd_set(0.0);
  if (t->heat) factor = vd_select(batch_load(t->p->liquid, batch) > zero, zero, factor);
  return landed(t, batch, factor);
}

/* Stress of a batch of snow, V0 P F_E^T, and its elastic energy. */
ALWAYS_INLINE void snow_batch(const struct transfer *t, int32_t s, const struct batch *batch, vd upper[6],
                              vd *energy, struct step_result *result)
{
  const struct particles *p = t->p;
  const struct snow_lanes material = batch_snow(t, batch);
  vm clamped;
  const vd factor = of_solids(t, batch,
                              snow_hardening(&material, batch_load(p->jp, batch), &clamped) *
                                  batch_stiffness(t, batch) * batch_constant(p->volume, batch));
  const vd mu = material.mu * factor, lambda = material.lambda * factor; /* times V0 */
  result->limited += vm_count(clamped & vm_first(batch->count));
  vd f[9];
  struct snow_tangent tangent;
  for (int k = 0; k < 9; k++) f[k] = batch_load(p->fe[k], batch);
  snow_stress_left(f, mu, lambda, upper, energy, &tangent);
  if (t->implicit) keep_snow(&t->kept, t->mixed, s, batch->count, &tangent);
}

/* The stress in principal axes and what the solve keeps of it, before `factor`. */
static void principal_batch(const struct transfer *t, int32_t s, const struct batch *batch, const vd f[9],
                            const struct material_lanes *m, const struct history *h, vd factor, vd upper[6],
                            vd *energy)
{
  struct principal axes;
  struct tangent tangent;
  struct slope slope = {0};
  vd tau[3] = {vd_set(0.0)};
  principal3(f, &axes);
  const struct stretches e = stretches_of(&axes);
  const vm flowing = t->p->flow ? batch_load(t->p->flow, batch) > vd_set(0.0) : (vm){0};
  material_stress(m, &e, h, tau);
  *energy = material_energy(m, &e, h);
  stretch_from_principal(axes.u, tau, upper);
  material_slope(m, &e, h, flowing, &slope);
  tangent_make(axes.u, &e, tau, &slope, factor, material_is_open(m, h), &tangent);
  keep_tangent(&t->kept, t->mixed, s, batch->count, &tangent);
  if (t->p->flow) vd_store_some(t->next->p->flow + s, vd_set(0.0), batch->count);
}

/* As snow_batch(), of any models. */
static __attribute__((noinline)) void general_batch(const struct transfer *t, int32_t s,
                                                    const struct batch *batch, vd upper[6], vd *energy,
                                                    struct step_result *result)
{
  const struct particles *p = t->p;
  struct material_lanes m;
  batch_materials(t, batch, &m);
  const struct history h = batch_history(t, batch);
  const vd factor = of_solids(t, batch, batch_stiffness(t, batch) * batch_constant(p->volume, batch));
  vd f[9];
  for (int k = 0; k < 9; k++) f[k] = batch_load(p->fe[k], batch);
  if (t->implicit)
    principal_batch(t, s, batch, f, &m, &h, factor, upper, energy);
  else
    material_left(&m, f, &h, upper, energy);
  if (t->affine) {
    vd c[9]; /* the velocity gradient that B holds */
    const double inverse = stencil_scale(&t->grid->geometry, OFFSET) * t->grid->geometry.inverse;
    for (int k = 0; k < 9; k++) c[k] = batch_load(p->b[k], batch) * vd_set(inverse);
    material_add_viscous(&m, f, c, upper);
  }
  for (int k = 0; k < 6; k++) upper[k] *= factor;
  *energy *= factor;
  result->limited += vm_count(material_is_limited(&m, &h) & vm_first(batch->count));
}

ALWAYS_INLINE void prepare_stress(const struct transfer *t, int32_t s, const struct batch *batch,
                                  vd stress[9], vd *energy, struct step_result *result)
{
  vd upper[6];
  if (t->snow_alone)
    snow_batch(t, s, batch, upper, energy, result);
  else
    general_batch(t, s, batch, upper, energy, result);
  const int place[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
  for (int k = 0; k < 9; k++) stress[k] = upper[place[k]];
}

/* Records of a pass of particles [s, s + n): mass, momentum and stress. momentum and force are the same
 * records unless the momentum's affine part needs other weights than the force. */
static void prepare_pass(const struct transfer *t, int32_t s, int32_t n, struct records *momentum,
                         struct records *force, struct tally *tally, struct step_result *result)
{
  const struct particles *p = t->p;
  const struct grid_geometry *geometry = &t->grid->geometry;
  const enum linear force_linear = t->mls ? OFFSET : GRADIENT;
  const double force_scale = -stencil_scale(geometry, force_linear) * (transfer_is_fused(t) ? t->dt : 1.0);
  const double affine_scale = stencil_scale(geometry, OFFSET);
  for (int32_t i = 0; i < n; i += LANES) {
    const struct batch batch = batch_at(t, s + i, n - i);
    vd stress[9], energy = vd_set(0.0), coefficient[3][3], x[3], mv[3];
    prepare_stress(t, s + i, &batch, stress, &energy, result);
    if (t->measuring) tally_batch(tally, t, &batch, energy);
    const vd m = landed(t, &batch, batch_constant(p->mass, &batch));
    for (int d = 0; d < 3; d++) mv[d] = m * batch_load(p->v[d], &batch);
    for (int a = 0; a < 3; a++)
      for (int r = 0; r < 3; r++) coefficient[a][r] = stress[3 * r + geometry->axis[a]] * vd_set(force_scale);
    batch_positions(t, &batch, x);
    if (t->mixed) keep_places(t, s + i, batch.count, x);
    stencil_weigh(t, x, force_linear, force + i / LANES);
    if (t->affine) {
      vd affine[3][3];
      for (int a = 0; a < 3; a++)
        for (int r = 0; r < 3; r++)
          affine[a][r] = m * batch_load(p->b[3 * r + geometry->axis[a]], &batch) * vd_set(affine_scale);
      if (momentum != force) {
        stencil_weigh(t, x, OFFSET, momentum + i / LANES);
        stencil_values(momentum + i / LANES, m, mv, affine);
      } else {
        for (int a = 0; a < 3; a++)
          for (int r = 0; r < 3; r++) coefficient[a][r] += affine[a][r];
      }
    }
    stencil_values(force + i / LANES, m, mv, coefficient);
  }
}

/* Asks for where the next pass, which begins at s, keeps what a mixed solve needs. */
static __attribute__((noinline)) void prefetch_kept(const struct transfer *t, int32_t s)
{
  enum { LINE = 16 }; /* floats */
  for (int32_t k = s; k < s + PASS_SCATTER; k += LINE)
    for (int a = 0; a < transfer_singles(t); a++) __builtin_prefetch(t->kept.single[a] + k, 1);
}

/* How the two fields of P2G are made of the records. */
struct scatter_plan {
  bool momentum_slope; /* momentum has a linear part */
  bool force;          /* force is scattered apart */
};

/* Scatters the cells [c, end) to the block's parts, and prefetches with each as many particles of a later
 * pass. */
ALWAYS_INLINE void scatter_cells(const struct transfer *t, int32_t c, int32_t end, const struct records *rec,
                                 double *part, double *other, int support, bool value, bool slope)
{
  const struct grid *g = t->grid;
  const int32_t s = g->cell_start[c];
  for (; c < end; c++) {
    prefetch_particles(t, &t->by_slot, g->cell_start[c], g->cell_start[c + 1]);
    scatter_cell(rec, (uint32_t)(g->cell_start[c] - s), (uint32_t)(g->cell_start[c + 1] - s),
                 part_corner(part, g->cell_key[c]), other ? part_corner(other, g->cell_key[c]) : NULL,
                 support, value, slope);
  }
}

ALWAYS_INLINE void scatter_pass(const struct transfer *t, const struct scatter_plan *plan,
                                struct worker *worker, int32_t c, int32_t end, int support)
{
  const struct workspace *w = &worker->work;
  const struct records *force = w->records[0], *momentum = t->affine && plan->force ? w->records[1] : force;
  double *const *part = worker->part;
  if (plan->momentum_slope) {
    scatter_cells(t, c, end, momentum, part[0], NULL, support, true, true);
    if (plan->force) scatter_cells(t, c, end, force, part[1], NULL, support, false, true);
  } else if (plan->force) {
    scatter_cells(t, c, end, force, part[0], part[1], support, true, true);
  } else {
    scatter_cells(t, c, end, momentum, part[0], NULL, support, true, false);
  }
}

void KERNEL(p2g)(void *arguments, struct worker *worker, int32_t block)
{
  struct transfer *t = arguments;
  struct workspace *w = &worker->work;
  const struct grid *g = t->grid;
  const int32_t end = g->blocks.first[block + 1];
  const bool fused = transfer_is_fused(t);
  const struct scatter_plan plan = {.momentum_slope = fused || t->affine, .force = !fused};
  struct records *force = w->records[0], *momentum = t->affine && plan.force ? w->records[1] : force;
  part_clear(worker->part[0]);
  if (plan.force) part_clear(worker->part[1]);
  struct tally tally = {{vd_set(0.0)}};
  for (int32_t c = g->blocks.first[block]; c < end;) {
    const int32_t pass_end = stencil_pass_end(g, c, end, PASS_SCATTER), s = g->cell_start[c];
    prepare_pass(t, s, g->cell_start[pass_end] - s, momentum, force, &tally, &worker->result);
    if (t->implicit && t->mixed) prefetch_kept(t, g->cell_start[pass_end]);
    if (g->geometry.support == 4)
      scatter_pass(t, &plan, worker, c, pass_end, 4);
    else
      scatter_pass(t, &plan, worker, c, pass_end, 3);
    c = pass_end;
  }
  if (t->measuring) tally_end(&tally, worker->measured);
}

/* Mass times place, from the lower corner of the domain. */
static void weigh_places(const struct grid_geometry *geometry, const vd x[3], vd mass, vd out[3])
{
  for (int a = 0; a < 3; a++) {
    const int axis = geometry->axis[a];
    out[axis] = mass * (x[axis] - vd_set(geometry->lower[a]));
  }
}

/* V0 J_E J_P. */
static __attribute__((noinline)) vd present_volume(const struct transfer *t, const struct batch *batch)
{
  struct material_lanes m;
  vd f[9];
  batch_materials(t, batch, &m);
  for (int k = 0; k < 9; k++) f[k] = batch_load(t->p->fe[k], batch);
  return batch_constant(t->p->volume, batch) * stretch_determinant(f) *
         material_plastic_volume(&m, batch_load(t->p->jp, batch));
}

/* A sum over particles alone, to the scalar of a field and, of NODE_PLACE, its vector. */
static void scatter_sums(struct transfer *t, struct worker *worker, int32_t block, enum node_field field)
{
  const struct grid *g = t->grid;
  const int32_t end = g->blocks.first[block + 1];
  struct records *rec = worker->work.records[0];
  const struct scatter_plan plan = {false, false};
  part_clear(worker->part[0]);
  for (int32_t c = g->blocks.first[block]; c < end;) {
    const int32_t pass_end = stencil_pass_end(g, c, end, PASS_SCATTER), s = g->cell_start[c],
                  n = g->cell_start[pass_end] - s;
    for (int32_t i = 0; i < n; i += LANES) {
      vd vector[3] = {vd_set(0.0), vd_set(0.0), vd_set(0.0)}, none[3][3] = {{vd_set(0.0)}};
      const struct batch batch = batch_at(t, s + i, n - i);
      const vd scalar = field == NODE_FILLED ? landed(t, &batch, batch_constant(t->p->volume, &batch))
                        : field == NODE_ROOM ? present_volume(t, &batch)
                                             : batch_constant(t->p->mass, &batch);
      vd x[3];
      batch_positions(t, &batch, x);
      if (field == NODE_PLACE) weigh_places(&g->geometry, x, scalar, vector);
      stencil_weigh(t, x, GRADIENT, rec + i / LANES);
      stencil_values(rec + i / LANES, scalar, vector, none);
    }
    scatter_pass(t, &plan, worker, c, pass_end, g->geometry.support);
    c = pass_end;
  }
}

void KERNEL(p2g_mass)(void *arguments, struct worker *worker, int32_t block)
{
  scatter_sums(arguments, worker, block, NODE_MOMENTUM);
}

void KERNEL(p2g_filled)(void *arguments, struct worker *worker, int32_t block)
{
  scatter_sums(arguments, worker, block, NODE_FILLED);
}

void KERNEL(p2g_room)(void *arguments, struct worker *worker, int32_t block)
{
  scatter_sums(arguments, worker, block, NODE_ROOM);
}

void KERNEL(p2g_place)(void *arguments, struct worker *worker, int32_t block)
{
  scatter_sums(arguments, worker, block, NODE_PLACE);
}

/* The scalar of a field at the particles of the cells [c, end), from the block's nodes: that of particle i
 * after the first is w->out[0][i * GATHERED_DOUBLES]. */
static void gather_scalars(const struct transfer *t, struct workspace *w, int32_t c, int32_t end)
{
  const struct grid *g = t->grid;
  const int32_t s = g->cell_start[c], n = g->cell_start[end] - s;
  struct records *rec = w->records[0];
  for (int32_t i = 0; i < n; i += LANES) {
    const struct batch batch = batch_at(t, s + i, n - i);
    vd x[3];
    batch_positions(t, &batch, x);
    stencil_weigh(t, x, GRADIENT, rec + i / LANES);
  }
  for (; c < end; c++) {
    const uint32_t begin = (uint32_t)(g->cell_start[c] - s);
    gather_channels(rec, begin, (uint32_t)(g->cell_start[c + 1] - s),
                    block_corner(w->nodes[0], g->cell_key[c]), NULL, NODES_X, NODES_Y, g->geometry.support, 0,
                    w->out[0] + begin * GATHERED_DOUBLES);
  }
}

/* rho_p = sum of nodal mass density at the particle, V0 = m / rho; particles that have a volume keep it. */
void KERNEL(estimate_volume)(void *arguments, struct worker *worker, int32_t block)
{
  struct transfer *t = arguments;
  const struct grid *g = t->grid;
  struct particles *p = t->p;
  const double h = g->geometry.spacing, *density = worker->work.out[0];
  const int32_t end = g->blocks.first[block + 1];
  block_load(worker->work.nodes[0], g, block, g->node[NODE_MOMENTUM]);
  for (int32_t c = g->blocks.first[block], run; c < end; c = run) {
    run = stencil_pass_end(g, c, end, PASS_GATHER);
    gather_scalars(t, &worker->work, c, run);
    for (int32_t i = g->cell_start[c]; i < g->cell_start[run]; i++) {
      const int32_t home = t->home[i];
      if (p->volume[home] == 0.0)
        p->volume[home] = p->mass[home] / (density[(i - g->cell_start[c]) * GATHERED_DOUBLES] / (h * h * h));
    }
  }
}

/* Integral of the cubic weight up to u. */
static double filled_up_to(double u)
{
  const double a = u < 0.0 ? -u : u, left = 2.0 - a,
               share = a >= 2.0   ? 1.0
                       : a >= 1.0 ? 1.0 - left * left * left * left / 24.0
                                  : 0.5 + a * (2.0 / 3.0 - a * a * (1.0 / 3.0 - a / 8.0));
  return u < 0.0 ? 1.0 - share : share;
}

/* Share of the space around x that bodies leave open, as the grid sees space: weights there and back are as
 * wide as one weight stretched by sqrt(2). */
static double open_share(const struct transfer *t, const double x[3])
{
  const double reach = 1.4142135623730951 * t->grid->geometry.spacing;
  double share = 1.0;
  for (int k = 0; k < t->pose_count; k++)
    if (body_may_touch(&t->poses[k], x, 2.0 * reach))
      share *= filled_up_to(shape_distance(&t->poses[k].shape, x, NULL) / reach);
  return share;
}

/* Of the space that bodies leave open. Deep in bodies next to nothing is open, and all counts as filled. */
void KERNEL(find_crowds)(void *arguments, struct worker *worker, int32_t block)
{
  struct transfer *t = arguments;
  const struct grid *g = t->grid;
  const double h = g->geometry.spacing, *filled = worker->work.out[0];
  const int32_t end = g->blocks.first[block + 1];
  bool loaded = false;
  for (int32_t c = g->blocks.first[block], run; c < end; c = run) {
    bool flies = false;
    run = stencil_pass_end(g, c, end, PASS_GATHER);
    for (int32_t i = g->cell_start[c]; i < g->cell_start[run]; i++)
      flies = flies || particle_flies(t->p, t->slot[i]);
    if (!flies) continue;
    if (!loaded) block_load(worker->work.nodes[0], g, block, g->node[NODE_FILLED]);
    loaded = true;
    gather_scalars(t, &worker->work, c, run);
    for (int32_t i = g->cell_start[c]; i < g->cell_start[run]; i++) {
      const int32_t slot = t->slot[i];
      if (!particle_flies(t->p, slot)) continue;
      const double x[3] = {t->p->x[0][slot], t->p->x[1][slot], t->p->x[2][slot]};
      t->crowd[i] = filled[(i - g->cell_start[c]) * GATHERED_DOUBLES] / (h * h * h) / open_share(t, x);
    }
  }
}

/* Before the momentum gives way to what FLIP gathers. */
void KERNEL(find_loose)(void *arguments, struct worker *worker, int32_t block)
{
  struct transfer *t = arguments;
  const struct grid *g = t->grid;
  const double h = g->geometry.spacing, *mass = worker->work.out[0];
  const int32_t end = g->blocks.first[block + 1];
  block_load(worker->work.nodes[0], g, block, g->node[NODE_MOMENTUM]);
  for (int32_t c = g->blocks.first[block], run; c < end; c = run) {
    run = stencil_pass_end(g, c, end, PASS_GATHER);
    gather_scalars(t, &worker->work, c, run);
    for (int32_t i = g->cell_start[c]; i < g->cell_start[run]; i++) {
      const double rest = t->air_density[particle_material(t->p, t->home[i])];
      const double density = mass[(i - g->cell_start[c]) * GATHERED_DOUBLES] / (h * h * h);
      t->loose[i] = rest > 0.0 ? air_exposure(t->air, density / rest) : 0.0;
    }
  }
}
