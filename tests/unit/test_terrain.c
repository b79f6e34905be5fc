/* Rasters on the map, what is made of them, and their files: cut, filled, smoothed, read back; a release has
 * the thickness it was given, normal to the ground or straight up. */
#include "base/memory.h"
#include "base/rng.h"
#include "io/geo/grid_file.h"
#include "levelset/shape.h"
#include "terrain/raster.h"
#include "terrain/release.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct raster *ramp(void)
{
  struct raster *r = raster_create(12, 9, 1000.0, 500.0, 5.0);
  for (int64_t k = 0; k < 108; k++) r->value[k] = (float)(k % 12) + 100.0f * (float)(k / 12);
  return r;
}

static void a_part_stays_in_its_place(void **unused)
{
  (void)unused;
  struct raster *r = ramp();
  assert_true(raster_at(r, 1011.0, 494.0) == 102.0);
  assert_true(raster_cut(r, (const double[4]){1008.0, 1031.0, 474.0, 496.0}));
  assert_int_equal(r->columns, 5); /* 1010 .. 1030 */
  assert_int_equal(r->rows, 5);    /* 495 .. 475 */
  assert_true(r->west == 1010.0 && r->north == 495.0 && raster_at(r, 1011.0, 494.0) == 102.0);
  assert_true(isnan(raster_at(r, 1000.0, 490.0)));
  assert_false(raster_cut(r, (const double[4]){0.0, 10.0, 474.0, 496.0}));
  raster_destroy(&r);
}

static void holes_are_found_and_filled(void **unused)
{
  (void)unused;
  struct raster *r = ramp();
  int64_t row, column;
  assert_int_equal(raster_holes(r, &row, &column), 0);
  for (int k = 0; k < 3; k++) r->value[(4 + k) * 12 + 5] = NAN;
  assert_int_equal(raster_holes(r, &row, &column), 3);
  assert_true(row == 4 && column == 5);
  assert_true(raster_fill(r));
  assert_int_equal(raster_holes(r, &row, &column), 0);
  assert_true(fabs((double)r->value[5 * 12 + 5] - 505.0) < 1.0);
  for (int64_t k = 0; k < 108; k++) r->value[k] = NAN;
  assert_false(raster_fill(r));
  raster_destroy(&r);
}

/* A plane stays a plane away from the edges; a single peak spreads and keeps its volume. */
static void smoothing_keeps_planes_and_volume(void **unused)
{
  (void)unused;
  struct raster *r = ramp();
  raster_smooth(r, 5.0);
  assert_true(fabs((double)r->value[4 * 12 + 6] - 406.0) < 1e-3);
  raster_destroy(&r);
  r = raster_create(41, 41, 0.0, 0.0, 1.0);
  r->value[20 * 41 + 20] = 100.0f;
  raster_smooth(r, 2.0);
  double sum = 0.0;
  for (int64_t k = 0; k < 41 * 41; k++) sum += (double)r->value[k];
  assert_true(fabs(sum - 100.0) < 1e-2);
  assert_true(fabs((double)r->value[20 * 41 + 20] - 100.0 / (2.0 * M_PI * 4.0)) < 0.05);
  raster_destroy(&r);
}

static void polygons_become_cells(void **unused)
{
  (void)unused;
  struct raster *r = raster_create(10, 10, 0.5, 9.5, 1.0);
  const double points[8][2] = {{1, 1}, {9, 1}, {9, 9}, {1, 9}, {3, 3}, {7, 3}, {7, 7}, {3, 7}};
  const int64_t ring[3] = {0, 4, 8};
  assert_int_equal(raster_polygon(r, points, ring, 2, 2.0f), 64 - 16); /* with a hole */
  assert_true(raster_at(r, 2.0, 2.0) == 2.0 && raster_at(r, 5.0, 5.0) == 0.0);
  raster_destroy(&r);
}

static void grids_read_back(void **unused)
{
  (void)unused;
  char path[64];
  struct error err = {0};
  struct raster *r = ramp(), *again = NULL;
  snprintf(path, sizeof path, "/tmp/firn_terrain_%d.asc", (int)getpid());
  for (int64_t k = 0; k < 108; k++) r->value[k] = (float)(1500.0 * rng_uniform(81, (uint64_t)k, 0));
  r->value[7] = NAN;
  assert_int_equal(grid_file_write_ascii(path, r, &err), 0);
  assert_int_equal(grid_file_read(&again, path, &err), 0);
  assert_true(again->columns == 12 && again->rows == 9 && again->west == 1000.0 && again->north == 500.0);
  for (int64_t k = 0; k < 108; k++)
    assert_true(k == 7 ? isnan(again->value[k])
                       : fabsf(again->value[k] - r->value[k]) <= 1e-6f * r->value[k]);
  raster_destroy(&again);
  raster_destroy(&r);
  unlink(path);
}

static int read_text(const char *text, struct raster **out, struct error *err)
{
  char path[64];
  snprintf(path, sizeof path, "/tmp/firn_terrain_%d.asc", (int)getpid());
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  const int code = grid_file_read(out, path, err);
  unlink(path);
  return code;
}

static void headers_of_all_kinds(void **unused)
{
  (void)unused;
  static const struct {
    const char *text, *says;
  } bad[] = {{"hello", "no ESRI ASCII grid"},
             {"ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\n1 2 3 4", "no ESRI ASCII grid"},
             {"ncols 1\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2", "expected 2 to"},
             {"ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize -1\n1 2 3 4", "upside down"},
             {"ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2 3", "value 4 is missing"},
             {"ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 x 3 4", "value 2 is missing"}};
  struct raster *r = NULL;
  struct error err = {0};
  assert_int_equal(
      read_text("NCOLS 2\nNROWS 2\nXLLCORNER 10\nYLLCORNER 20\nCELLSIZE 4\nNODATA_VALUE 0\n1 2\n3 0\n", &r,
                &err),
      0);
  assert_true(r->west == 12.0 && r->north == 26.0 && r->value[0] == 1.0f && isnan(r->value[3]));
  raster_destroy(&r);
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    assert_int_not_equal(read_text(bad[k].text, &r, &err), 0);
    if (!strstr(err.text, bad[k].says)) fail_msg("'%s' does not say '%s'", err.text, bad[k].says);
    assert_null(r);
  }
}

/* A release on a slope of 30 degrees: volume by sampling, and bounds of the distance that hold. */
static void releases_are_as_thick_as_told(void **unused)
{
  (void)unused;
  const double half[2] = {50.0, 30.0}, slope = 0.57735026918962576, steep = sqrt(1.0 + slope * slope);
  float samples[21 * 13];
  for (int k = 0; k < 21 * 13; k++) samples[k] = (float)(slope * (100.0 - 5.0 * (k % 21)));
  struct heights *ground = heights_from_samples(samples, 21, 13, half);
  for (int vertical = 0; vertical < 2; vertical++) {
    struct release release = {.ground = ground,
                              .vertical = vertical,
                              .n = {20, 10},
                              .first = {-9.5, -4.5},
                              .step = 1.0,
                              .thick = mem_alloc(200, sizeof(float)),
                              .most = 2.0};
    for (int k = 0; k < 200; k++) release.thick[k] = 2.0f;
    double low[3], high[3], volume = 1.0;
    release_bounds(&release, low, high);
    for (int d = 0; d < 3; d++) volume *= high[d] - low[d];
    int inside = 0;
    enum { POINTS = 200000 };
    for (uint64_t k = 0; k < POINTS; k++) {
      double x[3], least, most;
      for (uint64_t d = 0; d < 3; d++) x[d] = low[d] + (high[d] - low[d]) * rng_uniform(91, k, d);
      const double distance = release_distance(&release, x, NULL);
      inside += distance < 0.0;
      if (k % 16) continue;
      const double radius = 0.8 * rng_uniform(91, k, 5);
      release_range(&release, x, radius, &least, &most);
      assert_true(least <= distance && distance <= most);
      for (uint64_t n = 0; n < 4; n++) {
        double y[3];
        for (uint64_t d = 0; d < 3; d++)
          y[d] = x[d] + radius / sqrt(3.0) * (2.0 * rng_uniform(92, 4 * k + n, d) - 1.0);
        const double there = release_distance(&release, y, NULL);
        assert_true(there >= least - 1e-9 && there <= most + 1e-9);
      }
    }
    const double wanted = 200.0 * 2.0 * (vertical ? 1.0 : steep);
    assert_true(fabs(release_volume(&release) - wanted) < 1e-6 * wanted);
    assert_true(fabs(volume * inside / POINTS - wanted) < 0.02 * wanted);
    mem_free(release.thick);
  }
  heights_destroy(&ground);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_part_stays_in_its_place),
      cmocka_unit_test(holes_are_found_and_filled),
      cmocka_unit_test(smoothing_keeps_planes_and_volume),
      cmocka_unit_test(polygons_become_cells),
      cmocka_unit_test(grids_read_back),
      cmocka_unit_test(headers_of_all_kinds),
      cmocka_unit_test(releases_are_as_thick_as_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
