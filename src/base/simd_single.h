/* Registers of floats, for what is computed in single precision (kernels/hessian_mixed.c).
 *
 * A `vf` is a register of SINGLES floats, twice the lanes of base/simd.h, and made of BLOCKS blocks of four.
 * As there, a lane's bits depend on its inputs and the instruction set alone, and vf_fma is the only fused
 * multiply-add. */
#ifndef FIRN_BASE_SIMD_SINGLE_H
#define FIRN_BASE_SIMD_SINGLE_H

#include "base/simd.h"

#if defined __AVX512F__
enum { SINGLES = 16 };
#elif defined __AVX2__
enum { SINGLES = 8 };
#else
enum { SINGLES = 4 };
#endif
enum { BLOCKS = SINGLES / 4 };

typedef float vf __attribute__((vector_size(SINGLES * sizeof(float))));
typedef int32_t vf_mask __attribute__((vector_size(SINGLES * sizeof(int32_t))));
typedef float vf_unaligned
    __attribute__((vector_size(SINGLES * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef float vf_aligned __attribute__((vector_size(SINGLES * sizeof(float)), may_alias));

typedef float quad_single __attribute__((vector_size(16)));

/* Groups of four doubles, as many as a register holds and at least one, and as many floats. */
enum { QUADS = LANES == 8 ? 2 : 1 };
typedef double quads __attribute__((vector_size(QUADS * 32)));
typedef double quads_unaligned __attribute__((vector_size(QUADS * 32), aligned(sizeof(double)), may_alias));
typedef float quads_single __attribute__((vector_size(QUADS * 16)));
typedef float quads_single_unaligned
    __attribute__((vector_size(QUADS * 16), aligned(sizeof(float)), may_alias));

static inline vf vf_set(float a)
{
  return a - (vf){0};
}

static inline vf vf_load(const float *p)
{
  return *(const vf_unaligned *)p;
}

static inline vf vf_load_aligned(const float *p)
{
  return *(const vf_aligned *)p;
}

static inline void vf_store_aligned(float *p, vf a)
{
  *(vf_aligned *)p = a;
}

/* The lowest `count` lanes of doubles, rounded. */
static inline void vd_store_single(float *p, vd a, int count)
{
  typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
  const lanes rounded = __builtin_convertvector(a, lanes);
  if (count == LANES)
    memcpy(p, &rounded, sizeof rounded);
  else
    memcpy(p, &rounded, (size_t)count * sizeof(float));
}

/* a * b + c, rounded once where the instruction set has it. */
static inline vf vf_fma(vf a, vf b, vf c)
{
#if defined __AVX512F__
  return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined __FMA__
  return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined __aarch64__
  return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

/* The second where they are equal or either is no number. */
static inline vf vf_max(vf a, vf b)
{
  const vf_mask greater = a > b;
  return (vf)(((vf_mask)a & greater) | ((vf_mask)b & ~greater));
}

/* --- blocks of four lanes
 * ----------------------------------------------------------------------------------- */

/* Lanes of x and y by four indices, the same in each block: 0 .. 3 are x's, 4 .. 7 y's. */
#define VF_AT(i, block)            ((i) < 4 ? 4 * (block) + (i) : SINGLES + 4 * (block) + (i)-4)
#define VF_FOUR(a, b, c, d, block) VF_AT(a, block), VF_AT(b, block), VF_AT(c, block), VF_AT(d, block)
/* Blocks of x and y by index, those of y from BLOCKS on. */
#define VF_WHOLE(block)            4 * (block), 4 * (block) + 1, 4 * (block) + 2, 4 * (block) + 3
#if defined __AVX512F__
#define VF_SHUFFLE(x, y, a, b, c, d)                                                                         \
  __builtin_shufflevector(x, y, VF_FOUR(a, b, c, d, 0), VF_FOUR(a, b, c, d, 1), VF_FOUR(a, b, c, d, 2),      \
                          VF_FOUR(a, b, c, d, 3))
#define VF_BLOCKS(x, y, a, b, c, d)                                                                          \
  __builtin_shufflevector(x, y, VF_WHOLE(a), VF_WHOLE(b), VF_WHOLE(c), VF_WHOLE(d))
#elif defined __AVX2__
#define VF_SHUFFLE(x, y, a, b, c, d)                                                                         \
  __builtin_shufflevector(x, y, VF_FOUR(a, b, c, d, 0), VF_FOUR(a, b, c, d, 1))
#define VF_BLOCKS(x, y, a, b) __builtin_shufflevector(x, y, VF_WHOLE(a), VF_WHOLE(b))
#else
#define VF_SHUFFLE(x, y, a, b, c, d) __builtin_shufflevector(x, y, VF_FOUR(a, b, c, d, 0))
#endif

/* Four floats, for each block. */
static inline vf vf_repeat(const float *p)
{
#if defined __AVX512F__
  return (vf)_mm512_broadcast_f32x4(_mm_loadu_ps(p));
#elif defined __AVX2__
  return (vf)_mm256_broadcast_ps((const __m128 *)p);
#else
  return vf_load(p);
#endif
}

static inline quad_single vf_block(vf a, int block)
{
  quad_single out;
#if defined __AVX512F__
  switch (block) {
  case 0: return __builtin_shufflevector(a, a, VF_WHOLE(0));
  case 1: return __builtin_shufflevector(a, a, VF_WHOLE(1));
  case 2: return __builtin_shufflevector(a, a, VF_WHOLE(2));
  default: return __builtin_shufflevector(a, a, VF_WHOLE(3));
  }
#elif defined __AVX2__
  out = block ? __builtin_shufflevector(a, a, VF_WHOLE(1)) : __builtin_shufflevector(a, a, VF_WHOLE(0));
#else
  (void)block;
  out = a;
#endif
  return out;
}

/* Block b becomes lane `first` + b of its four, everywhere: of numbers that all blocks hold alike. */
static inline vf vf_spread(vf a, int first)
{
#if defined __AVX512F__
  (void)first;
  return __builtin_shufflevector(a, a, 0, 0, 0, 0, 5, 5, 5, 5, 10, 10, 10, 10, 15, 15, 15, 15);
#elif defined __AVX2__
  return first ? __builtin_shufflevector(a, a, 2, 2, 2, 2, 7, 7, 7, 7)
               : __builtin_shufflevector(a, a, 0, 0, 0, 0, 5, 5, 5, 5);
#else
  return vf_set(a[first]);
#endif
}

/* Four rows of four become columns, in each block by itself. */
static inline void vf_turn4(const vf r[4], vf out[4])
{
  const vf a = VF_SHUFFLE(r[0], r[1], 0, 4, 1, 5), b = VF_SHUFFLE(r[0], r[1], 2, 6, 3, 7),
           c = VF_SHUFFLE(r[2], r[3], 0, 4, 1, 5), d = VF_SHUFFLE(r[2], r[3], 2, 6, 3, 7);
  out[0] = VF_SHUFFLE(a, c, 0, 1, 4, 5);
  out[1] = VF_SHUFFLE(a, c, 2, 3, 6, 7);
  out[2] = VF_SHUFFLE(b, d, 0, 1, 4, 5);
  out[3] = VF_SHUFFLE(b, d, 2, 3, 6, 7);
}

/* The sum of the four lanes of each block of a, b, c and d, as lanes 0 to 3 of that block. */
static inline vf vf_sum4(vf a, vf b, vf c, vf d)
{
  const vf ab = VF_SHUFFLE(a, b, 0, 2, 4, 6) + VF_SHUFFLE(a, b, 1, 3, 5, 7),
           cd = VF_SHUFFLE(c, d, 0, 2, 4, 6) + VF_SHUFFLE(c, d, 1, 3, 5, 7);
  return VF_SHUFFLE(ab, cd, 0, 2, 4, 6) + VF_SHUFFLE(ab, cd, 1, 3, 5, 7);
}

/* Block k is the sum of the blocks of a[k]. */
static inline vf vf_sum_blocks(const vf a[BLOCKS])
{
#if defined __AVX512F__
  const vf low = VF_BLOCKS(a[0], a[1], 0, 2, 4, 6) + VF_BLOCKS(a[0], a[1], 1, 3, 5, 7),
           high = VF_BLOCKS(a[2], a[3], 0, 2, 4, 6) + VF_BLOCKS(a[2], a[3], 1, 3, 5, 7);
  return VF_BLOCKS(low, high, 0, 2, 4, 6) + VF_BLOCKS(low, high, 1, 3, 5, 7);
#elif defined __AVX2__
  return VF_BLOCKS(a[0], a[1], 0, 2) + VF_BLOCKS(a[0], a[1], 1, 3);
#else
  return a[0];
#endif
}

/* Block j of a[k] becomes block k of a[j]. */
static inline void vf_turn_blocks(vf a[BLOCKS])
{
#if defined __AVX512F__
  const vf b0 = VF_BLOCKS(a[0], a[1], 0, 1, 4, 5), b1 = VF_BLOCKS(a[0], a[1], 2, 3, 6, 7),
           b2 = VF_BLOCKS(a[2], a[3], 0, 1, 4, 5), b3 = VF_BLOCKS(a[2], a[3], 2, 3, 6, 7);
  a[0] = VF_BLOCKS(b0, b2, 0, 2, 4, 6);
  a[1] = VF_BLOCKS(b0, b2, 1, 3, 5, 7);
  a[2] = VF_BLOCKS(b1, b3, 0, 2, 4, 6);
  a[3] = VF_BLOCKS(b1, b3, 1, 3, 5, 7);
#elif defined __AVX2__
  const vf low = VF_BLOCKS(a[0], a[1], 0, 2);
  a[1] = VF_BLOCKS(a[0], a[1], 1, 3);
  a[0] = low;
#else
  (void)a;
#endif
}

/* --- groups of four doubles
 * --------------------------------------------------------------------------------- */

static inline quads quads_load(const double *p)
{
  return *(const quads_unaligned *)p;
}

static inline void quads_store(double *p, quads a)
{
  *(quads_unaligned *)p = a;
}

/* The same four in each group. */
static inline quads quads_repeat(const double *p)
{
#if defined __AVX512F__
  return (quads)_mm512_broadcast_f64x4(_mm256_loadu_pd(p));
#else
  return quads_load(p);
#endif
}

/* GCC would convert in two halves, through memory. */
static inline void quads_store_single(float *p, quads a)
{
#if defined __AVX512F__
  const quads_single rounded = (quads_single)_mm512_cvtpd_ps((__m512d)a);
#elif defined __AVX__
  const quads_single rounded = (quads_single)_mm256_cvtpd_ps((__m256d)a);
#else
  const quads_single rounded = __builtin_convertvector(a, quads_single);
#endif
  *(quads_single_unaligned *)p = rounded;
}

/* The blocks of a from `block` on, a multiple of QUADS. */
static inline quads quads_widen(vf a, int block)
{
#if defined __AVX512F__
  const __m512 all = (__m512)a;
  return (quads)_mm512_cvtps_pd(block ? _mm512_extractf32x8_ps(all, 1) : _mm512_castps512_ps256(all));
#elif defined __AVX__
  return (quads)_mm256_cvtps_pd((__m128)vf_block(a, block));
#else
  return __builtin_convertvector(vf_block(a, block), quads);
#endif
}

/* In fixed order. */
static inline double quads_sum(quads a)
{
#if defined __AVX512F__
  return ((a[0] + a[4]) + (a[1] + a[5])) + ((a[2] + a[6]) + (a[3] + a[7]));
#else
  return (a[0] + a[1]) + (a[2] + a[3]);
#endif
}

/* Four rows of four become columns, in each group by itself. */
static inline void quads_turn(const quads r[4], quads out[4])
{
#if defined __AVX2__
  vd_turn4(r, out);
#else
  const quads a = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6),
              b = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7),
              c = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6),
              d = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7);
  out[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  out[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  out[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  out[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
#endif
}

#endif
