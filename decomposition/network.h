/* How fast the ranks of a communicator talk, measured in the patterns that a step has: neighbours that
 * exchange with both sides at once, and sums over all. */
#ifndef FIRN_DECOMPOSITION_NETWORK_H
#define FIRN_DECOMPOSITION_NETWORK_H

#include "decomposition/comm.h"

enum { NETWORK_SIZES = 10 };

/* Times of messages by their size. MPI changes its ways with the size, so they are on no one line: in between
 * they are taken from the two sizes beside, and beyond the last grow as to the last. */
struct curve {
  int count;
  double bytes[NETWORK_SIZES], seconds[NETWORK_SIZES];
};

double curve_at(const struct curve *curve, double bytes); /* s; no sizes: 0 */
double curve_slope(const struct curve *curve);            /* s a byte, of the largest */

struct network {
  char name[64];
  int ranks;             /* that it was measured on; 0 if it is given, not measured */
  double latency;        /* s, half a round trip of 8 bytes between the first and the last rank */
  struct curve exchange; /* of bytes to and from each neighbour */
  struct curve sum;      /* allreduce of so many bytes */
};

/* Collective; takes about a second, or a few where the network is slow. One rank: all zero. */
void network_measure(const struct comm *comm, struct network *out);

#endif
