/* A minimum that is rounded off, for shapes that flow into each other. */
#ifndef FIRN_LEVELSET_BLEND_H
#define FIRN_LEVELSET_BLEND_H

#include <math.h>

/* min(a, b), less where they differ by less than k; *share is how much b has in the gradient. */
static inline double smooth_minimum(double a, double b, double k, double *share)
{
  const double gap = k - fabs(a - b), h = gap > 0.0 && k > 0.0 ? gap / k : 0.0;
  *share = a < b ? 0.5 * h : 1.0 - 0.5 * h;
  return fmin(a, b) - 0.25 * k * h * h;
}

#endif
