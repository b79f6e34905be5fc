/* The kinds of shapes that have closed formulas, for shape.c. */
#ifndef FIRN_LEVELSET_ANALYTIC_H
#define FIRN_LEVELSET_ANALYTIC_H

#include "levelset/shape.h"

static inline bool analytic_has(enum shape_kind kind)
{
  return kind >= SHAPE_PLANE && kind <= SHAPE_WEDGE;
}

/* As the functions of shape.h. */
double analytic_distance(const struct shape *shape, const double x[3], double n[3]);
double analytic_volume(const struct shape *shape);
void analytic_bounds(const struct shape *shape, double lower[3], double upper[3]);
double analytic_reach(const struct shape *shape);

#endif
