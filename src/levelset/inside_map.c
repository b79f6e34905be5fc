/* See inside_map.h. Boxes of cells are halved until they are decided or single cells, so the work follows the
 * surface. */
#include "levelset/inside_map.h"

#include "base/memory.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 16 }; /* cells along the edge of what a thread takes at a time */

/* A point may have been rounded across its cell's border, and a distance is rounded too: the ball around a
 * cell is larger than the cell by these parts of its radius and of the coordinates. */
static const double wider = 1e-6, rounding = 1e-11;

void inside_map_destroy(struct inside_map *map)
{
  mem_free(map->state);
  *map = (struct inside_map){0};
}

struct cells {
  int64_t from[3], to[3];
};

static void fill(const struct inside_map *map, const struct cells *c, enum inside_state state)
{
  for (int64_t x = c->from[0]; x < c->to[0]; x++)
    for (int64_t y = c->from[1]; y < c->to[1]; y++)
      memset(map->state + inside_map_index(map, (const int64_t[]){x, y, c->from[2]}), (int)state,
             (size_t)(c->to[2] - c->from[2]));
}

static enum inside_state state_of(const struct inside_map *map, const struct cells *c)
{
  double middle[3], half[3], size = 0.0, least, most;
  for (int d = 0; d < 3; d++) {
    middle[d] = map->lower[d] + 0.5 * map->edge * (double)(c->from[d] + c->to[d]);
    half[d] = 0.5 * map->edge * (double)(c->to[d] - c->from[d]);
    size = fmax(size, fabs(middle[d]) + fabs(map->shape->center[d]) + half[d]);
  }
  const double radius = (1.0 + wider) * vec_norm(half) + rounding * size;
  shape_range(map->shape, middle, radius, &least, &most);
  if (least > 0.0) return INSIDE_NO;
  if (!(most < 0.0)) return INSIDE_UNKNOWN;
  if (!(most < -map->depth.shell)) return INSIDE_YES;
  if (map->depth.below > 0.0) shape_range(map->shape, middle, radius + map->depth.below, &least, &most);
  return most < 0.0 ? INSIDE_DEEP : INSIDE_YES;
}

static void classify(const struct inside_map *map, const struct cells *c)
{
  const enum inside_state state = state_of(map, c);
  int longest = 0;
  for (int d = 1; d < 3; d++)
    if (c->to[d] - c->from[d] > c->to[longest] - c->from[longest]) longest = d;
  const int64_t length = c->to[longest] - c->from[longest];
  if (length == 1 || state == INSIDE_NO || state == INSIDE_DEEP) {
    fill(map, c, state);
    return;
  }
  struct cells half = *c;
  half.to[longest] = c->from[longest] + length / 2;
  classify(map, &half);
  half.from[longest] = half.to[longest];
  half.to[longest] = c->to[longest];
  classify(map, &half);
}

void inside_map_create(struct inside_map *map, const struct shape *shape, const double lower[3], double edge,
                       const int64_t n[3], const struct inside_depth *depth, int threads)
{
  *map = (struct inside_map){.shape = shape, .edge = edge, .inverse = 1.0 / edge};
  if (depth) map->depth = *depth;
  int64_t blocks[3];
  for (int d = 0; d < 3; d++) {
    map->lower[d] = lower[d];
    map->n[d] = n[d];
    blocks[d] = (n[d] + BLOCK - 1) / BLOCK;
  }
  map->state = mem_alloc((size_t)(n[0] * n[1] * n[2]), 1);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t b = 0; b < blocks[0] * blocks[1] * blocks[2]; b++) {
    const int64_t at[3] = {b / (blocks[1] * blocks[2]), b / blocks[2] % blocks[1], b % blocks[2]};
    struct cells c;
    for (int d = 0; d < 3; d++) {
      c.from[d] = BLOCK * at[d];
      c.to[d] = c.from[d] + BLOCK < n[d] ? c.from[d] + BLOCK : n[d];
    }
    classify(map, &c);
  }
}

void inside_map_cover(struct inside_map *map, const struct shape *shape, double wanted,
                      const struct inside_depth *depth, int threads)
{
  double lower[3], upper[3], size[3], longest = 0.0;
  int64_t n[3];
  *map = (struct inside_map){.shape = shape};
  if (!shape_bounds(shape, lower, upper)) return;
  vec_sub(upper, lower, size);
  for (int d = 0; d < 3; d++) longest = fmax(longest, size[d]);
  if (!(longest > 0.0)) return;
  /* Flat bounds have few cells across: the edge is made larger until there are no more than wanted. */
  double edge = longest / (floor(wanted) + 1.0), all = INFINITY;
  while (all > wanted) {
    edge *= 1.25;
    for (int d = 0; d < 3; d++) n[d] = (int64_t)ceil(size[d] / edge) + 1;
    all = (double)n[0] * (double)n[1] * (double)n[2];
    if (edge > longest) break;
  }
  inside_map_create(map, shape, lower, edge, n, depth, threads);
}
