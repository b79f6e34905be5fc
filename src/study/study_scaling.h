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
  int run, ranks, threads, nodes, repeats;
  int64_t cores;
  bool check;
  double step;                /* s of wall time a step; of repeated runs the median's, as all else */
  double least, most;         /* of the repeated runs */
  double speed;               /* particle steps a second */
  double speedup, efficiency; /* against the first point; weak: speedup is in particle steps a second */
  double communication;       /* share of the ranks' time that they waited */
  double threads_imbalance;   /* likewise of a rank's threads, mean over ranks */
  double imbalance;           /* counted work of the busiest rank over the mean */
  double bytes, messages;     /* to neighbours, a step and rank */
  double memory;              /* bytes, mean of the ranks */
  double particles, cells, steps, iterations; /* cells: that hold particles; iterations: a step */
  double seconds[PHASES];                     /* a step, mean over ranks */
  uint64_t digest;                            /* of all frames; 0 where there are none */
  char scene_hash[32], commit[32], isa[32];
  char processor[128], binding[256], mpi[128];
  int node_cores;
  enum scaling_bits bits;
};

struct scaling {
  struct scaling_point *points; /* runs that came to their end, in their order */
  int count;
  int same,
      compared; /* runs whose frames have the bits of another run of the same scene, and those compared */
};

#endif
