/* Our sine, cosine and inverse hyperbolic sine against long double libm: near every multiple of pi/2, far
 * out. */
#include "base/fmath.h"
#include "base/rng.h"
#include "base/vec.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double ulps(double got, long double exact)
{
  const double near = (double)exact;
  const double ulp = fmax(nextafter(fabs(near), INFINITY) - fabs(near), 0x1p-1074);
  return (double)(fabsl((long double)got - exact) / (long double)ulp);
}

static double worst_at(double x)
{
  double s, c;
  fmath_sincos(x, &s, &c);
  return fmax(ulps(s, sinl((long double)x)), ulps(c, cosl((long double)x)));
}

static void within_one_ulp(void **state)
{
  (void)state;
  double worst = 0.0;
  for (uint64_t k = 0; k < 400000; k++) {
    const double u = 2.0 * rng_uniform(1, k, 0) - 1.0;
    worst = fmax(worst, worst_at(u * 8e5));
    worst = fmax(worst, worst_at(u * 4.0));
    worst = fmax(worst, worst_at(u * ldexp(1.0, -(int)(k % 60))));
  }
  assert_true(worst < 1.0);
}

/* The double nearest to n pi/2, where all but the last bits of the argument cancel. */
static void near_multiples_of_half_pi(void **state)
{
  (void)state;
  double worst = 0.0;
  for (int n = -500000; n <= 500000; n += 7) {
    const double x = (double)((long double)n * 1.57079632679489661923132169163975144L);
    double s, c;
    fmath_sincos(x, &s, &c);
    worst = fmax(worst, fabs((double)((long double)s - sinl((long double)x))));
    worst = fmax(worst, fabs((double)((long double)c - cosl((long double)x))));
  }
  assert_true(worst < 1.2e-16);
}

static void special_arguments(void **state)
{
  (void)state;
  double s, c;
  fmath_sincos(0.0, &s, &c);
  assert_true(s == 0.0 && c == 1.0);
  fmath_sincos(INFINITY, &s, &c);
  assert_true(isnan(s) && isnan(c));
  fmath_sincos(NAN, &s, &c);
  assert_true(isnan(s) && isnan(c));
  fmath_sincos(1e9, &s, &c);
  assert_true(fabs(s - sin(1e9)) < 1e9 * DBL_EPSILON && fabs(s * s + c * c - 1.0) < 1e-15);
}

static void degrees_are_exact_at_right_angles(void **state)
{
  (void)state;
  static const double sines[4] = {0.0, 1.0, 0.0, -1.0};
  for (int k = -9; k <= 9; k++) {
    double s, c;
    fmath_sincos_degrees(90.0 * k, &s, &c);
    assert_true(s == sines[(k + 12) % 4] && c == sines[(k + 13) % 4]);
  }
  double s, c;
  fmath_sincos_degrees(30.0, &s, &c);
  assert_true(fabs(s - 0.5) < 1e-16);
  fmath_sincos_degrees(-750.0, &s, &c);
  assert_true(fabs(s + 0.5) < 1e-16 && fabs(c - sqrt(0.75)) < 2e-16);
}

static void inverse_hyperbolic_sine(void **state)
{
  (void)state;
  double worst = 0.0;
  for (uint64_t k = 0; k < 100000; k++) {
    const double x = pow(10.0, -20.0 + 35.0 * rng_uniform(7, k, 0)) * (k % 2 ? 1.0 : -1.0);
    const long double exact = asinhl((long double)x);
    worst = fmax(worst, (double)fabsl(((long double)fmath_asinh(x) - exact) / exact));
  }
  print_message("asinh, relative error %.2e\n", worst);
  assert_true(worst < 4.5e-16);
  assert_true(fmath_asinh(0.0) == 0.0);
}

static void rotation_is_right_handed(void **state)
{
  (void)state;
  const double z[3] = {0, 0, 1}, x[3] = {1, 0, 0};
  double out[3];
  fmath_rotate(z, 1.0, 0.0, x, out);
  assert_true(out[0] == 0.0 && out[1] == 1.0 && out[2] == 0.0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(within_one_ulp),          cmocka_unit_test(near_multiples_of_half_pi),
      cmocka_unit_test(special_arguments),       cmocka_unit_test(degrees_are_exact_at_right_angles),
      cmocka_unit_test(inverse_hyperbolic_sine), cmocka_unit_test(rotation_is_right_handed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
