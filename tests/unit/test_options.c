/* Options on the command line: what is taken, and that nothing else is. Instruction sets by name. */
#include "commands/options.h"
#include "kernels/kernels.h"
#include "run/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void counts(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    int64_t value; /* 0: refused */
  } cases[] = {{"1", 1},   {"128", 128}, {"5e1", 50},  {"1.28e2", 128}, {"+7", 7},  {"0", 0},
               {"129", 0}, {"2x", 0},    {"", 0},      {" 2", 0},       {"2 ", 0},  {"-1", 0},
               {"1.5", 0}, {"0x10", 0},  {"1e400", 0}, {"nan", 0},      {"inf", 0}, {"e", 0},
               {"two", 0}, {"1,000", 0}, {"1_0", 0},   {"--", 0},       {"1e", 0},  {"0b1", 0}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    int64_t value = -5;
    struct error err = {0};
    const int code = option_count("run: --threads", cases[k].text, 1, 128, &value, &err);
    if (code != (cases[k].value ? FIRN_OK : FIRN_EINPUT) || value != (cases[k].value ? cases[k].value : -5))
      fail_msg("\"%s\" gives %d, %lld", cases[k].text, code, (long long)value);
    if (code) assert_non_null(strstr(err.text, "run: --threads needs a whole number from 1 to 128, not"));
  }
}

static void numbers(void **state)
{
  (void)state;
  double x = 0.0, three[3];
  struct error err = {0};
  assert_int_equal(option_positive("a", "0.25", &x, &err), FIRN_OK);
  assert_true(x == 0.25);
  assert_int_equal(option_not_negative("a", "0", &x, &err), FIRN_OK);
  assert_int_equal(option_not_negative("a", "-0.1", &x, &err), FIRN_EINPUT);
  static const char *const bad[] = {"0", "-1", "1s", "0,5", "inf", "0x1p3", "", "1e999"};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
    if (option_positive("levelset: --rate", bad[k], &x, &err) != FIRN_EINPUT) fail_msg("%s is taken", bad[k]);
  assert_non_null(strstr(err.text, "levelset: --rate needs a number above 0"));
  assert_int_equal(option_numbers("--eye", "1,-0.5,2e3", 3, three, &err), FIRN_OK);
  assert_true(three[0] == 1.0 && three[1] == -0.5 && three[2] == 2000.0);
  static const char *const not_three[] = {"1,2", "1,2,3,4", "1,2,", ",1,2", "1, 2,3", "1,nan,2", "1;2;3"};
  for (size_t k = 0; k < sizeof not_three / sizeof *not_three; k++)
    if (option_numbers("--eye", not_three[k], 3, three, &err) != FIRN_EINPUT)
      fail_msg("%s is taken", not_three[k]);
}

static void suffixes(void **state)
{
  (void)state;
  struct error err = {0};
  static const char *const good[] = {"a.png", "A.PNG", "d.jpg/a.b.png"}, *const bad[] = {"a.jpg",  "png",
                                                                                         ".png",   "d.png/a",
                                                                                         "d/.png", "a.png~"};
  for (size_t k = 0; k < sizeof good / sizeof *good; k++)
    if (option_check_suffix("-o", good[k], ".png", &err)) fail_msg("%s", err.text);
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
    if (!option_check_suffix("-o", bad[k], ".png", &err)) fail_msg("%s is taken", bad[k]);
  assert_non_null(strstr(err.text, "must end in .png"));
}

/* Whatever a folder is called comes back as it was. */
static void folders(void **state)
{
  (void)state;
  static const char *const names[] = {
      "out", "it's", "a b",    "say \"hi\"", "back\\slash", "Schnee/m\xc3\xa4rz", "#1", "a: b", "[x", "null",
      "*",   "'",    "out/{}", "~"};
  static const char scene_text[] = "domain: {cells: [50, 50, 50], spacing: 0.02}\ntime: {end: 1}\n"
                                   "snow:\n  - sphere: {center: [0.5, 0.5, 0.5], radius: 0.2}\n";
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    struct launch_options options = {0};
    struct error err = {0};
    struct scene *scene = NULL;
    assert_int_equal(launch_set_output(&options, names[k], &err), FIRN_OK);
    if (scene_parse(&scene, "s.yml", scene_text, options.overrides, options.override_count, &err))
      fail_msg("%s: %s", names[k], err.text);
    assert_string_equal(scene->output, names[k]);
    assert_string_equal(scene->text, scene_text);
    scene_destroy(&scene);
  }
  struct launch_options options = {0};
  struct error err = {0};
  char longest[3002];
  memset(longest, '"', sizeof longest);
  longest[3000] = '\0';
  assert_int_equal(launch_set_output(&options, longest, &err), FIRN_OK);
  longest[3000] = '"';
  longest[3001] = '\0';
  assert_int_equal(launch_set_output(&options, longest, &err), FIRN_EINPUT);
  assert_int_equal(launch_set_output(&options, "", &err), FIRN_EINPUT);
  assert_int_equal(launch_set_output(&options, "two\nlines", &err), FIRN_EINPUT);
  assert_non_null(strstr(err.text, "--output: the folder's path holds a line break"));
}

static void instruction_sets(void **state)
{
  (void)state;
  struct error err = {0};
  for (int have = 0; have < ISA_COUNT; have++) {
    assert_int_equal(isa_check(ISA_COUNT, (enum isa)have, &err), FIRN_OK);
    for (int wanted = 0; wanted < ISA_COUNT; wanted++)
      assert_int_equal(isa_check((enum isa)wanted, (enum isa)have, &err),
                       wanted <= have ? FIRN_OK : FIRN_EINPUT);
  }
  assert_string_equal(err.text,
                      "--isa avx512: this machine runs avx2 at most; ask for that, or leave --isa out "
                      "for the best");
  enum isa isa;
  assert_int_equal(isa_by_name("avx2", &isa, &err), FIRN_OK);
  assert_int_equal(isa, ISA_AVX2);
  assert_int_equal(isa_by_name("portable", &isa, &err), FIRN_OK);
  assert_int_equal(isa, ISA_BASE);
  assert_int_equal(isa_by_name(kernels_get(ISA_BASE)->name, &isa, &err), FIRN_OK);
  assert_int_equal(isa, ISA_BASE);
  assert_int_equal(isa_by_name("sse", &isa, &err), FIRN_EINPUT);
}

struct values {
  const char *text;
  double number, three[3];
  int64_t count;
  int whole, word;
  bool flag;
};

static int take_twice(void *into, const struct option_row *row, const char *text, struct error *err)
{
  (void)err;
  assert_int_equal(row->at, 7);
  ((struct values *)into)->whole += 2 * (int)strlen(text);
  return FIRN_OK;
}

static const struct option_row rows[] = {
    {"text", "FILE", "a file", 'o', OPTION_TEXT(struct values, text)},
    {"number", "X", "a number", OPTION_POSITIVE(struct values, number)},
    {"three", "X,Y,Z", "a vector", OPTION_NUMBERS(struct values, three, 3)},
    {"count", "N", "a count", OPTION_COUNT(struct values, count, 1, 9)},
    {"whole", "N", "a small count", OPTION_INT(struct values, whole, 0, 9)},
    {"word", "red|green|blue", "a colour", OPTION_WORD(struct values, word)},
    {"flag", NULL, "a switch", OPTION_FLAG(struct values, flag)},
    {"twice", "TEXT", "its own way", .at = 7, OPTION_CALL(take_twice)},
};

static const struct option_table table = {"test", "", rows, sizeof rows / sizeof *rows, NULL};

/* Reads up to ten words, which are separated by blanks. */
static int read_line(const char *line, struct values *out, struct option_words *words, struct error *err)
{
  static char copy[256], *argv[12];
  int argc = 0;
  snprintf(copy, sizeof copy, "test %s", line);
  for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
  argv[argc] = NULL;
  *out = (struct values){.text = NULL};
  return options_read(&table, argc, argv, out, words, err);
}

static void table_of_options(void **state)
{
  (void)state;
  struct values v;
  struct option_words words;
  struct error err = {0};
  assert_int_equal(read_line("a --text f b --number 2.5 --three=1,2,3 --count 9 --flag", &v, &words, &err),
                   0);
  assert_string_equal(v.text, "f");
  assert_true(v.number == 2.5 && v.three[0] == 1.0 && v.three[2] == 3.0 && v.count == 9 && v.flag);
  assert_int_equal(words.count, 2);
  assert_string_equal(words.word[0], "a");
  assert_string_equal(words.word[1], "b");
  assert_int_equal(read_line("-o f --word blue --whole 3 --twice ab -- --flag", &v, &words, &err), 0);
  assert_string_equal(v.text, "f");
  assert_true(v.word == 2 && v.whole == 7 && !v.flag);
  assert_int_equal(words.count, 1);
  assert_string_equal(words.word[0], "--flag");
  assert_int_equal(read_line("--help --nonsense", &v, &words, &err), 0);
  assert_true(words.help);
  static const struct {
    const char *line, *says;
  } bad[] = {
      {"--word re", "test: --word takes red, green or blue, not \"re\""},
      {"--word redder", "test: --word takes red, green or blue, not \"redder\""},
      {"--count 10", "test: --count needs a whole number from 1 to 9, not \"10\""},
      {"--whole -1", "test: --whole needs a whole number from 0 to 9, not \"-1\""},
      {"--number 0", "test: --number needs a number above 0, not \"0\""},
      {"--three 1,2", "test: --three needs 3 numbers such as 1,0.5,2, not \"1,2\""},
      {"a --text", "test: --text needs a value; see firn help test"},
      {"-o", "test: -o needs a value; see firn help test"},
      {"--flog", "test: unknown option \"--flog\"; did you mean --flag?"},
      {"-x", "test: unknown option \"-x\"; see firn help test"},
      {"--flag=1", "test: --flag takes no value; see firn help test"},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    assert_int_equal(read_line(bad[k].line, &v, &words, &err), FIRN_EINPUT);
    assert_string_equal(err.text, bad[k].says);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts),  cmocka_unit_test(numbers),          cmocka_unit_test(suffixes),
      cmocka_unit_test(folders), cmocka_unit_test(instruction_sets), cmocka_unit_test(table_of_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
