/* The processing units that OpenMP binds threads to.
 *
 * If OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY is set, OpenMP binds the first thread to one place before
 * main. The mask of the process then no longer shows what the launcher left it; the union of all places
 * does. */
#ifndef FIRN_BASE_PLACES_H
#define FIRN_BASE_PLACES_H

#include <stdint.h>

enum { PLACES_WORDS = 64, PLACES_UNITS = 64 * PLACES_WORDS };

/* Sets the bits of all units that lie in a place. Returns the number of places; 0 if OpenMP binds nothing. */
int places_union(uint64_t units[PLACES_WORDS]);

#endif
