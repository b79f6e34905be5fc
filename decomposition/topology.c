#include "decomposition/topology.h"

#include "base/log.h"
#include "base/memory.h"

#include <hwloc.h>
#include <stdio.h>

/* Cores of the whole node, and those that this process is bound to. */
static void count_cores(int *node, int *bound)
{
  *node = *bound = 1;
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology)) return;
  if (hwloc_topology_load(topology) == 0) {
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    const int all = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    if (all > 0) *node = *bound = all;
    if (hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0) {
      const int mine = hwloc_get_nbobjs_inside_cpuset_by_type(topology, set, HWLOC_OBJ_CORE);
      if (mine > 0) *bound = mine;
    }
    hwloc_bitmap_free(set);
  }
  hwloc_topology_destroy(topology);
}

char *topology_plan(struct comm *comm, int wanted)
{
  int cores, bound, local;
  count_cores(&cores, &bound);
  MPI_Comm node;
  MPI_Comm_split_type(comm->mpi, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &local);
  MPI_Comm_free(&node);
  /* A rank that may use the whole node shares it with the others there. */
  const int own = bound < cores ? bound : cores / local;
  comm->threads = wanted > 0 ? wanted : own > 1 ? own : 1;
  int least[2] = {comm->threads, -comm->threads};
  MPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_INT, MPI_MIN, comm->mpi);
  if (comm->rank != 0) return NULL;
  char *line = mem_alloc(160, 1);
  const int used = snprintf(line, 160, "%d rank%s a node of %d cores", local, local == 1 ? "" : "s", cores);
  if (least[0] == -least[1])
    snprintf(line + used, 160 - (size_t)used, ", %d thread%s each", least[0], least[0] == 1 ? "" : "s");
  else
    snprintf(line + used, 160 - (size_t)used, ", %d to %d threads each", least[0], -least[1]);
  return line;
}
