/* Plots: panels of lines with labelled axes, linear or logarithmic, as SVG or PNG.
 *
 *   struct plot *plot = plot_create("Strong scaling", 1);
 *   struct plot_panel *panel = plot_panel(plot, "snowball drop", "ranks", "speed-up");
 *   panel->log_x = panel->log_y = true;
 *   plot_marks(panel, count, ranks, ranks);
 *   plot_line(panel, "measured", count, ranks, speed, PLOT_LINE_POINTS);
 *   plot_ideal(panel, "ideal", 1.0, 1.0, 1.0);
 *   int code = plot_write(plot, "scaling.svg", &err);
 *   plot_destroy(&plot);
 *
 * Panels lie side by side, as many as `columns`, then below. Axes find round numbers around all lines; points
 * that are not finite, or not positive on a logarithmic axis, break a line. A line of more points than pixels
 * is drawn by its extremes in each column of pixels, so that no peak is lost and files stay small. Bars of
 * one panel are stacked, at whole numbers of x, with their legend beside them. */
#ifndef FIRN_RENDER_PLOT_H
#define FIRN_RENDER_PLOT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum plot_style { PLOT_LINE, PLOT_DASHED, PLOT_POINTS, PLOT_LINE_POINTS, PLOT_BARS };

struct plot_series {
  char *name;
  int64_t count;
  double *x, *y;
  enum plot_style style;
  int color; /* of the row of colours; negative: grey */
};

struct plot_panel {
  char *title, *x_label, *y_label;
  bool log_x, log_y;
  bool y_from_zero;             /* linear: the axis begins at 0 */
  double y_to;                  /* linear: it reaches at least here; 0: as the lines need it */
  double *mark_at, *mark_value; /* ticks of x in place of round numbers: where, and what they say */
  int mark_count;
  struct plot_series *series;
  int count;
};

struct plot {
  char *title; /* empty: none */
  char *note;  /* a line below it; NULL: none */
  int columns;
  int width, height; /* of a panel, in units that SVG calls pixels; 520 x 320 */
  struct plot_panel **panel;
  int count;
};

struct plot *plot_create(const char *title, int columns);
void plot_destroy(struct plot **plot);

/* Adds a panel; it belongs to the plot. Labels name the unit: "time (s)". */
struct plot_panel *plot_panel(struct plot *plot, const char *title, const char *x_label, const char *y_label);

/* Adds a line through copies of the points; an empty name keeps it out of the legend. Colours are given out
 * in turn. */
void plot_line(struct plot_panel *panel, const char *name, int64_t count, const double *x, const double *y,
               enum plot_style style);

/* The last line of the panel gets the colour of number `color`: for lines that belong together. */
void plot_color(struct plot_panel *panel, int color);

/* A grey dashed line through (x, y) across all of the panel: y ~ x^slope on two logarithmic axes, else
 * straight with this slope. */
void plot_ideal(struct plot_panel *panel, const char *name, double x, double y, double slope);

/* Ticks of x at these places, with these numbers. */
void plot_marks(struct plot_panel *panel, int count, const double *at, const double *value);

/* The whole as SVG text, for mem_free(). */
char *plot_svg(const struct plot *plot);

/* NAME.svg and NAME.png. */
int plot_write_both(const struct plot *plot, const char *name, struct error *err);

/* To a file, by its suffix .svg or .png (two pixels a unit); whole or not at all. */
int plot_write(const struct plot *plot, const char *path, struct error *err);

#endif
