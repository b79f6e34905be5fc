/* Eight doubles at a time, with one meaning on every CPU that a build runs on.
 *
 * A `v8` is a GCC vector of eight doubles and an `m8` a mask of eight lanes (all bits or none). Plain
 * operators work on both; the functions below are what C has no operator for. The kernels are compiled once
 * for each instruction set (AVX-512, AVX2, portable), always eight lanes wide, so a lane's bits depend on its
 * inputs and the instruction set alone: never on its neighbours, its position or a remainder loop. v8_fma is
 * the only fused multiply-add in Firn; the portable build rounds twice there. */
#ifndef FIRN_BASE_SIMD_H
#define FIRN_BASE_SIMD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined __AVX512F__ || defined __AVX2__
#include <immintrin.h>
#endif

enum { LANES = 8 };

typedef double v8 __attribute__((vector_size(64)));
typedef int64_t m8 __attribute__((vector_size(64)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef double v8_unaligned __attribute__((vector_size(64), aligned(8), may_alias));
typedef double v8_aligned __attribute__((vector_size(64), may_alias));

static inline v8 v8_set(double a)
{
  return (v8){a, a, a, a, a, a, a, a};
}

static inline v8 v8_load(const double *p)
{
  return *(const v8_unaligned *)p;
}

static inline void v8_store(double *p, v8 a)
{
  *(v8_unaligned *)p = a;
}

/* The lowest `count` lanes only. */
static inline void v8_store_some(double *p, v8 a, int count)
{
  if (count == LANES)
    v8_store(p, a);
  else
    memcpy(p, &a, (size_t)count * sizeof(double));
}

/* The same past the caches, for what is not read again soon; p must be 64-byte aligned where count is LANES.
 * v8_stream_end() before another thread reads it. */
static inline void v8_stream_some(double *p, v8 a, int count)
{
#if defined __AVX512F__
  if (count == LANES) {
    _mm512_stream_pd(p, (__m512d)a);
    return;
  }
#elif defined __AVX2__
  if (count == LANES) {
    union {
      v8 v;
      __m256d half[2];
    } x = {a};
    _mm256_stream_pd(p, x.half[0]);
    _mm256_stream_pd(p + 4, x.half[1]);
    return;
  }
#endif
  v8_store_some(p, a, count);
}

static inline void v8_stream_end(void)
{
#if defined __AVX2__
  _mm_sfence();
#endif
}

/* p must be 64-byte aligned. */
static inline v8 v8_load_aligned(const double *p)
{
  return *(const v8_aligned *)p;
}

static inline void v8_store_aligned(double *p, v8 a)
{
  *(v8_aligned *)p = a;
}

/* Four doubles twice: the node channels of a particle's contribution to two neighbouring nodes. */
static inline v8 v8_twice(const double *p)
{
#if defined __AVX512F__
  return (v8)_mm512_broadcast_f64x4(_mm256_loadu_pd(p));
#else
  return (v8){p[0], p[1], p[2], p[3], p[0], p[1], p[2], p[3]};
#endif
}

/* *low four times, then *high. */
static inline v8 v8_halves(const double *low, const double *high)
{
#if defined __AVX512F__
  return (v8)_mm512_mask_broadcastsd_pd(_mm512_set1_pd(*low), 0xF0, _mm_load_sd(high));
#else
  return (v8){*low, *low, *low, *low, *high, *high, *high, *high};
#endif
}

/* Sum of the lower and the upper four lanes. */
static inline void v8_fold(v8 a, double out[4])
{
#if defined __AVX512F__
  const __m256d lower = _mm512_castpd512_pd256((__m512d)a), upper = _mm512_extractf64x4_pd((__m512d)a, 1);
  _mm256_storeu_pd(out, _mm256_add_pd(lower, upper));
#else
  for (int l = 0; l < 4; l++) out[l] = a[l] + a[l + 4];
#endif
}

/* a * b + c, rounded once where the instruction set has it. */
static inline v8 v8_fma(v8 a, v8 b, v8 c)
{
#if defined __AVX512F__
  return (v8)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined __FMA__
  union {
    v8 v;
    __m256d half[2];
  } x = {a}, y = {b}, z = {c};
  z.half[0] = _mm256_fmadd_pd(x.half[0], y.half[0], z.half[0]);
  z.half[1] = _mm256_fmadd_pd(x.half[1], y.half[1], z.half[1]);
  return z.v;
#else
  return a * b + c;
#endif
}

/* Lanes of a where the mask is set, of b elsewhere; whatever b holds there (NaN, infinity) is dropped. */
static inline v8 v8_select(m8 mask, v8 a, v8 b)
{
#if defined __AVX512DQ__
  return (v8)_mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)mask), (__m512d)b, (__m512d)a);
#else
  return (v8)(((m8)a & mask) | ((m8)b & ~mask));
#endif
}

static inline bool m8_any(m8 mask)
{
#if defined __AVX512DQ__
  return _mm512_movepi64_mask((__m512i)mask) != 0;
#else
  int64_t any = 0;
  for (int l = 0; l < LANES; l++) any |= mask[l];
  return any != 0;
#endif
}

/* Whether a > b in any lane. */
static inline bool v8_any_greater(v8 a, v8 b)
{
#if defined __AVX512F__
  return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ) != 0;
#else
  return m8_any(a > b);
#endif
}

/* Whether the eight are a, a + 1, a + 2, ... */
static inline bool i8_is_run(i8 a)
{
  const i8 apart = a ^ ((i8){0, 1, 2, 3, 4, 5, 6, 7} + a[0]);
#if defined __AVX2__
  return _mm256_testz_si256((__m256i)apart, (__m256i)apart);
#else
  int32_t any = 0;
  for (int l = 0; l < LANES; l++) any |= apart[l];
  return any == 0;
#endif
}

static inline int m8_count(m8 mask)
{
#if defined __AVX512DQ__
  return __builtin_popcount(_mm512_movepi64_mask((__m512i)mask));
#else
  int count = 0;
  for (int l = 0; l < LANES; l++) count += mask[l] != 0;
  return count;
#endif
}

/* The masked lanes of a, moved together, to p; up to eight doubles are overwritten there. */
static inline void v8_pack(double *p, m8 mask, v8 a)
{
#if defined __AVX512DQ__
  v8_store(p, (v8)_mm512_maskz_compress_pd(_mm512_movepi64_mask((__m512i)mask), (__m512d)a));
#else
  for (int l = 0; l < LANES; l++)
    if (mask[l]) *p++ = a[l];
#endif
}

/* The other way: the masked lanes of a become what stands at p. */
static inline v8 v8_unpack(const double *p, m8 mask, v8 a)
{
#if defined __AVX512DQ__
  return (v8)_mm512_mask_expand_pd((__m512d)a, _mm512_movepi64_mask((__m512i)mask), (__m512d)v8_load(p));
#else
  for (int l = 0; l < LANES; l++)
    if (mask[l]) a[l] = *p++;
  return a;
#endif
}

/* The lowest `count` lanes. */
static inline m8 m8_first(int count)
{
  const m8 lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return lane < (m8){0} + count;
}

static inline m8 m8_clamp(m8 a, int64_t low, int64_t high)
{
  const m8 below = a<low, above = a> high;
  return (below & low) | (above & high) | (a & ~(below | above));
}

/* x where a > b, y elsewhere: as v8_select(a > b, x, y), without a trip of the mask through a vector. */
static inline v8 v8_where_greater(v8 a, v8 b, v8 x, v8 y)
{
#if defined __AVX512F__
  return (v8)_mm512_mask_blend_pd(_mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ), (__m512d)y,
                                  (__m512d)x);
#else
  return v8_select(a > b, x, y);
#endif
}

/* The second where they are equal or either is no number, as the instruction does it. */
static inline v8 v8_min(v8 a, v8 b)
{
#if defined __AVX512F__
  return (v8)_mm512_min_pd((__m512d)a, (__m512d)b);
#else
  return v8_select(a < b, a, b);
#endif
}

static inline v8 v8_max(v8 a, v8 b)
{
#if defined __AVX512F__
  return (v8)_mm512_max_pd((__m512d)a, (__m512d)b);
#else
  return v8_select(a > b, a, b);
#endif
}

static inline v8 v8_abs(v8 a)
{
  return (v8)((m8)a & INT64_MAX);
}

static inline v8 v8_sqrt(v8 a)
{
#if defined __AVX512F__
  return (v8)_mm512_sqrt_pd((__m512d)a);
#elif defined __AVX2__
  union {
    v8 v;
    __m256d half[2];
  } x = {a};
  x.half[0] = _mm256_sqrt_pd(x.half[0]);
  x.half[1] = _mm256_sqrt_pd(x.half[1]);
  return x.v;
#else
  for (int l = 0; l < LANES; l++) a[l] = __builtin_sqrt(a[l]);
  return a;
#endif
}

/* exp, ours because libm picks its code by CPU. Relative error below 2e-16 for |x| < 700; no special cases
 * beyond. */
static inline v8 v8_exp(v8 x)
{
  const v8 round_magic = v8_set(0x1.8p52);
  const v8 n = v8_fma(x, v8_set(1.44269504088896340736), round_magic) - round_magic;
  v8 r = v8_fma(n, v8_set(-6.93147180369123816490e-01), x);
  r = v8_fma(n, v8_set(-1.90821492927058770002e-10), r);
  static const double inverse_factorial[14] = {1.0,
                                               1.0,
                                               1.0 / 2,
                                               1.0 / 6,
                                               1.0 / 24,
                                               1.0 / 120,
                                               1.0 / 720,
                                               1.0 / 5040,
                                               1.0 / 40320,
                                               1.0 / 362880,
                                               1.0 / 3628800,
                                               1.0 / 39916800,
                                               1.0 / 479001600,
                                               1.0 / 6227020800};
  v8 sum = v8_set(inverse_factorial[13]);
  for (int k = 12; k >= 0; k--) sum = v8_fma(sum, r, v8_set(inverse_factorial[k]));
  const m8 exponent = __builtin_convertvector(n, m8) << 52;
  return (v8)((m8)sum + exponent);
}

/* Rows become columns, in place. */
static inline void v8_transpose(v8 r[8])
{
  v8 t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shuffle(r[i], r[i + 1], (m8){0, 8, 2, 10, 4, 12, 6, 14});
    t[i + 1] = __builtin_shuffle(r[i], r[i + 1], (m8){1, 9, 3, 11, 5, 13, 7, 15});
  }
  v8 s[8];
  for (int h = 0; h < 8; h += 4)
    for (int i = 0; i < 2; i++) {
      s[h + i] = __builtin_shuffle(t[h + i], t[h + 2 + i], (m8){0, 1, 8, 9, 4, 5, 12, 13});
      s[h + 2 + i] = __builtin_shuffle(t[h + i], t[h + 2 + i], (m8){2, 3, 10, 11, 6, 7, 14, 15});
    }
  for (int i = 0; i < 4; i++) {
    r[i] = __builtin_shuffle(s[i], s[4 + i], (m8){0, 1, 2, 3, 8, 9, 10, 11});
    r[4 + i] = __builtin_shuffle(s[i], s[4 + i], (m8){4, 5, 6, 7, 12, 13, 14, 15});
  }
}

/* --- as many channels of neighbouring nodes as a register holds
 * --------------------------------------------- The transfers add and gather four channels a node. Two nodes
 * fill a register of AVX-512; elsewhere one does, since GCC keeps vectors that exceed a register in
 * memory. */
#if defined __AVX512F__
enum { VN = 8 };
typedef v8 vn;
#else
enum { VN = 4 };
typedef double vn __attribute__((vector_size(32)));
#endif
typedef double vn_unaligned __attribute__((vector_size(VN * sizeof(double)), aligned(8), may_alias));

static inline vn vn_set(double a)
{
#if defined __AVX512F__
  return v8_set(a);
#else
  return (vn){a, a, a, a};
#endif
}

static inline vn vn_load(const double *p)
{
  return *(const vn_unaligned *)p;
}

static inline void vn_store(double *p, vn a)
{
  *(vn_unaligned *)p = a;
}

/* Four doubles, for each node of the register. */
static inline vn vn_repeat(const double *p)
{
#if defined __AVX512F__
  return v8_twice(p);
#else
  return vn_load(p);
#endif
}

/* One double a node, for all its channels; the next node's is `stride` doubles behind. */
static inline vn vn_spread(const double *p, int stride)
{
#if defined __AVX512F__
  return v8_halves(p, p + stride);
#else
  (void)stride;
  return vn_set(*p);
#endif
}

static inline vn vn_fma(vn a, vn b, vn c)
{
#if defined __AVX512F__
  return v8_fma(a, b, c);
#elif defined __FMA__
  return (vn)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}

/* The sum over the nodes of the register. */
static inline void vn_fold(vn a, double out[4])
{
#if defined __AVX512F__
  v8_fold(a, out);
#else
  vn_store(out, a);
#endif
}

#endif
