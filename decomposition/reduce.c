#include "decomposition/reduce.h"

void reduce_exact(const struct comm *comm, struct exact_sum *sums, int count)
{
  comm_sum_i64(comm, sums->limb, count * EXACT_LIMBS);
}

void reduce_begin(struct reduction *r, const struct comm *comm, struct exact_sum *sums, int count)
{
  *r = (struct reduction){.comm = comm, .bytes = 8 * (int64_t)count * EXACT_LIMBS};
  MPI_Iallreduce(MPI_IN_PLACE, sums, count * EXACT_LIMBS, MPI_INT64_T, MPI_SUM, comm->mpi, &r->request);
}

void reduce_progress(struct reduction *r)
{
  int done;
  if (r->comm && r->request != MPI_REQUEST_NULL) MPI_Test(&r->request, &done, MPI_STATUS_IGNORE);
}

void reduce_end(struct reduction *r)
{
  const double begin = comm_wait_begin();
  MPI_Wait(&r->request, MPI_STATUS_IGNORE);
  comm_wait_end(r->comm, WAIT_ALL, r->bytes, begin);
}
