/* Runs a fuzz target over thousands of mutations of the files it is given, without a fuzzer:
 *   mutate COUNT FIRST_SEED FILE...
 * Each is tried in a process of its own; one that dies of a signal, aborts or computes for a minute is kept
 * as mutation_<seed>.bin and counted. Half of the mutations change what looks like structure: bytes near
 * zeros, as headers and trees have many of, and rows of numbers few. */
#include "base/memory.h"
#include "base/rng.h"
#include "io/file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t seed, drawn;

static size_t draw(size_t below)
{
  return below ? (size_t)(rng_uniform(seed, drawn++, 0) * (double)below) : 0;
}

static size_t place(const uint8_t *bytes, size_t size)
{
  size_t at = draw(size);
  for (int tries = 0; tries < 20 && draw(2); tries++) {
    if (at > 1 && at + 2 < size && (!bytes[at - 1] || !bytes[at + 1]) && bytes[at]) return at;
    at = draw(size);
  }
  return at;
}

/* One to four bytes are another: flipped, counted up, extreme, or those of elsewhere in the file. */
static size_t mutate(uint8_t *bytes, size_t size)
{
  static const uint8_t extremes[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff};
  for (size_t changes = 1 + draw(draw(2) ? 1 : 4); changes > 0; changes--) {
    const size_t at = place(bytes, size);
    switch (draw(5)) {
    case 0: bytes[at] = (uint8_t)(bytes[at] ^ (1u << draw(8))); break;
    case 1: bytes[at] = (uint8_t)(bytes[at] + 1 + draw(16)); break;
    case 2: bytes[at] = (uint8_t)draw(256); break;
    case 3: bytes[at] = extremes[draw(sizeof extremes)]; break;
    default: memcpy(bytes + at, bytes + draw(size - 8), size - at < 8 ? size - at : 8);
    }
  }
  return draw(50) ? size : draw(size) + 1;
}

/* Whether the target survives. */
static bool survives(const uint8_t *bytes, size_t size)
{
  int status = 0;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit minute = {60, 60};
    setrlimit(RLIMIT_CPU, &minute);
    LLVMFuzzerTestOneInput(bytes, size);
    _exit(0);
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void keep(const uint8_t *bytes, size_t size)
{
  char name[64];
  snprintf(name, sizeof name, "mutation_%llu.bin", (unsigned long long)seed);
  FILE *file = fopen(name, "wb");
  if (file) {
    fwrite(bytes, 1, size, file);
    fclose(file);
  }
  printf("seed %llu: the readers die of it; kept as %s\n", (unsigned long long)seed, name);
}

int main(int argc, char **argv)
{
  const int count = argc > 3 ? atoi(argv[1]) : 0, files = argc - 3;
  int bad = 0;
  for (int k = 0; k < count; k++) {
    char *bytes = NULL;
    size_t size = 0;
    struct error err = {0};
    seed = (uint64_t)strtoull(argv[2], NULL, 10) + (uint64_t)k;
    drawn = 0;
    if (file_read(argv[3 + k % files], 1 << 24, &bytes, &size, &err) || size < 16) {
      fprintf(stderr, "%s\n", err.text);
      return EXIT_FAILURE;
    }
    uint8_t *exact = malloc(size);
    memcpy(exact, bytes, size);
    mem_free(bytes);
    if (k < files) LLVMFuzzerTestOneInput(exact, size); /* as it is; starts what all children share */
    const size_t length = mutate(exact, size);
    if (!survives(exact, length)) {
      keep(exact, length);
      bad++;
    }
    free(exact);
  }
  printf("%d of %d mutations ended the readers\n", bad, count);
  return bad || count == 0;
}
