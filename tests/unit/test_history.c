/* The history: its header, 17 digits that come back as the same bits, and a disk that is full. */
#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/particles/history.h"

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
                                    fewer = {.phases = phases, .phase_count = 1},
                                    measured = {
                                        .more = more, .more_count = 1, .phases = phases, .phase_count = 2};

static struct history_row row_of(int64_t step)
{
  struct history_row row = {
      .step = step, .time = 0.1 * (double)step, .dt = 1.0 / 3.0, .particles = 5000000000};
  row.momentum[1] = -1e-300;
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
  assert_int_equal(history_open(&history, output, NULL, &plain, -1, &err), FIRN_OK);
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

/* Columns that the scene asks for come before what the machine did, and a file without them does not fit. */
static void test_more_columns(void **state)
{
  (void)state;
  char folder[] = "test_history_XXXXXX";
  assert_non_null(mkdtemp(folder));
  char *path = file_join(folder, "history.csv"), *text;
  struct history *history = NULL;
  struct error err;
  assert_int_equal(history_open(&history, folder, NULL, &measured, -1, &err), FIRN_OK);
  struct history_row row = row_of(1);
  row.more = (const double[]){-1.0 / 3.0};
  history_add(history, &row);
  history_destroy(&history);
  assert_true(history_fits(path, &measured) && !history_fits(path, &plain));
  assert_int_equal(file_read(path, 1 << 20, &text, NULL, &err), FIRN_OK);
  assert_non_null(strstr(text, ",max_speed,force_floor_y,imbalance,"));
  assert_non_null(strstr(text, ",0.10000000000000001,-0.33333333333333331,0,"));
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
  assert_int_equal(history_open(&history, "/dev/null/below", NULL, &plain, -1, &err), FIRN_EIO);
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
  const int code = history_open(&history, folder, NULL, &plain, -1, &err);
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
  assert_int_equal(history_open(&history, folder, NULL, &plain, -1, &err), FIRN_OK);
  for (int64_t step = 0; step < 12; step++) history_add(history, (row = row_of(step), &row));
  history_destroy(&history);
  assert_int_equal(file_read(path, 1 << 20, &whole, NULL, &err), FIRN_OK);
  for (int64_t from = 0; from <= 12; from += 3) {
    assert_int_equal(truncate(path, (off_t)strlen(whole) - (from == 12 ? 0 : 7)), 0);
    assert_int_equal(history_open(&history, folder, NULL, &plain, from, &err), FIRN_OK);
    for (int64_t step = from; step < 12; step++) history_add(history, (row = row_of(step), &row));
    history_sync(history);
    assert_int_equal(file_read(path, 1 << 20, &text, NULL, &err), FIRN_OK);
    assert_string_equal(text, whole);
    mem_free(text);
    history_destroy(&history);
  }
  assert_int_equal(history_open(&history, folder, NULL, &fewer, 5, &err), FIRN_OK); /* other columns: anew */
  history_destroy(&history);
  assert_int_equal(file_read(path, 1 << 20, &text, NULL, &err), FIRN_OK);
  assert_null(strstr(text, "\n4,"));
  mem_free(text);
  mem_free(whole);
  unlink(path);
  rmdir(folder);
  mem_free(path);
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
  assert_int_equal(history_open(&orphan, folder, NULL, &plain, -1, &err), FIRN_OK);
  for (int64_t step = 0; step < 4; step++) history_add(orphan, (row = row_of(step), &row));
  history_sync(orphan);
  assert_int_equal(history_open(&heir, folder, NULL, &plain, 2, &err), FIRN_OK);
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
  assert_int_equal(history_open(&history, folder, newer, &plain, -1, &err), FIRN_OK);
  history_add(history, &row);
  history_sync(history);
  assert_int_equal(file_read(path, 1 << 20, &before, NULL, &err), FIRN_OK);
  assert_int_equal(history_open(&late, folder, older, &plain, -1, &err), FIRN_ESTALE);
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
      cmocka_unit_test(test_lines),     cmocka_unit_test(test_more_columns), cmocka_unit_test(test_continue),
      cmocka_unit_test(test_orphan),    cmocka_unit_test(test_no_place),     cmocka_unit_test(test_overtaken),
      cmocka_unit_test(test_full_disk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
