/* Tests that run on several ranks: a check that fails ends all of them at once.
 *
 * cmocka would leave the other ranks waiting in their next collective call until the timeout, and would not
 * say which rank it was. The rank count is an argument and a wrong one is a failure, so that a test cannot
 * pass by not running. */
#ifndef FIRN_TESTS_CHECK_H
#define FIRN_TESTS_CHECK_H

#include "base/memory.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) check_failed(#condition, __FILE__, __LINE__, "");                                      \
  } while (0)

/* With a text that tells more, such as the message of a struct error. */
#define CHECK_TEXT(condition, text)                                                                          \
  do {                                                                                                       \
    if (!(condition)) check_failed(#condition, __FILE__, __LINE__, text);                                    \
  } while (0)

static inline void check_failed(const char *condition, const char *file, int line, const char *text)
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "%s:%d: rank %d: %s fails%s%s\n", file, line, rank, condition, *text ? ": " : "", text);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

/* Starts MPI and demands argv[1] ranks. */
static inline void check_begin(int *argc, char ***argv)
{
  MPI_Init(argc, argv);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_TEXT(*argc >= 2 && atoi((*argv)[1]) == size, "the first argument must be the number of ranks");
}

/* Waits for all ranks, asleep: while one of them works alone, those that look for messages all the time would
 * take the cores from it. */
static inline void check_barrier(MPI_Comm comm)
{
  MPI_Request request;
  int done = 0;
  MPI_Ibarrier(comm, &request);
  for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    usleep(500);
}

/* Nothing may be left allocated. */
static inline int check_end(void)
{
  CHECK(mem_balance() == 0);
  MPI_Finalize();
  return 0;
}

#endif
