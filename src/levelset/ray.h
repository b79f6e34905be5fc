/* Where a straight line enters and leaves a shape. */
#ifndef FIRN_LEVELSET_RAY_H
#define FIRN_LEVELSET_RAY_H

#include "levelset/shape.h"

struct shape_ray {
  const struct shape *shape;
  double from[3];
  double along[3]; /* unit */
  double length;   /* m */
};

/* A place on a ray: how far along (m), and the distance of the shape there. */
struct ray_place {
  double at, distance;
};

/* Distance of the shape at a place, which may be before the beginning. */
double ray_distance(const struct shape_ray *ray, double at);

struct ray_place shape_ray_begin(const struct shape_ray *ray);

/* How far along the shape next begins or ends, or the ray's length if it does not; *place moves on just
 * beyond. A part that is thinner than a millionth of the length may be missed. */
double shape_ray_next(const struct shape_ray *ray, struct ray_place *place);

#endif
