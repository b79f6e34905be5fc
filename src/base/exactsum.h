/* Exact sums of doubles: independent of order, so of ranks and threads.
 *
 * A number is cut into 32-bit digits of a fixed-point value that spans the whole range of a double; digits
 * are added as 64-bit integers, with room for 2^31 terms before a carry could be lost. Adding two
 * accumulators is adding integers, so MPI_SUM over `limb` is exact too. NaN and infinity are counted apart
 * and come out as NaN. Rounding to a double happens once, at the end. */
#ifndef FIRN_BASE_EXACTSUM_H
#define FIRN_BASE_EXACTSUM_H

#include <stdint.h>

enum { EXACT_DIGITS = 67, EXACT_LIMBS = EXACT_DIGITS + 1 }; /* the last limb counts NaN and infinity */

struct exact_sum {
  int64_t limb[EXACT_LIMBS];
};

void exact_add(struct exact_sum *sum, double value);

/* What `other` came to is added too. */
void exact_join(struct exact_sum *sum, const struct exact_sum *other);

/* The sum rounded to the nearest double (twice only where the result is denormal). */
double exact_value(const struct exact_sum *sum);

#endif
