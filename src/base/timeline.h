/* What the threads of a rank did when, for `firn run --trace` and nothing else.
 *
 * A span is a static name, a begin and an end; each thread has a track of its own, so nobody waits for
 * anybody. Where a run is not traced the timeline is NULL and a span costs one test. A track that is full
 * drops what comes later and counts it. */
#ifndef FIRN_BASE_TIMELINE_H
#define FIRN_BASE_TIMELINE_H

#include "base/timer.h"

#include <stdbool.h>
#include <stdint.h>

struct span {
  const char *name;  /* static */
  double begin, end; /* s of timer_now() */
  int64_t value;     /* bytes sent, or the number of a step; 0 if there is nothing to say */
};

struct track {
  struct span *spans;
  int64_t count, capacity, dropped;
};

struct timeline {
  bool on; /* spans are kept */
  int threads;
  struct track *tracks; /* [threads] */
};

struct timeline *timeline_create(int threads);
void timeline_destroy(struct timeline **timeline);

/* Adds a span to a thread's own track. timeline may be NULL. */
void timeline_add(struct timeline *timeline, int thread, const char *name, double begin, double end,
                  int64_t value);

/* The time where it is wanted: 0 without a timeline. */
static inline double timeline_begin(const struct timeline *timeline)
{
  return timeline && timeline->on ? timer_now() : 0.0;
}

static inline void timeline_end(struct timeline *timeline, int thread, const char *name, double begin)
{
  if (timeline && timeline->on) timeline_add(timeline, thread, name, begin, timer_now(), 0);
}

#endif
