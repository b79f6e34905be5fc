/* OpenEXR files, as compositing programs read them: float channels, one line of pixels after the other, not
 * compressed. That part of the format is small enough to need no library. */
#ifndef FIRN_RENDER_EXR_H
#define FIRN_RENDER_EXR_H

#include "base/error.h"

#include <stdbool.h>

/* Writes `channels` floats a pixel, rows from the top, under these names (in alphabetic order, as the format
 * asks for). */
int exr_write(const char *path, int width, int height, int channels, const char *const *names,
              const float *values, struct error *err);

/* Whether the file begins like one; false if it cannot be read. */
bool exr_is_one(const char *path);

#endif
