/* The section `checkpoint` of a scene: how a run survives. Nothing in it changes what is computed, so it
 * stays out of the resolved scene and its hash. */
#ifndef FIRN_IO_SCENE_CHECKPOINT_H
#define FIRN_IO_SCENE_CHECKPOINT_H

#include <stdint.h>

struct reader;
struct yaml_item;

struct scene_checkpoint {
  double interval;    /* s of wall time between two; 0: from the write time and mtbf */
  int64_t steps;      /* also at each n-th step; 0 never */
  int64_t frames;     /* also at each n-th frame; 0 never */
  int keep;           /* how many stay; 0: none are written but on a signal or a limit */
  double mtbf;        /* s, mean time between failures of the whole job */
  double wall_limit;  /* s from the start of the program; 0: the job scheduler's */
  double margin;      /* s to spare before that limit */
  int failures;       /* writes that may fail in a row */
  double retry;       /* s until a frame that could not be written is tried again */
  double no_progress; /* s without a sign of life after which the run ends; 0 never */
};

void scene_read_checkpoint(struct reader *r, const struct yaml_item *root, struct scene_checkpoint *c);

#endif
