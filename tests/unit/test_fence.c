/* Generations: each start takes the next one, the older ones notice, and so does one whose folder is gone. */
#include "base/memory.h"
#include "io/file.h"
#include "io/run/fence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state)
{
  (void)state;
  snprintf(folder, sizeof folder, "test_fence_XXXXXX");
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
  (void)state;
  struct file_list *list = NULL;
  if (file_list_create(&list, folder, "", "", NULL) == FIRN_OK)
    for (int k = 0; k < list->count; k++) {
      char *path = file_join(folder, list->names[k]);
      unlink(path);
      mem_free(path);
    }
  file_list_destroy(&list);
  rmdir(folder);
  return mem_balance() != 0;
}

static void test_generations(void **state)
{
  (void)state;
  struct fence *first = NULL, *second = NULL;
  struct error err;
  char run_id[RUN_ID_SIZE], other[RUN_ID_SIZE], found[RUN_ID_SIZE];
  int64_t generation;
  fence_new_run(run_id);
  fence_new_run(other);
  assert_int_equal(strlen(run_id), 16);
  assert_string_not_equal(run_id, other);
  fence_look(folder, found, &generation);
  assert_string_equal(found, "");
  assert_int_equal(generation, 0);

  assert_int_equal(fence_take(&first, folder, run_id, 0, -1, &err), FIRN_OK);
  assert_int_equal(first->generation, 1);
  assert_int_equal(fence_check(first, &err), FIRN_OK);
  fence_look(folder, found, &generation);
  assert_string_equal(found, run_id);
  assert_int_equal(generation, 1);

  assert_int_equal(fence_take(&second, folder, run_id, 0, -1, &err), FIRN_OK);
  assert_int_equal(second->generation, 2);
  assert_int_equal(fence_check(second, &err), FIRN_OK);
  assert_int_equal(fence_check(first, &err), FIRN_ESTALE);
  assert_non_null(strstr(err.text, "generation 2, this one is 1"));
  fence_destroy(&first);
  assert_int_equal(fence_take(&first, folder, run_id, 7, -1, &err), FIRN_OK);
  assert_int_equal(first->generation, 8);
  assert_int_equal(fence_check(second, &err), FIRN_ESTALE);
  fence_destroy(&first);
  fence_destroy(&second);
}

static void test_gone(void **state)
{
  (void)state;
  struct fence *fence = NULL;
  struct error err;
  char away[80], *file;
  assert_int_equal(fence_take(&fence, folder, "0123456789abcdef", 0, -1, &err), FIRN_OK);
  snprintf(away, sizeof away, "%s_away", folder);
  assert_int_equal(rename(folder, away), 0);
  assert_int_equal(fence_check(fence, &err), FIRN_EIO);
  assert_non_null(strstr(err.text, "is gone"));
  assert_int_equal(rename(away, folder), 0);
  assert_int_equal(fence_check(fence, &err), FIRN_OK);
  file = file_join(folder, "generation_000001");
  unlink(file);
  mem_free(file);
  assert_int_equal(fence_check(fence, &err), FIRN_EIO);
  fence_destroy(&fence);
}

static void put(const char *name, const char *text)
{
  char *path = file_join(folder, name);
  assert_int_equal(file_write(path, 0, text, strlen(text), NULL), FIRN_OK);
  mem_free(path);
}

static bool is_there(const char *name)
{
  char *path = file_join(folder, name);
  const bool there = access(path, F_OK) == 0;
  mem_free(path);
  return there;
}

/* Only files that name a run are removed, or those that a crash left empty. */
static void test_foreign(void **state)
{
  (void)state;
  struct fence *fence = NULL;
  struct error err;
  char found[RUN_ID_SIZE];
  int64_t generation;
  put("generation_5", "mine");
  put("generation_000003", "notes on the third generation");
  put("generation_000004", "run 0123456789abcdef\n");
  put("generation_000006", "");
  put("generation_", "x");
  fence_look(folder, found, &generation);
  assert_int_equal(generation, 6);
  assert_string_equal(found, "0123456789abcdef"); /* the newest was cut short */
  assert_int_equal(fence_take(&fence, folder, found, 0, -1, &err), FIRN_OK);
  assert_int_equal(fence->generation, 7);
  assert_true(is_there("generation_5") && is_there("generation_000003") && is_there("generation_"));
  assert_false(is_there("generation_000004") || is_there("generation_000006"));
  fence_destroy(&fence);
}

/* Of two that found the folder free one has it, and the other does not take it away. */
static void test_taken(void **state)
{
  (void)state;
  struct fence *first = NULL, *second = NULL;
  struct error err;
  assert_int_equal(fence_take(&first, folder, "0123456789abcdef", 4, 0, &err), FIRN_OK);
  assert_int_equal(first->generation, 5);
  assert_int_equal(fence_take(&second, folder, "fedcba9876543210", 0, 0, &err), FIRN_ESTALE);
  assert_non_null(strstr(err.text, "another run has just started"));
  assert_null(second);
  assert_int_equal(fence_check(first, &err), FIRN_OK);
  assert_int_equal(fence_take(&second, folder, "fedcba9876543210", 0, 5, &err), FIRN_OK);
  fence_destroy(&first);
  fence_destroy(&second);
}

/* Many at once: each gets a number of its own, and exactly one may go on. */
static void test_crowd(void **state)
{
  (void)state;
  enum { STARTS = 24 };
  int taken[2];
  assert_int_equal(pipe(taken), 0);
  for (int k = 0; k < STARTS; k++)
    if (fork() == 0) {
      struct fence *fence = NULL;
      const int64_t number =
          fence_take(&fence, folder, "0123456789abcdef", 0, -1, NULL) == FIRN_OK ? fence->generation : -1;
      _exit(write(taken[1], &number, sizeof number) != (ssize_t)sizeof number);
    }
  int64_t numbers[STARTS], newest = 0;
  for (int k = 0; k < STARTS; k++) {
    assert_int_equal(read(taken[0], &numbers[k], sizeof numbers[k]), sizeof numbers[k]);
    assert_true(numbers[k] > 0);
    for (int j = 0; j < k; j++) assert_int_not_equal(numbers[j], numbers[k]);
    if (numbers[k] > newest) newest = numbers[k];
  }
  while (wait(NULL) > 0) continue;
  int allowed = 0;
  for (int k = 0; k < STARTS; k++) {
    const struct fence fence = {.folder = folder, .generation = numbers[k]};
    allowed += fence_check(&fence, NULL) == FIRN_OK;
    assert_int_equal(fence_check(&fence, NULL), numbers[k] == newest ? FIRN_OK : FIRN_ESTALE);
  }
  assert_int_equal(allowed, 1);
  close(taken[0]);
  close(taken[1]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_generations, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_gone, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_foreign, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_taken, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_crowd, make_folder, remove_folder)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
