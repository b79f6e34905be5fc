/* See node_block.h. One piece of shared memory a block, allocated by the first rank of each node; the leaders
 * have a communicator of their own, over which blocks travel between nodes in pieces that MPI can count.
 * Ranks are numbered node by node for sharing out work, so that what a node fills is one range. */
#include "decomposition/node_block.h"

#include "base/log.h"
#include "base/memory.h"

#include <string.h>

enum { PIECE = 1 << 26 }; /* bytes a message */

struct node_block_links {
  MPI_Comm node, leaders; /* leaders: MPI_COMM_NULL on others */
  MPI_Win memory;         /* MPI_WIN_NULL where every rank has its own copy */
  int nodes;              /* leaders in all */
  int *first;             /* [nodes + 1] of the ranks, numbered node by node; all ranks have it */
  int node_index, node_rank, rank_count;
};

/* Tries memory shared by the ranks of a node; true if all ranks of the communicator got one. */
static bool share_memory(const struct comm *comm, struct node_block *s)
{
  struct node_block_links *l = s->links;
  MPI_Aint size = 0;
  int unit = 1, node_rank;
  void *mine = NULL;
  MPI_Comm_split_type(comm->mpi, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &l->node);
  MPI_Comm_set_errhandler(l->node, MPI_ERRORS_RETURN);
  MPI_Comm_rank(l->node, &node_rank);
  const MPI_Aint wanted = node_rank == 0 ? (MPI_Aint)s->size : 0;
  int good = MPI_Win_allocate_shared(wanted, 1, MPI_INFO_NULL, l->node, &mine, &l->memory) == MPI_SUCCESS;
  if (!good) l->memory = MPI_WIN_NULL;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, l->node);
  if (good) {
    MPI_Win_shared_query(l->memory, 0, &size, &unit, &s->bytes);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, l->memory);
  } else if (l->memory != MPI_WIN_NULL) {
    MPI_Win_free(&l->memory);
  }
  int all = good;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm->mpi);
  if (!all && good) {
    MPI_Win_unlock_all(l->memory);
    MPI_Win_free(&l->memory);
  }
  if (!all) MPI_Comm_free(&l->node);
  return all;
}

static void own_copies(const struct comm *comm, struct node_block *s)
{
  log_warn("no shared memory for %.1f MB on some node: each rank keeps a copy of its own",
           1e-6 * (double)s->size);
  MPI_Comm_split(comm->mpi, comm->rank, 0, &s->links->node);
  s->links->memory = MPI_WIN_NULL;
  s->bytes = mem_alloc(s->size, 1);
}

/* Who leads which node, known to all ranks. */
static void number_ranks(const struct comm *comm, struct node_block_links *l)
{
  int node_size, info[2];
  MPI_Comm_rank(l->node, &l->node_rank);
  MPI_Comm_size(l->node, &node_size);
  MPI_Comm_split(comm->mpi, l->node_rank == 0 ? 0 : MPI_UNDEFINED, comm->rank, &l->leaders);
  if (l->node_rank == 0) {
    MPI_Comm_size(l->leaders, &info[0]);
    MPI_Comm_rank(l->leaders, &info[1]);
  }
  MPI_Bcast(info, 2, MPI_INT, 0, l->node);
  l->nodes = info[0];
  l->node_index = info[1];
  l->rank_count = comm->size;
  l->first = mem_alloc((size_t)l->nodes + 1, sizeof *l->first);
  if (l->node_rank == 0) MPI_Allgather(&node_size, 1, MPI_INT, l->first + 1, 1, MPI_INT, l->leaders);
  MPI_Bcast(l->first, l->nodes + 1, MPI_INT, 0, l->node);
  for (int k = 0; k < l->nodes; k++) l->first[k + 1] += l->first[k];
}

struct node_block *node_block_create(const struct comm *comm, size_t size)
{
  struct node_block *s = mem_alloc(1, sizeof *s);
  s->size = size > 0 ? size : 1;
  s->leader = true;
  if (!comm) {
    s->bytes = mem_alloc(s->size, 1);
    return s;
  }
  s->links = mem_alloc(1, sizeof *s->links);
  if (!share_memory(comm, s)) own_copies(comm, s);
  number_ranks(comm, s->links);
  s->leader = s->links->node_rank == 0;
  if (s->leader) memset(s->bytes, 0, s->size);
  node_block_settle(s);
  return s;
}

void node_block_destroy(struct node_block **shared)
{
  if (!*shared) return;
  struct node_block *s = *shared;
  struct node_block_links *l = s->links;
  if (l && l->memory != MPI_WIN_NULL) {
    MPI_Win_unlock_all(l->memory);
    MPI_Win_free(&l->memory);
  } else {
    mem_free(s->bytes);
  }
  if (l) {
    if (l->leaders != MPI_COMM_NULL) MPI_Comm_free(&l->leaders);
    MPI_Comm_free(&l->node);
    mem_free(l->first);
  }
  mem_free(l);
  mem_free(s);
  *shared = NULL;
}

void node_block_settle(struct node_block *s)
{
  if (!s->links || s->links->memory == MPI_WIN_NULL) return;
  MPI_Win_sync(s->links->memory);
  MPI_Barrier(s->links->node);
  MPI_Win_sync(s->links->memory);
}

/* One leader's range of bytes to the other leaders. */
static void spread(struct node_block *s, int root, size_t from, size_t to)
{
  for (size_t at = from; at < to; at += PIECE)
    MPI_Bcast((char *)s->bytes + at, (int)(to - at < PIECE ? to - at : PIECE), MPI_BYTE, root,
              s->links->leaders);
}

void node_block_broadcast(struct node_block *s)
{
  if (!s->links) return;
  if (s->leader) spread(s, 0, 0, s->size);
  node_block_settle(s);
}

static int64_t share_of(const struct node_block_links *l, int64_t units, int position)
{
  return (int64_t)((__int128)units * position / l->rank_count);
}

void node_block_part(const struct node_block *s, int64_t units, int64_t *from, int64_t *to)
{
  *from = 0;
  *to = units;
  if (!s->links) return;
  const int position = s->links->first[s->links->node_index] + s->links->node_rank;
  *from = share_of(s->links, units, position);
  *to = share_of(s->links, units, position + 1);
}

void node_block_gather(struct node_block *s, int64_t units, size_t unit_size)
{
  struct node_block_links *l = s->links;
  if (!l) return;
  node_block_settle(s);
  for (int k = 0; k < l->nodes && s->leader && l->nodes > 1; k++)
    spread(s, k, (size_t)share_of(l, units, l->first[k]) * unit_size,
           (size_t)share_of(l, units, l->first[k + 1]) * unit_size);
  node_block_settle(s);
}
