/* What a test leaves out on this machine, and why: never in silence. tests/run.sh ends with a list of these.
 */
#ifndef FIRN_TESTS_SKIP_H
#define FIRN_TESTS_SKIP_H

#include <stdio.h>
#include <stdlib.h>

static inline void skipped(const char *test, const char *what)
{
  const char *list = getenv("FIRN_SKIPPED");
  printf("SKIP: %s\n", what);
  FILE *file = list && *list ? fopen(list, "ae") : NULL;
  if (!file) return;
  fprintf(file, "%s: %s\n", test, what);
  fclose(file);
}

#endif
