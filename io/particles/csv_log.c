#include "io/particles/csv_log.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "io/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct csv_log {
  char *path;
  FILE *stream;
  double flushed; /* when */
  bool failed;    /* and said so */
};

static void report(struct csv_log *log, int reason)
{
  if (log->failed) return;
  log->failed = true;
  log_warn("cannot write %s: %s; the run goes on without it", log->path, strerror(reason));
}

/* The first line of a file, for free(); NULL where there is none. *more: something follows. */
static char *first_line(const char *path, bool *more)
{
  char *line = NULL;
  size_t capacity = 0;
  FILE *file = fopen(path, "re");
  const bool there = file && getline(&line, &capacity, file) > 0;
  *more = there && fgetc(file) != EOF;
  if (file) fclose(file);
  if (there) return line;
  free(line);
  return NULL;
}

bool csv_log_is_empty(const char *path, const char *beginning)
{
  bool more;
  char *line = file_begins_with(path, beginning, strlen(beginning)) ? first_line(path, &more) : NULL;
  const bool empty = line && !more;
  free(line);
  return empty;
}

bool csv_log_fits(const char *path, const char *header)
{
  bool more;
  char *line = first_line(path, &more);
  const bool fits = line && strcmp(line, header) == 0;
  free(line);
  return fits;
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
static int open_stream(struct csv_log *log, const struct fence *fence, const char *header, int64_t step,
                       struct error *err)
{
  FILE *earlier = step >= 0 ? fopen(log->path, "re") : NULL;
  const off_t keep = earlier ? kept_bytes(earlier, header, step) : 0;
  char *temp = file_temp_name(log->path, fence ? fence->generation : 0);
  log->stream = fopen(temp, "wxe");
  const bool written = log->stream &&
                       (keep ? copy_bytes(earlier, log->stream, keep) : fputs(header, log->stream) >= 0) &&
                       fflush(log->stream) == 0;
  int code = FIRN_OK;
  if (!written) code = error_set(err, FIRN_EIO, "cannot write %s: %s", log->path, strerror(errno));
  /* Right before the rename: a newer start has a file of its own by now, which must stay under the name. */
  if (written && fence) code = fence_check(fence, err);
  if (code == FIRN_OK)
    code = file_commit(temp, log->path, err);
  else if (log->stream)
    unlink(temp);
  if (earlier) fclose(earlier);
  mem_free(temp);
  return code;
}

int csv_log_open(struct csv_log **out, const char *path, const struct fence *fence, const char *header,
                 int64_t step, struct error *err)
{
  struct csv_log *log = mem_alloc(1, sizeof *log);
  log->path = mem_strdup(path);
  log->flushed = timer_now();
  const int code = open_stream(log, fence, header, step, err);
  if (code != FIRN_OK) {
    log->failed = true; /* the error says it already */
    csv_log_destroy(&log);
  }
  *out = log;
  return code;
}

FILE *csv_log_line(struct csv_log *log)
{
  return log->failed ? NULL : log->stream;
}

void csv_log_end_line(struct csv_log *log)
{
  fputc('\n', log->stream);
  const double now = timer_now();
  if (now - log->flushed >= 1.0) {
    log->flushed = now;
    fflush(log->stream);
  }
  if (ferror(log->stream)) report(log, errno);
}

static bool reach_disk(const struct csv_log *log)
{
  return fflush(log->stream) == 0 && (fsync(fileno(log->stream)) == 0 || errno == EINVAL);
}

void csv_log_sync(struct csv_log *log)
{
  if (log && !log->failed && !reach_disk(log)) report(log, errno);
}

void csv_log_destroy(struct csv_log **log)
{
  if (!log || !*log) return;
  struct csv_log *l = *log;
  if (l->stream) {
    if (!reach_disk(l)) report(l, errno);
    if (fclose(l->stream) != 0) report(l, errno);
  }
  mem_free(l->path);
  mem_free(l);
  *log = NULL;
}
