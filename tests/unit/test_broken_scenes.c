/* Broken scenes: every file in tests/data/broken has one mistake and says on its first line what the message
 * must contain. Noise and truncated scenes are made here. All in one process: no crash, no leak, one line
 * each. */
#include "base/memory.h"
#include "base/rng.h"
#include "io/scene/scene.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Zero or the code of the failure; checks what any failure must keep. */
static int parse(const char *path, const char *text, struct error *err)
{
  struct scene *scene = NULL;
  memset(err, 0, sizeof *err);
  const int code = scene_parse(&scene, path, text, NULL, 0, err);
  if (!code) {
    assert_non_null(scene);
    scene_destroy(&scene);
    return 0;
  }
  assert_null(scene);
  assert_int_equal(code, err->code);
  assert_null(strpbrk(err->text, "\n\r"));
  assert_non_null(strstr(err->text, path));
  assert_true(strlen(err->text) > strlen(path) + 8);
  return code;
}

static void check_file(const char *path)
{
  struct error err;
  char *text, expect[256];
  assert_int_equal(scene_file_text(&text, path, &err), 0);
  assert_int_equal(sscanf(text, "# expect: %255[^\n]", expect), 1);
  const int code = parse(path, text, &err);
  if (code != FIRN_EINPUT || !strstr(err.text, expect))
    fail_msg("%s\n  expected: %s\n  got (%d): %s", path, expect, code, err.text);
  mem_free(text);
}

static void corpus(void **state)
{
  (void)state;
  glob_t files;
  assert_int_equal(glob(TEST_DATA "/broken/*.yml", 0, NULL, &files), 0);
  assert_true(files.gl_pathc >= 100);
  const long before = mem_balance();
  for (size_t k = 0; k < files.gl_pathc; k++) {
    check_file(files.gl_pathv[k]);
    if (mem_balance() != before) fail_msg("%s leaks %ld blocks", files.gl_pathv[k], mem_balance() - before);
  }
  globfree(&files);
}

enum { NOISE = 10 << 20 };

static void noise(void **state)
{
  (void)state;
  static const char *const alphabets[] = {NULL,   "abc",      "a: \n",   "[]{},:- \n",
                                          "- \n", "&a*b: \n", "'\"\\\n", "0123456789"};
  char *text = mem_alloc(NOISE + 1, 1);
  for (size_t kind = 0; kind < sizeof alphabets / sizeof *alphabets; kind++) {
    for (uint64_t i = 0; i < NOISE; i++) {
      const uint64_t bits = rng_bits(kind, i, 0);
      text[i] = alphabets[kind] ? alphabets[kind][bits % strlen(alphabets[kind])] : (char)(bits % 255 + 1);
    }
    struct error err;
    assert_int_equal(parse("noise.yml", text, &err), FIRN_EINPUT);
  }
  mem_free(text);
  assert_int_equal(mem_balance(), 0);
}

static void noise_in_a_file(void **state)
{
  (void)state;
  char path[] = "/tmp/firn_noise_XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  FILE *file = fdopen(fd, "wb");
  for (uint64_t i = 0; i < NOISE / 8; i++) {
    const uint64_t bits = rng_bits(1, i, 0);
    assert_int_equal(fwrite(&bits, 8, 1, file), 1);
  }
  assert_int_equal(fclose(file), 0);
  struct error err;
  char *text = NULL;
  assert_int_equal(scene_file_text(&text, path, &err), FIRN_EINPUT);
  assert_non_null(strstr(err.text, "NUL byte"));
  assert_null(text);
  assert_int_equal(truncate(path, 0), 0);
  assert_int_equal(truncate(path, (off_t)17 << 20), 0);
  assert_int_equal(scene_file_text(&text, path, &err), FIRN_EINPUT);
  assert_non_null(strstr(err.text, "16 MiB"));
  file = fopen(path, "wb");
  assert_int_equal(fwrite("\xff\xfe"
                          "a\0:\0",
                          1, 6, file),
                   6);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(scene_file_text(&text, path, &err), FIRN_EINPUT);
  assert_non_null(strstr(err.text, "UTF-16; save it as UTF-8"));
  unlink(path);
  assert_int_equal(scene_file_text(&text, path, &err), FIRN_EIO);
  assert_non_null(strstr(err.text, "No such file"));
  assert_int_equal(scene_file_text(&text, "/tmp", &err), FIRN_EINPUT);
  assert_non_null(strstr(err.text, "not a file"));
  assert_int_equal(mem_balance(), 0);
}

/* A good scene cut off, or with one byte changed, may still be a scene; it may never crash or leak. */
static void truncated_and_flipped(void **state)
{
  (void)state;
  struct error err;
  char *text;
  assert_int_equal(scene_file_text(&text, TEST_SCENES "/snowball_drop.yml", &err), 0);
  const size_t length = strlen(text);
  assert_int_equal(parse("whole.yml", text, &err), 0);
  int failed = 0;
  for (size_t cut = 0; cut < length; cut += 50) {
    char *prefix = mem_alloc(cut + 1, 1);
    memcpy(prefix, text, cut);
    failed += parse("cut.yml", prefix, &err) != 0;
    mem_free(prefix);
  }
  assert_true(failed > 10);
  for (uint64_t k = 0; k < 20000; k++) {
    const size_t at = (size_t)(rng_bits(2, k, 0) % length);
    const char kept = text[at];
    text[at] = (char)(rng_bits(2, k, 1) % 255 + 1);
    parse("flipped.yml", text, &err);
    text[at] = kept;
  }
  mem_free(text);
  assert_int_equal(mem_balance(), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(corpus),
      cmocka_unit_test(noise),
      cmocka_unit_test(noise_in_a_file),
      cmocka_unit_test(truncated_and_flipped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
