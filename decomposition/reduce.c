#include "decomposition/reduce.h"

void reduce_exact(const struct comm *comm, struct exact_sum *sums, int count)
{
  MPI_Allreduce(MPI_IN_PLACE, sums, count * EXACT_LIMBS, MPI_INT64_T, MPI_SUM, comm->mpi);
}
