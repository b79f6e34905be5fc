#include "io/run/history.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/run/csv_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct history {
  struct csv_log *log;
  int more_count, phase_count;
  bool repeats;
};

/* What every history begins with, and by which it is known. */
static const char first[] = "step,time,dt,particles,removed,iterations,halvings,";

#define NAMED(name) #name ","
static const char computed[] = FIRN_HISTORY(NAMED, NAMED);

static char *make_header(const struct history_columns *columns)
{
  size_t size = sizeof computed + sizeof "repeats,imbalance\n";
  for (int k = 0; k < columns->more_count; k++) size += strlen(columns->more[k]) + 1;
  for (int k = 0; k < columns->phase_count; k++) size += strlen(columns->phases[k]) + 16;
  char *header = mem_alloc(size, 1), *at = header + sprintf(header, "%s", computed);
  for (int k = 0; k < columns->more_count; k++) at += sprintf(at, "%s,", columns->more[k]);
  at += sprintf(at, columns->repeats ? "repeats,imbalance" : "imbalance");
  for (int k = 0; k < columns->phase_count; k++) at += sprintf(at, ",seconds_%s", columns->phases[k]);
  memcpy(at, "\n", 2);
  return header;
}

char *history_path(const char *output)
{
  return file_join(output, "history.csv");
}

bool history_is_one(const char *path)
{
  return file_begins_with(path, first, sizeof first - 1);
}

bool history_is_empty(const char *path)
{
  return csv_log_is_empty(path, first);
}

int history_open(struct history **out, const char *output, const struct fence *fence,
                 const struct history_columns *columns, int64_t step, int64_t expected, struct error *err)
{
  FIRN_ASSERT(columns->phase_count >= 0 && columns->phase_count <= HISTORY_PHASES);
  int code = file_make_folder(output, err);
  if (code != FIRN_OK) return code;
  struct history *history = mem_alloc(1, sizeof *history);
  char *path = history_path(output), *header = make_header(columns);
  history->more_count = columns->more_count;
  history->phase_count = columns->phase_count;
  history->repeats = columns->repeats;
  const struct csv_start start = {.header = header, .step = step, .expected = expected, .before = step};
  code = csv_log_open(&history->log, path, fence, &start, err);
  mem_free(header);
  mem_free(path);
  if (code != FIRN_OK)
    history_destroy(&history);
  else
    *out = history;
  return code;
}

int64_t history_rows(const struct history *history)
{
  return history ? csv_log_rows(history->log) : 0;
}

void history_sync(struct history *history)
{
  if (history) csv_log_sync(history->log);
}

void history_add(struct history *history, const struct history_row *row)
{
  FILE *stream = csv_log_line(history->log);
  if (!stream) return;
#define PUT_INTEGER(name) fprintf(stream, "%" PRId64 ",", row->name);
#define PUT_REAL(name)    fprintf(stream, "%.17g,", row->name);
  FIRN_HISTORY(PUT_INTEGER, PUT_REAL)
  for (int k = 0; k < history->more_count; k++) fprintf(stream, "%.17g,", row->more[k]);
  if (history->repeats) fprintf(stream, "%" PRId64 ",", row->repeats);
  fprintf(stream, "%.4g", row->imbalance);
  for (int k = 0; k < history->phase_count; k++) fprintf(stream, ",%.4g", row->seconds[k]);
  csv_log_end_line(history->log);
}

void history_destroy(struct history **history)
{
  if (!history || !*history) return;
  csv_log_destroy(&(*history)->log);
  mem_free(*history);
  *history = NULL;
}
