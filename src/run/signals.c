/* See signals.h. */
#include "run/signals.h"

#include <signal.h>
#include <stddef.h>

static const struct {
  int number;
  enum request request;
} caught[] = {{SIGUSR1, REQUEST_USR1}, {SIGTERM, REQUEST_TERM}, {SIGINT, REQUEST_INT}};
enum { CAUGHT = sizeof caught / sizeof *caught };

static volatile sig_atomic_t seen;

static void note(int number)
{
  for (int k = 0; k < CAUGHT; k++) {
    if (caught[k].number != number) continue;
    if (number == SIGINT && seen == REQUEST_INT) {
      signal(SIGINT, SIG_DFL);
      raise(SIGINT);
    }
    if ((sig_atomic_t)caught[k].request > seen) seen = (sig_atomic_t)caught[k].request;
  }
}

void signals_catch(void)
{
  struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  seen = REQUEST_NONE;
  for (int k = 0; k < CAUGHT; k++) sigaction(caught[k].number, &action, NULL);
  signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of write(), like a full disk */
}

enum request signals_seen(void)
{
  return (enum request)seen;
}

const char *request_name(enum request request)
{
  switch (request) {
  case REQUEST_CHECKPOINT: return "the interval";
  case REQUEST_LIMIT: return "the time limit";
  case REQUEST_CALLER: return "the caller";
  case REQUEST_USR1: return "SIGUSR1";
  case REQUEST_TERM: return "SIGTERM";
  case REQUEST_INT: return "SIGINT";
  default: return "nothing";
  }
}
