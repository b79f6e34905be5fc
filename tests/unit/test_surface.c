/* Surfaces of particles: closed, in the right place, the same on any number of threads. */
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "surface/march.h"
#include "surface/skin.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct edge {
  int32_t from, to;
};

static int by_ends(const void *a, const void *b)
{
  const struct edge *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

/* Every edge belongs to two triangles, which run along it in opposite directions: sorted, the directed edges
 * are all different, and each has its opposite. */
static void assert_closed(const struct mesh *mesh)
{
  const int64_t count = 3 * mesh->triangle_count;
  struct edge *edges = mem_alloc((size_t)count, sizeof *edges);
  for (int64_t t = 0; t < mesh->triangle_count; t++)
    for (int k = 0; k < 3; k++)
      edges[3 * t + k] = (struct edge){mesh->triangle[t][k], mesh->triangle[t][(k + 1) % 3]};
  qsort(edges, (size_t)count, sizeof *edges, by_ends);
  for (int64_t e = 0; e < count; e++) {
    const struct edge back = {edges[e].to, edges[e].from};
    assert_int_not_equal(edges[e].from, edges[e].to);
    if (e > 0) assert_int_not_equal(by_ends(&edges[e], &edges[e - 1]), 0);
    assert_non_null(bsearch(&back, edges, (size_t)count, sizeof *edges, by_ends));
  }
  mem_free(edges);
}

static double volume_of(const struct mesh *mesh)
{
  double sum = 0.0;
  for (int64_t t = 0; t < mesh->triangle_count; t++) {
    double n[3];
    mesh_normal(mesh, t, n);
    sum += vec_dot(n, mesh->vertex[mesh->triangle[t][0]]) / 3.0;
  }
  return sum;
}

/* All 256 cases and all their neighbours: random values on 4 x 4 x 4 tiles, outside at the border. */
static void any_field_gives_a_closed_mesh(void **state)
{
  (void)state;
  static const double origin[3] = {0.0, 0.0, 0.0};
  int32_t corner[64][3];
  for (int t = 0; t < 64; t++) {
    const int32_t at[3] = {TILE_EDGE * (t >> 4), TILE_EDGE * (t >> 2 & 3), TILE_EDGE * (t & 3)};
    memcpy(corner[t], at, sizeof at);
  }
  for (uint64_t seed = 0; seed < 4; seed++) {
    struct tiles *tiles = tiles_create(1.0, origin, 1.0f, (const int32_t(*)[3])corner, 64);
    double inside = 0.0;
    for (int t = 0; t < 64; t++)
      for (int k = 0; k < TILE_NODES; k++) {
        const int32_t node[3] = {tiles->corner[t][0] + (k >> 6), tiles->corner[t][1] + (k >> 3 & 7),
                                 tiles->corner[t][2] + (k & 7)};
        bool border = false;
        for (int d = 0; d < 3; d++) border = border || node[d] == 0 || node[d] == 4 * TILE_EDGE - 1;
        if (border) continue;
        tiles->value[t][k] =
            (float)rng_uniform(seed, (uint64_t)(t * TILE_NODES + k), 0) - 0.1f * (float)(seed + 3);
        inside += tiles->value[t][k] < 0.0f;
      }
    struct mesh *mesh = march(tiles);
    assert_true(inside > 1000.0 && mesh->triangle_count > 1000);
    assert_closed(mesh);
    assert_true(volume_of(mesh) > 0.0);
    mesh_destroy(&mesh);
    tiles_destroy(&tiles);
  }
}

/* As many particles in a ball as `per_cell` makes, at random places of a jittered lattice. */
static int64_t make_ball(double radius, double h, float **position, float **velocity)
{
  const int n = (int)ceil(radius / h) * 2 + 2;
  int64_t count = 0;
  *position = mem_alloc((size_t)(8 * n * n * n), 3 * sizeof **position);
  *velocity = mem_alloc((size_t)(8 * n * n * n), 3 * sizeof **velocity);
  for (int i = -n; i < n; i++)
    for (int j = -n; j < n; j++)
      for (int k = -n; k < n; k++) {
        const uint64_t id = (uint64_t)(((i + n) * 2 * n + j + n) * 2 * n + k + n);
        const double x[3] = {0.5 * h * (i + rng_uniform(7, id, 0)), 0.5 * h * (j + rng_uniform(7, id, 1)),
                             0.5 * h * (k + rng_uniform(7, id, 2))};
        if (vec_dot(x, x) > radius * radius) continue;
        for (int d = 0; d < 3; d++) {
          (*position)[3 * count + d] = (float)x[d];
          (*velocity)[3 * count + d] = (float)(d == 0 ? 2.0 : x[d]);
        }
        count++;
      }
  return count;
}

/* The middle of the ball is at 0. */
static void check_ball(const struct skin *skin, double radius, double h, double volume)
{
  double worst = 0.0, mean = 0.0;
  for (int64_t v = 0; v < skin->mesh->vertex_count; v++) {
    const double *x = skin->mesh->vertex[v], off = vec_norm(x) - radius;
    const double n[3] = {(double)skin->normal[v][0], (double)skin->normal[v][1], (double)skin->normal[v][2]};
    worst = fmax(worst, fabs(off));
    mean += off / (double)skin->mesh->vertex_count;
    assert_true(vec_dot(n, x) > 0.8 * radius);
    assert_true(fabs((double)skin->velocity[v][0] - 2.0) < 1e-5);
    assert_true(fabs((double)skin->velocity[v][1] - x[1]) < h);
  }
  const double sphere = 4.0 / 3.0 * M_PI * radius * radius * radius;
  print_message("a ball of %g cells: at most %.3f h from the sphere, %+.3f h in the mean, volume %+.2f %%\n",
                radius / h, worst / h, mean / h, 100.0 * (skin->volume / sphere - 1.0));
  assert_true(worst < 0.3 * h);
  assert_true(fabs(skin->volume / sphere - 1.0) < volume);
  assert_true(fabs(volume_of(skin->mesh) / skin->volume - 1.0) < 1e-9);
}

static void a_ball_of_snow_has_the_surface_of_a_sphere(void **state)
{
  (void)state;
  const double h = 0.01;
  for (int anisotropic = 0; anisotropic < 2; anisotropic++)
    for (int cells = 6; cells <= 10; cells += 4) {
      float *position, *velocity;
      const struct skin_options options = {
          .spacing = 0.5 * h, .voxel = 0.5 * h, .smoothing = 4, .anisotropic = anisotropic, .threads = 2};
      const int64_t count = make_ball(cells * h, h, &position, &velocity);
      struct skin *skin = skin_create(position, velocity, count, &options);
      assert_closed(skin->mesh);
      check_ball(skin, cells * h, h, 0.02);
      skin_destroy(&skin);
      mem_free(position);
      mem_free(velocity);
    }
}

static void threads_change_nothing(void **state)
{
  (void)state;
  float *position, *velocity;
  struct skin *skin[2];
  const int64_t count = make_ball(0.05, 0.01, &position, &velocity);
  for (int k = 0; k < 2; k++) {
    const struct skin_options options = {
        .spacing = 0.005, .voxel = 0.004, .smoothing = 2, .anisotropic = 1, .threads = k ? 3 : 1};
    skin[k] = skin_create(position, velocity, count, &options);
  }
  const struct mesh *a = skin[0]->mesh, *b = skin[1]->mesh;
  assert_int_equal(a->vertex_count, b->vertex_count);
  assert_int_equal(a->triangle_count, b->triangle_count);
  assert_memory_equal(a->vertex, b->vertex, (size_t)a->vertex_count * sizeof *a->vertex);
  assert_memory_equal(a->triangle, b->triangle, (size_t)a->triangle_count * sizeof *a->triangle);
  assert_memory_equal(skin[0]->velocity, skin[1]->velocity,
                      (size_t)a->vertex_count * sizeof *skin[0]->velocity);
  for (int k = 0; k < 2; k++) skin_destroy(&skin[k]);
  mem_free(position);
  mem_free(velocity);
}

static void nothing_has_an_empty_surface(void **state)
{
  (void)state;
  const struct skin_options options = {.spacing = 0.01, .voxel = 0.01, .smoothing = 1, .threads = 1};
  struct skin *skin = skin_create(NULL, NULL, 0, &options);
  assert_int_equal(skin->mesh->triangle_count, 0);
  skin_destroy(&skin);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_field_gives_a_closed_mesh),
      cmocka_unit_test(a_ball_of_snow_has_the_surface_of_a_sphere),
      cmocka_unit_test(threads_change_nothing),
      cmocka_unit_test(nothing_has_an_empty_surface),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return failed || mem_balance() != 0;
}
