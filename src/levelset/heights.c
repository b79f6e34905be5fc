/* See heights.h. A slope is interpolated from central differences at the samples, so that it has no jumps
 * where the bilinear surface has its edges. */
#include "levelset/heights.h"

#include "base/fmath.h"
#include "base/memory.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { MOST_SAMPLES = 4096 };

static const double two_pi = 0x1.921fb54442d18p+2;

static double smoothstep(double t)
{
  t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
  return t * t * (3.0 - 2.0 * t);
}

/* Random values at whole numbers, joined by a quintic whose first and second slopes vanish there. */
static double value_noise(double x, double z, uint64_t seed, uint64_t octave)
{
  const double cell[2] = {floor(x), floor(z)};
  double f[2] = {x - cell[0], z - cell[1]}, corner[2][2];
  for (int k = 0; k < 2; k++) f[k] = f[k] * f[k] * f[k] * (f[k] * (f[k] * 6.0 - 15.0) + 10.0);
  for (int j = 0; j < 2; j++)
    for (int i = 0; i < 2; i++) {
      const uint64_t column = (uint64_t)((int64_t)cell[0] + i), row = (uint64_t)((int64_t)cell[1] + j);
      corner[j][i] = rng_uniform(seed, rng_mix(column) + row, octave);
    }
  const double low = corner[0][0] + f[0] * (corner[0][1] - corner[0][0]);
  const double high = corner[1][0] + f[0] * (corner[1][1] - corner[1][0]);
  return low + f[1] * (high - low);
}

static double form_height(const struct heights_parameters *p, const double half[2], double x, double z)
{
  const double a = p->height, w = p->wavelength;
  switch (p->form) {
  case HEIGHTS_SLOPE: return a * x / (2.0 * half[0]);
  case HEIGHTS_RAMP: return a * (1.0 - smoothstep(x / w + 0.5));
  case HEIGHTS_HILL: {
    const double r2 = 4.0 * (x * x + z * z) / (w * w), fall = r2 < 1.0 ? 1.0 - r2 : 0.0;
    return a * fall * fall;
  }
  case HEIGHTS_BUMPS: {
    double sine, cx, cz;
    fmath_sincos(two_pi * x / w, &sine, &cx);
    fmath_sincos(two_pi * z / w, &sine, &cz);
    return 0.25 * a * (1.0 + cx) * (1.0 + cz);
  }
  default: break;
  }
  double sum = 0.0, weight = 1.0, total = 0.0, scale = 1.0 / w;
  for (int k = 0; k < p->octaves; k++) {
    sum += weight * value_noise(x * scale, z * scale, p->seed, (uint64_t)k);
    total += weight;
    weight *= 0.5;
    scale *= 2.0;
  }
  return a * sum / total;
}

/* Range and steepness, once the samples are there. */
static void survey(struct heights *h)
{
  double slope[2] = {0.0, 0.0};
  h->lowest = h->highest = (double)h->value[0];
  for (int64_t j = 0; j < h->n[1]; j++)
    for (int64_t i = 0; i < h->n[0]; i++) {
      const float *v = h->value + j * h->n[0] + i;
      h->lowest = fmin(h->lowest, (double)*v);
      h->highest = fmax(h->highest, (double)*v);
      if (i > 0) slope[0] = fmax(slope[0], fabs((double)v[0] - (double)v[-1]) / h->step[0]);
      if (j > 0) slope[1] = fmax(slope[1], fabs((double)v[0] - (double)v[-h->n[0]]) / h->step[1]);
    }
  h->steepest = sqrt(slope[0] * slope[0] + slope[1] * slope[1]);
}

static struct heights *make(int64_t nx, int64_t nz, const double half[2])
{
  struct heights *h = mem_alloc(1, sizeof *h);
  h->n[0] = nx;
  h->n[1] = nz;
  for (int k = 0; k < 2; k++) {
    h->half[k] = half[k];
    h->step[k] = 2.0 * half[k] / (double)(h->n[k] - 1);
  }
  h->value = mem_alloc((size_t)(nx * nz), sizeof *h->value);
  return h;
}

struct heights *heights_create(const struct heights_parameters *p, const double half[2], double spacing)
{
  int64_t n[2];
  for (int k = 0; k < 2; k++) {
    const double wanted = ceil(2.0 * half[k] / spacing) + 1.0;
    n[k] = wanted < 2.0 ? 2 : wanted > MOST_SAMPLES ? MOST_SAMPLES : (int64_t)wanted;
  }
  struct heights *h = make(n[0], n[1], half);
  for (int64_t j = 0; j < n[1]; j++)
    for (int64_t i = 0; i < n[0]; i++)
      h->value[j * n[0] + i] =
          (float)form_height(p, half, (double)i * h->step[0] - half[0], (double)j * h->step[1] - half[1]);
  survey(h);
  return h;
}

struct heights *heights_from_samples(const float *value, int64_t nx, int64_t nz, const double half[2])
{
  struct heights *h = make(nx, nz, half);
  memcpy(h->value, value, (size_t)(nx * nz) * sizeof *value);
  survey(h);
  return h;
}

void heights_scale(struct heights *h, double factor)
{
  for (int64_t k = 0; k < h->n[0] * h->n[1]; k++) h->value[k] = (float)(factor * (double)h->value[k]);
  survey(h);
}

void heights_destroy(struct heights **heights)
{
  if (!*heights) return;
  mem_free((*heights)->value);
  mem_free(*heights);
  *heights = NULL;
}

/* Lower sample and fraction of a coordinate, clamped to the footprint. */
static int64_t locate(const struct heights *h, int axis, double at, double *fraction)
{
  const double top = (double)(h->n[axis] - 1), u = (at + h->half[axis]) / h->step[axis];
  const double in = u > 0.0 ? (u < top ? u : top) : 0.0;
  int64_t k = (int64_t)in;
  if (k > h->n[axis] - 2) k = h->n[axis] - 2;
  *fraction = in - (double)k;
  return k;
}

static double bilinear(const struct heights *h, double x, double z)
{
  double f, g;
  const int64_t i = locate(h, 0, x, &f), j = locate(h, 1, z, &g);
  const float *v = h->value + j * h->n[0] + i, *w = v + h->n[0];
  const double low = (double)v[0] + f * ((double)v[1] - (double)v[0]);
  const double high = (double)w[0] + f * ((double)w[1] - (double)w[0]);
  return low + g * (high - low);
}

double heights_only(const struct heights *h, double x, double z)
{
  return bilinear(h, x, z);
}

double heights_at(const struct heights *h, double x, double z, double slope[2])
{
  slope[0] = (bilinear(h, x + h->step[0], z) - bilinear(h, x - h->step[0], z)) / (2.0 * h->step[0]);
  slope[1] = (bilinear(h, x, z + h->step[1]) - bilinear(h, x, z - h->step[1])) / (2.0 * h->step[1]);
  return bilinear(h, x, z);
}
