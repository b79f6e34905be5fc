/* See pace.h. */
#include "run/pace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const double guessed_bandwidth = 1e8; /* bytes/s, until one was measured: a modest disk */
static const double least_interval = 30.0;   /* s: short runs need no checkpoints */

double daly_interval(double write, double mtbf)
{
  if (write >= 2.0 * mtbf) return mtbf;
  const double ratio = write / (2.0 * mtbf);
  return sqrt(2.0 * write * mtbf) * (1.0 + sqrt(ratio) / 3.0 + ratio / 9.0) - write;
}

/* s of `now`'s clock at which the job ends. */
static double find_deadline(const struct scene_checkpoint *rules, double now, double started,
                            const char *job_end, double clock)
{
  if (rules->wall_limit > 0.0) return started + rules->wall_limit;
  if (!job_end || !*job_end) return INFINITY;
  char *rest;
  errno = 0;
  const double end = strtod(job_end, &rest);
  if (*rest || errno || !(end > 0.0)) return INFINITY;
  return now + (end - clock);
}

void pace_start(struct pace *pace, const struct scene_checkpoint *rules, double now, double started,
                const char *job_end, double clock, double bytes)
{
  *pace = (struct pace){.rules = rules,
                        .write = bytes / guessed_bandwidth,
                        .last = now,
                        .polled = now,
                        .deadline = find_deadline(rules, now, started, job_end, clock)};
}

double pace_interval(const struct pace *pace)
{
  if (pace->rules->interval > 0.0) return pace->rules->interval;
  return fmax(least_interval, daly_interval(pace->write, pace->rules->mtbf));
}

/* Not stopping now means one more step at least, and then there must still be time to write, even if the disk
 * is twice as slow as it was. */
bool pace_is_late(const struct pace *pace, double now)
{
  return now + pace->longest + 2.0 * pace->write + pace->rules->margin >= pace->deadline;
}

enum request pace_poll(struct pace *pace, double now)
{
  pace->longest = fmax(pace->longest, now - pace->polled);
  pace->polled = now;
  if (pace_is_late(pace, now)) return REQUEST_LIMIT;
  if (pace->rules->keep > 0 && now - pace->last >= pace_interval(pace)) return REQUEST_CHECKPOINT;
  return REQUEST_NONE;
}

bool pace_is_due(const struct scene_checkpoint *rules, int64_t before, int64_t step, int64_t frame,
                 bool on_frame)
{
  if (rules->keep == 0) return false;
  if (rules->steps > 0 && step / rules->steps > before / rules->steps) return true;
  return rules->frames > 0 && on_frame && frame > 0 && frame % rules->frames == 0;
}

void pace_wrote(struct pace *pace, double now, double seconds, bool succeeded)
{
  pace->last = pace->polled = now;
  if (succeeded) pace->write = seconds;
  pace->failures = succeeded ? 0 : pace->failures + 1;
}
