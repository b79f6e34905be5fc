/* Probes: what the snow is like at places that the scene names, in a row of numbers.
 *
 * Means and spreads are over particles, weighted by mass. Sums are exact and extremes have no order, so a row
 * is the same on any ranks. What crosses a plane is added up in every step; the rest is looked at only when a
 * row is wanted. */
#ifndef FIRN_SIM_PROBES_H
#define FIRN_SIM_PROBES_H

#include "sim/sim.h"

#include <stdint.h>

/* Columns that the scene's probes have in all. */
int probes_columns(const struct scene *scene);

/* The header of probes.csv, for mem_free(). */
char *probes_header(const struct scene *scene);

/* Whether a column of that header is of a probe that is another one than before a restart. */
bool probes_is_new(const struct sim *sim, const char *column);

/* What every such header begins with. */
extern const char probes_beginning[];

/* Collective. The columns' values in the present state; brings the particles into order. */
void probes_measure(struct sim *sim, double *row);

/* Before a tried step is accepted: what crosses the planes of flux probes, into the sums of this rank, four a
 * plane: mass and momentum. Not collective. */
void probes_cross(const struct sim *sim, struct exact_sum *sums);

/* Flux probes of a scene. */
int probes_flux_count(const struct scene *scene);

#endif
