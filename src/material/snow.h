/* The constitutive model of snow, eight particles at a time.
 *
 * Energy density per initial volume (Stomakhin et al. 2013, equation 1, with F_E = R S):
 *     psi = mu |F_E - R|^2 + lambda/2 (J_E - 1)^2,   mu, lambda = mu0, lambda0 times exp(xi (1 - J_P)).
 * Everything is written in the principal frame of F_E = U diag(sigma) V^T, where the stress is diagonal and
 * the tangent falls apart into one 3x3 block for the stretches and three 2x2 blocks for shear and spin:
 * exact, symmetric, no inverse of tr(S) I - S. Pure functions of one lane each. */
#ifndef FIRN_MATERIAL_SNOW_H
#define FIRN_MATERIAL_SNOW_H

#include "material/stretch.h"

/* One material as the kernels read it: snow_constants() of snow.c fills the table, lanes gather from it. */
struct snow_constants {
  double mu, lambda;                /* Pa, undeformed */
  double hardening;                 /* xi */
  double factor_low, factor_high;   /* the hardening factor is kept within */
  double stretch_low, stretch_high; /* singular values are kept within */
  double excess_low, excess_high;   /* and eigenvalues of F^T F - I: the same limits, squared */
};

/* The constants of eight particles. */
struct snow_lanes {
  v8 mu, lambda, hardening, factor_low, factor_high, stretch_low, stretch_high, excess_low, excess_high;
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
  struct snow_lanes lanes = {v8_set(c->mu),           v8_set(c->lambda),      v8_set(c->hardening),
                             v8_set(c->factor_low),   v8_set(c->factor_high), v8_set(c->stretch_low),
                             v8_set(c->stretch_high), v8_set(c->excess_low),  v8_set(c->excess_high)};
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
    lanes.excess_low[l] = c->excess_low;
    lanes.excess_high[l] = c->excess_high;
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

/* Kirchhoff-like stress P F_E^T (Pa), symmetric, upper triangle. */
static inline void snow_stress(const v8 u[9], const v8 sigma[3], v8 mu, v8 lambda, v8 out[6])
{
  const v8 one = v8_set(1.0), j = sigma[0] * sigma[1] * sigma[2], pressure = lambda * (j - one) * j;
  v8 principal[3];
  for (int d = 0; d < 3; d++) principal[d] = v8_fma(v8_set(2.0) * mu * (sigma[d] - one), sigma[d], pressure);
  stretch_from_principal(u, principal, out);
}

/* The same without the principal frame, and the energy density: with B = F F^T, P F^T is
 * 2 mu (B - B^(1/2)) + lambda (J - 1) J I, and |F - R|^2 = |B^(1/2) - I|^2. */
static inline void snow_stress_left(const v8 f[9], v8 mu, v8 lambda, v8 out[6], v8 *energy)
{
  v8 g[6], h[6], stretch = v8_set(0.0);
  const v8 mu2 = mu + mu, j = stretch_determinant(f), excess = j - v8_set(1.0),
           pressure = lambda * excess * j;
  stretch_left(f, j, g, h);
  for (int k = 0; k < 6; k++) {
    const bool diagonal = k == 0 || k == 3 || k == 5;
    const v8 strain = g[k] - h[k], weight = v8_set(diagonal ? 1.0 : 2.0);
    out[k] = diagonal ? v8_fma(mu2, h[k], pressure) : mu2 * h[k];
    stretch = v8_fma(weight * strain, strain, stretch);
  }
  *energy = v8_fma(mu, stretch, v8_set(0.5) * lambda * excess * excess);
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

/* By Sylvester's criterion. */
static inline m8 snow_is_definite(const v8 a[6])
{
  const v8 zero = v8_set(0.0), minor = v8_fma(a[0], a[3], -a[1] * a[1]);
  const v8 determinant = v8_fma(
      a[5], minor, v8_fma(a[4], v8_fma(a[1], a[2], -a[0] * a[4]), a[2] * v8_fma(a[1], a[4], -a[3] * a[2])));
  return (a[0] > zero) & (minor > zero) & (determinant > zero);
}

/* Lanes whose stretches are surely allowed: F^T F within the squares of the limits, which is to say that
 * F^T F - low^2 I and high^2 I - F^T F are positive definite. Most particles, even of snow that yields
 * nearby, need no more than this. */
static inline m8 snow_is_elastic(const struct snow_lanes *m, const v8 f[9])
{
  v8 g[6];
  const v8 low = m->excess_low, high = m->excess_high;
  stretch_excess(f, g);
  const v8 below[6] = {g[0] - low, g[1], g[2], g[3] - low, g[4], g[5] - low};
  const v8 above[6] = {high - g[0], -g[1], -g[2], high - g[3], -g[4], high - g[5]};
  return (stretch_determinant(f) > v8_set(0.0)) & snow_is_definite(below) & snow_is_definite(above);
}

/* What the return mapping found. */
struct snow_returned {
  m8 plastic;  /* some singular value was clamped */
  m8 inverted; /* some singular value was <= 0 before the clamp */
};

/* Step 7 for n times eight particles that may not be elastic: the trial F_E in f is brought back to the
 * stretches in [low, high], what is cut off goes to J_P. A lane in which nothing is clamped keeps the bits of
 * both. */
STRETCH_INLINE void snow_return(int n, const v8 low[], const v8 high[], v8 f[][9], v8 jp[],
                                struct snow_returned found[])
{
  struct principal frame[STRETCH_MOST];
  principal_frames(n, (const v8(*)[9])f, frame);
  for (int b = 0; b < n; b++) {
    v8 sigma[3], clamped[3];
    found[b] = (struct snow_returned){(m8){0}, (m8){0}};
    for (int d = 0; d < 3; d++) {
      sigma[d] = v8_set(1.0) + frame[b].strain[d];
      clamped[d] = v8_max(low[b], v8_min(sigma[d], high[b]));
      found[b].plastic |= clamped[d] != sigma[d];
      found[b].inverted |= sigma[d] <= v8_set(0.0);
    }
    const m8 plastic = found[b].plastic;
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
