/* Heat between particles and nodes (docs/method.md, heat): what nodes hold of it, conduction, and the new
 * enthalpies. Liquid particles also get their volume and position here, which follow the grid and not the
 * particle's own history. */
#include "base/fmath.h"
#include "kernels/cell.h"

#include <math.h>

/* Of a batch: melted share, heat capacity, T - T_melt. */
struct warmth {
  vd melted, capacity, temperature;
};

static inline struct warmth warmth_of(const struct heat_law *law, vd u)
{
  const vd zero = vd_set(0.0), latent = vd_set(law->latent);
  struct warmth w;
  w.melted = vd_min(vd_max(u / latent, zero), vd_set(1.0));
  w.capacity = vd_fma(w.melted, vd_set(law->c_liquid - law->c_solid), vd_set(law->c_solid));
  w.temperature = vd_min(u, zero) / vd_set(law->c_solid) + vd_max(u - latent, zero) / vd_set(law->c_liquid);
  return w;
}

/* V = V0 J_E J_P. */
static vd volume_now(const struct transfer *t, const struct batch *batch)
{
  const struct particles *p = t->p;
  vd f[9], plastic = batch_load(p->jp, batch);
  for (int k = 0; k < 9; k++) f[k] = batch_load(p->fe[k], batch);
  if (!t->snow_alone) {
    uint32_t material[LANES];
    batch_indices(t, batch, material);
    const vd from_log = vd_exp(plastic);
    for (int l = 0; l < LANES; l++)
      if (models[t->materials[material[l]].model]->log_volume) plastic[l] = from_log[l];
  }
  const vd j = f[0] * (f[4] * f[8] - f[5] * f[7]) - f[1] * (f[3] * f[8] - f[5] * f[6]) +
               f[2] * (f[3] * f[7] - f[4] * f[6]);
  return batch_constant(p->volume, batch) * j * plastic;
}

/* Records of particles [s, s + n): heat to the first, the space they fill to the second. */
static void prepare_heat(const struct heat_arguments *a, int32_t s, int32_t n, struct records *heat,
                         struct records *space)
{
  const struct transfer *t = a->transfer;
  const struct particles *p = t->p;
  const struct grid_geometry *geometry = &t->grid->geometry;
  const vd zero = vd_set(0.0), conducted = vd_set(1.0 - a->law->heat_mix / 3.0);
  for (int32_t i = 0; i < n; i += LANES) {
    const struct batch batch = batch_at(t, s + i, n - i);
    const struct warmth w = warmth_of(a->law, batch_load(p->enthalpy, &batch));
    const vd m = batch_constant(p->mass, &batch), volume = volume_now(t, &batch),
             solid = batch_constant(p->conductivity, &batch);
    const vd kappa = vd_fma(w.melted, vd_set(a->law->kappa_liquid) - solid, solid), c = m * w.capacity;
    vd_store_some(a->conduction + s + i, kappa * volume * conducted, batch.count);
    vd x[3], none[3][3] = {{zero}}, widths[3][3] = {{zero}};
    vd liquid = m * batch_load(p->liquid, &batch);
    if (p->flying) liquid = vd_select(batch_load(p->flying, &batch) > zero, zero, liquid);
    const vd held[3] = {c * w.temperature, kappa * volume, liquid}, nothing[3] = {zero, zero, zero};
    batch_positions(t, &batch, x);
    stencil_weigh(t, x, GRADIENT, heat + i / LANES);
    stencil_values(heat + i / LANES, c, held, none);
    if (!space) continue;
    for (int k = 0; k < 3; k++) widths[k][geometry->axis[k]] = volume * vd_set(geometry->inverse);
    stencil_weigh(t, x, GRADIENT, space + i / LANES);
    stencil_values(space + i / LANES, volume, nothing, widths);
  }
}

void KERNEL(p2g_heat)(void *arguments, struct worker *worker, int32_t block)
{
  const struct heat_arguments *a = arguments;
  struct workspace *w = &worker->work;
  const struct grid *g = a->transfer->grid;
  const int32_t end = g->blocks.first[block + 1];
  part_clear(worker->part[0]);
  if (a->space) part_clear(worker->part[1]);
  for (int32_t c = g->blocks.first[block]; c < end;) {
    const int32_t pass_end = stencil_pass_end(g, c, end, PASS_SCATTER), s = g->cell_start[c];
    prepare_heat(a, s, g->cell_start[pass_end] - s, w->records[0], a->space ? w->records[1] : NULL);
    for (; c < pass_end; c++) {
      const uint32_t first = (uint32_t)(g->cell_start[c] - s), last = (uint32_t)(g->cell_start[c + 1] - s);
      scatter_cell(w->records[0], first, last, part_corner(worker->part[0], g->cell_key[c]), NULL, 4, true,
                   false);
      if (a->space)
        scatter_cell(w->records[1], first, last, part_corner(worker->part[1], g->cell_key[c]), NULL, 4, true,
                     true);
    }
  }
}

static void weigh_pass(const struct transfer *t, int32_t s, int32_t n, struct records *rec)
{
  for (int32_t i = 0; i < n; i += LANES) {
    const struct batch batch = batch_at(t, s + i, n - i);
    vd x[3];
    batch_positions(t, &batch, x);
    stencil_weigh(t, x, GRADIENT, rec + i / LANES);
  }
}

/* Conduction through LANES particles of one cell: k (grad w . t), t the unknown at the cell's nodes. */
static inline void gradients(const struct records *rec, vd k, const double t[64], vd out[3])
{
  const vd zero = vd_set(0.0);
  vd along[3] = {zero, zero, zero};
  for (int a = 0; a < 4; a++) {
    vd plain = zero, turned = zero, slope = zero;
    for (int b = 0; b < 4; b++) {
      const double *row = t + 16 * a + 4 * b;
      vd line = zero, rise = zero;
      for (int c = 0; c < 4; c++) {
        line = vd_fma(record_lanes(rec, 2, c), vd_set(row[c]), line);
        rise = vd_fma(record_lanes(rec, 2, 4 + c), vd_set(row[c]), rise);
      }
      plain = vd_fma(record_lanes(rec, 1, b), line, plain);
      turned = vd_fma(record_lanes(rec, 1, 4 + b), line, turned);
      slope = vd_fma(record_lanes(rec, 1, b), rise, slope);
    }
    along[0] = vd_fma(record_lanes(rec, 0, 4 + a), plain, along[0]);
    along[1] = vd_fma(record_lanes(rec, 0, a), turned, along[1]);
    along[2] = vd_fma(record_lanes(rec, 0, a), slope, along[2]);
  }
  for (int d = 0; d < 3; d++) out[d] = k * along[d];
}

/* Adds grad w . flow of the particle in lane l to the cell's nodes. */
static inline void diverge(const struct records *rec, int l, const vd flow[3], v4 out[16])
{
  const double *weight_of = record_weight(rec, (uint32_t)l), *x = weight_of + WEIGHT_X,
               *y = weight_of + WEIGHT_Y, *z = weight_of + WEIGHT_Z;
  const double *dx = x + WEIGHT_SLOPE, *dy = y + WEIGHT_SLOPE, *dz = z + WEIGHT_SLOPE;
  const v4 weight = {z[0], z[LANES], z[2 * LANES], z[3 * LANES]},
           slope = {dz[0], dz[LANES], dz[2 * LANES], dz[3 * LANES]};
  const v4 along_x = v4_set(flow[0][l]) * weight, along_y = v4_set(flow[1][l]) * weight,
           along_z = v4_set(flow[2][l]) * slope;
  for (int a = 0; a < 4; a++) {
    const v4 plain = v4_fma(v4_set(dx[a * LANES]), along_x, v4_set(x[a * LANES]) * along_z),
             turned = v4_set(x[a * LANES]) * along_y;
    for (int b = 0; b < 4; b++)
      out[4 * a + b] =
          v4_fma(v4_set(y[b * LANES]), plain, v4_fma(v4_set(dy[b * LANES]), turned, out[4 * a + b]));
  }
}

/* Gathering is done for LANES particles of a cell at once, scattering for one after the other: each has the
 * order of sums that its cell gives it. The unknown is channel 1 of its field. */
void KERNEL(heat_product)(void *arguments, struct worker *worker, int32_t block)
{
  const struct heat_arguments *h = arguments;
  struct workspace *w = &worker->work;
  const struct grid *g = h->transfer->grid;
  cell_clear(worker->part[0]);
  const vd scale = vd_set(g->geometry.inverse * g->geometry.inverse);
  for (int32_t c = g->blocks.first[block]; c < g->blocks.first[block + 1]; c++) {
    const struct cell_place place = cell_place(&g->blocks, block, g->cell_key[c]);
    const int32_t s = g->cell_start[c], n = g->cell_start[c + 1] - s;
    double nodes[64];
    v4 out[16];
    for (int k = 0; k < 16; k++) out[k] = v4_set(0.0);
    cell_load_channel(&place, g->node[h->in], 1, nodes);
    for (int32_t i = 0; i < n; i += LANES) {
      vd flow[3];
      weigh_pass(h->transfer, s + i, n - i < LANES ? n - i : LANES, w->records[0]);
      gradients(w->records[0], vd_load(h->conduction + s + i) * scale, nodes, flow);
      for (int l = 0; l < LANES && l < n - i; l++) diverge(w->records[0], l, flow, out);
    }
    for (int k = 0; k < 16; k++) v4_store(nodes + 4 * k, out[k]);
    cell_add_channel(&place, 1, nodes, worker->part[0]);
  }
}

/* One bit for each body that a cell's particles could touch; a body beyond the 64th is always taken as near.
 */
static uint64_t near_bodies(const struct transfer *t, int32_t cell)
{
  const struct grid *g = t->grid;
  const struct grid_geometry *geometry = &g->geometry;
  int32_t index[3];
  grid_key_index(g->cell_key[cell], index);
  double center[3];
  uint64_t near = 0;
  for (int a = 0; a < 3; a++)
    center[geometry->axis[a]] = geometry->lower[a] + geometry->spacing * (index[a] + 0.5);
  for (int k = 0; k < t->pose_count && k < 64; k++)
    if (body_may_touch(&t->poses[k], center, 0.87 * geometry->spacing)) near |= (uint64_t)1 << k;
  return near;
}

static void collide(const struct transfer *t, uint64_t near, const double x[3], double v[3])
{
  for (int k = 0; k < t->pose_count; k++)
    if (k >= 64 || near >> k & 1)
      body_collide_with(&t->poses[k], x, v, t->poses[k].body->liquid_friction, 0.0, NULL);
}

/* Where a liquid particle goes and what volume it has: those of the grid. */
static void move_liquid(const struct heat_arguments *h, int32_t i, double j, const double velocity[3],
                        double density, uint64_t near, struct worker *worker)
{
  struct step_result *result = &worker->result;
  const struct transfer *t = h->transfer;
  const struct grid_geometry *geometry = &t->grid->geometry;
  struct particles *next = t->next->p;
  const int32_t slot = t->slot[i];
  double x[3], v[3] = {velocity[0], velocity[1], velocity[2]}, widest = h->law->rho_liquid / density;
  if (!(widest > 1.0)) widest = 1.0; /* a gap is no larger than the grid sees */
  if (j > widest) j = widest;
  if (!(j >= 0.2)) {
    j = 0.2;
    result->limited++;
  }
  const double root = fmath_cbrt(j);
  for (int k = 0; k < 9; k++) next->fe[k][i] = k % 4 == 0 ? root : 0.0;
  next->jp[i] = t->snow_alone || !models[t->materials[particle_material(t->p, t->home[i])].model]->log_volume;
  if (next->shear) next->shear[i] = 0.0;
  if (next->flow) next->flow[i] = 0.0;
  bool crosses = false, is_finite = true;
  for (int d = 0; d < 3; d++) x[d] = t->p->x[d][slot];
  collide(t, near, x, v);
  for (int d = 0; d < 3; d++) {
    crosses = crosses || t->dt * v[d] > geometry->spacing || t->dt * v[d] < -geometry->spacing;
    is_finite = is_finite && v[d] * 0.0 == 0.0;
    next->x[d][i] = x[d] = x[d] + t->dt * v[d];
  }
  const enum trouble trouble = is_finite ? crosses ? TROUBLE_CROSSING : TROUBLE_NONE : TROUBLE_NOT_FINITE;
  if (trouble) step_note_trouble(result, trouble, i);
  const double old[3] = {t->p->x[0][slot], t->p->x[1][slot], t->p->x[2][slot]};
  const uint64_t key = grid_key_of(geometry, x);
  t->next->fate[i] = key == UINT64_MAX                       ? FATE_GONE
                     : key != grid_key_inside(geometry, old) ? FATE_MOVES
                                                             : FATE_STAYS;
  result->outside += key == UINT64_MAX;
  if (!t->budget) return;
  const double *g = t->gravity, fall = g[0] * x[0] + g[1] * x[1] + g[2] * x[2];
  exact_add(&worker->energy[ENERGY_AFTER],
            heat_pressed(h->law, root) * t->p->volume[t->home[i]] - t->p->mass[t->home[i]] * fall);
}

/* The new enthalpy, and whether the particle changes its phase with it. */
static void warm(const struct heat_arguments *h, int32_t i, double change, double mixed,
                 struct step_result *result, struct worker *worker)
{
  const struct transfer *t = h->transfer;
  const struct heat_law *law = h->law;
  const int32_t slot = t->slot[i];
  const double u = t->p->enthalpy[slot], mass = t->p->mass[t->home[i]], was = t->p->liquid[slot];
  const double now = u + heat_capacity(law, u) * (change - mixed * heat_temperature(law, u));
  const bool melts = was == 0.0 && now >= law->latent, freezes = was != 0.0 && now <= 0.0;
  t->next->p->enthalpy[i] = now;
  t->next->p->liquid[i] = was;
  result->melted += melts;
  result->frozen += freezes;
  if (melts) exact_add(&worker->melted, mass);
  if (freezes) exact_add(&worker->frozen, mass);
  if (freezes && t->want_sound) { /* the next step has it as a solid without history */
    uint32_t material[LANES];
    for (int l = 0; l < LANES; l++) material[l] = particle_material(t->p, t->home[i]);
    const struct snow_lanes m = snow_gather(t->materials, material);
    const double modulus = m.lambda[0] + 2.0 * m.mu[0];
    const double sound =
        sqrt(modulus * particle_stiffness(t->p, t->home[i]) * t->p->volume[t->home[i]] / mass);
    if (sound > result->max_sound) result->max_sound = sound;
  }
  if (t->next->fate[i] != FATE_GONE) result->liquid += melts || (was != 0.0 && !freezes);
  if (now * 0.0 != 0.0) step_note_trouble(result, TROUBLE_NOT_FINITE, i);
}

/* A value of the cell's nodes at LANES of its particles. */
static inline vd values(const struct records *rec, const double nodes[64])
{
  vd value = vd_set(0.0);
  for (int a = 0; a < 4; a++) {
    vd sheet = vd_set(0.0);
    for (int b = 0; b < 4; b++) {
      vd line = vd_set(0.0);
      for (int c = 0; c < 4; c++)
        line = vd_fma(record_lanes(rec, 2, c), vd_set(nodes[16 * a + 4 * b + c]), line);
      sheet = vd_fma(record_lanes(rec, 1, b), line, sheet);
    }
    value = vd_fma(record_lanes(rec, 0, a), sheet, value);
  }
  return value;
}

/* The particles of a cell without liquid, whose weights are in rec. */
static void warm_cell(const struct heat_arguments *h, struct worker *worker, const struct cell_place *place,
                      int32_t s, int32_t n, const struct records *rec)
{
  const double *field = h->transfer->grid->node[NODE_SPACE];
  double change[64], mixed[64];
  cell_load_channel(place, field, 0, change);
  cell_load_channel(place, field, 1, mixed);
  for (int32_t i = 0; i < n; i += LANES) {
    const vd changes = values(rec + i / LANES, change), mixes = values(rec + i / LANES, mixed);
    for (int l = 0; l < LANES && l < n - i; l++)
      warm(h, s + i + l, changes[l], mixes[l], &worker->result, worker);
  }
}

/* And of one with liquid. */
static void move_cell(const struct heat_arguments *h, struct worker *worker, const struct cell_place *place,
                      int32_t cell, const struct records *rec)
{
  const struct transfer *t = h->transfer;
  const struct grid *g = t->grid;
  const double per_volume = g->geometry.inverse * g->geometry.inverse * g->geometry.inverse,
               j = h->liquid->cell[h->liquid->of_cell[cell]].j_next;
  const uint64_t near = near_bodies(t, cell);
  const int32_t s = g->cell_start[cell];
  double nodes[256], velocity[256];
  cell_load(place, g->node[NODE_SPACE], nodes);
  cell_load(place, g->node[NODE_VELOCITY], velocity);
  for (int32_t i = s; i < g->cell_start[cell + 1]; i++) {
    const struct cell_weights weights = cell_weights(rec, (uint32_t)(i - s));
    const v4 value = cell_value(&weights, nodes);
    if (particle_is_liquid(t->p, t->slot[i])) {
      const v4 v = cell_value(&weights, velocity);
      move_liquid(h, i, j, (const double[3]){v[1], v[2], v[3]}, value[2] * per_volume, near, worker);
    }
    warm(h, i, value[0], value[1], &worker->result, worker);
  }
}

void KERNEL(g2p_heat)(void *arguments, struct worker *worker, int32_t block)
{
  const struct heat_arguments *h = arguments;
  const struct grid *g = h->transfer->grid;
  struct records *rec = worker->work.records[0];
  const int64_t changed_before = worker->result.melted + worker->result.frozen;
  for (int32_t c = g->blocks.first[block]; c < g->blocks.first[block + 1]; c++) {
    const struct cell_place place = cell_place(&g->blocks, block, g->cell_key[c]);
    const int32_t s = g->cell_start[c], n = g->cell_start[c + 1] - s;
    weigh_pass(h->transfer, s, n, rec);
    if (h->liquid && h->liquid->of_cell[c] >= 0)
      move_cell(h, worker, &place, c, rec);
    else
      warm_cell(h, worker, &place, s, n, rec);
  }
  if (grid_block_is_shared(g, block))
    worker->result.shared_changed += worker->result.melted + worker->result.frozen - changed_before;
}

/* --- nodes
 * ------------------------------------------------------------------------------------------------------- */

/* C and y of a node; y is 0 where no particle has weight to speak of. */
static inline bool node_heat(const double *heat, double *capacity, double *y)
{
  const bool there = heat[0] >= GRID_LEAST_MASS;
  *capacity = heat[0];
  *y = there ? heat[1] / heat[0] : 0.0;
  return there;
}

void KERNEL(heat_begin)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct heat_arguments *h = arguments;
  double *const *node = h->transfer->grid->node;
  const double dt = h->transfer->dt;
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += 4) {
    double capacity, y;
    const bool there = node_heat(node[NODE_HEAT] + k, &capacity, &y);
    const double gained = there && h->space ? dt * node[NODE_SPACE][k + 1] / capacity : 0.0;
    v4_store(node[NODE_WARM] + k, (v4){0.0, y, 0.0, 0.0});
    v4_store(node[NODE_STAR] + k, (v4){0.0, y, 0.0, 0.0});
    v4_store(node[NODE_RIGHT] + k, (v4){0.0, y + gained, 0.0, 0.0});
  }
}

void KERNEL(heat_loss)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct heat_arguments *h = arguments;
  double *const *node = h->transfer->grid->node;
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += 4)
    node[h->out][k + 1] += node[NODE_SPACE][k] * node[h->in][k + 1];
}

/* 1 - exp(-x) for x >= 0. */
static inline vd decayed(vd x)
{
  const vd one = vd_set(1.0);
  return vd_select(x < one, -vd_expm1(-vd_min(x, one)), one - vd_exp(-vd_min(x, vd_set(700.0))));
}

void KERNEL(heat_end)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  const struct heat_arguments *h = arguments;
  const struct grid *g = h->transfer->grid;
  const double inverse = g->geometry.inverse, rate = h->law->heat_mix * h->transfer->dt * (inverse * inverse);
  for (int32_t tile = begin; tile < end; tile++) {
    double gained = 0.0;
    for (int n = 0; n < TILE_NODES; n += LANES) {
      const int64_t first = (int64_t)tile * TILE_DOUBLES + 4 * n;
      vd x = vd_set(0.0);
      for (int l = 0; l < LANES; l++) {
        const double *heat = g->node[NODE_HEAT] + first + 4 * l;
        if (heat[0] >= GRID_LEAST_MASS) x[l] = rate * heat[2] / heat[0];
      }
      const vd mixed = decayed(x);
      for (int l = 0; l < LANES; l++) {
        const int64_t k = first + 4 * l;
        const double capacity = g->node[NODE_HEAT][k], y = g->node[NODE_STAR][k + 1],
                     change = g->node[NODE_WARM][k + 1] - y, q = mixed[l];
        v4_store(g->node[NODE_SPACE] + k, (v4){change + q * y, q, g->node[NODE_MOMENTUM][k], 0.0});
        gained += capacity * change;
      }
    }
    if (worker->counts) exact_add(&worker->sum[0], gained);
  }
}
