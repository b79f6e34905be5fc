/* Singular values, principal frame and left stretch of 3x3 matrices (svd.h, stretch.h), on every instruction
 * set of the machine: matrices of all kinds that a deforming particle can meet and many that it cannot, and
 * the promise that a lane's bits do not depend on what the other lanes hold. */
#include "base/rng.h"
#include "support/lanes.h"
#include "support/tensor.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct decomposition {
  double u[9], sigma[3], v[9];
};

static double number(uint64_t k, uint64_t stream)
{
  return tensor_random(3, k, stream);
}

static void random_matrix(uint64_t k, double scale, double out[9])
{
  for (uint64_t c = 0; c < 9; c++) out[c] = scale * number(k, c);
}

/* Kinds of matrices; each k gives another one. The scale is multiplied on last. */
enum { KINDS = 18 };
static void matrix(int kind, uint64_t k, double scale, double f[9])
{
  const double tiny = pow(10.0, -1.0 - 16.0 * rng_uniform(4, k, 0));
  switch (kind) {
  case 0: random_matrix(k, 1.0, f); break;
  case 1: tensor_stretched(3, k, 1.0 + 0.01 * number(k, 1), 1.0 + 0.01 * number(k, 2), 1.0, f); break;
  case 2: tensor_rotation(3, k, f); break;
  case 3: tensor_stretched(3, k, 1.0 + tiny, 1.0, 1.0 - tiny, f); break; /* nearly one stretch */
  case 4: tensor_stretched(3, k, 2.0, 2.0, 0.5, f); break;
  case 5: tensor_stretched(3, k, 1.0, 0.8, -0.3, f); break;          /* inside out */
  case 6: tensor_stretched(3, k, 1.0, 1.0, -1.0, f); break;          /* a reflection */
  case 7: tensor_stretched(3, k, -1.0, -1.0 - tiny, -1.0, f); break; /* all three */
  case 8: tensor_stretched(3, k, 1.0, tiny, tiny * tiny, f); break;  /* graded */
  case 9: tensor_stretched(3, k, 1.0, 0.5, 0.0, f); break;           /* rank 2, up to round-off */
  case 10: tensor_stretched(3, k, 1.0, 0.0, 0.0, f); break;          /* rank 1 */
  case 11: tensor_stretched(3, k, 1.0, 1.0, tiny, f); break;         /* nearly flat */
  case 12:                                                           /* exact zeros in a row and a column */
    random_matrix(k, 1.0, f);
    for (int c = 0; c < 3; c++) f[3 * (k % 3) + (uint64_t)c] = f[(uint64_t)(3 * c) + k / 3 % 3] = 0.0;
    break;
  case 13: /* one entry, of either sign */
    memset(f, 0, 9 * sizeof *f);
    f[k % 9] = k & 16 ? -1.0 : 1.0;
    break;
  case 14: /* columns of very different length */
    random_matrix(k, 1.0, f);
    for (int c = 0; c < 9; c++) f[c] *= pow(10.0, -60.0 * rng_uniform(4, k, 1 + (uint64_t)(c % 3)));
    break;
  case 15: /* where stretch.h switches between its two ways */
    tensor_stretched(3, k, 1.0 + 0.12 * number(k, 1), 1.0 + 0.12 * number(k, 2), 1.0 + 0.12 * number(k, 3),
                     f);
    break;
  case 16: /* stretches along the axes, no rotation at all */
    memset(f, 0, 9 * sizeof *f);
    for (uint64_t c = 0; c < 3; c++) f[4 * c] = 1.0 + (k % 4 == c ? 0.0 : 0.05 * number(k, c));
    break;
  default: /* a permutation with signs */
    memset(f, 0, 9 * sizeof *f);
    for (uint64_t c = 0; c < 3; c++) f[3 * c + (c + k) % 3] = k >> (2 + c) & 1 ? -1.0 : 1.0;
  }
  for (int c = 0; c < 9; c++) f[c] *= scale;
}

static void spread(const double f[9], lane out[9])
{
  for (int c = 0; c < 9; c++)
    for (int l = 0; l < WIDE; l++) out[c][l] = f[c];
}

typedef void decomposer(const lane f[9], lane u[9], lane sigma[3], lane v[9]);

static struct decomposition decompose(decomposer *with, const lane f[9], int l)
{
  lane u[9], sigma[3], v[9];
  struct decomposition d;
  with(f, u, sigma, v);
  for (int c = 0; c < 9; c++) {
    d.u[c] = u[c][l];
    d.v[c] = v[c][l];
  }
  for (int c = 0; c < 3; c++) d.sigma[c] = sigma[c][l];
  return d;
}

/* |A^T A - I|, and 2 more where A is not a rotation. */
static double rotation_error(const double a[9])
{
  double at[9], product[9];
  tensor_transpose(a, at);
  tensor_multiply(at, a, product);
  for (int c = 0; c < 9; c += 4) product[c] -= 1.0;
  return tensor_largest(product) + (tensor_determinant(a) > 0.0 ? 0.0 : 2.0);
}

/* Largest of |U Sigma V^T - F| / |F|, on a scale on which nothing overflows. */
static double reconstruction_error(const double f[9], const struct decomposition *d)
{
  double vt[9], us[9], back[9], worst = 0.0;
  const double size = tensor_largest(f);
  if (size == 0.0) return fabs(d->sigma[0]) + fabs(d->sigma[1]) + fabs(d->sigma[2]);
  const double unit = ldexp(1.0, ilogb(size)); /* two steps: 1 / unit may not be a double */
  tensor_transpose(d->v, vt);
  for (int c = 0; c < 9; c++) us[c] = d->u[c] * (d->sigma[c % 3] / unit);
  tensor_multiply(us, vt, back);
  for (int c = 0; c < 9; c++) worst = fmax(worst, fabs(back[c] - f[c] / unit));
  return worst;
}

struct worst {
  double rotation, back, polar, left;
};

/* How far R is from a rotation with R^T F symmetric. */
static double polar_error(const double f[9], double scale, const double r[9])
{
  double rt[9], unit[9], s[9], worst = rotation_error(r);
  for (int c = 0; c < 9; c++) unit[c] = scale == 0.0 ? 0.0 : f[c] / scale;
  const double size = fmax(tensor_largest(unit), DBL_MIN);
  tensor_transpose(r, rt);
  tensor_multiply(rt, unit, s);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < i; j++) worst = fmax(worst, fabs(s[3 * i + j] - s[3 * j + i]) / size);
  return worst;
}

/* How far root^2 is from F F^T. The root is a difference that is exact beside 1 and F F^T, so only F of that
 * size is held to it. */
static double left_error(const double f[9], const double root[9])
{
  const double size = tensor_largest(f);
  if (size < 0.1 || size > 10.0) return 0.0;
  double ft[9], wanted[9], product[9], worst = 0.0;
  tensor_transpose(f, ft);
  tensor_multiply(f, ft, wanted);
  tensor_multiply(root, root, product);
  for (int c = 0; c < 9; c++) worst = fmax(worst, fabs(product[c] - wanted[c]) / (size * size));
  return worst;
}

/* The singular values are in order and carry the sign of the determinant in the smallest; those that are
 * equal may differ by round-off either way. */
static void check_order(const double f[9], double scale, const double sigma[3])
{
  const double slack = 1e-15 * sigma[0];
  if (!(sigma[0] >= sigma[1] - slack && sigma[1] >= -slack && sigma[1] >= fabs(sigma[2]) - slack))
    fail_msg("at %g: %.17g, %.17g, %.17g", scale, sigma[0], sigma[1], sigma[2]);
  double unit[9];
  for (int c = 0; c < 9; c++) unit[c] = scale == 0.0 ? 0.0 : f[c] / scale;
  const double volume = tensor_determinant(unit), size = tensor_largest(unit);
  if (fabs(volume) > 1e-12 * size * size * size) assert_true((volume < 0.0) == (sigma[2] < 0.0));
}

static void check_one(const struct lanes *lanes, int kind, uint64_t k, double scale, struct worst *worst)
{
  double f[9], vt[9], r[9];
  lane wide[9], left[9];
  matrix(kind, k, scale, f);
  if (tensor_largest(f) > 0.0 && tensor_largest(f) < DBL_MIN / DBL_EPSILON)
    return; /* the result could not be a double */
  spread(f, wide);
  const int l = (int)(k % WIDE);
  const struct decomposition d = decompose(lanes->svd, (const lane *)wide, l);
  check_order(f, scale, d.sigma);
  tensor_transpose(d.v, vt);
  tensor_multiply(d.u, vt, r);
  worst->polar = fmax(worst->polar, polar_error(f, scale, r));

  struct decomposition p = decompose(lanes->principal, (const lane *)wide, l);
  for (int c = 0; c < 3; c++) p.sigma[c] += 1.0;
  const double scaled = fmax(1.0, 1.0 / fmax(tensor_largest(f), 1e-300)); /* strains are exact beside 1 */
  worst->rotation = fmax(worst->rotation, fmax(rotation_error(d.u), rotation_error(d.v)));
  worst->rotation = fmax(worst->rotation, fmax(rotation_error(p.u), rotation_error(p.v)));
  worst->back = fmax(worst->back, reconstruction_error(f, &d));
  if (tensor_largest(f) > 0.0) worst->back = fmax(worst->back, reconstruction_error(f, &p) / scaled);

  lanes->left((const lane *)wide, left);
  for (int c = 0; c < 9; c++) r[c] = left[c][l];
  worst->left = fmax(worst->left, left_error(f, r));
}

static void all_kinds(void **state)
{
  (void)state;
  const double scales[] = {1.0, 1e-3, 1e5, 1e150, 1e-150, 1e290, 1e-290, 3e-307, 0.0};
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++) {
    const struct lanes *lanes = lanes_get(isa);
    if (!lanes) continue;
    struct worst total = {0};
    for (int kind = 0; kind < KINDS; kind++) {
      struct worst worst = {0};
      for (size_t s = 0; s < sizeof scales / sizeof *scales; s++)
        for (uint64_t k = 0; k < 400; k++) check_one(lanes, kind, k, scales[s], &worst);
      if (!(worst.rotation < 1e-13 && worst.back < 1e-13 && worst.polar < 1e-13 && worst.left < 1e-13))
        fail_msg("%s, kind %d: rotation %.1e, reconstruction %.1e, polar %.1e, left stretch %.1e",
                 lanes->name, kind, worst.rotation, worst.back, worst.polar, worst.left);
      total.rotation = fmax(total.rotation, worst.rotation);
      total.back = fmax(total.back, worst.back);
      total.polar = fmax(total.polar, worst.polar);
      total.left = fmax(total.left, worst.left);
    }
    print_message("%s: orthogonality %.1e, reconstruction %.1e, polar %.1e, left stretch %.1e\n", lanes->name,
                  total.rotation, total.back, total.polar, total.left);
  }
}

/* The matrix of k in lane `mine`, others of all kinds, sizes and faults in the rest. */
static void crowd(uint64_t k, const double f[9], int mine, lane wide[9])
{
  for (int l = 0; l < WIDE; l++) {
    double other[9];
    matrix((int)(rng_bits(8, k, (uint64_t)l) % KINDS), 8 * k + (uint64_t)l, l == 3 ? 1e200 : 1.0, other);
    if (l == 5) other[k % 9] = k & 1 ? NAN : INFINITY;
    for (int c = 0; c < 9; c++) wide[c][l] = l == mine ? f[c] : other[c];
  }
}

/* Whatever the seven other lanes hold, the bits are those of a lane among equals. */
static void lanes_are_independent(void **state)
{
  (void)state;
  for (enum isa isa = ISA_BASE; isa < ISA_COUNT; isa++) {
    const struct lanes *lanes = lanes_get(isa);
    if (!lanes) continue;
    for (uint64_t k = 0; k < 9000; k++) {
      double f[9];
      lane same[9], mixed[9], left_same[9], left_mixed[9];
      const int mine = (int)(rng_bits(9, k, 0) % WIDE);
      matrix((int)(k % KINDS), k, 1.0, f);
      spread(f, same);
      crowd(k, f, mine, mixed);
      decomposer *const with[2] = {lanes->svd, lanes->principal};
      for (int n = 0; n < 2; n++) {
        const struct decomposition alone = decompose(with[n], (const lane *)same, 0),
                                   among = decompose(with[n], (const lane *)mixed, mine);
        assert_memory_equal(&among, &alone, sizeof alone);
      }
      lanes->left((const lane *)same, left_same);
      lanes->left((const lane *)mixed, left_mixed);
      for (int c = 0; c < 9; c++) assert_memory_equal(&left_mixed[c][mine], &left_same[c][0], sizeof(double));
    }
  }
}

static void instruction_sets_agree(void **state)
{
  (void)state;
  double worst = 0.0;
  for (uint64_t k = 0; k < 20000; k++) {
    double f[9];
    lane wide[9];
    matrix((int)(k % 6), k, 1.0, f);
    spread(f, wide);
    const struct decomposition plain = decompose(lanes_base.svd, (const lane *)wide, 0);
    for (enum isa isa = ISA_AVX2; isa < ISA_COUNT; isa++) {
      const struct lanes *lanes = lanes_get(isa);
      if (!lanes) continue;
      const struct decomposition d = decompose(lanes->svd, (const lane *)wide, 0);
      for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(d.sigma[c] - plain.sigma[c]));
    }
  }
  print_message("singular values of two instruction sets differ by %.1e\n", worst);
  assert_true(worst < 1e-14);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_kinds),
      cmocka_unit_test(lanes_are_independent),
      cmocka_unit_test(instruction_sets_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
