/* Rank 0 asks the ranks in turn and writes what they send: a trace is looked at, not computed with, and a
 * file that a browser opens is small. */
#include "io/timeline_file.h"

#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char beginning[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";

enum { TAG_SPANS = 41, PIECE = 1 << 14, NAMES = 64, NAME = 32, HOST = 64 };

struct wire_head { /* what a rank sends first */
  char host[HOST];
  char names[NAMES][NAME];
  int64_t name_count, threads, dropped;
};

struct wire_span {
  double begin, length; /* microseconds of rank 0's clock */
  int64_t value, name;
};

struct timeline_clock timeline_clock_take(const struct comm *comm)
{
  struct timeline_clock clock = {.offset = comm_clock_offset(comm), .taken = timer_now()};
  clock.zero = clock.taken;
  comm_broadcast(comm, &clock.zero, sizeof clock.zero);
  return clock;
}

/* The clock's error grows evenly from the first look at it to the last. No clock is as wrong as MOST_DRIFT:
 * more is the error of looking at it twice within a short time. */
struct correction {
  const struct timeline_clock *start;
  double drift; /* s a second */
};
#define MOST_DRIFT 2e-4

static double to_microseconds(const struct correction *c, double time)
{
  const double ahead = c->start->offset + c->drift * (time - c->start->taken);
  return 1e6 * (time - ahead - c->start->zero);
}

static int64_t index_of(struct wire_head *head, const char *name)
{
  for (int64_t k = 0; k < head->name_count; k++)
    if (strncmp(head->names[k], name, NAME - 1) == 0) return k;
  FIRN_ASSERT(head->name_count < NAMES);
  snprintf(head->names[head->name_count], NAME, "%s", name);
  return head->name_count++;
}

static void describe(const struct timeline *t, struct wire_head *head)
{
  gethostname(head->host, HOST - 1);
  head->threads = t->threads;
  for (int k = 0; k < t->threads; k++) {
    head->dropped += t->tracks[k].dropped;
    for (int64_t s = 0; s < t->tracks[k].count; s++) index_of(head, t->tracks[k].spans[s].name);
  }
}

/* Spans [from, from + count) of a track as they travel. */
static void convert(const struct track *track, int64_t from, int64_t count, struct wire_head *head,
                    const struct correction *clock, struct wire_span *out)
{
  for (int64_t k = 0; k < count; k++) {
    const struct span *span = &track->spans[from + k];
    const double begin = to_microseconds(clock, span->begin);
    out[k] = (struct wire_span){begin, to_microseconds(clock, span->end) - begin, span->value,
                                index_of(head, span->name)};
  }
}

static void print_head(FILE *file, int rank, const struct wire_head *head)
{
  char text[2 * HOST + 64], name[HOST + 64];
  snprintf(name, sizeof name, "rank %d on %s", rank, head->host);
  fprintf(file, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":%s}},\n", rank,
          json_quote(name, text, sizeof text));
  fprintf(file, "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"sort_index\":%d}},\n",
          rank, rank);
  for (int64_t k = 0; k < head->threads; k++)
    fprintf(file,
            "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%lld,\"args\":{\"name\":\"thread "
            "%lld\"}},\n",
            rank, (long long)k, (long long)k);
}

static void print_spans(FILE *file, int rank, int thread, const struct wire_head *head,
                        const struct wire_span *spans, int64_t count)
{
  for (int64_t k = 0; k < count; k++) {
    const struct wire_span *s = &spans[k];
    fprintf(file, "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f",
            head->names[s->name], rank, thread, s->begin, s->length);
    if (s->value) fprintf(file, ",\"args\":{\"value\":%lld}", (long long)s->value);
    fputs("},\n", file);
  }
}

/* Rank 0 with its own spans prints them, with others' receives them first; other ranks send. */
struct carrier {
  const struct comm *comm;
  struct wire_span *spans; /* [PIECE] */
  FILE *file;              /* rank 0 */
};

static void carry_track(const struct carrier *c, int from, int thread, const struct track *track,
                        struct wire_head *head, const struct correction *clock)
{
  int64_t count = track ? track->count : 0;
  if (from > 0 && track) MPI_Send(&count, 1, MPI_INT64_T, 0, TAG_SPANS, c->comm->mpi);
  if (!track) MPI_Recv(&count, 1, MPI_INT64_T, from, TAG_SPANS, c->comm->mpi, MPI_STATUS_IGNORE);
  for (int64_t at = 0; at < count; at += PIECE) {
    const int64_t n = count - at < PIECE ? count - at : PIECE;
    const int bytes = (int)(n * (int64_t)sizeof *c->spans);
    if (track) convert(track, at, n, head, clock, c->spans);
    if (track && from > 0) MPI_Send(c->spans, bytes, MPI_BYTE, 0, TAG_SPANS, c->comm->mpi);
    if (!track) MPI_Recv(c->spans, bytes, MPI_BYTE, from, TAG_SPANS, c->comm->mpi, MPI_STATUS_IGNORE);
    if (c->file) print_spans(c->file, from, thread, head, c->spans, n);
  }
}

static void carry_rank(const struct carrier *c, int from, const struct timeline *t, struct wire_head *head,
                       const struct correction *clock)
{
  const int rank = c->comm->rank;
  if (rank != 0 && rank != from) return;
  struct wire_head theirs;
  if (from > 0 && rank == from) MPI_Send(head, sizeof *head, MPI_BYTE, 0, TAG_SPANS, c->comm->mpi);
  if (from > 0 && rank == 0) {
    MPI_Recv(&theirs, sizeof theirs, MPI_BYTE, from, TAG_SPANS, c->comm->mpi, MPI_STATUS_IGNORE);
    head = &theirs;
  }
  if (c->file) print_head(c->file, from, head);
  for (int k = 0; k < head->threads; k++)
    carry_track(c, from, k, rank == from ? &t->tracks[k] : NULL, head, clock);
  if (rank == 0 && head->dropped)
    log_warn(
        "the trace of rank %d is full: %lld spans are missing at its end; choose steps with --trace-steps",
        from, (long long)head->dropped);
}

/* Ends the file: an event without a comma behind it closes the list. */
static int finish(FILE *file, const char *temp, const char *path, struct error *err)
{
  fputs("{\"name\":\"end\",\"ph\":\"i\",\"pid\":0,\"tid\":0,\"ts\":0,\"s\":\"g\"}\n]}\n", file);
  const bool failed = ferror(file) != 0;
  if (fclose(file) == 0 && !failed) return file_commit(temp, path, err);
  const int reason = errno;
  unlink(temp);
  return error_set(err, FIRN_EIO, "cannot write the trace %s: %s", path, strerror(reason));
}

int timeline_check_path(const char *path, struct error *err)
{
  return file_check_replaceable(path, file_begins_with(path, beginning, sizeof beginning - 1), "a trace",
                                err);
}

int timeline_write(const struct comm *comm, const struct timeline_clock *clock, const char *path,
                   struct error *err)
{
  const struct timeline *t = comm->traffic->timeline;
  const double offset = comm_clock_offset(comm), passed = timer_now() - clock->taken;
  const double drift = passed > 0.0 ? (offset - clock->offset) / passed : 0.0;
  const struct correction correction = {clock, fmax(-MOST_DRIFT, fmin(MOST_DRIFT, drift))};
  char *temp = comm->rank == 0 ? file_temp_name(path, 0) : NULL;
  int code = temp ? timeline_check_path(path, err) : FIRN_OK;
  struct carrier carrier = {.comm = comm, .file = temp && !code ? fopen(temp, "we") : NULL};
  if (!code && temp && !carrier.file)
    code = error_set(err, FIRN_EIO, "cannot write the trace %s: %s", path, strerror(errno));
  code = comm_agree(comm, code, err);
  if (!code) {
    struct wire_head *head = mem_alloc(1, sizeof *head);
    carrier.spans = mem_alloc(PIECE, sizeof *carrier.spans);
    describe(t, head);
    if (carrier.file) fputs(beginning, carrier.file);
    for (int rank = 0; rank < comm->size; rank++) carry_rank(&carrier, rank, t, head, &correction);
    mem_free(carrier.spans);
    mem_free(head);
    if (carrier.file) code = finish(carrier.file, temp, path, err);
    code = comm_agree(comm, code, err);
  }
  mem_free(temp);
  return code;
}
