/* The log: one line a message on stderr, on rank 0 only unless told otherwise.
 * The sink is one of the two mutable globals of the program (the other counts allocations). */
#ifndef FIRN_BASE_LOG_H
#define FIRN_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Called by the launcher once: who prints, and what ends the whole job (MPI_Abort). */
void log_configure(enum log_level level, int rank, void (*abort_job)(int code));

/* Which rank the calls that follow are made by, in whose communicator: a process may be rank 0 of one
 * simulation and another rank of the next. */
void log_set_rank(int rank);
void log_set_level(enum log_level level);

/* Lines go to `line` with their level instead of stderr, without a newline; NULL: to stderr again. `fatal`
 * hears of the line that ends the job, on the rank that has it; NULL: stderr alone does. */
struct log_sink {
  void (*line)(void *context, enum log_level level, const char *text);
  void *line_context;
  void (*fatal)(void *context, const char *text);
  void *fatal_context;
};
void log_redirect(const struct log_sink *to);

/* Where the run is, so that a fatal message can name the step. */
void log_set_step(long long step);

/* What the run was last seen doing (a string that stays), and a sign of life for whoever watches it from
 * another thread. */
void log_heartbeat(const char *phase);

/* A file that is being written, for whoever ends the process in the middle of it to remove; NULL: none. The
 * string stays until the next call. */
void log_unfinished(const char *path);

struct log_pulse {
  unsigned long long beats; /* signs of life so far */
  long long step;
  const char *phase;
  const char *unfinished;
};
struct log_pulse log_pulse(void);

/* What was requested by name: printed at any level. */
void log_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether progress is drawn. Auto: where stderr is a terminal, or where it is a pipe of a launcher (mpirun)
 * whose own stderr is one. A launcher that runs elsewhere, or writes to a file, shows no terminal. */
enum log_bar { LOG_BAR_AUTO, LOG_BAR_ALWAYS, LOG_BAR_NEVER };
void log_show_progress(enum log_bar bar);

/* Draws over the last line, where progress is shown; does nothing otherwise. Any rank may call, rank 0 draws.
 */
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints on any rank with its number and step, then ends the job. */
_Noreturn void firn_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For mistakes in Firn itself; stays on in release builds where it is not in an inner loop. */
#define FIRN_ASSERT(condition)                                                                               \
  ((condition) ? (void)0 : firn_fatal("bug in Firn: %s fails at %s:%d", #condition, __FILE__, __LINE__))

/* For checks of whole structures (grid_is_valid() and the like), whose cost only debug builds and tests pay.
 */
#ifdef FIRN_DEBUG
#define FIRN_DEBUG_ASSERT(condition) FIRN_ASSERT(condition)
#else
#define FIRN_DEBUG_ASSERT(condition) ((void)0)
#endif

#endif
