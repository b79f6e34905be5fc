#include "render/plot/pen.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

static const double dashes[2] = {6.0, 4.0}, line_height = 1.17; /* of DejaVu Sans, in its sizes */

static void start(struct pen *pen, int width, int height, double scale)
{
  cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
  memset(pen, 0, sizeof *pen);
  pen->cairo = cairo_create(surface);
  cairo_surface_destroy(surface); /* the context holds it */
  cairo_scale(pen->cairo, scale, scale);
  cairo_set_line_join(pen->cairo, CAIRO_LINE_JOIN_ROUND);
  cairo_select_font_face(pen->cairo, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
}

static void finish(struct pen *pen)
{
  cairo_destroy(pen->cairo);
  pen->cairo = NULL;
}

void pen_start_svg(struct pen *pen, double width, double height)
{
  start(pen, 1, 1, 1.0);
  text_put(&pen->svg,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\" "
           "font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\">\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
           width, height, width, height);
}

char *pen_finish_svg(struct pen *pen)
{
  text_put(&pen->svg, "</svg>\n");
  finish(pen);
  return pen->svg.bytes;
}

void pen_start_image(struct pen *pen, double width, double height, double scale)
{
  start(pen, (int)ceil(width * scale), (int)ceil(height * scale), scale);
  pen->to_image = true;
  cairo_set_source_rgb(pen->cairo, 1.0, 1.0, 1.0);
  cairo_paint(pen->cairo);
}

struct image *pen_finish_image(struct pen *pen)
{
  cairo_surface_t *surface = cairo_get_target(pen->cairo);
  cairo_surface_flush(surface);
  struct image *image =
      image_create(cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface));
  const unsigned char *rows = cairo_image_surface_get_data(surface);
  for (int y = 0; y < image->height; y++)
    for (int x = 0; x < image->width; x++) {
      uint32_t pixel; /* 0x00rrggbb */
      uint8_t *to = image->rgb + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
      memcpy(&pixel, rows + (size_t)y * (size_t)cairo_image_surface_get_stride(surface) + 4 * (size_t)x, 4);
      for (int c = 0; c < 3; c++) to[c] = (uint8_t)(pixel >> (16 - 8 * c));
    }
  finish(pen);
  return image;
}

static void use_color(struct pen *pen, const uint8_t rgb[3])
{
  cairo_set_source_rgb(pen->cairo, rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0);
}

static void draw_polyline(struct pen *pen, const double (*points)[2], int count, double width,
                          const uint8_t rgb[3], bool dashed)
{
  use_color(pen, rgb);
  cairo_set_line_width(pen->cairo, width);
  cairo_set_dash(pen->cairo, dashes, dashed ? 2 : 0, 0.0);
  for (int k = 0; k < count; k++) cairo_line_to(pen->cairo, points[k][0], points[k][1]);
  cairo_stroke(pen->cairo);
}

void pen_polyline(struct pen *pen, const double (*points)[2], int count, double width, const uint8_t rgb[3],
                  bool dashed)
{
  if (count < 2) return;
  if (pen->to_image) {
    draw_polyline(pen, points, count, width, rgb, dashed);
    return;
  }
  text_put(&pen->svg,
           "<polyline fill=\"none\" stroke=\"#%02x%02x%02x\" stroke-width=\"%g\" stroke-linejoin=\"round\"",
           rgb[0], rgb[1], rgb[2], width);
  if (dashed) text_put(&pen->svg, " stroke-dasharray=\"%g %g\"", dashes[0], dashes[1]);
  text_put(&pen->svg, " points=\"");
  for (int k = 0; k < count; k++)
    text_put(&pen->svg, "%s%.1f,%.1f", k ? " " : "", points[k][0], points[k][1]);
  text_put(&pen->svg, "\"/>\n");
}

void pen_disc(struct pen *pen, double x, double y, double radius, const uint8_t rgb[3])
{
  if (pen->to_image) {
    use_color(pen, rgb);
    cairo_arc(pen->cairo, x, y, radius, 0.0, 2.0 * acos(-1.0));
    cairo_fill(pen->cairo);
  } else
    text_put(&pen->svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" fill=\"#%02x%02x%02x\"/>\n", x, y, radius,
             rgb[0], rgb[1], rgb[2]);
}

void pen_box(struct pen *pen, double x, double y, double width, double height, const uint8_t rgb[3])
{
  if (pen->to_image) {
    use_color(pen, rgb);
    cairo_rectangle(pen->cairo, x, y, width, height);
    cairo_fill(pen->cairo);
  } else
    text_put(&pen->svg,
             "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#%02x%02x%02x\"/>\n", x, y,
             width, height, rgb[0], rgb[1], rgb[2]);
}

double pen_text_width(struct pen *pen, double size, const char *text)
{
  cairo_text_extents_t extents;
  cairo_set_font_size(pen->cairo, size / line_height);
  cairo_text_extents(pen->cairo, text, &extents);
  return extents.x_advance;
}

static void draw_text(struct pen *pen, double x, double y, double size, enum pen_anchor anchor, bool up,
                      const uint8_t rgb[3], const char *text)
{
  const double before = 0.5 * (double)anchor * pen_text_width(pen, size, text);
  use_color(pen, rgb);
  cairo_save(pen->cairo);
  cairo_translate(pen->cairo, x, y);
  if (up) cairo_rotate(pen->cairo, -0.5 * acos(-1.0));
  cairo_move_to(pen->cairo, -before, 0.0);
  cairo_show_text(pen->cairo, text);
  cairo_restore(pen->cairo);
  cairo_new_path(pen->cairo);
}

void pen_text(struct pen *pen, double x, double y, double size, enum pen_anchor anchor, bool up,
              const uint8_t rgb[3], const char *text)
{
  static const char *const words[] = {"start", "middle", "end"};
  if (pen->to_image) {
    draw_text(pen, x, y, size, anchor, up, rgb, text);
    return;
  }
  text_put(&pen->svg,
           "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" fill=\"#%02x%02x%02x\" text-anchor=\"%s\"", x, y,
           size / line_height, rgb[0], rgb[1], rgb[2], words[anchor]);
  if (up) text_put(&pen->svg, " transform=\"rotate(-90 %.1f %.1f)\"", x, y);
  text_put(&pen->svg, ">");
  text_put_escaped(&pen->svg, text);
  text_put(&pen->svg, "</text>\n");
}
