#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
  enum log_level level;
  int rank;
  atomic_llong step;
  _Atomic(const char *) phase, unfinished;
  atomic_ullong beats;
  bool draws; /* progress */
  bool progress_shown;
  void (*abort_job)(int code);
  struct log_sink to;
} sink = {.level = LOG_INFO, .step = -1, .phase = "start"};

void log_configure(enum log_level level, int rank, void (*abort_job)(int code))
{
  sink.level = level;
  sink.rank = rank;
  sink.abort_job = abort_job;
}

void log_set_rank(int rank)
{
  sink.rank = rank;
}

void log_set_level(enum log_level level)
{
  sink.level = level;
}

void log_redirect(const struct log_sink *to)
{
  sink.to = *to;
}

void log_set_step(long long step)
{
  sink.step = step;
}

void log_heartbeat(const char *phase)
{
  atomic_store_explicit(&sink.phase, phase, memory_order_relaxed);
  atomic_fetch_add_explicit(&sink.beats, 1, memory_order_relaxed);
}

void log_unfinished(const char *path)
{
  atomic_store(&sink.unfinished, path);
}

struct log_pulse log_pulse(void)
{
  return (struct log_pulse){atomic_load(&sink.beats), atomic_load(&sink.step), atomic_load(&sink.phase),
                            atomic_load(&sink.unfinished)};
}

static void clear_progress(void)
{
  if (!sink.progress_shown) return;
  fputs("\r\033[K", stderr);
  sink.progress_shown = false;
}

static void print_line(enum log_level level, const char *prefix, const char *format, va_list args)
{
  char line[2048];
  vsnprintf(line, sizeof line, format, args);
  if (sink.to.line) {
    sink.to.line(sink.to.line_context, level, line);
    return;
  }
  clear_progress();
  fprintf(stderr, "%s%s\n", prefix, line);
}

#define PRINT_AT(lowest, prefix)                                                                             \
  do {                                                                                                       \
    if (sink.rank != 0 || sink.level < (lowest)) return;                                                     \
    va_list args;                                                                                            \
    va_start(args, format);                                                                                  \
    print_line(lowest, prefix, format, args);                                                                \
    va_end(args);                                                                                            \
  } while (0)

void log_report(const char *format, ...)
{
  PRINT_AT(LOG_QUIET, "");
}

void log_info(const char *format, ...)
{
  PRINT_AT(LOG_INFO, "");
}

void log_warn(const char *format, ...)
{
  PRINT_AT(LOG_WARN, "warning: ");
}

void log_debug(const char *format, ...)
{
  PRINT_AT(LOG_DEBUG, "debug: ");
}

/* Under mpirun stderr is a pipe and stdout a pseudo-terminal, whatever the user has. The pipe's other end is
 * the launcher's, our parent, and its stderr is the user's. */
static bool on_terminal(void)
{
  char path[64], target[64] = "";
  if (isatty(STDERR_FILENO)) return true;
  snprintf(path, sizeof path, "/proc/%ld/fd/2", (long)getppid());
  if (readlink(path, target, sizeof target - 1) < 0) return false;
  return strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0;
}

void log_show_progress(enum log_bar bar)
{
  sink.draws = bar == LOG_BAR_ALWAYS || (bar == LOG_BAR_AUTO && on_terminal());
}

void log_progress(const char *format, ...)
{
  if (sink.rank != 0 || sink.level < LOG_INFO || !sink.draws) return;
  fputs("\r\033[K", stderr);
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fflush(stderr);
  sink.progress_shown = true;
}

_Noreturn void firn_fatal(const char *format, ...)
{
  char text[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  clear_progress();
  const long long step = sink.step;
  char line[sizeof text + 64];
  if (step >= 0)
    snprintf(line, sizeof line, "firn: fatal on rank %d at step %lld: %s", sink.rank, step, text);
  else
    snprintf(line, sizeof line, "firn: fatal on rank %d: %s", sink.rank, text);
  fprintf(stderr, "%s\n", line);
  fflush(stderr);
  if (sink.to.fatal) sink.to.fatal(sink.to.fatal_context, line);
  if (sink.abort_job) sink.abort_job(3);
  exit(3);
}
