/* Preloaded into tests: a rank that waits sleeps for a moment. Open MPI calls sched_yield() in its waiting
 * loops (mpi_yield_when_idle), which gives way too rarely: seven ranks on two cores spent most of their time
 * there, and so did two ranks beside other tests. */
#include <sys/prctl.h>
#include <time.h>

int sched_yield(void);

/* A sleep would be prolonged by 50 us, the kernel's default. Threads and processes inherit this. */
__attribute__((constructor)) static void be_precise(void)
{
  prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
}

int sched_yield(void)
{
  const struct timespec moment = {.tv_nsec = 20000};
  nanosleep(&moment, NULL);
  return 0;
}
