/* Seeded gradient noise in space, for snow that is not the same everywhere. */
#ifndef FIRN_NOISE_H
#define FIRN_NOISE_H

#include <stdint.h>

/* Smooth noise at x, in units of its largest features; octaves of half the size and weight are summed. Within
 * (-1, 1), about half of space beyond +-1/3. With a period it repeats after that many features along each
 * axis; 0: never. */
double noise_at(uint64_t seed, int64_t period, int octaves, const double x[3]);

/* The factor that noise n in [-1, 1] stands for: 1/most at -1, 1 at 0, most at 1. */
double noise_factor(double n, double most);

#endif
