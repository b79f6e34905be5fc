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
#include <stdlib.h>
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

static char *make_header(const char *const *phases, int phase_count)
{
  static const char computed[] =
      "step,time,dt,particles,removed,iterations,halvings,contact_nodes,plastic,mass,momentum_x,momentum_y,"
      "momentum_z,angular_x,angular_y,angular_z,kinetic,elastic,potential,max_speed,imbalance";
  size_t size = sizeof computed + 2;
  for (int k = 0; k < phase_count; k++) size += strlen(phases[k]) + 16;
  char *header = mem_alloc(size, 1), *at = header + sprintf(header, "%s", computed);
  for (int k = 0; k < phase_count; k++) at += sprintf(at, ",seconds_%s", phases[k]);
  memcpy(at, "\n", 2);
  return header;
}

/* How much of an earlier file stays: up to the first row of `step` or later, or one that was cut short. 0
 * where it is not ours to go on with. */
static off_t kept_bytes(FILE *file, const char *header, int64_t step)
{
  char *line = NULL;
  size_t capacity = 0;
  off_t keep = 0;
  for (ssize_t length; (length = getline(&line, &capacity, file)) > 0; keep += length) {
    char *comma = NULL;
    if (keep == 0 ? strcmp(line, header) != 0
                  : strtoll(line, &comma, 10) >= step || *comma != ',' || line[length - 1] != '\n')
      break;
  }
  free(line);
  return keep;
}

static bool copy_bytes(FILE *from, FILE *to, off_t count)
{
  char piece[1 << 16];
  rewind(from);
  while (count > 0) {
    const size_t wanted = count < (off_t)sizeof piece ? (size_t)count : sizeof piece;
    if (fread(piece, 1, wanted, from) != wanted || fwrite(piece, 1, wanted, to) != wanted) return false;
    count -= (off_t)wanted;
  }
  return true;
}

/* Always a new file under the name, even to go on with an old one: an orphan of an earlier start (fence.h)
 * has that one open, and what it still writes must not come between our rows. step < 0: anew. */
static int open_stream(struct history *history, const char *header, int64_t step, struct error *err)
{
  FILE *earlier = step >= 0 ? fopen(history->path, "re") : NULL;
  const off_t keep = earlier ? kept_bytes(earlier, header, step) : 0;
  char *temp = file_temp_name(history->path);
  history->stream = fopen(temp, "wxe");
  const bool written =
      history->stream &&
      (keep ? copy_bytes(earlier, history->stream, keep) : fputs(header, history->stream) >= 0) &&
      fflush(history->stream) == 0;
  int code = FIRN_OK;
  if (written) {
    code = file_commit(temp, history->path, err);
  } else {
    code = error_set(err, FIRN_EIO, "cannot write %s: %s", history->path, strerror(errno));
    if (history->stream) unlink(temp);
  }
  if (earlier) fclose(earlier);
  mem_free(temp);
  return code;
}

int history_continue(struct history **out, const char *output, const char *const *phases, int phase_count,
                     int64_t step, struct error *err)
{
  FIRN_ASSERT(phase_count >= 0 && phase_count <= HISTORY_PHASES);
  int code = file_make_folder(output, err);
  if (code != FIRN_OK) return code;
  struct history *history = mem_alloc(1, sizeof *history);
  history->path = file_join(output, "history.csv");
  history->phase_count = phase_count;
  history->flushed = timer_now();
  char *header = make_header(phases, phase_count);
  code = open_stream(history, header, step, err);
  mem_free(header);
  if (code != FIRN_OK) {
    history->failed = true; /* the error is told already */
    history_destroy(&history);
    return code;
  }
  *out = history;
  return FIRN_OK;
}

int history_create(struct history **out, const char *output, const char *const *phases, int phase_count,
                   struct error *err)
{
  return history_continue(out, output, phases, phase_count, -1, err);
}

void history_sync(struct history *history)
{
  if (!history || history->failed) return;
  if (fflush(history->stream) != 0 || (fsync(fileno(history->stream)) != 0 && errno != EINVAL))
    report(history, errno);
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
