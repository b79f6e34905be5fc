/* Distance grids of meshes against exact distances: a ball, a cube and a torus, whole and damaged. */
#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"
#include "io/assets/mesh_cache.h"
#include "levelset/sdf_build.h"
#include "support/solids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const double spacing = 0.025;
static const char *const names[SOLIDS] = {"ball", "cube", "torus"};

/* The grid of a mesh, which is destroyed; samples are the caller's. */
static float *build(struct mesh *mesh, double h, struct sdf *sdf)
{
  double lower[3], upper[3];
  mesh_weld(mesh);
  mesh_orient(mesh);
  mesh_bounds(mesh, lower, upper);
  sdf_plan(sdf, lower, upper, h);
  void *block = mem_alloc(bvh_size(mesh->triangle_count), 1);
  bvh_build(block, mesh);
  const struct bvh bvh = bvh_view(block);
  float *phi = mem_alloc((size_t)sdf_count(sdf), sizeof *phi);
  sdf_fill(sdf, &bvh, NULL, 0, sdf->n[2], phi, NULL);
  sdf_close_holes(sdf, phi);
  sdf->phi = phi;
  mem_free(block);
  mesh_destroy(&mesh);
  return phi;
}

static void point_in(const struct sdf *sdf, uint64_t i, double x[3])
{
  for (uint64_t d = 0; d < 3; d++)
    x[d] = sdf->lower[d] + sdf->spacing * (double)(sdf->n[d] - 1) * rng_uniform(3, i, d);
}

static void error_is_below_a_cell(void **state)
{
  (void)state;
  for (int s = 0; s < SOLIDS; s++) {
    struct sdf sdf;
    float *phi = build(solid_mesh((enum solid)s, 48), spacing, &sdf);
    double worst = 0.0, near = 0.0;
    for (uint64_t i = 0; i < 50000; i++) {
      double x[3];
      point_in(&sdf, i, x);
      const double exact = solid_distance((enum solid)s, x),
                   error = fabs(sdf_distance(&sdf, x, NULL) - exact);
      worst = fmax(worst, error);
      if (fabs(exact) < 2.0 * spacing) near = fmax(near, error);
    }
    print_message("%s: error %.3f cells, near the surface %.3f\n", names[s], worst / spacing, near / spacing);
    assert_true(worst < spacing);      /* also on medial axes */
    assert_true(near < 0.6 * spacing); /* edges of the cube */
    assert_true(s == SOLID_CUBE || near < 0.2 * spacing);
    mem_free(phi);
  }
}

static void normals_point_outwards(void **state)
{
  (void)state;
  struct sdf sdf;
  float *phi = build(solid_mesh(SOLID_BALL, 48), spacing, &sdf);
  for (uint64_t i = 0; i < 5000; i++) {
    double x[3], g[3];
    point_in(&sdf, i, x);
    if (fabs(vec_norm(x) - ball_radius) > 2.0 * spacing) continue;
    sdf_distance(&sdf, x, g);
    vec_normalize(g);
    assert_true(vec_dot(g, x) / vec_norm(x) > 0.999);
  }
  mem_free(phi);
}

/* Where the surface is farther than a triangle or a cell, the side is right; elsewhere it can hardly be said.
 */
static void damaged_meshes_know_their_side(void **state)
{
  (void)state;
  for (int s = 0; s < SOLIDS; s++)
    for (int turn = 0; turn < 2; turn++)
      for (int fine = 0; fine < 2; fine++) {
        struct sdf sdf;
        const int n = s == SOLID_TORUS ? 40 : 16;
        const double edge = s == SOLID_TORUS ? 0.1 : 2.0 * ball_radius / n,
                     h = fine ? 0.6 * spacing : 1.4 * spacing;
        struct mesh *mesh = solid_mesh((enum solid)s, n);
        solid_damage(mesh, 0.05, turn, (uint64_t)s);
        float *phi = build(mesh, h, &sdf);
        const double doubt = turn ? 0.1 * edge : 0.5 * edge;
        int wrong = 0, asked = 0;
        for (uint64_t i = 0; i < 20000; i++) {
          double x[3];
          point_in(&sdf, i, x);
          const double exact = solid_distance((enum solid)s, x), found = sdf_distance(&sdf, x, NULL);
          if (fabs(exact) < fmax(doubt, 0.6 * h)) continue;
          asked++;
          wrong += (exact < 0.0) != (found <= 0.0);
          assert_true(fabs(exact - found) < edge + h);
        }
        assert_int_equal(wrong, 0);
        assert_true(asked > 10000);
        mem_free(phi);
      }
}

/* All triangles turned over is an inside-out mesh; it is put right as a whole. */
static void orientation_is_repaired(void **state)
{
  (void)state;
  struct mesh *mesh = solid_mesh(SOLID_TORUS, 20);
  solid_damage(mesh, 2.0, true, 0);
  assert_int_equal(mesh_weld(mesh), 800);
  assert_int_equal(mesh_orient(mesh), 800);
  assert_int_equal(mesh_orient(mesh), 0);
  solid_damage(mesh, 0.3, true, 1);
  const int64_t turned = mesh_orient(mesh);
  assert_true(turned > 160 && turned < 320);
  mesh_destroy(&mesh);
}

/* The sum of solid angles: 1 inside, 0 outside, and the same when far boxes count as dipoles. */
static void winding_number(void **state)
{
  (void)state;
  struct mesh *mesh = solid_mesh(SOLID_CUBE, 20);
  mesh_weld(mesh);
  void *block = mem_alloc(bvh_size(mesh->triangle_count), 1);
  bvh_build(block, mesh);
  const struct bvh bvh = bvh_view(block);
  double worst = 0.0;
  for (uint64_t i = 0; i < 2000; i++) {
    double x[3];
    for (uint64_t d = 0; d < 3; d++) x[d] = 1.2 * (rng_uniform(8, i, d) - 0.5);
    const double exact = solid_distance(SOLID_CUBE, x);
    if (fabs(exact) > 1e-6) worst = fmax(worst, fabs(bvh_winding(&bvh, x) - (exact < 0.0)));
    assert_true(fabs(bvh_nearest(&bvh, x, -1, 0.0).distance - fabs(exact)) < 1e-12);
    assert_true(fabs(bvh_nearest(&bvh, x, (int32_t)(i % 4000), 0.0).distance - fabs(exact)) < 1e-12);
  }
  print_message("winding number: error %.3f\n", worst);
  assert_true(worst < 0.08); /* sdf_build trusts a number that is within 0.1 of 0 or 1 */
  mem_free(block);
  mesh_destroy(&mesh);
}

/* Values never exceed the distance outside the grid, and the range over a ball holds there too. */
static void outside_the_grid(void **state)
{
  (void)state;
  struct sdf sdf;
  float *phi = build(solid_mesh(SOLID_TORUS, 40), spacing, &sdf);
  for (uint64_t i = 0; i < 20000; i++) {
    double x[3], y[3], step[3], least, most;
    const double radius = (i % 2 ? 0.4 : 0.02) * rng_uniform(5, i, 7);
    for (uint64_t d = 0; d < 3; d++) x[d] = 3.0 * (rng_uniform(5, i, d) - 0.5);
    for (uint64_t d = 0; d < 3; d++) step[d] = rng_uniform(5, i, 3 + d) - 0.5;
    vec_normalize(step);
    vec_axpy(x, radius * rng_uniform(5, i, 6), step, y);
    const double found = sdf_distance(&sdf, x, NULL);
    assert_true(found <= solid_distance(SOLID_TORUS, x) + spacing);
    sdf_range(&sdf, x, radius, &least, &most);
    const double there = sdf_distance(&sdf, y, NULL);
    assert_true(least <= there && there <= most);
  }
  mem_free(phi);
}

static void flip_byte(const char *path, long at)
{
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, at, SEEK_SET), 0);
  const int byte = fgetc(file);
  assert_int_equal(fseek(file, at, SEEK_SET), 0);
  assert_int_equal(fputc(byte ^ 0x10, file), byte ^ 0x10);
  fclose(file);
}

static void cache_gives_back_the_same_samples(void **state)
{
  (void)state;
  char folder[] = "/tmp/firn_cache_XXXXXX";
  assert_non_null(mkdtemp(folder));
  setenv("FIRN_CACHE", folder, 1);
  struct sdf sdf, found;
  float *phi = build(solid_mesh(SOLID_TORUS, 20), 0.05, &sdf);
  char *path = mesh_cache_path("bytes", 5, 1.0, 0.05), *other = mesh_cache_path("bytes", 5, 2.0, 0.05);
  assert_string_not_equal(path, other);
  assert_false(mesh_cache_find(path, &found));
  mesh_cache_write(path, &sdf);
  assert_true(mesh_cache_find(path, &found));
  const size_t count = (size_t)sdf_count(&sdf);
  float *read = mem_alloc(count, sizeof *read);
  assert_true(mesh_cache_read(path, &found, read));
  assert_memory_equal(read, phi, count * sizeof *read);
  assert_memory_equal(found.lower, sdf.lower, sizeof sdf.lower);
  for (long at = 0; at < 400; at++) { /* every byte of the header, and some samples */
    flip_byte(path, at);
    assert_false(mesh_cache_find(path, &found) && mesh_cache_read(path, &found, read));
    flip_byte(path, at);
  }
  assert_true(mesh_cache_find(path, &found) && mesh_cache_read(path, &found, read));
  assert_int_equal(link(path, other), 0); /* under the name of another mesh */
  assert_false(mesh_cache_find(other, &found));
  unlink(other);
  assert_int_equal(truncate(path, 900), 0);
  assert_false(mesh_cache_find(path, &found));
  unlink(path);
  rmdir(folder);
  setenv("FIRN_CACHE", "", 1);
  assert_null(mesh_cache_path("bytes", 5, 1.0, 0.05));
  mem_free(read);
  mem_free(path);
  mem_free(other);
  mem_free(phi);
  assert_int_equal(mem_balance(), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(error_is_below_a_cell),
      cmocka_unit_test(normals_point_outwards),
      cmocka_unit_test(damaged_meshes_know_their_side),
      cmocka_unit_test(orientation_is_repaired),
      cmocka_unit_test(winding_number),
      cmocka_unit_test(outside_the_grid),
      cmocka_unit_test(cache_gives_back_the_same_samples),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
