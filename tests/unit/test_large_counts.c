/* Counts beyond 2^31: what cannot be held or sent is an error with a message, never a number that wrapped.
 * tests/large has a file of more than 2^31 rows. */
#include "base/log.h"
#include "base/memory.h"
#include "decomposition/comm.h"
#include "decomposition/slabs.h"
#include "grid/particles.h"
#include "io/run/seal.h"

#include <limits.h>
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

/* Runs in a process of its own, which must end with the message of firn_fatal(). */
static void expect_fatal(void (*what)(void), const char *message)
{
  int ends[2];
  char text[1024] = "";
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    what();
    _exit(0);
  }
  close(ends[1]);
  ssize_t got, length = 0;
  while ((got = read(ends[0], text + length, sizeof text - 1 - (size_t)length)) > 0) length += got;
  close(ends[0]);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  assert_non_null(strstr(text, message));
}

static void send_too_much(void)
{
  comm_count((int64_t)INT_MAX + 1);
}

static void send_less_than_nothing(void)
{
  comm_count(-1);
}

static void hold_too_many(void)
{
  struct particles *p = particles_create(1);
  particles_reserve(p, (int64_t)1 << 31);
}

static void append_too_many(void)
{
  struct particles *p = particles_create(0);
  particles_append(p, 100);
  particles_append(p, (int64_t)INT32_MAX - 100);
}

static void ask_for_all_memory(void)
{
  mem_alloc((size_t)1 << 62, 8);
}

static void test_limits(void **state)
{
  (void)state;
  assert_int_equal(comm_count(INT_MAX), INT_MAX);
  expect_fatal(send_too_much, "2147483648 elements");
  expect_fatal(send_less_than_nothing, "-1 elements");
  expect_fatal(hold_too_many, "particles on one rank");
  expect_fatal(append_too_many, "particles on one rank");
  expect_fatal(ask_for_all_memory, "do not fit in memory");
}

/* 2^40 particles in 64 planes are cut as evenly as 64 would be. */
static void test_slabs(void **state)
{
  (void)state;
  int64_t weight[64];
  for (int k = 0; k < 64; k++) weight[k] = (int64_t)1 << 34;
  struct slabs *slabs = slabs_create(8, 64, (struct slab_work){.weight = weight});
  assert_int_equal(slabs->count, 8);
  for (int r = 0; r <= 8; r++) assert_int_equal(slabs->cut[r], 8 * r);
  slabs_destroy(&slabs);
}

/* Row numbers go into the sums with all their bits, and sums are the same however rows are grouped. */
static void test_rows(void **state)
{
  (void)state;
  const uint64_t rows[6] = {1, 2, 3, 4, 5, 6};
  struct seal_entry near = {.row_size = 8}, far = {.row_size = 8}, parts = {.row_size = 8};
  const int64_t beyond = (int64_t)1 << 32;
  seal_add_rows(&near, 0, 6, rows);
  seal_add_rows(&far, beyond, 6, rows);
  assert_true(near.sum != far.sum);
  seal_add_rows(&parts, beyond + 4, 2, rows + 4);
  seal_add_rows(&parts, beyond, 4, rows);
  assert_true(parts.sum == far.sum);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits), cmocka_unit_test(test_slabs),
                                     cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
