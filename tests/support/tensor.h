/* 3x3 matrices in plain C for the tests' oracles, row-major. */
#ifndef FIRN_TESTS_TENSOR_H
#define FIRN_TESTS_TENSOR_H

#include "base/rng.h"

#include <math.h>
#include <string.h>

static inline void tensor_multiply(const double a[9], const double b[9], double out[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

static inline void tensor_transpose(const double a[9], double out[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) out[3 * i + j] = a[3 * j + i];
}

static inline double tensor_dot(const double a[9], const double b[9])
{
  double sum = 0.0;
  for (int c = 0; c < 9; c++) sum += a[c] * b[c];
  return sum;
}

static inline double tensor_determinant(const double a[9])
{
  return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
         a[2] * (a[3] * a[7] - a[4] * a[6]);
}

static inline double tensor_largest(const double a[9])
{
  double most = 0.0;
  for (int k = 0; k < 9; k++) most = fmax(most, fabs(a[k]));
  return most;
}

/* det(A) A^-T. */
static inline void tensor_cofactor(const double a[9], double out[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const int r = (i + 1) % 3, s = (i + 2) % 3, t = (j + 1) % 3, u = (j + 2) % 3;
      out[3 * i + j] = a[3 * r + t] * a[3 * s + u] - a[3 * r + u] * a[3 * s + t];
    }
}

/* Uniform in [-1, 1). */
static inline double tensor_random(uint64_t seed, uint64_t k, uint64_t stream)
{
  return 2.0 * rng_uniform(seed, k, stream) - 1.0;
}

/* A rotation from a random quaternion. */
static inline void tensor_rotation(uint64_t seed, uint64_t k, double out[9])
{
  double q[4], norm = 0.0;
  for (uint64_t c = 0; c < 4; c++) {
    q[c] = tensor_random(seed, k, 100 + c);
    norm += q[c] * q[c];
  }
  for (int c = 0; c < 4; c++) q[c] /= sqrt(norm);
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                       2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                       2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  memcpy(out, r, sizeof r);
}

/* U diag(a, b, c) V^T with random rotations. */
static inline void tensor_stretched(uint64_t seed, uint64_t k, double a, double b, double c, double out[9])
{
  double u[9], v[9], vt[9];
  tensor_rotation(seed, 2 * k, u);
  tensor_rotation(seed, 2 * k + 1, v);
  tensor_transpose(v, vt);
  for (int i = 0; i < 3; i++) {
    u[3 * i] *= a;
    u[3 * i + 1] *= b;
    u[3 * i + 2] *= c;
  }
  tensor_multiply(u, vt, out);
}

#endif
