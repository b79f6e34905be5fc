/* The machine as hwloc sees it: how many threads each rank should run, and where. */
#ifndef FIRN_DECOMPOSITION_TOPOLOGY_H
#define FIRN_DECOMPOSITION_TOPOLOGY_H

#include "decomposition/comm.h"

/* Collective. Sets comm->threads: `wanted`, or for 0 the cores that this rank may use: those it is bound to,
 * or an equal share of the node's where ranks are not bound. Returns a one-line map for the log on rank 0 (to
 * be freed with mem_free()), NULL elsewhere. */
char *topology_plan(struct comm *comm, int wanted);

#endif
