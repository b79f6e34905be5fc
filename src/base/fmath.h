/* Elementary functions whose bits belong to Firn.
 *
 * libm chooses its variants by CPU, so sin(x) may differ in the last bit from one node to the next. What
 * moves a body must not: these use IEEE basic operations only, and give the same bits wherever the same
 * binary runs. */
#ifndef FIRN_BASE_FMATH_H
#define FIRN_BASE_FMATH_H

/* Sine and cosine of x (rad), to about 1 ulp for |x| < 8e5, and to about |x| ulp(1) beyond, which is what
 * the rounding of x itself costs. NaN for an infinite or NaN argument. */
void fmath_sincos(double x, double *sine, double *cosine);

/* The same of an angle in degrees; exact at multiples of 90. */
void fmath_sincos_degrees(double degrees, double *sine, double *cosine);

/* Angle of the point (x, y) in (-pi, pi], to about 2 ulp; 0 for the origin. */
double fmath_atan2(double y, double x);

/* To about 2 ulp for |x| < 1e15. */
double fmath_asinh(double x);

/* To about 1 ulp for normal x > 0. */
double fmath_cbrt(double x);

/* a turned about the unit vector k by the angle with this sine and cosine (Rodrigues). out may not be a. */
void fmath_rotate(const double k[3], double sine, double cosine, const double a[3], double out[3]);

#endif
