#include "render/plot/plot.h"

#include "base/memory.h"
#include "io/file.h"
#include "render/plot/pen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLORS = 10, MOST_TICKS = 64 };

static const uint8_t colors[COLORS][3] = {{31, 119, 180}, {214, 96, 30}, {44, 140, 60},   {190, 40, 50},
                                          {130, 90, 170}, {120, 80, 60}, {205, 100, 170}, {60, 160, 170},
                                          {150, 150, 40}, {30, 60, 110}};
static const uint8_t grey[3] = {130, 130, 130}, pale[3] = {226, 228, 232}, dark[3] = {40, 44, 52};
static const double size_text = 13.0, size_title = 15.0, left = 70.0, right = 16.0, above = 30.0,
                    below = 46.0;

struct plot *plot_create(const char *title, int columns)
{
  struct plot *plot = mem_alloc(1, sizeof *plot);
  plot->title = mem_strdup(title);
  plot->columns = columns > 0 ? columns : 1;
  plot->width = 520;
  plot->height = 320;
  return plot;
}

void plot_destroy(struct plot **plot)
{
  struct plot *p = *plot;
  if (!p) return;
  for (int k = 0; k < p->count; k++) {
    struct plot_panel *panel = p->panel[k];
    for (int s = 0; s < panel->count; s++) {
      mem_free(panel->series[s].name);
      mem_free(panel->series[s].x);
      mem_free(panel->series[s].y);
    }
    mem_free(panel->series);
    mem_free(panel->mark_at);
    mem_free(panel->mark_value);
    mem_free(panel->title);
    mem_free(panel->x_label);
    mem_free(panel->y_label);
    mem_free(panel);
  }
  mem_free(p->panel);
  mem_free(p->title);
  mem_free(p->note);
  mem_free(p);
  *plot = NULL;
}

struct plot_panel *plot_panel(struct plot *plot, const char *title, const char *x_label, const char *y_label)
{
  struct plot_panel *panel = mem_alloc(1, sizeof *panel);
  panel->title = mem_strdup(title);
  panel->x_label = mem_strdup(x_label);
  panel->y_label = mem_strdup(y_label);
  plot->panel = mem_resize(plot->panel, (size_t)plot->count, (size_t)plot->count + 1, sizeof *plot->panel);
  plot->panel[plot->count++] = panel;
  return panel;
}

void plot_line(struct plot_panel *panel, const char *name, int64_t count, const double *x, const double *y,
               enum plot_style style)
{
  panel->series =
      mem_resize(panel->series, (size_t)panel->count, (size_t)panel->count + 1, sizeof *panel->series);
  struct plot_series *s = &panel->series[panel->count];
  *s = (struct plot_series){.name = mem_strdup(name), .count = count, .style = style, .color = panel->count};
  s->x = mem_alloc((size_t)count, sizeof *s->x);
  s->y = mem_alloc((size_t)count, sizeof *s->y);
  memcpy(s->x, x, (size_t)count * sizeof *x);
  memcpy(s->y, y, (size_t)count * sizeof *y);
  panel->count++;
}

void plot_marks(struct plot_panel *panel, int count, const double *at, const double *value)
{
  panel->mark_count = count;
  panel->mark_at = mem_alloc((size_t)count, sizeof *at);
  panel->mark_value = mem_alloc((size_t)count, sizeof *value);
  memcpy(panel->mark_at, at, (size_t)count * sizeof *at);
  memcpy(panel->mark_value, value, (size_t)count * sizeof *value);
}

void plot_color(struct plot_panel *panel, int color)
{
  panel->series[panel->count - 1].color = color;
}

/* One axis: the range it shows, and where it puts it. */
struct axis {
  bool log;
  double low, high; /* values; of a logarithmic axis their logarithms */
  double from, to;  /* units on the page */
};

static bool usable(const struct axis *axis, double value)
{
  return isfinite(value) && (!axis->log || value > 0.0);
}

static double inner(const struct axis *axis, double value)
{
  return axis->log ? log10(value) : value;
}

static double place(const struct axis *axis, double value)
{
  return axis->from + (inner(axis, value) - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

static bool has_bars(const struct plot_panel *panel)
{
  return panel->count > 0 && panel->series[0].style == PLOT_BARS;
}

/* Bars are stacked: what lies below bar i of series `s`. */
static double stacked_below(const struct plot_panel *panel, int s, int64_t i)
{
  double sum = 0.0;
  for (int k = 0; k < s; k++) sum += fmax(panel->series[k].y[i], 0.0);
  return sum;
}

/* Room for the first and the last bar, and for the whole stack. */
static void find_bar_range(const struct plot_panel *panel, struct axis *axis, bool vertical)
{
  const struct plot_series *first = &panel->series[0];
  axis->low = vertical ? 0.0 : -0.5;
  axis->high = vertical ? 0.0 : (double)first->count - 0.5;
  for (int64_t i = 0; vertical && i < first->count; i++)
    axis->high = fmax(axis->high, stacked_below(panel, panel->count, i));
}

/* Range of all points that can be shown; x or y. */
static void find_range(const struct plot_panel *panel, struct axis *axis, const struct axis *other,
                       bool vertical)
{
  if (has_bars(panel)) {
    find_bar_range(panel, axis, vertical);
    return;
  }
  axis->low = INFINITY;
  axis->high = -INFINITY;
  for (int s = 0; s < panel->count; s++)
    for (int64_t i = 0; i < panel->series[s].count; i++) {
      const double x = panel->series[s].x[i], y = panel->series[s].y[i];
      const double own = vertical ? y : x, across = vertical ? x : y;
      if (!usable(axis, own) || !usable(other, across)) continue;
      axis->low = fmin(axis->low, inner(axis, own));
      axis->high = fmax(axis->high, inner(axis, own));
    }
  if (!(axis->low <= axis->high)) axis->low = axis->high = axis->log ? 0.0 : 0.5;
}

/* 1, 2 or 5 times a power of ten, so that about `count` of them fill the range. */
static double round_step(double range, int count)
{
  const double raw = range / count, power = pow(10.0, floor(log10(raw))), digit = raw / power;
  return power * (digit <= 1.0 ? 1.0 : digit <= 2.0 ? 2.0 : digit <= 5.0 ? 5.0 : 10.0);
}

/* Widens the range to round numbers. */
static void round_range(struct axis *axis, bool from_zero)
{
  if (axis->log) {
    if (axis->high - axis->low < 0.3) {
      axis->low -= 0.2;
      axis->high += 0.2;
    }
    const double room = 0.03 * (axis->high - axis->low);
    axis->low -= room;
    axis->high += room;
    return;
  }
  if (from_zero) axis->low = fmin(axis->low, 0.0);
  const double size = fmax(fabs(axis->low), fabs(axis->high));
  if (!(axis->high - axis->low > 1e-9 * size)) { /* a constant */
    const double room = size > 0.0 ? 0.1 * size : 1.0;
    if (!from_zero || axis->low < 0.0) axis->low -= room;
    axis->high += room;
  }
  const double step = round_step(axis->high - axis->low, 5);
  axis->low = step * floor(axis->low / step + 1e-9);
  axis->high = step * ceil(axis->high / step - 1e-9);
}

struct tick {
  double value;
  bool minor;  /* without a number */
  double says; /* the number */
};

/* Decades, and 2 and 5 between them where there is room; whole powers only where there are many. */
static int log_ticks(const struct axis *axis, struct tick *ticks)
{
  int count = 0;
  const double span = axis->high - axis->low;
  const int every = span > 8.0 ? (int)ceil(span / 6.0) : 1;
  for (int power = (int)floor(axis->low); power <= (int)ceil(axis->high) && count + 9 < MOST_TICKS; power++)
    for (int digit = 1; digit < 10; digit++) {
      const double value = digit * pow(10.0, power), at = log10(value);
      if (at < axis->low - 1e-9 || at > axis->high + 1e-9) continue;
      const bool labelled = digit == 1 ? power % every == 0 : (digit == 2 || digit == 5) && span < 2.2;
      if (span < 4.0 || digit == 1) ticks[count++] = (struct tick){value, !labelled, value};
    }
  return count;
}

static int find_ticks(const struct axis *axis, struct tick *ticks)
{
  if (axis->log) return log_ticks(axis, ticks);
  int count = 0;
  const double step = round_step(axis->high - axis->low, 5);
  for (double k = ceil(axis->low / step - 1e-9); k * step <= axis->high + 1e-9 * step && count < MOST_TICKS;
       k++)
    ticks[count++] = (struct tick){k * step, false, k * step};
  return count;
}

/* Numbers that would run into those before them are left out. */
static int find_marks(const struct plot_panel *panel, const struct axis *axis, struct tick *ticks)
{
  if (panel->mark_count == 0) return find_ticks(axis, ticks);
  double free_from = -INFINITY;
  int count = 0;
  for (int k = 0; k < panel->mark_count && count < MOST_TICKS; k++) {
    const double at = place(axis, panel->mark_at[k]);
    const bool room = at >= free_from;
    ticks[count++] = (struct tick){panel->mark_at[k], !room, panel->mark_value[k]};
    if (room) free_from = at + 32.0;
  }
  return count;
}

static void tick_text(double value, double step, char text[32])
{
  if (fabs(value) < 1e-9 * step) value = 0.0;
  snprintf(text, 32, "%.6g", value);
  char *e = strchr(text, 'e'); /* 1e+06 -> 1e6 */
  if (!e) return;
  const int power = (int)strtol(e + 1, NULL, 10);
  snprintf(e, (size_t)(32 - (e - text)), "e%d", power);
}

static void draw_axes(struct pen *pen, const struct plot_panel *panel, const struct axis *x,
                      const struct axis *y)
{
  struct tick ticks[MOST_TICKS];
  char text[32];
  int count = find_marks(panel, x, ticks);
  for (int k = 0; k < count; k++) {
    const double at = place(x, ticks[k].value), line[2][2] = {{at, y->from}, {at, y->to}};
    pen_polyline(pen, line, 2, ticks[k].minor ? 0.5 : 1.0, pale, false);
    if (ticks[k].minor) continue;
    tick_text(ticks[k].says, x->high - x->low, text);
    pen_text(pen, at, y->from + 16.0, size_text, PEN_MIDDLE, false, dark, text);
  }
  count = find_ticks(y, ticks);
  for (int k = 0; k < count; k++) {
    const double at = place(y, ticks[k].value), line[2][2] = {{x->from, at}, {x->to, at}};
    pen_polyline(pen, line, 2, ticks[k].minor ? 0.5 : 1.0, pale, false);
    if (ticks[k].minor) continue;
    tick_text(ticks[k].value, y->high - y->low, text);
    pen_text(pen, x->from - 6.0, at + 4.0, size_text, PEN_END, false, dark, text);
  }
  const double frame[3][2] = {{x->from, y->to}, {x->from, y->from}, {x->to, y->from}};
  pen_polyline(pen, frame, 3, 1.2, dark, false);
  pen_text(pen, 0.5 * (x->from + x->to), y->to - 12.0, size_title, PEN_MIDDLE, false, dark, panel->title);
  pen_text(pen, 0.5 * (x->from + x->to), y->from + 36.0, size_text, PEN_MIDDLE, false, dark, panel->x_label);
  pen_text(pen, x->from - 54.0, 0.5 * (y->from + y->to), size_text, PEN_MIDDLE, true, dark, panel->y_label);
}

static const uint8_t *color_of(const struct plot_series *s)
{
  return s->color < 0 ? grey : colors[s->color % COLORS];
}

/* Points of one column of pixels: as they come, or where there are many first, lowest, highest and last. */
struct column {
  double x[4], y[4];
  int count;
};

static void column_add(struct column *c, double x, double y)
{
  if (c->count < 4) {
    c->x[c->count] = x;
    c->y[c->count++] = y;
    return;
  }
  /* Slots 1 and 2 hold the extremes, slot 3 the last. */
  for (int k = 1; k < 3; k++) {
    const bool beyond =
        k == 1 ? c->y[3] < c->y[1] && c->y[3] < c->y[2] : c->y[3] > c->y[1] && c->y[3] > c->y[2];
    if (!beyond) continue;
    const int slot = (c->y[1] < c->y[2]) == (k == 1) ? 1 : 2;
    c->x[slot] = c->x[3];
    c->y[slot] = c->y[3];
    break;
  }
  c->x[3] = x;
  c->y[3] = y;
}

struct polyline {
  double (*points)[2];
  int count, capacity;
};

static void polyline_add(struct polyline *line, const struct column *c)
{
  if (line->count + 4 > line->capacity) {
    const int capacity = 2 * line->capacity + 256;
    line->points = mem_resize(line->points, (size_t)line->capacity, (size_t)capacity, sizeof *line->points);
    line->capacity = capacity;
  }
  for (int k = 0; k < c->count; k++) {
    line->points[line->count][0] = c->x[k];
    line->points[line->count++][1] = c->y[k];
  }
}

static void draw_polyline(struct pen *pen, const struct plot_series *s, struct polyline *line,
                          struct column *column)
{
  polyline_add(line, column);
  column->count = 0;
  if (line->count == 1) pen_disc(pen, line->points[0][0], line->points[0][1], 1.5, color_of(s));
  pen_polyline(pen, (const double(*)[2])line->points, line->count, s->style == PLOT_DASHED ? 1.3 : 1.7,
               color_of(s), s->style == PLOT_DASHED);
  line->count = 0;
}

static void draw_series(struct pen *pen, const struct plot_series *s, const struct axis *x,
                        const struct axis *y)
{
  struct polyline line = {NULL, 0, 0};
  struct column column = {.count = 0};
  for (int64_t i = 0; i < s->count && s->style != PLOT_POINTS; i++) {
    if (!usable(x, s->x[i]) || !usable(y, s->y[i])) {
      draw_polyline(pen, s, &line, &column);
      continue;
    }
    const double px = place(x, s->x[i]), py = place(y, s->y[i]);
    if (column.count > 0 && floor(px) != floor(column.x[0])) {
      polyline_add(&line, &column);
      column.count = 0;
    }
    column_add(&column, px, py);
  }
  if (s->style != PLOT_POINTS) draw_polyline(pen, s, &line, &column);
  for (int64_t i = 0; i < s->count && (s->style == PLOT_POINTS || s->style == PLOT_LINE_POINTS); i++)
    if (usable(x, s->x[i]) && usable(y, s->y[i]))
      pen_disc(pen, place(x, s->x[i]), place(y, s->y[i]), 3.0, color_of(s));
  mem_free(line.points);
}

static void draw_bars(struct pen *pen, const struct plot_panel *panel, const struct axis *x,
                      const struct axis *y)
{
  const double wide = fmin(0.6 * (place(x, 1.0) - place(x, 0.0)), 60.0);
  for (int s = 0; s < panel->count; s++)
    for (int64_t i = 0; i < panel->series[s].count; i++) {
      const double height = panel->series[s].y[i], from = stacked_below(panel, s, i);
      if (!(height > 0.0)) continue;
      const double top = place(y, from + height);
      pen_box(pen, place(x, (double)i) - 0.5 * wide, top, wide, place(y, from) - top,
              color_of(&panel->series[s]));
    }
}

/* Which corner has the fewest points under a box of this size. */
static void find_corner(const struct plot_panel *panel, const struct axis *x, const struct axis *y,
                        double width, double height, double corner[2])
{
  int64_t least = INT64_MAX;
  for (int k = 0; k < 4; k++) {
    const double px = k & 1 ? x->from + 8.0 : x->to - width - 8.0,
                 py = k & 2 ? y->from - height - 8.0 : y->to + 6.0;
    int64_t inside = 0;
    for (int s = 0; s < panel->count; s++)
      for (int64_t i = 0; i < panel->series[s].count; i++) {
        const double u = panel->series[s].x[i], v = panel->series[s].y[i];
        if (!usable(x, u) || !usable(y, v)) continue;
        const double at = place(x, u), to = place(y, v);
        inside += at > px - 4.0 && at < px + width + 4.0 && to > py - 4.0 && to < py + height + 4.0;
      }
    if (inside >= least) continue;
    least = inside;
    corner[0] = px;
    corner[1] = py;
  }
}

static double legend_width(struct pen *pen, const struct plot_panel *panel)
{
  double width = 0.0;
  for (int s = 0; s < panel->count; s++)
    if (*panel->series[s].name)
      width = fmax(width, pen_text_width(pen, size_text, panel->series[s].name) + 40.0);
  return width;
}

static void draw_sample(struct pen *pen, const struct plot_series *series, double x, double y)
{
  const double sample[2][2] = {{x + 6.0, y - 4.0}, {x + 28.0, y - 4.0}};
  if (series->style == PLOT_BARS) {
    pen_box(pen, x + 6.0, y - 9.0, 22.0, 10.0, color_of(series));
    return;
  }
  if (series->style != PLOT_POINTS)
    pen_polyline(pen, sample, 2, 1.7, color_of(series), series->style == PLOT_DASHED);
  if (series->style == PLOT_POINTS || series->style == PLOT_LINE_POINTS)
    pen_disc(pen, x + 17.0, y - 4.0, 3.0, color_of(series));
}

/* Lines have it in the emptiest corner, bars beside them, the topmost first. */
static void draw_legend(struct pen *pen, const struct plot_panel *panel, const struct axis *x,
                        const struct axis *y)
{
  static const uint8_t white[3] = {255, 255, 255};
  const double width = legend_width(pen, panel);
  double corner[2] = {x->to, y->to};
  int named = 0;
  for (int s = 0; s < panel->count; s++) named += *panel->series[s].name != '\0';
  if (named == 0) return;
  const double height = 17.0 * named + 6.0;
  if (!has_bars(panel)) find_corner(panel, x, y, width, height, corner);
  pen_box(pen, corner[0], corner[1], width, height, white);
  double at = corner[1] + 15.0;
  for (int s = 0; s < panel->count; s++) {
    const struct plot_series *series = &panel->series[has_bars(panel) ? panel->count - 1 - s : s];
    if (!*series->name) continue;
    draw_sample(pen, series, corner[0], at);
    pen_text(pen, corner[0] + 34.0, at, size_text, PEN_START, false, dark, series->name);
    at += 17.0;
  }
}

static void draw_panel(struct pen *pen, const struct plot *plot, const struct plot_panel *panel, double px,
                       double py)
{
  const double beside = has_bars(panel) ? legend_width(pen, panel) : 0.0;
  struct axis x = {.log = panel->log_x, .from = px + left, .to = px + plot->width - right - beside};
  struct axis y = {.log = panel->log_y, .from = py + plot->height - below, .to = py + above};
  find_range(panel, &x, &y, false);
  find_range(panel, &y, &x, true);
  if (x.log || !(x.high > x.low)) round_range(&x, false);
  if (!y.log && panel->y_to > 0.0) y.high = fmax(y.high, panel->y_to);
  round_range(&y, panel->y_from_zero || has_bars(panel));
  draw_axes(pen, panel, &x, &y);
  if (has_bars(panel))
    draw_bars(pen, panel, &x, &y);
  else
    for (int s = 0; s < panel->count; s++) draw_series(pen, &panel->series[s], &x, &y);
  draw_legend(pen, panel, &x, &y);
}

void plot_ideal(struct plot_panel *panel, const char *name, double x, double y, double slope)
{
  double low = x, high = x, points[2][2];
  for (int s = 0; s < panel->count; s++)
    for (int64_t i = 0; i < panel->series[s].count; i++) {
      low = fmin(low, panel->series[s].x[i]);
      high = fmax(high, panel->series[s].x[i]);
    }
  points[0][0] = low;
  points[0][1] = high;
  for (int k = 0; k < 2; k++)
    points[1][k] =
        panel->log_x && panel->log_y ? y * pow(points[0][k] / x, slope) : y + slope * (points[0][k] - x);
  plot_line(panel, name, 2, points[0], points[1], PLOT_DASHED);
  plot_color(panel, -1);
}

static double title_height(const struct plot *plot)
{
  return (*plot->title ? 34.0 : 0.0) + (plot->note ? 22.0 : 0.0);
}

static int rows_of(const struct plot *plot)
{
  return (plot->count + plot->columns - 1) / plot->columns;
}

static int columns_of(const struct plot *plot)
{
  return plot->count < plot->columns ? plot->count > 0 ? plot->count : 1 : plot->columns;
}

static void draw_plot(struct pen *pen, const struct plot *plot)
{
  if (*plot->title)
    pen_text(pen, 0.5 * columns_of(plot) * plot->width, 24.0, 19.0, PEN_MIDDLE, false, dark, plot->title);
  if (plot->note)
    pen_text(pen, 0.5 * columns_of(plot) * plot->width, title_height(plot) - 8.0, size_text, PEN_MIDDLE,
             false, dark, plot->note);
  for (int k = 0; k < plot->count; k++)
    draw_panel(pen, plot, plot->panel[k], k % plot->columns * plot->width,
               title_height(plot) + k / plot->columns * plot->height);
}

char *plot_svg(const struct plot *plot)
{
  struct pen pen;
  pen_start_svg(&pen, columns_of(plot) * plot->width, title_height(plot) + rows_of(plot) * plot->height);
  draw_plot(&pen, plot);
  return pen_finish_svg(&pen);
}

int plot_write(const struct plot *plot, const char *path, struct error *err)
{
  const char *dot = strrchr(path, '.');
  int code;
  if (dot && strcmp(dot, ".svg") == 0) {
    code = file_check_replaceable(path, file_begins_with(path, "<svg", 4), "an SVG picture", err);
    if (code) return code;
    char *text = plot_svg(plot);
    code = file_write(path, 0, text, strlen(text), err);
    mem_free(text);
    return code;
  }
  if (!dot || strcmp(dot, ".png") != 0)
    return error_set(err, FIRN_EINPUT, "%s: a plot is written as .svg or .png", path);
  struct pen pen;
  pen_start_image(&pen, columns_of(plot) * plot->width, title_height(plot) + rows_of(plot) * plot->height,
                  2.0);
  draw_plot(&pen, plot);
  struct image *image = pen_finish_image(&pen);
  code = image_write_png(image, path, err);
  image_destroy(&image);
  return code;
}

int plot_write_both(const struct plot *plot, const char *name, struct error *err)
{
  static const char *const suffixes[] = {"svg", "png"};
  const size_t room = strlen(name) + 5;
  char *path = mem_alloc(room, 1);
  int code = FIRN_OK;
  for (int k = 0; k < 2 && !code; k++) {
    snprintf(path, room, "%s.%s", name, suffixes[k]);
    code = plot_write(plot, path, err);
  }
  mem_free(path);
  return code;
}
