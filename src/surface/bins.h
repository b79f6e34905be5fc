/* Particles in bins of a virtual grid, in an order that follows from their places alone: what is near is
 * found without a search, and sums over neighbours have one order on any number of threads. */
#ifndef FIRN_SURFACE_BINS_H
#define FIRN_SURFACE_BINS_H

#include <stdbool.h>
#include <stdint.h>

struct bins {
  double edge, origin[3];   /* m */
  int64_t count, bin_count; /* particles, bins that have any */
  int32_t *order;           /* particles, bin by bin, within a bin as they came */
  int32_t (*bin)[3];        /* ascending by x, then y, then z */
  int64_t *start;           /* bin_count + 1: places in `order` */
};

/* position: 3 a particle, m; finite. */
struct bins *bins_create(const float *position, int64_t count, double edge);
void bins_destroy(struct bins **bins);

/* The bin that a point lies in. */
void bins_place(const struct bins *bins, const double x[3], int32_t bin[3]);

/* Places in `order` of all particles in bins low .. high: returns how many
 * runs [first, last) were put into out. */
enum { BINS_RUNS = 64 };
int bins_around(const struct bins *bins, const int32_t low[3], const int32_t high[3],
                int64_t out[BINS_RUNS][2]);

#endif
