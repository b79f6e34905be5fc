#include "decomposition/network.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TAG_PING = 51, TAG_TO_RIGHT, TAG_TO_LEFT, LARGEST = 1 << 20, TRIES = 7 };

/* s, of the slowest rank: all wait for it in a step too. */
static double slowest(const struct comm *comm, double seconds)
{
  comm_max(comm, &seconds, 1);
  return seconds;
}

static void exchange(const struct comm *comm, char *buffer, int bytes)
{
  MPI_Request request[4];
  int requests = 0;
  const int left = comm->rank - 1, right = comm->rank + 1;
  if (left >= 0) {
    MPI_Irecv(buffer, bytes, MPI_BYTE, left, TAG_TO_RIGHT, comm->mpi, &request[requests++]);
    MPI_Isend(buffer + 2 * LARGEST, bytes, MPI_BYTE, left, TAG_TO_LEFT, comm->mpi, &request[requests++]);
  }
  if (right < comm->size) {
    MPI_Irecv(buffer + LARGEST, bytes, MPI_BYTE, right, TAG_TO_LEFT, comm->mpi, &request[requests++]);
    MPI_Isend(buffer + 3 * LARGEST, bytes, MPI_BYTE, right, TAG_TO_RIGHT, comm->mpi, &request[requests++]);
  }
  MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
}

static void sum(const struct comm *comm, char *buffer, int bytes)
{
  MPI_Allreduce(MPI_IN_PLACE, buffer, bytes / 8, MPI_INT64_T, MPI_SUM, comm->mpi);
}

static void ping(const struct comm *comm, char *buffer, int bytes)
{
  const int last = comm->size - 1;
  if (comm->rank == 0) {
    MPI_Send(buffer, bytes, MPI_BYTE, last, TAG_PING, comm->mpi);
    MPI_Recv(buffer, bytes, MPI_BYTE, last, TAG_PING, comm->mpi, MPI_STATUS_IGNORE);
  } else if (comm->rank == last) {
    MPI_Recv(buffer, bytes, MPI_BYTE, 0, TAG_PING, comm->mpi, MPI_STATUS_IGNORE);
    MPI_Send(buffer, bytes, MPI_BYTE, 0, TAG_PING, comm->mpi);
  }
}

typedef void pattern(const struct comm *comm, char *buffer, int bytes);

static double time_of(const struct comm *comm, pattern *run, char *buffer, int bytes, int rounds)
{
  MPI_Barrier(comm->mpi);
  const double start = timer_now();
  for (int k = 0; k < rounds; k++) run(comm, buffer, bytes);
  return slowest(comm, (timer_now() - start) / rounds);
}

/* The median of some tries, as many rounds in each as take some milliseconds. */
static double measure(const struct comm *comm, pattern *run, char *buffer, int bytes)
{
  double times[TRIES];
  const double first = time_of(comm, run, buffer, bytes, 2);
  const int rounds = (int)fmax(2.0, fmin(200.0, 5e-3 / first));
  for (int k = 0; k < TRIES; k++) {
    const double taken = time_of(comm, run, buffer, bytes, rounds);
    int place = k;
    for (; place > 0 && times[place - 1] > taken; place--) times[place] = times[place - 1];
    times[place] = taken;
  }
  return times[TRIES / 2];
}

double curve_at(const struct curve *c, double bytes)
{
  if (c->count == 0) return 0.0;
  if (c->count == 1 || bytes <= c->bytes[0]) return c->seconds[0];
  int k = 1;
  while (k + 1 < c->count && c->bytes[k] < bytes) k++;
  const double slope = (c->seconds[k] - c->seconds[k - 1]) / (c->bytes[k] - c->bytes[k - 1]);
  return c->seconds[k - 1] + slope * (bytes - c->bytes[k - 1]);
}

double curve_slope(const struct curve *c)
{
  const int last = c->count - 1;
  return last < 1 ? 0.0 : (c->seconds[last] - c->seconds[last - 1]) / (c->bytes[last] - c->bytes[last - 1]);
}

/* Larger messages take no less time: what says otherwise is noise. */
static struct curve measure_curve(const struct comm *comm, pattern *run, char *buffer, const int *sizes,
                                  int count)
{
  struct curve c = {.count = count};
  for (int k = 0; k < count; k++) {
    c.bytes[k] = sizes[k];
    c.seconds[k] = fmax(measure(comm, run, buffer, sizes[k]), k ? c.seconds[k - 1] : 0.0);
  }
  return c;
}

void network_measure(const struct comm *comm, struct network *out)
{
  /* Close together where MPI goes over to asking before it sends: 4 kB in memory, 64 kB through TCP. */
  static const int exchanged[] = {256, 3500, 5000, 12000, 16384, 32768, 60000, 72000, 262144, 1048576},
                   summed[] = {48, 544, 2176, 5984};
  *out = (struct network){.ranks = comm->size};
  snprintf(out->name, sizeof out->name, "measured");
  if (comm->size == 1) return;
  char *buffer = mem_alloc(4, LARGEST);
  for (int k = 0; k < 10; k++) exchange(comm, buffer, LARGEST); /* connections are made on first use */
  out->latency = 0.5 * measure(comm, ping, buffer, 8);
  out->exchange = measure_curve(comm, exchange, buffer, exchanged, NETWORK_SIZES);
  out->sum = measure_curve(comm, sum, buffer, summed, 4);
  mem_free(buffer);
}
