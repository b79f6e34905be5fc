/* Spoils a file, for tests of what its readers make of it:
 *   spoil damage SEED FILE      some damage that follows from the seed; prints what was done
 *   spoil version NUMBER FILE   a sound checkpoint of another format version
 *   spoil seal NUMBER FILE      a whole seal of another version
 * Damage is what disks, networks and people do: flipped bits, bytes of something else, blocks of zeros, pages
 * in each other's place, a file cut short, junk at the end, a piece lost from the middle. */
#include "base/memory.h"
#include "base/rng.h"
#include "io/file.h"
#include "io/run/seal.h"

#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { PAGE = 4096 };

static uint64_t seed, drawn;

static size_t draw(size_t below)
{
  return below ? (size_t)(rng_uniform(seed, drawn++, 0) * (double)below) : 0;
}

static int complain(const char *text, const char *path)
{
  fprintf(stderr, "spoil: %s %s\n", text, path);
  return EXIT_FAILURE;
}

static int replace(const char *path, const char *bytes, size_t size)
{
  FILE *file = fopen(path, "wb");
  const int good = file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0;
  return good ? EXIT_SUCCESS : complain("cannot write", path);
}

/* Half of all places are near the front, where seal, structure and texts are. */
static size_t place(size_t size)
{
  return draw(draw(2) || size < 16384 ? size : 16384);
}

/* A block of up to `most` bytes, often of whole pages as a disk would lose them. */
static void block(size_t size, size_t most, size_t *at, size_t *length)
{
  *at = place(size);
  *length = 1 + draw(most);
  if (draw(2)) {
    *at -= *at % PAGE;
    *length = (*length + PAGE - 1) / PAGE * PAGE;
  }
  if (*length > size - *at) *length = size - *at;
}

static void flip_bits(char *bytes, size_t size)
{
  const size_t count = 1 + draw(draw(2) ? 1 : 40);
  for (size_t k = 0; k < count; k++) {
    const size_t at = place(size);
    bytes[at] = (char)(bytes[at] ^ (1 << draw(8)));
    printf("bit flipped at %zu\n", at);
  }
}

static void overwrite(char *bytes, size_t size, bool zeros)
{
  size_t at, length;
  block(size, draw(2) ? 16 : 20000, &at, &length);
  for (size_t k = 0; k < length; k++) bytes[at + k] = zeros ? 0 : (char)draw(256);
  printf("%zu bytes of %s at %zu\n", length, zeros ? "zeros" : "junk", at);
}

static void swap_pages(char *bytes, size_t size)
{
  const size_t pages = size / PAGE, first = draw(pages), second = draw(pages);
  char page[PAGE];
  if (pages < 2) return;
  memcpy(page, bytes + first * PAGE, PAGE);
  memcpy(bytes + first * PAGE, bytes + second * PAGE, PAGE);
  memcpy(bytes + second * PAGE, page, PAGE);
  printf("pages %zu and %zu swapped\n", first, second);
}

/* What is behind moves up. Returns how much was lost. */
static size_t lose_piece(char *bytes, size_t size)
{
  size_t at, length;
  block(size, 9000, &at, &length);
  memmove(bytes + at, bytes + at + length, size - at - length);
  printf("%zu bytes lost at %zu\n", length, at);
  return length;
}

static size_t append(char *bytes, size_t size)
{
  const size_t length = 1 + draw(5000);
  for (size_t k = 0; k < length; k++) bytes[size + k] = draw(2) ? 0 : (char)draw(256);
  printf("%zu bytes appended\n", length);
  return length;
}

static int damage(const char *path)
{
  char *bytes = NULL;
  size_t size = 0;
  if (file_read(path, (size_t)1 << 30, &bytes, &size, NULL) != FIRN_OK || size == 0)
    return complain("cannot read", path);
  bytes = mem_resize(bytes, size + 1, size + 8192, 1);
  char *before = mem_alloc(size, 1);
  memcpy(before, bytes, size);
  size_t after = size;
  do { /* until something is different: zeros over zeros are no damage */
    switch (draw(7)) {
    case 0: flip_bits(bytes, after); break;
    case 1: overwrite(bytes, after, true); break;
    case 2: overwrite(bytes, after, false); break;
    case 3: swap_pages(bytes, after); break;
    case 4: after -= lose_piece(bytes, after); break;
    case 5:
      after = place(after);
      printf("cut to %zu bytes\n", after);
      break;
    default: after += append(bytes, after);
    }
  } while (after == size && memcmp(bytes, before, size) == 0);
  const int code = replace(path, bytes, after);
  mem_free(before);
  mem_free(bytes);
  return code;
}

/* Takes the tables of the file's own seal over into a new one. */
static int set_version(const char *path, int64_t version)
{
  struct seal seal;
  struct error err = {0};
  if (seal_check(&seal, path, &err) != FIRN_OK) return complain(err.text, path);
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
  const bool written = attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT64, &version) >= 0;
  H5Aclose(attribute);
  H5Fclose(file);
  return written && seal_write(&seal, path, &err) == FIRN_OK ? EXIT_SUCCESS : complain("cannot seal", path);
}

static int set_seal_version(const char *path, int version)
{
  char *bytes = NULL, head[64], *last;
  size_t size = 0;
  if (file_read(path, (size_t)1 << 30, &bytes, &size, NULL) != FIRN_OK || size < SEAL_BYTES ||
      !(last = strstr(bytes, "\nseal ")))
    return complain("has no seal:", path);
  snprintf(head, sizeof head, "firn sealed file %d", version);
  memcpy(bytes, head, strlen(head));
  last++;
  snprintf(head, sizeof head, "seal %016" PRIx64, (uint64_t)XXH3_64bits(bytes, (size_t)(last - bytes)));
  memcpy(last, head, strlen(head));
  const int code = replace(path, bytes, size);
  mem_free(bytes);
  return code;
}

int main(int argc, char **argv)
{
  if (argc != 4) return complain("give damage, version or seal, a number, and", "a file");
  const char *path = argv[3];
  seed = strtoull(argv[2], NULL, 10);
  if (strcmp(argv[1], "damage") == 0) return damage(path);
  if (strcmp(argv[1], "version") == 0) return set_version(path, (int64_t)seed);
  if (strcmp(argv[1], "seal") == 0) return set_seal_version(path, (int)seed);
  return complain("knows no such spoiling of", path);
}
