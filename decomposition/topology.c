/* See topology.h. A core is known to the other ranks of a node by the system's number of its first processing
 * unit: hwloc's own numbers depend on what each process is allowed to see. */
#include "decomposition/topology.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/places.h"

#include <hwloc.h>
#include <limits.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64, MOST_UNITS = 64 * WORDS, MAP_SHOWN = 8 };

struct core_set {
  uint64_t word[WORDS]; /* one bit per core */
};

/* Particles that are worth a thread if no number of threads was requested: about where two threads begin to
 * gain. */
enum { THREAD_LEAST = 4000 };

struct place { /* what a rank sends to the others of its node */
  struct core_set cores;
  int threads;
};

struct machine {
  hwloc_topology_t topology;
  int node_cores;      /* that any process of this job sees on the node */
  int count;           /* that this process may use */
  hwloc_cpuset_t *set; /* [count] processing units of each that it may use */
  struct core_set cores;
};

static void machine_add(struct machine *m, hwloc_obj_t core, hwloc_const_cpuset_t allowed)
{
  hwloc_cpuset_t mine = hwloc_bitmap_alloc();
  hwloc_bitmap_and(mine, core->cpuset, allowed);
  const int unit = hwloc_bitmap_first(core->cpuset);
  if (hwloc_bitmap_iszero(mine) || unit >= MOST_UNITS) {
    hwloc_bitmap_free(mine);
    return;
  }
  m->cores.word[unit / 64] |= (uint64_t)1 << unit % 64;
  m->set[m->count++] = mine;
}

/* The units of OpenMP's places; false if OpenMP binds nothing. */
static bool find_places(hwloc_cpuset_t allowed)
{
  uint64_t units[PLACES_WORDS];
  if (places_union(units) == 0) return false;
  for (unsigned k = 0; k < PLACES_UNITS; k++)
    if (units[k / 64] >> k % 64 & 1) hwloc_bitmap_set(allowed, k);
  return true;
}

/* Cores in the order of the machine's tree: neighbours in it share caches and memory. */
static struct machine *machine_create(void)
{
  struct machine *m = mem_alloc(1, sizeof *m);
  if (hwloc_topology_init(&m->topology)) {
    m->topology = NULL;
    return m;
  }
  if (hwloc_topology_load(m->topology)) return m;
  hwloc_cpuset_t allowed = hwloc_bitmap_alloc();
  if (!find_places(allowed) && hwloc_get_cpubind(m->topology, allowed, HWLOC_CPUBIND_PROCESS))
    hwloc_bitmap_fill(allowed);
  const int all = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_CORE);
  m->node_cores = all > 0 ? all : 0;
  m->set = mem_alloc((size_t)m->node_cores, sizeof *m->set);
  for (int k = 0; k < m->node_cores; k++)
    machine_add(m, hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_CORE, (unsigned)k), allowed);
  hwloc_bitmap_free(allowed);
  return m;
}

static void machine_destroy(struct machine *m)
{
  for (int k = 0; k < m->count; k++) hwloc_bitmap_free(m->set[k]);
  mem_free(m->set);
  if (m->topology) hwloc_topology_destroy(m->topology);
  mem_free(m);
}

/* The ranks of a node that were left the same cores as this one. */
struct neighbours {
  int ranks, before; /* and those of them that come before */
  int threads, threads_before;
  bool apart; /* no other rank was left any of these cores */
};

static struct neighbours neighbours_of(const struct place *places, int count, int mine)
{
  struct neighbours g = {.apart = true};
  for (int k = 0; k < count; k++) {
    if (memcmp(&places[k].cores, &places[mine].cores, sizeof places[k].cores) == 0) {
      g.ranks++;
      g.threads += places[k].threads;
      if (k < mine) g.before++;
      if (k < mine) g.threads_before += places[k].threads;
      continue;
    }
    for (int w = 0; w < WORDS; w++)
      if (places[k].cores.word[w] & places[mine].cores.word[w]) g.apart = false;
  }
  return g;
}

static const char bound_by_openmp[] = "bound by OpenMP, as its variables ask";

static bool openmp_binds(void)
{
  return omp_get_proc_bind() != omp_proc_bind_false && omp_get_num_places() > 0;
}

/* Why threads are not bound here; NULL if they are to be bound. */
static const char *reason_not_to(const struct machine *m, const struct neighbours *g, enum binding binding)
{
  if (binding == BIND_NONE) return "not bound";
  if (binding == BIND_AUTO && openmp_binds() && g->ranks == 1 && g->apart) return bound_by_openmp;
  if (binding == BIND_AUTO && !openmp_binds() && getenv("OMP_PROC_BIND"))
    return "not bound (OMP_PROC_BIND says so)";
  if (m->count == 0) return "not bound (the cores are not known)";
  if (!g->apart) return "not bound (the launcher's sets of cores overlap)";
  if (g->threads > m->count) return "not bound (more threads than cores)";
  if (binding == BIND_CORE || openmp_binds()) return NULL;
  /* Cores that we neither fill nor were given alone may be another program's first choice as well. */
  if (g->threads < m->count && m->count == m->node_cores) return "not bound (cores to spare)";
  return NULL;
}

/* Thread t of this rank on a core of its own; their threads spread evenly over its cores. */
static hwloc_cpuset_t core_of(const struct machine *m, const struct neighbours *g, int t)
{
  return m->set[(int64_t)m->count * (g->threads_before + t) / g->threads];
}

/* OpenMP knows one process: it puts the threads of ranks that were left the same cores on the same places. */
static void release_threads(const struct machine *m, int threads)
{
  hwloc_cpuset_t all = hwloc_bitmap_alloc();
  for (int k = 0; k < m->count; k++) hwloc_bitmap_or(all, all, m->set[k]);
#pragma omp parallel num_threads(threads)
  hwloc_set_cpubind(m->topology, all, HWLOC_CPUBIND_THREAD);
  hwloc_bitmap_free(all);
}

static bool bind_threads(const struct machine *m, const struct neighbours *g, int threads)
{
  int failed = 0;
#pragma omp parallel num_threads(threads) reduction(+ : failed)
  if (hwloc_set_cpubind(m->topology, core_of(m, g, omp_get_thread_num()), HWLOC_CPUBIND_THREAD)) failed++;
  return failed == 0;
}

/* Units of this rank's threads, as "0-3,8". */
static void name_cores(const struct machine *m, const struct neighbours *g, int threads, char out[64])
{
  hwloc_cpuset_t all = hwloc_bitmap_alloc();
  for (int t = 0; t < threads; t++) hwloc_bitmap_or(all, all, core_of(m, g, t));
  hwloc_bitmap_list_snprintf(out, 64, all);
  hwloc_bitmap_free(all);
}

/* The same for threads that OpenMP has bound. Warns if two of them share a unit. */
static void name_openmp_cores(const struct machine *m, int threads, char out[64])
{
  hwloc_cpuset_t all = hwloc_bitmap_alloc();
#pragma omp parallel num_threads(threads)
  {
    hwloc_cpuset_t mine = hwloc_bitmap_alloc();
    hwloc_get_cpubind(m->topology, mine, HWLOC_CPUBIND_THREAD);
#pragma omp critical
    hwloc_bitmap_or(all, all, mine);
    hwloc_bitmap_free(mine);
  }
  hwloc_bitmap_list_snprintf(out, 64, all);
  if (hwloc_bitmap_weight(all) < threads)
    log_warn("OpenMP's variables put %d threads of a rank on %d processing unit%s (%s); unset OMP_PROC_BIND, "
             "OMP_PLACES and GOMP_CPU_AFFINITY, or give more places",
             threads, hwloc_bitmap_weight(all), hwloc_bitmap_weight(all) == 1 ? "" : "s", out);
  hwloc_bitmap_free(all);
}

/* "2 ranks a node of 8 cores, 4 threads each, bound: rank 0 to 0-3, rank 1 to 4-7"; on rank 0. The ranks of
 * its node stand for all. */
static char *describe(const struct comm *comm, MPI_Comm node, int cores, const char *state,
                      const char names[64])
{
  int local, range[2] = {comm->threads, -comm->threads};
  MPI_Comm_size(node, &local);
  MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT, MPI_MIN, comm->mpi);
  char(*all)[64] = mem_alloc((size_t)local, sizeof *all);
  int *ranks = mem_alloc((size_t)local, sizeof *ranks);
  MPI_Gather(names, 64, MPI_CHAR, all, 64, MPI_CHAR, 0, node);
  MPI_Gather(&comm->rank, 1, MPI_INT, ranks, 1, MPI_INT, 0, node);
  char *line = NULL;
  if (comm->rank == 0) {
    enum { SIZE = 200 + MAP_SHOWN * 100 };
    line = mem_alloc(SIZE, 1);
    int used = snprintf(line, SIZE, "%d rank%s per node of %d cores, ", local, local == 1 ? "" : "s", cores);
    if (range[0] == -range[1])
      used += snprintf(line + used, SIZE - (size_t)used, "%d thread%s each, %s", range[0],
                       range[0] == 1 ? "" : "s", state);
    else
      used +=
          snprintf(line + used, SIZE - (size_t)used, "%d to %d threads each, %s", range[0], -range[1], state);
    for (int k = 0; k < local && k < MAP_SHOWN && names[0]; k++)
      used += snprintf(line + used, SIZE - (size_t)used, "%s rank %d to %s", k ? "," : ":", ranks[k], all[k]);
    if (local > MAP_SHOWN && names[0]) snprintf(line + used, SIZE - (size_t)used, ", ...");
  }
  mem_free(all);
  mem_free(ranks);
  return line;
}

/* Memories (NUMA nodes) beside the cores of threads 0 to count - 1, or all cores for 0; for
 * hwloc_bitmap_free(). */
static hwloc_nodeset_t memories_of(const struct machine *m, const struct neighbours *g, int threads)
{
  hwloc_cpuset_t cores = hwloc_bitmap_alloc();
  hwloc_nodeset_t memories = hwloc_bitmap_alloc();
  for (int k = 0; k < m->count && !threads; k++) hwloc_bitmap_or(cores, cores, m->set[k]);
  for (int t = 0; t < threads; t++) hwloc_bitmap_or(cores, cores, core_of(m, g, t));
  if (m->count) hwloc_cpuset_to_nodeset(m->topology, cores, memories);
  hwloc_bitmap_free(cores);
  return memories;
}

/* 0 where that is not known. */
static int count_memories(const struct machine *m)
{
  hwloc_nodeset_t memories = memories_of(m, NULL, 0);
  const int count = hwloc_bitmap_weight(memories);
  hwloc_bitmap_free(memories);
  return count > 0 ? count : 0;
}

/* Collective among the ranks of a node: which memories their pages lie in, if there are several. Linux takes
 * pages from the memory beside the core that touches them first, and threads touch their own particles. */
static void log_memories(const struct comm *comm, MPI_Comm node, const struct machine *m,
                         const struct neighbours *g, bool bound)
{
  const int count = m->topology ? hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_NUMANODE) : 0;
  char mine[64] = "", text[64 * MAP_SHOWN + 256];
  int local, used = 0;
  hwloc_nodeset_t memories = memories_of(m, g, bound ? comm->threads : 0);
  const int start = snprintf(mine, sizeof mine, "rank %d on ", comm->rank);
  hwloc_bitmap_list_snprintf(mine + start, sizeof mine - (size_t)start, memories);
  hwloc_bitmap_free(memories);
  MPI_Comm_size(node, &local);
  char(*all)[64] = mem_alloc((size_t)local, sizeof *all);
  MPI_Gather(mine, 64, MPI_CHAR, all, 64, MPI_CHAR, 0, node);
  for (int k = 0; k < local && k < MAP_SHOWN; k++)
    used += snprintf(text + used, sizeof text - (size_t)used, "%s %s", k ? "," : ":", all[k]);
  if (comm->rank == 0 && count > 1)
    log_info("memory of %d NUMA nodes%s%s%s", count, text, local > MAP_SHOWN ? ", ..." : "",
             bound ? "" : " (threads may move between them)");
  mem_free(all);
}

/* Cores that Slurm gives each task (-c), or INT_MAX. Without an affinity plugin no mask shows them. Slurm may
 * count hardware threads as CPUs, so these are turned into cores. */
static int slurm_cores(const struct machine *m)
{
  const char *text = getenv("SLURM_CPUS_PER_TASK");
  const int cpus = text ? atoi(text) : 0,
            given = getenv("SLURM_CPUS_ON_NODE") ? atoi(getenv("SLURM_CPUS_ON_NODE")) : 0;
  if (cpus < 1 || m->node_cores < 1) return INT_MAX;
  const int per_core = given > m->node_cores ? (given + m->node_cores - 1) / m->node_cores : 1;
  return cpus / per_core > 1 ? cpus / per_core : 1;
}

char *topology_plan(struct comm *comm, int wanted, enum binding binding)
{
  struct machine *machine = machine_create();
  MPI_Comm node;
  int local, mine;
  MPI_Comm_split_type(comm->mpi, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &local);
  MPI_Comm_rank(node, &mine);
  struct place *places = mem_alloc((size_t)local, sizeof *places), place = {.cores = machine->cores};
  MPI_Allgather(&place, sizeof place, MPI_BYTE, places, sizeof place, MPI_BYTE, node);
  const int left = machine->count / neighbours_of(places, local, mine).ranks, tasks = slurm_cores(machine);
  const int share = left < tasks ? left : tasks;
  comm->memories = count_memories(machine);
  comm->thread_least = wanted > 0 ? 0 : THREAD_LEAST;
  comm->threads = place.threads = wanted > 0 ? wanted : share > 1 ? share : 1;
  MPI_Allgather(&place, sizeof place, MPI_BYTE, places, sizeof place, MPI_BYTE, node);
  const struct neighbours beside = neighbours_of(places, local, mine);
  const char *reason = reason_not_to(machine, &beside, binding);
  if (!reason && !bind_threads(machine, &beside, comm->threads)) reason = "not bound (the system refuses)";
  char names[64] = "";
  if (!reason) name_cores(machine, &beside, comm->threads, names);
  if (reason == bound_by_openmp)
    name_openmp_cores(machine, comm->threads, names);
  else if (reason && openmp_binds() && machine->count)
    release_threads(machine, comm->threads);
  log_memories(comm, node, machine, &beside, !reason);
  if (reason && binding == BIND_CORE) log_warn("--bind core: %s", reason);
  char *line = describe(comm, node, machine->node_cores, reason ? reason : "bound", names);
  MPI_Comm_free(&node);
  mem_free(places);
  machine_destroy(machine);
  return line;
}
