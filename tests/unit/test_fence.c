/* Generations: each start takes the next one, the older ones notice, and so does one whose folder is gone. */
#include "base/memory.h"
#include "io/fence.h"
#include "io/file.h"

#include <setjmp.h>
#include <stdarg.h>
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

  assert_int_equal(fence_take(&first, folder, run_id, 0, &err), FIRN_OK);
  assert_int_equal(first->generation, 1);
  assert_int_equal(fence_check(first, &err), FIRN_OK);
  fence_look(folder, found, &generation);
  assert_string_equal(found, run_id);
  assert_int_equal(generation, 1);

  assert_int_equal(fence_take(&second, folder, run_id, 0, &err), FIRN_OK);
  assert_int_equal(second->generation, 2);
  assert_int_equal(fence_check(second, &err), FIRN_OK);
  assert_int_equal(fence_check(first, &err), FIRN_ESTALE);
  assert_non_null(strstr(err.text, "generation 2, this one is 1"));
  fence_destroy(&first);
  assert_int_equal(fence_take(&first, folder, run_id, 7, &err), FIRN_OK);
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
  assert_int_equal(fence_take(&fence, folder, "0123456789abcdef", 0, &err), FIRN_OK);
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
          fence_take(&fence, folder, "0123456789abcdef", 0, NULL) == FIRN_OK ? fence->generation : -1;
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
      cmocka_unit_test_setup_teardown(test_crowd, make_folder, remove_folder)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
