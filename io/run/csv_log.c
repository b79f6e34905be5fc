#include "io/run/csv_log.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/timer.h"
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct csv_log {
  char *path;
  FILE *stream;
  double flushed; /* when */
  bool failed;    /* and said so */
  int ended;      /* columns of earlier starts, which have no values any more */
  int64_t rows;
  const struct csv_start *start; /* while it is opened */
};

static void report(struct csv_log *log, int reason)
{
  if (log->failed) return;
  log->failed = true;
  log_warn("cannot write %s: %s; the run continues without it", log->path, strerror(reason));
}

/* The first line of a file, for free(); NULL if there is none. *more: something follows. */
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

/* --- going on with a file --- */

/* The fields of a line, up to its end or a zero byte; field k ends before field k + 1. */
struct fields {
  const char **at; /* [room + 1] */
  int count, room;
};

/* False if there are more than there is room for, or if the line has no end. */
static bool split(const char *line, size_t length, struct fields *f)
{
  f->count = 0;
  if (length == 0 || line[length - 1] != '\n' || memchr(line, '\0', length)) return false;
  f->at[f->count++] = line;
  for (size_t k = 0; k < length; k++)
    if (line[k] == ',' || line[k] == '\n') {
      if (f->count > f->room) return false;
      f->at[f->count++] = line + k + 1;
    }
  f->count--; /* the last one is the end */
  return true;
}

static int field_length(const struct fields *f, int k)
{
  return (int)(f->at[k + 1] - f->at[k] - 1);
}

static struct fields fields_of(const char *line)
{
  struct fields f = {.room = 1};
  for (const char *at = line; (at = strchr(at, ',')); at++) f.room++;
  f.at = mem_alloc((size_t)f.room + 1, sizeof *f.at);
  split(line, strlen(line), &f);
  return f;
}

static int find_field(const struct fields *f, const char *name, int length)
{
  for (int k = 0; k < f->count; k++)
    if (field_length(f, k) == length && strncmp(f->at[k], name, (size_t)length) == 0) return k;
  return -1;
}

/* How lines of an earlier file become lines of this one. */
struct join {
  const struct csv_start *start;
  struct fields old, new; /* columns of the file, and those of this run */
  int *from;              /* for each of the new ones, the place in the file, or -1 */
  bool *ends;             /* for each of the old ones: no new one continues with it, */
  bool *used;             /* and some line has a value there */
  bool same;              /* lines stay as they are */
  struct fields row;      /* of the line that is looked at */
  int64_t kept, found;    /* lines; found: of the steps that csv_start.expected counts */
  int64_t bad, first_bad; /* lines that are none, and the number of the first */
};

static void join_create(struct join *j, const char *header, const struct csv_start *start)
{
  *j = (struct join){.start = start, .old = fields_of(header), .new = fields_of(start->header)};
  j->from = mem_alloc((size_t)j->new.count, sizeof *j->from);
  j->ends = mem_alloc((size_t)j->old.count, sizeof *j->ends);
  j->used = mem_alloc((size_t)j->old.count, sizeof *j->used);
  j->row =
      (struct fields){.room = j->old.count, .at = mem_alloc((size_t)j->old.count + 1, sizeof *j->row.at)};
  j->same = strcmp(header, start->header) == 0;
  for (int k = 0; k < j->old.count; k++) j->ends[k] = true;
  for (int k = 0; k < j->new.count; k++) {
    char *name = mem_alloc((size_t)field_length(&j->new, k) + 1, 1);
    memcpy(name, j->new.at[k], (size_t)field_length(&j->new, k));
    const bool other = start->is_other && start->is_other(start->context, name);
    j->from[k] = other ? -1 : find_field(&j->old, j->new.at[k], field_length(&j->new, k));
    if (j->from[k] >= 0) j->ends[j->from[k]] = false;
    j->same &= !other;
    mem_free(name);
  }
}

static void join_destroy(struct join *j)
{
  mem_free(j->old.at);
  mem_free(j->new.at);
  mem_free(j->row.at);
  mem_free(j->from);
  mem_free(j->ends);
  mem_free(j->used);
}

/* Whether the line is a row that stays; *last is the step of the one before. */
static bool stays(struct join *j, const char *line, size_t length, int64_t *last, bool *whole)
{
  char *end = NULL;
  *whole = split(line, length, &j->row) && j->row.count == j->old.count;
  const int64_t step = *whole ? strtoll(line, &end, 10) : 0;
  *whole = *whole && end > line && *end == ',' && step > *last;
  if (!*whole) return false;
  *last = step;
  j->found += step < j->start->before;
  return step < j->start->step;
}

static void put_row(const struct join *j, const char *line, FILE *to)
{
  if (j->same) {
    fputs(line, to);
    return;
  }
  for (int k = 0; k < j->new.count; k++) {
    const int from = j->from[k];
    fprintf(to, "%s%.*s", k ? "," : "", from < 0 ? 3 : field_length(&j->row, from),
            from < 0 ? "nan" : j->row.at[from]);
  }
  for (int k = 0; k < j->old.count; k++)
    if (j->ends[k] && j->used[k]) fprintf(to, ",%.*s", field_length(&j->row, k), j->row.at[k]);
  fputc('\n', to);
}

static bool is_value(const struct fields *row, int k)
{
  return field_length(row, k) != 3 || strncmp(row->at[k], "nan", 3) != 0;
}

/* All lines behind the header: those that stay are written, or without `to` counted. A last line without an
 * end is that of a run which was killed. */
static void pass_rows(struct join *j, FILE *from, FILE *to)
{
  char *line = NULL;
  size_t capacity = 0;
  int64_t last = -1, number = 1;
  bool whole;
  rewind(from);
  j->found = j->kept = j->bad = 0;
  for (ssize_t length; (length = getline(&line, &capacity, from)) > 0; number++) {
    if (number == 1) continue;
    const bool keep = stays(j, line, (size_t)length, &last, &whole);
    if (!whole && line[length - 1] == '\n' && j->bad++ == 0) j->first_bad = number;
    if (!keep) continue;
    j->kept++;
    if (to) put_row(j, line, to);
    for (int k = 0; !to && k < j->old.count; k++) j->used[k] |= is_value(&j->row, k);
  }
  free(line);
}

/* Columns that end stay behind all others. One whose name means something else by now says when it ended. */
static int put_header(const struct join *j, FILE *to)
{
  int ended = 0;
  if (j->same) {
    fputs(j->start->header, to);
    return 0;
  }
  fprintf(to, "%.*s", (int)strcspn(j->start->header, "\n"), j->start->header);
  for (int k = 0; k < j->old.count; k++) {
    if (!j->ends[k] || !j->used[k]) continue;
    ended++;
    fprintf(to, ",%.*s", field_length(&j->old, k), j->old.at[k]);
    if (find_field(&j->new, j->old.at[k], field_length(&j->old, k)) >= 0)
      fprintf(to, "_until_%" PRId64, j->start->step);
  }
  fputc('\n', to);
  return ended;
}

static void tell(const struct join *j, const char *path, int ended)
{
  int begun = 0;
  for (int k = 0; k < j->new.count; k++) begun += j->from[k] < 0;
  if (begun || ended)
    log_info("%s: at step %" PRId64 ", %d columns begin and %d end; missing values are nan", path,
             j->start->step, begun, ended);
  if (j->bad)
    log_warn("%s: %" PRId64 " lines are damaged and are left out, the first is line %" PRId64, path, j->bad,
             j->first_bad);
}

/* The lines of the earlier file that stay, under the header of this run. Returns how many csv_start.expected
 * counts. */
static int64_t go_on(struct csv_log *log, FILE *earlier, const char *header)
{
  struct join j;
  join_create(&j, header, log->start);
  pass_rows(&j, earlier, NULL);
  log->ended = put_header(&j, log->stream);
  pass_rows(&j, earlier, log->stream);
  log->rows = j.kept;
  tell(&j, log->path, log->ended);
  join_destroy(&j);
  return j.found;
}

/* Always a new file under the name, even to continue an old one: an orphan of an earlier start (fence.h)
 * has that one open, and what it still writes must not come between our rows. */
static int open_stream(struct csv_log *log, const struct fence *fence, struct error *err)
{
  bool more;
  char *header = log->start->step >= 0 ? first_line(log->path, &more) : NULL;
  FILE *earlier = header ? fopen(log->path, "re") : NULL;
  char *temp = file_temp_name(log->path, fence ? fence->generation : 0);
  log->stream = fopen(temp, "wxe");
  int64_t found = 0;
  if (log->stream && earlier && strchr(header, '\n'))
    found = go_on(log, earlier, header);
  else if (log->stream)
    fputs(log->start->header, log->stream);
  int code = FIRN_OK;
  if (!log->stream || fflush(log->stream) != 0 || ferror(log->stream))
    code = error_set(err, FIRN_EIO, "cannot write %s: %s", log->path, strerror(errno));
  /* Right before the rename: a newer start has a file of its own by now, which must stay under the name. */
  if (!code && fence) code = fence_check(fence, err);
  if (code == FIRN_OK)
    code = file_commit(temp, log->path, err);
  else if (log->stream)
    unlink(temp);
  if (!code && found < log->start->expected)
    log_warn("%s lacks %" PRId64 " of the %" PRId64 " rows before step %" PRId64
             ": the run continues without them",
             log->path, log->start->expected - found, log->start->expected, log->start->before);
  if (earlier) fclose(earlier);
  free(header);
  mem_free(temp);
  return code;
}

int csv_log_open(struct csv_log **out, const char *path, const struct fence *fence,
                 const struct csv_start *start, struct error *err)
{
  struct csv_log *log = mem_alloc(1, sizeof *log);
  log->path = mem_strdup(path);
  log->flushed = timer_now();
  log->start = start;
  const int code = open_stream(log, fence, err);
  log->start = NULL;
  if (code != FIRN_OK) {
    log->failed = true; /* the error says it already */
    csv_log_destroy(&log);
  }
  *out = log;
  return code;
}

int64_t csv_log_rows(const struct csv_log *log)
{
  return log ? log->rows : 0;
}

FILE *csv_log_line(struct csv_log *log)
{
  return log->failed ? NULL : log->stream;
}

void csv_log_end_line(struct csv_log *log)
{
  for (int k = 0; k < log->ended; k++) fputs(",nan", log->stream);
  fputc('\n', log->stream);
  log->rows++;
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
