/* How a run begins: from its scene, or from a checkpoint. */
#ifndef FIRN_RESTART_H
#define FIRN_RESTART_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/run/fence.h"
#include "io/scene/scene.h"
#include "sim/sim.h"

#include <stdbool.h>
#include <stdint.h>

struct restart_options {
  const char *from; /* NULL: from the scene; "auto": from the output folder if it holds a run; or a file */
  bool force;       /* in spite of changes that matter, or of a run that is there */
  enum isa isa;
  bool detached; /* the run writes no folder: what is in the scene's does not matter */
};

/* Where a run stands when it begins. The same on all ranks. */
struct restart {
  bool restored;            /* from a checkpoint */
  bool continues;           /* in the folder of its own run: what is there stays */
  bool finished;            /* nothing is left to do unless the scene's end was moved */
  bool complete;            /* nothing is left to do; there is no checkpoint, and no simulation was made */
  char run_id[RUN_ID_SIZE]; /* of the run that continues, or a new one */
  int64_t step, frame;      /* of the checkpoint; 0 and -1 without */
  int64_t generation;       /* of the start that wrote it; 0 without */
  int64_t history_rows, probe_rows; /* that should be there; 0: not known */
  bool replaces;                    /* by force: what is there of another course of events is set aside */
  int64_t seen; /* the folder was found free at this generation; -1 where that does not matter */
};

/* Collective. Makes the simulation, unless the run is complete, and writes nothing. */
int run_begin(struct sim **out, struct restart *restart, const struct comm *comm, const struct scene *scene,
              const struct restart_options *options, struct error *err);

#endif
