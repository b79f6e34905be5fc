/* See comm.h. MPI counts are int: whatever could be larger is sent in pieces or checked by comm_count(). */
#include "decomposition/comm.h"

#include "base/log.h"
#include "base/memory.h"

#include <limits.h>
#include <string.h>

void comm_start(struct comm *comm, int *argc, char ***argv)
{
  int provided;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  comm_create(comm, MPI_COMM_WORLD);
}

void comm_stop(struct comm *comm)
{
  comm_destroy(comm);
  MPI_Finalize();
}

void comm_create(struct comm *comm, MPI_Comm parent)
{
  MPI_Comm_dup(parent, &comm->mpi);
  MPI_Comm_rank(comm->mpi, &comm->rank);
  MPI_Comm_size(comm->mpi, &comm->size);
  comm->threads = 1;
}

void comm_destroy(struct comm *comm)
{
  if (comm->mpi != MPI_COMM_NULL) MPI_Comm_free(&comm->mpi);
  comm->mpi = MPI_COMM_NULL;
}

void comm_abort(int code)
{
  MPI_Abort(MPI_COMM_WORLD, code);
}

int comm_agree(const struct comm *comm, int code, struct error *err)
{
  /* Codes are negative, so the worst is the least, and MINLOC breaks ties in favour of the lowest rank. */
  struct {
    int code, rank;
  } mine = {code, comm->rank}, worst;
  MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, comm->mpi);
  if (worst.code == FIRN_OK) return FIRN_OK;
  struct error agreed = {.code = worst.code};
  if (comm->rank == worst.rank && err) memcpy(agreed.text, err->text, sizeof agreed.text);
  MPI_Bcast(agreed.text, (int)sizeof agreed.text, MPI_CHAR, worst.rank, comm->mpi);
  if (err) *err = agreed;
  return worst.code;
}

void comm_broadcast(const struct comm *comm, void *bytes, size_t size)
{
  const size_t piece = 1 << 30;
  for (size_t done = 0; done < size; done += piece)
    MPI_Bcast((char *)bytes + done, (int)(size - done < piece ? size - done : piece), MPI_BYTE, 0, comm->mpi);
}

void comm_broadcast_text(const struct comm *comm, char **text)
{
  int64_t size = comm->rank == 0 && *text ? (int64_t)strlen(*text) + 1 : 0;
  MPI_Bcast(&size, 1, MPI_INT64_T, 0, comm->mpi);
  if (comm->rank != 0) *text = size > 0 ? mem_alloc((size_t)size, 1) : NULL;
  comm_broadcast(comm, *text, (size_t)size);
}

void comm_max(const struct comm *comm, double *values, int count)
{
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, comm->mpi);
}

void comm_min(const struct comm *comm, double *values, int count)
{
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MIN, comm->mpi);
}

void comm_sum_i64(const struct comm *comm, int64_t *values, int count)
{
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_SUM, comm->mpi);
}

int64_t comm_exscan_i64(const struct comm *comm, int64_t value)
{
  int64_t before = 0;
  MPI_Exscan(&value, &before, 1, MPI_INT64_T, MPI_SUM, comm->mpi);
  return comm->rank == 0 ? 0 : before; /* MPI leaves rank 0's result undefined */
}

int comm_count(int64_t count)
{
  if (count < 0 || count > INT_MAX)
    firn_fatal("a message of %lld elements is beyond what MPI can count: use more ranks", (long long)count);
  return (int)count;
}
