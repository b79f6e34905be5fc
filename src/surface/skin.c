#include "surface/skin.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/vec.h"
#include "surface/grains.h"
#include "surface/march.h"

#include <math.h>
#include <string.h>

/* --- the grid --- */

/* Adds the corners of the tiles that the grains of a bin may reach, with `margin` nodes around them. */
static int32_t (*add_corners(int32_t (*corner)[3], int64_t *room, int64_t *count, const struct grains *g,
                             int64_t bin, double voxel, int margin))[3]
{
  int32_t low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {INT32_MIN, INT32_MIN, INT32_MIN};
  for (int64_t i = g->bins->start[bin]; i < g->bins->start[bin + 1]; i++)
    for (int d = 0; d < 3; d++) {
      const double x = (double)g->grain[i].x[d], half = (double)g->grain[i].half[d];
      const int32_t a = tile_floor((int32_t)floor((x - half) / voxel) - margin);
      const int32_t b = tile_floor((int32_t)ceil((x + half) / voxel) + margin);
      low[d] = a < low[d] ? a : low[d];
      high[d] = b > high[d] ? b : high[d];
    }
  for (int32_t x = low[0]; x <= high[0]; x += TILE_EDGE)
    for (int32_t y = low[1]; y <= high[1]; y += TILE_EDGE)
      for (int32_t z = low[2]; z <= high[2]; z += TILE_EDGE) {
        corner = mem_reserve(corner, room, *count + 1, sizeof *corner);
        const int32_t at[3] = {x, y, z};
        memcpy(corner[(*count)++], at, sizeof at);
      }
  return corner;
}

static struct tiles *cover(const struct grains *g, double voxel, int margin)
{
  static const double origin[3] = {0.0, 0.0, 0.0};
  int64_t room = 0, count = 0;
  int32_t(*corner)[3] = mem_alloc(0, sizeof *corner);
  for (int64_t b = 0; b < g->bins->bin_count; b++)
    corner = add_corners(corner, &room, &count, g, b, voxel, margin);
  struct tiles *tiles = tiles_create(voxel, origin, 0.0f, (const int32_t(*)[3])corner, count);
  mem_free(corner);
  return tiles;
}

static void add_grain(const struct grain *grain, const int32_t corner[3], double voxel, float *value)
{
  int low[3], high[3];
  for (int d = 0; d < 3; d++) {
    const double x = (double)grain->x[d] / voxel - corner[d], half = (double)grain->half[d] / voxel;
    const double a = ceil(x - half), b = floor(x + half);
    low[d] = a > 0.0 ? (int)fmin(a, TILE_EDGE) : 0;
    high[d] = b < TILE_EDGE - 1 ? (int)fmax(b, -1.0) : TILE_EDGE - 1;
  }
  for (int i = low[0]; i <= high[0]; i++)
    for (int j = low[1]; j <= high[1]; j++)
      for (int k = low[2]; k <= high[2]; k++)
        value[(i * TILE_EDGE + j) * TILE_EDGE + k] +=
            grain_at(grain, (float)(voxel * (corner[0] + i)), (float)(voxel * (corner[1] + j)),
                     (float)(voxel * (corner[2] + k)));
}

/* All grains that reach a tile, in the order of the bins. */
static void fill_tile(const struct grains *g, struct tiles *tiles, int64_t t)
{
  const double voxel = tiles->voxel;
  double from[3], to[3];
  int32_t low[3], high[3];
  for (int d = 0; d < 3; d++) {
    from[d] = voxel * tiles->corner[t][d] - g->reach;
    to[d] = voxel * (tiles->corner[t][d] + TILE_EDGE - 1) + g->reach;
  }
  bins_place(g->bins, from, low);
  bins_place(g->bins, to, high);
  for (int32_t x = low[0]; x <= high[0]; x++)
    for (int32_t y = low[1]; y <= high[1]; y++) {
      int64_t runs[BINS_RUNS][2];
      const int32_t a[3] = {x, y, low[2]}, b[3] = {x, y, high[2]};
      if (bins_around(g->bins, a, b, runs) == 0) continue;
      for (int64_t i = runs[0][0]; i < runs[0][1]; i++)
        add_grain(&g->grain[i], tiles->corner[t], voxel, tiles->value[t]);
    }
}

/* --- smoothing --- */

/* out = the mean of nodes with weights 1, 2, 1 along each axis. */
static void blur(const struct tiles *tiles, const float (*from)[TILE_NODES], float (*out)[TILE_NODES],
                 int threads)
{
  static const int stride[3] = {TILE_APRON * TILE_APRON, TILE_APRON, 1};
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
  for (int64_t t = 0; t < tiles->count; t++) {
    float a[TILE_APRON * TILE_APRON * TILE_APRON], b[TILE_APRON * TILE_APRON * TILE_APRON];
    int64_t around[27];
    tiles_around(tiles, t, around);
    tiles_gather(tiles, from, around, a);
    for (int d = 0; d < 3; d++) {
      memcpy(b, a, sizeof a);
      for (int k = stride[d]; k < TILE_APRON * TILE_APRON * TILE_APRON - stride[d]; k++)
        b[k] = 0.25f * (a[k - stride[d]] + a[k + stride[d]]) + 0.5f * a[k];
      memcpy(a, b, sizeof a);
    }
    for (int k = 0; k < TILE_NODES; k++)
      out[t][k] = a[((k >> 6) + 1) * stride[0] + ((k >> 3 & 7) + 1) * stride[1] + (k & 7) + 1];
  }
}

/* Smoothing S alone moves a curved surface inwards; 2 S - S^2 does not, to second order. */
static void smooth(struct tiles *tiles, int passes, int threads)
{
  float(*once)[TILE_NODES] = mem_alloc((size_t)tiles->count, sizeof *once);
  float(*twice)[TILE_NODES] = mem_alloc((size_t)tiles->count, sizeof *twice);
  for (int pass = 0; pass < passes; pass++) {
    blur(tiles, (const float(*)[TILE_NODES])tiles->value, once, threads);
    blur(tiles, (const float(*)[TILE_NODES])once, twice, threads);
    for (int64_t t = 0; t < tiles->count; t++)
      for (int k = 0; k < TILE_NODES; k++) tiles->value[t][k] = 2.0f * once[t][k] - twice[t][k];
  }
  mem_free(once);
  mem_free(twice);
}

/* --- vertices --- */

static void find_normals(struct skin *s)
{
  double(*sum)[3] = mem_alloc((size_t)s->mesh->vertex_count, sizeof *sum);
  for (int64_t t = 0; t < s->mesh->triangle_count; t++) {
    const int32_t *v = s->mesh->triangle[t];
    double n[3];
    mesh_normal(s->mesh, t, n);
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++) sum[v[k]][d] += n[d];
    s->volume += vec_dot(n, s->mesh->vertex[v[0]]) / 3.0;
  }
  for (int64_t v = 0; v < s->mesh->vertex_count; v++) {
    vec_normalize(sum[v]);
    for (int d = 0; d < 3; d++) s->normal[v][d] = (float)sum[v][d];
  }
  mem_free(sum);
}

void skin_velocity(const struct skin *s, const double x[3], float out[3])
{
  const struct grains *g = s->grains;
  const float *velocity = s->particle_velocity;
  int64_t runs[BINS_RUNS][2];
  int32_t bin[3];
  double sum[3] = {0.0, 0.0, 0.0}, weights = 0.0;
  bins_place(g->bins, x, bin);
  const int32_t low[3] = {bin[0] - 2, bin[1] - 2, bin[2] - 2}, high[3] = {bin[0] + 2, bin[1] + 2, bin[2] + 2};
  const int count = bins_around(g->bins, low, high, runs);
  for (int r = 0; r < count; r++)
    for (int64_t i = runs[r][0]; i < runs[r][1]; i++) {
      const float *y = g->grain[i].x, *v = velocity + 3 * (int64_t)g->bins->order[i];
      const double a = (double)y[0] - x[0], b = (double)y[1] - x[1], c = (double)y[2] - x[2];
      const double left = 1.0 - (a * a + b * b + c * c) / (g->reach * g->reach);
      if (left <= 0.0) continue;
      weights += left * left * left;
      for (int d = 0; d < 3; d++) sum[d] += left * left * left * (double)v[d];
    }
  for (int d = 0; d < 3; d++) out[d] = weights > 0.0 ? (float)(sum[d] / weights) : 0.0f;
}

struct skin *skin_create(const float *position, const float *velocity, int64_t count,
                         const struct skin_options *o)
{
  struct skin *s = mem_alloc(1, sizeof *s);
  struct grains *g = grains_create(position, count, o->spacing, o->anisotropic, o->threads);
  s->grains = g;
  s->particle_velocity = velocity;
  struct tiles *tiles = cover(g, o->voxel, 2 * o->smoothing + 2);
#pragma omp parallel for num_threads(o->threads) schedule(dynamic, 4)
  for (int64_t t = 0; t < tiles->count; t++) fill_tile(g, tiles, t);
  smooth(tiles, o->smoothing, o->threads);
  for (int64_t t = 0; t < tiles->count; t++)
    for (int k = 0; k < TILE_NODES; k++) tiles->value[t][k] = 0.5f - tiles->value[t][k];
  tiles->outside = 0.5f;
  s->mesh = march(tiles);
  tiles_destroy(&tiles);
  s->normal = mem_alloc((size_t)s->mesh->vertex_count, sizeof *s->normal);
  s->velocity = mem_alloc((size_t)s->mesh->vertex_count, sizeof *s->velocity);
  find_normals(s);
#pragma omp parallel for num_threads(o->threads) schedule(dynamic, 256)
  for (int64_t v = 0; v < s->mesh->vertex_count; v++) skin_velocity(s, s->mesh->vertex[v], s->velocity[v]);
  return s;
}

void skin_destroy(struct skin **skin)
{
  if (!*skin) return;
  grains_destroy(&(*skin)->grains);
  mesh_destroy(&(*skin)->mesh);
  mem_free((*skin)->normal);
  mem_free((*skin)->velocity);
  mem_free(*skin);
  *skin = NULL;
}
