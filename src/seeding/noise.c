/* Gradient noise on an integer lattice whose gradients come from the counter-based generator, so that its
 * value depends on (seed, x) alone, on any rank. IEEE basic operations only: the same bits everywhere.
 *
 * Plain gradient noise has a standard deviation of about 0.18 between lattice points and bounds that it never
 * comes near. What varies a material wants to reach its ends: the sum of octaves is scaled to a deviation
 * near one and bent into (-1, 1) by v / sqrt(1 + v^2), which keeps it smooth and its sign. */
#include "seeding/noise.h"

#include "base/rng.h"

#include <math.h>

/* Each lattice point its own 64-bit number; coordinates may be negative and are wrapped by the period. */
static uint64_t corner_key(uint64_t seed, int64_t period, const int64_t at[3])
{
  uint64_t key = seed;
  for (int d = 0; d < 3; d++) {
    const int64_t wrapped = period > 0 ? (at[d] % period + period) % period : at[d];
    key = rng_bits(key, (uint64_t)wrapped, (uint64_t)d);
  }
  return key;
}

static double gradient_noise(uint64_t seed, int64_t period, const double x[3])
{
  int64_t base[3];
  double offset[3], fade[3];
  for (int d = 0; d < 3; d++) {
    const double low = floor(x[d]);
    base[d] = (int64_t)low;
    offset[d] = x[d] - low;
    const double t = offset[d];
    fade[d] = t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
  }
  double sum = 0.0;
  for (int corner = 0; corner < 8; corner++) {
    int64_t at[3];
    double weight = 1.0, rise = 0.0;
    for (int d = 0; d < 3; d++) at[d] = base[d] + (corner >> d & 1);
    const uint64_t key = corner_key(seed, period, at);
    for (int d = 0; d < 3; d++) {
      const int far = corner >> d & 1;
      weight *= far ? fade[d] : 1.0 - fade[d];
      rise += (2.0 * rng_uniform(key, (uint64_t)d, 0) - 1.0) * (offset[d] - (double)far);
    }
    sum += weight * rise;
  }
  return sum;
}

double noise_at(uint64_t seed, int64_t period, int octaves, const double x[3])
{
  double at[3] = {x[0], x[1], x[2]}, sum = 0.0, weight = 1.0, square = 0.0;
  for (int k = 0; k < octaves; k++) {
    sum += weight * gradient_noise(rng_bits(seed, (uint64_t)k, 1), period, at);
    square += weight * weight;
    weight *= 0.5;
    period *= 2;
    for (int d = 0; d < 3; d++) at[d] *= 2.0;
  }
  const double v = 5.0 * sum / sqrt(square);
  return v / sqrt(1.0 + v * v);
}

double noise_factor(double n, double most)
{
  const double b = n * (most - 1.0) / (most + 1.0);
  return (1.0 + b) / (1.0 - b);
}
