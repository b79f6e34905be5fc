/* See comm.h. MPI counts are int: whatever could be larger is sent in pieces or checked by comm_count(). */
#include "decomposition/comm.h"

#include "base/log.h"
#include "base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void comm_start(struct comm *comm, int *argc, char ***argv)
{
  int provided;
  /* Open MPI sums in the background through one rank and back, which takes twice as long as its sums in the
   * foreground do. Integers have the same sum either way. */
  setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "recursive_doubling", 0);
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  comm_create(comm, MPI_COMM_WORLD);
}

bool comm_begin_mpi(void)
{
  int running, provided;
  MPI_Initialized(&running);
  if (!running) MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  return !running;
}

void comm_end_mpi(void)
{
  int over;
  MPI_Finalized(&over);
  if (!over) MPI_Finalize();
}

MPI_Comm comm_world(void)
{
  return MPI_COMM_WORLD;
}

MPI_Comm comm_self(void)
{
  return MPI_COMM_SELF;
}

MPI_Comm comm_from_fortran(int handle)
{
  return MPI_Comm_f2c(handle);
}

int comm_size_of(MPI_Comm mpi)
{
  int size;
  MPI_Comm_size(mpi, &size);
  return size;
}

void comm_stop(struct comm *comm)
{
  comm_destroy(comm);
  MPI_Finalize();
}

void comm_create(struct comm *comm, MPI_Comm parent)
{
  MPI_Comm_dup(parent, &comm->mpi);
  /* Return codes of MPI are not checked here, and a duplicate has its parent's handler: mpi4py's would
   * continue after an error. */
  MPI_Comm_set_errhandler(comm->mpi, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_rank(comm->mpi, &comm->rank);
  MPI_Comm_size(comm->mpi, &comm->size);
  comm->threads = 1;
  comm->memories = 0;
  comm->thread_least = 0;
  comm->traffic = mem_alloc(1, sizeof *comm->traffic);
}

void comm_alone(struct comm *comm)
{
  *comm = (struct comm){.mpi = MPI_COMM_NULL, .size = 1, .threads = 1};
  comm->traffic = mem_alloc(1, sizeof *comm->traffic);
}

void comm_destroy(struct comm *comm)
{
  if (comm->mpi != MPI_COMM_NULL) MPI_Comm_free(&comm->mpi);
  comm->mpi = MPI_COMM_NULL;
  mem_free(comm->traffic);
  comm->traffic = NULL;
}

void comm_wait_end(const struct comm *comm, enum wait wait, int64_t bytes, double begin)
{
  static const char *const names[WAITS] = {"wait: neighbours", "wait: all ranks"};
  struct traffic *traffic = comm->traffic;
  const double now = timer_now();
  traffic->waited[wait] += now - begin;
  if (wait == WAIT_ALL) {
    traffic->messages[WAIT_ALL]++;
    traffic->bytes[WAIT_ALL] += bytes;
  }
  timeline_add(traffic->timeline, 0, names[wait], begin, now, bytes);
}

void comm_sent(const struct comm *comm, int64_t bytes)
{
  comm->traffic->messages[WAIT_NEIGHBOURS]++;
  comm->traffic->bytes[WAIT_NEIGHBOURS] += bytes;
}

void comm_abort(int code)
{
  MPI_Abort(MPI_COMM_WORLD, code);
}

/* Codes are negative, so the worst is the least, and MINLOC breaks ties in favour of the lowest rank. */
struct verdict {
  int code, rank;
};

/* Brings the worst rank's message to all. */
static int spread_verdict(const struct comm *comm, const struct verdict *worst, struct error *err)
{
  if (worst->code == FIRN_OK) return FIRN_OK;
  struct error agreed = {.code = worst->code};
  if (comm->rank == worst->rank && err) memcpy(agreed.text, err->text, sizeof agreed.text);
  MPI_Bcast(agreed.text, (int)sizeof agreed.text, MPI_CHAR, worst->rank, comm->mpi);
  if (err) *err = agreed;
  return worst->code;
}

int comm_agree(const struct comm *comm, int code, struct error *err)
{
  struct verdict mine = {code, comm->rank}, worst;
  if (comm->mpi == MPI_COMM_NULL) return code;
  MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, comm->mpi);
  return spread_verdict(comm, &worst, err);
}

bool comm_agree_within(const struct comm *comm, double patience, int *code, struct error *err)
{
  struct verdict mine = {*code, comm->rank}, worst;
  MPI_Request request;
  int done = 0;
  if (comm->mpi == MPI_COMM_NULL) return true;
  MPI_Iallreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, comm->mpi, &request);
  if (*code == FIRN_OK) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    done = 1;
  }
  const double until = timer_now() + patience;
  const struct timespec moment = {.tv_nsec = 1000000};
  while (!done && timer_now() < until) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) nanosleep(&moment, NULL);
  }
  if (done) *code = spread_verdict(comm, &worst, err);
  return done;
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

static void allreduce(const struct comm *comm, void *values, int count, MPI_Datatype type, MPI_Op op)
{
  if (comm->mpi == MPI_COMM_NULL) return;
  const double begin = comm_wait_begin();
  MPI_Allreduce(MPI_IN_PLACE, values, count, type, op, comm->mpi);
  comm_wait_end(comm, WAIT_ALL, 8 * (int64_t)count, begin); /* all types here have 8 bytes */
}

void comm_max(const struct comm *comm, double *values, int count)
{
  allreduce(comm, values, count, MPI_DOUBLE, MPI_MAX);
}

void comm_min(const struct comm *comm, double *values, int count)
{
  allreduce(comm, values, count, MPI_DOUBLE, MPI_MIN);
}

void comm_sum_i64(const struct comm *comm, int64_t *values, int count)
{
  allreduce(comm, values, count, MPI_INT64_T, MPI_SUM);
}

int64_t comm_exscan_i64(const struct comm *comm, int64_t value)
{
  int64_t before = 0;
  if (comm->mpi == MPI_COMM_NULL) return 0;
  MPI_Exscan(&value, &before, 1, MPI_INT64_T, MPI_SUM, comm->mpi);
  return comm->rank == 0 ? 0 : before; /* MPI leaves rank 0's result undefined */
}

int comm_count(int64_t count)
{
  if (count < 0 || count > INT_MAX)
    firn_fatal("a message of %lld elements is beyond what MPI can count: use more ranks", (long long)count);
  return (int)count;
}

void comm_gather(const struct comm *comm, const void *bytes, size_t size, void *all)
{
  MPI_Gather(bytes, comm_count((int64_t)size), MPI_BYTE, all, comm_count((int64_t)size), MPI_BYTE, 0,
             comm->mpi);
}

void *comm_gather_rows(const struct comm *comm, const void *rows, int64_t count, size_t size, int64_t *all)
{
  int64_t total = count;
  const int own = comm_count(count);
  int *counts = mem_alloc((size_t)comm->size, sizeof *counts),
      *first = mem_alloc((size_t)comm->size, sizeof *first);
  comm_sum_i64(comm, &total, 1);
  comm_count(total);
  MPI_Gather(&own, 1, MPI_INT, counts, 1, MPI_INT, 0, comm->mpi);
  for (int r = 1; r < comm->size && comm->rank == 0; r++) first[r] = first[r - 1] + counts[r - 1];
  MPI_Datatype row;
  MPI_Type_contiguous(comm_count((int64_t)size), MPI_BYTE, &row);
  MPI_Type_commit(&row);
  void *to = comm->rank == 0 ? mem_alloc((size_t)total, size) : NULL;
  MPI_Gatherv(rows, own, row, to, counts, first, row, 0, comm->mpi);
  MPI_Type_free(&row);
  mem_free(first);
  mem_free(counts);
  *all = comm->rank == 0 ? total : 0;
  return to;
}

void comm_library(char *out, size_t size)
{
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length;
  MPI_Get_library_version(text, &length);
  text[strcspn(text, ",\n")] = '\0'; /* who built it, and when, follows */
  snprintf(out, size, "%s", text);
}

/* Rank 0 answers each rank in turn with its time; of several round trips the shortest has the least error. */
double comm_clock_offset(const struct comm *comm)
{
  enum { TRIPS = 8, TAG_CLOCK = 31 };
  double best = 1e300, offset = 0.0, theirs = 0.0;
  for (int trip = 0; trip < TRIPS * (comm->size - 1) && comm->rank == 0; trip++) {
    MPI_Recv(&theirs, 1, MPI_DOUBLE, 1 + trip / TRIPS, TAG_CLOCK, comm->mpi, MPI_STATUS_IGNORE);
    const double now = timer_now();
    MPI_Send(&now, 1, MPI_DOUBLE, 1 + trip / TRIPS, TAG_CLOCK, comm->mpi);
  }
  for (int trip = 0; trip < TRIPS && comm->rank > 0; trip++) {
    const double sent = timer_now();
    MPI_Sendrecv(&sent, 1, MPI_DOUBLE, 0, TAG_CLOCK, &theirs, 1, MPI_DOUBLE, 0, TAG_CLOCK, comm->mpi,
                 MPI_STATUS_IGNORE);
    const double back = timer_now();
    if (back - sent >= best) continue;
    best = back - sent;
    offset = 0.5 * (sent + back) - theirs;
  }
  return offset;
}
