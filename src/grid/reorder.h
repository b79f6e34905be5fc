/* The order (block, cell, id) after a step, without a pass that moves the particles.
 *
 * G2P writes the new state in the order of the step, so that the state follows the order for free, one step
 * behind; the new order is an array of slots, nearly 0, 1, 2, ..., through which the kernels load. What never
 * changes (id, mass, V0, stiffness, material) stays at its home until reorder_tidy() brings all arrays into
 * order. Each step only merges those who stayed in their cell, in order already, with the few who changed or
 * arrived. None of this changes a sum or a bit, only speed.
 *
 * It needs no memory of its own beyond slots and homes: the keys of those who stayed are those of the grid's
 * cells, those of the others follow from their positions, and the state before the step, which nobody reads
 * any more, is where movers are sorted. */
#ifndef FIRN_REORDER_H
#define FIRN_REORDER_H

#include "grid/grid.h"
#include "grid/particles.h"

#include <stdbool.h>
#include <stdint.h>

#define REORDER_GONE UINT64_MAX /* behind the keys of all cells */

struct reorder {
  int32_t *slot, *home; /* see struct transfer */
  int32_t homes_used;   /* homes [0, this) may hold particles */
  int32_t *vacant;      /* those of them whose particles left for another rank */
  int32_t vacant_count, vacant_capacity;
  int32_t capacity;
  int threads;      /* that share the work: all of the crew, or one; 0 is one */
  int64_t moved;    /* since the homes were last in order */
  bool tidy;        /* particle k stands at k */
  bool cells_known; /* the order is by the cells of the grid */
};

/* Grows to p's capacity; contents stay. */
void reorder_fit(struct reorder *r, const struct particles *p);
void reorder_free(struct reorder *r);

/* Declares that particle k stands at k in every array and that nothing is known of the order. */
void reorder_reset(struct reorder *r, const struct particles *p);

/* The home of a particle that leaves is free for one that arrives. */
void reorder_vacate(struct reorder *r, int32_t home);

/* What p must have room for when so many arrive. */
int64_t reorder_room(const struct reorder *r, const struct particles *p, int64_t arrived);

/* Gives a home to the k-th particle, which arrives: an index behind the old order. */
int32_t reorder_house(struct reorder *r, int32_t k);

/* The particles of the old order, that of the grid's cells, have their fates and new state in `next`.
 * `arrived` more stand behind them there, as such that move, and have their homes. The new state becomes the
 * state, and r holds the new order; those that are gone are dropped. Returns the cells of the new order, for
 * grid_collect(); they are held by `next` until it is written to. */
struct grid_cells reorder_particles(struct reorder *r, struct particles *p, struct next *next,
                                    const struct grid *grid, int32_t arrived);

/* Whether slots and homes are each used once, and the particles are those of the grid's cells in the order
 * (block, cell, id). After grid_collect() with the cells that reorder_particles() found. */
bool order_is_valid(const struct reorder *r, const struct particles *p, const struct grid *grid);

/* Whether homes are so far from the order that bringing them back pays. */
bool reorder_is_untidy(const struct reorder *r, const struct particles *p);

/* Brings all arrays into order: afterwards particle k stands at k. */
void reorder_tidy(struct reorder *r, struct particles *p, struct next *next);

#endif
