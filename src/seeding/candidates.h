/* Candidates of a snow item, in ranges: those inside its shape become particles.
 *
 * Most of them lie in cells that are wholly inside or outside (levelset/inside_map.h), so few are asked one
 * by one. A first pass finds and counts them, so that the arrays grow once; a second one makes the particles.
 * Threads share both passes, and the particles do not depend on how many there are. */
#ifndef FIRN_CANDIDATES_H
#define FIRN_CANDIDATES_H

#include "grid/particles.h"
#include "io/scene/scene.h"
#include "levelset/inside_map.h"
#include "seeding/sampling.h"

struct candidates {
  const struct snow_source *source;
  const struct sampling *lattice; /* NULL: an endless row of points in the shape's bounds */
  int threads;
  double lower[3], size[3]; /* of the bounds */
  struct inside_map map;
  int64_t first; /* lattice: the layer of cubes along its slowest axis that the map begins with */
  int64_t group; /* lattice: cubes in a cell of the map along an axis */
  int64_t fine;  /* or cells in a cube, where it has several: */
  int32_t *cell; /* of each of its points, as an offset from its first cell; else NULL; owned */
};

/* For candidates [begin, end), or in a row for as many. */
void candidates_create(struct candidates *c, const struct snow_source *source, const struct sampling *lattice,
                       int64_t begin, int64_t end, int threads);
void candidates_destroy(struct candidates *c);

/* Appends a particle for each of [begin, end) that is inside, in their order. Position and velocity are set,
 * ids are the candidates' numbers. */
void candidates_take(const struct candidates *c, int64_t begin, int64_t end, struct particles *p);

#endif
