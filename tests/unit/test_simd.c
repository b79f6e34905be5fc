/* simd.h on every instruction set that the machine runs: each function against plain C, and the special
 * values that the solver relies on (a NaN in a lane that is selected away must not come through). */
#include "base/rng.h"
#include "support/lanes.h"
#include "support/skip.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static double uniform(uint64_t k, double low, double high)
{
  return low + (high - low) * rng_uniform(11, k, 0);
}

static long double sinhc_exact(long double x)
{
  return x == 0.0L ? 1.0L : sinhl(x) / x;
}

/* A function of one lane, where it is tried, and the relative error that simd.h promises. */
struct accuracy {
  const char *name;
  void (*lanes)(const lane x, lane out);
  long double (*exact)(long double x);
  double low, high, promised;
  bool logarithmic; /* arguments are spread by their logarithm */
};

/* The worst relative error against long double. */
static double worst_error(const struct accuracy *a)
{
  double worst = 0.0;
  for (uint64_t k = 0; k < 100000; k += WIDE) {
    lane x, y;
    for (int l = 0; l < WIDE; l++) {
      const double u = uniform(k + (uint64_t)l, 0.0, 1.0);
      x[l] = a->logarithmic ? copysign(exp(log(fabs(a->low)) * (1.0 - u) + log(fabs(a->high)) * u), a->low)
                            : a->low + (a->high - a->low) * u;
    }
    a->lanes(x, y);
    for (int l = 0; l < WIDE; l++) {
      const long double exact = a->exact((long double)x[l]);
      const double error = (double)fabsl(((long double)y[l] - exact) / exact);
      if (!(error <= worst)) worst = error; /* also where it is no number */
    }
  }
  return worst;
}

static void functions_are_accurate(const struct lanes *lanes)
{
  const struct accuracy all[] = {
      {"exp", lanes->exp, expl, -1.0, 1.0, 2e-16, false},
      {"exp", lanes->exp, expl, -700.0, 700.0, 2e-16, false},
      {"log", lanes->log, logl, 0.5, 2.0, 3e-16, false},
      {"log", lanes->log, logl, 1.0 - 1e-9, 1.0 + 1e-9, 3e-16, false},
      {"log", lanes->log, logl, 2.3e-308, 1e308, 3e-16, true},
      {"log1p", lanes->log1p, log1pl, -0.9999, 4.0, 3e-16, false},
      {"log1p", lanes->log1p, log1pl, 1e-300, 1e15, 3e-16, true},
      {"log1p", lanes->log1p, log1pl, -1e-300, -0.999, 3e-16, true},
      {"sinh(x)/x", lanes->sinhc, sinhc_exact, -3.0, 3.0, 5e-16, false},
      {"expm1", lanes->expm1, expm1l, -6.0, 6.0, 1e-15, false},
      {"expm1", lanes->expm1, expm1l, -1e-300, -1e-3, 1e-15, true},
      {"sin", lanes->sin, sinl, -M_PI / 4.0, M_PI / 4.0, 4e-16, false},
      {"cos", lanes->cos, cosl, -M_PI / 4.0, M_PI / 4.0, 4e-16, false},
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    const double worst = worst_error(&all[k]);
    print_message("%s: %s, relative error %.2e on [%g, %g]\n", lanes->name, all[k].name, worst, all[k].low,
                  all[k].high);
    assert_true(worst < all[k].promised);
  }
}

/* Where the value is known to the last bit. */
static void exact_values(const struct lanes *lanes)
{
  const lane zero = {0.0, -0.0, 1e-300, -1e-300, 1e-17, -1e-17, 0.0, 0.0}, one = {1, 1, 1, 1, 1, 1, 1, 1};
  lane out;
  lanes->exp(zero, out);
  for (int l = 0; l < WIDE; l++) assert_true(out[l] == 1.0);
  lanes->sinhc(zero, out);
  for (int l = 0; l < WIDE; l++) assert_true(out[l] == 1.0);
  lanes->log(one, out);
  for (int l = 0; l < WIDE; l++) assert_true(out[l] == 0.0);
  lanes->log1p(zero, out);
  for (int l = 0; l < WIDE; l++) assert_true(out[l] == zero[l]);
}

static void floor_is_floor(const struct lanes *lanes)
{
  for (uint64_t k = 0; k < 20000; k += WIDE) {
    lane x, y;
    for (int l = 0; l < WIDE; l++) {
      const uint64_t n = k + (uint64_t)l;
      x[l] = uniform(n, -1.0, 1.0) * pow(2.0, (double)(n % 50));
      if (n % 3 == 0) x[l] = rint(x[l]);
      if (n % 9 == 3) x[l] = nextafter(x[l], -INFINITY);
      if (n % 9 == 6) x[l] = nextafter(x[l], INFINITY);
    }
    lanes->floor(x, y);
    for (int l = 0; l < WIDE; l++) assert_true(y[l] == floor(x[l]));
  }
}

static void rows_and_fold(const struct lanes *lanes)
{
  lane a[8], back[8];
  double rows[WIDE][8], folded[4];
  for (int k = 0; k < 8; k++)
    for (int l = 0; l < WIDE; l++) a[k][l] = 10.0 * k + l;
  lanes->rows((const lane *)a, rows, back);
  for (int k = 0; k < 8; k++)
    for (int l = 0; l < WIDE; l++) assert_true(rows[l][k] == a[k][l] && back[k][l] == a[k][l]);
  lanes->fold(a[1], folded);
  for (int l = 0; l < 4 && l < lanes->width; l++)
    assert_true(folded[l] == (lanes->width == 8 ? a[1][l] + a[1][l + 4] : a[1][l]));
}

/* Every mask: packed in order, and back to where they were. */
static void packing(const struct lanes *lanes)
{
  const lane a = {0, 1, 2, 3, 4, 5, 6, 7};
  for (int bits = 0; bits < 256; bits++) {
    int64_t mask[WIDE];
    lane packed, back;
    int count = 0;
    for (int l = 0; l < WIDE; l++) mask[l] = bits >> l & 1 ? -1 : 0;
    assert_int_equal(lanes->pack(mask, a, packed, back), __builtin_popcount((unsigned)bits));
    for (int l = 0; l < WIDE; l++) {
      assert_true(back[l] == (mask[l] ? a[l] : -1.0));
      if (mask[l]) assert_true(packed[count++] == a[l]);
    }
  }
}

static void selections(const struct lanes *lanes)
{
  const int64_t mask[WIDE] = {-1, 0, -1, 0, -1, 0, -1, 0};
  const lane a = {1, NAN, -0.0, INFINITY, -INFINITY, NAN, 0x1p-1074, NAN},
             b = {NAN, 2, NAN, 4, INFINITY, -6, NAN, -0.0};
  lane out;
  lanes->select(mask, a, b, out);
  for (int l = 0; l < WIDE; l++) {
    const double wanted = mask[l] ? a[l] : b[l];
    assert_memory_equal(&out[l], &wanted, sizeof wanted);
  }
  for (int count = 0; count <= WIDE; count++) {
    int64_t first[WIDE];
    assert_int_equal(lanes->first(count, first), count > 0);
    for (int l = 0; l < WIDE; l++) assert_true(first[l] == (l < count ? -1 : 0));
  }
}

static void arithmetic(const struct lanes *lanes)
{
  for (uint64_t k = 0; k < 4000; k += WIDE) {
    lane a, b, c, least, most, absolute, root, fused;
    for (int l = 0; l < WIDE; l++) {
      const uint64_t n = 3 * (k + (uint64_t)l);
      a[l] = uniform(n, -2.0, 2.0);
      b[l] = uniform(n + 1, -2.0, 2.0);
      c[l] = -a[l] * b[l] * (n % 2 ? 1.0 : uniform(n + 2, 0.0, 2.0));
    }
    lanes->min_max_abs(a, b, least, most, absolute);
    lanes->sqrt(absolute, root);
    lanes->fma(a, b, c, fused);
    for (int l = 0; l < WIDE; l++) {
      assert_true(least[l] == fmin(a[l], b[l]) && most[l] == fmax(a[l], b[l]));
      assert_true(absolute[l] == fabs(a[l]) && root[l] == sqrt(fabs(a[l])));
      assert_true(fused[l] == fma(a[l], b[l], c[l]) || fused[l] == a[l] * b[l] + c[l]);
    }
  }
}

static void on_every_set(void **state)
{
  (void)state;
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++) {
    const struct lanes *lanes = lanes_get(isa);
    if (!lanes) {
      static const char *const names[ISA_COUNT] = {ISA_WORD(FIRN_BASE_ISA), "avx2", "avx512"};
      char text[64];
      snprintf(text, sizeof text, "isa: %s", names[isa]);
      skipped("test_simd", text);
      continue;
    }
    functions_are_accurate(lanes);
    exact_values(lanes);
    floor_is_floor(lanes);
    rows_and_fold(lanes);
    packing(lanes);
    selections(lanes);
    arithmetic(lanes);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(on_every_set)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
