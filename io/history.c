/* See history.h. Lines are flushed once a second rather than each: a step may take a millisecond, and a
 * reader who looks on wants whole lines, soon. A crash loses at most the last second, which the frames before
 * it do not need. */
#include "io/history.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct history {
  char *path;
  FILE *stream;
  int phase_count;
  double flushed; /* when */
  bool failed;    /* and said so */
};

static void report(struct history *history, int reason)
{
  if (history->failed) return;
  history->failed = true;
  log_warn("cannot write %s: %s; the run goes on without its history", history->path, strerror(reason));
}

static bool write_header(FILE *stream, const char *const *phases, int phase_count)
{
  fputs("step,time,dt,particles,removed,iterations,halvings,contact_nodes,plastic,mass,momentum_x,momentum_y,"
        "momentum_z,angular_x,angular_y,angular_z,kinetic,elastic,potential,max_speed,imbalance",
        stream);
  for (int k = 0; k < phase_count; k++) fprintf(stream, ",seconds_%s", phases[k]);
  fputc('\n', stream);
  return fflush(stream) == 0;
}

int history_create(struct history **out, const char *output, const char *const *phases, int phase_count,
                   struct error *err)
{
  FIRN_ASSERT(phase_count >= 0 && phase_count <= HISTORY_PHASES);
  const int code = file_make_folder(output, err);
  if (code != FIRN_OK) return code;
  struct history *history = mem_alloc(1, sizeof *history);
  history->path = file_join(output, "history.csv");
  history->phase_count = phase_count;
  history->flushed = timer_now();
  history->stream = fopen(history->path, "we");
  if (!history->stream || !write_header(history->stream, phases, phase_count)) {
    error_set(err, FIRN_EIO, "cannot write %s: %s", history->path, strerror(errno));
    history->failed = true; /* the error is told already */
    history_destroy(&history);
    return FIRN_EIO;
  }
  *out = history;
  return FIRN_OK;
}

void history_add(struct history *history, const struct history_row *row)
{
  if (history->failed) return;
  FILE *stream = history->stream;
  fprintf(stream, "%" PRId64 ",%.17g,%.17g", row->step, row->time, row->dt);
  const int64_t counts[] = {row->particles, row->removed,       row->iterations,
                            row->halvings,  row->contact_nodes, row->plastic};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) fprintf(stream, ",%" PRId64, counts[k]);
  fprintf(stream, ",%.17g", row->mass);
  for (int d = 0; d < 3; d++) fprintf(stream, ",%.17g", row->momentum[d]);
  for (int d = 0; d < 3; d++) fprintf(stream, ",%.17g", row->angular[d]);
  fprintf(stream, ",%.17g,%.17g,%.17g,%.17g", row->kinetic, row->elastic, row->potential, row->max_speed);
  fprintf(stream, ",%.4g", row->imbalance);
  for (int k = 0; k < history->phase_count; k++) fprintf(stream, ",%.4g", row->seconds[k]);
  fputc('\n', stream);
  const double now = timer_now();
  if (now - history->flushed >= 1.0) {
    history->flushed = now;
    fflush(stream);
  }
  if (ferror(stream)) report(history, errno);
}

void history_destroy(struct history **history)
{
  if (!history || !*history) return;
  struct history *h = *history;
  if (h->stream) {
    if (fflush(h->stream) != 0 || (fsync(fileno(h->stream)) != 0 && errno != EINVAL)) report(h, errno);
    if (fclose(h->stream) != 0) report(h, errno);
  }
  mem_free(h->path);
  mem_free(h);
  *history = NULL;
}
