#include "sim/sample.h"

#include "base/memory.h"

#include <math.h>

/* The kernel's value at u cells from a node. */
static double weight(int support, double u)
{
  const double d = fabs(u);
  if (support == 3) return d < 0.5 ? 0.75 - d * d : d < 1.5 ? 0.5 * (1.5 - d) * (1.5 - d) : 0.0;
  if (d < 1.0) return (0.5 * d - 1.0) * d * d + 2.0 / 3.0;
  return d < 2.0 ? (2.0 - d) * (2.0 - d) * (2.0 - d) / 6.0 : 0.0;
}

/* The node's four channels; NULL if no particle reaches its brick. */
static const double *find_node(const struct grid *g, int64_t plane, int64_t y, int64_t z)
{
  const int32_t brick = grid_find_brick(g, grid_key_block(grid_key(plane, y, z)));
  if (brick < 0) return NULL;
  const int64_t tile = (int64_t)brick * BRICK_TILES + plane % BLOCK_X;
  return g->node[NODE_MOMENTUM] + tile * TILE_DOUBLES + 4 * (y % TILE_Y * TILE_Z + z % TILE_Z);
}

/* Mass and momentum at x, whose stencil is on this rank. */
static void gather(const struct grid *g, const double x[3], double sum[4])
{
  const struct grid_geometry *f = &g->geometry;
  int64_t base[3];
  double w[3][MAX_SUPPORT];
  for (int a = 0; a < 3; a++) {
    const double u = (x[f->axis[a]] - f->lower[a]) * f->inverse;
    base[a] = grid_base(f, a, x[f->axis[a]]);
    for (int k = 0; k < f->support; k++) w[a][k] = weight(f->support, u - (double)(base[a] + k - 1));
  }
  for (int i = 0; i < f->support; i++)
    for (int j = 0; j < f->support; j++)
      for (int k = 0; k < f->support; k++) {
        const double *node = find_node(g, base[0] + i, base[1] + j, base[2] + k);
        for (int c = 0; node && c < 4; c++) sum[c] += w[0][i] * w[1][j] * w[2][k] * node[c];
      }
}

/* A scatter of its own: with a step of no length the forces that ride along add nothing. */
static void rasterise(struct sim *sim)
{
  const enum node_field fields[2] = {NODE_MOMENTUM, NODE_VELOCITY};
  const bool fused = transfer_is_fused(&sim->transfer);
  sim->transfer.dt = 0.0;
  sim->transfer.measuring = false;
  crew_begin(&sim->crew);
  sim_scatter(sim, sim->kernels->p2g, &sim->transfer, sim->kernels->layout, fields, fused ? 1 : 2);
}

void sample_nodes(struct sim *sim, int64_t count, const double *points, double *density, double *velocity)
{
  const struct grid *g = sim->mesh.grid;
  const double h3 = g->geometry.spacing * g->geometry.spacing * g->geometry.spacing;
  rasterise(sim);
  for (int64_t n = 0; n < count; n++) {
    double sum[4] = {0.0, 0.0, 0.0, 0.0}, all[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    const uint64_t key = grid_key_of(&g->geometry, points + 3 * n);
    const bool own =
        key != REORDER_GONE && slabs_owner(sim->mesh.slabs, grid_key_layer(key)) == sim->comm.rank;
    if (own) gather(g, points + 3 * n, sum);
    for (int c = 0; c < 4 && own; c++) all[c] = c > 0 && sum[0] > 0.0 ? sum[c] / sum[0] : sum[c];
    density[n] = all[0] / h3;
    for (int d = 0; d < 3; d++) velocity[3 * n + d] = all[1 + d];
  }
  /* One rank has each point; the others have minus infinity. */
  for (int64_t from = 0; from < count; from += 1 << 20) {
    const int part = (int)(count - from < 1 << 20 ? count - from : 1 << 20);
    comm_max(&sim->comm, density + from, part);
    comm_max(&sim->comm, velocity + 3 * from, 3 * part);
  }
  for (int64_t n = 0; n < count; n++) {
    if (isfinite(density[n])) continue;
    density[n] = 0.0;
    for (int d = 0; d < 3; d++) velocity[3 * n + d] = 0.0;
  }
}
