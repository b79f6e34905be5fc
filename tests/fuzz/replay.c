/* Runs a fuzz target over the files and folders it is given, without a fuzzer: what was once found stays
 * found. */
#include "io/file.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
  char *bytes = NULL;
  size_t size = 0;
  struct error err = {0};
  if (file_read(path, 1 << 28, &bytes, &size, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 1;
  }
  /* A block of exactly this size, so that a sanitizer sees a step over its end; and none of ours, since the
   * target demands that nothing of ours is left. */
  uint8_t *exact = malloc(size ? size : 1);
  if (size) memcpy(exact, bytes, size);
  mem_free(bytes);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  return 0;
}

int main(int argc, char **argv)
{
  int bad = 0, count = 0;
  for (int k = 1; k < argc; k++) {
    struct file_list *list = NULL;
    if (!file_is_folder(argv[k])) {
      bad += replay(argv[k]);
      count++;
    } else if (file_list_create(&list, argv[k], "", "", NULL) == FIRN_OK) {
      char *paths[4096];
      int n = 0;
      for (; n < list->count && n < 4096; n++) {
        const char *name = list->names[n];
        paths[n] = malloc(strlen(argv[k]) + strlen(name) + 2);
        sprintf(paths[n], "%s/%s", argv[k], name);
      }
      file_list_destroy(&list);
      for (int i = 0; i < n; i++) {
        if (!strstr(paths[i], "/.")) {
          bad += replay(paths[i]);
          count++;
        }
        free(paths[i]);
      }
    }
  }
  printf("%d inputs replayed\n", count);
  return bad || count == 0;
}
