/* The history: its header, 17 digits that come back as the same bits, and a disk that is full. */
#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/run/csv_log.h"
#include "io/run/history.h"
#include "support/capture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const phases[] = {"transfer", "solve"}, *const more[] = {"force_floor_y"};
static const struct history_columns plain = {.phases = phases, .phase_count = 2},
                                    measured = {.more = more,
                                                .more_count = 1,
                                                .repeats = true,
                                                .phases = phases,
                                                .phase_count = 2};

static struct history_row row_of(int64_t step)
{
  struct history_row row = {
      .step = step, .time = 0.1 * (double)step, .dt = 1.0 / 3.0, .particles = 5000000000};
  row.momentum_y = -1e-300;
  row.max_speed = 0.1;
  row.plastic = 7;
  row.limited = 3;
  row.seconds[1] = 0.25;
  row.seconds[2] = 99.0; /* has no name, so it is not written */
  return row;
}

static void test_lines(void **state)
{
  (void)state;
  char folder[] = "test_history_XXXXXX";
  assert_non_null(mkdtemp(folder));
  char *output = file_join(folder, "deep/down"), *path = file_join(output, "history.csv"), *text;
  struct history *history = NULL;
  struct error err;
  assert_int_equal(history_open(&history, output, NULL, &plain, -1, 0, &err), FIRN_OK);
  for (int64_t step = 1; step <= 3; step++) {
    const struct history_row row = row_of(step);
    history_add(history, &row);
  }
  history_destroy(&history);
  assert_null(history);
  assert_int_equal(file_read(path, 1 << 20, &text, NULL, &err), FIRN_OK);
  char *lines[5], *rest = text;
  for (int k = 0; k < 5; k++) lines[k] = strsep(&rest, "\n");
  assert_string_equal(lines[4], "");
  assert_null(rest);
  assert_memory_equal(lines[0], "step,time,dt,particles,removed,iterations,", 42);
  assert_non_null(strstr(lines[0], ",contact_nodes,plastic,limited,mass,momentum_x,momentum_y,"));
  assert_non_null(strstr(lines[0], ",max_speed,imbalance,seconds_transfer,seconds_solve"));
  char *fields[32], *cursor = lines[3];
  int count = 0;
  while (cursor) fields[count++] = strsep(&cursor, ",");
  assert_int_equal(count, 24);
  assert_string_equal(fields[0], "3");
  assert_true(strtod(fields[1], NULL) == 0.1 * 3.0 && strtod(fields[2], NULL) == 1.0 / 3.0);
  assert_string_equal(fields[3], "5000000000");
  assert_string_equal(fields[8], "7");
  assert_string_equal(fields[9], "3");
  assert_true(strtod(fields[12], NULL) == -1e-300 && strtod(fields[20], NULL) == 0.1);
  assert_string_equal(fields[23], "0.25");
  unlink(path);
  rmdir(output);
  char *deep = file_join(folder, "deep");
  rmdir(deep);
  assert_int_equal(rmdir(folder), 0);
  mem_free(deep);
  mem_free(text);
  mem_free(path);
  mem_free(output);
  assert_int_equal(mem_balance(), 0);
}

/* Columns that the scene asks for come before what the machine did. */
static void test_more_columns(void **state)
{
  (void)state;
  char folder[] = "test_history_XXXXXX";
  assert_non_null(mkdtemp(folder));
  char *path = file_join(folder, "history.csv"), *text;
  struct history *history = NULL;
  struct error err;
  assert_int_equal(history_open(&history, folder, NULL, &measured, -1, 0, &err), FIRN_OK);
  struct history_row row = row_of(1);
  row.more = (const double[]){-1.0 / 3.0};
  row.repeats = 2;
  history_add(history, &row);
  history_destroy(&history);
  assert_int_equal(file_read(path, 1 << 20, &text, NULL, &err), FIRN_OK);
  assert_non_null(strstr(text, ",max_speed,force_floor_y,repeats,imbalance,"));
  assert_non_null(strstr(text, ",0.10000000000000001,-0.33333333333333331,2,0,"));
  mem_free(text);
  unlink(path);
  mem_free(path);
  assert_int_equal(rmdir(folder), 0);
}

static void test_no_place(void **state)
{
  (void)state;
  struct history *history = NULL;
  struct error err = {.code = FIRN_OK};
  assert_int_equal(history_open(&history, "/dev/null/below", NULL, &plain, -1, 0, &err), FIRN_EIO);
  assert_non_null(strstr(err.text, "/dev/null"));
  assert_null(history);
  assert_int_equal(mem_balance(), 0);
}

static void test_full_disk(void **state)
{
  (void)state;
  char folder[] = "test_history_XXXXXX";
  assert_non_null(mkdtemp(folder));
  struct history *history = NULL;
  struct error err = {.code = FIRN_OK};
  struct rlimit before, none;
  getrlimit(RLIMIT_FSIZE, &before);
  none = before;
  none.rlim_cur = 0; /* no byte more in any file */
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &none);
  const int code = history_open(&history, folder, NULL, &plain, -1, 0, &err);
  setrlimit(RLIMIT_FSIZE, &before);
  assert_int_equal(code, FIRN_EIO);
  assert_non_null(strstr(err.text, "File too large"));
  assert_null(history);
  assert_int_equal(rmdir(folder), 0); /* nothing half-written stays */
  assert_int_equal(mem_balance(), 0);
}

/* What a restart finds: rows after its step are dropped, and so is one that was cut short. */
static void test_continue(void **state)
{
  (void)state;
  char folder[] = "test_history_XXXXXX";
  assert_non_null(mkdtemp(folder));
  char *path = file_join(folder, "history.csv"), *whole, *text;
  struct history *history = NULL;
  struct error err;
  struct history_row row;
  assert_int_equal(history_open(&history, folder, NULL, &plain, -1, 0, &err), FIRN_OK);
  for (int64_t step = 0; step < 12; step++) history_add(history, (row = row_of(step), &row));
  history_destroy(&history);
  assert_int_equal(file_read(path, 1 << 20, &whole, NULL, &err), FIRN_OK);
  for (int64_t from = 0; from <= 12; from += 3) {
    assert_int_equal(truncate(path, (off_t)strlen(whole) - (from == 12 ? 0 : 7)), 0);
    assert_int_equal(history_open(&history, folder, NULL, &plain, from, 0, &err), FIRN_OK);
    for (int64_t step = from; step < 12; step++) history_add(history, (row = row_of(step), &row));
    history_sync(history);
    assert_int_equal(file_read(path, 1 << 20, &text, NULL, &err), FIRN_OK);
    assert_string_equal(text, whole);
    mem_free(text);
    history_destroy(&history);
  }
  mem_free(whole);
  unlink(path);
  rmdir(folder);
  mem_free(path);
}

/* --- columns that change --- */

struct table_test {
  char folder[32], *path;
};

static void table_begin(struct table_test *t, const char *text)
{
  snprintf(t->folder, sizeof t->folder, "test_history_XXXXXX");
  assert_non_null(mkdtemp(t->folder));
  t->path = file_join(t->folder, "table.csv");
  assert_int_equal(file_write(t->path, 0, text, strlen(text), NULL), FIRN_OK);
}

/* Goes on with the table and adds a row of `values`; the text is then as expected, and so are warnings. */
static void table_expect(struct table_test *t, const struct csv_start *start, const char *values,
                         const char *expected, const char *warning)
{
  struct csv_log *log = NULL;
  struct error err = {.code = FIRN_OK};
  char *text, said[2048];
  log_configure(LOG_WARN, 0, NULL);
  int saved;
  fflush(NULL);
  FILE *heard = capture_begin(STDERR_FILENO, &saved);
  const int code = csv_log_open(&log, t->path, NULL, start, &err);
  fflush(NULL);
  capture_end(heard, STDERR_FILENO, saved, said, sizeof said);
  assert_int_equal(code, FIRN_OK);
  fputs(values, csv_log_line(log));
  csv_log_end_line(log);
  csv_log_destroy(&log);
  assert_int_equal(file_read(t->path, 1 << 20, &text, NULL, &err), FIRN_OK);
  assert_string_equal(text, expected);
  mem_free(text);
  if (warning)
    assert_non_null(strstr(said, warning));
  else
    assert_string_equal(said, "");
}

static void table_end(struct table_test *t)
{
  unlink(t->path);
  assert_int_equal(rmdir(t->folder), 0);
  mem_free(t->path);
  assert_int_equal(mem_balance(), 0);
}

static bool is_gate(const void *context, const char *column)
{
  (void)context;
  return strcmp(column, "gate") == 0;
}

/* Rows are measurements: they stay, whatever columns come, go, change their order or their meaning. */
static void test_changed_columns(void **state)
{
  (void)state;
  struct table_test t;
  table_begin(&t, "step,mass,gate\n0,1,0.5\n1,2,0.25\n2,3,0.125\n");
  /* Another order, a column more, one less. */
  const struct csv_start first = {.header = "step,energy,mass\n", .step = 2, .expected = 2, .before = 2};
  table_expect(&t, &first, "2,7,3", "step,energy,mass,gate\n0,nan,1,0.5\n1,nan,2,0.25\n2,7,3,nan\n", NULL);
  /* The gate again, in its old column; nothing else ends. */
  const struct csv_start again = {.header = "step,energy,mass,gate\n", .step = 3, .expected = 3, .before = 3};
  table_expect(&t, &again, "3,7,3,9",
               "step,energy,mass,gate\n0,nan,1,0.5\n1,nan,2,0.25\n2,7,3,nan\n3,7,3,9\n", NULL);
  /* The gate is elsewhere now: what it measured before gets a name of its own. */
  const struct csv_start moved = {.header = "step,gate\n", .step = 3, .is_other = is_gate};
  table_expect(&t, &moved, "3,11",
               "step,gate,energy,mass,gate_until_3\n0,nan,nan,1,0.5\n1,nan,nan,2,0.25\n2,nan,7,3,nan\n"
               "3,11,nan,nan,nan\n",
               NULL);
  /* The same once more from the same step: a column without values does not stay. */
  table_expect(&t, &moved, "3,12",
               "step,gate,energy,mass,gate_until_3\n0,nan,nan,1,0.5\n1,nan,nan,2,0.25\n2,nan,7,3,nan\n"
               "3,12,nan,nan,nan\n",
               NULL);
  table_end(&t);
}

/* Lines that are none go, those behind them stay, and rows that must have been there are missed aloud. */
static void test_holes(void **state)
{
  (void)state;
  static const char whole[] = "step,mass\n0,1\n1,2\n2,3\n3,4\n4,5\n";
  const struct csv_start start = {.header = "step,mass\n", .step = 5, .expected = 5, .before = 5};
  struct table_test t;
  table_begin(&t, whole);
  table_expect(&t, &start, "5,6", "step,mass\n0,1\n1,2\n2,3\n3,4\n4,5\n5,6\n", NULL);
  table_end(&t);
  table_begin(&t, "step,mass\n0,1\n1,2\n2,"); /* cut inside a line */
  table_expect(&t, &start, "5,6", "step,mass\n0,1\n1,2\n5,6\n", "lacks 3 of the 5 rows before step 5");
  table_end(&t);
  table_begin(&t, "step,mass\n0,1\n1,2\n"); /* at its end */
  table_expect(&t, &start, "5,6", "step,mass\n0,1\n1,2\n5,6\n", "lacks 3 of the 5 rows before step 5");
  table_end(&t);
  table_begin(&t, "step,mass\n0,1\n1,2,3\n2\n9x,3\n2,3\n3,4\n4,5\n");
  table_expect(&t, &start, "5,6", "step,mass\n0,1\n2,3\n3,4\n4,5\n5,6\n",
               "3 lines are damaged and are left out, the first is line 3");
  table_end(&t);
  table_begin(&t, whole);
  assert_int_equal(unlink(t.path), 0); /* all of it */
  table_expect(&t, &start, "5,6", "step,mass\n5,6\n", "lacks 5 of the 5 rows before step 5");
  table_end(&t);
}

/* An orphan of an earlier start writes on, and what it writes is nowhere. */
static void test_orphan(void **state)
{
  (void)state;
  char folder[] = "test_history_XXXXXX";
  assert_non_null(mkdtemp(folder));
  char *path = file_join(folder, "history.csv"), *alone, *text;
  struct history *orphan = NULL, *heir = NULL;
  struct error err;
  struct history_row row;
  assert_int_equal(history_open(&orphan, folder, NULL, &plain, -1, 0, &err), FIRN_OK);
  for (int64_t step = 0; step < 4; step++) history_add(orphan, (row = row_of(step), &row));
  history_sync(orphan);
  assert_int_equal(history_open(&heir, folder, NULL, &plain, 2, 0, &err), FIRN_OK);
  for (int64_t step = 2; step < 6; step++) history_add(heir, (row = row_of(step), &row));
  history_sync(heir);
  assert_int_equal(file_read(path, 1 << 20, &alone, NULL, &err), FIRN_OK);
  for (int64_t step = 4; step < 9; step++) history_add(orphan, (row = row_of(step), &row));
  history_destroy(&orphan);
  assert_int_equal(file_read(path, 1 << 20, &text, NULL, &err), FIRN_OK);
  assert_string_equal(text, alone);
  history_destroy(&heir);
  mem_free(alone);
  mem_free(text);
  unlink(path);
  assert_int_equal(rmdir(folder), 0);
  mem_free(path);
  assert_int_equal(mem_balance(), 0);
}

/* A start that another one has overtaken does not put its file in place of the newer one's. */
static void test_overtaken(void **state)
{
  (void)state;
  char folder[] = "test_history_XXXXXX";
  assert_non_null(mkdtemp(folder));
  char *path = file_join(folder, "history.csv"), *before, *after;
  struct fence *older = NULL, *newer = NULL;
  struct history *history = NULL, *late = NULL;
  struct error err;
  struct history_row row = row_of(1);
  assert_int_equal(fence_take(&older, folder, "0123456789abcdef", 0, -1, &err), FIRN_OK);
  assert_int_equal(fence_take(&newer, folder, "0123456789abcdef", 0, -1, &err), FIRN_OK);
  assert_int_equal(history_open(&history, folder, newer, &plain, -1, 0, &err), FIRN_OK);
  history_add(history, &row);
  history_sync(history);
  assert_int_equal(file_read(path, 1 << 20, &before, NULL, &err), FIRN_OK);
  assert_int_equal(history_open(&late, folder, older, &plain, -1, 0, &err), FIRN_ESTALE);
  assert_null(late);
  assert_int_equal(file_read(path, 1 << 20, &after, NULL, &err), FIRN_OK);
  assert_string_equal(before, after);
  history_destroy(&history);
  fence_destroy(&older);
  fence_destroy(&newer);
  mem_free(before);
  mem_free(after);
  unlink(path);
  mem_free(path);
  path = file_join(folder, "generation_000002");
  unlink(path);
  mem_free(path);
  assert_int_equal(rmdir(folder), 0); /* nothing half-written stays */
  assert_int_equal(mem_balance(), 0);
}

int main(void)
{
  log_configure(LOG_QUIET, 0, NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),     cmocka_unit_test(test_more_columns),
      cmocka_unit_test(test_continue),  cmocka_unit_test(test_orphan),
      cmocka_unit_test(test_no_place),  cmocka_unit_test(test_overtaken),
      cmocka_unit_test(test_full_disk), cmocka_unit_test(test_changed_columns),
      cmocka_unit_test(test_holes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
