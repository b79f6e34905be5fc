/* Maps of the flow on the terrain's own grid: what was thickest, fastest and strongest in each cell, and when
 * it arrived.
 *
 * They are found after every accepted step, not from frames. The volume, mass and momentum over a cell are
 * sums of whole numbers: each particle's part is rounded to a fixed quantum, so neither ranks nor threads
 * change a bit. A cell that may lie on two slabs is summed by one of its ranks. What a rank has found stays
 * with it, since the greatest of all ranks' values is the greatest of all time, wherever the cuts were.
 * Memory follows the flow: cells lie in blocks that are made when snow first comes there. */
#ifndef FIRN_SIM_MAPS_H
#define FIRN_SIM_MAPS_H

#include "sim/sim.h"
#include "terrain/raster.h"

/* What is kept of a cell, and what files show. */
enum map_kind {
  MAP_THICKNESS,           /* m, normal to the ground, the largest so far */
  MAP_SPEED,               /* m/s, mean by mass over the cell, the largest */
  MAP_PRESSURE,            /* Pa, density times speed squared, the largest */
  MAP_FIRST,               /* m, normal to the ground, at the start */
  MAP_ARRIVAL,             /* s, when it was first thicker than the least thickness */
  MAP_KEPT,                /* so many are kept; the others follow: */
  MAP_VERTICAL = MAP_KEPT, /* m, the largest thickness measured straight up */
  MAP_FINAL,               /* m, normal to the ground, now */
  MAP_DEPOSIT,             /* the same where the snow moves at less than 1 m/s */
  MAP_KINDS
};

struct maps;

/* NULL where the scene asks for none. */
struct maps *maps_create(const struct scene *scene);
void maps_destroy(struct maps **maps);

/* The present state, at the clock's time, enters the maps. `first`: it is the one that the run begins with.
 * Collective. */
void maps_add(struct sim *sim, double time, bool first);

/* Rank 0: the map of a kind on the whole grid, to be destroyed; NULL on the others. NaN where there is
 * nothing to say. Collective. */
struct raster *maps_raster(struct sim *sim, enum map_kind kind);

/* What a checkpoint keeps: rank 0's, for mem_free(); NULL for nothing. Saving is collective. */
char *maps_save(const struct sim *sim);
void maps_restore(struct sim *sim, const char *text);

#endif
