/* Gradient noise on an integer lattice whose gradients come from the counter-based generator, so that its
 * value depends on (seed, x) alone, on any rank. IEEE basic operations only: the same bits everywhere.
 *
 * Plain gradient noise has a standard deviation of about 0.18 between lattice points and bounds that it never
 * comes near. What varies a material wants to reach its ends: the sum of octaves is scaled to a deviation
 * near one and bent into (-1, 1) by v / sqrt(1 + v^2), which keeps it smooth and its sign. */
#include "seeding/noise.h"

#include "base/log.h"
#include "base/memory.h"
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

static void gradient_of(const struct noise_octave *o, const int64_t at[3], double gradient[3])
{
  const uint64_t key = corner_key(o->seed, o->period, at);
  for (int d = 0; d < 3; d++) gradient[d] = 2.0 * rng_uniform(key, (uint64_t)d, 0) - 1.0;
}

/* The kept gradient of the corner `base` of a lattice cell, or NULL where those of the cell are not kept. */
static const double *find_kept(const struct noise_octave *o, const int64_t base[3])
{
  int64_t at[3];
  if (!o->gradient) return NULL;
  for (int d = 0; d < 3; d++) {
    at[d] = base[d] - o->first[d];
    if (at[d] < 0 || at[d] >= o->count[d] - 1) return NULL;
  }
  return o->gradient + 3 * ((at[0] * o->count[1] + at[1]) * o->count[2] + at[2]);
}

static double gradient_noise(const struct noise_octave *o, const double x[3])
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
  const double *kept = find_kept(o, base);
  double sum = 0.0;
  for (int corner = 0; corner < 8; corner++) {
    const int64_t far[3] = {corner & 1, corner >> 1 & 1, corner >> 2 & 1};
    double made[3], weight = 1.0, rise = 0.0;
    const double *gradient = made;
    if (kept)
      gradient = kept + 3 * ((far[0] * o->count[1] + far[1]) * o->count[2] + far[2]);
    else
      gradient_of(o, (const int64_t[]){base[0] + far[0], base[1] + far[1], base[2] + far[2]}, made);
    for (int d = 0; d < 3; d++) {
      weight *= far[d] ? fade[d] : 1.0 - fade[d];
      rise += gradient[d] * (offset[d] - (double)far[d]);
    }
    sum += weight * rise;
  }
  return sum;
}

static struct noise_octave octave_of(const struct noise_field *field, int k)
{
  return (struct noise_octave){.seed = rng_bits(field->seed, (uint64_t)k, 1), .period = field->period << k};
}

/* Keeps the gradients around lower .. upper, in units of the octave, if they are few. */
static void keep_gradients(struct noise_octave *o, const double lower[3], const double upper[3])
{
  const double most = 1 << 18; /* lattice points: 6 MiB */
  double all = 1.0;
  for (int d = 0; d < 3; d++) all *= floor(upper[d]) - floor(lower[d]) + 2.0;
  if (!(all <= most)) return;
  for (int d = 0; d < 3; d++) {
    o->first[d] = (int64_t)floor(lower[d]);
    o->count[d] = (int64_t)floor(upper[d]) - o->first[d] + 2;
  }
  o->gradient = mem_alloc((size_t)(o->count[0] * o->count[1] * o->count[2]), 3 * sizeof *o->gradient);
  double *next = o->gradient;
  for (int64_t x = 0; x < o->count[0]; x++)
    for (int64_t y = 0; y < o->count[1]; y++)
      for (int64_t z = 0; z < o->count[2]; z++, next += 3)
        gradient_of(o, (const int64_t[]){o->first[0] + x, o->first[1] + y, o->first[2] + z}, next);
}

void noise_field_create(struct noise_field *field, uint64_t seed, int64_t period, int octaves,
                        const double lower[3], const double upper[3])
{
  FIRN_ASSERT(octaves <= NOISE_OCTAVES);
  *field = (struct noise_field){.seed = seed, .period = period, .octaves = octaves};
  double low[3] = {lower[0], lower[1], lower[2]}, high[3] = {upper[0], upper[1], upper[2]};
  for (int k = 0; k < octaves; k++) {
    field->octave[k] = octave_of(field, k);
    keep_gradients(&field->octave[k], low, high);
    for (int d = 0; d < 3; d++) {
      low[d] *= 2.0;
      high[d] *= 2.0;
    }
  }
}

void noise_field_destroy(struct noise_field *field)
{
  for (int k = 0; k < NOISE_OCTAVES; k++) mem_free(field->octave[k].gradient);
  *field = (struct noise_field){0};
}

double noise_field_at(const struct noise_field *field, const double x[3])
{
  double at[3] = {x[0], x[1], x[2]}, sum = 0.0, weight = 1.0, square = 0.0;
  for (int k = 0; k < field->octaves; k++) {
    sum += weight * gradient_noise(&field->octave[k], at);
    square += weight * weight;
    weight *= 0.5;
    for (int d = 0; d < 3; d++) at[d] *= 2.0;
  }
  const double v = 5.0 * sum / sqrt(square);
  return v / sqrt(1.0 + v * v);
}

double noise_at(uint64_t seed, int64_t period, int octaves, const double x[3])
{
  FIRN_ASSERT(octaves <= NOISE_OCTAVES);
  struct noise_field field = {.seed = seed, .period = period, .octaves = octaves};
  for (int k = 0; k < octaves; k++) field.octave[k] = octave_of(&field, k);
  return noise_field_at(&field, x);
}

double noise_factor(double n, double most)
{
  const double b = n * (most - 1.0) / (most + 1.0);
  return (1.0 + b) / (1.0 - b);
}
