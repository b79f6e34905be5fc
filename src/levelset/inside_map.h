/* Which cells of a coarse grid lie wholly inside or outside a shape. A point in such a cell needs no distance
 * of its own: shape_range() of the whole cell has told, and the answer is that of shape_contains(). */
#ifndef FIRN_LEVELSET_INSIDE_MAP_H
#define FIRN_LEVELSET_INSIDE_MAP_H

#include "levelset/shape.h"

enum inside_state {
  INSIDE_UNKNOWN, /* the surface may pass through: ask the shape */
  INSIDE_NO,
  INSIDE_YES,
  INSIDE_DEEP /* and far from the surface */
};

/* What is deep: all within `below` of it is inside, and it is farther than `shell` from the surface (m). */
struct inside_depth {
  double below, shell;
};

struct inside_map {
  const struct shape *shape;
  double lower[3], edge, inverse; /* m; of a cell, cubic; 1/edge */
  int64_t n[3];
  struct inside_depth depth;
  unsigned char *state; /* [x][y][z], enum inside_state; owned */
};

/* Cells of this edge from `lower` on; depth NULL: whatever is inside is deep. The result does not depend on
 * the number of threads. */
void inside_map_create(struct inside_map *map, const struct shape *shape, const double lower[3], double edge,
                       const int64_t n[3], const struct inside_depth *depth, int threads);
/* About `wanted` cells over the shape's bounds. */
void inside_map_cover(struct inside_map *map, const struct shape *shape, double wanted,
                      const struct inside_depth *depth, int threads);
void inside_map_destroy(struct inside_map *map);

static inline int64_t inside_map_index(const struct inside_map *map, const int64_t at[3])
{
  return (at[0] * map->n[1] + at[1]) * map->n[2] + at[2];
}

/* State of the cell that x lies in; beyond the grid, and without one, nothing is known. */
static inline enum inside_state inside_map_find(const struct inside_map *map, const double x[3])
{
  int64_t at[3];
  for (int d = 0; d < 3; d++) {
    const double u = (x[d] - map->lower[d]) * map->inverse;
    if (!(u >= 0.0 && u < (double)map->n[d])) return INSIDE_UNKNOWN; /* a map of zeros has no cell */
    at[d] = (int64_t)u;
  }
  return (enum inside_state)map->state[inside_map_index(map, at)];
}

/* shape_contains(), with the state of x's cell. */
static inline bool inside_map_contains(const struct inside_map *map, enum inside_state state,
                                       const double x[3])
{
  return state == INSIDE_UNKNOWN ? shape_contains(map->shape, x) : state != INSIDE_NO;
}

#endif
