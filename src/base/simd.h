/* Registers of doubles, with one meaning on every CPU that a build runs on.
 *
 * A `vd` is a GCC vector of LANES doubles, as many as a register holds (8 with AVX-512, 4 with AVX2, else 2:
 * GCC keeps wider vectors in memory); a `vm` is a mask of as many lanes (all bits or none). Plain operators
 * work on both; the functions below are what C has no operator for. The kernels are compiled once for each
 * instruction set: AVX-512, AVX2 and SSE2 on x86-64, NEON on aarch64, plain GCC vectors elsewhere. A lane's
 * bits depend on its inputs and the instruction set alone: never on its neighbours, its position or a
 * remainder loop. vd_fma is the only fused multiply-add in Firn; SSE2 has none and rounds twice there. */
#ifndef FIRN_BASE_SIMD_H
#define FIRN_BASE_SIMD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined __AVX512F__ || defined __AVX2__
#include <immintrin.h>
#elif defined __SSE2__
#include <emmintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

#if defined __AVX512F__
enum { LANES = 8 };
#elif defined __AVX2__
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif

typedef double vd __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t vm __attribute__((vector_size(LANES * sizeof(int64_t))));
typedef uint64_t vm_unsigned __attribute__((vector_size(LANES * sizeof(uint64_t))));
typedef int32_t vi __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef unsigned char vb __attribute__((vector_size(LANES)));
typedef double vd_unaligned __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
typedef double vd_aligned __attribute__((vector_size(LANES * sizeof(double)), may_alias));

/* A constant vector: of eight numbers the first LANES. */
#if defined __AVX512F__
#define VD_LANES(a, b, c, d, e, f, g, h)                                                                     \
  {                                                                                                          \
    a, b, c, d, e, f, g, h                                                                                   \
  }
#elif defined __AVX2__
#define VD_LANES(a, b, c, d, e, f, g, h)                                                                     \
  {                                                                                                          \
    a, b, c, d                                                                                               \
  }
#else
#define VD_LANES(a, b, c, d, e, f, g, h)                                                                     \
  {                                                                                                          \
    a, b                                                                                                     \
  }
#endif

/* Lanes of x and y by index, those of y from LANES on: of eight indices the first LANES. */
#if defined __AVX512F__
#define VD_SHUFFLE(x, y, a, b, c, d, e, f, g, h) __builtin_shufflevector(x, y, a, b, c, d, e, f, g, h)
#elif defined __AVX2__
#define VD_SHUFFLE(x, y, a, b, c, d, e, f, g, h) __builtin_shufflevector(x, y, a, b, c, d)
#else
#define VD_SHUFFLE(x, y, a, b, c, d, e, f, g, h) __builtin_shufflevector(x, y, a, b)
#endif

static inline vd vd_set(double a)
{
  return (vd)VD_LANES(a, a, a, a, a, a, a, a);
}

static inline vd vd_load(const double *p)
{
  return *(const vd_unaligned *)p;
}

static inline void vd_store(double *p, vd a)
{
  *(vd_unaligned *)p = a;
}

/* The lowest `count` lanes only. */
static inline void vd_store_some(double *p, vd a, int count)
{
  if (count == LANES)
    vd_store(p, a);
  else
    memcpy(p, &a, (size_t)count * sizeof(double));
}

/* `count` zeros, a multiple of LANES. GCC would make it a memset, and of that `rep stos`, which takes longer
 * to begin than some hundred bytes take to write. */
static inline void vd_clear(double *p, int count)
{
  vd zero = vd_set(0.0);
#if defined __x86_64__
  __asm__("" : "+x"(zero));
#endif
  for (int k = 0; k < count; k += LANES) vd_store(p + k, zero);
}

/* The same past the caches, for what is not read again soon; p must be aligned to a register where count is
 * LANES. vd_stream_end() before another thread reads it. */
static inline void vd_stream_some(double *p, vd a, int count)
{
#if defined __AVX512F__
  if (count == LANES) {
    _mm512_stream_pd(p, (__m512d)a);
    return;
  }
#elif defined __AVX2__
  if (count == LANES) {
    _mm256_stream_pd(p, (__m256d)a);
    return;
  }
#endif
  vd_store_some(p, a, count);
}

static inline void vd_stream_end(void)
{
#if defined __AVX2__
  _mm_sfence();
#endif
}

/* Makes GCC hold a in a register where it would load it again for each use: loads bound a gather as much as
 * arithmetic does. */
static inline void vd_keep(vd *a)
{
#if defined __x86_64__
  __asm__("" : "+v"(*a));
#else
  (void)a;
#endif
}

/* p must be aligned to a register. */
static inline vd vd_load_aligned(const double *p)
{
  return *(const vd_aligned *)p;
}

static inline void vd_store_aligned(double *p, vd a)
{
  *(vd_aligned *)p = a;
}

/* a * b + c, rounded once where the instruction set has it. */
static inline vd vd_fma(vd a, vd b, vd c)
{
#if defined __AVX512F__
  return (vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined __FMA__
  return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined __aarch64__
  return (vd)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  return a * b + c;
#endif
}

/* Lanes of a where the mask is set, of b elsewhere; whatever b holds there (NaN, infinity) is dropped. */
static inline vd vd_select(vm mask, vd a, vd b)
{
#if defined __AVX512DQ__
  return (vd)_mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)mask), (__m512d)b, (__m512d)a);
#elif defined __AVX2__
  return (vd)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)mask);
#elif defined __aarch64__
  return (vd)vbslq_f64((uint64x2_t)mask, (float64x2_t)a, (float64x2_t)b);
#else
  return (vd)(((vm)a & mask) | ((vm)b & ~mask));
#endif
}

/* One bit a lane. */
static inline unsigned vm_bits(vm mask)
{
#if defined __AVX512DQ__
  return _mm512_movepi64_mask((__m512i)mask);
#elif defined __AVX2__
  return (unsigned)_mm256_movemask_pd((__m256d)mask);
#elif defined __SSE2__
  return (unsigned)_mm_movemask_pd((__m128d)mask);
#else
  unsigned bits = 0;
  for (int l = 0; l < LANES; l++) bits |= (unsigned)(mask[l] != 0) << l;
  return bits;
#endif
}

static inline bool vm_any(vm mask)
{
#if defined __aarch64__
  return vmaxvq_u32((uint32x4_t)mask) != 0;
#else
  return vm_bits(mask) != 0;
#endif
}

static inline int vm_count(vm mask)
{
  const unsigned bits = vm_bits(mask);
  return LANES == 2 ? (int)(bits - (bits >> 1)) : __builtin_popcount(bits); /* SSE2 counts no bits */
}

/* Whether a > b in any lane. */
static inline bool vd_any_greater(vd a, vd b)
{
#if defined __AVX512F__
  return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ) != 0;
#else
  return vm_any(a > b);
#endif
}

/* Whether the lanes are a, a + 1, a + 2, ... */
static inline bool vi_is_run(vi a)
{
  const vi apart = a ^ ((vi)VD_LANES(0, 1, 2, 3, 4, 5, 6, 7) + a[0]);
#if defined __AVX512F__
  return _mm256_testz_si256((__m256i)apart, (__m256i)apart);
#elif defined __AVX2__
  return _mm_testz_si128((__m128i)apart, (__m128i)apart);
#else
  int32_t any = 0;
  for (int l = 0; l < LANES; l++) any |= apart[l];
  return any == 0;
#endif
}

#if defined __AVX2__ && !defined __AVX512F__
/* Places of the halves of doubles that move a mask's lanes to the front, and from there back. */
static const int32_t vd_front[16][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7},
    {4, 5, 0, 1, 2, 3, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7}, {2, 3, 4, 5, 0, 1, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7},
    {6, 7, 0, 1, 2, 3, 4, 5}, {0, 1, 6, 7, 2, 3, 4, 5}, {2, 3, 6, 7, 0, 1, 4, 5}, {0, 1, 2, 3, 6, 7, 4, 5},
    {4, 5, 6, 7, 0, 1, 2, 3}, {0, 1, 4, 5, 6, 7, 2, 3}, {2, 3, 4, 5, 6, 7, 0, 1}, {0, 1, 2, 3, 4, 5, 6, 7}};
static const int32_t vd_back[16][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7},
    {2, 3, 4, 5, 0, 1, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7}, {4, 5, 0, 1, 2, 3, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7},
    {2, 3, 4, 5, 6, 7, 0, 1}, {0, 1, 4, 5, 6, 7, 2, 3}, {4, 5, 0, 1, 6, 7, 2, 3}, {0, 1, 2, 3, 6, 7, 4, 5},
    {4, 5, 6, 7, 0, 1, 2, 3}, {0, 1, 6, 7, 2, 3, 4, 5}, {6, 7, 0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5, 6, 7}};

static inline vd vd_permute(vd a, const int32_t halves[8])
{
  return (vd)_mm256_permutevar8x32_ps((__m256)a, _mm256_loadu_si256((const __m256i *)halves));
}
#endif

/* The masked lanes of a, moved together, to p; up to LANES doubles are overwritten there. */
static inline void vd_pack(double *p, vm mask, vd a)
{
#if defined __AVX512DQ__
  vd_store(p, (vd)_mm512_maskz_compress_pd(_mm512_movepi64_mask((__m512i)mask), (__m512d)a));
#elif defined __AVX2__
  vd_store(p, vd_permute(a, vd_front[vm_bits(mask)]));
#else
  for (int l = 0; l < LANES; l++) {
    *p = a[l];
    p += mask[l] != 0;
  }
#endif
}

/* The other way: the masked lanes of a become what stands at p. */
static inline vd vd_unpack(const double *p, vm mask, vd a)
{
#if defined __AVX512DQ__
  return (vd)_mm512_mask_expand_pd((__m512d)a, _mm512_movepi64_mask((__m512i)mask), (__m512d)vd_load(p));
#elif defined __AVX2__
  return vd_select(mask, vd_permute(vd_load(p), vd_back[vm_bits(mask)]), a);
#else
  for (int l = 0; l < LANES; l++)
    if (mask[l]) a[l] = *p++;
  return a;
#endif
}

/* The lowest `count` lanes. */
static inline vm vm_first(int count)
{
  const vm lane = VD_LANES(0, 1, 2, 3, 4, 5, 6, 7);
  return lane < (vm){0} + count;
}

static inline vm vm_clamp(vm a, int64_t low, int64_t high)
{
  const vm below = a<low, above = a> high;
  return (below & low) | (above & high) | (a & ~(below | above));
}

/* x where a > b, y elsewhere: as vd_select(a > b, x, y), without a trip of the mask through a vector. */
static inline vd vd_where_greater(vd a, vd b, vd x, vd y)
{
#if defined __AVX512F__
  return (vd)_mm512_mask_blend_pd(_mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ), (__m512d)y,
                                  (__m512d)x);
#else
  return vd_select(a > b, x, y);
#endif
}

/* The second where they are equal or either is no number, as the instruction does it. */
static inline vd vd_min(vd a, vd b)
{
#if defined __AVX512F__
  return (vd)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif defined __AVX2__
  return (vd)_mm256_min_pd((__m256d)a, (__m256d)b);
#elif defined __SSE2__
  return (vd)_mm_min_pd((__m128d)a, (__m128d)b);
#else
  return vd_select(a < b, a, b);
#endif
}

static inline vd vd_max(vd a, vd b)
{
#if defined __AVX512F__
  return (vd)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined __AVX2__
  return (vd)_mm256_max_pd((__m256d)a, (__m256d)b);
#elif defined __SSE2__
  return (vd)_mm_max_pd((__m128d)a, (__m128d)b);
#else
  return vd_select(a > b, a, b);
#endif
}

static inline vd vd_abs(vd a)
{
  return (vd)((vm)a & INT64_MAX);
}

static inline vd vd_sqrt(vd a)
{
#if defined __AVX512F__
  return (vd)_mm512_sqrt_pd((__m512d)a);
#elif defined __AVX2__
  return (vd)_mm256_sqrt_pd((__m256d)a);
#elif defined __SSE2__
  return (vd)_mm_sqrt_pd((__m128d)a);
#elif defined __aarch64__
  return (vd)vsqrtq_f64((float64x2_t)a);
#else
  for (int l = 0; l < LANES; l++) a[l] = __builtin_sqrt(a[l]);
  return a;
#endif
}

/* Sum of the lanes, in fixed order. */
static inline double vd_sum(vd a)
{
#if defined __AVX512F__
  return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
#elif defined __AVX2__
  return (a[0] + a[1]) + (a[2] + a[3]);
#else
  return a[0] + a[1];
#endif
}

/* Whole numbers |n| < 2^51 as integers: AVX2 has no instruction for it. */
static inline vm vd_whole(vd n)
{
  const vd magic = vd_set(0x1.8p52);
  return (vm)(n + magic) - (vm)magic;
}

/* exp, ours because libm picks its code by CPU. Relative error below 2e-16 for |x| < 700; no special cases
 * beyond. */
static inline vd vd_exp(vd x)
{
  const vd round_magic = vd_set(0x1.8p52);
  const vd n = vd_fma(x, vd_set(1.44269504088896340736), round_magic) - round_magic;
  vd r = vd_fma(n, vd_set(-6.93147180369123816490e-01), x);
  r = vd_fma(n, vd_set(-1.90821492927058770002e-10), r);
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
  vd sum = vd_set(inverse_factorial[13]);
  for (int k = 12; k >= 0; k--) sum = vd_fma(sum, r, vd_set(inverse_factorial[k]));
  const vm exponent = vd_whole(n) << 52;
  return (vd)((vm)sum + exponent);
}

/* log of 2^k (1 + f) (1 + c) for whole k, 1 + f in [sqrt(1/2), sqrt(2)] and a tiny c. With s = f / (2 + f) it
 * is 2 artanh(s), of which the large part f is added last: nothing but its rounding is lost. */
static inline vd vd_log_sum(vd k, vd f, vd c)
{
  static const double odd[11] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  const vd s = f / (vd_set(2.0) + f), z = s * s, half = vd_set(0.5) * f * f;
  vd sum = vd_set(odd[10]);
  for (int n = 9; n >= 0; n--) sum = vd_fma(sum, z, vd_set(odd[n]));
  const vd low = vd_fma(k, vd_set(1.90821492927058770002e-10), c);
  return vd_fma(k, vd_set(6.93147180369123816490e-01), f - (half - vd_fma(s, vd_fma(sum, z, half), low)));
}

/* x = 2^k m with m in [sqrt(1/2), sqrt(2)). */
static inline vd vd_split(vd x, vd *k)
{
  const int64_t one = 0x3ff0000000000000, root = 0x3fe6a09e667f3bcd, magic = 0x4330000000000000; /* 2^52 */
  const vm raised = ((vm)x + (one - root)) & INT64_C(0x7ff0000000000000);
  *k = (vd)((vm)((vm_unsigned)raised >> 52) | magic) - vd_set(0x1p52 + 1023.0);
  return (vd)((vm)x - (raised - one));
}

/* log, ours as exp is. Relative error below 3e-16 for normal x > 0; any other x gives some number. */
static inline vd vd_log(vd x)
{
  vd k;
  const vd m = vd_split(x, &k);
  return vd_log_sum(k, m - vd_set(1.0), vd_set(0.0));
}

/* log(1 + x) to the same relative error, also at the smallest x; x > -1. */
static inline vd vd_log1p(vd x)
{
  const vd one = vd_set(1.0), u = one + x, back = u - one, lost = (one - (u - back)) + (x - back);
  vd k;
  const vd m = vd_split(u, &k);
  const vm near = k == vd_set(0.0);
  return vd_log_sum(k, vd_select(near, x, m - one), vd_select(near, vd_set(0.0), lost / u));
}

/* sinh(x) / x for |x| <= 3. All terms are positive: the relative error stays below 5e-16. */
static inline vd vd_sinhc(vd x)
{
  static const double step[15] = {1.0 / 6,   1.0 / 20,  1.0 / 42,  1.0 / 72,  1.0 / 110,
                                  1.0 / 156, 1.0 / 210, 1.0 / 272, 1.0 / 342, 1.0 / 420,
                                  1.0 / 506, 1.0 / 600, 1.0 / 702, 1.0 / 812, 1.0 / 930};
  const vd z = x * x, one = vd_set(1.0);
  vd sum = one;
  for (int n = 14; n >= 0; n--) sum = vd_fma(sum, z * vd_set(step[n]), one);
  return sum;
}

/* |x| <= 3, relative error below 7e-16. */
static inline vd vd_sinh(vd x)
{
  return x * vd_sinhc(x);
}

/* exp(x) - 1 for |x| <= 6, relative error below 1e-15 also at the smallest x. */
static inline vd vd_expm1(vd x)
{
  const vd half = vd_set(0.5) * x;
  return x * vd_sinhc(half) * vd_exp(half);
}

/* Sine and cosine for |x| <= pi/4, relative error below 4e-16. */
static inline void vd_sincos_near(vd x, vd *sine, vd *cosine)
{
  static const double step[16] = {1.0 / 2,   1.0 / 6,   1.0 / 12,  1.0 / 20,  1.0 / 30,  1.0 / 42,
                                  1.0 / 56,  1.0 / 72,  1.0 / 90,  1.0 / 110, 1.0 / 132, 1.0 / 156,
                                  1.0 / 182, 1.0 / 210, 1.0 / 240, 1.0 / 272};
  const vd z = x * x, one = vd_set(1.0);
  vd s = one, c = one;
  for (int n = 7; n >= 0; n--) {
    c = vd_fma(c, -z * vd_set(step[2 * n]), one);
    s = vd_fma(s, -z * vd_set(step[2 * n + 1]), one);
  }
  *sine = x * s;
  *cosine = c;
}

/* --- rows of eight doubles, one a lane
 * ---------------------------------------------------------------------- */

#if defined __AVX2__ /* and so AVX-512 */
/* Four rows of four become columns, in each half of a register by itself. */
static inline void vd_turn4(const vd r[4], vd out[4])
{
#define VD_EVEN(x, y) VD_SHUFFLE(x, y, 0, LANES, 2, LANES + 2, 4, LANES + 4, 6, LANES + 6)
#define VD_ODD(x, y)  VD_SHUFFLE(x, y, 1, LANES + 1, 3, LANES + 3, 5, LANES + 5, 7, LANES + 7)
#define VD_LOW(x, y)  VD_SHUFFLE(x, y, 0, 1, LANES, LANES + 1, 4, 5, LANES + 4, LANES + 5)
#define VD_HIGH(x, y) VD_SHUFFLE(x, y, 2, 3, LANES + 2, LANES + 3, 6, 7, LANES + 6, LANES + 7)
  const vd a = VD_EVEN(r[0], r[1]), b = VD_ODD(r[0], r[1]), c = VD_EVEN(r[2], r[3]), d = VD_ODD(r[2], r[3]);
  out[0] = VD_LOW(a, c);
  out[1] = VD_LOW(b, d);
  out[2] = VD_HIGH(a, c);
  out[3] = VD_HIGH(b, d);
}

#if defined __AVX512F__
/* Eight rows become columns, in place. */
static inline void vd_transpose(vd r[8])
{
  vd t[8];
  vd_turn4(r, t);
  vd_turn4(r + 4, t + 4);
  for (int i = 0; i < 4; i++) {
    r[i] = VD_SHUFFLE(t[i], t[4 + i], 0, 1, 2, 3, 8, 9, 10, 11);
    r[4 + i] = VD_SHUFFLE(t[i], t[4 + i], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}
#endif

#endif

/* a[k] of lane l goes to row l, entry k; rows begin `stride` doubles apart. */
static inline void vd_to_rows(const vd a[8], double *rows, int stride)
{
#if defined __AVX512F__
  vd t[8];
  memcpy(t, a, sizeof t);
  vd_transpose(t);
  for (int l = 0; l < LANES; l++) vd_store(rows + l * stride, t[l]);
#elif defined __AVX2__
  vd t[8];
  vd_turn4(a, t);
  vd_turn4(a + 4, t + 4);
  for (int l = 0; l < LANES; l++) {
    vd_store(rows + l * stride, t[l]);
    vd_store(rows + l * stride + 4, t[4 + l]);
  }
#else
  for (int k = 0; k < 8; k += LANES) {
    vd_store(rows + k, __builtin_shufflevector(a[k], a[k + 1], 0, 2));
    vd_store(rows + stride + k, __builtin_shufflevector(a[k], a[k + 1], 1, 3));
  }
#endif
}

/* The other way. */
static inline void vd_from_rows(const double *rows, int stride, vd a[8])
{
#if defined __AVX512F__
  for (int l = 0; l < LANES; l++) a[l] = vd_load(rows + l * stride);
  vd_transpose(a);
#elif defined __AVX2__
  vd t[8];
  for (int l = 0; l < LANES; l++) {
    t[l] = vd_load(rows + l * stride);
    t[4 + l] = vd_load(rows + l * stride + 4);
  }
  vd_turn4(t, a);
  vd_turn4(t + 4, a + 4);
#else
  for (int k = 0; k < 8; k += LANES) {
    const vd first = vd_load(rows + k), second = vd_load(rows + stride + k);
    a[k] = __builtin_shufflevector(first, second, 0, 2);
    a[k + 1] = __builtin_shufflevector(first, second, 1, 3);
  }
#endif
}

/* --- nodes of four channels: two fill a register of AVX-512, one a register of AVX2, half a one those of 128
 * bits
 * ------------------------------ */

enum {
  NODE_PARTS = LANES < 4 ? 4 / LANES : 1, /* registers that a node takes */
  NODE_STEP = NODE_PARTS * LANES          /* doubles from a register to the one of the same channels */
};

/* Four doubles, for each node of the register; of two lanes the first two. */
static inline vd vd_repeat(const double *p)
{
#if defined __AVX512F__
  return (vd)_mm512_broadcast_f64x4(_mm256_loadu_pd(p));
#else
  return vd_load(p);
#endif
}

/* One double a node, for all its channels; the next node's is `stride` doubles behind. */
static inline vd vd_spread(const double *p, int stride)
{
#if defined __AVX512F__
  return (vd)_mm512_mask_broadcastsd_pd(_mm512_set1_pd(*p), 0xF0, _mm_load_sd(p + stride));
#else
  (void)stride;
  return vd_set(*p);
#endif
}

/* The sum over the nodes of the register: four doubles, or two of two lanes. */
static inline void vd_fold(vd a, double *out)
{
#if defined __AVX512F__
  const __m256d lower = _mm512_castpd512_pd256((__m512d)a), upper = _mm512_extractf64x4_pd((__m512d)a, 1);
  _mm256_storeu_pd(out, _mm256_add_pd(lower, upper));
#else
  vd_store(out, a);
#endif
}

#endif
