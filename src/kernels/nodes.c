/* Node updates: velocities from momentum and force, and the vector operations of the conjugate residual
 * solve.
 *
 * A register holds two nodes of four channels, one, or half of one. Channel 0 of a solver vector is always
 * zero, so whole registers enter the dot products. A dot product is summed within its tile in fixed order and
 * then exactly, so it does not depend on who holds the tile. */
#include "kernels/stencil.h"

/* The scalar of the node at k in all its channels. */
static inline vd spread_scalar(const double *field, int64_t k)
{
#if defined __AVX2__
  const vd a = vd_load_aligned(field + k);
  return VD_SHUFFLE(a, a, 0, 0, 0, 0, 4, 4, 4, 4);
#else
  return vd_set(field[k / 4 * 4]);
#endif
}

/* Mask of the scalars in the register at k. */
static inline vm scalar_channel(int64_t k)
{
  static const vm mask[NODE_PARTS] = {VD_LANES(-1, 0, 0, 0, -1, 0, 0, 0)};
  return mask[k / LANES % NODE_PARTS];
}

static inline vd vector_part(vd a, int64_t k)
{
  return (vd)((vm)a & ~scalar_channel(k));
}

/* 1 / m; 0 where no particle has weight to speak of. */
static inline vd inverse_of(vd m)
{
  const vm active = m >= vd_set(GRID_LEAST_MASS);
  return vd_select(active, vd_set(1.0) / vd_select(active, m, vd_set(1.0)), vd_set(0.0));
}

/* 1 / mass of the node at k, in all its channels. */
static inline vd inverse_mass(const double *momentum, int64_t k)
{
  return inverse_of(spread_scalar(momentum, k));
}

/* Steps 1 and 4: NODE_MOMENTUM becomes (mass, v), NODE_VELOCITY becomes (0, v*). */
void KERNEL(velocity)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct transfer *t = arguments;
  const double *g = t->gravity;
  const double all[8] = {0, g[0], g[1], g[2], 0, g[0], g[1], g[2]};
  const vd dt = vd_set(t->dt), zero = vd_set(0.0);
  const bool fused = transfer_is_fused(t);
  double *momentum = t->grid->node[NODE_MOMENTUM], *velocity = t->grid->node[NODE_VELOCITY];
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += LANES) {
    const vd mp = vd_load_aligned(momentum + k), inverse = inverse_mass(momentum, k),
             gravity = vd_load(all + k / LANES % NODE_PARTS * LANES);
    const vm active = inverse > zero;
    const vd v = vector_part(mp, k) * inverse;
    const vd force = fused ? zero : vd_load_aligned(velocity + k);
    const vd after = vd_fma(dt, vd_fma(force, inverse, gravity), v);
    vd_store_aligned(velocity + k, vd_select(active, vector_part(after, k), zero));
    vd_store_aligned(momentum + k, vd_select(scalar_channel(k), mp, v));
  }
}

/* NODE_MOMENTUM becomes v(n+1) - flip v(n): FLIP gathers v_p = flip v_p + sum w (v(n+1) - flip v(n)). */
void KERNEL(mix)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct transfer *t = arguments;
  double *momentum = t->grid->node[NODE_MOMENTUM];
  const double *velocity = t->grid->node[NODE_VELOCITY];
  const vd flip = vd_set(-t->flip);
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += LANES)
    vd_store_aligned(momentum + k,
                     vd_fma(flip, vd_load_aligned(momentum + k), vd_load_aligned(velocity + k)));
}

/* 1 in all channels of the nodes that are not in contact. */
static inline vm free_nodes(const double *fixed, int64_t k)
{
  return spread_scalar(fixed, k) == vd_set(0.0);
}

/* D in all channels of its node. */
static inline vd diagonal_at(const struct cr_vectors *c, int64_t k)
{
  return spread_scalar(c->ap, k);
}

/* D of the preconditioner: nought but for nodes that are stiffer than most. */
static inline vd find_diagonal(const struct cr_vectors *c, vd mass, vd stiffness)
{
  const vd factor = vd_set(c->factor), whole = vd_fma(factor, stiffness, mass) * vd_set(c->typical);
  const vm stiff = (mass >= vd_set(GRID_LEAST_MASS)) & (whole > mass);
  return vd_select(stiff, (whole - mass) / factor, vd_set(0.0));
}

/* Sums the scalars of ar, and M. */
void KERNEL(cr_stiffness)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  const struct cr_vectors *c = arguments;
  for (int32_t tile = begin; tile < end && worker->counts; tile++) {
    vd stiffness = vd_set(0.0), mass = stiffness;
    const int64_t first = (int64_t)tile * TILE_DOUBLES;
    for (int64_t k = first; k < first + TILE_DOUBLES; k += LANES) {
      const vm scalar = scalar_channel(k);
      stiffness += (vd)((vm)vd_load_aligned(c->ar + k) & scalar);
      mass += (vd)((vm)vd_load_aligned(c->weight + k) & scalar);
    }
    exact_add(&worker->sum[0], vd_sum(stiffness));
    exact_add(&worker->sum[1], vd_sum(mass));
  }
}

/* ar := free (r + factor W^-1 (ar - D r)); sums <r,r> with M, and <r,ar>, <ar,ar>, <ar,ap>. */
void KERNEL(cr_product)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  const struct cr_vectors *c = arguments;
  for (int32_t tile = begin; tile < end; tile++) {
    vd rr = vd_set(0.0), rar = rr, arar = rr, arap = rr;
    const int64_t first = (int64_t)tile * TILE_DOUBLES;
    for (int64_t k = first; k < first + TILE_DOUBLES; k += LANES) {
      const vd mass = spread_scalar(c->weight, k), d = diagonal_at(c, k), r = vd_load_aligned(c->r + k);
      const vd factor = vd_set(c->factor), m = vd_fma(factor, d, mass);
      const vd rest = vd_fma(-d, r, vd_load_aligned(c->ar + k));
      const vd product = vd_fma(factor * inverse_of(m), rest, r);
      const vd ar = vd_select(free_nodes(c->fixed, k), product, vd_set(0.0));
      vd_store_aligned(c->ar + k, ar);
      rr = vd_fma(mass * r, r, rr);
      rar = vd_fma(m * r, ar, rar);
      arar = vd_fma(m * ar, ar, arar);
      arap = vd_fma(m * ar, vd_load_aligned(c->ap + k), arap);
    }
    if (!worker->counts) continue;
    exact_add(&worker->sum[0], vd_sum(rr));
    exact_add(&worker->sum[1], vd_sum(rar));
    exact_add(&worker->sum[2], vd_sum(arar));
    exact_add(&worker->sum[3], vd_sum(arap));
  }
}

/* Sums <r,r>, bit for bit as cr_product does. */
void KERNEL(cr_norm)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  const struct cr_vectors *c = arguments;
  for (int32_t tile = begin; tile < end && worker->counts; tile++) {
    vd rr = vd_set(0.0);
    const int64_t first = (int64_t)tile * TILE_DOUBLES;
    for (int64_t k = first; k < first + TILE_DOUBLES; k += LANES) {
      const vd m = spread_scalar(c->weight, k), r = vd_load_aligned(c->r + k);
      rr = vd_fma(m * r, r, rr);
    }
    exact_add(&worker->sum[0], vd_sum(rr));
  }
}

/* D from the scalars of ar; r := free (-factor W^-1 ar); sums <x,x> with M over the free nodes, and over the
 * others, and M and M x over the free. */
void KERNEL(cr_residual)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  const struct cr_vectors *c = arguments;
  for (int32_t tile = begin; tile < end; tile++) {
    vd sum = vd_set(0.0), held = sum, heavy = sum, moment[NODE_PARTS];
    for (int part = 0; part < NODE_PARTS; part++) moment[part] = sum;
    const int64_t first = (int64_t)tile * TILE_DOUBLES;
    for (int64_t k = first; k < first + TILE_DOUBLES; k += LANES) {
      const vd x = vd_load_aligned(c->x + k), zero = vd_set(0.0), mass = spread_scalar(c->weight, k);
      const vm is_free = free_nodes(c->fixed, k);
      const vd d = find_diagonal(c, mass, spread_scalar(c->ar, k)),
               whole = vd_fma(vd_set(c->factor), d, mass);
      const vd residual = -vd_set(c->factor) * inverse_of(whole) * vector_part(vd_load_aligned(c->ar + k), k);
      vd_store_aligned(c->ap + k, (vd)((vm)d & scalar_channel(k)));
      vd_store_aligned(c->r + k, vd_select(is_free, residual, zero));
      const vd all = mass * vector_part(x, k);
      sum = vd_fma(vd_select(is_free, mass * x, zero), x, sum);
      held = vd_fma(vd_select(is_free, zero, all), x, held);
      heavy += vd_select(is_free, vd_select(scalar_channel(k), mass, zero), zero);
      moment[k / LANES % NODE_PARTS] += vd_select(is_free, all, zero);
    }
    if (!worker->counts) continue;
    double channels[4];
    for (int part = 0; part < NODE_PARTS; part++) vd_fold(moment[part], channels + part * LANES);
    exact_add(&worker->sum[0], vd_sum(sum));
    exact_add(&worker->sum[1], vd_sum(held));
    exact_add(&worker->sum[2], vd_sum(heavy));
    for (int d = 0; d < 3; d++) exact_add(&worker->sum[3 + d], channels[1 + d]);
  }
}

/* p := r + b p, ap := ar + b ap, x += a p, r -= a ap. */
void KERNEL(cr_update)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct cr_vectors *c = arguments;
  const vd a = vd_set(c->a), b = vd_set(c->b);
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += LANES) {
    const vd r = vd_load_aligned(c->r + k);
    const vd p = vd_fma(b, vd_load_aligned(c->p + k), r);
    const vd before = vd_load_aligned(c->ap + k);
    const vd ap = vector_part(vd_fma(b, before, vd_load_aligned(c->ar + k)), k);
    vd_store_aligned(c->p + k, p);
    vd_store_aligned(c->ap + k, vd_select(scalar_channel(k), before, ap));
    vd_store_aligned(c->x + k, vd_fma(a, p, vd_load_aligned(c->x + k)));
    vd_store_aligned(c->r + k, vd_fma(-a, ap, r));
  }
}

/* Sums W r over the free nodes, which is the momentum that x lacks (cr_balance), and M over those. */
void KERNEL(cr_lack)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  const struct cr_vectors *c = arguments;
  const vd zero = vd_set(0.0);
  for (int32_t tile = begin; tile < end && worker->counts; tile++) {
    vd lack[NODE_PARTS], mass = zero;
    for (int part = 0; part < NODE_PARTS; part++) lack[part] = zero;
    const int64_t first = (int64_t)tile * TILE_DOUBLES;
    for (int64_t k = first; k < first + TILE_DOUBLES; k += LANES) {
      const int part = (int)(k / LANES % NODE_PARTS);
      const vd m = spread_scalar(c->weight, k);
      const vm is_free = free_nodes(c->fixed, k) & (m >= vd_set(GRID_LEAST_MASS));
      const vd weight = vd_fma(vd_set(c->factor), diagonal_at(c, k), m);
      lack[part] = vd_fma(vd_select(is_free, weight, zero), vd_load_aligned(c->r + k), lack[part]);
      mass += vd_select(is_free & scalar_channel(k), m, zero);
    }
    double sum[4];
    for (int part = 0; part < NODE_PARTS; part++) vd_fold(lack[part], sum + part * LANES);
    exact_add(&worker->sum[0], vd_sum(mass));
    for (int d = 0; d < 3; d++) exact_add(&worker->sum[1 + d], sum[1 + d]);
  }
}

/* A residual r of the preconditioned system is M^-1 W r of the system itself, and x lacks the momentum W r,
 * which need not add up to nought. All free nodes get it as one velocity, so that nothing is strained by it:
 * given to each tile for itself it made snow ring. */
void KERNEL(cr_balance)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct cr_vectors *c = arguments;
  const vd zero = vd_set(0.0);
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += LANES) {
    const vm active = free_nodes(c->fixed, k) & (inverse_mass(c->weight, k) > zero);
    const vd x = vd_load_aligned(c->x + k), given = vd_repeat(c->given + k / LANES % NODE_PARTS * LANES);
    vd_store_aligned(c->x + k, vd_select(active, x + given, x));
  }
}

/* aar := free (ar + factor W^-1 (aar - D ar)); p := r + b p, ap := ar + b ap, aap := aar + b aap, x += a p, r
 * -= a ap, ar -= a aap; sums <r,r>, <r,ar>, <ar,ar>, <ar,ap> of the new ones. */
void KERNEL(cr_step)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  const struct cr_vectors *c = arguments;
  const vd a = vd_set(c->a), b = vd_set(c->b);
  for (int32_t tile = begin; tile < end; tile++) {
    vd rr = vd_set(0.0), rar = rr, arar = rr, arap = rr;
    const int64_t first = (int64_t)tile * TILE_DOUBLES;
    for (int64_t k = first; k < first + TILE_DOUBLES; k += LANES) {
      const vd mass = spread_scalar(c->weight, k), d = diagonal_at(c, k), factor = vd_set(c->factor),
               m = vd_fma(factor, d, mass);
      vd r = vd_load_aligned(c->r + k), ar = vd_load_aligned(c->ar + k);
      const vd rest = vd_fma(-d, ar, vd_load_aligned(c->aar + k));
      const vd product = vd_fma(factor * inverse_of(m), rest, ar);
      const vd aar = vd_select(free_nodes(c->fixed, k), product, vd_set(0.0));
      const vd before = vd_load_aligned(c->ap + k);
      const vd p = vd_fma(b, vd_load_aligned(c->p + k), r), ap = vector_part(vd_fma(b, before, ar), k),
               aap = vd_fma(b, vd_load_aligned(c->aap + k), aar);
      r = vd_fma(-a, ap, r);
      ar = vd_fma(-a, aap, ar);
      vd_store_aligned(c->p + k, p);
      vd_store_aligned(c->ap + k, vd_select(scalar_channel(k), before, ap));
      vd_store_aligned(c->aap + k, aap);
      vd_store_aligned(c->x + k, vd_fma(a, p, vd_load_aligned(c->x + k)));
      vd_store_aligned(c->r + k, r);
      vd_store_aligned(c->ar + k, ar);
      rr = vd_fma(mass * r, r, rr);
      rar = vd_fma(m * r, ar, rar);
      arar = vd_fma(m * ar, ar, arar);
      arap = vd_fma(m * ar, ap, arap);
    }
    if (!worker->counts) continue;
    exact_add(&worker->sum[0], vd_sum(rr));
    exact_add(&worker->sum[1], vd_sum(rar));
    exact_add(&worker->sum[2], vd_sum(arar));
    exact_add(&worker->sum[3], vd_sum(arap));
  }
}

/* r := free (b - x - factor W^-1 ar); sums <m,m> and <b,b> over the free nodes. */
void KERNEL(cr_begin)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  const struct cr_vectors *c = arguments;
  for (int32_t tile = begin; tile < end; tile++) {
    vd measured = vd_set(0.0), right = measured;
    const int64_t first = (int64_t)tile * TILE_DOUBLES;
    for (int64_t k = first; k < first + TILE_DOUBLES; k += LANES) {
      const vd mass = spread_scalar(c->weight, k), zero = vd_set(0.0);
      const vd b = vd_load_aligned(c->right + k), m = vd_load_aligned(c->measure + k);
      const vm is_free = free_nodes(c->fixed, k);
      const vd product = vd_set(c->factor) * inverse_mass(c->weight, k) * vd_load_aligned(c->ar + k);
      vd_store_aligned(c->r + k,
                       vd_select(is_free, b - vector_part(vd_load_aligned(c->x + k), k) - product, zero));
      measured = vd_fma(vd_select(is_free, mass * m, zero), m, measured);
      right = vd_fma(vd_select(is_free, mass * b, zero), b, right);
    }
    if (!worker->counts) continue;
    exact_add(&worker->sum[0], vd_sum(measured));
    exact_add(&worker->sum[1], vd_sum(right));
  }
}

/* The vectors of NODE_PRESSURE are added to `out`. */
void KERNEL(liquid_join)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct liquid_arguments *a = arguments;
  double *out = a->transfer->grid->node[a->out];
  const double *pressure = a->transfer->grid->node[NODE_PRESSURE];
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += LANES)
    vd_store_aligned(out + k, vd_load_aligned(out + k) + vector_part(vd_load_aligned(pressure + k), k));
}

/* NODE_STAR becomes v*. */
void KERNEL(keep_star)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct liquid_arguments *a = arguments;
  double *const *node = a->transfer->grid->node;
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += LANES)
    vd_store_aligned(node[NODE_STAR] + k, vector_part(vd_load_aligned(node[NODE_VELOCITY] + k), k));
}

void KERNEL(take_star)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct liquid_arguments *a = arguments;
  double *const *node = a->transfer->grid->node;
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += LANES) {
    double *velocity = node[NODE_VELOCITY] + k;
    vd_store_aligned(velocity, vd_select(scalar_channel(k), vd_load_aligned(velocity),
                                         vd_load_aligned(node[NODE_STAR] + k)));
  }
}

/* NODE_RIGHT becomes v* + dt M^-1 D^T p of the pressures in NODE_PRESSURE. */
void KERNEL(liquid_right)(void *arguments, struct worker *worker, int32_t begin, int32_t end)
{
  (void)worker;
  const struct liquid_arguments *a = arguments;
  double *const *node = a->transfer->grid->node;
  const vd dt = vd_set(a->transfer->dt);
  for (int64_t k = (int64_t)begin * TILE_DOUBLES; k < (int64_t)end * TILE_DOUBLES; k += LANES) {
    const vd inverse = inverse_mass(node[NODE_LIQUID], k);
    const vd force = vector_part(vd_load_aligned(node[NODE_PRESSURE] + k), k);
    vd_store_aligned(node[NODE_RIGHT] + k, vd_fma(dt * inverse, force, vd_load_aligned(node[NODE_STAR] + k)));
  }
}
