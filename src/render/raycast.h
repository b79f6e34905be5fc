/* Where a ray meets a shape, in closed form for the five simplest, which are most of what scenes hold; sphere
 * tracing costs tens of steps for each of millions of rays, and does the others. */
#ifndef FIRN_RENDER_RAYCAST_H
#define FIRN_RENDER_RAYCAST_H

#include "levelset/shape.h"

#include <stdbool.h>

/* First hit of origin + t direction, t > 0, from outside; direction need not be of unit length. */
bool raycast_shape(const struct shape *shape, const double origin[3], const double direction[3], double *t);

#endif
