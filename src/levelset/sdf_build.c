/* See sdf_build.h.
 *
 * Along a row each query begins with the triangle that the one before found. The sign comes
 * from the winding number w. Within the ball that the distance leaves empty w is harmonic, and one that is
 * near 0 or 1 in its middle (here within 0.1) stays on its side of 1/2 in the inner part of the ball; so far
 * from the surface few samples are asked. */
#include "levelset/sdf_build.h"

#include "base/memory.h"
#include "base/vec.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { MARGIN = 3 }; /* cells beyond the surface */

static const double tolerance = 0.01; /* cells that a distance may be too large */

void sdf_plan(struct sdf *sdf, const double lower[3], const double upper[3], double spacing)
{
  *sdf = (struct sdf){.spacing = spacing};
  for (int d = 0; d < 3; d++) {
    const double cells = ceil((upper[d] - lower[d]) / spacing) + 2.0 * MARGIN;
    sdf->n[d] = cells < 1e9 ? (int64_t)cells + 1 : (int64_t)1e9;
    sdf->lower[d] = 0.5 * (lower[d] + upper[d]) - 0.5 * cells * spacing;
  }
}

struct row {
  int32_t nearest; /* triangle of the last sample */
  bool inside;     /* sign of the last sample asked */
  double trust;    /* m, for how much farther it holds */
};

static float signed_distance(const struct bvh *bvh, const double x[3], double spacing, struct row *row,
                             struct bvh_hit *hit)
{
  *hit = bvh_nearest(bvh, x, row->nearest, tolerance * spacing);
  row->nearest = hit->triangle;
  row->trust -= spacing;
  if (!(row->trust >= 0.0)) {
    const double w = bvh_winding(bvh, x);
    row->inside = w > 0.5;
    row->trust = fabs(w - 0.5) > 0.4 ? 0.3 * hit->distance : -1.0;
  }
  return (float)(row->inside ? -hit->distance : hit->distance);
}

static void surface_velocity(const double *corner, const double weight[3], float out[3])
{
  for (int d = 0; d < 3; d++)
    out[d] = (float)(weight[0] * corner[d] + weight[1] * corner[3 + d] + weight[2] * corner[6 + d]);
}

void sdf_fill(const struct sdf *sdf, const struct bvh *bvh, const double (*speed)[9], int64_t from,
              int64_t to, float *phi, float *velocity)
{
  for (int64_t z = from; z < to; z++)
    for (int64_t y = 0; y < sdf->n[1]; y++) {
      struct row row = {.nearest = -1, .trust = -1.0};
      int64_t k = (z * sdf->n[1] + y) * sdf->n[0];
      for (int64_t x = 0; x < sdf->n[0]; x++, k++) {
        const double at[3] = {sdf->lower[0] + sdf->spacing * (double)x,
                              sdf->lower[1] + sdf->spacing * (double)y,
                              sdf->lower[2] + sdf->spacing * (double)z};
        struct bvh_hit hit;
        phi[k] = signed_distance(bvh, at, sdf->spacing, &row, &hit);
        if (velocity) surface_velocity(speed[hit.triangle], hit.weight, velocity + 3 * k);
      }
    }
}

/* --- holes --- */

/* Cuts the values of neighbours on both sides of a hole down to a spacing between them. Pairs are looked at
 * as the samples were before; the least cut wins. */
static int64_t cut_pairs(const struct sdf *sdf, const float *before, float *phi)
{
  const int64_t step[3] = {1, sdf->n[0], sdf->n[0] * sdf->n[1]};
  int64_t cut = 0;
  for (int64_t z = 0, k = 0; z < sdf->n[2]; z++)
    for (int64_t y = 0; y < sdf->n[1]; y++)
      for (int64_t x = 0; x < sdf->n[0]; x++, k++) {
        const int64_t at[3] = {x, y, z};
        for (int d = 0; d < 3; d++) {
          if (at[d] + 1 == sdf->n[d]) continue;
          const int64_t other = k + step[d];
          const double a = fabs((double)before[k]), b = fabs((double)before[other]);
          if ((before[k] <= 0.0f) == (before[other] <= 0.0f) ||
              a + b <= (1.0 + 4.0 * tolerance) * sdf->spacing)
            continue;
          const double scale = sdf->spacing / (a + b);
          const double near[2] = {fmin(fabs((double)phi[k]), scale * a),
                                  fmin(fabs((double)phi[other]), scale * b)};
          phi[k] = (float)(before[k] <= 0.0f ? -near[0] : near[0]);
          phi[other] = (float)(before[other] <= 0.0f ? -near[1] : near[1]);
          cut++;
        }
      }
  return cut;
}

/* The thirteen neighbours that come before a sample, and their distances. */
struct reach {
  int64_t x[13], y[13], z[13], offset[13];
  double length[13];
};

static void reach_create(struct reach *r, const struct sdf *sdf)
{
  int count = 0;
  for (int z = -1; z <= 0; z++)
    for (int y = -1; y <= (z < 0 ? 1 : 0); y++)
      for (int x = -1; x <= (z < 0 || y < 0 ? 1 : -1); x++) {
        r->x[count] = x;
        r->y[count] = y;
        r->z[count] = z;
        r->offset[count] = (z * sdf->n[1] + y) * sdf->n[0] + x;
        r->length[count++] = sdf->spacing * sqrt((double)(x * x + y * y + z * z));
      }
}

static bool in_grid(const struct sdf *sdf, int64_t x, int64_t y, int64_t z)
{
  return x >= 0 && y >= 0 && z >= 0 && x < sdf->n[0] && y < sdf->n[1] && z < sdf->n[2];
}

/* One sweep in one sense (1 or -1): no sample farther from the surface than a neighbour on its side plus the
 * way there. Returns whether anything changed. */
static bool sweep(const struct sdf *sdf, const struct reach *r, int sense, float *phi)
{
  const int64_t count = sdf_count(sdf);
  bool changed = false;
  for (int64_t i = 0; i < count; i++) {
    const int64_t k = sense > 0 ? i : count - 1 - i;
    const int64_t x = k % sdf->n[0], y = k / sdf->n[0] % sdf->n[1], z = k / (sdf->n[0] * sdf->n[1]);
    const bool inside = phi[k] <= 0.0f;
    double best = fabs((double)phi[k]);
    for (int j = 0; j < 13; j++) {
      if (!in_grid(sdf, x + sense * r->x[j], y + sense * r->y[j], z + sense * r->z[j])) continue;
      const float other = phi[k + sense * r->offset[j]];
      if ((other <= 0.0f) == inside) best = fmin(best, (fabs((double)other) + r->length[j]) * (1.0 + 1e-6));
    }
    const float kept = (float)best;
    if (!(kept < fabsf(phi[k]))) continue;
    phi[k] = inside ? -kept : kept;
    changed = true;
  }
  return changed;
}

int64_t sdf_close_holes(const struct sdf *sdf, float *phi)
{
  const size_t count = (size_t)sdf_count(sdf);
  float *before = mem_alloc(count, sizeof *before);
  for (size_t k = 0; k < count; k++) before[k] = phi[k];
  const int64_t cut = cut_pairs(sdf, before, phi);
  mem_free(before);
  struct reach reach;
  reach_create(&reach, sdf);
  for (bool changed = cut > 0; changed;) {
    changed = sweep(sdf, &reach, 1, phi);
    changed |= sweep(sdf, &reach, -1, phi);
  }
  return cut;
}
