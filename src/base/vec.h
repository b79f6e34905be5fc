/* Three-vectors for the code that is not in an inner loop: shapes, bodies, cameras. */
#ifndef FIRN_BASE_VEC_H
#define FIRN_BASE_VEC_H

#include <math.h>

static inline double vec_dot(const double a[3], const double b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double vec_norm(const double a[3])
{
  return sqrt(vec_dot(a, a));
}

static inline void vec_sub(const double a[3], const double b[3], double out[3])
{
  for (int d = 0; d < 3; d++) out[d] = a[d] - b[d];
}

/* out = a + s b; out may be a. */
static inline void vec_axpy(const double a[3], double s, const double b[3], double out[3])
{
  for (int d = 0; d < 3; d++) out[d] = a[d] + s * b[d];
}

static inline void vec_cross(const double a[3], const double b[3], double out[3])
{
  const double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
  out[0] = x;
  out[1] = y;
  out[2] = z;
}

/* Scales to length one and returns the old length; a zero vector stays. */
static inline double vec_normalize(double a[3])
{
  const double length = vec_norm(a);
  if (length > 0.0)
    for (int d = 0; d < 3; d++) a[d] /= length;
  return length;
}

#endif
