/* Polygons and letters: distances against the nearest of many edge points, sides against a plain count,
 * areas. */
#include "base/error.h"
#include "base/memory.h"
#include "io/assets/font.h"
#include "levelset/outline.h"
#include "levelset/shape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A square of 4 with a square hole of 2, and a triangle beside it. */
static struct outline *make_frame(void)
{
  static const int start[] = {0, 4, 8, 11};
  static const double point[] = {-2, -2, 2,  -2, 2, 2, -2, 2,  /* one way round */
                                 -1, -1, -1, 1,  1, 1, 1,  -1, /* the other */
                                 3,  0,  5,  0,  4, 1};
  return outline_create(3, start, point);
}

static struct outline *make_text(const char *text)
{
  struct error err = {0};
  struct outline *outline = NULL;
  char *path = NULL;
  if (font_find(&path, "DejaVuSans-Bold", &err) || font_outline(&outline, path, text, &err))
    fail_msg("%s", err.text);
  mem_free(path);
  return outline;
}

static void test_frame(void **state)
{
  (void)state;
  struct outline *o = make_frame();
  const struct {
    double p[2], distance, n[2];
  } cases[] = {{{0, 0}, 1.0, {0, 0}},         {{1.5, 0}, -0.5, {0, 0}},    {{2.25, 0}, 0.25, {1, 0}},
               {{0, 0.75}, 0.25, {0, -1}},    {{0, 1.25}, -0.25, {0, -1}}, {{0, 1.75}, -0.25, {0, 1}},
               {{-5, -6}, 5.0, {-0.6, -0.8}}, {{4, 0.25}, -0.25, {0, -1}}, {{4, 2}, 1.0, {0, 1}}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    double n[2];
    assert_true(fabs(outline_distance(o, cases[k].p, n) - cases[k].distance) < 1e-14);
    assert_true(fabs(n[0] * n[0] + n[1] * n[1] - 1.0) < 1e-14);
    if (cases[k].n[0] != 0.0 || cases[k].n[1] != 0.0)
      assert_true(fabs(n[0] - cases[k].n[0]) < 1e-14 && fabs(n[1] - cases[k].n[1]) < 1e-14);
  }
  assert_true(outline_area(o) == 16.0 - 4.0 + 1.0);
  outline_fit(o, 8.0);
  assert_true(o->low[1] == -4.0 && o->high[1] == 4.0 && o->low[0] == -7.0 && o->high[0] == 7.0);
  outline_destroy(&o);
}

/* Nearest of many points along all edges. */
static double sampled_distance(const struct outline *o, const double p[2], double *error)
{
  double best = INFINITY;
  *error = 0.0;
  for (int c = 0; c < o->contours; c++)
    for (int k = o->start[c]; k < o->start[c + 1]; k++) {
      const double *a = o->point + 2 * k, *b = o->point + 2 * (k + 1 < o->start[c + 1] ? k + 1 : o->start[c]);
      *error = fmax(*error, hypot(b[0] - a[0], b[1] - a[1]) / 64.0);
      for (int i = 0; i < 64; i++)
        best =
            fmin(best, hypot(p[0] - a[0] - (b[0] - a[0]) * i / 64.0, p[1] - a[1] - (b[1] - a[1]) * i / 64.0));
    }
  return best;
}

static void test_letters(void **state)
{
  (void)state;
  struct outline *o = make_text("Rg\xc3\xa4 8");
  outline_fit(o, 1.0);
  double inside = 0.0;
  enum { COUNT = 20000 };
  const double width = o->high[0] - o->low[0];
  for (int k = 0; k < COUNT; k++) {
    const double p[2] = {o->low[0] + width * ((double)rand() / RAND_MAX), (double)rand() / RAND_MAX - 0.5};
    double n[2], error;
    const double d = outline_distance(o, p, n);
    inside += d < 0.0;
    if (k % 40) continue;
    const double sampled = sampled_distance(o, p, &error);
    assert_true(fabs(d) <= sampled + 1e-12 && fabs(d) >= sampled - error);
    const double q[2] = {p[0] + 1e-7 * n[0], p[1] + 1e-7 * n[1]};
    double unused[2];
    assert_true(fabs(outline_distance(o, q, unused) - d - 1e-7) < 1e-9);
  }
  const double area = outline_area(o), share = area / width;
  assert_true(fabs(inside / COUNT - share) < 4.0 * sqrt(share / COUNT));
  assert_true(share > 0.2 && share < 0.8);
  outline_destroy(&o);
}

static void test_text_and_back(void **state)
{
  (void)state;
  struct outline *o = make_text("THE END");
  outline_fit(o, 0.3);
  char *text = outline_print(o);
  struct outline *again = outline_parse(text);
  assert_non_null(again);
  assert_int_equal(again->contours, o->contours);
  assert_memory_equal(again->start, o->start, sizeof *o->start * (size_t)(o->contours + 1));
  assert_memory_equal(again->point, o->point, 2 * sizeof *o->point * (size_t)o->start[o->contours]);
  text[strlen(text) / 2] = '?';
  assert_null(outline_parse(text));
  assert_null(outline_parse(""));
  assert_null(outline_parse("1 2 0 0 1 1"));
  mem_free(text);
  outline_destroy(&o);
  outline_destroy(&again);
}

/* The shape: exact volume, and a distance that agrees with the outline's and the depth's. */
static void test_shape(void **state)
{
  (void)state;
  struct shape shape = {.kind = SHAPE_TEXT,
                        .center = {0.5, 0.2, -0.1},
                        .half = {0, 0, 0.1},
                        .axes = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                        .outline = make_text("IO")};
  outline_fit(shape.outline, 0.4);
  shape_finish(&shape);
  double low[3], high[3], n[3];
  assert_true(shape_bounds(&shape, low, high));
  assert_true(fabs(high[1] - low[1] - 0.4) < 1e-12 && fabs(high[2] - low[2] - 0.2) < 1e-12);
  assert_true(fabs(shape_volume(&shape) - 0.2 * outline_area(shape.outline)) < 1e-15);
  double inside = 0.0;
  enum { COUNT = 100000 };
  for (int k = 0; k < COUNT; k++) {
    double x[3];
    for (int d = 0; d < 3; d++) x[d] = low[d] + (high[d] - low[d]) * (1.2 * rand() / RAND_MAX - 0.1);
    const double distance = shape_distance(&shape, x, n);
    inside += distance < 0.0;
    if (k % 100) continue;
    double y[3], unused[3];
    for (int d = 0; d < 3; d++) y[d] = x[d] + 1e-7 * n[d];
    assert_true(fabs(shape_distance(&shape, y, unused) - distance - 1e-7) < 1e-9);
  }
  const double box = 1.728 * (high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]);
  const double share = shape_volume(&shape) / box;
  assert_true(fabs(inside / COUNT - share) < 4.0 * sqrt(share / COUNT));
  shape_destroy(&shape);
}

static void test_bad_fonts(void **state)
{
  (void)state;
  struct error err = {0};
  struct outline *o = NULL;
  char *path = NULL;
  assert_int_equal(font_find(&path, "NoSuchFont-Anywhere", &err), FIRN_EINPUT);
  assert_non_null(strstr(err.text, "NoSuchFont-Anywhere"));
  assert_int_equal(font_outline(&o, "missing.ttf", "A", &err), FIRN_EIO);
  assert_int_equal(font_outline(&o, TEST_SCENES "/hello.yml", "A", &err), FIRN_EINPUT);
  assert_int_equal(font_find(&path, "DejaVuSans-Bold", &err), FIRN_OK);
  assert_int_equal(font_outline(&o, path, "   ", &err), FIRN_EINPUT);
  assert_int_equal(font_outline(&o, path, "a\xff", &err), FIRN_EINPUT);
  assert_int_equal(font_outline(&o, path, "\xf3\xb0\x80\x80", &err), FIRN_EINPUT); /* nobody draws this one */
  assert_null(o);
  mem_free(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frame), cmocka_unit_test(test_letters),   cmocka_unit_test(test_text_and_back),
      cmocka_unit_test(test_shape), cmocka_unit_test(test_bad_fonts),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return failed ? failed : mem_balance() != 0;
}
