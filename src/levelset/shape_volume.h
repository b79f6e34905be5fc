/* Volumes of shapes by their signed distances. They come out as the same bits wherever they are computed. */
#ifndef FIRN_LEVELSET_SHAPE_VOLUME_H
#define FIRN_LEVELSET_SHAPE_VOLUME_H

#include "levelset/shape.h"

#include <stdbool.h>

/* m^3, infinite for a shape without bounds. The error is some 1e-5 of an ordinary shape, and 1e-3 of what is
 * thin beside its bounds. */
double volume_of(const struct shape *shape);

/* Volume of those points of the shape that count. A thin part costs as much here as a thick one: the error is
 * some 1e-3 of either. `counts` (NULL: everything does) is asked of some hundred thousand points. */
double volume_where(const struct shape *shape, bool (*counts)(const void *context, const double x[3]),
                    const void *context);

/* Part of a box with these edges on the inner side of a plane at signed distance d from its middle, whose
 * normal n is in the box's axes. */
double volume_cut_fraction(double d, const double n[3], const double edge[3]);

#endif
