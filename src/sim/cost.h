/* What work costs, counted: the one measure by which cuts are chosen (balance.c) and times predicted
 * (predict/time_model.h).
 *
 * In eighths of what a particle takes in one product of the solve: a step besides its solve, and one product
 * of the solve. A block has its part to clear, its nodes to load and its part in sums; a brick its merge and
 * the work on its nodes. */
#ifndef FIRN_SIM_COST_H
#define FIRN_SIM_COST_H

#include <stdint.h>

struct cost {
  int64_t particle, cell, block, brick;
};

struct cost_count {
  int64_t particles, cells, blocks, bricks;
};

static const struct cost step_cost = {22, 5, 216, 216}, product_cost = {8, 1, 224, 224};

/* Of a step with so many products. */
static inline struct cost cost_of(int64_t products)
{
  return (struct cost){
      step_cost.particle + products * product_cost.particle, step_cost.cell + products * product_cost.cell,
      step_cost.block + products * product_cost.block, step_cost.brick + products * product_cost.brick};
}

static inline int64_t cost_units(const struct cost *cost, const struct cost_count *count)
{
  return cost->particle * count->particles + cost->cell * count->cells + cost->block * count->blocks +
         cost->brick * count->bricks;
}

#endif
