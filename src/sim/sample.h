/* The snow as the grid sees it, at points that a program asks for (libfirn). */
#ifndef FIRN_SIM_SAMPLE_H
#define FIRN_SIM_SAMPLE_H

#include "sim/sim.h"

/* Mass and momentum of the present state go to the nodes, and from them with the scene's kernel to `count`
 * points, the same on all ranks: density (kg/m^3) and velocity (m/s, three per point; 0 where there is no
 * snow). The bits do not depend on the ranks. Collective. */
void sample_nodes(struct sim *sim, int64_t count, const double *points, double *density, double *velocity);

#endif
