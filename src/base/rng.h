/* Counter-based random numbers: the value depends on (seed, index, stream) alone, so a particle gets the
 * same position whichever rank makes it. Two rounds of a 64-bit finaliser (the murmur3 / splitmix family)
 * over a key that mixes all three words. */
#ifndef FIRN_BASE_RNG_H
#define FIRN_BASE_RNG_H

#include <stdint.h>

static inline uint64_t rng_mix(uint64_t z)
{
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline uint64_t rng_bits(uint64_t seed, uint64_t index, uint64_t stream)
{
  uint64_t z = rng_mix(seed + 0x9e3779b97f4a7c15u);
  z = rng_mix(z ^ (index * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du));
  return rng_mix(z ^ (stream * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u));
}

/* Uniform in [0, 1), 53 bits. */
static inline double rng_uniform(uint64_t seed, uint64_t index, uint64_t stream)
{
  return (double)(rng_bits(seed, index, stream) >> 11) * 0x1p-53;
}

#endif
