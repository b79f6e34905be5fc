/* What the layers of a scene hold, along the slab axis: all that its cuts, its messages and its work depend
 * on.
 *
 * From a simulation it is exact. From the scene's shapes it is an estimate, made without any particle, so
 * that a scene far beyond this machine can be looked at: cells are sampled at their centres, blocks and
 * bricks follow from the cells as grid.h has it. */
#ifndef FIRN_PROFILE_H
#define FIRN_PROFILE_H

#include "io/scene/scene.h"
#include "sim/sim.h"

#include <stdint.h>

struct profile {
  int axis;       /* of the slabs, in the world */
  int32_t layers; /* of blocks, along the whole domain */
  int support;
  int64_t *particles, *cells, *blocks; /* [layers] */
  int64_t *bricks;                     /* [layers + 1] */
  int64_t all_particles, all_cells, all_blocks, all_bricks;
  double nodes; /* active ones: those in the bricks */
};

/* refine: cells a cell's edge is cut into; particles grow as its cube. Snow from files is left out. */
struct profile *profile_of_scene(const struct scene *scene, double refine);

/* Collective. */
struct profile *profile_of_sim(const struct sim *sim);

/* The same so many times, one every `distance` layers: what domain.copies makes of a scene. 0: as many layers
 * as one has. */
struct profile *profile_repeat(const struct profile *profile, int copies, int32_t distance);

/* Layers from one copy to the next whose snow is to meet: both have particles in the layer where they do. */
int32_t profile_meeting_layers(const struct profile *profile);

void profile_destroy(struct profile **profile);

#endif
