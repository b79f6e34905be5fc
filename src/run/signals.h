/* Signals that ask a run to stop, noticed at the next step boundary.
 *
 * A handler may do next to nothing, so it leaves a note that the step's poll finds. The note is a global: a
 * handler has no other way. SIGINT a second time ends the process at once, as it would have the first time
 * without us. */
#ifndef FIRN_SIGNALS_H
#define FIRN_SIGNALS_H

/* What a run is asked for, the more urgent the greater. */
enum request {
  REQUEST_NONE,
  REQUEST_CHECKPOINT, /* write one and continue */
  REQUEST_LIMIT,      /* the time is up: write one and leave, as all below */
  REQUEST_CALLER,     /* a program that drives the run through libfirn */
  REQUEST_USR1,
  REQUEST_TERM,
  REQUEST_INT
};

/* SIGUSR1, SIGTERM and SIGINT from now on and to the end of the process: a launcher that sees one rank leave
 * ends the others with SIGTERM, and that must not change the exit code of one that is about to leave too. */
void signals_catch(void);

/* REQUEST_NONE, or the most urgent that came. */
enum request signals_seen(void);

/* In words: "SIGTERM". */
const char *request_name(enum request request);

#endif
