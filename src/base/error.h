/* Errors that travel up as values.
 *
 * A function that can fail for a user's or the machine's fault returns 0 or a negative code and fills the
 * caller's `struct error`: what is wrong, where, and what to do about it, on one line. Callers add
 * context with error_prefix() and never print; main prints once, on rank 0. A programmer's mistake is
 * FIRN_ASSERT, and what cannot be survived (out of memory, NaN) is firn_fatal() of log.h. */
#ifndef FIRN_BASE_ERROR_H
#define FIRN_BASE_ERROR_H

enum {
  FIRN_OK = 0,
  FIRN_EINPUT = -1,   /* the user's input: scene, option, file contents */
  FIRN_EIO = -2,      /* the machine: disk, permissions, network */
  FIRN_ELIMIT = -3,   /* a count or size beyond what this build can hold */
  FIRN_EDIVERGE = -4, /* the simulation itself cannot go on */
  FIRN_ESTALE = -5,   /* another start of the same run has taken over */
  FIRN_EDAMAGED = -6, /* a file is not what was written */
  FIRN_EFORMAT = -7,  /* a sound file of a format version that this Firn does not read */
  FIRN_ESTOPPED = -8, /* the caller, a signal or the time limit ended the run */
};

struct error {
  int code;
  char text[1024];
};

/* Sets code and message, returns the code. A NULL err drops the message. */
int error_set(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " in front of the message that is there. Returns err->code. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
