/* Distances to polygons, edge by edge. A contour whose box is farther away than the nearest edge so far, or
 * than the far corner of another's, is skipped: a word costs about as much as its nearest letter. IEEE basic
 * operations and sqrt only. */
#include "levelset/outline.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void measure(struct outline *o)
{
  for (int c = 0; c < o->contours; c++) {
    double *box = o->box + 4 * c;
    for (int d = 0; d < 2; d++) {
      box[d] = INFINITY;
      box[2 + d] = -INFINITY;
      for (int k = o->start[c]; k < o->start[c + 1]; k++) {
        box[d] = fmin(box[d], o->point[2 * k + d]);
        box[2 + d] = fmax(box[2 + d], o->point[2 * k + d]);
      }
      o->low[d] = c ? fmin(o->low[d], box[d]) : box[d];
      o->high[d] = c ? fmax(o->high[d], box[2 + d]) : box[2 + d];
    }
  }
}

struct outline *outline_create(int count, const int *start, const double *point)
{
  struct outline *o = mem_alloc(1, sizeof *o);
  const size_t points = (size_t)start[count];
  o->contours = count;
  o->start = mem_alloc((size_t)count + 1, sizeof *o->start);
  o->point = mem_alloc(2 * points, sizeof *o->point);
  o->box = mem_alloc(4 * (size_t)count, sizeof *o->box);
  memcpy(o->start, start, ((size_t)count + 1) * sizeof *start);
  memcpy(o->point, point, 2 * points * sizeof *point);
  measure(o);
  return o;
}

void outline_destroy(struct outline **outline)
{
  struct outline *o = *outline;
  if (!o) return;
  mem_free(o->start);
  mem_free(o->point);
  mem_free(o->box);
  mem_free(o);
  *outline = NULL;
}

void outline_fit(struct outline *o, double height)
{
  const double middle[2] = {0.5 * (o->low[0] + o->high[0]), 0.5 * (o->low[1] + o->high[1])};
  const double scale = height / (o->high[1] - o->low[1]);
  for (int k = 0; k < o->start[o->contours]; k++)
    for (int d = 0; d < 2; d++) o->point[2 * k + d] = scale * (o->point[2 * k + d] - middle[d]);
  measure(o);
}

/* Square of the distance from p to the segment ab, and the vector from its nearest point to p. */
static double segment_square(const double *a, const double *b, const double p[2], double away[2])
{
  const double ab[2] = {b[0] - a[0], b[1] - a[1]}, ap[2] = {p[0] - a[0], p[1] - a[1]};
  const double length = ab[0] * ab[0] + ab[1] * ab[1];
  double t = length > 0.0 ? (ap[0] * ab[0] + ap[1] * ab[1]) / length : 0.0;
  t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
  for (int d = 0; d < 2; d++) away[d] = ap[d] - t * ab[d];
  return away[0] * away[0] + away[1] * away[1];
}

/* Signed crossings of the ray from p towards +x. */
static int crossing(const double *a, const double *b, const double p[2])
{
  const bool up = a[1] <= p[1] && b[1] > p[1], down = b[1] <= p[1] && a[1] > p[1];
  if (!up && !down) return 0;
  const double side = (b[0] - a[0]) * (p[1] - a[1]) - (p[0] - a[0]) * (b[1] - a[1]);
  if (up && side > 0.0) return 1;
  return down && side < 0.0 ? -1 : 0;
}

static double box_square(const double *box, const double p[2])
{
  double square = 0.0;
  for (int d = 0; d < 2; d++) {
    const double gap = fmax(0.0, fmax(box[d] - p[d], p[d] - box[2 + d]));
    square += gap * gap;
  }
  return square;
}

/* No less than the square of the distance from p to the nearest contour: each has a point in its box. */
static double reach_square(const struct outline *o, const double p[2])
{
  double least = INFINITY;
  for (int c = 0; c < o->contours; c++) {
    const double *box = o->box + 4 * c;
    const double far[2] = {fmax(p[0] - box[0], box[2] - p[0]), fmax(p[1] - box[1], box[3] - p[1])};
    least = fmin(least, far[0] * far[0] + far[1] * far[1]);
  }
  return (1.0 + 1e-9) * least;
}

double outline_distance(const struct outline *o, const double p[2], double n[2])
{
  double best = INFINITY, nearest[2] = {0.0, 1.0}, edge[2] = {1.0, 0.0};
  const double reach = reach_square(o, p);
  int winding = 0;
  for (int c = 0; c < o->contours; c++) {
    const double *box = o->box + 4 * c;
    const bool crosses = p[1] >= box[1] && p[1] <= box[3] && p[0] <= box[2];
    const double gap = box_square(box, p);
    const bool near = gap < best && gap <= reach;
    if (!crosses && !near) continue;
    const int begin = o->start[c], end = o->start[c + 1];
    for (int k = begin; k < end; k++) {
      const double *a = o->point + 2 * k, *b = o->point + 2 * (k + 1 < end ? k + 1 : begin);
      double away[2] = {0.0, 0.0};
      if (crosses) winding += crossing(a, b, p);
      const double square = near ? segment_square(a, b, p, away) : INFINITY;
      if (!(square < best)) continue;
      best = square;
      for (int d = 0; d < 2; d++) {
        nearest[d] = away[d];
        edge[d] = b[d] - a[d];
      }
    }
  }
  const double distance = sqrt(best), sign = winding ? -1.0 : 1.0;
  double length = distance;
  if (!(distance > 0.0)) { /* on an edge: across it */
    length = sqrt(edge[0] * edge[0] + edge[1] * edge[1]);
    nearest[0] = edge[1];
    nearest[1] = -edge[0];
  }
  for (int d = 0; d < 2; d++) n[d] = length > 0.0 ? sign * nearest[d] / length : (double)d;
  return sign * distance;
}

double outline_area(const struct outline *o)
{
  double twice = 0.0;
  for (int c = 0; c < o->contours; c++)
    for (int k = o->start[c]; k < o->start[c + 1]; k++) {
      const double *a = o->point + 2 * k, *b = o->point + 2 * (k + 1 < o->start[c + 1] ? k + 1 : o->start[c]);
      twice += a[0] * b[1] - b[0] * a[1];
    }
  return 0.5 * fabs(twice);
}

char *outline_print(const struct outline *o)
{
  const int points = o->start[o->contours];
  const size_t size = 64 + 16 * (size_t)(o->contours + 1) + 64 * (size_t)points;
  char *text = mem_alloc(size, 1), *at = text;
  at += sprintf(at, "%d", o->contours);
  for (int c = 0; c < o->contours; c++) at += sprintf(at, " %d", o->start[c + 1]);
  for (int k = 0; k < 2 * points; k++) at += sprintf(at, " %a", o->point[k]);
  return text;
}

struct outline *outline_parse(const char *text)
{
  char *at;
  const long contours = strtol(text, &at, 10);
  if (contours < 1 || contours > 1 << 20) return NULL;
  int *start = mem_alloc((size_t)contours + 1, sizeof *start);
  bool good = true;
  for (long c = 0; c < contours; c++) {
    start[c + 1] = (int)strtol(at, &at, 10);
    good = good && start[c + 1] >= start[c] + 3 && start[c + 1] < 1 << 26;
  }
  const size_t points = good ? (size_t)start[contours] : 0;
  double *point = mem_alloc(2 * points, sizeof *point);
  for (size_t k = 0; k < 2 * points; k++) point[k] = strtod(at, &at);
  struct outline *outline = good && !*at ? outline_create((int)contours, start, point) : NULL;
  mem_free(start);
  mem_free(point);
  return outline;
}
