/* Preloaded into the ranks of tests that have many more ranks than cores: a rank that waits sleeps for a
 * moment. Open MPI calls sched_yield() in its waiting loops (mpi_yield_when_idle), which gives way too
 * rarely: seven ranks on two cores spent most of their time there. */
#include <time.h>

int sched_yield(void);

int sched_yield(void)
{
  const struct timespec moment = {.tv_nsec = 20000};
  nanosleep(&moment, NULL);
  return 0;
}
