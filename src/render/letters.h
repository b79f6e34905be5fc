/* Text in pictures: DejaVu Sans through FreeType, smooth and in any size; where no such font is installed,
 * the built-in letters of image.h. */
#ifndef FIRN_RENDER_LETTERS_H
#define FIRN_RENDER_LETTERS_H

#include "render/image.h"

struct letters;

/* Never NULL. */
struct letters *letters_open(void);
void letters_close(struct letters **letters);

/* Width in pixels of a line of UTF-8 text, `size` pixels high from one line to the next. */
double letters_width(struct letters *letters, double size, const char *text);

/* Writes a line whose baseline begins at (x, y). */
void letters_draw(struct letters *letters, struct image *image, double x, double y, double size,
                  const uint8_t rgb[3], const char *text);

#endif
