/* The scene parser against any bytes: it comes back with a scene or with one line of error, and what it wrote
 * down as the resolved scene reads back as the same scene.
 *
 * A byte 0xff ends the scene; what follows is an override, as --set takes it. */
#include "base/memory.h"
#include "io/scene/scene.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int condition, const char *what, const char *more)
{
  if (condition) return;
  fprintf(stderr, "fuzz_scene: %s: %s\n", what, more);
  abort();
}

static void check_error(const struct error *err)
{
  demand(err->code < 0 && err->text[0] && !strchr(err->text, '\n'), "an error is one line", err->text);
}

static void check_resolved(const struct scene *scene)
{
  struct error err = {0};
  struct scene *again = NULL;
  const int code = scene_parse(&again, "fuzz.yml", scene->resolved, NULL, 0, &err);
  demand(!code, "the resolved scene is refused", err.text);
  if (again->hash != scene->hash) {
    size_t at = 0;
    while (scene->resolved[at] && scene->resolved[at] == again->resolved[at]) at++;
    while (at > 0 && scene->resolved[at - 1] != '\n') at--;
    fprintf(stderr, "%.200s\n--- read back:\n%.200s\n", scene->resolved + at, again->resolved + at);
    demand(0, "the resolved scene is another one", "");
  }
  scene_destroy(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size > 1 << 16 || memchr(data, 0, size)) return 0; /* refused before the parser sees it */
  char *text = mem_alloc(size + 1, 1);
  if (size) memcpy(text, data, size);
  char *override = strchr(text, '\xff');
  if (override) *override++ = '\0';
  const char *overrides[] = {override};
  struct error err = {0};
  struct scene *scene = NULL;
  const int code = scene_parse(&scene, "fuzz.yml", text, overrides, override != NULL, &err);
  if (code)
    check_error(&err);
  else
    check_resolved(scene);
  scene_destroy(&scene);
  mem_free(text);
  demand(mem_balance() == 0, "memory", "is left");
  return 0;
}
