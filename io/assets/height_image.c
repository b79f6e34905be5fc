/* See height_image.h. libpng reports errors by a long jump: what must survive it lives in a struct. */
#include "io/assets/height_image.h"

#include "base/memory.h"
#include "io/file.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PIXELS = 8192, LONGEST = 1 << 29 };

struct decoder {
  const char *path;
  char *bytes;
  size_t size, used;
  png_structp png;
  png_infop info;
  unsigned char *row;
  float *out;
  int64_t width, height;
  char reason[128];
};

static void take_bytes(png_structp png, png_bytep to, png_size_t count)
{
  struct decoder *d = png_get_io_ptr(png);
  if (d->size - d->used < count) png_error(png, "the file is cut short");
  memcpy(to, d->bytes + d->used, count);
  d->used += count;
}

static void keep_reason(png_structp png, png_const_charp text)
{
  struct decoder *d = png_get_error_ptr(png);
  snprintf(d->reason, sizeof d->reason, "%s", text);
  longjmp(png_jmpbuf(png), 1);
}

static void ignore_warning(png_structp png, png_const_charp text)
{
  (void)png;
  (void)text;
}

/* Reads the header and asks for plain gray rows of 8 or 16 bits. */
static int prepare(struct decoder *d, int *depth)
{
  png_read_info(d->png, d->info);
  d->width = (int64_t)png_get_image_width(d->png, d->info);
  d->height = (int64_t)png_get_image_height(d->png, d->info);
  const int color = png_get_color_type(d->png, d->info);
  if (color != PNG_COLOR_TYPE_GRAY && color != PNG_COLOR_TYPE_GRAY_ALPHA) {
    snprintf(d->reason, sizeof d->reason, "the image is in colour; expected a grayscale PNG");
    return -1;
  }
  if (d->width < 2 || d->height < 2 || d->width > MOST_PIXELS || d->height > MOST_PIXELS) {
    snprintf(d->reason, sizeof d->reason, "%lld x %lld pixels; expected 2 to %d per side",
             (long long)d->width, (long long)d->height, MOST_PIXELS);
    return -1;
  }
  if (png_get_bit_depth(d->png, d->info) < 8) png_set_expand_gray_1_2_4_to_8(d->png);
  png_set_strip_alpha(d->png);
  if (png_set_interlace_handling(d->png) != 1) {
    snprintf(d->reason, sizeof d->reason, "the image is interlaced; save it without");
    return -1;
  }
  png_read_update_info(d->png, d->info);
  *depth = png_get_bit_depth(d->png, d->info);
  return 0;
}

static int decode(struct decoder *d)
{
  int depth;
  if (setjmp(png_jmpbuf(d->png))) return -1;
  png_set_read_fn(d->png, d, take_bytes);
  if (prepare(d, &depth)) return -1;
  d->row = mem_alloc(png_get_rowbytes(d->png, d->info), 1);
  d->out = mem_alloc((size_t)(d->width * d->height), sizeof *d->out);
  for (int64_t y = 0; y < d->height; y++) {
    png_read_row(d->png, d->row, NULL);
    for (int64_t x = 0; x < d->width; x++)
      d->out[y * d->width + x] = depth == 16 ? (float)(d->row[2 * x] << 8 | d->row[2 * x + 1]) / 65535.0f
                                             : (float)d->row[x] / 255.0f;
  }
  return 0;
}

int height_image_read(const char *path, float **out, int64_t *width, int64_t *height, struct error *err)
{
  struct decoder d = {.path = path, .reason = "out of memory"};
  int code = file_read(path, LONGEST, &d.bytes, &d.size, err);
  *out = NULL;
  if (code) return code;
  if (d.size < 8 || png_sig_cmp((png_const_bytep)d.bytes, 0, 8)) {
    mem_free(d.bytes);
    return error_set(err, FIRN_EINPUT, "%s: not a PNG image", path);
  }
  d.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, keep_reason, ignore_warning);
  d.info = d.png ? png_create_info_struct(d.png) : NULL;
  const int failed = !d.info || decode(&d);
  png_destroy_read_struct(&d.png, &d.info, NULL);
  mem_free(d.row);
  mem_free(d.bytes);
  if (failed) {
    mem_free(d.out);
    return error_set(err, FIRN_EINPUT, "%s: %s", path, d.reason);
  }
  *out = d.out;
  *width = d.width;
  *height = d.height;
  return FIRN_OK;
}
