/* `--trace`: a timeline for each thread from the first step that was requested to the last. */
#include "run/run.h"

/* A name that cannot be used is an error now, and not after hours of work. */
int run_trace_begin(struct run *run, const char *path, struct error *err)
{
  const int code =
      comm_agree(&run->comm, run->comm.rank == 0 ? timeline_check_path(path, err) : FIRN_OK, err);
  if (code) return code;
  run->comm.traffic->timeline = timeline_create(run->comm.threads);
  run->clock = timeline_clock_take(&run->comm);
  return FIRN_OK;
}

void run_trace_step(const struct run *run, int64_t step)
{
  struct timeline *t = run->comm.traffic->timeline;
  if (t) t->on = (double)step >= run->options.traced[0] && (double)step <= run->options.traced[1];
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
