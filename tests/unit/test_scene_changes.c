/* Two scenes compared key by key. */
#include "base/memory.h"
#include "io/scene/scene_changes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

/* Bodies act in turn and snow is numbered in turn, so their order counts; materials are found by their names.
 * What only one scene has does not change the order of the rest. */
static void test_order(void **state)
{
  (void)state;
  static const char
      one[] = "materials:\n  hard:\n    young: 2\n  soft:\n    young: 1\n"
              "snow:\n  - name: \"a\"\n    seed: 3\n  - name: \"b\"\n    seed: 3\n"
              "bodies:\n  - name: \"floor\"\n    friction: 1\n  - name: \"wall\"\n    friction: 2\n"
              "sources:\n  - name: \"fall\"\n    rate: 1\n  - name: \"gun\"\n    rate: 2\n",
      two[] = "materials:\n  soft:\n    young: 1\n  hard:\n    young: 2\n"
              "snow:\n  - name: \"b\"\n    seed: 3\n  - name: \"a\"\n    seed: 3\n"
              "bodies:\n  - name: \"wall\"\n    friction: 2\n  - name: \"floor\"\n    friction: 1\n"
              "sources:\n  - name: \"gun\"\n    rate: 2\n  - name: \"fall\"\n    rate: 1\n",
      less[] = "materials:\n  hard:\n    young: 2\n  soft:\n    young: 1\n"
               "snow:\n  - name: \"b\"\n    seed: 3\n"
               "bodies:\n  - name: \"new\"\n    friction: 1\n  - name: \"floor\"\n    friction: 1\n  - "
               "name: \"wall\"\n    friction: 2\n";
  struct scene_changes *c = NULL;
  struct error err;
  assert_int_equal(scene_changes_create(&c, one, two, &err), FIRN_OK);
  assert_int_equal(c->count, 4);
  assert_int_equal(c->unsafe, 3);
  expect_change(&c->items[0], "order of materials", "[hard, soft]", "[soft, hard]", true);
  expect_change(&c->items[1], "order of snow", "[a, b]", "[b, a]", false);
  expect_change(&c->items[2], "order of bodies", "[floor, wall]", "[wall, floor]", false);
  expect_change(&c->items[3], "order of sources", "[fall, gun]", "[gun, fall]", false);
  scene_changes_destroy(&c);
  assert_int_equal(scene_changes_create(&c, one, less, &err), FIRN_OK);
  for (int k = 0; k < c->count; k++) assert_null(strstr(c->items[k].path, "order"));
  scene_changes_destroy(&c);
}

static void test_names(void **state)
{
  (void)state;
  struct scene_names *names = NULL;
  struct error err;
  assert_int_equal(
      scene_names_create(&names, "materials:\n  b:\n    x: 1\n  a:\n    x: 1\n", "materials", &err), FIRN_OK);
  assert_int_equal(names->count, 2);
  assert_string_equal(names->names[0], "b");
  assert_string_equal(names->names[1], "a");
  scene_names_destroy(&names);
  assert_int_equal(scene_names_create(&names, before, "bodies", &err), FIRN_OK);
  assert_int_equal(names->count, 0);
  scene_names_destroy(&names);
  assert_int_equal(scene_names_create(&names, "a: [", "bodies", &err), FIRN_EINPUT);
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

/* What only looks at the snow may change between two starts. */
static void test_looks(void **state)
{
  (void)state;
  static const char *const keys[] = {"color: [1, 0, 0]", "cover: snow", "measure: true",
                                     "pressure_map: true"};
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    char with[128];
    struct scene_changes *c = NULL;
    struct error err;
    snprintf(with, sizeof with, "bodies:\n  - name: \"floor\"\n    %s\n", keys[k]);
    assert_int_equal(scene_changes_create(&c, "bodies:\n  - name: \"floor\"\n", with, &err), FIRN_OK);
    assert_int_equal(c->count, 1);
    assert_int_equal(c->unsafe, 0);
    scene_changes_destroy(&c);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes), cmocka_unit_test(test_looks),
                                     cmocka_unit_test(test_order), cmocka_unit_test(test_names),
                                     cmocka_unit_test(test_same)};
  return cmocka_run_group_tests(tests, NULL, all_freed);
}
