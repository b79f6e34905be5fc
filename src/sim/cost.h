/* What work costs, counted: the one measure by which cuts are chosen (balance.c) and times predicted
 * (predict/time_model.h).
 *
 * In eighths of what a particle takes in one product of the solve, fitted to blocks and thin rods of 1 to 16
 * particles a cell: a step besides its solve, and one product of the solve. A tile is as dear as 14
 * particles. */
#ifndef FIRN_SIM_COST_H
#define FIRN_SIM_COST_H

#include <stdint.h>

struct cost {
  int64_t particle, cell, tile;
};

static const struct cost step_cost = {22, 5, 108}, product_cost = {8, 1, 112};

#endif
