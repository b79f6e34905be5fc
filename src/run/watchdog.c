/* See watchdog.h. MPI is not called from here: it was started for one thread, and it may be what hangs. */
#include "run/watchdog.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct watchdog {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool stopping;
  atomic_int code; /* to leave with */
  double limit;
  int rank, size;
};

static void bark(const struct watchdog *w, double silent)
{
  const struct log_pulse pulse = log_pulse();
  const int code = w->code;
  if (code != EXIT_NO_PROGRESS) {
    fprintf(stderr, "firn: rank %d of %d: the run is over, but MPI did not end for %.0f s; exiting anyway\n",
            w->rank, w->size, silent);
    _exit(code);
  }
  fprintf(
      stderr,
      "firn: rank %d of %d: no progress for %.0f s (checkpoint.no_progress is %.0f); last seen at step %lld "
      "in phase \"%s\". Ending the run: look for a dead node or a cut link, then start it with --restart "
      "auto\n",
      w->rank, w->size, silent, w->limit, pulse.step < 0 ? 0 : pulse.step, pulse.phase);
  fflush(stderr);
  if (pulse.unfinished) unlink(pulse.unfinished);
  /* The other ranks have something to say too before the launcher ends them for our leaving. */
  const struct timespec moment = {.tv_sec = 2};
  nanosleep(&moment, NULL);
  _exit(code);
}

/* Sleeps a while; true when it is time to stop. */
static bool doze(struct watchdog *w, double seconds)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until); /* the time of day may jump */
  const double whole = floor(seconds);
  until.tv_sec += (time_t)whole;
  until.tv_nsec += (long)(1e9 * (seconds - whole));
  if (until.tv_nsec >= 1000000000L) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000L;
  }
  pthread_mutex_lock(&w->lock);
  if (!w->stopping) pthread_cond_timedwait(&w->wake, &w->lock, &until);
  const bool stopping = w->stopping;
  pthread_mutex_unlock(&w->lock);
  return stopping;
}

static void *watch(void *context)
{
  struct watchdog *w = context;
  unsigned long long beats = log_pulse().beats;
  double alive = timer_now(), looked = alive;
  while (!doze(w, fmin(10.0, w->limit / 4.0))) {
    const double now = timer_now();
    /* A process that was itself stopped (SIGSTOP, a laptop's lid) has not been silent, only away. */
    const bool away = now - looked > fmin(10.0, w->limit / 4.0) + 5.0;
    looked = now;
    if (log_pulse().beats != beats || away) {
      beats = log_pulse().beats;
      alive = now;
    } else if (now - alive >= w->limit) {
      bark(w, now - alive);
    }
  }
  return NULL;
}

struct watchdog *watchdog_start(double limit, int rank, int size)
{
  if (limit <= 0.0) return NULL;
  struct watchdog *w = mem_alloc(1, sizeof *w);
  *w = (struct watchdog){.limit = limit, .rank = rank, .size = size, .code = EXIT_NO_PROGRESS};
  pthread_mutex_init(&w->lock, NULL);
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&w->wake, &clock);
  pthread_condattr_destroy(&clock);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the main thread's */
  const int failed = pthread_create(&w->thread, NULL, watch, w);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!failed) return w;
  log_warn("no watchdog: its thread cannot be started");
  mem_free(w);
  return NULL;
}

void watchdog_expect_end(struct watchdog *w, int code)
{
  log_heartbeat("leaving MPI");
  if (w) w->code = code;
}

void watchdog_stop(struct watchdog **watchdog)
{
  if (!watchdog || !*watchdog) return;
  struct watchdog *w = *watchdog;
  pthread_mutex_lock(&w->lock);
  w->stopping = true;
  pthread_cond_signal(&w->wake);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  pthread_cond_destroy(&w->wake);
  pthread_mutex_destroy(&w->lock);
  mem_free(w);
  *watchdog = NULL;
}
