/* The derivative of the stress of any isotropic model, in its principal axes (docs/method.md).
 *
 * For dF = g F_E and G = U^T g U it is dP F_E^T = U A U^T with
 *     A_ii = sum_j t_ij G_jj - tau_i G_ii,   A_ij = s_ij sigma_j^2 (G_ij + G_ji) - tau_j G_ji.
 * Since s_ij (sigma_i^2 - sigma_j^2) = tau_i - tau_j, the factor of G_ji in A_ij is that of G_ij in A_ji: the
 * tangent is symmetric, and 24 numbers per particle hold it. */
#ifndef FIRN_MATERIAL_TANGENT_H
#define FIRN_MATERIAL_TANGENT_H

#include "material/model.h"

/* d is t - diag(tau), upper triangle. pair[k] is of the axes i < j other than k: the factors of G_ij in A_ij,
 * of G_ji in A_ji, and the one across. */
struct tangent {
  vd u[9], d[6], pair[3][3];
};

/* Times `factor` (volume and stiffness); lanes that are open get a tangent of zero. */
static inline void tangent_make(const vd u[9], const struct stretches *e, const vd tau[3],
                                const struct slope *slope, vd factor, vm open, struct tangent *out)
{
  const vd one = vd_set(1.0), scale = vd_select(open, vd_set(0.0), factor);
  for (int k = 0; k < 9; k++) out->u[k] = u[k];
  for (int k = 0; k < 6; k++) out->d[k] = slope->t[k] * scale;
  for (int k = 0; k < 3; k++) {
    const int i = k == 0 ? 1 : 0, j = k == 2 ? 1 : 2;
    const int kk = slope_diagonal[k];
    out->d[kk] = (slope->t[kk] - tau[k]) * scale;
    const vd by_j = slope->s[k] * (one + e->excess[j]);
    out->pair[k][0] = by_j * scale;
    out->pair[k][1] = slope->s[k] * (one + e->excess[i]) * scale;
    out->pair[k][2] = (by_j - tau[j]) * scale;
  }
}

/* dP F_E^T times the factor, for dF = g F_E. */
static inline void tangent_apply(const struct tangent *t, const vd g[9], vd out[9])
{
  vd ut[9], half[9], local[9], a[9];
  matrix_transpose(t->u, ut);
  matrix_multiply(ut, g, half);
  matrix_multiply(half, t->u, local); /* U^T g U */
  const vd x = local[0], y = local[4], z = local[8], *d = t->d;
  a[0] = vd_fma(d[0], x, vd_fma(d[1], y, d[2] * z));
  a[4] = vd_fma(d[1], x, vd_fma(d[3], y, d[4] * z));
  a[8] = vd_fma(d[2], x, vd_fma(d[4], y, d[5] * z));
  for (int k = 0; k < 3; k++) {
    const int i = k == 0 ? 1 : 0, j = k == 2 ? 1 : 2, ij = 3 * i + j, ji = 3 * j + i;
    const vd *pair = t->pair[k];
    a[ij] = vd_fma(pair[0], local[ij], pair[2] * local[ji]);
    a[ji] = vd_fma(pair[1], local[ji], pair[2] * local[ij]);
  }
  matrix_multiply(t->u, a, half);
  matrix_multiply(half, ut, out);
}

#endif
