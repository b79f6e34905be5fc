/* Node updates: velocities from momentum and force, and the vector operations of the conjugate residual
 * solve.
 *
 * A register holds one or two nodes of four channels. Channel 0 of a solver vector is always zero, so whole
 * registers enter the dot products. A dot product is summed within its tile in fixed order and then exactly,
 * so it does not depend on who holds the tile. */
#include "kernels/stencil.h"

static const vm spread_scalar = VD_LANES(0, 0, 0, 0, 4, 4, 4, 4);

static const vm scalar_channel = VD_LANES(-1, 0, 0, 0, -1, 0, 0, 0);

static inline vd vector_part(vd a)
{
  return (vd)((vm)a & ~scalar_channel);
}

/* 1 / mass in all channels of its node; 0 where no particle has weight. */
static inline vd inverse_mass(vd momentum)
{
  const vd m = __builtin_shuffle(momentum, spread_scalar);
  const vm active = m > vd_set(0.0);
  return vd_select(active, vd_set(1.0) / vd_select(active, m, vd_set(1.0)), vd_set(0.0));
}

/* Steps 1 and 4: GROUP_MOMENTUM becomes (mass, v), GROUP_VELOCITY becomes (0, v*). */
void KERNEL(velocity)(struct transfer *t, int32_t begin, int32_t end)
{
  const double *g = t->gravity;
  const vd gravity = VD_LANES(0, g[0], g[1], g[2], 0, g[0], g[1], g[2]), dt = vd_set(t->dt),
           zero = vd_set(0.0);
  const bool fused = transfer_is_fused(t);
  double *momentum = t->grid->group[GROUP_MOMENTUM], *velocity = t->grid->group[GROUP_VELOCITY];
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += LANES) {
    const vd mp = vd_load_aligned(momentum + k), inverse = inverse_mass(mp);
    const vm active = inverse > zero;
    const vd v = vector_part(mp) * inverse;
    const vd force = fused ? zero : vd_load_aligned(velocity + k);
    const vd after = vd_fma(dt, vd_fma(force, inverse, gravity), v);
    vd_store_aligned(velocity + k, vd_select(active, vector_part(after), zero));
    vd_store_aligned(momentum + k, vd_select(scalar_channel, mp, v));
  }
}

/* GROUP_MOMENTUM becomes v(n+1) - flip v(n): FLIP gathers v_p = flip v_p + sum w (v(n+1) - flip v(n)). */
void KERNEL(mix)(struct transfer *t, int32_t begin, int32_t end)
{
  double *momentum = t->grid->group[GROUP_MOMENTUM];
  const double *velocity = t->grid->group[GROUP_VELOCITY];
  const vd flip = vd_set(-t->flip);
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += LANES)
    vd_store_aligned(momentum + k,
                     vd_fma(flip, vd_load_aligned(momentum + k), vd_load_aligned(velocity + k)));
}

/* 1 in all channels of the nodes that are not in contact. */
static inline vm free_nodes(vd velocity)
{
  return __builtin_shuffle(velocity, spread_scalar) == vd_set(0.0);
}

void KERNEL(cr_product)(struct grid *grid, double factor, int32_t begin, int32_t end,
                        struct exact_sum dots[4])
{
  const double *momentum = grid->group[GROUP_MOMENTUM], *velocity = grid->group[GROUP_VELOCITY],
               *r = grid->group[GROUP_R];
  const double *ap = grid->group[GROUP_AP];
  double *ar = grid->group[GROUP_AR];
  for (int32_t tile = begin; tile < end; tile++) {
    vd rr = vd_set(0.0), rar = rr, arar = rr, arap = rr;
    const int64_t first = (int64_t)tile * TILE_DOUBLES;
    for (int64_t k = first; k < first + TILE_DOUBLES; k += LANES) {
      const vd mp = vd_load_aligned(momentum + k), m = __builtin_shuffle(mp, spread_scalar),
               rk = vd_load_aligned(r + k);
      const vd product = vd_fma(vd_set(factor) * inverse_mass(mp), vd_load_aligned(ar + k), rk);
      const vd ark = vd_select(free_nodes(vd_load_aligned(velocity + k)), product, vd_set(0.0));
      vd_store_aligned(ar + k, ark);
      rr = vd_fma(m * rk, rk, rr);
      rar = vd_fma(m * rk, ark, rar);
      arar = vd_fma(m * ark, ark, arar);
      arap = vd_fma(m * ark, vd_load_aligned(ap + k), arap);
    }
    if (!dots) continue;
    exact_add(&dots[0], vd_sum(rr));
    exact_add(&dots[1], vd_sum(rar));
    exact_add(&dots[2], vd_sum(arar));
    exact_add(&dots[3], vd_sum(arap));
  }
}

void KERNEL(cr_residual)(struct grid *grid, double factor, int32_t begin, int32_t end, struct exact_sum *norm)
{
  const double *momentum = grid->group[GROUP_MOMENTUM], *velocity = grid->group[GROUP_VELOCITY],
               *ar = grid->group[GROUP_AR];
  double *r = grid->group[GROUP_R];
  for (int32_t tile = begin; tile < end; tile++) {
    vd sum = vd_set(0.0);
    const int64_t first = (int64_t)tile * TILE_DOUBLES;
    for (int64_t k = first; k < first + TILE_DOUBLES; k += LANES) {
      const vd mp = vd_load_aligned(momentum + k), v = vd_load_aligned(velocity + k), zero = vd_set(0.0);
      const vm is_free = free_nodes(v);
      const vd residual = -vd_set(factor) * inverse_mass(mp) * vd_load_aligned(ar + k);
      vd_store_aligned(r + k, vd_select(is_free, residual, zero));
      sum = vd_fma(vd_select(is_free, __builtin_shuffle(mp, spread_scalar) * v, zero), v, sum);
    }
    if (norm) exact_add(norm, vd_sum(sum));
  }
}

void KERNEL(cr_update)(struct grid *grid, double a, double b, int32_t begin, int32_t end)
{
  double *velocity = grid->group[GROUP_VELOCITY], *r = grid->group[GROUP_R], *p = grid->group[GROUP_P];
  double *ap = grid->group[GROUP_AP];
  const double *ar = grid->group[GROUP_AR];
  const vd va = vd_set(a), vb = vd_set(b);
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += LANES) {
    const vd rk = vd_load_aligned(r + k);
    const vd pk = vd_fma(vb, vd_load_aligned(p + k), rk);
    const vd apk = vd_fma(vb, vd_load_aligned(ap + k), vd_load_aligned(ar + k));
    vd_store_aligned(p + k, pk);
    vd_store_aligned(ap + k, apk);
    vd_store_aligned(velocity + k, vd_fma(va, pk, vd_load_aligned(velocity + k)));
    vd_store_aligned(r + k, vd_fma(-va, apk, rk));
  }
}
