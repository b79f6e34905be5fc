/* `--trace`: a timeline for each thread from the first step that was asked for to the last. */
#include "run/run.h"

void run_trace_begin(struct run *run, const double steps[2])
{
  run->traced[0] = steps[0];
  run->traced[1] = steps[1];
  run->comm.traffic->timeline = timeline_create(run->comm.threads);
  run->clock = timeline_clock_take(&run->comm);
}

void run_trace_step(const struct run *run, int64_t step)
{
  struct timeline *t = run->comm.traffic->timeline;
  if (t) t->on = (double)step >= run->traced[0] && (double)step <= run->traced[1];
}

int run_trace_end(struct run *run, const char *path, int code, struct error *err)
{
  if (!run->comm.traffic->timeline) return code;
  struct error own = {0};
  const int written = timeline_write(&run->comm, &run->clock, path, &own);
  timeline_destroy(&run->comm.traffic->timeline);
  if (code || !written) return code;
  *err = own;
  return written;
}
