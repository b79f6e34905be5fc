/* Zones of the ground: laws of friction by place on the map. A raster over two axes of the world has the
 * number of a law in each cell; 0 is none, and what lies outside has none either. */
#ifndef FIRN_ZONES_H
#define FIRN_ZONES_H

#include "bodies/ground.h"

#include <stdint.h>

struct zones {
  int axis[2];      /* world axes of columns and rows */
  double corner[2]; /* m, where column 0 and row 0 begin, along these axes */
  double step[2];   /* m, from one column or row to the next; may be negative */
  int32_t columns, rows;
  uint8_t *number;        /* [rows * columns], 0 or 1 + the law; owned */
  int count;              /* laws */
  struct ground_law *law; /* owned */
};

/* NULL: no zone. */
const struct ground_law *zones_law_at(const struct zones *zones, const double x[3]);

void zones_destroy(struct zones **zones);

#endif
