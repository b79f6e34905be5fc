/* The history: its header, 17 digits that come back as the same bits, and a disk that is full. */
#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/history.h"

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

static const char *const phases[] = {"transfer", "solve"};

static struct history_row row_of(int64_t step)
{
  struct history_row row = {
      .step = step, .time = 0.1 * (double)step, .dt = 1.0 / 3.0, .particles = 5000000000};
  row.momentum[1] = -1e-300;
  row.max_speed = 0.1;
  row.plastic = 7;
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
  assert_int_equal(history_create(&history, output, phases, 2, &err), FIRN_OK);
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
  assert_non_null(strstr(lines[0], ",max_speed,imbalance,seconds_transfer,seconds_solve"));
  char *fields[32], *cursor = lines[3];
  int count = 0;
  while (cursor) fields[count++] = strsep(&cursor, ",");
  assert_int_equal(count, 23);
  assert_string_equal(fields[0], "3");
  assert_true(strtod(fields[1], NULL) == 0.1 * 3.0 && strtod(fields[2], NULL) == 1.0 / 3.0);
  assert_string_equal(fields[3], "5000000000");
  assert_string_equal(fields[8], "7");
  assert_true(strtod(fields[11], NULL) == -1e-300 && strtod(fields[19], NULL) == 0.1);
  assert_string_equal(fields[22], "0.25");
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

static void test_no_place(void **state)
{
  (void)state;
  struct history *history = NULL;
  struct error err = {.code = FIRN_OK};
  assert_int_equal(history_create(&history, "/dev/null/below", phases, 2, &err), FIRN_EIO);
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
  const int code = history_create(&history, folder, phases, 2, &err);
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
  assert_int_equal(history_create(&history, folder, phases, 2, &err), FIRN_OK);
  for (int64_t step = 0; step < 12; step++) history_add(history, (row = row_of(step), &row));
  history_destroy(&history);
  assert_int_equal(file_read(path, 1 << 20, &whole, NULL, &err), FIRN_OK);
  for (int64_t from = 0; from <= 12; from += 3) {
    assert_int_equal(truncate(path, (off_t)strlen(whole) - (from == 12 ? 0 : 7)), 0);
    assert_int_equal(history_continue(&history, folder, phases, 2, from, &err), FIRN_OK);
    for (int64_t step = from; step < 12; step++) history_add(history, (row = row_of(step), &row));
    history_sync(history);
    assert_int_equal(file_read(path, 1 << 20, &text, NULL, &err), FIRN_OK);
    assert_string_equal(text, whole);
    mem_free(text);
    history_destroy(&history);
  }
  assert_int_equal(history_continue(&history, folder, phases, 1, 5, &err), FIRN_OK); /* other columns: anew */
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
  assert_int_equal(history_create(&orphan, folder, phases, 2, &err), FIRN_OK);
  for (int64_t step = 0; step < 4; step++) history_add(orphan, (row = row_of(step), &row));
  history_sync(orphan);
  assert_int_equal(history_continue(&heir, folder, phases, 2, 2, &err), FIRN_OK);
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

int main(void)
{
  log_configure(LOG_QUIET, 0, NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),    cmocka_unit_test(test_continue),  cmocka_unit_test(test_orphan),
      cmocka_unit_test(test_no_place), cmocka_unit_test(test_full_disk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
