#include "render/exr.h"

#include "base/memory.h"
#include "io/file.h"

#include <stdint.h>
#include <string.h>

static const char magic[4] = {0x76, 0x2f, 0x31, 0x01};

/* Bytes in the making; numbers are little-endian, as all machines are that Firn runs on. */
struct bytes {
  char *data;
  size_t size;
};

static void put(struct bytes *b, const void *data, size_t size)
{
  memcpy(b->data + b->size, data, size);
  b->size += size;
}

static void put_int(struct bytes *b, int32_t value)
{
  put(b, &value, sizeof value);
}

static void put_float(struct bytes *b, float value)
{
  put(b, &value, sizeof value);
}

static void put_text(struct bytes *b, const char *text)
{
  put(b, text, strlen(text) + 1);
}

static void put_attribute(struct bytes *b, const char *name, const char *type, size_t size)
{
  put_text(b, name);
  put_text(b, type);
  put_int(b, (int32_t)size);
}

static void put_channels(struct bytes *b, int channels, const char *const *names)
{
  size_t size = 1;
  for (int c = 0; c < channels; c++) size += strlen(names[c]) + 1 + 16;
  put_attribute(b, "channels", "chlist", size);
  for (int c = 0; c < channels; c++) {
    put_text(b, names[c]);
    put_int(b, 2); /* float */
    put_int(b, 0); /* not for a perceptual scale */
    put_int(b, 1);
    put_int(b, 1); /* a sample in each pixel */
  }
  put(b, "", 1);
}

static void put_window(struct bytes *b, const char *name, int width, int height)
{
  put_attribute(b, name, "box2i", 16);
  put_int(b, 0);
  put_int(b, 0);
  put_int(b, width - 1);
  put_int(b, height - 1);
}

static void put_header(struct bytes *b, int width, int height, int channels, const char *const *names)
{
  put(b, magic, sizeof magic);
  put_int(b, 2); /* version, lines */
  put_channels(b, channels, names);
  put_attribute(b, "compression", "compression", 1);
  put(b, "", 1); /* none */
  put_window(b, "dataWindow", width, height);
  put_window(b, "displayWindow", width, height);
  put_attribute(b, "lineOrder", "lineOrder", 1);
  put(b, "", 1); /* from the top */
  put_attribute(b, "pixelAspectRatio", "float", 4);
  put_float(b, 1.0f);
  put_attribute(b, "screenWindowCenter", "v2f", 8);
  put_float(b, 0.0f);
  put_float(b, 0.0f);
  put_attribute(b, "screenWindowWidth", "float", 4);
  put_float(b, 1.0f);
  put(b, "", 1);
}

int exr_write(const char *path, int width, int height, int channels, const char *const *names,
              const float *values, struct error *err)
{
  const size_t row = (size_t)width * (size_t)channels * sizeof(float);
  struct bytes b = {.data = mem_alloc(4096 + (size_t)height * (row + 16), 1)};
  put_header(&b, width, height, channels, names);
  uint64_t offset = b.size + 8 * (size_t)height;
  for (int y = 0; y < height; y++, offset += 8 + row) put(&b, &offset, sizeof offset);
  for (int y = 0; y < height; y++) {
    put_int(&b, y);
    put_int(&b, (int32_t)row);
    for (int c = 0; c < channels; c++)
      for (int x = 0; x < width; x++)
        put_float(&b, values[((size_t)y * (size_t)width + (size_t)x) * (size_t)channels + (size_t)c]);
  }
  const int code = file_write(path, 0, b.data, b.size, err);
  mem_free(b.data);
  return code;
}

bool exr_is_one(const char *path)
{
  return file_begins_with(path, magic, sizeof magic);
}
