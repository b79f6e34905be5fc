/* The communicator and the few collective calls that everything else is made of.
 *
 * This folder and io/ are the only places that call MPI. A `struct comm` owns a duplicate of the caller's
 * communicator, so that libfirn can live inside another MPI program. All calls here are collective unless
 * they say otherwise. */
#ifndef FIRN_DECOMPOSITION_COMM_H
#define FIRN_DECOMPOSITION_COMM_H

#include "base/error.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct comm {
  MPI_Comm mpi;
  int rank;
  int size;
  int threads; /* that this rank runs; 1 unless topology_plan() says otherwise */
};

/* Starts and ends MPI for a program of its own; libfirn inside another program never calls these.
 * comm_start() also makes `comm` from all ranks; comm_stop() destroys it. */
void comm_start(struct comm *comm, int *argc, char ***argv);
void comm_stop(struct comm *comm);

void comm_create(struct comm *comm, MPI_Comm parent);
void comm_destroy(struct comm *comm);

/* For log_configure(): ends every rank. */
void comm_abort(int code);

/* All ranks come out with the worst code of any, and with the message of the lowest rank that had it. */
int comm_agree(const struct comm *comm, int code, struct error *err);

/* Rank 0's bytes to all. */
void comm_broadcast(const struct comm *comm, void *bytes, size_t size);

/* Rank 0's string to all; *text is allocated with mem_alloc() on the others. NULL stays NULL. */
void comm_broadcast_text(const struct comm *comm, char **text);

void comm_max(const struct comm *comm, double *values, int count);
void comm_min(const struct comm *comm, double *values, int count);
void comm_sum_i64(const struct comm *comm, int64_t *values, int count);

/* Sum of value over all lower ranks; 0 on rank 0. */
int64_t comm_exscan_i64(const struct comm *comm, int64_t value);

/* MPI type for a count of elements that must fit an int; a larger one is an error of size, not a wrap. */
int comm_count(int64_t count);

#endif
