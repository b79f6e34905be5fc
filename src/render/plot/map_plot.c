#include "render/plot/map_plot.h"

#include "base/memory.h"
#include "render/image.h"
#include "render/plot/pen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN_CELLS = 12, LEGEND = 170, TOP = 40, EDGE = 12, BAR = 22, SCALE_TOP = 72, LEAST_HEIGHT = 340 };

/* The part of the grid that is drawn, and how. */
struct view {
  int64_t column, row, columns, rows;
  double scale; /* pixels per cell */
  int width, height;
};

/* Colours of the scale, dark to bright, equal steps in lightness (viridis by nine points). */
static void color_of(double at, double out[3])
{
  static const unsigned char points[9][3] = {{68, 1, 84},    {71, 44, 122},  {59, 81, 139},
                                             {44, 113, 142}, {33, 144, 141}, {39, 173, 129},
                                             {92, 200, 99},  {170, 220, 50}, {253, 231, 37}};
  const double u = fmin(fmax(at, 0.0), 1.0) * 8.0;
  const int k = u < 8.0 ? (int)u : 7;
  for (int d = 0; d < 3; d++)
    out[d] = points[k][d] + (u - k) * ((double)points[k + 1][d] - (double)points[k][d]);
}

static bool has_value(const struct raster *r, int64_t k)
{
  return !isnan(r->value[k]) && r->value[k] > 0.0f;
}

static struct view find_view(const struct map_plot *p, int pixels)
{
  const struct raster *t = p->terrain;
  int64_t low[2] = {t->columns, t->rows}, high[2] = {-1, -1};
  for (int64_t k = 0; k < t->columns * t->rows; k++) {
    if (!has_value(p->value, k) && !(p->release && has_value(p->release, k))) continue;
    const int64_t at[2] = {k % t->columns, k / t->columns};
    for (int d = 0; d < 2; d++) {
      if (at[d] < low[d]) low[d] = at[d];
      if (at[d] > high[d]) high[d] = at[d];
    }
  }
  const int64_t size[2] = {t->columns, t->rows};
  for (int d = 0; d < 2; d++) {
    low[d] = high[d] < 0 || low[d] < MARGIN_CELLS ? 0 : low[d] - MARGIN_CELLS;
    high[d] = high[d] < 0 || high[d] + MARGIN_CELLS >= size[d] ? size[d] - 1 : high[d] + MARGIN_CELLS;
  }
  struct view v = {
      .column = low[0], .row = low[1], .columns = high[0] - low[0] + 1, .rows = high[1] - low[1] + 1};
  v.scale = (double)pixels / (double)(v.columns > v.rows ? v.columns : v.rows);
  v.width = (int)ceil(v.scale * (double)v.columns);
  v.height = (int)ceil(v.scale * (double)v.rows);
  return v;
}

static int by_size(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* The value that one in a thousand exceeds. */
static double usual_most(const struct raster *r)
{
  const int64_t all = r->columns * r->rows;
  float *sorted = mem_alloc((size_t)all, sizeof *sorted);
  int64_t count = 0;
  for (int64_t k = 0; k < all; k++)
    if (has_value(r, k)) sorted[count++] = r->value[k];
  qsort(sorted, (size_t)count, sizeof *sorted, by_size);
  const double most = count ? (double)sorted[(count - 1) * 999 / 1000] : 1.0;
  mem_free(sorted);
  return most;
}

/* A round number of about x: 1, 2 or 5 times a power of ten. */
static double round_step(double x)
{
  const double base = pow(10.0, floor(log10(x))), part = x / base;
  return base * (part < 1.5 ? 1.0 : part < 3.5 ? 2.0 : part < 7.5 ? 5.0 : 10.0);
}

static double sample(const struct raster *r, double column, double row)
{
  const double u = fmin(fmax(column, 0.0), (double)(r->columns - 1)),
               w = fmin(fmax(row, 0.0), (double)(r->rows - 1));
  const int64_t i = (int64_t)fmin(u, (double)(r->columns - 2)), j = (int64_t)fmin(w, (double)(r->rows - 2));
  const float *v = r->value + j * r->columns + i;
  const double f = u - (double)i, g = w - (double)j;
  return (1.0 - g) * ((1.0 - f) * (double)v[0] + f * (double)v[1]) +
         g * ((1.0 - f) * (double)v[r->columns] + f * (double)v[r->columns + 1]);
}

/* Light from the north-west, 45 degrees high. */
static double shade_at(const struct raster *t, double column, double row)
{
  const double a = (sample(t, column + 1.0, row) - sample(t, column - 1.0, row)) / (2.0 * t->cell),
               b = (sample(t, column, row - 1.0) - sample(t, column, row + 1.0)) / (2.0 * t->cell);
  const double light = (0.5 * a - 0.5 * b + M_SQRT1_2) / sqrt(1.0 + a * a + b * b);
  return fmin(fmax(0.35 + 0.6 * light, 0.0), 1.0);
}

static void put(struct image *image, int x, int y, const double rgb[3])
{
  uint8_t *at = image->rgb + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
  for (int d = 0; d < 3; d++) at[d] = (uint8_t)lround(fmin(fmax(rgb[d], 0.0), 255.0));
}

/* Whether a contour passes between this pixel and the next ones. */
static bool is_contour(const struct raster *t, double column, double row, double pixel, double step)
{
  const double here = floor(sample(t, column, row) / step);
  return floor(sample(t, column + pixel, row) / step) != here ||
         floor(sample(t, column, row + pixel) / step) != here;
}

static bool released(const struct raster *r, double column, double row)
{
  const int64_t i = (int64_t)floor(column + 0.5), j = (int64_t)floor(row + 0.5);
  return i >= 0 && j >= 0 && i < r->columns && j < r->rows && has_value(r, j * r->columns + i);
}

static void draw_ground(const struct map_plot *p, const struct view *v, double most, double contour,
                        struct image *image)
{
  static const double edge[3] = {214, 39, 40};
  for (int y = 0; y < v->height; y++)
    for (int x = 0; x < v->width; x++) {
      const double column = (double)v->column + ((double)x + 0.5) / v->scale - 0.5,
                   row = (double)v->row + ((double)y + 0.5) / v->scale - 0.5, pixel = 1.0 / v->scale;
      const double shade = shade_at(p->terrain, column, row);
      double rgb[3] = {255.0 * shade, 255.0 * shade, 255.0 * shade}, over[3];
      const int64_t i = (int64_t)fmin(fmax(floor(column + 0.5), 0.0), (double)(p->value->columns - 1)),
                    j = (int64_t)fmin(fmax(floor(row + 0.5), 0.0), (double)(p->value->rows - 1));
      const int64_t k = j * p->value->columns + i;
      if (has_value(p->value, k)) {
        color_of((double)p->value->value[k] / most, over);
        for (int d = 0; d < 3; d++) rgb[d] = (0.55 + 0.45 * shade) * over[d];
      }
      if (is_contour(p->terrain, column, row, pixel, contour))
        for (int d = 0; d < 3; d++) rgb[d] *= 0.72;
      if (p->release) {
        const bool in = released(p->release, column, row);
        if (in != released(p->release, column + pixel, row) ||
            in != released(p->release, column, row + pixel) ||
            in != released(p->release, column + 2.0 * pixel, row) ||
            in != released(p->release, column, row + 2.0 * pixel))
          memcpy(rgb, edge, sizeof rgb);
      }
      put(image, EDGE + x, TOP + y, rgb);
    }
}

/* The scale beside the map, from the bottom up. */
static void draw_scale(struct image *image, int left, int top, int height)
{
  for (int y = 0; y < height; y++) {
    double rgb[3];
    color_of(1.0 - ((double)y + 0.5) / height, rgb);
    for (int x = 0; x < BAR; x++) put(image, left + x, top + y, rgb);
  }
}

static void draw_line(struct pen *pen, double x, double y, double length, double width, const uint8_t rgb[3])
{
  const double points[2][2] = {{x, y}, {x + length, y}};
  pen_polyline(pen, points, 2, width, rgb, false);
}

/* Title, numbers of the scale, a length, and what lines mean. */
static void draw_words(struct pen *pen, const struct map_plot *p, const struct view *v, double most,
                       double contour, int scale_height)
{
  static const uint8_t dark[3] = {32, 36, 40}, red[3] = {214, 39, 40};
  const double left = EDGE + v->width + 16.0, bottom = SCALE_TOP + scale_height;
  char text[96];
  pen_text(pen, EDGE, 26.0, 20.0, PEN_START, false, dark, p->title);
  pen_text(pen, left, SCALE_TOP - 14.0, 14.0, PEN_START, false, dark, p->legend);
  const double step = round_step(most / 5.0);
  for (int k = 0; k * step <= most * (1.0 + 1e-9); k++) {
    snprintf(text, sizeof text, "%g", k * step);
    pen_text(pen, left + BAR + 6.0, bottom - scale_height * k * step / most + 4.0, 13.0, PEN_START, false,
             dark, text);
  }
  double length = round_step(0.2 * (double)v->columns * p->terrain->cell);
  while (length / p->terrain->cell * v->scale > LEGEND - 30.0) length = round_step(0.4 * length);
  snprintf(text, sizeof text, "%g m", length);
  pen_text(pen, left, bottom + 40.0, 13.0, PEN_START, false, dark, text);
  draw_line(pen, left, bottom + 48.0, length / p->terrain->cell * v->scale, 3.0, dark);
  snprintf(text, sizeof text, "contours every %g m", contour);
  pen_text(pen, left, bottom + 70.0, 13.0, PEN_START, false, dark, text);
  if (!p->release) return;
  draw_line(pen, left, bottom + 86.0, BAR, 2.0, red);
  pen_text(pen, left + BAR + 6.0, bottom + 90.0, 13.0, PEN_START, false, dark, "release");
}

static double usual_contour(const struct map_plot *p, const struct view *v)
{
  double low = INFINITY, high = -INFINITY;
  for (int64_t j = v->row; j < v->row + v->rows; j++)
    for (int64_t i = v->column; i < v->column + v->columns; i++) {
      low = fmin(low, (double)p->terrain->value[j * p->terrain->columns + i]);
      high = fmax(high, (double)p->terrain->value[j * p->terrain->columns + i]);
    }
  return high > low ? round_step((high - low) / 25.0) : 1.0;
}

int map_plot_write(const struct map_plot *p, int pixels, const char *path, struct error *err)
{
  const struct view v = find_view(p, pixels);
  const double most = p->most > 0.0 ? p->most : usual_most(p->value),
               contour = p->contour > 0.0 ? p->contour : usual_contour(p, &v);
  const int tall = v.height > LEAST_HEIGHT ? v.height : LEAST_HEIGHT, scale_height = LEAST_HEIGHT - 160;
  struct pen pen;
  pen_start_image(&pen, EDGE + v.width + LEGEND, TOP + tall + EDGE, 1.0);
  draw_words(&pen, p, &v, most, contour, scale_height);
  struct image *image = pen_finish_image(&pen);
  draw_ground(p, &v, most, contour, image);
  draw_scale(image, EDGE + v.width + 16, SCALE_TOP, scale_height);
  const int code = image_write_png(image, path, err);
  image_destroy(&image);
  return code;
}
