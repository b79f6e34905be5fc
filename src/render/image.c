/* The image type and its PNG writer.
 *
 * libpng reports errors by longjmp. The jump stays inside encode(), which keeps nothing on its stack that
 * could be lost; all that is acquired lives in the caller's struct. The PNG is encoded into memory first, so
 * that the file is written by the one routine that makes all of Firn's files durable. */
#include "render/image.h"

#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"

#include <png.h>
#include <string.h>

struct image *image_create(int width, int height)
{
  FIRN_ASSERT(width > 0 && height > 0);
  struct image *image = mem_alloc(1, sizeof *image);
  image->width = width;
  image->height = height;
  image->rgb = mem_alloc((size_t)width * (size_t)height, 3);
  return image;
}

void image_destroy(struct image **image)
{
  if (*image == NULL) return;
  mem_free((*image)->rgb);
  mem_free((*image)->alpha);
  mem_free(*image);
  *image = NULL;
}

void image_add_alpha(struct image *image)
{
  if (!image->alpha) image->alpha = mem_alloc((size_t)image->width * (size_t)image->height, 1);
}

static uint8_t *pixel(const struct image *image, int x, int y)
{
  return image->rgb + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
}

void image_fill(struct image *image, const uint8_t rgb[3])
{
  image_box(image, 0, 0, image->width, image->height, rgb);
}

void image_box(struct image *image, int x, int y, int width, int height, const uint8_t rgb[3])
{
  for (int row = y < 0 ? 0 : y; row < y + height && row < image->height; row++)
    for (int column = x < 0 ? 0 : x; column < x + width && column < image->width; column++) {
      memcpy(pixel(image, column, row), rgb, 3);
      if (image->alpha) image->alpha[(size_t)row * (size_t)image->width + (size_t)column] = 255;
    }
}

void image_paste(struct image *image, const struct image *panel, int x, int y)
{
  const int skip = x < 0 ? -x : 0;
  const int end = panel->width < image->width - x ? panel->width : image->width - x;
  if (end <= skip) return;
  for (int row = 0; row < panel->height; row++) {
    if (y + row < 0 || y + row >= image->height) continue;
    memcpy(pixel(image, x + skip, y + row), pixel(panel, skip, row), 3 * (size_t)(end - skip));
    if (!image->alpha) continue;
    uint8_t *to = image->alpha + (size_t)(y + row) * (size_t)image->width + (size_t)(x + skip);
    if (panel->alpha)
      memcpy(to, panel->alpha + (size_t)row * (size_t)panel->width + (size_t)skip, (size_t)(end - skip));
    else
      memset(to, 255, (size_t)(end - skip));
  }
}

struct buffer {
  uint8_t *bytes;
  size_t used, capacity;
};

static void append(png_structp png, png_bytep bytes, png_size_t count)
{
  struct buffer *buffer = png_get_io_ptr(png);
  if (buffer->used + count > buffer->capacity) {
    const size_t wanted = 2 * (buffer->used + count);
    buffer->bytes = mem_resize(buffer->bytes, buffer->capacity, wanted, 1);
    buffer->capacity = wanted;
  }
  memcpy(buffer->bytes + buffer->used, bytes, count);
  buffer->used += count;
}

static void nothing_to_flush(png_structp png)
{
  (void)png;
}

static _Noreturn void encoder_failed(png_structp png, png_const_charp message)
{
  struct error *err = png_get_error_ptr(png);
  error_set(err, FIRN_EIO, "PNG encoder: %s", message);
  png_longjmp(png, 1);
}

static void encoder_warned(png_structp png, png_const_charp message)
{
  (void)png;
  (void)message;
}

/* A row as the file wants it: `row` has room for 4 bytes per pixel. */
static const uint8_t *row_of(const struct image *image, int y, uint8_t *row)
{
  if (!image->alpha) return pixel(image, 0, y);
  for (int x = 0; x < image->width; x++) {
    memcpy(row + 4 * x, pixel(image, x, y), 3);
    row[4 * x + 3] = image->alpha[(size_t)y * (size_t)image->width + (size_t)x];
  }
  return row;
}

static int encode(const struct image *image, png_structp png, png_infop info, struct buffer *buffer,
                  uint8_t *row)
{
  if (setjmp(png_jmpbuf(png))) return FIRN_EIO;
  png_set_write_fn(png, buffer, append, nothing_to_flush);
  png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
  png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8,
               image->alpha ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
  /* One fixed filter and a low level: a third of the default's time for some per cent more bytes. */
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
  png_set_compression_level(png, 3);
  png_write_info(png, info);
  for (int y = 0; y < image->height; y++) png_write_row(png, row_of(image, y, row));
  png_write_end(png, info);
  return FIRN_OK;
}

int image_encode_png(const struct image *image, uint8_t **bytes, size_t *size, struct error *err)
{
  struct error why = {FIRN_EIO, "PNG encoder: cannot start"};
  struct buffer buffer = {NULL, 0, 1 << 16};
  buffer.bytes = mem_alloc(buffer.capacity, 1);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &why, encoder_failed, encoder_warned);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  uint8_t *row = mem_alloc((size_t)image->width, 4);
  const int status = info ? encode(image, png, info, &buffer, row) : FIRN_EIO;
  if (png) png_destroy_write_struct(&png, &info);
  mem_free(row);
  if (status != FIRN_OK) {
    mem_free(buffer.bytes);
    return error_set(err, status, "%s", why.text);
  }
  *bytes = buffer.bytes;
  *size = buffer.used;
  return FIRN_OK;
}

int image_check_path(const char *path, struct error *err)
{
  static const char signature[] = "\211PNG\r\n\032\n";
  return file_check_replaceable(path, file_begins_with(path, signature, sizeof signature - 1),
                                "a PNG picture", err);
}

int image_write_png(const struct image *image, const char *path, struct error *err)
{
  uint8_t *bytes = NULL;
  size_t size = 0;
  int code = image_check_path(path, err);
  if (code) return code;
  code = image_encode_png(image, &bytes, &size, err);
  if (code)
    error_prefix(err, "%s", path);
  else
    code = file_write(path, 0, bytes, size, err);
  mem_free(bytes);
  return code;
}
