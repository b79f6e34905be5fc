#include "sim/push.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

static const double largest = 1e15; /* as in scenes */

/* Contents stay: velocities that were kept are still wanted when nodes need more room. */
static void fit(struct sim_push *push, int64_t count)
{
  if (count <= push->capacity) return;
  const size_t before = (size_t)push->capacity, room = (size_t)(count + count / 2);
  for (int d = 0; d < 3; d++) {
    push->x[d] = mem_resize(push->x[d], before, room, sizeof *push->x[d]);
    push->a[d] = mem_resize(push->a[d], before, room, sizeof *push->a[d]);
    push->kept[d] = mem_resize(push->kept[d], before, room, sizeof *push->kept[d]);
  }
  push->id = mem_resize(push->id, before, room, sizeof *push->id);
  push->capacity = (int64_t)room;
}

void push_free(struct sim_push *push)
{
  for (int d = 0; d < 3; d++) {
    mem_free(push->x[d]);
    mem_free(push->a[d]);
    mem_free(push->kept[d]);
    push->x[d] = push->a[d] = push->kept[d] = NULL;
  }
  mem_free(push->id);
  push->id = NULL;
  push->capacity = 0;
}

static void ask(struct sim *sim, sim_acceleration *give, void *context, int64_t count, const uint64_t *id)
{
  struct sim_push *push = &sim->hooks.push;
  for (int d = 0; d < 3; d++) memset(push->a[d], 0, (size_t)count * sizeof *push->a[d]);
  give(context, sim->clock.time, count, (const double *const *)push->x, id, push->a);
  for (int64_t n = 0; n < count && !push->refused.code; n++)
    for (int d = 0; d < 3; d++)
      if (!(fabs(push->a[d][n]) <= largest))
        error_set(
            &push->refused, FIRN_EINPUT,
            "step %lld at %.9g s: the acceleration that the program gives at (%.4g, %.4g, %.4g) m on rank "
            "%d is %g; expected a number of at most 1e15",
            (long long)sim->clock.step, sim->clock.time, push->x[0][n], push->x[1][n], push->x[2][n],
            sim->comm.rank, push->a[d][n]);
}

bool push_is_refused(struct sim *sim)
{
  struct sim_push *push = &sim->hooks.push;
  if (!push->nodes && !push->particles) return false;
  return comm_agree(&sim->comm, push->refused.code, &push->refused) != FIRN_OK;
}

void push_nodes(struct sim *sim, double dt)
{
  struct sim_push *push = &sim->hooks.push;
  const struct grid *g = sim->mesh.grid;
  double *velocity = g->node[NODE_VELOCITY];
  if (!push->nodes) return;
  fit(push, (int64_t)g->tile_count * TILE_NODES);
  int64_t count = 0;
  for (int32_t tile = 0; tile < g->tile_count; tile++)
    for (int k = 0; k < TILE_NODES; k++) {
      double x[3];
      const int64_t at = (int64_t)tile * TILE_DOUBLES + 4 * k;
      if (!(g->node[NODE_MOMENTUM][at] >= GRID_LEAST_MASS)) continue;
      grid_tile_node(g, tile, k, x);
      for (int d = 0; d < 3; d++) push->x[d][count] = x[d];
      push->id[count++] = (uint64_t)at;
    }
  ask(sim, push->nodes, push->nodes_context, count, NULL);
  for (int64_t n = 0; n < count; n++)
    for (int d = 0; d < 3; d++) velocity[push->id[n] + 1 + (uint64_t)d] += dt * push->a[d][n];
}

void push_particles(struct sim *sim, double dt)
{
  struct sim_push *push = &sim->hooks.push;
  const struct particles *p = sim->p;
  push->refused.code = FIRN_OK;
  if (!push->particles) return;
  fit(push, p->count + 1); /* ids are there even if no particle is */
  for (int32_t n = 0; n < p->count; n++) {
    const int32_t slot = sim->order.slot[n];
    for (int d = 0; d < 3; d++) {
      push->x[d][n] = p->x[d][slot];
      push->kept[d][n] = p->v[d][slot];
    }
    push->id[n] = p->id[sim->order.home[n]];
  }
  ask(sim, push->particles, push->particles_context, p->count, push->id);
  for (int32_t n = 0; n < p->count; n++)
    for (int d = 0; d < 3; d++) p->v[d][sim->order.slot[n]] += dt * push->a[d][n];
}

void push_take_back(struct sim *sim)
{
  const struct sim_push *push = &sim->hooks.push;
  for (int32_t n = 0; push->particles && n < sim->p->count; n++)
    for (int d = 0; d < 3; d++) sim->p->v[d][sim->order.slot[n]] = push->kept[d][n];
}
