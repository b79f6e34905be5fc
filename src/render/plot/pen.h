/* What a plot is drawn with: lines, boxes and text, into SVG or into an image. Units are SVG's pixels, y
 * down.
 *
 * The SVG is written as text, so that its labels can be searched and edited; Cairo draws the image, and
 * measures text for both. */
#ifndef FIRN_RENDER_PEN_H
#define FIRN_RENDER_PEN_H

#include "base/text.h"
#include "render/image.h"

#include <cairo.h>
#include <stdbool.h>

enum pen_anchor { PEN_START, PEN_MIDDLE, PEN_END };

struct pen {
  bool to_image; /* else to SVG */
  cairo_t *cairo;
  struct text svg; /* so far */
};

/* An SVG of this size; pen_finish_svg() gives its text, for mem_free(). */
void pen_start_svg(struct pen *pen, double width, double height);
char *pen_finish_svg(struct pen *pen);

/* A white image, `scale` pixels a unit; pen_finish_image() gives it to the caller. */
void pen_start_image(struct pen *pen, double width, double height, double scale);
struct image *pen_finish_image(struct pen *pen);

void pen_polyline(struct pen *pen, const double (*points)[2], int count, double width, const uint8_t rgb[3],
                  bool dashed);
void pen_disc(struct pen *pen, double x, double y, double radius, const uint8_t rgb[3]);
void pen_box(struct pen *pen, double x, double y, double width, double height, const uint8_t rgb[3]);

/* A line of text, its baseline at y (up: at x, read from the right); `size` is from line to line. */
void pen_text(struct pen *pen, double x, double y, double size, enum pen_anchor anchor, bool up,
              const uint8_t rgb[3], const char *text);
double pen_text_width(struct pen *pen, double size, const char *text);

#endif
