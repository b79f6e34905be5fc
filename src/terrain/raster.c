#include "terrain/raster.h"

#include "base/memory.h"
#include "base/simd.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct raster *raster_create(int64_t columns, int64_t rows, double west, double north, double cell)
{
  struct raster *r = mem_alloc(1, sizeof *r);
  *r = (struct raster){.columns = columns, .rows = rows, .west = west, .north = north, .cell = cell};
  r->value = mem_alloc((size_t)(columns * rows), sizeof *r->value);
  return r;
}

void raster_destroy(struct raster **raster)
{
  if (!*raster) return;
  mem_free((*raster)->value);
  mem_free(*raster);
  *raster = NULL;
}

/* The first and last index whose middle lies within [low, high], given the middle of index 0. */
static void part(double first, double cell, int64_t count, double low, double high, int64_t *from,
                 int64_t *to)
{
  const double a = ceil((low - first) / cell - 1e-9), b = floor((high - first) / cell + 1e-9);
  *from = (int64_t)fmax(a, 0.0);
  *to = (int64_t)fmin(b, (double)(count - 1));
}

bool raster_cut(struct raster *r, const double within[4])
{
  int64_t left, right, top, bottom;
  part(r->west, r->cell, r->columns, within[0], within[1], &left, &right);
  part(-r->north, r->cell, r->rows, -within[3], -within[2], &top, &bottom);
  if (right - left < 1 || bottom - top < 1) return false;
  const int64_t columns = right - left + 1, rows = bottom - top + 1;
  for (int64_t j = 0; j < rows; j++)
    memmove(r->value + j * columns, r->value + (top + j) * r->columns + left,
            (size_t)columns * sizeof *r->value);
  r->west += (double)left * r->cell;
  r->north -= (double)top * r->cell;
  r->columns = columns;
  r->rows = rows;
  return true;
}

int64_t raster_holes(const struct raster *r, int64_t *row, int64_t *column)
{
  int64_t count = 0;
  for (int64_t k = 0; k < r->rows * r->columns; k++) {
    if (!isnan(r->value[k])) continue;
    if (count++ > 0) continue;
    *row = k / r->columns;
    *column = k % r->columns;
  }
  return count;
}

/* The mean of the neighbours that have data; NaN: none has. */
static float neighbours_mean(const struct raster *r, const float *value, int64_t row, int64_t column)
{
  double sum = 0.0;
  int count = 0;
  for (int64_t j = row - 1; j <= row + 1; j++)
    for (int64_t i = column - 1; i <= column + 1; i++) {
      if (j < 0 || i < 0 || j >= r->rows || i >= r->columns || isnan(value[j * r->columns + i])) continue;
      sum += (double)value[j * r->columns + i];
      count++;
    }
  return count ? (float)(sum / count) : NAN;
}

bool raster_fill(struct raster *r)
{
  const int64_t all = r->rows * r->columns;
  int64_t row = 0, column = 0, holes = raster_holes(r, &row, &column);
  if (holes == all) return false;
  float *before = mem_alloc((size_t)all, sizeof *before);
  while (holes > 0) {
    memcpy(before, r->value, (size_t)all * sizeof *before);
    for (int64_t k = 0; k < all; k++)
      if (isnan(before[k])) r->value[k] = neighbours_mean(r, before, k / r->columns, k % r->columns);
    holes = raster_holes(r, &row, &column);
  }
  mem_free(before);
  return true;
}

/* One direction: rows of `count` values, `step` apart. */
static void smooth_line(const double *weight, int reach, float *value, int64_t count, int64_t step,
                        float *line)
{
  for (int64_t k = 0; k < count; k++) line[k] = value[k * step];
  for (int64_t k = 0; k < count; k++) {
    if (isnan(line[k])) continue;
    double sum = 0.0, total = 0.0;
    for (int64_t n = k - reach; n <= k + reach; n++) {
      if (n < 0 || n >= count || isnan(line[n])) continue;
      const double w = weight[n < k ? k - n : n - k];
      sum += w * (double)line[n];
      total += w;
    }
    value[k * step] = (float)(sum / total);
  }
}

void raster_smooth(struct raster *r, double width)
{
  const int reach = (int)fmin(ceil(3.0 * width / r->cell), 1000.0);
  const int64_t longest = r->columns > r->rows ? r->columns : r->rows;
  if (!(width > 0.0)) return;
  double *weight = mem_alloc((size_t)reach + 1, sizeof *weight);
  float *line = mem_alloc((size_t)longest, sizeof *line);
  for (int k = 0; k <= reach; k++) {
    const double u = (double)k * r->cell / width;
    weight[k] = vd_exp(vd_set(-0.5 * u * u))[0]; /* libm chooses its variants by CPU */
  }
  for (int64_t j = 0; j < r->rows; j++)
    smooth_line(weight, reach, r->value + j * r->columns, r->columns, 1, line);
  for (int64_t i = 0; i < r->columns; i++)
    smooth_line(weight, reach, r->value + i, r->rows, r->columns, line);
  mem_free(weight);
  mem_free(line);
}

double raster_at(const struct raster *r, double east, double north)
{
  const double i = floor((east - r->west) / r->cell + 0.5), j = floor((r->north - north) / r->cell + 0.5);
  if (!(i >= 0.0 && j >= 0.0 && i < (double)r->columns && j < (double)r->rows)) return NAN;
  return (double)r->value[(int64_t)j * r->columns + (int64_t)i];
}

/* Whether a ray from the point towards the east crosses the rings an odd number of times. */
static bool inside(const double (*point)[2], const int64_t *ring, int rings, double east, double north)
{
  bool in = false;
  for (int k = 0; k < rings; k++)
    for (int64_t n = ring[k]; n < ring[k + 1]; n++) {
      const double *a = point[n], *b = point[n + 1 < ring[k + 1] ? n + 1 : ring[k]];
      if ((a[1] > north) == (b[1] > north)) continue;
      if (east < a[0] + (north - a[1]) / (b[1] - a[1]) * (b[0] - a[0])) in = !in;
    }
  return in;
}

int64_t raster_polygon(struct raster *r, const double (*point)[2], const int64_t *ring, int rings,
                       float value)
{
  int64_t count = 0;
  for (int64_t j = 0; j < r->rows; j++)
    for (int64_t i = 0; i < r->columns; i++) {
      const double east = r->west + (double)i * r->cell, north = r->north - (double)j * r->cell;
      if (!inside(point, ring, rings, east, north)) continue;
      r->value[j * r->columns + i] = value;
      count++;
    }
  return count;
}
