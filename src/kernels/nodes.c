/* Node updates: velocities from momentum and force, and the vector operations of the conjugate residual
 * solve.
 *
 * A register holds two nodes of four channels. Channel 0 of a solver vector is always zero, so whole
 * registers enter the dot products. A dot product is summed within its tile in fixed order and then exactly,
 * so it does not depend on who holds the tile. */
#include "kernels/stencil.h"

static const m8 spread_scalar = {0, 0, 0, 0, 4, 4, 4, 4};

static const m8 scalar_channel = {-1, 0, 0, 0, -1, 0, 0, 0};

static inline v8 vector_part(v8 a)
{
  return (v8)((m8)a & ~scalar_channel);
}

/* 1 / mass in all channels of its node; 0 where no particle has weight. */
static inline v8 inverse_mass(v8 momentum)
{
  const v8 m = __builtin_shuffle(momentum, spread_scalar);
  const m8 active = m > v8_set(0.0);
  return v8_select(active, v8_set(1.0) / v8_select(active, m, v8_set(1.0)), v8_set(0.0));
}

/* Steps 1 and 4: GROUP_MOMENTUM becomes (mass, v), GROUP_VELOCITY becomes (0, v*). */
void KERNEL(velocity)(struct transfer *t, int32_t begin, int32_t end)
{
  const double *g = t->gravity;
  const v8 gravity = {0, g[0], g[1], g[2], 0, g[0], g[1], g[2]}, dt = v8_set(t->dt), zero = v8_set(0.0);
  const bool fused = transfer_is_fused(t);
  double *momentum = t->grid->group[GROUP_MOMENTUM], *velocity = t->grid->group[GROUP_VELOCITY];
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += 8) {
    const v8 mp = v8_load_aligned(momentum + k), inverse = inverse_mass(mp);
    const m8 active = inverse > zero;
    const v8 v = vector_part(mp) * inverse;
    const v8 force = fused ? zero : v8_load_aligned(velocity + k);
    const v8 after = v8_fma(dt, v8_fma(force, inverse, gravity), v);
    v8_store_aligned(velocity + k, v8_select(active, vector_part(after), zero));
    v8_store_aligned(momentum + k, v8_select(scalar_channel, mp, v));
  }
}

static inline double fold_tile(v8 s)
{
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/* 1 in all channels of the nodes that are not in contact. */
static inline m8 free_nodes(v8 velocity)
{
  return __builtin_shuffle(velocity, spread_scalar) == v8_set(0.0);
}

void KERNEL(cr_product)(struct grid *grid, double factor, int32_t begin, int32_t end,
                        struct exact_sum dots[4])
{
  const double *momentum = grid->group[GROUP_MOMENTUM], *velocity = grid->group[GROUP_VELOCITY],
               *r = grid->group[GROUP_R];
  const double *ap = grid->group[GROUP_AP];
  double *ar = grid->group[GROUP_AR];
  for (int32_t tile = begin; tile < end; tile++) {
    v8 rr = v8_set(0.0), rar = rr, arar = rr, arap = rr;
    const int64_t first = (int64_t)tile * TILE_DOUBLES;
    for (int64_t k = first; k < first + TILE_DOUBLES; k += 8) {
      const v8 mp = v8_load_aligned(momentum + k), m = __builtin_shuffle(mp, spread_scalar),
               rk = v8_load_aligned(r + k);
      const v8 product = v8_fma(v8_set(factor) * inverse_mass(mp), v8_load_aligned(ar + k), rk);
      const v8 ark = v8_select(free_nodes(v8_load_aligned(velocity + k)), product, v8_set(0.0));
      v8_store_aligned(ar + k, ark);
      rr = v8_fma(m * rk, rk, rr);
      rar = v8_fma(m * rk, ark, rar);
      arar = v8_fma(m * ark, ark, arar);
      arap = v8_fma(m * ark, v8_load_aligned(ap + k), arap);
    }
    if (!dots) continue;
    exact_add(&dots[0], fold_tile(rr));
    exact_add(&dots[1], fold_tile(rar));
    exact_add(&dots[2], fold_tile(arar));
    exact_add(&dots[3], fold_tile(arap));
  }
}

void KERNEL(cr_residual)(struct grid *grid, double factor, int32_t begin, int32_t end, struct exact_sum *norm)
{
  const double *momentum = grid->group[GROUP_MOMENTUM], *velocity = grid->group[GROUP_VELOCITY],
               *ar = grid->group[GROUP_AR];
  double *r = grid->group[GROUP_R];
  for (int32_t tile = begin; tile < end; tile++) {
    v8 sum = v8_set(0.0);
    const int64_t first = (int64_t)tile * TILE_DOUBLES;
    for (int64_t k = first; k < first + TILE_DOUBLES; k += 8) {
      const v8 mp = v8_load_aligned(momentum + k), v = v8_load_aligned(velocity + k), zero = v8_set(0.0);
      const m8 is_free = free_nodes(v);
      const v8 residual = -v8_set(factor) * inverse_mass(mp) * v8_load_aligned(ar + k);
      v8_store_aligned(r + k, v8_select(is_free, residual, zero));
      sum = v8_fma(v8_select(is_free, __builtin_shuffle(mp, spread_scalar) * v, zero), v, sum);
    }
    if (norm) exact_add(norm, fold_tile(sum));
  }
}

void KERNEL(cr_update)(struct grid *grid, double a, double b, int32_t begin, int32_t end)
{
  double *velocity = grid->group[GROUP_VELOCITY], *r = grid->group[GROUP_R], *p = grid->group[GROUP_P];
  double *ap = grid->group[GROUP_AP];
  const double *ar = grid->group[GROUP_AR];
  const v8 va = v8_set(a), vb = v8_set(b);
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += 8) {
    const v8 rk = v8_load_aligned(r + k);
    const v8 pk = v8_fma(vb, v8_load_aligned(p + k), rk);
    const v8 apk = v8_fma(vb, v8_load_aligned(ap + k), v8_load_aligned(ar + k));
    v8_store_aligned(p + k, pk);
    v8_store_aligned(ap + k, apk);
    v8_store_aligned(velocity + k, v8_fma(va, pk, v8_load_aligned(velocity + k)));
    v8_store_aligned(r + k, v8_fma(-va, apk, rk));
  }
}
