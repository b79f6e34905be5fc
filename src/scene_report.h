/* What a scene will cost and where its numbers are unusual, before anything runs. */
#ifndef FIRN_SCENE_REPORT_H
#define FIRN_SCENE_REPORT_H

#include "io/scene.h"

#include <stdio.h>

struct scene_estimate {
  double particles; /* in shapes; exact where the scene gives the number */
  bool exact;       /* no per_cell anywhere */
  int files;        /* sources that are particle files, not counted here */
  double nodes;     /* active at the start, by sampling */
  double bytes;     /* a rank, with an even split */
  /* s; infinite where nothing limits. Sound binds only an explicit scheme. Speeds are those at the start. */
  double advection, gravity, sound;
  double step;  /* s, the step that the run begins with */
  double steps; /* at least, to the end of the run */
};

void scene_estimate(const struct scene *scene, int ranks, struct scene_estimate *out);

/* Prints the estimate and warnings, one a line. Returns the number of warnings. */
int scene_report(const struct scene *scene, int ranks, FILE *file);

#endif
