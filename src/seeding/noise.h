/* Seeded gradient noise in space, for snow that is not the same everywhere. */
#ifndef FIRN_NOISE_H
#define FIRN_NOISE_H

#include <stdint.h>

/* Smooth noise at x, in units of its largest features; octaves of half the size and weight are summed. Within
 * (-1, 1), about half of space beyond +-1/3. With a period it repeats after that many features along each
 * axis; 0: never. At most NOISE_OCTAVES. */
double noise_at(uint64_t seed, int64_t period, int octaves, const double x[3]);

/* noise_at() of one seed, period and number of octaves, over a box of space: gradients are kept where they
 * are few. */
struct noise_octave {
  uint64_t seed;
  int64_t period;
  int64_t first[3], count[3]; /* lattice points whose gradients are kept */
  double *gradient;           /* [x][y][z][3]; NULL: none is kept; owned */
};
enum { NOISE_OCTAVES = 8 }; /* at most */
struct noise_field {
  uint64_t seed;
  int64_t period;
  int octaves;
  struct noise_octave octave[NOISE_OCTAVES];
};

/* For x within lower .. upper mostly; beyond, it takes longer. */
void noise_field_create(struct noise_field *field, uint64_t seed, int64_t period, int octaves,
                        const double lower[3], const double upper[3]);
void noise_field_destroy(struct noise_field *field);
double noise_field_at(const struct noise_field *field, const double x[3]); /* the bits of noise_at() */

/* The factor of noise n in [-1, 1]: 1/most at -1, 1 at 0, most at 1. */
double noise_factor(double n, double most);

#endif
