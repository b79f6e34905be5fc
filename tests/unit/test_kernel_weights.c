/* The weights of the stencil on every instruction set: they sum to one, reproduce linear functions, have the
 * second moment that APIC divides by, and keep their relative accuracy down to the edge of their support.
 *
 * The last check is made with two evaluations in plain doubles as well: the factored form, which passes, and
 * the papers' expanded polynomial, which must fail it. So it would fail for the kernels, too, if that form
 * were put back. */
#include "base/rng.h"
#include "support/lanes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#if defined __aarch64__
typedef long double quad; /* of 128 bits there */
#else
typedef __float128 quad;
#endif

/* Where a particle may be, in cells: anywhere, and closer and closer to a node (or a midpoint) from both
 * sides. */
static double position(uint64_t k)
{
  const double node = (double)(rng_bits(31, k, 0) % 40);
  const double offset = pow(10.0, -16.0 * rng_uniform(31, k, 1));
  switch (k % 5) {
  case 0: return 40.0 * rng_uniform(31, k, 2);
  case 1: return node + offset;
  case 2: return node + 1.0 - offset;
  case 3: return node + 0.5 + offset - 0.5 * (double)(k % 2);
  default: return k % 2 ? offset : node;
  }
}

static double base_of(int support, double u)
{
  return support == 4 ? floor(u) - 1.0 : floor(u + 0.5) - 1.0;
}

/* The kernel as method.md writes it, in 113 bits. */
static quad exact_weight(int support, quad x, quad *slope)
{
  const quad a = x < 0 ? -x : x, sign = x < 0 ? -1 : 1;
  if (support == 4) {
    if (a < 1) {
      *slope = sign * (3 * a * a / 2 - 2 * a);
      return a * a * a / 2 - a * a + (quad)2 / 3;
    }
    *slope = -sign * (2 - a) * (2 - a) / 2;
    return (2 - a) * (2 - a) * (2 - a) / 6;
  }
  if (2 * a < 1) {
    *slope = -2 * x;
    return (quad)3 / 4 - x * x;
  }
  *slope = -sign * ((quad)3 / 2 - a);
  return ((quad)3 / 2 - a) * ((quad)3 / 2 - a) / 2;
}

/* The outer branch as the papers print it: what must not be used. */
static void expanded(int support, double u, double w[8])
{
  const double base = base_of(support, u);
  for (int n = 0; n < support; n++) {
    const double x = u - (base + n), a = fabs(x), sign = x < 0.0 ? -1.0 : 1.0;
    if (support == 4) {
      w[n] = a < 1.0 ? 0.5 * a * a * a - a * a + 2.0 / 3.0 : -a * a * a / 6.0 + a * a - 2.0 * a + 4.0 / 3.0;
      w[4 + n] = sign * (a < 1.0 ? 1.5 * a * a - 2.0 * a : -0.5 * a * a + 2.0 * a - 2.0);
    } else {
      w[n] = a < 0.5 ? 0.75 - a * a : 0.5 * a * a - 1.5 * a + 1.125;
      w[4 + n] = a < 0.5 ? -2.0 * x : sign * (a - 1.5);
    }
  }
}

static void of_kernel(const struct lanes *lanes, int support, bool offsets, double u, double w[8])
{
  lane wide, out[8];
  for (int l = 0; l < WIDE; l++) wide[l] = u;
  lanes->weights(support, offsets, wide, out);
  for (int n = 0; n < 8; n++) w[n] = out[n][5];
}

/* Largest relative error of the outer weights and slopes; the particle's own position is exact. */
static double edge_error(const struct lanes *lanes, int support)
{
  double worst = 0.0;
  for (uint64_t k = 0; k < 50000; k++) {
    const double u = position(k), base = base_of(support, u);
    double w[8];
    if (lanes)
      of_kernel(lanes, support, false, u, w);
    else
      expanded(support, u, w);
    for (int n = 0; n < support; n += support - 1) {
      quad slope;
      const quad exact = exact_weight(support, (quad)u - (quad)(base + n), &slope);
      if (exact == 0) {
        if (w[n] != 0.0 || w[4 + n] != 0.0) worst = INFINITY;
        continue;
      }
      worst = fmax(worst, fabs((double)(((quad)w[n] - exact) / exact)));
      worst = fmax(worst, fabs((double)(((quad)w[4 + n] - slope) / slope)));
    }
  }
  return worst;
}

static void edges_keep_their_accuracy(void **state)
{
  (void)state;
  for (int support = 3; support <= 4; support++) {
    for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++) {
      const struct lanes *lanes = lanes_get(isa);
      if (!lanes) continue;
      const double worst = edge_error(lanes, support);
      print_message("%s, support %d: relative error at the edge %.1e\n", lanes->name, support, worst);
      assert_true(worst < 1e-15);
    }
    const double worst = edge_error(NULL, support);
    print_message("expanded, support %d: relative error at the edge %.1e\n", support, worst);
    assert_true(worst > 1.0); /* the check tells the two forms apart */
  }
}

static void check_moments(const struct lanes *lanes, int support, uint64_t k)
{
  const double u = position(k), base = base_of(support, u);
  double w[8], of[8], sum = 0.0, first = 0.0, second = 0.0, slopes = 0.0, linear = 0.0, scaled = 0.0;
  of_kernel(lanes, support, false, u, w);
  of_kernel(lanes, support, true, u, of);
  for (int n = 0; n < support; n++) {
    const double x = (base + n) - u;
    quad slope;
    const quad exact = exact_weight(support, -(quad)x, &slope);
    assert_true(w[n] >= 0.0 && of[n] == w[n]);
    assert_true(fabs(w[n] - (double)exact) < 3e-16 && fabs(w[4 + n] - (double)slope) < 6e-16);
    assert_true(fabs(of[4 + n] - w[n] * x) < 3e-16);
    sum += w[n];
    first += w[n] * x;
    second += w[n] * x * x;
    slopes += w[4 + n];
    linear += w[4 + n] * x;
    scaled += of[4 + n] * x;
  }
  for (int n = support; n < 4; n++) assert_true(w[n] == 0.0 && w[4 + n] == 0.0 && of[4 + n] == 0.0);
  const double moment = support == 4 ? 1.0 / 3.0 : 1.0 / 4.0;
  assert_true(fabs(sum - 1.0) < 1e-15 && fabs(first) < 1e-15);
  assert_true(fabs(second - moment) < 1e-15 && fabs(scaled - moment) < 1e-15);
  assert_true(fabs(slopes) < 1e-15 && fabs(linear - 1.0) < 2e-15); /* slope of a linear function, exactly */
}

static void moments(void **state)
{
  (void)state;
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++)
    for (int support = 3; support <= 4 && lanes_get(isa); support++)
      for (uint64_t k = 0; k < 20000; k++) check_moments(lanes_get(isa), support, k);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(edges_keep_their_accuracy), cmocka_unit_test(moments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
