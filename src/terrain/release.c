#include "terrain/release.h"

#include "base/memory.h"

#include <math.h>
#include <stddef.h>

void release_destroy(struct release **release)
{
  if (!*release) return;
  mem_free((*release)->thick);
  mem_free(*release);
  *release = NULL;
}

/* Height over the ground (m), and the root of 1 + slope^2 there. */
static double above(const struct release *r, const double p[3], double slope[2], double *steep)
{
  const double gap =
      p[1] - r->middle[1] - heights_at(r->ground, p[0] - r->middle[0], p[2] - r->middle[2], slope);
  *steep = sqrt(1.0 + slope[0] * slope[0] + slope[1] * slope[1]);
  return gap;
}

double release_thickness(const struct release *r, double x, double z)
{
  const double i = floor((x - r->first[0]) / r->step + 0.5), j = floor((z - r->first[1]) / r->step + 0.5);
  if (!(i >= 0.0 && j >= 0.0 && i < (double)r->n[0] && j < (double)r->n[1])) return 0.0;
  return (double)r->thick[(int64_t)j * r->n[0] + (int64_t)i];
}

double release_distance(const struct release *r, const double p[3], double n[3])
{
  double slope[2], steep;
  const double gap = above(r, p, slope, &steep), normal = r->vertical ? gap : gap / steep;
  /* where it stands: a point along the normal lies off its foot */
  const double back = r->vertical ? 0.0 : normal / steep;
  const double thick = release_thickness(r, p[0] + back * slope[0], p[2] + back * slope[1]);
  const bool top = normal > 0.5 * thick;
  if (n) {
    const double side = top ? 1.0 : -1.0;
    n[0] = -side * slope[0] / steep;
    n[1] = side / steep;
    n[2] = -side * slope[1] / steep;
  }
  if (thick > 0.0) return top ? normal - thick : -normal;
  return fmax(fabs(normal), 0.5 * r->step); /* beside it */
}

/* Least and most thickness over a square of the map. */
static void thickness_range(const struct release *r, double x, double z, double reach, double *least,
                            double *most)
{
  const double at[2] = {x, z};
  int64_t from[2], to[2];
  *least = INFINITY;
  *most = 0.0;
  for (int k = 0; k < 2; k++) {
    const double low = floor((at[k] - reach - r->first[k]) / r->step + 0.5),
                 high = floor((at[k] + reach - r->first[k]) / r->step + 0.5);
    if (low < 0.0 || high >= (double)r->n[k]) *least = 0.0;
    from[k] = (int64_t)fmax(low, 0.0);
    to[k] = (int64_t)fmin(high, (double)(r->n[k] - 1));
  }
  for (int64_t j = from[1]; j <= to[1]; j++)
    for (int64_t i = from[0]; i <= to[0]; i++) {
      const double thick = (double)r->thick[j * r->n[0] + i];
      *least = fmin(*least, thick);
      *most = fmax(*most, thick);
    }
  if (*least == INFINITY) *least = 0.0;
}

void release_range(const struct release *r, const double p[3], double radius, double *least, double *most)
{
  double slope[2], steep, thin, thick;
  const double gap = above(r, p, slope, &steep),
               limit = sqrt(1.0 + r->ground->steepest * r->ground->steepest);
  const double low_gap = gap - radius * limit, high_gap = gap + radius * limit;
  /* Divided by a steepness between 1 and the limit. */
  const double low = r->vertical ? low_gap : low_gap > 0.0 ? low_gap / limit : low_gap;
  const double high = r->vertical ? high_gap : high_gap > 0.0 ? high_gap : high_gap / limit;
  const double off = r->vertical ? 0.0 : fmax(fabs(low), fabs(high));
  thickness_range(r, p[0], p[2], radius + off, &thin, &thick);
  const double beside = fmax(fmax(fabs(low), fabs(high)), 0.5 * r->step);
  if (thick == 0.0) {
    *least = fmax(low > 0.0 ? low : high < 0.0 ? -high : 0.0, 0.5 * r->step);
    *most = beside;
    return;
  }
  *least = fmax(-high, low - thick);
  *most = fmax(-low, high - thin);
  if (thin > 0.0) return;
  *least = fmin(*least, 0.5 * r->step);
  *most = fmax(*most, beside);
}

void release_bounds(const struct release *r, double low[3], double high[3])
{
  for (int d = 0; d < 3; d++) {
    low[d] = INFINITY;
    high[d] = -INFINITY;
  }
  for (int64_t j = 0; j < r->n[1]; j++)
    for (int64_t i = 0; i < r->n[0]; i++) {
      const double thick = (double)r->thick[j * r->n[0] + i];
      if (!(thick > 0.0)) continue;
      const double x = r->first[0] + (double)i * r->step, z = r->first[1] + (double)j * r->step;
      const double side = 0.5 * r->step + (r->vertical ? 0.0 : thick);
      const double ground = r->middle[1] + heights_only(r->ground, x - r->middle[0], z - r->middle[2]);
      const double rise = 0.5 * r->step * r->ground->steepest;
      low[0] = fmin(low[0], x - side);
      high[0] = fmax(high[0], x + side);
      low[1] = fmin(low[1], ground - rise);
      high[1] = fmax(high[1], ground + rise + thick);
      low[2] = fmin(low[2], z - side);
      high[2] = fmax(high[2], z + side);
    }
}

double release_volume(const struct release *r)
{
  double sum = 0.0, slope[2];
  for (int64_t j = 0; j < r->n[1]; j++)
    for (int64_t i = 0; i < r->n[0]; i++) {
      const double thick = (double)r->thick[j * r->n[0] + i];
      if (!(thick > 0.0)) continue;
      heights_at(r->ground, r->first[0] + (double)i * r->step - r->middle[0],
                 r->first[1] + (double)j * r->step - r->middle[2], slope);
      const double steep = sqrt(1.0 + slope[0] * slope[0] + slope[1] * slope[1]);
      sum += thick * r->step * r->step * (r->vertical ? 1.0 : steep);
    }
  return sum;
}
