/* The machine as hwloc sees it: how many threads each rank runs, and on which cores. */
#ifndef FIRN_DECOMPOSITION_TOPOLOGY_H
#define FIRN_DECOMPOSITION_TOPOLOGY_H

#include "decomposition/comm.h"

enum binding {
  BIND_AUTO, /* as BIND_CORE where the cores are ours: all that we may use, or reserved by the launcher */
  BIND_CORE, /* every thread to a core of its own, where there are enough */
  BIND_NONE  /* as the launcher left it */
};

/* Collective. Sets comm->threads: `wanted`, or for 0 the cores that this rank may use: those that the
 * launcher or Slurm left it, shared out evenly among the ranks of a node that were left the same ones, and at
 * most SLURM_CPUS_PER_TASK. Places of OpenMP (OMP_PLACES and the like) count as the cores it may use. Then
 * binds the calling thread and the OpenMP threads it will have, inside these cores; never two threads of the
 * node's ranks to one core, so not at all where they are more than the cores, or where ranks were left sets
 * that overlap. Returns a one-line map for the log on rank 0 (to be freed with mem_free()), NULL elsewhere.
 */
char *topology_plan(struct comm *comm, int wanted, enum binding binding);

#endif
