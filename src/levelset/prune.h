/* A tree of unions, intersections and differences as it is near a place: without the children that are
 * nowhere nearest there. Distances, normals and ranges of what is left have the same bits there. */
#ifndef FIRN_LEVELSET_PRUNE_H
#define FIRN_LEVELSET_PRUNE_H

#include "levelset/shape.h"

/* Shapes in the tree, or 0 if it has others than these three over closed formulas: ranges of other kinds are
 * not all as wide, so that a child which is not nearest may still count in them. */
int prune_count(const struct shape *shape);

/* Fills `out`, of prune_count() shapes, of which the first is the tree within the ball. They own nothing and
 * live no longer than the shape. */
void prune(const struct shape *shape, const double x[3], double radius, struct shape *out);

#endif
