/* Sums over the cells that liquid fills (liquid.h). A block's cells are added in order to the block's part,
 * and these to the grid as all sums are: neither ranks nor threads change a bit. */
#include "bodies/contact.h"
#include "kernels/cell.h"

static struct cell_place place_of(const struct liquid *l, int32_t block, const struct liquid_cell *cell)
{
  return cell_place(&l->blocks, block, cell->key);
}

/* What the cell's velocities are multiplied with. */
static inline const double *push_of(const struct liquid *l, const struct liquid_cell *cell)
{
  return cell->table < 0 ? l->common_push : l->table + cell->table * LIQUID_TABLE;
}

/* Adds V w and V grad w of one point to the table. */
static void add_point(const struct grid_geometry *geometry, const struct cell_weights *w, double volume,
                      double *table)
{
  const double slope = volume * geometry->inverse;
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++)
      for (int c = 0; c < 4; c++) {
        double *to = table + 16 * (4 * a + b) + 4 * c;
        to[0] += volume * (w->x[a] * w->y[b] * w->z[c]);
        to[1 + geometry->axis[0]] += slope * (w->x[4 + a] * w->y[b] * w->z[c]);
        to[1 + geometry->axis[1]] += slope * (w->x[a] * w->y[4 + b] * w->z[c]);
        to[1 + geometry->axis[2]] += slope * (w->x[a] * w->y[b] * w->z[4 + c]);
      }
}

/* Weights of the lattice points of a cell: at 1/4 and 3/4 of each axis. */
static void lattice_weights(double weights[2][8])
{
  vd w[8], u = vd_set(0.25);
  u[1] = 0.75;
  stencil_weights(4, GRADIENT, u, w);
  for (int k = 0; k < 2; k++)
    for (int n = 0; n < 8; n++) weights[k][n] = w[n][k];
}

static void add_lattice(const struct grid_geometry *geometry, double weights[2][8], const double volume[8],
                        double *table)
{
  for (int point = 0; point < 8; point++) {
    struct cell_weights w;
    memcpy(w.x, weights[point >> 2], sizeof w.x);
    memcpy(w.y, weights[point >> 1 & 1], sizeof w.y);
    memcpy(w.z, weights[point & 1], sizeof w.z);
    if (volume[point] > 0.0) add_point(geometry, &w, volume[point], table);
  }
}

/* The liquid particles of a cell, each with its present volume; returns the sum of these. */
static double add_particles(const struct transfer *t, struct records *rec, int32_t cell, double *table)
{
  const struct grid *g = t->grid;
  const int32_t s = g->cell_start[cell], n = g->cell_start[cell + 1] - s;
  double sum = 0.0;
  for (int32_t i = 0; i < n; i += LANES) {
    const struct batch batch = batch_at(t, s + i, n - i);
    vd x[3];
    batch_positions(t, &batch, x);
    stencil_weigh(t, x, GRADIENT, rec);
    for (int l = 0; l < batch.count; l++) {
      const int32_t slot = t->slot[s + i + l];
      if (!particle_is_liquid(t->p, slot)) continue;
      const double root = t->p->fe[0][slot], volume = t->p->volume[t->home[s + i + l]] * (root * root * root);
      const struct cell_weights w = cell_weights(rec, (uint32_t)l);
      add_point(&g->geometry, &w, volume, table);
      sum += volume;
    }
  }
  return sum;
}

/* Nodes that no particle reaches have no part. `borne` (or NULL) keeps what they would be pushed with. */
static void drop_empty_nodes(const struct grid *g, const struct cell_place *place, double *table,
                             double *borne)
{
  double nodes[256];
  cell_load(place, g->node[NODE_MOMENTUM], nodes);
  if (borne) memset(borne, 0, LIQUID_TABLE * sizeof *borne);
  for (int k = 0; k < 64; k++) {
    if (nodes[4 * k] >= GRID_LEAST_MASS) continue;
    if (borne) memcpy(borne + 4 * k + 1, table + 4 * k + 1, 3 * sizeof(double));
    memset(table + 4 * k, 0, 4 * sizeof(double));
  }
}

void KERNEL(liquid_common)(struct liquid *l, const struct grid_geometry *geometry)
{
  double weights[2][8], volume[8];
  lattice_weights(weights);
  const double h = geometry->spacing;
  for (int k = 0; k < 8; k++) volume[k] = 0.125 * (h * h * h);
  memset(l->common, 0, sizeof l->common);
  add_lattice(geometry, weights, volume, l->common);
  memcpy(l->common_push, l->common, sizeof l->common);
  for (int k = 0; k < 64; k++) l->common_push[4 * k] = 0.0;
}

/* Fills the tables. */
void KERNEL(liquid_tables)(void *arguments, struct worker *worker, int32_t block)
{
  const struct liquid_arguments *a = arguments;
  const struct transfer *t = a->transfer;
  struct liquid *l = a->liquid;
  double weights[2][8];
  lattice_weights(weights);
  for (int32_t k = l->blocks.first[block]; k < l->blocks.first[block + 1]; k++) {
    struct liquid_cell *cell = &l->cell[k];
    if (cell->table < 0) continue;
    double *table = l->table + cell->table * LIQUID_TABLE;
    memset(table, 0, LIQUID_TABLE * sizeof *table);
    if (cell->full)
      add_lattice(&t->grid->geometry, weights, cell->share, table);
    else if (!cell->behind)
      cell->volume = add_particles(t, worker->work.records[0], cell->cell, table);
    const struct cell_place place = place_of(l, block, cell);
    drop_empty_nodes(t->grid, &place, table, l->bears ? l->borne + cell->table * LIQUID_TABLE : NULL);
  }
}

/* W and a to NODE_LIQUID, and the part of W from cells that are not full to NODE_PRESSURE. */
void KERNEL(liquid_sums)(void *arguments, struct worker *worker, int32_t block)
{
  const struct liquid_arguments *a = arguments;
  const struct liquid *l = a->liquid;
  cell_clear(worker->part[0]);
  cell_clear(worker->part[1]);
  for (int32_t k = l->blocks.first[block]; k < l->blocks.first[block + 1]; k++) {
    const struct liquid_cell *cell = &l->cell[k];
    const struct cell_place place = place_of(l, block, cell);
    const double *table = cell->table < 0 ? l->common : l->table + cell->table * LIQUID_TABLE;
    cell_add(&place, 1.0, table, worker->part[0]);
    if (!cell->full) cell_add(&place, 1.0, table, worker->part[1]);
  }
}

/* From (e, t) of the nodes in NODE_PRESSURE and r in NODE_LIQUID: Jt of each cell, and d = b - s r in place
 * of (s, b). */
void KERNEL(liquid_begin)(void *arguments, struct worker *worker, int32_t block)
{
  (void)worker;
  const struct liquid_arguments *a = arguments;
  const struct grid *g = a->transfer->grid;
  struct liquid *l = a->liquid;
  for (int32_t k = l->blocks.first[block]; k < l->blocks.first[block + 1]; k++) {
    struct liquid_cell *cell = &l->cell[k];
    const struct cell_place place = place_of(l, block, cell);
    const double *table = cell->table < 0 ? l->common : l->table + cell->table * LIQUID_TABLE;
    double nodes[256], crowded = 0.0, carried = 0.0;
    cell_load(&place, g->node[NODE_PRESSURE], nodes);
    for (int n = 0; n < 64; n++) {
      crowded += table[4 * n] * nodes[4 * n];
      carried += table[4 * n] * nodes[4 * n + 1];
    }
    double excess = cell->full ? crowded / cell->volume : 0.0, over = (excess < 0.0 ? -excess : excess);
    over = over - a->law->spread_threshold;
    over = over < 0.0 ? 0.0 : over > 0.2 ? 0.2 : over;
    excess = excess < 0.0 ? -over : over;
    cell->j_fixed = cell->j * (1.0 + a->transfer->dt * carried / cell->volume) - excess * a->spread;
    cell->stiffness = a->law->lambda_liquid * cell->j / cell->volume * a->scale;
    if (cell->table < 0) continue;
    cell_load(&place, g->node[NODE_LIQUID], nodes);
    double *d = l->table + cell->table * LIQUID_TABLE;
    for (int n = 0; n < 64; n++) {
      for (int r = 1; r < 4; r++) d[4 * n + r] -= d[4 * n] * nodes[4 * n + r];
      if (l->bears) l->borne[cell->table * LIQUID_TABLE + 4 * n] = d[4 * n];
      d[4 * n] = 0.0;
    }
  }
}

/* D v of one cell. */
static inline double divergence(const struct cell_place *place, const double *push, const double *field)
{
  double nodes[256];
  cell_load(place, field, nodes);
  v4 sum[4] = {v4_set(0.0), v4_set(0.0), v4_set(0.0), v4_set(0.0)};
  for (int k = 0; k < LIQUID_TABLE; k += 16)
    for (int part = 0; part < 4; part++)
      sum[part] = v4_fma(v4_load(push + k + 4 * part), v4_load(nodes + k + 4 * part), sum[part]);
  return v4_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

void KERNEL(liquid_divergence)(void *arguments, struct worker *worker, int32_t block)
{
  (void)worker;
  const struct liquid_arguments *a = arguments;
  struct liquid *l = a->liquid;
  for (int32_t k = l->blocks.first[block]; k < l->blocks.first[block + 1]; k++) {
    struct liquid_cell *cell = &l->cell[k];
    const struct cell_place place = place_of(l, block, cell);
    const double d = divergence(&place, push_of(l, cell), a->transfer->grid->node[a->in]);
    cell->j_next = cell->j_fixed + a->transfer->dt * cell->j * d / cell->volume;
  }
}

/* Adds the force of the cells' pressures, D^T p, to `out`. */
void KERNEL(liquid_force)(void *arguments, struct worker *worker, int32_t block)
{
  const struct liquid_arguments *a = arguments;
  const struct liquid *l = a->liquid;
  cell_clear(worker->part[0]);
  for (int32_t k = l->blocks.first[block]; k < l->blocks.first[block + 1]; k++) {
    const struct liquid_cell *cell = &l->cell[k];
    if (!cell->active) continue;
    const struct cell_place place = place_of(l, block, cell);
    cell_add(&place, cell->pressure, push_of(l, cell), worker->part[0]);
  }
}

/* out += D^T [K D in] over the active cells. */
void KERNEL(liquid_product)(void *arguments, struct worker *worker, int32_t block)
{
  const struct liquid_arguments *a = arguments;
  const struct liquid *l = a->liquid;
  cell_clear(worker->part[0]);
  for (int32_t k = l->blocks.first[block]; k < l->blocks.first[block + 1]; k++) {
    const struct liquid_cell *cell = &l->cell[k];
    if (!cell->active) continue;
    const struct cell_place place = place_of(l, block, cell);
    const double *push = push_of(l, cell);
    const double pressure = cell->stiffness * divergence(&place, push, a->transfer->grid->node[a->in]);
    cell_add(&place, pressure, push, worker->part[0]);
  }
}

/* What a cell would push nodes with that no particle reaches: the nearest body takes it. */
static void bear_empty_nodes(const struct transfer *t, const struct liquid_cell *cell, const double *borne,
                             struct body_tally *tallies)
{
  const struct grid_geometry *geometry = &t->grid->geometry;
  int32_t first[3];
  grid_key_index(cell->key, first);
  for (int n = 0; n < 64; n++) {
    const double *b = borne + 4 * n + 1;
    if (b[0] == 0.0 && b[1] == 0.0 && b[2] == 0.0) continue;
    const int32_t index[3] = {first[0] + n / 16, first[1] + n / 4 % 4, first[2] + n % 4};
    double x[3], impulse[3];
    for (int a = 0; a < 3; a++)
      x[geometry->axis[a]] = geometry->lower[a] + geometry->spacing * (index[a] - 1.0);
    const int body = contact_nearest(t->poses, t->pose_count, x);
    for (int d = 0; d < 3; d++) impulse[d] = -t->dt * cell->pressure * b[d];
    if (body >= 0) tally_pressure(&tallies[body], &t->poses[body], x, impulse);
  }
}

/* After the solve: the sum of s p to the scalar of `out`, on nodes that bodies are near. */
void KERNEL(liquid_bear)(void *arguments, struct worker *worker, int32_t block)
{
  const struct liquid_arguments *a = arguments;
  const struct liquid *l = a->liquid;
  cell_clear(worker->part[0]);
  for (int32_t k = l->blocks.first[block]; k < l->blocks.first[block + 1]; k++) {
    const struct liquid_cell *cell = &l->cell[k];
    if (!cell->active || cell->table < 0) continue;
    const struct cell_place place = place_of(l, block, cell);
    const double *borne = l->borne + cell->table * LIQUID_TABLE;
    cell_add(&place, cell->pressure, borne, worker->part[0]);
    bear_empty_nodes(a->transfer, cell, borne, worker->bodies);
  }
}
