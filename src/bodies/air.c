#include "bodies/air.h"

#include "base/fmath.h"
#include "base/simd.h"
#include "base/vec.h"

#include <math.h>

static double log_above_one(double u) /* ln(1 + u) */
{
  return fmath_asinh(u * (u + 2.0) / (2.0 * (u + 1.0)));
}

static double power(double base, double exponent)
{
  return base > 0.0 ? vd_exp(vd_set(exponent) * vd_log(vd_set(base)))[0] : 0.0;
}

static double height_of(const struct air *air, const struct body_pose *poses, const double x[3])
{
  double from[3], distance;
  if (air->above >= 0) {
    distance = shape_distance(&poses[air->above].shape, x, NULL);
  } else {
    vec_sub(x, air->point, from);
    distance = vec_dot(from, air->normal);
  }
  return fmax(distance, 0.0);
}

void air_wind(const struct air *air, const struct body_pose *poses, const double x[3], double time,
              double wind[3])
{
  double factor = air->gusts.count ? ramp_at(&air->gusts, time) : 1.0;
  if (air->profile == AIR_LOG)
    factor *= log_above_one(height_of(air, poses, x) / air->roughness) /
              log_above_one(air->height / air->roughness);
  else if (air->profile == AIR_POWER)
    factor *= power(height_of(air, poses, x) / air->height, air->exponent);
  for (int d = 0; d < 3; d++) wind[d] = factor * air->wind[d];
}

double air_exposure(const struct air *air, double filled)
{
  return fmin(fmax((air->dense - filled) / (air->dense - air->loose), 0.0), 1.0);
}

void air_blow(const struct air *air, const struct body_pose *poses, const double x[3], double time,
              double exposure, double dt, double v[3])
{
  double wind[3], slip[3];
  air_wind(air, poses, x, time, wind);
  vec_sub(v, wind, slip);
  const double left = 2.0 / (1.0 + sqrt(1.0 + 4.0 * air->drag * exposure * dt * vec_norm(slip)));
  vec_axpy(wind, left, slip, v);
}

double air_fastest(const struct air *air)
{
  double most = air->gusts.count ? 0.0 : 1.0;
  for (int k = 0; k < air->gusts.count; k++) most = fmax(most, air->gusts.key[k].value);
  return most * vec_norm(air->wind);
}
