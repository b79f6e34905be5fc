/* Two scenes compared key by key. */
#include "base/memory.h"
#include "io/scene_changes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char before[] = "name: \"a\"\n"
                             "time:\n  end: 1\n  step: auto\n"
                             "gravity: [0, -9.81, 0]\n"
                             "snow:\n"
                             "  - name: \"ball\"\n    velocity: [1, 0, 0]\n"
                             "  - name: \"wall\"\n    seed: 3\n"
                             "output:\n  precision: f32\n  fields: [density, jp]\n";

static const char after[] = "output:\n  fields: [density]\n  precision: f32\n"
                            "name: \"a\" # the order of keys does not count\n"
                            "time:\n  step: auto\n  end: 2\n"
                            "gravity: [0, -9.81, 0]\n"
                            "snow:\n"
                            "  - name: \"wall\"\n    seed: 4\n    extra: 1\n";

static void expect_change(const struct scene_change *c, const char *path, const char *old, const char *new,
                          bool safe)
{
  assert_string_equal(c->path, path);
  if (old)
    assert_string_equal(c->before, old);
  else
    assert_null(c->before);
  if (new)
    assert_string_equal(c->after, new);
  else
    assert_null(c->after);
  assert_int_equal(c->safe, safe);
}

static void test_changes(void **state)
{
  (void)state;
  struct scene_changes *c = NULL;
  struct error err;
  assert_int_equal(scene_changes_create(&c, before, after, &err), FIRN_OK);
  assert_int_equal(c->count, 6);
  assert_int_equal(c->unsafe, 4);
  expect_change(&c->items[0], "output.fields", "[density, jp]", "[density]", true);
  expect_change(&c->items[1], "snow.ball.name", "ball", NULL, false);
  expect_change(&c->items[2], "snow.ball.velocity", "[1, 0, 0]", NULL, false);
  expect_change(&c->items[3], "snow.wall.extra", NULL, "1", false);
  expect_change(&c->items[4], "snow.wall.seed", "3", "4", false);
  expect_change(&c->items[5], "time.end", "1", "2", true);
  scene_changes_destroy(&c);
  assert_null(c);
}

static void test_same(void **state)
{
  (void)state;
  struct scene_changes *c = NULL;
  struct error err;
  assert_int_equal(scene_changes_create(&c, before, before, &err), FIRN_OK);
  assert_int_equal(c->count, 0);
  scene_changes_destroy(&c);
  assert_int_equal(scene_changes_create(&c, "a: [", before, &err), FIRN_EINPUT);
  assert_null(c);
}

static int all_freed(void **state)
{
  (void)state;
  return mem_balance() != 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes), cmocka_unit_test(test_same)};
  return cmocka_run_group_tests(tests, NULL, all_freed);
}
