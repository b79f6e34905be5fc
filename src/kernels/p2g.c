/* Particles to grid: method.md, steps 1 to 3, and the estimate of V0. */
#include "kernels/stencil.h"

/* Sums over a plane's particles, in lanes; folded in fixed order when the plane is done. */
struct tally {
  vd sum[MEASURED_COUNT];
};

static void tally_batch(struct tally *tally, const struct transfer *t, const struct batch *batch, vd energy)
{
  const struct particles *p = t->p;
  const vm live = vm_first(batch->count);
  const vd zero = vd_set(0.0), m = vd_select(live, batch_constant(p->mass, batch), zero);
  vd x[3], v[3];
  for (int d = 0; d < 3; d++) {
    x[d] = vd_select(live, batch_load(p->x[d], batch), zero);
    v[d] = vd_select(live, batch_load(p->v[d], batch), zero);
  }
  vd speed2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
  vd *sum = tally->sum;
  sum[MEASURED_MASS] += m;
  for (int d = 0; d < 3; d++) {
    const int e = (d + 1) % 3, f = (d + 2) % 3;
    sum[MEASURED_MOMENTUM + d] += m * v[d];
    sum[MEASURED_ANGULAR + d] += m * (x[e] * v[f] - x[f] * v[e]);
    sum[MEASURED_POTENTIAL] -= m * vd_set(t->gravity[d]) * x[d];
  }
  if (t->affine) { /* the affine part of APIC carries momentum and energy of its own */
    vd b[9];
    for (int k = 0; k < 9; k++) b[k] = vd_select(live, batch_load(p->b[k], batch), zero);
    const double inverse = stencil_scale(&t->grid->frame, OFFSET) * t->grid->frame.inverse;
    for (int k = 0; k < 9; k++) speed2 += b[k] * b[k] * vd_set(inverse);
    for (int d = 0; d < 3; d++) {
      const int e = (d + 1) % 3, f = (d + 2) % 3;
      sum[MEASURED_ANGULAR + d] += m * (b[3 * f + e] - b[3 * e + f]);
    }
  }
  sum[MEASURED_KINETIC] += vd_set(0.5) * m * speed2;
  sum[MEASURED_ELASTIC] += vd_select(live, energy, zero);
}

static void tally_end(const struct tally *tally, struct exact_sum *measured)
{
  for (int k = 0; k < MEASURED_COUNT; k++) exact_add(&measured[k], vd_sum(tally->sum[k]));
}

/* The principal frame of F_E, kept for the solve. */
static void keep_frame(const struct transfer *t, int32_t s, int count, const struct principal *frame, vd mu,
                       vd lambda)
{
  const struct scratch *keep = t->next;
  for (int k = 0; k < 9; k++) vd_store_some(SCRATCH_U(keep)[k] + s, frame->u[k], count);
  for (int k = 0; k < 3; k++)
    vd_store_some(SCRATCH_SIGMA(keep)[k] + s, vd_set(1.0) + frame->strain[k], count);
  vd_store_some(SCRATCH_MU(keep) + s, mu, count);
  vd_store_some(SCRATCH_LAMBDA(keep) + s, lambda, count);
}

/* The principal frames of the batch at s and of the one behind it, if `left` particles reach so far. */
static void principal_ahead(const struct transfer *t, int32_t s, int32_t left,
                            struct principal frame[STRETCH_MOST])
{
  vd f[STRETCH_MOST][9];
  for (int b = 0; b < STRETCH_MOST && b * LANES < left; b++) {
    const struct batch batch = batch_at(t, s + b * LANES, left - b * LANES);
    for (int k = 0; k < 9; k++) f[b][k] = batch_load(t->p->fe[k], &batch);
  }
  if (left <= LANES)
    principal3(f[0], frame);
  else
    principal_frames(STRETCH_MOST, (const vd(*)[9])f, frame);
}

/* Stress of a batch, V0 P F_E^T as a full matrix, and their elastic energy; `frame` is theirs where
 * the step is implicit. */
ALWAYS_INLINE void prepare_stress(const struct transfer *t, int32_t s, const struct batch *batch,
                                  const struct principal *frame, vd stress[9], vd *energy)
{
  const struct particles *p = t->p;
  vd upper[6];
  const struct snow_lanes material = batch_material(t, batch);
  vm clamped;
  const vd factor = snow_hardening(&material, batch_load(p->jp, batch), &clamped) *
                    batch_constant(p->stiffness, batch) * batch_constant(p->volume, batch);
  const vd mu = material.mu * factor, lambda = material.lambda * factor; /* times V0 */
  if (t->hardened_to_limit) *t->hardened_to_limit += vm_count(clamped & vm_first(batch->count));
  if (t->implicit) {
    const vd one = vd_set(1.0),
             sigma[3] = {one + frame->strain[0], one + frame->strain[1], one + frame->strain[2]};
    snow_stress(frame->u, sigma, mu, lambda, upper);
    *energy = snow_energy(sigma, mu, lambda);
    keep_frame(t, s, batch->count, frame, mu, lambda);
  } else {
    vd f[9];
    for (int k = 0; k < 9; k++) f[k] = batch_load(p->fe[k], batch);
    snow_stress_left(f, mu, lambda, upper, energy);
  }
  const int place[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
  for (int k = 0; k < 9; k++) stress[k] = upper[place[k]];
}

/* Records of a window of particles [s, s + n): mass, momentum and stress. momentum and force are the same
 * records unless the momentum's affine part needs other weights than the force. */
static void prepare_window(const struct transfer *t, int32_t s, int32_t n, struct records *momentum,
                           struct records *force, struct tally *tally)
{
  const struct particles *p = t->p;
  const struct grid_frame *frame = &t->grid->frame;
  const enum linear force_linear = t->mls ? OFFSET : GRADIENT;
  const double force_scale = -stencil_scale(frame, force_linear) * (transfer_is_fused(t) ? t->dt : 1.0);
  const double affine_scale = stencil_scale(frame, OFFSET);
  struct principal frames[STRETCH_MOST];
  for (int32_t i = 0; i < n; i += LANES) {
    const struct batch batch = batch_at(t, s + i, n - i);
    const int32_t turn = i / LANES % STRETCH_MOST;
    vd stress[9], energy = vd_set(0.0), coefficient[3][3], x[3], mv[3];
    if (t->implicit && turn == 0) principal_ahead(t, s + i, n - i, frames);
    prepare_stress(t, s + i, &batch, &frames[turn], stress, &energy);
    if (t->measuring) tally_batch(tally, t, &batch, energy);
    const vd m = batch_constant(p->mass, &batch);
    for (int d = 0; d < 3; d++) mv[d] = m * batch_load(p->v[d], &batch);
    for (int a = 0; a < 3; a++)
      for (int r = 0; r < 3; r++) coefficient[a][r] = stress[3 * r + frame->axis[a]] * vd_set(force_scale);
    batch_positions(t, &batch, x);
    stencil_weigh(t, x, force_linear, force + i / LANES);
    if (t->affine) {
      vd affine[3][3];
      for (int a = 0; a < 3; a++)
        for (int r = 0; r < 3; r++)
          affine[a][r] = m * batch_load(p->b[3 * r + frame->axis[a]], &batch) * vd_set(affine_scale);
      if (momentum != force) {
        stencil_weigh(t, x, OFFSET, momentum + i / LANES);
        stencil_values(momentum + i / LANES, m, mv, affine);
      } else {
        for (int a = 0; a < 3; a++)
          for (int r = 0; r < 3; r++) coefficient[a][r] += affine[a][r];
      }
    }
    stencil_values(force + i / LANES, m, mv, coefficient);
  }
}

/* Asks for what the particles [begin, end) of the next window are made of, a line of each array at a time. */
ALWAYS_INLINE void prefetch_particles(const struct transfer *t, int32_t begin, int32_t end)
{
  enum { LINE = 8 }; /* doubles */
  const struct particles *p = t->p;
  end = end < p->count ? end : p->count;
  for (int32_t k = (begin + LINE - 1) / LINE * LINE; k < end; k += LINE) {
    const int32_t slot = t->slot[k], home = t->home[k];
    for (int d = 0; d < 3; d++) {
      __builtin_prefetch(p->x[d] + slot);
      __builtin_prefetch(p->v[d] + slot);
    }
    for (int e = 0; e < 9; e++) {
      __builtin_prefetch(p->fe[e] + slot);
      if (t->affine) __builtin_prefetch(p->b[e] + slot);
    }
    __builtin_prefetch(p->jp + slot);
    __builtin_prefetch(p->mass + home);
    __builtin_prefetch(p->volume + home);
    __builtin_prefetch(p->stiffness + home);
  }
}

/* Scatters the cells [c, run), and asks with each for what as many particles of the next window need. */
ALWAYS_INLINE void scatter_run(const struct transfer *t, int32_t c, int32_t run, const struct records *rec,
                               int32_t first_particle, struct span *span, struct span *other, int support,
                               bool value, bool slope)
{
  const struct grid *g = t->grid;
  for (; c < run; c++) {
    prefetch_particles(t, g->cell_start[c] + WINDOW_SCATTER, g->cell_start[c + 1] + WINDOW_SCATTER);
    const int z = g->cell_z[c] % TILE_Z;
    scatter_cell(rec, (uint32_t)(g->cell_start[c] - first_particle),
                 (uint32_t)(g->cell_start[c + 1] - first_particle), span->node[0][z],
                 other ? other->node[0][z] : NULL, SPAN_STRIDE0, SPAN_STRIDE1, support, value, slope);
  }
}

/* How the two groups of P2G are made of the records. */
struct scatter_plan {
  bool momentum_slope; /* momentum has a linear part */
  bool force;          /* force is scattered apart */
};

ALWAYS_INLINE void scatter_window(const struct transfer *t, const struct scatter_plan *plan,
                                  struct workspace *w, int32_t c, int32_t window, int32_t end,
                                  int32_t foot_count, struct span span[2], bool *continued, int support)
{
  const struct grid *g = t->grid;
  const struct records *force = w->records[0], *momentum = t->affine && plan->force ? w->records[1] : force;
  const int32_t s = g->cell_start[c];
  double *q = w->q, *q_force = w->q + (int64_t)MAX_SUPPORT * foot_count * TILE_DOUBLES;
  while (c < window) {
    const int32_t run = stencil_run_end(g, c, window);
    const bool goes_on =
        run < end && g->cell_y[run] == g->cell_y[c] && g->cell_z[run] / TILE_Z == g->cell_z[c] / TILE_Z + 1;
    span_begin(&span[0], *continued);
    if (plan->force) span_begin(&span[1], *continued);
    if (plan->momentum_slope) {
      scatter_run(t, c, run, momentum, s, &span[0], NULL, support, true, true);
      if (plan->force) scatter_run(t, c, run, force, s, &span[1], NULL, support, false, true);
    } else if (plan->force) {
      scatter_run(t, c, run, force, s, &span[0], &span[1], support, true, true);
    } else {
      scatter_run(t, c, run, momentum, s, &span[0], NULL, support, true, false);
    }
    span_flush(&span[0], g, c, foot_count, goes_on, q);
    if (plan->force) span_flush(&span[1], g, c, foot_count, goes_on, q_force);
    *continued = goes_on;
    c = run;
  }
}

void KERNEL(p2g)(struct transfer *t, struct workspace *w, int32_t plane)
{
  struct grid *g = t->grid;
  const int32_t end = g->plane_cell[plane + 1], foot_count = g->plane_foot[plane + 1] - g->plane_foot[plane];
  if (g->plane_cell[plane] == end) return;
  const bool fused = transfer_is_fused(t);
  const struct scatter_plan plan = {.momentum_slope = fused || t->affine, .force = !fused};
  struct records *force = w->records[0], *momentum = t->affine && plan.force ? w->records[1] : force;
  const int64_t group_doubles = (int64_t)MAX_SUPPORT * foot_count * TILE_DOUBLES;
  memset(w->q, 0, (size_t)((fused ? 1 : 2) * group_doubles) * sizeof(double));
  struct span span[2];
  struct tally tally = {{vd_set(0.0)}};
  bool continued = false;
  for (int32_t c = g->plane_cell[plane]; c < end;) {
    const int32_t window = stencil_window_end(g, c, end, WINDOW_SCATTER), s = g->cell_start[c];
    prepare_window(t, s, g->cell_start[window] - s, momentum, force, &tally);
    if (g->frame.support == 4)
      scatter_window(t, &plan, w, c, window, end, foot_count, span, &continued, 4);
    else
      scatter_window(t, &plan, w, c, window, end, foot_count, span, &continued, 3);
    c = window;
  }
  scatter_plane_end(g, plane, GROUP_MOMENTUM, w->q);
  if (plan.force) scatter_plane_end(g, plane, GROUP_VELOCITY, w->q + group_doubles);
  if (t->measuring) tally_end(&tally, t->measured);
}

void KERNEL(p2g_mass)(struct transfer *t, struct workspace *w, int32_t plane)
{
  struct grid *g = t->grid;
  const int32_t end = g->plane_cell[plane + 1], foot_count = g->plane_foot[plane + 1] - g->plane_foot[plane];
  if (g->plane_cell[plane] == end) return;
  struct records *rec = w->records[0];
  memset(w->q, 0, (size_t)MAX_SUPPORT * (size_t)foot_count * TILE_DOUBLES * sizeof(double));
  const struct scatter_plan plan = {false, false};
  struct span span[2];
  bool continued = false;
  for (int32_t c = g->plane_cell[plane]; c < end;) {
    const int32_t window = stencil_window_end(g, c, end, WINDOW_SCATTER), s = g->cell_start[c],
                  n = g->cell_start[window] - s;
    for (int32_t i = 0; i < n; i += LANES) {
      vd zero[3] = {vd_set(0.0), vd_set(0.0), vd_set(0.0)}, none[3][3] = {{vd_set(0.0)}};
      const struct batch batch = batch_at(t, s + i, n - i);
      vd x[3];
      batch_positions(t, &batch, x);
      stencil_weigh(t, x, GRADIENT, rec + i / LANES);
      stencil_values(rec + i / LANES, batch_constant(t->p->mass, &batch), zero, none);
    }
    scatter_window(t, &plan, w, c, window, end, foot_count, span, &continued, g->frame.support);
    c = window;
  }
  scatter_plane_end(g, plane, GROUP_MOMENTUM, w->q);
}

/* rho_p = sum of nodal mass density at the particle, V0 = m / rho; particles that have a volume keep it. */
void KERNEL(estimate_volume)(struct transfer *t, struct workspace *w, int32_t plane)
{
  struct grid *g = t->grid;
  struct particles *p = t->p;
  const double h = g->frame.spacing;
  struct records *rec = w->records[0];
  struct span span;
  for (int32_t c = g->plane_cell[plane]; c < g->plane_cell[plane + 1];) {
    const int32_t run = stencil_run_end(g, c, g->plane_cell[plane + 1]), s = g->cell_start[c],
                  n = g->cell_start[run] - s;
    for (int32_t i = 0; i < n; i += LANES) {
      const struct batch batch = batch_at(t, s + i, n - i);
      vd x[3];
      batch_positions(t, &batch, x);
      stencil_weigh(t, x, GRADIENT, rec + i / LANES);
    }
    span_load(&span, g, plane, c, g->group[GROUP_MOMENTUM]);
    for (; c < run; c++) {
      const uint32_t begin = (uint32_t)(g->cell_start[c] - s);
      gather_cell(rec, begin, (uint32_t)(g->cell_start[c + 1] - s), span.node[0][g->cell_z[c] % TILE_Z], NULL,
                  SPAN_STRIDE0, SPAN_STRIDE1, g->frame.support, w->out[0] + begin * GATHERED_DOUBLES);
    }
    for (int32_t i = 0; i < n; i++) {
      const int32_t home = t->home[s + i];
      if (p->volume[home] == 0.0)
        p->volume[home] = p->mass[home] / (w->out[0][i * GATHERED_DOUBLES] / (h * h * h));
    }
  }
}
