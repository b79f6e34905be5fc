/* Sine and cosine: take away multiples of pi/2 in three pieces (Cody and Waite), then sum the power series on
 * [-pi/4, pi/4], where nine terms leave less than 1e-19.
 *
 * The pieces of pi/2 have 33 bits each, so that a multiple below 2^20 of a piece is exact in a double. The
 * reduced angle is a sum high + low, since near a multiple of pi/2 a single double would keep too few bits.
 */
#include "base/fmath.h"

#include "base/simd.h"
#include "base/vec.h"

#include <math.h>

static const double two_over_pi = 0x1.45f306dc9c883p-1;
static const double half_pi_a = 0x1.921fb5440p+0;  /* bits 1 to 33 */
static const double half_pi_b = 0x1.0b4611a60p-34; /* bits 34 to 66 */
static const double half_pi_c = 0x1.3198a2e037073p-69;
static const double largest_exact = 8e5; /* 2^19 pi/2 is 823,549 */

/* sin(high + low) for |high| <= pi/4. */
static double sine_kernel(double high, double low)
{
  static const double c[] = {
      -1.0 / 6.0,        1.0 / 120.0,        -1.0 / 5040.0,          1.0 / 362880.0,
      -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0};
  const double z = high * high;
  double sum = c[7];
  for (int k = 6; k >= 0; k--) sum = sum * z + c[k];
  return high + (low * (1.0 - 0.5 * z) + high * z * sum);
}

/* cos(high + low); 1 - z/2 is rounded once and its error is put back. */
static double cosine_kernel(double high, double low)
{
  static const double c[] = {
      1.0 / 24.0,        -1.0 / 720.0,         1.0 / 40320.0,          -1.0 / 3628800.0,
      1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0, -1.0 / 6402373705728000.0};
  const double z = high * high, half = 0.5 * z;
  double sum = c[7];
  for (int k = 6; k >= 0; k--) sum = sum * z + c[k];
  const double head = 1.0 - half;
  return head + (((1.0 - head) - half) + (z * z * sum - high * low));
}

/* Adds quarter turns to an angle with sine s and cosine c. */
static void turn(int quarters, double s, double c, double *sine, double *cosine)
{
  const double sines[4] = {s, c, -s, -c};
  *sine = sines[quarters & 3];
  *cosine = sines[(quarters + 1) & 3];
}

void fmath_sincos(double x, double *sine, double *cosine)
{
  if (!isfinite(x)) {
    *sine = *cosine = NAN;
    return;
  }
  if (fabs(x) > largest_exact) x = fmod(x, 0x1.921fb54442d18p+2); /* fmod is exact by definition */
  const double turns = x * two_over_pi;
  const int quarter = (int)(turns + (turns < 0.0 ? -0.5 : 0.5));
  const double n = (double)quarter;
  const double first = x - n * half_pi_a; /* exact: the two agree in their leading bits */
  const double step = n * half_pi_b, second = first - step;
  const double lost = (first - second) - step - n * half_pi_c;
  const double high = second + lost, low = (second - high) + lost;
  const double s = sine_kernel(high, low), c = cosine_kernel(high, low);
  turn(quarter, s, c, sine, cosine);
}

void fmath_sincos_degrees(double degrees, double *sine, double *cosine)
{
  const double rest = fmod(degrees, 360.0); /* exact */
  const int quarter = (int)(rest / 90.0 + (rest < 0.0 ? -0.5 : 0.5));
  double s, c;
  fmath_sincos((rest - 90.0 * quarter) * (0x1.921fb54442d18p+1 / 180.0), &s, &c);
  turn(quarter, s, c, sine, cosine);
}

/* Two half angles bring [0, 1] down to [0, 0.199], where eleven terms of the series leave less than 1e-17. */
static double small_atan(double t)
{
  for (int k = 0; k < 2; k++) t = t / (1.0 + sqrt(1.0 + t * t));
  const double z = t * t;
  double sum = 0.0;
  for (int k = 10; k >= 1; k--) sum = ((k & 1 ? -1.0 : 1.0) / (2.0 * k + 1.0) + sum) * z;
  return 4.0 * (t + t * sum);
}

double fmath_atan2(double y, double x)
{
  const double a = fabs(x), b = fabs(y);
  if (a == 0.0 && b == 0.0) return 0.0;
  const double angle = b <= a ? small_atan(b / a) : 0x1.921fb54442d18p+0 - small_atan(a / b);
  const double upper = x < 0.0 ? 0x1.921fb54442d18p+1 - angle : angle;
  return y < 0.0 ? -upper : upper;
}

/* With lanes as the portable build has them, whatever the CPU: this file is built for no other. */
double fmath_asinh(double x)
{
  const double a = fabs(x), above = a + a * a / (1.0 + sqrt(1.0 + a * a));
  return copysign(vd_log1p(vd_set(above))[0], x);
}

/* From logarithm and exponential, and one step of Newton's. */
double fmath_cbrt(double x)
{
  const double y = vd_exp(vd_log(vd_set(x)) / vd_set(3.0))[0];
  return y - (y * y * y - x) / (3.0 * y * y);
}

void fmath_rotate(const double k[3], double sine, double cosine, const double a[3], double out[3])
{
  double across[3];
  vec_cross(k, a, across);
  const double along = vec_dot(k, a) * (1.0 - cosine);
  for (int d = 0; d < 3; d++) out[d] = a[d] * cosine + across[d] * sine + k[d] * along;
}
