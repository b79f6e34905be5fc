#include "decomposition/migrate.h"

#include "base/log.h"
#include "base/memory.h"

#include <string.h>

enum { TAG_MAIL = 21 };

void mailbox_free(struct mailbox *box)
{
  mem_free(box->records);
  mem_free(box->destination);
  *box = (struct mailbox){0};
}

static void mailbox_reserve(struct mailbox *box, int64_t wanted)
{
  if (wanted <= box->capacity) return;
  const size_t old = (size_t)box->count, capacity = (size_t)(wanted + wanted / 2 + 64);
  box->records = mem_resize(box->records, old, capacity, box->record_size);
  box->destination = mem_resize(box->destination, old, capacity, sizeof *box->destination);
  box->capacity = (int64_t)capacity;
}

void *mailbox_add(struct mailbox *box, int destination)
{
  mailbox_reserve(box, box->count + 1);
  box->destination[box->count] = destination;
  return box->records + (size_t)box->count++ * box->record_size;
}

/* Outgoing records grouped by destination: order[] and the number for each rank. */
static unsigned char *group_by_destination(const struct mailbox *out, int size, int *counts, int *offsets)
{
  int64_t *at = mem_alloc((size_t)size + 1, sizeof *at);
  for (int64_t k = 0; k < out->count; k++) at[out->destination[k] + 1]++;
  for (int r = 0; r < size; r++) {
    counts[r] = comm_count(at[r + 1]);
    at[r + 1] += at[r];
    offsets[r] = comm_count(at[r]);
  }
  unsigned char *grouped = mem_alloc((size_t)out->count, out->record_size);
  for (int64_t k = 0; k < out->count; k++)
    memcpy(grouped + (size_t)at[out->destination[k]]++ * out->record_size,
           out->records + (size_t)k * out->record_size, out->record_size);
  mem_free(at);
  return grouped;
}

static void migrate_anywhere(const struct comm *comm, const struct mailbox *out, struct mailbox *in,
                             MPI_Datatype record)
{
  const size_t size = (size_t)comm->size;
  int *counts = mem_alloc(4 * size, sizeof *counts);
  int *offsets = counts + size, *in_counts = counts + 2 * size, *in_offsets = counts + 3 * size;
  unsigned char *grouped = group_by_destination(out, comm->size, counts, offsets);
  const double begin = comm_wait_begin();
  MPI_Alltoall(counts, 1, MPI_INT, in_counts, 1, MPI_INT, comm->mpi);
  int64_t total = 0;
  for (size_t r = 0; r < size; r++) {
    in_offsets[r] = comm_count(total);
    total += in_counts[r];
  }
  mailbox_reserve(in, total);
  MPI_Alltoallv(grouped, counts, offsets, record, in->records, in_counts, in_offsets, record, comm->mpi);
  comm_wait_end(comm, WAIT_ALL, out->count * (int64_t)out->record_size, begin);
  in->count = total;
  mem_free(grouped);
  mem_free(counts);
}

static void migrate_nearby(const struct comm *comm, const struct mailbox *out, struct mailbox *in,
                           MPI_Datatype record)
{
  int *counts = mem_alloc(2 * (size_t)comm->size, sizeof *counts), *offsets = counts + comm->size;
  unsigned char *grouped = group_by_destination(out, comm->size, counts, offsets);
  const int neighbour[2] = {comm->rank - 1, comm->rank + 1};
  MPI_Request request[2];
  int requests = 0, sent = 0;
  for (int side = 0; side < 2; side++) {
    const int to = neighbour[side];
    if (to < 0 || to >= comm->size) continue;
    sent += counts[to];
    MPI_Isend(grouped + (size_t)offsets[to] * out->record_size, counts[to], record, to, TAG_MAIL, comm->mpi,
              &request[requests++]);
    comm_sent(comm, counts[to] * (int64_t)out->record_size);
  }
  FIRN_ASSERT(sent == out->count);
  const double begin = comm_wait_begin();
  for (int side = 0; side < 2; side++) {
    if (neighbour[side] < 0 || neighbour[side] >= comm->size) continue;
    MPI_Status status;
    MPI_Message message;
    MPI_Mprobe(neighbour[side], TAG_MAIL, comm->mpi, &message, &status);
    int count;
    MPI_Get_count(&status, record, &count);
    mailbox_reserve(in, in->count + count);
    MPI_Mrecv(in->records + (size_t)in->count * in->record_size, count, record, &message, &status);
    in->count += count;
  }
  MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
  if (requests) comm_wait_end(comm, WAIT_NEIGHBOURS, out->count * (int64_t)out->record_size, begin);
  mem_free(grouped);
  mem_free(counts);
}

void migrate(const struct comm *comm, struct mailbox *out, struct mailbox *in, bool anywhere)
{
  MPI_Datatype record;
  MPI_Type_contiguous(comm_count((int64_t)out->record_size), MPI_BYTE, &record);
  MPI_Type_commit(&record);
  in->count = 0;
  in->record_size = out->record_size;
  if (anywhere)
    migrate_anywhere(comm, out, in, record);
  else
    migrate_nearby(comm, out, in, record);
  out->count = 0;
  MPI_Type_free(&record);
}
