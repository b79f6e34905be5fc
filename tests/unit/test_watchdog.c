/* The watchdog: it ends a process that shows no sign of life, whatever the time of day does, and one that is
 * over and cannot leave with the code that it has earned. A process that beats lives on. */
#include "base/log.h"
#include "base/memory.h"
#include "run/watchdog.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

int clock_gettime(clockid_t which, struct timespec *now)
{
  const int code = (int)syscall(SYS_clock_gettime, which, now);
  if (which == CLOCK_REALTIME) now->tv_sec += 3600; /* as seen by one who is about to be set back an hour */
  return code;
}

enum child { SILENT, OVER, ALIVE };

static _Noreturn void be(enum child what)
{
  if (!freopen("/dev/null", "w", stderr)) _exit(1);
  struct watchdog *watchdog = watchdog_start(1.0, 0, 1);
  if (what == OVER) watchdog_expect_end(watchdog, 85);
  for (int k = 0; k < (what == ALIVE ? 25 : 600); k++) {
    const struct timespec moment = {.tv_nsec = 100000000};
    nanosleep(&moment, NULL);
    if (what == ALIVE) log_heartbeat("beating");
  }
  watchdog_stop(&watchdog);
  _exit(mem_balance() == 0 ? 7 : 8);
}

static pid_t begin(enum child what)
{
  const pid_t pid = fork();
  if (pid == 0) be(what);
  return pid;
}

static int end(pid_t pid)
{
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void test_ends(void **state)
{
  (void)state;
  const pid_t silent = begin(SILENT), over = begin(OVER), alive = begin(ALIVE);
  assert_int_equal(end(silent), EXIT_NO_PROGRESS);
  assert_int_equal(end(over), 85);
  int code = end(alive);
  /* A busy machine may keep a process from its next beat for a second, but not each time. */
  for (int k = 0; k < 20 && code == EXIT_NO_PROGRESS; k++) code = end(begin(ALIVE));
  assert_int_equal(code, 7);
}

static void test_none(void **state)
{
  (void)state;
  struct watchdog *none = watchdog_start(0.0, 0, 1);
  assert_null(none);
  watchdog_expect_end(none, 0);
  watchdog_stop(&none);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends), cmocka_unit_test(test_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
