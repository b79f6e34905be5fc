/* What the files of the public interface share. include/firn/firn.h says what each call promises. */
#ifndef FIRN_API_H
#define FIRN_API_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "firn/firn.h"
#include "run/run.h"

struct firn_scene {
  struct scene *scene;
};

/* A copy of what the arrays do not hold as the interface shows it. It is made when it is asked for. */
struct api_copy {
  void *at;
  int64_t capacity;
};

struct firn_sim {
  struct comm comm;
  struct run *run;
  char *machine;
  struct api_copy *materials; /* zeros, if there is one material; unwritten pages take no memory */
  struct api_copy *plastic;   /* J_P, if some material keeps its logarithm */
  firn_hook *before, *after;
  void *hook_context;
  bool hooked; /* a hook is running */
  bool ended;
};

/* The code, with the message for the caller. */
int api_return(int code, const struct error *from, struct firn_error *to);

/* At the beginning of a call: messages are printed by rank 0 of its communicator. */
void api_enter(const struct comm *comm);

/* FIRN_EINPUT if the simulation was ended, a hook runs that may not do this, or (if `whole`) changes of
 * particles are not committed. */
int api_check(const struct firn_sim *sim, bool outside_hooks, bool whole, struct error *err);

#endif
