/* Random numbers of a picture: functions of (seed, pixel, sample, dimension) and of nothing else, so that a
 * picture does not depend on who traces which pixel.
 *
 * The few dimensions that matter most (place in the pixel, on the lens, in time, on the sun) come in pairs of
 * a Sobol sequence under Owen's scrambling, computed by hashing (Burley, "Practical hash-based Owen
 * scrambling", 2020). The pixels of a picture share one sequence along a Morton curve, a batch of samples
 * each, so that neighbours get different parts of it and errors look like fine grain (Ahmed and Wonka,
 * "Screen-space blue-noise diffusion", 2020). Everything behind the first scattering is plain hashing: a walk
 * of a hundred steps has too many dimensions for anything else. */
#ifndef FIRN_RENDER_SAMPLER_H
#define FIRN_RENDER_SAMPLER_H

#include "base/rng.h"

#include <stdint.h>

enum { SAMPLER_BATCH_BITS = 4, SAMPLER_BATCH = 1 << SAMPLER_BATCH_BITS }; /* samples a batch */

/* The pairs of the sequence. */
enum sampler_pair { PAIR_PIXEL, PAIR_LENS, PAIR_TIME, PAIR_LIGHT, PAIR_DIRECTION };

struct sampler {
  uint64_t key;     /* of the hashed dimensions */
  uint64_t counter; /* hashed numbers drawn so far */
  uint32_t index;   /* in the sequence */
  uint32_t shuffle; /* changes from batch to batch */
};

static inline uint32_t sampler_reverse(uint32_t x)
{
  x = __builtin_bswap32(x);
  x = (x & 0x0f0f0f0fu) << 4 | (x & 0xf0f0f0f0u) >> 4;
  x = (x & 0x33333333u) << 2 | (x & 0xccccccccu) >> 2;
  return (x & 0x55555555u) << 1 | (x & 0xaaaaaaaau) >> 1;
}

/* Every bit is flipped or not by a hash of the bits below it (Laine and Karras, constants after Vegdahl). */
static inline uint32_t sampler_hash_upwards(uint32_t x, uint32_t seed)
{
  x ^= x * 0x3d20adeau;
  x += seed;
  x *= (seed >> 16) | 1;
  x ^= x * 0x05526c56u;
  return x ^ (x * 0x53a22864u);
}

/* Owen's scrambling: the same with bits from the top. */
static inline uint32_t sampler_scramble(uint32_t x, uint32_t seed)
{
  return sampler_reverse(sampler_hash_upwards(sampler_reverse(x), seed));
}

/* Bits of x at the even places. */
static inline uint32_t sampler_spread(uint32_t x)
{
  x &= 0xffff;
  x = (x | x << 8) & 0x00ff00ffu;
  x = (x | x << 4) & 0x0f0f0f0fu;
  x = (x | x << 2) & 0x33333333u;
  return (x | x << 1) & 0x55555555u;
}

/* Second coordinate of the Sobol sequence, bits from the top: the rows of its matrix are Pascal's triangle.
 */
static inline uint32_t sampler_sobol(uint32_t index)
{
  uint32_t x = sampler_reverse(index);
  x ^= x << 1 & 0xaaaaaaaau;
  x ^= x << 2 & 0xccccccccu;
  x ^= x << 4 & 0xf0f0f0f0u;
  x ^= x << 8 & 0xff00ff00u;
  return x ^ (x << 16);
}

/* In [0, 1). */
static inline float sampler_unit(uint32_t bits)
{
  return (float)(bits >> 8) * 0x1p-24f;
}

static inline void sampler_begin(struct sampler *s, uint64_t seed, int x, int y, uint32_t sample)
{
  enum { SIDE_BITS = 14 - SAMPLER_BATCH_BITS / 2 }; /* pixels of 2^12 a side share a sequence */
  const uint32_t mask = (1u << SIDE_BITS) - 1;
  const uint32_t morton = sampler_spread((uint32_t)x & mask) | sampler_spread((uint32_t)y & mask) << 1;
  const uint64_t pixel = (uint64_t)(uint32_t)x | (uint64_t)(uint32_t)y << 32;
  const uint64_t square = (pixel & ~((uint64_t)mask | (uint64_t)mask << 32)) + (sample >> SAMPLER_BATCH_BITS);
  s->key = rng_bits(seed, pixel, sample);
  s->counter = 0;
  s->index = morton << SAMPLER_BATCH_BITS | (sample & (SAMPLER_BATCH - 1));
  s->shuffle = (uint32_t)rng_bits(seed, square, 0x5eed);
}

static inline void sampler_low(const struct sampler *s, enum sampler_pair pair, float u[2])
{
  const uint64_t keys = rng_mix(s->shuffle + 0x9e3779b97f4a7c15u * ((uint64_t)pair + 1));
  const uint32_t index = sampler_scramble(s->index, (uint32_t)keys);
  u[0] = sampler_unit(sampler_scramble(sampler_reverse(index), (uint32_t)(keys >> 32)));
  u[1] = sampler_unit(sampler_scramble(sampler_sobol(index), (uint32_t)(keys >> 16)));
}

/* The next two hashed numbers. */
static inline void sampler_next(struct sampler *s, float u[2])
{
  const uint64_t bits = rng_mix(s->key + 0x9e3779b97f4a7c15u * ++s->counter);
  u[0] = sampler_unit((uint32_t)bits);
  u[1] = sampler_unit((uint32_t)(bits >> 32));
}

#endif
