/* Meshes whose exact distance is known: a ball, a cube and a torus, all around the origin. */
#ifndef FIRN_TESTS_SUPPORT_SOLIDS_H
#define FIRN_TESTS_SUPPORT_SOLIDS_H

#include "base/rng.h"
#include "base/vec.h"
#include "levelset/mesh.h"

#include <stdbool.h>
#include <string.h>

enum solid { SOLID_BALL, SOLID_CUBE, SOLID_TORUS, SOLIDS };

static const double ball_radius = 0.4, cube_half = 0.35, torus_radius = 0.4, torus_tube = 0.15;

static inline double solid_distance(enum solid solid, const double x[3])
{
  if (solid == SOLID_BALL) return vec_norm(x) - ball_radius;
  if (solid == SOLID_TORUS) {
    const double q = sqrt(x[0] * x[0] + x[2] * x[2]) - torus_radius;
    return sqrt(q * q + x[1] * x[1]) - torus_tube;
  }
  double outside = 0.0, most = -INFINITY;
  for (int d = 0; d < 3; d++) {
    const double q = fabs(x[d]) - cube_half;
    if (q > 0.0) outside += q * q;
    most = fmax(most, q);
  }
  return most > 0.0 ? sqrt(outside) : most;
}

/* A square grid of n x n quads, bent to shape; `wrap` joins its ends. */
static inline struct mesh *solid_sheet(int n, bool wrap, int64_t first, struct mesh *mesh,
                                       void (*place)(double u, double v, int face, double x[3]), int face)
{
  const int rows = wrap ? n : n + 1;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++)
      place((double)i / n, (double)j / n, face, mesh->vertex[first + i * rows + j]);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      const int k = (i + 1) % rows, l = (j + 1) % rows;
      const int64_t quad[4] = {first + i * rows + j, first + k * rows + j, first + k * rows + l,
                               first + i * rows + l};
      int32_t(*t)[3] = mesh->triangle + 2 * ((int64_t)face * n * n + i * n + j);
      for (int c = 0; c < 3; c++) {
        t[0][c] = (int32_t)quad[c];
        t[1][c] = (int32_t)quad[(c + 2) % 4];
      }
    }
  return mesh;
}

static inline void place_on_torus(double u, double v, int face, double x[3])
{
  const double tau = 6.283185307179586, r = torus_radius + torus_tube * cos(tau * v);
  (void)face;
  x[0] = r * cos(tau * u);
  x[1] = torus_tube * sin(tau * v);
  x[2] = -r * sin(tau * u);
}

static inline void place_on_cube(double u, double v, int face, double x[3])
{
  const int a = face / 2, side = face % 2 ? 1 : -1;
  x[a] = side * cube_half;
  x[(a + 1) % 3] = cube_half * (2.0 * (side > 0 ? u : v) - 1.0);
  x[(a + 2) % 3] = cube_half * (2.0 * (side > 0 ? v : u) - 1.0);
}

static inline void place_on_ball(double u, double v, int face, double x[3])
{
  place_on_cube(u, v, face, x);
  const double length = vec_norm(x);
  for (int d = 0; d < 3; d++) x[d] *= ball_radius / length;
}

/* About 2 n^2 (torus) or 12 n^2 triangles. Vertices of the cube's edges are there twice or more. */
static inline struct mesh *solid_mesh(enum solid solid, int n)
{
  if (solid == SOLID_TORUS)
    return solid_sheet(n, true, 0, mesh_create((int64_t)n * n, 2 * (int64_t)n * n), place_on_torus, 0);
  struct mesh *mesh = mesh_create(6 * (int64_t)(n + 1) * (n + 1), 12 * (int64_t)n * n);
  for (int face = 0; face < 6; face++)
    solid_sheet(n, false, (int64_t)face * (n + 1) * (n + 1), mesh,
                solid == SOLID_CUBE ? place_on_cube : place_on_ball, face);
  return mesh;
}

/* Takes away, or turns over, this part of the triangles. */
static inline void solid_damage(struct mesh *mesh, double part, bool turn, uint64_t seed)
{
  int64_t kept = 0;
  for (int64_t t = 0; t < mesh->triangle_count; t++) {
    const bool hit = rng_uniform(seed, (uint64_t)t, 0) < part;
    if (hit && !turn) continue;
    int32_t corner[3];
    memcpy(corner, mesh->triangle[t], sizeof corner);
    mesh->triangle[kept][0] = corner[0];
    mesh->triangle[kept][1] = corner[hit ? 2 : 1];
    mesh->triangle[kept++][2] = corner[hit ? 1 : 2];
  }
  mesh->triangle_count = kept;
}

#endif
