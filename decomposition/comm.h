/* The communicator and the few collective calls that everything else is made of.
 *
 * This folder and io/ are the only places that call MPI. A `struct comm` owns a duplicate of the caller's
 * communicator, so that libfirn can live inside another MPI program. All calls here are collective unless
 * they say otherwise. */
#ifndef FIRN_DECOMPOSITION_COMM_H
#define FIRN_DECOMPOSITION_COMM_H

#include "base/error.h"
#include "base/timeline.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whom a rank waits for: its neighbours (shared bricks, lists of them, particles), or all (sums and maxima).
 */
enum wait { WAIT_NEIGHBOURS, WAIT_ALL, WAITS };

/* What a rank has sent and how long it waited since comm_create(): measured where it happens, so that no
 * phase of a step takes it for work. */
struct traffic {
  double waited[WAITS];      /* s */
  int64_t messages[WAITS];   /* sent to neighbours; calls of sums */
  int64_t bytes[WAITS];      /* sent to neighbours; handed to sums */
  struct timeline *timeline; /* NULL unless the run is traced */
};

struct comm {
  MPI_Comm mpi;
  int rank;
  int size;
  int threads;          /* that this rank runs; 1 unless topology_plan() says otherwise */
  int32_t thread_least; /* particles that are worth a thread: with fewer some of them rest; 0: none rests */
  int memories;         /* that its cores have beside them; 0: not known */
  struct traffic *traffic; /* shared by copies of the struct */
};

/* Starts and ends MPI for a program of its own; libfirn inside another program never calls these.
 * comm_start() also makes `comm` from all ranks; comm_stop() destroys it. */
void comm_start(struct comm *comm, int *argc, char ***argv);
void comm_stop(struct comm *comm);

/* For libfirn in a program of another language: starts MPI unless it is running, and then returns true; ends
 * it. */
bool comm_begin_mpi(void);
void comm_end_mpi(void);
MPI_Comm comm_world(void);
MPI_Comm comm_self(void);
MPI_Comm comm_from_fortran(int handle);
int comm_size_of(MPI_Comm mpi);

void comm_create(struct comm *comm, MPI_Comm parent);
void comm_destroy(struct comm *comm);

/* A process by itself, for a command that starts no MPI: one rank, for which comm_agree(), comm_max(),
 * comm_min() and the sums below are the identity. No other call may get it, except comm_destroy(). */
void comm_alone(struct comm *comm);

/* Around a call that waits for other ranks; bytes are what this rank sends in it. Not collective. */
static inline double comm_wait_begin(void)
{
  return timer_now();
}
void comm_wait_end(const struct comm *comm, enum wait wait, int64_t bytes, double begin);

/* Counts a message to a neighbour. Not collective. */
void comm_sent(const struct comm *comm, int64_t bytes);

/* For log_configure(): ends every rank. */
void comm_abort(int code);

/* All ranks come out with the worst code of any, and with the message of the lowest rank that had it. */
int comm_agree(const struct comm *comm, int code, struct error *err);

/* The same after a call of a library that one rank may fail in while others wait there for it forever. A
 * rank that failed gives the others `patience` s; false if they did not come: then MPI is of no more use, and
 * the process has to end. *code becomes the agreed one. */
bool comm_agree_within(const struct comm *comm, double patience, int *code, struct error *err);

/* Rank 0's bytes to all. */
void comm_broadcast(const struct comm *comm, void *bytes, size_t size);

/* Rank 0's string to all; *text is allocated with mem_alloc() on the others. NULL stays NULL. */
void comm_broadcast_text(const struct comm *comm, char **text);

void comm_max(const struct comm *comm, double *values, int count);
void comm_min(const struct comm *comm, double *values, int count);
void comm_sum_i64(const struct comm *comm, int64_t *values, int count);

/* Sum of value over all lower ranks; 0 on rank 0. */
int64_t comm_exscan_i64(const struct comm *comm, int64_t value);

/* `size` bytes of every rank, in order of ranks, to rank 0; `all` has room for all there and may be NULL on
 * the others. */
void comm_gather(const struct comm *comm, const void *bytes, size_t size, void *all);

/* `count` rows of `size` bytes of every rank, in order of ranks, to rank 0, as a block for mem_free() of *all
 * rows there; NULL and 0 on the others. */
void *comm_gather_rows(const struct comm *comm, const void *rows, int64_t count, size_t size, int64_t *all);

/* Name and version of the MPI library in one line, cut to fit. Not collective. */
void comm_library(char *out, size_t size);

/* s that this rank's timer_now() is ahead of rank 0's, to a fraction of a message's latency. */
double comm_clock_offset(const struct comm *comm);

/* MPI type for a count of elements that must fit an int; a larger one is an error of size, not a wrap. */
int comm_count(int64_t count);

#endif
