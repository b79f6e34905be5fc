/* Volume, centre and second moments of shapes, for bodies that move freely. Closed formulas where there are
 * some; others are summed over boxes, to 1e-3 or better. They come out as the same bits wherever they are
 * computed. */
#ifndef FIRN_LEVELSET_SHAPE_MOMENTS_H
#define FIRN_LEVELSET_SHAPE_MOMENTS_H

#include "levelset/shape.h"

struct shape_moments {
  double volume;     /* m^3; infinite for an unbounded shape */
  double center[3];  /* m */
  double inertia[9]; /* m^2: of unit mass, about the centre, in the world's axes */
};

/* A shape that is ready and settled. */
void shape_find_moments(const struct shape *shape, struct shape_moments *moments);

/* The shape's own axes as columns, row-major. What an axis directs has it as the first. */
void shape_own_axes(const struct shape *shape, double axes[9]);

#endif
