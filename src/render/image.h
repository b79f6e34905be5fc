/* Pictures in memory, and on disk as PNG.
 *
 * Eight bits a channel, sRGB, rows from the top, with or without a plane of opacity. The few drawing calls
 * are what sheets and labels need. */
#ifndef FIRN_RENDER_IMAGE_H
#define FIRN_RENDER_IMAGE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct image {
  int width, height; /* pixels */
  uint8_t *rgb;      /* 3 bytes per pixel */
  uint8_t *alpha;    /* 1 byte per pixel; NULL: opaque */
};

struct image *image_create(int width, int height); /* black */
void image_destroy(struct image **image);

/* Gives it a plane of opacity, all zero, unless it has one. */
void image_add_alpha(struct image *image);

void image_fill(struct image *image, const uint8_t rgb[3]);

/* Fills a rectangle; what lies outside is cut off. */
void image_box(struct image *image, int x, int y, int width, int height, const uint8_t rgb[3]);

/* Copies `panel` so that its upper left corner comes to (x, y); what lies outside is cut off. */
void image_paste(struct image *image, const struct image *panel, int x, int y);

/* Writes text in a built-in 5x7 bitmap font with its upper left corner at (x, y), each font pixel scale x
 * scale: for machines without fonts (letters.h). Digits, letters (drawn as small ones) and . , - + = / : are
 * known, anything else is a gap. */
void image_letters(struct image *image, int x, int y, int scale, const uint8_t rgb[3], const char *text);
int image_text_width(int scale, const char *text); /* pixels */

/* The bytes of a PNG file, for mem_free(). */
int image_encode_png(const struct image *image, uint8_t **bytes, size_t *size, struct error *err);

/* Appears under its name only when complete; replaces nothing but a PNG picture. */
int image_write_png(const struct image *image, const char *path, struct error *err);

/* An error if something else is at the path. */
int image_check_path(const char *path, struct error *err);

#endif
