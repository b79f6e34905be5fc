/* A distance says how far one may go without meeting a surface; some kinds promise a little too much. */
#include "levelset/ray.h"

#include "base/vec.h"

#include <math.h>
#include <stddef.h>

static const double caution = 0.8;   /* of a distance is gone at once */
static const double shortest = 1e-6; /* of the length; a shorter step is not taken */
static const double exact = 1e-9;    /* of the length, for a surface */

double ray_distance(const struct shape_ray *ray, double at)
{
  double there[3];
  vec_axpy(ray->from, at, ray->along, there);
  return shape_distance(ray->shape, there, NULL);
}

struct ray_place shape_ray_begin(const struct shape_ray *ray)
{
  return (struct ray_place){0.0, ray_distance(ray, 0.0)};
}

/* The surface between two places on different sides: by secants, and by halves where these make no progress.
 */
static double find_surface(const struct shape_ray *ray, struct ray_place low, struct ray_place high)
{
  for (int k = 0; k < 40 && high.at - low.at > exact * ray->length; k++) {
    const double part =
        k % 3 == 2 ? 0.5 : fmin(0.99, fmax(0.01, low.distance / (low.distance - high.distance)));
    const double at = low.at + part * (high.at - low.at);
    const struct ray_place middle = {at, ray_distance(ray, at)};
    if (fabs(middle.distance) < exact * ray->length) return at;
    if ((middle.distance <= 0.0) == (low.distance <= 0.0))
      low = middle;
    else
      high = middle;
  }
  return 0.5 * (low.at + high.at);
}

double shape_ray_next(const struct shape_ray *ray, struct ray_place *place)
{
  while (place->at < ray->length) {
    const struct ray_place last = *place;
    const double step = fmax(caution * fabs(last.distance), shortest * ray->length);
    place->at = fmin(ray->length, last.at + step);
    place->distance = ray_distance(ray, place->at);
    if ((place->distance <= 0.0) != (last.distance <= 0.0)) return find_surface(ray, last, *place);
  }
  return ray->length;
}
