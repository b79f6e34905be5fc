/* Single-precision functions for the inner loop of the tracer: a few basic operations each, and the same bits
 * on every machine, which libm does not promise (base/fmath.h). */
#ifndef FIRN_RENDER_QUICK_H
#define FIRN_RENDER_QUICK_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* -ln(1 - u) for u in [0, 1 - 2^-24]: an exponential variate. Relative error below 3e-7 where u is above
 * 1e-3; 1 - u is exact, since u has 24 bits. */
static inline float quick_exponential(float u)
{
  const float x = 1.0f - u;
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  /* x = 2^e m with m in [sqrt(1/2), sqrt(2)) */
  const uint32_t shifted = bits - 0x3f3504f3u;
  const float e = (float)((int32_t)shifted >> 23);
  bits = (shifted & 0x007fffffu) + 0x3f3504f3u;
  float m;
  memcpy(&m, &bits, sizeof m);
  const float z = (m - 1.0f) / (m + 1.0f), s = z * z;
  const float atanh = z * (2.0f + s * (0.66666667f + s * (0.4f + s * 0.28571429f)));
  return -(e * 0.69314718f + atanh);
}

/* Cosine and sine of a uniform angle, for u in [0, 1); not of 2 pi u itself but of some angle that covers the
 * circle as evenly. */
static inline void quick_circle(float u, float *cosine, float *sine)
{
  const float quarters = 4.0f * u;
  const int quarter = (int)quarters;
  const float a = (quarters - (float)quarter - 0.5f) * 1.57079633f, z = a * a;
  const float s = a * (1.0f + z * (-0.16666667f + z * (8.3333310e-3f + z * -1.9840874e-4f)));
  const float c = 1.0f + z * (-0.5f + z * (4.1666642e-2f + z * (-1.3888397e-3f + z * 2.4760495e-5f)));
  const float x = quarter & 1 ? -s : c, y = quarter & 1 ? c : s;
  *cosine = quarter & 2 ? -x : x;
  *sine = quarter & 2 ? -y : y;
}

/* Two unit vectors across the unit vector n, without a branch (Duff et al., 2017). */
static inline void quick_frame(const float n[3], float a[3], float b[3])
{
  const float sign = copysignf(1.0f, n[2]), s = -1.0f / (sign + n[2]), t = n[0] * n[1] * s;
  a[0] = 1.0f + sign * n[0] * n[0] * s;
  a[1] = sign * t;
  a[2] = -sign * n[0];
  b[0] = t;
  b[1] = sign + n[1] * n[1] * s;
  b[2] = -n[1];
}

/* The direction at this cosine from the unit vector `along`, and at a uniform angle about it. */
static inline void quick_turn(const float along[3], float cosine, float u, float out[3])
{
  float a[3], b[3], x, y;
  const float left = 1.0f - cosine * cosine, sine = sqrtf(left > 0.0f ? left : 0.0f);
  quick_frame(along, a, b);
  quick_circle(u, &x, &y);
  for (int d = 0; d < 3; d++) out[d] = cosine * along[d] + sine * (x * a[d] + y * b[d]);
}

#endif
