#include "decomposition/node_memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void limit(struct node_memory *m, double bytes, const char *by)
{
  if (!(bytes > 0.0 && bytes < m->node)) return;
  m->node = bytes;
  m->by = by;
}

/* The number in a file of one line; infinite for "max", and where there is none. */
static double read_number(const char *path)
{
  char text[64] = "", *end = text;
  FILE *file = fopen(path, "re");
  if (!file) return INFINITY;
  const bool read = fgets(text, sizeof text, file) != NULL;
  fclose(file);
  const double value = read ? strtod(text, &end) : INFINITY;
  return end > text ? value : INFINITY;
}

/* A group lies within others, each with a limit of its own. In a container the path may lead nowhere, and the
 * root then shows what holds. */
static void limit_by_group(struct node_memory *m, const char *root, char *path, const char *name)
{
  for (;;) {
    char file[4352];
    snprintf(file, sizeof file, "%s%s/%s", root, path, name);
    limit(m, read_number(file), "its control group allows");
    char *slash = strrchr(path, '/');
    if (!slash) return;
    *slash = '\0';
  }
}

/* Lines like "4:memory:/path" (version 1) and "0::/path" (version 2). */
void node_memory_limit(struct node_memory *m, const char *groups, const char *root)
{
  char line[4096], below[4096];
  FILE *file = fopen(groups, "re");
  if (!file) return;
  snprintf(below, sizeof below, "%s/memory", root);
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    char *kinds = strchr(line, ':'), *path = kinds ? strchr(kinds + 1, ':') : NULL;
    if (!path) continue;
    *path++ = '\0';
    if (strcmp(kinds, ":") == 0)
      limit_by_group(m, root, path, "memory.max");
    else if (strcmp(kinds, ":memory") == 0)
      limit_by_group(m, below, path, "memory.limit_in_bytes");
  }
  fclose(file);
}

void node_memory_find(struct node_memory *m)
{
  *m = (struct node_memory){INFINITY, INFINITY, "this node has"};
  limit(m, (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), "this node has");
  node_memory_limit(m, "/proc/self/cgroup", "/sys/fs/cgroup");
  const char *slurm = getenv("SLURM_MEM_PER_NODE");
  if (slurm) limit(m, strtod(slurm, NULL) * 1048576.0, "Slurm gives");
  struct rlimit space;
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    m->process = (double)space.rlim_cur;
}

int node_memory_check(const struct comm *comm, double bytes, struct error *err)
{
  const double mib = 1048576.0;
  struct node_memory m;
  MPI_Comm node;
  int ranks, code = FIRN_OK;
  MPI_Comm_split_type(comm->mpi, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &ranks);
  MPI_Comm_free(&node);
  node_memory_find(&m);
  if (bytes * ranks > m.node)
    code = error_set(
        err, FIRN_ELIMIT,
        "the snow takes at least %.0f MiB on a node (%d rank%s of %.0f MiB), and %s %.0f MiB; use more "
        "nodes, or fewer particles",
        bytes * ranks / mib, ranks, ranks == 1 ? "" : "s", bytes / mib, m.by, m.node / mib);
  else if (bytes > m.process)
    code = error_set(
        err, FIRN_ELIMIT,
        "the snow takes at least %.0f MiB on a rank, and its limit (ulimit -v) is %.0f MiB; raise it, or "
        "use more ranks",
        bytes / mib, m.process / mib);
  return comm_agree(comm, code, err);
}
