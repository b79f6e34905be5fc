/* GeoTIFF, as little of it as a raster needs: TIFF 6 in one strip, and the tags that say where it lies. */
#include "base/memory.h"
#include "io/file.h"
#include "io/geo/grid_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHORT = 3, LONG = 4, DOUBLE = 12, ASCII = 2, ENTRIES = 14, ENTRY = 12 };

struct tiff {
  unsigned char *bytes;
  size_t used;
  int entries;
};

static void put(struct tiff *t, size_t at, uint64_t value, int size)
{
  for (int k = 0; k < size; k++) t->bytes[at + (size_t)k] = (unsigned char)(value >> 8 * k);
}

/* Bytes behind the directory; returns where they are. */
static size_t append(struct tiff *t, const void *bytes, size_t size)
{
  const size_t at = t->used;
  memcpy(t->bytes + at, bytes, size);
  t->used += size + size % 2;
  return at;
}

static void entry(struct tiff *t, int tag, int type, uint64_t count, uint64_t value)
{
  const size_t at = 10 + (size_t)ENTRY * (size_t)t->entries++;
  put(t, at, (uint64_t)tag, 2);
  put(t, at + 2, (uint64_t)type, 2);
  put(t, at + 4, count, 4);
  put(t, at + 8, value, 4);
}

int grid_file_write_tiff(const char *path, const struct raster *r, struct error *err)
{
  enum { HEAD = 1024 };
  const size_t size = (size_t)(r->columns * r->rows) * sizeof(float);
  /* Projected, units of metres, the cell is an area; which projection is the user's to say. */
  static const uint16_t keys[] = {1, 1, 0, 2, 1024, 0, 1, 1, 1025, 0, 1, 1};
  const double scale[3] = {r->cell, r->cell, 0.0},
               tie[6] = {0.0, 0.0, 0.0, r->west - 0.5 * r->cell, r->north + 0.5 * r->cell, 0.0};
  char none[32];
  snprintf(none, sizeof none, "%g", GRID_FILE_NO_DATA);
  if (size > 0xfff00000u)
    return error_set(err, FIRN_ELIMIT, "%s: %lld x %lld cells are more than a TIFF file holds", path,
                     (long long)r->columns, (long long)r->rows);
  struct tiff t = {.bytes = mem_alloc(size + HEAD, 1), .used = 10 + ENTRY * ENTRIES + 4};
  memcpy(t.bytes, "II*\0", 4);
  put(&t, 4, 8, 4);
  put(&t, 8, ENTRIES, 2);
  const size_t scale_at = append(&t, scale, sizeof scale), tie_at = append(&t, tie, sizeof tie),
               keys_at = append(&t, keys, sizeof keys), none_at = append(&t, none, strlen(none) + 1);
  const size_t data_at = t.used;
  for (int64_t k = 0; k < r->columns * r->rows; k++) {
    const float value = isnan(r->value[k]) ? (float)GRID_FILE_NO_DATA : r->value[k];
    memcpy(t.bytes + data_at + (size_t)k * sizeof value, &value, sizeof value);
  }
  entry(&t, 256, LONG, 1, (uint64_t)r->columns);
  entry(&t, 257, LONG, 1, (uint64_t)r->rows);
  entry(&t, 258, SHORT, 1, 32);
  entry(&t, 259, SHORT, 1, 1);
  entry(&t, 262, SHORT, 1, 1);
  entry(&t, 273, LONG, 1, data_at);
  entry(&t, 277, SHORT, 1, 1);
  entry(&t, 278, LONG, 1, (uint64_t)r->rows);
  entry(&t, 279, LONG, 1, size);
  entry(&t, 339, SHORT, 1, 3); /* floats */
  entry(&t, 33550, DOUBLE, 3, scale_at);
  entry(&t, 33922, DOUBLE, 6, tie_at);
  entry(&t, 34735, SHORT, sizeof keys / sizeof *keys, keys_at);
  entry(&t, 42113, ASCII, strlen(none) + 1, none_at);
  const int code = file_write(path, 0, t.bytes, data_at + size, err);
  mem_free(t.bytes);
  return code;
}
