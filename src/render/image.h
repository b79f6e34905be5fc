/* Pictures in memory, and on disk as PNG.
 *
 * Eight bits a channel, sRGB, rows from the top. The few drawing calls are what a contact sheet needs: panels
 * side by side, and a label in a built-in 5x7 bitmap font, so that no font library or file is needed on a
 * compute node. */
#ifndef FIRN_RENDER_IMAGE_H
#define FIRN_RENDER_IMAGE_H

#include "base/error.h"

#include <stdint.h>

struct image {
  int width, height; /* pixels */
  uint8_t *rgb;      /* 3 bytes a pixel */
};

struct image *image_create(int width, int height); /* black */
void image_destroy(struct image **image);

void image_fill(struct image *image, const uint8_t rgb[3]);

/* Copies `panel` so that its upper left corner comes to (x, y); what lies outside is cut off. */
void image_paste(struct image *image, const struct image *panel, int x, int y);

/* Writes text with its upper left corner at (x, y), each font pixel scale x scale, white with a dark outline.
 * Digits, letters (drawn as small ones) and . , - + = / : are known, anything else is a gap. */
void image_text(struct image *image, int x, int y, int scale, const char *text);
int image_text_width(int scale, const char *text); /* pixels */

/* Appears under its name only when complete. */
int image_write_png(const struct image *image, const char *path, struct error *err);

#endif
