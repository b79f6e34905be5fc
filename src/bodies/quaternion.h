/* Rotations as unit quaternions (w, x, y, z), for motions between keys. Own sine, cosine and arc tangent: the
 * bits are the same on every CPU. */
#ifndef FIRN_BODIES_QUATERNION_H
#define FIRN_BODIES_QUATERNION_H

#include "base/fmath.h"
#include "base/vec.h"

#include <math.h>

static inline void quaternion_multiply(const double a[4], const double b[4], double out[4])
{
  const double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  const double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  const double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  const double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
  out[0] = w;
  out[1] = x;
  out[2] = y;
  out[3] = z;
}

static inline void quaternion_inverse(const double a[4], double out[4])
{
  out[0] = a[0];
  for (int k = 1; k < 4; k++) out[k] = -a[k];
}

/* Scales to length one and returns the old length. */
static inline double quaternion_normalize(double a[4])
{
  const double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3]);
  for (int k = 0; k < 4 && length > 0.0; k++) a[k] /= length;
  return length;
}

/* The rotation by the vector w (axis times angle, rad), and back; the angle that comes back is at most pi. */
static inline void quaternion_exp(const double w[3], double out[4])
{
  const double angle = vec_norm(w);
  double sine, cosine;
  fmath_sincos(0.5 * angle, &sine, &cosine);
  out[0] = cosine;
  for (int k = 0; k < 3; k++) out[1 + k] = angle > 0.0 ? sine * (w[k] / angle) : 0.0;
}

static inline void quaternion_log(const double a[4], double w[3])
{
  const double sine = vec_norm(a + 1), sign = a[0] < 0.0 ? -1.0 : 1.0;
  const double angle = 2.0 * fmath_atan2(sine, fabs(a[0]));
  for (int k = 0; k < 3; k++) w[k] = sine > 0.0 ? sign * angle * (a[1 + k] / sine) : 0.0;
}

static inline void quaternion_matrix(const double q[4], double out[9])
{
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  out[0] = 1.0 - 2.0 * (y * y + z * z);
  out[1] = 2.0 * (x * y - w * z);
  out[2] = 2.0 * (x * z + w * y);
  out[3] = 2.0 * (x * y + w * z);
  out[4] = 1.0 - 2.0 * (x * x + z * z);
  out[5] = 2.0 * (y * z - w * x);
  out[6] = 2.0 * (x * z - w * y);
  out[7] = 2.0 * (y * z + w * x);
  out[8] = 1.0 - 2.0 * (x * x + y * y);
}

static inline void quaternion_rotate(const double q[4], const double a[3], double out[3])
{
  double t[3], u[3];
  vec_cross(q + 1, a, t);
  for (int k = 0; k < 3; k++) t[k] *= 2.0;
  vec_cross(q + 1, t, u);
  for (int k = 0; k < 3; k++) out[k] = a[k] + q[0] * t[k] + u[k];
}

#endif
