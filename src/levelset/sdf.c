/* See sdf.h.
 *
 * The gradient is that of central differences at the samples, interpolated: unlike the gradient of the
 * trilinear value it has no jumps at cell faces, and what slides along a body would feel each of them.
 * Outside the grid the nearest point c of its box and the distance there give sqrt(phi(c)^2 + |x - c|^2),
 * which never exceeds the distance, since the box is convex and the surface lies inside. */
#include "levelset/sdf.h"

#include "base/vec.h"

#include <math.h>
#include <stddef.h>

/* Samples of a true distance differ by no more than their own distance; where a hole was closed they may
 * differ by as much as the detour along grid diagonals, 1.13 times that. A trilinear value is a mean of
 * samples not farther than a cell's diagonal, and no component of its slope exceeds the largest of an edge.
 */
static const double steepness = 1.15;
static const double diagonal = 1.7320508075688773;

int64_t sdf_count(const struct sdf *sdf)
{
  return sdf->n[0] * sdf->n[1] * sdf->n[2];
}

void sdf_bounds(const struct sdf *sdf, double lower[3], double upper[3])
{
  for (int d = 0; d < 3; d++) {
    lower[d] = sdf->lower[d];
    upper[d] = sdf->lower[d] + sdf->spacing * (double)(sdf->n[d] - 1);
  }
}

/* A place between samples: index of the lower corner, and the fractions. */
struct place {
  int64_t base, step[3];
  double f[3];
};

/* Returns the squared distance (m^2) from x to its place, which is in the grid. */
static double locate(const struct sdf *sdf, const double x[3], struct place *place)
{
  double beyond = 0.0;
  int64_t index[3];
  for (int d = 0; d < 3; d++) {
    const double top = (double)(sdf->n[d] - 1), u = (x[d] - sdf->lower[d]) / sdf->spacing;
    const double in = u > 0.0 ? (u < top ? u : top) : 0.0; /* NaN goes to 0 */
    const double off = (u - in) * sdf->spacing;
    beyond += off * off;
    index[d] = (int64_t)in;
    if (index[d] > sdf->n[d] - 2) index[d] = sdf->n[d] - 2;
    place->f[d] = in - (double)index[d];
  }
  place->step[0] = 1;
  place->step[1] = sdf->n[0];
  place->step[2] = sdf->n[0] * sdf->n[1];
  place->base = index[0] + index[1] * place->step[1] + index[2] * place->step[2];
  return beyond;
}

static double mix(double a, double b, double f)
{
  return a + f * (b - a);
}

/* Trilinear; `stride` floats per sample, and this is the component at `values`. */
static double interpolate(const float *values, int64_t stride, const struct place *p)
{
  double plane[2];
  for (int k = 0; k < 2; k++) {
    const float *v = values + stride * (p->base + k * p->step[2]);
    const int64_t y = stride * p->step[1];
    plane[k] = mix(mix((double)v[0], (double)v[stride], p->f[0]),
                   mix((double)v[y], (double)v[y + stride], p->f[0]), p->f[1]);
  }
  return mix(plane[0], plane[1], p->f[2]);
}

static void gradient(const struct sdf *sdf, const double x[3], double g[3])
{
  for (int d = 0; d < 3; d++) {
    double side[2];
    for (int k = 0; k < 2; k++) {
      struct place p;
      double at[3] = {x[0], x[1], x[2]};
      at[d] += k ? sdf->spacing : -sdf->spacing;
      locate(sdf, at, &p);
      side[k] = interpolate(sdf->phi, 1, &p);
    }
    g[d] = side[1] - side[0];
  }
}

double sdf_distance(const struct sdf *sdf, const double x[3], double g[3])
{
  struct place p;
  const double beyond = locate(sdf, x, &p), phi = interpolate(sdf->phi, 1, &p);
  if (g) gradient(sdf, x, g);
  if (beyond == 0.0) return phi;
  const double near = phi > 0.0 ? phi : 0.0, distance = sqrt(near * near + beyond);
  for (int d = 0; d < 3 && g; d++) {
    const double low = sdf->lower[d], high = low + sdf->spacing * (double)(sdf->n[d] - 1);
    const double c = x[d] > low ? (x[d] < high ? x[d] : high) : low;
    g[d] = (near * g[d] / (2.0 * sdf->spacing) + (x[d] - c)) / distance;
  }
  return distance;
}

void sdf_velocity(const struct sdf *sdf, const double x[3], double v[3])
{
  v[0] = v[1] = v[2] = 0.0;
  if (!sdf->velocity) return;
  struct place p;
  locate(sdf, x, &p);
  for (int d = 0; d < 3; d++) v[d] = interpolate(sdf->velocity + d, 3, &p);
}

void sdf_range(const struct sdf *sdf, const double x[3], double radius, double *least, double *most)
{
  const double distance = sdf_distance(sdf, x, NULL);
  const double slack = steepness * fmin(diagonal * radius, radius + 2.0 * diagonal * sdf->spacing);
  *least = distance - slack;
  *most = distance + slack;
}

int sdf_inner_bounds(const struct sdf *sdf, double lower[3], double upper[3])
{
  int64_t low[3] = {sdf->n[0], sdf->n[1], sdf->n[2]}, high[3] = {-1, -1, -1};
  int found = 0; /* a sheet that passes through samples encloses none */
  for (int64_t z = 0, k = 0; z < sdf->n[2]; z++)
    for (int64_t y = 0; y < sdf->n[1]; y++)
      for (int64_t x = 0; x < sdf->n[0]; x++, k++) {
        if (sdf->phi[k] > 0.0f) continue;
        found |= sdf->phi[k] < 0.0f;
        const int64_t at[3] = {x, y, z};
        for (int d = 0; d < 3; d++) {
          if (at[d] < low[d]) low[d] = at[d];
          if (at[d] > high[d]) high[d] = at[d];
        }
      }
  for (int d = 0; d < 3; d++) {
    lower[d] = sdf->lower[d] + sdf->spacing * (double)(low[d] > 0 ? low[d] - 1 : 0);
    upper[d] = sdf->lower[d] + sdf->spacing * (double)(high[d] + 1 < sdf->n[d] ? high[d] + 1 : high[d]);
  }
  return found;
}
