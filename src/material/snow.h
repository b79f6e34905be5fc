/* The constitutive model of snow, eight particles at a time.
 *
 * Energy density per initial volume (Stomakhin et al. 2013, equation 1, with F_E = R S):
 *     psi = mu |F_E - R|^2 + lambda/2 (J_E - 1)^2,   mu, lambda = mu0, lambda0 times exp(xi (1 - J_P)).
 * Everything is written in the principal frame of F_E = U diag(sigma) V^T, where the stress is diagonal and
 * the tangent falls apart into one 3x3 block for the stretches and three 2x2 blocks for shear and spin:
 * exact, symmetric, no inverse of tr(S) I - S. Pure functions of one lane each. */
#ifndef FIRN_MATERIAL_SNOW_H
#define FIRN_MATERIAL_SNOW_H

#include "material/polar.h"

/* One material as the kernels read it: snow_constants() of snow.c fills the table, lanes gather from it. */
struct snow_constants {
  double mu, lambda;                /* Pa, undeformed */
  double hardening;                 /* xi */
  double factor_low, factor_high;   /* the hardening factor is kept within */
  double stretch_low, stretch_high; /* singular values are kept within */
};

/* The constants of eight particles. */
struct snow_lanes {
  v8 mu, lambda, hardening, factor_low, factor_high, stretch_low, stretch_high;
};

struct material_parameters {
  double young, poisson, hardening, hardening_limit, critical_compression, critical_stretch;
  bool plastic;
};

struct snow_constants snow_constants(const struct material_parameters *parameters);

static inline struct snow_lanes snow_gather(const struct snow_constants *table, const uint32_t *material)
{
  bool same = true;
  for (int l = 1; l < LANES; l++) same &= material[l] == material[0];
  const struct snow_constants *c = &table[material[0]];
  struct snow_lanes lanes = {v8_set(c->mu),          v8_set(c->lambda),      v8_set(c->hardening),
                             v8_set(c->factor_low),  v8_set(c->factor_high), v8_set(c->stretch_low),
                             v8_set(c->stretch_high)};
  if (same) return lanes;
  for (int l = 1; l < LANES; l++) {
    c = &table[material[l]];
    lanes.mu[l] = c->mu;
    lanes.lambda[l] = c->lambda;
    lanes.hardening[l] = c->hardening;
    lanes.factor_low[l] = c->factor_low;
    lanes.factor_high[l] = c->factor_high;
    lanes.stretch_low[l] = c->stretch_low;
    lanes.stretch_high[l] = c->stretch_high;
  }
  return lanes;
}

/* Hardening factor exp(xi (1 - J_P)); *clamped gets the lanes where the limit acted. */
static inline v8 snow_hardening(const struct snow_lanes *m, v8 jp, m8 *clamped)
{
  const v8 exponent = m->hardening * (v8_set(1.0) - jp), far = v8_set(700.0);
  const v8 factor = v8_exp(v8_max(-far, v8_min(exponent, far)));
  *clamped = (factor < m->factor_low) | (factor > m->factor_high);
  return v8_max(m->factor_low, v8_min(factor, m->factor_high));
}

/* Energy density psi (Pa). */
static inline v8 snow_energy(const v8 sigma[3], v8 mu, v8 lambda)
{
  const v8 one = v8_set(1.0), j = sigma[0] * sigma[1] * sigma[2];
  v8 stretch = v8_set(0.0);
  for (int d = 0; d < 3; d++) stretch = v8_fma(sigma[d] - one, sigma[d] - one, stretch);
  return v8_fma(mu, stretch, v8_set(0.5) * lambda * (j - one) * (j - one));
}

static inline v8 snow_determinant(const v8 f[9])
{
  return v8_fma(f[0], v8_fma(f[4], f[8], -f[5] * f[7]),
                v8_fma(-f[1], v8_fma(f[3], f[8], -f[5] * f[6]), f[2] * v8_fma(f[3], f[7], -f[4] * f[6])));
}

/* The same from F_E = R S. */
static inline v8 snow_energy_polar(const v8 f[9], const v8 r[9], v8 mu, v8 lambda)
{
  const v8 excess = snow_determinant(f) - v8_set(1.0);
  v8 stretch = v8_set(0.0);
  for (int k = 0; k < 9; k++) stretch = v8_fma(f[k] - r[k], f[k] - r[k], stretch);
  return v8_fma(mu, stretch, v8_set(0.5) * lambda * excess * excess);
}

/* U diag(a) U^T, the upper triangle: xx, xy, xz, yy, yz, zz. */
static inline void snow_from_principal(const v8 u[9], const v8 a[3], v8 out[6])
{
  int k = 0;
  for (int i = 0; i < 3; i++) {
    const v8 x = u[3 * i] * a[0], y = u[3 * i + 1] * a[1], z = u[3 * i + 2] * a[2];
    for (int j = i; j < 3; j++, k++) out[k] = v8_fma(x, u[3 * j], v8_fma(y, u[3 * j + 1], z * u[3 * j + 2]));
  }
}

/* Kirchhoff-like stress P F_E^T (Pa), symmetric, upper triangle. */
static inline void snow_stress(const v8 u[9], const v8 sigma[3], v8 mu, v8 lambda, v8 out[6])
{
  const v8 one = v8_set(1.0), j = sigma[0] * sigma[1] * sigma[2], pressure = lambda * (j - one) * j;
  v8 principal[3];
  for (int d = 0; d < 3; d++) principal[d] = v8_fma(v8_set(2.0) * mu * (sigma[d] - one), sigma[d], pressure);
  snow_from_principal(u, principal, out);
}

/* The same from F_E = R S without its principal frame: 2 mu (F - R) F^T + lambda (J - 1) J I. */
static inline void snow_stress_polar(const v8 f[9], const v8 r[9], v8 mu, v8 lambda, v8 out[6])
{
  const v8 mu2 = mu + mu;
  const v8 j = snow_determinant(f);
  const v8 pressure = lambda * (j - v8_set(1.0)) * j;
  int k = 0;
  for (int i = 0; i < 3; i++) {
    const v8 a = f[3 * i] - r[3 * i], b = f[3 * i + 1] - r[3 * i + 1], c = f[3 * i + 2] - r[3 * i + 2];
    for (int l = i; l < 3; l++, k++) {
      const v8 product = v8_fma(a, f[3 * l], v8_fma(b, f[3 * l + 1], c * f[3 * l + 2]));
      out[k] = i == l ? v8_fma(mu2, product, pressure) : mu2 * product;
    }
  }
}

static inline void snow_multiply(const v8 a[9], const v8 b[9], v8 out[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      out[3 * i + j] = v8_fma(a[3 * i], b[j], v8_fma(a[3 * i + 1], b[3 + j], a[3 * i + 2] * b[6 + j]));
}

static inline void snow_transpose(const v8 a[9], v8 out[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) out[3 * i + j] = a[3 * j + i];
}

/* The shear and spin block of axes i, j: a = dF_ij, b = dF_ji in the principal frame, k the third axis. The
 * rotation's change is (a - b) / (sigma_i + sigma_j); where the stretches nearly cancel (inverted elements)
 * the quotient is bounded instead of divided by zero. */
static inline void snow_tangent_shear(const v8 sigma[3], v8 mu2, v8 pressure, int i, int j, const v8 g[9],
                                      v8 out[9])
{
  const int k = 3 - i - j;
  const v8 a = g[3 * i + j] * sigma[j], b = g[3 * j + i] * sigma[i];
  const v8 spin = (a - b) / v8_max(sigma[i] + sigma[j], v8_set(1e-6));
  const v8 cofactor = pressure * sigma[k];
  out[3 * i + j] = (v8_fma(mu2, a - spin, -cofactor * b)) * sigma[j];
  out[3 * j + i] = (v8_fma(mu2, b + spin, -cofactor * a)) * sigma[i];
}

/* dP F_E^T for the velocity-like gradient g (dF = g F_E): method.md, step 6. */
static inline void snow_tangent(const v8 u[9], const v8 sigma[3], v8 mu, v8 lambda, const v8 g[9], v8 out[9])
{
  v8 ut[9], half[9], local[9], result[9];
  snow_transpose(u, ut);
  snow_multiply(ut, g, half);
  snow_multiply(half, u, local); /* U^T g U */
  const v8 mu2 = mu + mu, one = v8_set(1.0), j = sigma[0] * sigma[1] * sigma[2],
           pressure = lambda * (j - one);
  const v8 cofactor[3] = {sigma[1] * sigma[2], sigma[0] * sigma[2], sigma[0] * sigma[1]};
  const v8 df[3] = {local[0] * sigma[0], local[4] * sigma[1], local[8] * sigma[2]};
  const v8 dj = v8_fma(cofactor[0], df[0], v8_fma(cofactor[1], df[1], cofactor[2] * df[2]));
  for (int d = 0; d < 3; d++) {
    const int e = (d + 1) % 3, f = (d + 2) % 3;
    const v8 change = v8_fma(sigma[e], df[f], sigma[f] * df[e]);
    result[4 * d] = v8_fma(mu2, df[d], v8_fma(lambda * dj, cofactor[d], pressure * change)) * sigma[d];
  }
  snow_tangent_shear(sigma, mu2, pressure, 0, 1, local, result);
  snow_tangent_shear(sigma, mu2, pressure, 0, 2, local, result);
  snow_tangent_shear(sigma, mu2, pressure, 1, 2, local, result);
  snow_multiply(u, result, half);
  snow_multiply(half, ut, out);
}

/* What the return mapping found. */
struct snow_returned {
  m8 plastic;  /* some singular value was clamped */
  m8 inverted; /* some singular value was <= 0 before the clamp */
};

/* Whether the stretches 1 + eigenvalues of E (see polar_strain) are surely allowed: by Gershgorin's circles,
 * so that most particles of resting or flying snow need no eigenvalues. */
static inline m8 snow_surely_elastic(const struct snow_lanes *m, const v8 d[3], const v8 o[3])
{
  const v8 a[3] = {v8_abs(o[0]), v8_abs(o[1]), v8_abs(o[2])}, one = v8_set(1.0);
  v8 low = d[0] - (a[1] + a[2]), high = d[0] + (a[1] + a[2]);
  for (int i = 1; i < 3; i++) {
    const v8 radius = a[(i + 1) % 3] + a[(i + 2) % 3];
    low = v8_min(low, d[i] - radius);
    high = v8_max(high, d[i] + radius);
  }
  return (low > m->stretch_low - one) & (high < m->stretch_high - one);
}

/* Step 7 for n times eight particles: the trial F_E in f is brought back to the allowed stretches, what is
 * cut off goes to J_P. A lane in which nothing is clamped keeps the bits of both. */
POLAR_INLINE void snow_return(int n, const struct snow_lanes m[], v8 f[][9], v8 jp[],
                              struct snow_returned found[])
{
  v8 r[POLAR_MOST][9], e[POLAR_MOST][3], o[POLAR_MOST][3];
  m8 far[POLAR_MOST], elastic[POLAR_MOST], rest = {0};
  polar_strain(n, (const v8(*)[9])f, r, e, o, far);
  for (int b = 0; b < n; b++) {
    elastic[b] = snow_surely_elastic(&m[b], e[b], o[b]) & ~far[b];
    rest |= ~elastic[b];
    found[b] = (struct snow_returned){(m8){0}, (m8){0}};
  }
  if (!m8_any(rest)) return;
  struct principal frame[POLAR_MOST];
  principal_frames(n, (const v8(*)[9])f, (const v8(*)[9])r, e, o, far, frame);
  for (int b = 0; b < n; b++) {
    v8 sigma[3], clamped[3];
    for (int d = 0; d < 3; d++) {
      sigma[d] = v8_set(1.0) + frame[b].strain[d];
      clamped[d] = v8_max(m[b].stretch_low, v8_min(sigma[d], m[b].stretch_high));
      found[b].plastic |= clamped[d] != sigma[d];
      found[b].inverted |= sigma[d] <= v8_set(0.0);
    }
    const m8 plastic = found[b].plastic &= ~elastic[b];
    found[b].inverted &= ~elastic[b];
    if (!m8_any(plastic)) continue;
    const v8 ratio = sigma[0] * sigma[1] * sigma[2] / (clamped[0] * clamped[1] * clamped[2]);
    jp[b] = v8_select(plastic, jp[b] * ratio, jp[b]);
    const v8 *u = frame[b].u, *v = frame[b].v;
    for (int i = 0; i < 3; i++) {
      const v8 x = u[3 * i] * clamped[0], y = u[3 * i + 1] * clamped[1], z = u[3 * i + 2] * clamped[2];
      for (int k = 0; k < 3; k++) {
        const v8 back = v8_fma(x, v[3 * k], v8_fma(y, v[3 * k + 1], z * v[3 * k + 2]));
        f[b][3 * i + k] = v8_select(plastic, back, f[b][3 * i + k]);
      }
    }
  }
}

#endif
