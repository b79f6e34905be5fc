/* The check of a solve whose operator follows plastic flow (docs/method.md, "Checked solves").
 *
 * A particle without stiffness along its flow must not unload within a step, nor an open one close: nothing
 * resists, and energy is created. The velocities of a solve are tried on each particle whose tangent is not
 * complete: trial and return of step 7, of which nothing is kept but the energy. If that is more than the
 * operator accounts for, the particle's tangent grows, for this step alone.
 *
 * What a particle has got so far is one number, in the next state's `flow`, which waits for G2P: 0 nothing;
 * above 0 its stiffness along the flow, and that share of the whole tangent if it is open. */
#include "base/simd_single.h"
#include "kernels/stencil.h"

static const double created_share = 0.01; /* of psi(n+1) */

/* Stress and slopes carry a rounding error of some 1e-16 of the stiffness, so c has one of that times the
 * strain of the step. It would decide where there is no stress, as in the free flight of sand. */
static const double rounding = 1e-14;

/* LANES particles at time n. */
struct checked {
  struct batch batch;
  struct material_lanes m;
  struct history h;
  vm flowing, open; /* in the operator's sense; material with operator `flow` */
  vd part;          /* what the check gave so far */
};

static vm find_candidates(const struct transfer *t, int32_t s, int32_t left, struct checked *c)
{
  c->batch = batch_at(t, s, left);
  batch_materials(t, &c->batch, &c->m);
  c->h = batch_history(t, &c->batch);
  const vm live = vm_first(c->batch.count) & material_flows(&c->m);
  vd part = vd_set(0.0);
  for (int l = 0; l < c->batch.count; l++) part[l] = t->next->p->flow[s + l];
  c->part = part;
  c->open = live & material_is_open(&c->m, &c->h);
  c->flowing = live & (batch_load(t->p->flow, &c->batch) > vd_set(0.0)) & (part == vd_set(0.0));
  return c->flowing | (c->open & (part < vd_set(1.0)));
}

/* g : A(g), A the stress of the tangent for g. */
static vd along(const struct tangent *tangent, const vd g[9])
{
  vd a[9], sum = vd_set(0.0);
  tangent_apply(tangent, g, a);
  for (int k = 0; k < 9; k++) sum = vd_fma(a[k], g[k], sum);
  return sum;
}

/* Lanes in which two slopes differ. */
static vm differ(const struct slope *a, const struct slope *b)
{
  vm mask = {0};
  for (int k = 0; k < 6; k++) mask |= a->t[k] != b->t[k];
  return mask;
}

/* Energy after step 7 with the gradient g of the new velocities (Pa); `f` is F_E at time n. Inverted lanes
 * get 0: such a step is cut, if this solve is its last. */
static vd energy_after(const struct transfer *t, const struct checked *c, const vd f[9], const vd g[9])
{
  struct returned found = {.plastic = (vm){0}};
  struct history h = c->h;
  vd trial[9], upper[6], psi;
  snow_multiply(g, f, trial);
  for (int k = 0; k < 9; k++) trial[k] = vd_fma(vd_set(t->dt), trial[k], f[k]);
  if (vm_any(~material_is_elastic(&c->m, trial, &h)))
    material_return(1, (const struct material_lanes *const[]){&c->m}, &trial, &h, &found);
  material_left(&c->m, trial, &h, upper, &psi);
  return vd_select(found.inverted, vd_set(0.0), psi);
}

/* The tangent of some lanes, in place of what the solve had. Their axes stay. */
static void keep_lanes(const struct transfer *t, int32_t s, vm lanes, const struct tangent *tangent)
{
  const struct kept *kept = &t->kept;
  for (int l = 0; l < LANES; l++) {
    if (!lanes[l]) continue;
    for (int k = 0; k < 15; k++) {
      const double value = k < 6 ? tangent->d[k][l] : tangent->pair[(k - 6) / 3][(k - 6) % 3][l];
      if (t->mixed)
        kept->single[SINGLE_TANGENT + k][s + l] = (float)value;
      else
        (k < 6 ? kept->d[k] : kept->pair[k - 6])[s + l] = value;
    }
  }
}

/* How many of the candidates changed. */
static int check_batch(const struct flow_arguments *a, int32_t s, const struct checked *c, vm candidates,
                       const vd g[9])
{
  const struct transfer *t = a->transfer;
  const vd one = vd_set(1.0), zero = vd_set(0.0), dt = vd_set(t->dt);
  struct principal axes;
  struct slope used, entire;
  struct tangent tangent, whole;
  vd f[9], tau[3], upper[6];
  for (int k = 0; k < 9; k++) f[k] = batch_load(t->p->fe[k], &c->batch);
  principal3(f, &axes);
  const struct stretches e = stretches_of(&axes);
  material_stress(&c->m, &e, &c->h, tau);
  material_slope(&c->m, &e, &c->h, c->flowing, &used);
  material_slope(&c->m, &e, &c->h, (vm){0}, &entire);
  candidates &= c->open | differ(&used, &entire);
  if (!vm_any(candidates)) return 0;
  tangent_make(axes.u, &e, tau, &used, vd_select(c->open, c->part, one), (vm){0}, &tangent);
  tangent_make(axes.u, &e, tau, &entire, one, (vm){0}, &whole);
  stretch_from_principal(axes.u, tau, upper);
  const int place[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
  vd work = zero, norm2 = zero;
  for (int k = 0; k < 9; k++) {
    work = vd_fma(upper[place[k]], g[k], work);
    norm2 = vd_fma(g[k], g[k], norm2);
  }
  const vd stiff = vd_max(entire.t[0], vd_max(entire.t[3], entire.t[5]));
  const vd after = energy_after(t, c, f, g), before = material_energy(&c->m, &e, &c->h);
  const vd created = after - before - dt * work - vd_set(a->beta) * dt * dt * along(&tangent, g);
  const vd least = vd_fma(vd_set(created_share), after, vd_set(rounding) * stiff * dt * vd_sqrt(norm2));
  const vm changed = candidates & (created > least);
  if (!vm_any(changed)) return 0;
  const vd most = dt * dt * along(&whole, g);
  vd part = one;
  if (a->first) part = vd_select(c->open & (most > zero), vd_min(one, (created + created) / most), one);
  const vd factor = batch_stiffness(t, &c->batch) * batch_constant(t->p->volume, &c->batch);
  tangent_make(axes.u, &e, tau, &entire, factor * part, (vm){0}, &whole);
  keep_lanes(t, s, changed, &whole);
  for (int l = 0; l < c->batch.count; l++)
    if (changed[l]) t->next->p->flow[s + l] = part[l];
  return vm_count(changed);
}

/* The cells [c, pass_end), from the block's nodes. */
ALWAYS_INLINE void check_pass(const struct flow_arguments *a, struct worker *worker, int32_t c,
                              int32_t pass_end, int support)
{
  const struct transfer *t = a->transfer;
  const struct grid *g = t->grid;
  struct workspace *w = &worker->work;
  const enum linear linear = t->mls ? OFFSET : GRADIENT;
  const int32_t s = g->cell_start[c], n = g->cell_start[pass_end] - s;
  struct records *rec = w->records[0];
  for (int32_t i = 0; i < n; i += LANES) {
    const struct batch batch = batch_at(t, s + i, n - i);
    vd x[3];
    batch_positions(t, &batch, x);
    stencil_weigh(t, x, linear, rec + i / LANES);
  }
  for (; c < pass_end; c++) {
    const uint32_t begin = (uint32_t)(g->cell_start[c] - s);
    gather_cell(rec, begin, (uint32_t)(g->cell_start[c + 1] - s), block_corner(w->nodes[0], g->cell_key[c]),
                NULL, support, w->out[0] + begin * GATHERED_DOUBLES);
  }
  for (int32_t i = 0; i < n; i += LANES) {
    struct checked checked;
    const vm candidates = find_candidates(t, s + i, n - i, &checked);
    if (!vm_any(candidates)) continue;
    vd rows[16], gradient[9];
    gathered_lanes(w->out[0] + i * GATHERED_DOUBLES, rows);
    gathered_gradient(&g->geometry, rows, stencil_scale(&g->geometry, linear), gradient);
    worker->result.stiffened += check_batch(a, s + i, &checked, candidates, gradient);
  }
}

void KERNEL(flow_check)(void *arguments, struct worker *worker, int32_t block)
{
  const struct flow_arguments *a = arguments;
  const struct grid *g = a->transfer->grid;
  const int32_t end = g->blocks.first[block + 1];
  bool loaded = false;
  for (int32_t c = g->blocks.first[block]; c < end;) {
    const int32_t pass_end = stencil_pass_end(g, c, end, PASS_SCATTER), s = g->cell_start[c],
                  n = g->cell_start[pass_end] - s;
    vm any = {0};
    for (int32_t i = 0; i < n && !vm_any(any); i += LANES) {
      struct checked checked;
      any |= find_candidates(a->transfer, s + i, n - i, &checked);
    }
    if (vm_any(any) && !loaded) block_load(worker->work.nodes[0], g, block, g->node[NODE_VELOCITY]);
    loaded = loaded || vm_any(any);
    if (vm_any(any) && g->geometry.support == 4)
      check_pass(a, worker, c, pass_end, 4);
    else if (vm_any(any))
      check_pass(a, worker, c, pass_end, 3);
    c = pass_end;
  }
}
