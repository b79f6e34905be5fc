/* The points of a scaling study, as its table and its plots want them. */
#ifndef FIRN_STUDY_SCALING_H
#define FIRN_STUDY_SCALING_H

#include "sim/sim.h"
#include "study/study.h"

#include <stdint.h>

enum scaling_bits {
  BITS_UNKNOWN, /* nothing to compare with */
  BITS_SAME,
  BITS_DIFFER
};

struct scaling_point {
  int run, ranks, threads, nodes;
  bool check;
  double step;                /* s of wall time a step */
  double speed;               /* particle steps a second */
  double speedup, efficiency; /* against the first point; weak: speedup is in particle steps a second */
  double communication;       /* share of the ranks' time that they waited */
  double imbalance;           /* counted work of the busiest rank over the mean */
  double bytes, messages;     /* to neighbours, a step and rank */
  double seconds[PHASES];     /* a step, mean over ranks */
  uint64_t digest;            /* of all frames; 0 where there are none */
  char scene_hash[32], commit[32];
  enum scaling_bits bits;
};

struct scaling {
  struct scaling_point *points; /* runs that came to their end, in their order */
  int count;
  int same,
      compared; /* runs whose frames have the bits of another run of the same scene, and those compared */
};

#endif
