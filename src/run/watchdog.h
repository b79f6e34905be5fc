/* A thread that ends the process when the run shows no sign of life (log.h) for too long.
 *
 * A cut network link makes MPI wait forever, on this rank or on another one that this one waits for.
 * Therefore every rank has its own watchdog and can leave alone. The message says where this rank was last
 * seen; the rank whose place differs from the others' is the one to look at. */
#ifndef FIRN_WATCHDOG_H
#define FIRN_WATCHDOG_H

enum { EXIT_NO_PROGRESS = 86 };

struct watchdog;

/* limit in s; 0: no watchdog, and NULL. */
struct watchdog *watchdog_start(double limit, int rank, int size);

/* The run is over and nothing is left but to leave MPI, which waits for every rank: if that hangs the process
 * ends with the code that the run has earned. w may be NULL. */
void watchdog_expect_end(struct watchdog *w, int code);

void watchdog_stop(struct watchdog **watchdog);

#endif
