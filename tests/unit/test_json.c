/* JSON as it is written, read back by the YAML reader: JSON is a part of YAML. */
#include "base/json.h"
#include "base/memory.h"
#include "io/scene/yaml.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_nesting(void **state)
{
  (void)state;
  struct json json = {0};
  json_open(&json, NULL, '{');
  json_number(&json, "third", 1.0 / 3.0);
  json_open(&json, "list", '[');
  for (int k = 0; k < 100; k++) json_integer(&json, NULL, 5000000000 + k);
  json_close(&json, ']');
  json_open(&json, "empty", '{');
  json_close(&json, '}');
  json_bool(&json, "yes", true);
  json_text(&json, "nothing", NULL);
  json_number(&json, "not_finite", NAN);
  json_close(&json, '}');
  struct yaml *yaml = NULL;
  struct error err = {0};
  assert_int_equal(yaml_parse(&yaml, "json", json.text, &err), 0);
  assert_true(fabs(atof(yaml_find(yaml->root, "third")->text) - 1.0 / 3.0) < 1e-9);
  assert_int_equal(yaml_find(yaml->root, "list")->count, 100);
  assert_string_equal(yaml_find(yaml->root, "list")->child[99]->text, "5000000099");
  assert_int_equal(yaml_find(yaml->root, "empty")->count, 0);
  assert_string_equal(yaml_find(yaml->root, "yes")->text, "true");
  assert_true(yaml_is_null(yaml_find(yaml->root, "nothing")));
  assert_true(yaml_is_null(yaml_find(yaml->root, "not_finite")));
  assert_int_equal(json.length, strlen(json.text));
  yaml_destroy(&yaml);
  mem_free(json.text);
}

static void test_quoting(void **state)
{
  (void)state;
  char out[64];
  assert_string_equal(json_quote("a \"b\" \\ c\n", out, sizeof out), "\"a \\\"b\\\" \\\\ c\\u000a\"");
  /* A text that does not fit is cut, and still a string. */
  json_quote("0123456789\"\"\"\"\"\"", out, 16);
  assert_true(strlen(out) < 16);
  assert_int_equal(out[strlen(out) - 1], '"');
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_nesting), cmocka_unit_test(test_quoting)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
