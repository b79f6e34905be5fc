#include "io/run/csv_table.h"

#include "base/memory.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t most_bytes = (size_t)4 << 30;

static void read_header(struct table *t, char *line)
{
  int most = 1;
  for (const char *at = line; (at = strchr(at, ',')); at++) most++;
  t->name = mem_alloc((size_t)most, sizeof *t->name);
  for (char *save = NULL, *word = strtok_r(line, ",", &save); word; word = strtok_r(NULL, ",", &save))
    t->name[t->columns++] = mem_strdup(word);
}

static int64_t count_lines(const char *text)
{
  int64_t lines = 0;
  for (const char *at = text; (at = strchr(at, '\n')); at++) lines++;
  return lines;
}

/* One line of numbers; false if there are more or fewer than columns. */
static int read_row(struct table *t, const char *line)
{
  for (int c = 0; c < t->columns; c++) {
    char *end;
    t->value[c][t->rows] = strtod(line, &end);
    if (end == line || *end != (c + 1 < t->columns ? ',' : '\n')) return 0;
    line = end + 1;
  }
  t->rows++;
  return 1;
}

static int read_rows(struct table *t, const char *text, const char *path, struct error *err)
{
  const int64_t lines = count_lines(text);
  t->value = mem_alloc((size_t)t->columns, sizeof *t->value);
  for (int c = 0; c < t->columns; c++) t->value[c] = mem_alloc((size_t)lines, sizeof **t->value);
  for (int64_t k = 0; k < lines; k++) {
    if (!read_row(t, text))
      return error_set(err, FIRN_EINPUT, "%s:%lld: not %d numbers as the header says", path, (long long)k + 2,
                       t->columns);
    text = strchr(text, '\n') + 1;
  }
  return FIRN_OK;
}

int table_read(struct table **out, const char *path, struct error *err)
{
  char *text = NULL;
  size_t size;
  *out = NULL;
  int code = file_read(path, most_bytes, &text, &size, err);
  if (code) return code;
  struct table *t = mem_alloc(1, sizeof *t);
  char *end = strchr(text, '\n');
  if (!end || end == text)
    code = error_set(err, FIRN_EINPUT, "%s: no header line", path);
  else {
    *end = '\0';
    read_header(t, text);
    code = read_rows(t, end + 1, path, err);
  }
  mem_free(text);
  if (code) table_destroy(&t);
  *out = t;
  return code;
}

void table_destroy(struct table **table)
{
  struct table *t = *table;
  if (!t) return;
  for (int c = 0; c < t->columns; c++) {
    mem_free(t->name[c]);
    if (t->value) mem_free(t->value[c]);
  }
  mem_free(t->name);
  mem_free(t->value);
  mem_free(t);
  *table = NULL;
}

const double *table_column(const struct table *t, const char *name)
{
  for (int c = 0; c < t->columns; c++)
    if (strcmp(t->name[c], name) == 0) return t->value[c];
  return NULL;
}

int table_write(const struct listing *listing, const char *path, const char *beginning, struct error *err)
{
  char *text = NULL;
  size_t size = 0;
  int code = file_check_replaceable(path, file_begins_with(path, beginning, strlen(beginning)),
                                    "a table of this command", err);
  if (code) return code;
  FILE *stream = open_memstream(&text, &size);
  listing_print_csv(listing, stream);
  fclose(stream);
  code = file_write(path, 0, text, size, err);
  free(text);
  return code;
}
