/* When a run writes a checkpoint, and when it must stop for its time limit.
 *
 * Plain arithmetic on times that the caller measures; rank 0 asks for all. The interval is the scene's, or
 * what Daly's formula (2006, a higher order estimate of the optimum) gives for the measured time of a write
 * and the mean time between failures: writing more often costs more than the work it saves. */
#ifndef FIRN_PACE_H
#define FIRN_PACE_H

#include "io/scene/scene_checkpoint.h"
#include "run/signals.h"

#include <stdbool.h>
#include <stdint.h>

struct pace {
  const struct scene_checkpoint *rules;
  double write;    /* s that a checkpoint takes: measured, or guessed from its size before the first */
  double last;     /* when the last one was tried, s of timer_now() as all times here */
  double polled;   /* when pace_poll() was last asked */
  double longest;  /* s between two polls at most */
  double deadline; /* when the job will be ended; infinite if unknown */
  int failures;    /* writes in a row */
};

/* s between two checkpoints for the least expected loss. */
double daly_interval(double write, double mtbf);

/* `started` is when the program was; job_end is the scheduler's end of the job (seconds since 1970 in
 * decimal) or NULL, and clock the present time in the same measure. bytes: of a checkpoint. */
void pace_start(struct pace *pace, const struct scene_checkpoint *rules, double now, double started,
                const char *job_end, double clock, double bytes);

double pace_interval(const struct pace *pace);

/* Whether there is no time left but to write and leave. */
bool pace_is_late(const struct pace *pace, double now);

/* At each step: REQUEST_NONE, REQUEST_CHECKPOINT or REQUEST_LIMIT. */
enum request pace_poll(struct pace *pace, double now);

/* Whether the scene asks for one after a step that went from `before` to `step` (in halves it counts as
 * several, and may pass the number that was requested), or at this frame. The same on all ranks. */
bool pace_is_due(const struct scene_checkpoint *rules, int64_t before, int64_t step, int64_t frame,
                 bool on_frame);

/* After a write, or an attempt at one, that took `seconds`. */
void pace_wrote(struct pace *pace, double now, double seconds, bool succeeded);

#endif
