/* How much memory there is, so that a run that cannot fit is refused before it begins: later the system would
 * end it without a word. */
#ifndef FIRN_DECOMPOSITION_NODE_MEMORY_H
#define FIRN_DECOMPOSITION_NODE_MEMORY_H

#include "decomposition/comm.h"

struct node_memory {
  double node;    /* bytes that all processes of this node may use together */
  double process; /* bytes that one of them may use; infinite where only the node's counts */
  const char *by; /* what sets the first: "this node has", ... */
};

/* Of the machine, of its control group and of Slurm the least. Not collective, calls no MPI. */
void node_memory_find(struct node_memory *out);

/* The part of it that control groups have: `groups` lists those of this process, their files are below
 * `root`. */
void node_memory_limit(struct node_memory *memory, const char *groups, const char *root);

/* Collective. An error if the ranks of some node need more together, at `bytes` each, than it has. */
int node_memory_check(const struct comm *comm, double bytes, struct error *err);

#endif
