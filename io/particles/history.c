#include "io/particles/history.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/particles/csv_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct history {
  struct csv_log *log;
  int more_count, phase_count;
};

/* What every history begins with, and by which it is known. */
static const char first[] = "step,time,dt,particles,removed,iterations,halvings,";

static const char computed[] =
    "step,time,dt,particles,removed,iterations,halvings,contact_nodes,plastic,limited,mass,"
    "momentum_x,"
    "momentum_y,momentum_z,angular_x,angular_y,angular_z,kinetic,elastic,potential,max_speed";

static char *make_header(const struct history_columns *columns)
{
  size_t size = sizeof computed + sizeof ",imbalance\n";
  for (int k = 0; k < columns->more_count; k++) size += strlen(columns->more[k]) + 1;
  for (int k = 0; k < columns->phase_count; k++) size += strlen(columns->phases[k]) + 16;
  char *header = mem_alloc(size, 1), *at = header + sprintf(header, "%s", computed);
  for (int k = 0; k < columns->more_count; k++) at += sprintf(at, ",%s", columns->more[k]);
  at += sprintf(at, ",imbalance");
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

bool history_fits(const char *path, const struct history_columns *columns)
{
  char *header = make_header(columns);
  const bool fits = history_is_one(path) && csv_log_fits(path, header);
  mem_free(header);
  return fits;
}

int history_open(struct history **out, const char *output, const struct fence *fence,
                 const struct history_columns *columns, int64_t step, struct error *err)
{
  FIRN_ASSERT(columns->phase_count >= 0 && columns->phase_count <= HISTORY_PHASES);
  int code = file_make_folder(output, err);
  if (code != FIRN_OK) return code;
  struct history *history = mem_alloc(1, sizeof *history);
  char *path = history_path(output), *header = make_header(columns);
  history->more_count = columns->more_count;
  history->phase_count = columns->phase_count;
  code = csv_log_open(&history->log, path, fence, header, step, err);
  mem_free(header);
  mem_free(path);
  if (code != FIRN_OK)
    history_destroy(&history);
  else
    *out = history;
  return code;
}

void history_sync(struct history *history)
{
  if (history) csv_log_sync(history->log);
}

void history_add(struct history *history, const struct history_row *row)
{
  FILE *stream = csv_log_line(history->log);
  if (!stream) return;
  fprintf(stream, "%" PRId64 ",%.17g,%.17g", row->step, row->time, row->dt);
  const int64_t counts[] = {row->particles,     row->removed, row->iterations, row->halvings,
                            row->contact_nodes, row->plastic, row->limited};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) fprintf(stream, ",%" PRId64, counts[k]);
  fprintf(stream, ",%.17g", row->mass);
  for (int d = 0; d < 3; d++) fprintf(stream, ",%.17g", row->momentum[d]);
  for (int d = 0; d < 3; d++) fprintf(stream, ",%.17g", row->angular[d]);
  fprintf(stream, ",%.17g,%.17g,%.17g,%.17g", row->kinetic, row->elastic, row->potential, row->max_speed);
  for (int k = 0; k < history->more_count; k++) fprintf(stream, ",%.17g", row->more[k]);
  fprintf(stream, ",%.4g", row->imbalance);
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
