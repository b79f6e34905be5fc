/* Lengths below are in particle spacings. The volume of a particle follows from how many are near: that of
 * the denser ones among its neighbours, since at a surface half of the neighbours are missing. */
#include "surface/grains.h"

#include "base/memory.h"

#include <math.h>
#include <stddef.h>

static const double near_radius = 2.5;      /* who counts as a neighbour */
static const double kernel_radius = 2.2;    /* of a grain inside the snow */
static const double lonely_radius = 1.0;    /* of one without neighbours */
static const double longest = 3.0;          /* of half an axis of an ellipsoid */
static const double flattest = 4.0;         /* ratio of the axes at most */
static const double few = 6.0, many = 25.0; /* neighbours that make lonely and not */

/* Eigenvalues and unit vectors (columns of v) of a symmetric matrix, by Jacobi rotations. */
static void eigen(double a[3][3], double v[3][3])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) v[i][j] = i == j;
  for (int sweep = 0; sweep < 8; sweep++)
    for (int p = 0; p < 2; p++)
      for (int q = p + 1; q < 3; q++) {
        if (!(fabs(a[p][q]) > 1e-14 * (fabs(a[p][p]) + fabs(a[q][q])))) continue;
        const double theta = 0.5 * (a[q][q] - a[p][p]) / a[p][q];
        const double t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
        const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
        for (int k = 0; k < 3; k++) {
          const double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y;
          a[k][q] = s * x + c * y;
        }
        for (int k = 0; k < 3; k++) {
          const double x = a[p][k], y = a[q][k];
          a[p][k] = c * x - s * y;
          a[q][k] = s * x + c * y;
        }
        for (int k = 0; k < 3; k++) {
          const double x = v[k][p], y = v[k][q];
          v[k][p] = c * x - s * y;
          v[k][q] = s * x + c * y;
        }
      }
}

/* What a particle's neighbours are like; sums over them in the order of the bins. */
struct sums {
  double weight, first[3], second[6];
  int count;
};

static void add_neighbours(struct sums *s, const struct grains *g, int64_t i, double radius,
                           int64_t runs[BINS_RUNS][2], int run_count)
{
  const float *x = g->grain[i].x;
  for (int r = 0; r < run_count; r++)
    for (int64_t j = runs[r][0]; j < runs[r][1]; j++) {
      const float *y = g->grain[j].x;
      const double d[3] = {(double)y[0] - (double)x[0], (double)y[1] - (double)x[1],
                           (double)y[2] - (double)x[2]};
      const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
      if (square >= radius * radius) continue;
      const double q = sqrt(square) / radius, w = 1.0 - q * q * q;
      s->count++;
      s->weight += w;
      for (int k = 0; k < 3; k++) s->first[k] += w * d[k];
      s->second[0] += w * d[0] * d[0];
      s->second[1] += w * d[0] * d[1];
      s->second[2] += w * d[0] * d[2];
      s->second[3] += w * d[1] * d[1];
      s->second[4] += w * d[1] * d[2];
      s->second[5] += w * d[2] * d[2];
    }
}

/* Half the axes of the ellipsoid (m) along the columns of v. */
static void find_axes(const struct sums *s, double spacing, int anisotropic, double axis[3], double v[3][3])
{
  const double part = fmin(fmax((s->count - few) / (many - few), 0.0), 1.0);
  const double radius = spacing * (lonely_radius + part * (kernel_radius - lonely_radius));
  double c[3][3], root[3], product = 1.0, most = 0.0;
  static const int at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      c[i][j] = s->second[at[i][j]] / s->weight - s->first[i] / s->weight * s->first[j] / s->weight;
  eigen(c, v);
  for (int k = 0; k < 3; k++) {
    axis[k] = radius;
    root[k] = sqrt(fmax(c[k][k], 0.0));
    most = fmax(most, root[k]);
  }
  if (!anisotropic || part <= 0.0 || !(most > 0.0)) return;
  for (int k = 0; k < 3; k++) {
    root[k] = fmax(root[k], most / flattest);
    product *= root[k];
  }
  for (int k = 0; k < 3; k++) {
    const double stretched = radius * root[k] / cbrt(product);
    axis[k] = fmin(radius + part * (stretched - radius), longest * spacing);
  }
}

static void shape_grain(struct grain *g, const double axis[3], double v[3][3])
{
  static const int at[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
  for (int k = 0; k < 6; k++) {
    double sum = 0.0;
    for (int e = 0; e < 3; e++) sum += v[at[k][0]][e] * v[at[k][1]][e] / axis[e];
    g->map[k] = (float)sum;
  }
  g->scale = (float)(1.0 / (axis[0] * axis[1] * axis[2]));
  for (int d = 0; d < 3; d++) {
    double square = 0.0;
    for (int e = 0; e < 3; e++) square += v[d][e] * v[d][e] * axis[e] * axis[e];
    g->half[d] = (float)sqrt(square);
  }
}

/* The runs of neighbours are the same for all of a bin. */
static int runs_of(const struct grains *g, int64_t bin, int64_t runs[BINS_RUNS][2])
{
  const int32_t *b = g->bins->bin[bin], low[3] = {b[0] - 1, b[1] - 1, b[2] - 1},
                high[3] = {b[0] + 1, b[1] + 1, b[2] + 1};
  return bins_around(g->bins, low, high, runs);
}

/* Particles per spacing^3 around each, and the ellipsoids. */
static void shape_bin(struct grains *g, int64_t bin, double spacing, int anisotropic, float *number)
{
  int64_t runs[BINS_RUNS][2];
  const int run_count = runs_of(g, bin, runs);
  const double radius = near_radius * spacing;
  for (int64_t i = g->bins->start[bin]; i < g->bins->start[bin + 1]; i++) {
    struct sums s = {.weight = 0.0};
    double axis[3], v[3][3];
    add_neighbours(&s, g, i, radius, runs, run_count);
    /* The weights of a uniform density add up to it times 2 pi / 3 radius^3; the particle itself is not a
     * sample of what is around it. */
    number[i] = (float)((s.weight - 1.0) / (2.0943951 * radius * radius * radius));
    find_axes(&s, spacing, anisotropic, axis, v);
    shape_grain(&g->grain[i], axis, v);
  }
}

static void size_bin(struct grains *g, int64_t bin, double spacing, const float *number)
{
  int64_t runs[BINS_RUNS][2];
  const int run_count = runs_of(g, bin, runs);
  const double radius = near_radius * spacing, usual = 1.0 / (spacing * spacing * spacing);
  for (int64_t i = g->bins->start[bin]; i < g->bins->start[bin + 1]; i++) {
    double sum = 0.0, weights = 0.0;
    const float *x = g->grain[i].x;
    for (int r = 0; r < run_count; r++)
      for (int64_t j = runs[r][0]; j < runs[r][1]; j++) {
        const float *y = g->grain[j].x;
        const double a = (double)y[0] - (double)x[0], b = (double)y[1] - (double)x[1],
                     c = (double)y[2] - (double)x[2];
        if (a * a + b * b + c * c >= radius * radius) continue;
        const double n = (double)number[j] / usual, n2 = n * n, n4 = n2 * n2, w = n4 * n4;
        sum += w * n;
        weights += w;
      }
    /* Alone or nearly so, it is as large as those inside. */
    const double n = weights > 0.0 ? fmax(sum / weights, 0.5) : 1.0;
    g->grain[i].volume = (float)(1.0 / (n * usual));
  }
}

struct grains *grains_create(const float *position, int64_t count, double spacing, int anisotropic,
                             int threads)
{
  struct grains *g = mem_alloc(1, sizeof *g);
  g->count = count;
  g->reach = longest * spacing;
  g->bins = bins_create(position, count, near_radius * spacing);
  g->grain = mem_alloc((size_t)count, sizeof *g->grain);
  float *number = mem_alloc((size_t)count, sizeof *number);
  for (int64_t i = 0; i < count; i++)
    for (int d = 0; d < 3; d++) g->grain[i].x[d] = position[3 * (int64_t)g->bins->order[i] + d];
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
  for (int64_t b = 0; b < g->bins->bin_count; b++) shape_bin(g, b, spacing, anisotropic, number);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
  for (int64_t b = 0; b < g->bins->bin_count; b++) size_bin(g, b, spacing, number);
  mem_free(number);
  return g;
}

void grains_destroy(struct grains **grains)
{
  if (!*grains) return;
  bins_destroy(&(*grains)->bins);
  mem_free((*grains)->grain);
  mem_free(*grains);
  *grains = NULL;
}
