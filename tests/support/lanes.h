/* The per-lane functions of simd.h, svd.h, stretch.h, the models and stencil.h as every instruction set
 * compiles them.
 *
 * They are inline functions of kernels that exist several times, so a test that included the headers would
 * see the least instruction set alone. lanes.c is built once for each set, as the kernels are; arguments are
 * plain arrays of doubles, component first and lane last, since vector registers do not cross between the
 * builds.
 */
#ifndef FIRN_TESTS_WIDE_H
#define FIRN_TESTS_WIDE_H

#include "kernels/kernels.h"
#include "material/models.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIDE = 8 }; /* a multiple of every register */

typedef double lane[WIDE]; /* one component of eight particles */

/* Eight particles of any materials: their constants, F_E and history. */
struct lane_state {
  const struct material_constants *table;
  uint32_t material[WIDE];
  lane f[9], volume, shear;
  int64_t flowing[WIDE];
};

/* Energy and full stress, from the principal axes and without them. */
struct lane_stress {
  lane energy, tau[9], left_energy, left[9];
};

/* What the return mapping says, and whether the lane was surely elastic before. */
struct lane_returned {
  int64_t plastic[WIDE], flowing[WIDE], inverted[WIDE], elastic[WIDE];
};

/* rho0 c^2 by its bound, and by its definition; the bounds of the squared stretches. */
struct lane_wave {
  lane bound, exact, low, high;
};

struct lanes {
  const char *name;
  int width; /* lanes of a register */
  void (*exp)(const lane x, lane out);
  void (*log)(const lane x, lane out);
  void (*log1p)(const lane x, lane out);
  void (*sinhc)(const lane x, lane out);
  void (*expm1)(const lane x, lane out);
  void (*sin)(const lane x, lane out);
  void (*cos)(const lane x, lane out);
  void (*floor)(const lane x, lane out);
  void (*sqrt)(const lane x, lane out);
  void (*select)(const int64_t mask[WIDE], const lane a, const lane b, lane out);
  void (*min_max_abs)(const lane a, const lane b, lane least, lane most, lane absolute);
  void (*fma)(const lane a, const lane b, const lane c, lane out);
  void (*rows)(const lane a[8], double rows[WIDE][8], lane back[8]);
  void (*fold)(const lane a, double *out);                                     /* the first register of a */
  int (*pack)(const int64_t mask[WIDE], const lane a, lane packed, lane back); /* returns how many */
  int (*first)(int count, int64_t mask[WIDE]);                                 /* returns vm_any of it */
  void (*svd)(const lane f[9], lane u[9], lane sigma[3], lane v[9]);
  void (*left)(const lane f[9], lane root[9]); /* (F F^T)^(1/2) */
  void (*principal)(const lane f[9], lane u[9], lane strain[3], lane v[9]);
  /* Energy density and P F^T as a full matrix: from the principal frame, and from the left stretch alone. */
  void (*stress)(const lane f[9], const lane mu, const lane lambda, lane energy, lane stress[9]);
  void (*stress_left)(const lane f[9], const lane mu, const lane lambda, lane energy, lane stress[9]);
  /* dP F^T for dF = g F. */
  void (*tangent)(const lane f[9], const lane mu, const lane lambda, const lane g[9], lane out[9]);
  void (*give_back)(const struct snow_constants *m, lane f[9], lane jp, int64_t plastic[WIDE],
                    int64_t inverted[WIDE]);
  void (*hardening)(const struct snow_constants *m, const lane jp, lane factor, int64_t clamped[WIDE]);
  /* The functions of models.h and tangent.h. */
  void (*model_stress)(const struct lane_state *state, struct lane_stress *out);
  void (*model_tangent)(const struct lane_state *state, const lane g[9], lane out[9]);
  void (*model_return)(struct lane_state *state, struct lane_returned *found);
  void (*model_give_back)(struct lane_state *state, lane sigma[3], struct lane_returned *found);
  void (*model_principal)(const struct lane_state *state, const lane sigma[3], lane energy, lane tau[3]);
  void (*model_wave)(const struct lane_state *state, struct lane_wave *out);
  void (*model_marks)(const struct lane_state *state, int64_t open[WIDE], int64_t limited[WIDE]);
  void (*model_reduce)(struct lane_state *state, int64_t limited[WIDE]);
  void (*model_viscous)(const struct lane_state *state, const lane c[9], lane tau[9]);
  void (*clay_project)(const lane x, const lane y, const lane ratio, lane x_factor, lane y_factor);
  /* Weights of the nodes from the base on, then their derivatives (or weights times offsets). */
  void (*weights)(int support, bool offsets, const lane u, lane w[8]);
};

#define lanes_base KERNEL_NAME(lanes, FIRN_BASE_ISA)
extern const struct lanes lanes_base;
#ifdef FIRN_HAVE_X86_KERNELS
extern const struct lanes lanes_avx2, lanes_avx512;
#endif

/* NULL where this machine or this build does not have the instruction set. */
static inline const struct lanes *lanes_get(enum isa isa)
{
  if (isa > isa_detect()) return NULL;
#ifdef FIRN_HAVE_X86_KERNELS
  if (isa == ISA_AVX512) return &lanes_avx512;
  if (isa == ISA_AVX2) return &lanes_avx2;
#endif
  return isa == ISA_BASE ? &lanes_base : NULL;
}

#endif
