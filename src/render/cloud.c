/* Counting particles in cells of a virtual grid tells spacing and loneliness without a neighbour search. The
 * cells live in a plain table of counters indexed by a hash: no keys, no chains. Two cells that share a
 * counter are rare (the table has several slots an occupied cell) and cost a flake that is drawn a little too
 * large. */
#include "render/cloud.h"

#include "base/memory.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 16384 };

static int ascending(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static float quantile(const float *sorted, int64_t count, double fraction)
{
  return sorted[(int64_t)((double)(count - 1) * fraction + 0.5)];
}

static bool finite_point(const float *x)
{
  return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
}

/* Every k-th particle's component, sorted; returns how many. */
static int64_t sample(const float *position, int64_t count, int d, float *values)
{
  const int64_t stride = (count + SAMPLES - 1) / SAMPLES;
  int64_t found = 0;
  for (int64_t i = 0; i < count; i += stride)
    if (finite_point(position + 3 * i)) values[found++] = position[3 * i + d];
  qsort(values, (size_t)found, sizeof *values, ascending);
  return found;
}

bool cloud_bounds(const float *position, int64_t count, double lower[3], double upper[3])
{
  if (count <= 0) return false;
  float *values = mem_alloc(SAMPLES, sizeof *values);
  int64_t found = 0;
  for (int d = 0; d < 3; d++) {
    found = sample(position, count, d, values);
    if (found == 0) break;
    /* The tails give way twice: half a per cent by number, and whatever is many times the bulk's width away,
     * which is what keeps one runaway among ten particles from shrinking the others to a dot. */
    const double low = quantile(values, found, 0.1), high = quantile(values, found, 0.9),
                 reach = 4.0 * (high - low);
    lower[d] = fmax(quantile(values, found, 0.005), low - reach);
    upper[d] = fmin(quantile(values, found, 0.995), high + reach);
  }
  mem_free(values);
  return found > 0;
}

struct cells {
  double origin[3];
  double inverse; /* 1/m */
  uint64_t mask;
  uint32_t *counts;
};

static uint64_t slot(const struct cells *cells, int64_t i, int64_t j, int64_t k)
{
  return rng_mix((uint64_t)i * 0x9e3779b97f4a7c15u + (uint64_t)j * 0xd1342543de82ef95u +
                 (uint64_t)k * 0x2545f4914f6cdd1du) &
         cells->mask;
}

/* Cell coordinates of x plus an offset in cells; false if they are beyond counting. */
static bool cell_of(const struct cells *cells, const float *x, double offset, int64_t out[3])
{
  for (int d = 0; d < 3; d++) {
    const double u = ((double)x[d] - cells->origin[d]) * cells->inverse + offset;
    if (!(fabs(u) < 1e9)) return false;
    out[d] = (int64_t)floor(u);
  }
  return true;
}

/* Counts those with a value above a half; NULL: all. */
static void cells_count(struct cells *cells, const float *position, const float *value, int64_t count,
                        double extent)
{
  memset(cells->counts, 0, (size_t)(cells->mask + 1) * sizeof *cells->counts);
  cells->inverse = 1.0 / extent;
  for (int64_t i = 0; i < count; i++) {
    int64_t c[3];
    if (value && !(value[i] > 0.5f)) continue;
    if (cell_of(cells, position + 3 * i, 0.0, c)) cells->counts[slot(cells, c[0], c[1], c[2])]++;
  }
}

static void cells_create(struct cells *cells, int64_t count, const double origin[3])
{
  uint64_t slots = 1024;
  while (slots < (uint64_t)count) slots *= 2;
  memcpy(cells->origin, origin, sizeof cells->origin);
  cells->mask = slots - 1;
  cells->counts = mem_alloc(slots, sizeof *cells->counts);
}

/* Number of particles in the cell of the median particle. */
static double typical_count(const struct cells *cells, const float *position, int64_t count, float *values)
{
  const int64_t stride = (count + SAMPLES - 1) / SAMPLES;
  int64_t found = 0, c[3];
  for (int64_t i = 0; i < count; i += stride)
    if (cell_of(cells, position + 3 * i, 0.0, c))
      values[found++] = (float)cells->counts[slot(cells, c[0], c[1], c[2])];
  if (found == 0) return 0.0;
  qsort(values, (size_t)found, sizeof *values, ascending);
  return quantile(values, found, 0.5);
}

double cloud_spacing(const float *position, int64_t count)
{
  double lower[3], upper[3], widest = 0.0, volume = 1.0, spacing = 0.0;
  if (count < 8 || !cloud_bounds(position, count, lower, upper)) return 0.0;
  for (int d = 0; d < 3; d++) widest = fmax(widest, upper[d] - lower[d]);
  if (!(widest > 0.0)) return 0.0;
  for (int d = 0; d < 3; d++) volume *= fmax(upper[d] - lower[d], 1e-3 * widest);

  /* Cells of a dozen particles are large enough to average and small enough to lie inside the snow mostly. */
  const double wanted = 12.0;
  double extent = cbrt(volume * wanted / (double)count);
  float *values = mem_alloc(SAMPLES, sizeof *values);
  struct cells cells;
  cells_create(&cells, count, lower);
  for (int pass = 0; pass < 6; pass++) {
    cells_count(&cells, position, NULL, count, extent);
    const double typical = fmax(typical_count(&cells, position, count, values), 1.0);
    spacing = extent / cbrt(typical);
    if (typical > 0.5 * wanted && typical < 2.0 * wanted) break;
    extent *= fmin(fmax(cbrt(wanted / typical), 0.1), 4.0);
  }
  mem_free(cells.counts);
  mem_free(values);
  return fmin(spacing, widest);
}

/* Counted in the eight cells around the nearest corner. */
static uint32_t count_near(const struct cells *cells, const float *x)
{
  int64_t c[3];
  uint32_t near = 0;
  if (cell_of(cells, x, -0.5, c))
    for (int k = 0; k < 8; k++)
      near += cells->counts[slot(cells, c[0] + (k & 1), c[1] + (k >> 1 & 1), c[2] + (k >> 2))];
  return near;
}

void cloud_sizes(const float *position, int64_t count, double spacing, uint8_t *sizes)
{
  struct cells cells;
  double lower[3], upper[3];
  if (!cloud_bounds(position, count, lower, upper)) return;
  cells_create(&cells, count, lower);
  cells_count(&cells, position, NULL, count, 2.0 * spacing);
  for (int64_t i = 0; i < count; i++) {
    /* 64 particles inside snow, half of that on a flat surface. */
    const uint32_t size = 30 + 38 * count_near(&cells, position + 3 * i);
    sizes[i] = (uint8_t)(size < 255 ? size : 255);
  }
  mem_free(cells.counts);
}

void cloud_shares(const float *position, const float *value, int64_t count, double spacing, float *share)
{
  struct cells all, some;
  double lower[3], upper[3];
  if (!cloud_bounds(position, count, lower, upper)) return;
  /* At the surface there are few to count: a counter shared with a cell of the other kind would show. */
  cells_create(&all, 16 * count, lower);
  cells_create(&some, 16 * count, lower);
  cells_count(&all, position, NULL, count, 2.0 * spacing);
  cells_count(&some, position, value, count, 2.0 * spacing);
  for (int64_t i = 0; i < count; i++) {
    const uint32_t near = count_near(&all, position + 3 * i);
    share[i] = near ? (float)count_near(&some, position + 3 * i) / (float)near : 0.0f;
  }
  mem_free(all.counts);
  mem_free(some.counts);
}
