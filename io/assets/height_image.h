/* Heights from a grayscale PNG: black is 0, white is 1. */
#ifndef FIRN_IO_HEIGHT_IMAGE_H
#define FIRN_IO_HEIGHT_IMAGE_H

#include "base/error.h"

#include <stdint.h>

/* Samples from the top row down, to be freed with mem_free(). 8 or 16 bits, 2 to 8192 pixels per side;
 * anything in colour is refused, because it is unknown which of its channels is the height. */
int height_image_read(const char *path, float **out, int64_t *width, int64_t *height, struct error *err);

#endif
