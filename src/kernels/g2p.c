/* Grid to particles: method.md, steps 7 to 10. Results go to the scratch; the old state stays until the step
 * is accepted. */
#include "kernels/stencil.h"

#include <math.h>

/* The bodies that a window's particles could touch. */
struct near_bodies {
  const struct body_pose *first; /* all poses, in scene order */
  uint64_t mask;                 /* those near; a body beyond the 64th is always taken as near */
  int count;
};

static void find_near(const struct transfer *t, int32_t plane, int32_t c, int32_t window,
                      struct near_bodies *near)
{
  const struct grid *g = t->grid;
  const struct grid_frame *frame = &g->frame;
  int32_t low[2] = {g->cell_y[c], g->cell_z[c]}, high[2] = {low[0], low[1]};
  for (int32_t k = c + 1; k < window; k++) {
    const int32_t at[2] = {g->cell_y[k], g->cell_z[k]};
    for (int d = 0; d < 2; d++) {
      if (at[d] < low[d]) low[d] = at[d];
      if (at[d] > high[d]) high[d] = at[d];
    }
  }
  /* Particles of base b lie within [b - 1/2, b + 1] cells, whichever the kernel. */
  const double from[3] = {g->first + plane - 0.5, low[0] - 0.5, low[1] - 0.5};
  const double to[3] = {g->first + plane + 1.0, high[0] + 1.0, high[1] + 1.0};
  double center[3], radius2 = 0.0;
  for (int a = 0; a < 3; a++) {
    center[frame->axis[a]] = frame->lower[a] + 0.5 * (from[a] + to[a]) * frame->spacing;
    const double half = 0.5 * (to[a] - from[a]) * frame->spacing;
    radius2 += half * half;
  }
  const double radius = 1.001 * sqrt(radius2);
  *near = (struct near_bodies){.first = t->poses};
  for (int k = 0; k < t->pose_count; k++) {
    if (k < 64 && !body_may_touch(&t->poses[k], center, radius)) continue;
    if (k < 64) near->mask |= (uint64_t)1 << k;
    near->count = k + 1;
  }
}

static int collide_lanes(const struct near_bodies *near, int count, const vd x[3], vd v[3])
{
  int contacts = 0;
  for (int l = 0; l < count; l++) {
    const double at[3] = {x[0][l], x[1][l], x[2][l]};
    double velocity[3] = {v[0][l], v[1][l], v[2][l]};
    bool acted = false;
    for (int k = 0; k < near->count; k++)
      if (k >= 64 || near->mask >> k & 1) acted |= body_collide(&near->first[k], at, velocity);
    if (!acted) continue;
    contacts++;
    for (int d = 0; d < 3; d++) v[d][l] = velocity[d];
  }
  return contacts;
}

/* Of the squares of speeds. */
static double largest_root(vd a)
{
  double largest = a[0];
  for (int l = 1; l < LANES; l++)
    if (a[l] > largest) largest = a[l];
  return sqrt(largest);
}

static void note_trouble(struct step_result *result, enum trouble kind, vm mask, int32_t s)
{
  if (!vm_any(mask) || result->trouble >= kind) return;
  result->trouble = kind;
  for (int l = LANES - 1; l >= 0; l--)
    if (mask[l]) result->trouble_particle = s + l;
}

/* Maxima of a plane's particles, in lanes. */
struct extremes {
  vd speed2, sound2;
};

/* Cell keys of the new positions. */
static void store_keys(const struct transfer *t, int32_t s, int count, const vd x[3],
                       struct step_result *result)
{
  const struct grid_frame *frame = &t->grid->frame;
  vm inside = ~(vm){0}, key = {0};
  for (int a = 0; a < 3; a++) {
    const vd u = (x[frame->axis[a]] - vd_set(frame->lower[a])) * vd_set(frame->inverse);
    const vm here = (u >= vd_set(0.0)) & (u <= vd_set((double)frame->cells[a]));
    const vd base = stencil_floor(frame->support == 4 ? u : u + vd_set(0.5));
    inside &= here;
    key = key << GRID_INDEX_BITS | __builtin_convertvector(vd_select(here, base, vd_set(0.0)), vm);
  }
  key |= ~inside;
  memcpy(t->next->key + s, &key, (size_t)count * sizeof *t->next->key);
  result->outside += vm_count(~inside & vm_first(count));
}

/* LANES particles between the gather and their new state. */
struct update {
  struct batch batch;
  int32_t s;       /* the first */
  vd v[3];         /* grid velocity at the particle, less its share of the old one for FLIP */
  vd norm2;        /* of the velocity gradient, squared */
  vd trial[9], jp; /* F_E and J_P */
  struct snow_lanes material;
  vm yielding; /* may be beyond the limits */
  struct snow_returned found;
};

/* Batches that are brought back to the limits together. */
enum { GROUP_BATCHES = WINDOW_GATHER / LANES, GROUP_LANES = (GROUP_BATCHES + STRETCH_MOST) * LANES };

/* Step 7 up to the trial F_E, from the particles' gathered rows. */
static void update_begin(const struct transfer *t, int32_t s, int32_t left, const double *gathered,
                         const double *affine, struct update *u)
{
  const struct particles *p = t->p;
  const struct grid_frame *frame = &t->grid->frame;
  u->s = s;
  u->batch = batch_at(t, s, left);
  vd rows[16], g[9], f[9];
  gathered_lanes(gathered, rows);
  gathered_gradient(frame, rows, stencil_scale(frame, t->mls ? OFFSET : GRADIENT), g);
  if (t->affine && !t->mls) gathered_lanes(affine, rows); /* same values, with offset weights */
  if (t->affine) {
    vd b[9];
    gathered_gradient(frame, rows, frame->spacing, b);
    for (int k = 0; k < 9; k++) vd_stream_some(t->next->b[k] + s, b[k], u->batch.count);
  }
  for (int d = 0; d < 3; d++) u->v[d] = rows[1 + d];
  u->norm2 = vd_set(0.0);
  for (int k = 0; k < 9; k++) {
    u->norm2 = vd_fma(g[k], g[k], u->norm2);
    f[k] = batch_load(p->fe[k], &u->batch);
  }
  snow_multiply(g, f, u->trial);
  for (int k = 0; k < 9; k++) u->trial[k] = vd_fma(vd_set(t->dt), u->trial[k], f[k]);
  u->material = batch_material(t, &u->batch);
  u->jp = batch_load(p->jp, &u->batch);
  u->yielding = ~snow_is_elastic(&u->material, u->trial) & vm_first(u->batch.count);
}

/* The particles of a group that may yield, side by side. */
struct yielding {
  int32_t count;
  double f[9][GROUP_LANES], jp[GROUP_LANES], low[GROUP_LANES], high[GROUP_LANES];
  double plastic[GROUP_LANES], inverted[GROUP_LANES]; /* masks */
};

/* Lanes behind the last particle rest. */
static void yielding_pad(struct yielding *y)
{
  for (int k = 0; k < 9; k++) vd_store(y->f[k] + y->count, vd_set(k % 4 == 0 ? 1.0 : 0.0));
  vd_store(y->jp + y->count, vd_set(1.0));
  vd_store(y->low + y->count, vd_set(0.0));
  vd_store(y->high + y->count, vd_set(2.0));
}

ALWAYS_INLINE void yielding_return(struct yielding *y, int32_t at, int n)
{
  vd f[STRETCH_MOST][9], jp[STRETCH_MOST], low[STRETCH_MOST], high[STRETCH_MOST];
  struct snow_returned found[STRETCH_MOST];
  for (int b = 0; b < n; b++) {
    const int32_t i = at + b * LANES;
    for (int k = 0; k < 9; k++) f[b][k] = vd_load(y->f[k] + i);
    jp[b] = vd_load(y->jp + i);
    low[b] = vd_load(y->low + i);
    high[b] = vd_load(y->high + i);
  }
  snow_return(n, low, high, f, jp, found);
  for (int b = 0; b < n; b++) {
    const int32_t i = at + b * LANES;
    for (int k = 0; k < 9; k++) vd_store(y->f[k] + i, f[b][k]);
    vd_store(y->jp + i, jp[b]);
    vd_store(y->plastic + i, (vd)found[b].plastic);
    vd_store(y->inverted + i, (vd)found[b].inverted);
  }
}

/* The plastic part of step 7: those who may yield are taken out of their batches, dealt with in batches of
 * their own and put back. */
static void update_return(int n, struct update u[])
{
  struct yielding y; /* filled as far as it is used: clearing it would cost as much as the packing */
  y.count = 0;
  for (int b = 0; b < n; b++) {
    const vm mask = u[b].yielding;
    u[b].found = (struct snow_returned){(vm){0}, (vm){0}};
    if (!vm_any(mask)) continue;
    for (int k = 0; k < 9; k++) vd_pack(y.f[k] + y.count, mask, u[b].trial[k]);
    vd_pack(y.jp + y.count, mask, u[b].jp);
    vd_pack(y.low + y.count, mask, u[b].material.stretch_low);
    vd_pack(y.high + y.count, mask, u[b].material.stretch_high);
    y.count += vm_count(mask);
  }
  if (!y.count) return;
  yielding_pad(&y);
  for (int32_t at = 0; at < y.count; at += STRETCH_MOST * LANES) {
    if (y.count - at > LANES)
      yielding_return(&y, at, STRETCH_MOST);
    else
      yielding_return(&y, at, 1);
  }
  int32_t at = 0;
  for (int b = 0; b < n; b++) {
    const vm mask = u[b].yielding;
    if (!vm_any(mask)) continue;
    for (int k = 0; k < 9; k++) u[b].trial[k] = vd_unpack(y.f[k] + at, mask, u[b].trial[k]);
    u[b].jp = vd_unpack(y.jp + at, mask, u[b].jp);
    u[b].found.plastic = (vm)vd_unpack(y.plastic + at, mask, (vd)u[b].found.plastic);
    u[b].found.inverted = (vm)vd_unpack(y.inverted + at, mask, (vd)u[b].found.inverted);
    at += vm_count(mask);
  }
}

/* Steps 8 to 10, and what the step must know of these particles. */
static void update_end(struct transfer *t, const struct update *u, const struct near_bodies *near,
                       struct extremes *most, struct step_result *result)
{
  const struct particles *p = t->p;
  const struct scratch *next = t->next;
  const struct grid_frame *frame = &t->grid->frame;
  const struct batch *batch = &u->batch;
  const int32_t s = u->s;
  const vm live = vm_first(batch->count);
  const vd dt = vd_set(t->dt), zero = vd_set(0.0);
  vd v[3], x[3];
  for (int k = 0; k < 9; k++) vd_stream_some(next->fe[k] + s, u->trial[k], batch->count);
  vd_stream_some(next->jp + s, u->jp, batch->count);
  for (int d = 0; d < 3; d++) {
    x[d] = batch_load(p->x[d], batch);
    v[d] = u->v[d];
    if (transfer_is_flip(t)) v[d] = vd_fma(vd_set(t->flip), batch_load(p->v[d], batch), v[d]);
  }
  if (near->count) result->contacts += collide_lanes(near, batch->count, x, v);

  vd speed2 = zero;
  vm crossing = {0};
  for (int d = 0; d < 3; d++) {
    speed2 = vd_fma(v[d], v[d], speed2);
    crossing |= vd_abs(dt * v[d]) > vd_set(frame->spacing);
    x[d] = vd_fma(dt, v[d], x[d]);
    vd_stream_some(next->v[d] + s, v[d], batch->count);
    vd_stream_some(next->x[d] + s, x[d], batch->count);
  }
  store_keys(t, s, batch->count, x, result);

  const struct snow_returned *found = &u->found;
  const vd all = speed2 + u->norm2 + u->jp + u->trial[0] + u->trial[4] + u->trial[8];
  const vm steep = dt * dt * u->norm2 > vd_set(0.25), broken = ~(vd_abs(all) <= vd_set(1e300));
  if (vm_any((steep | found->inverted | crossing | broken) & live)) {
    note_trouble(result, TROUBLE_GRADIENT, steep & live, s);
    note_trouble(result, TROUBLE_INVERTED, found->inverted & live, s);
    note_trouble(result, TROUBLE_CROSSING, crossing & live, s);
    note_trouble(result, TROUBLE_NOT_FINITE, broken & live, s);
  }
  result->plastic += vm_count(found->plastic & live);
  most->speed2 = vd_max(most->speed2, vd_select(live, speed2, zero));
  if (!t->want_sound) return;
  vm clamped;
  const vd factor = snow_hardening(&u->material, u->jp, &clamped) * batch_constant(p->stiffness, batch);
  const vd stiffness = (u->material.lambda + vd_set(2.0) * u->material.mu) * factor;
  const vd sound2 = stiffness * batch_constant(p->volume, batch) / batch_constant(p->mass, batch);
  most->sound2 = vd_max(most->sound2, vd_select(live, sound2, zero));
}

/* Gathers for the particles of one run; particle s has row `row`. */
ALWAYS_INLINE void gather_run(const struct transfer *t, struct workspace *w, int32_t plane, int32_t c,
                              int32_t run, int32_t s, int32_t row, int support)
{
  const struct grid *g = t->grid;
  const bool flip = transfer_is_flip(t), twice = t->affine && !t->mls;
  struct span span, mixed;
  span_load(&span, g, plane, c, g->group[GROUP_VELOCITY]);
  if (flip) span_load(&mixed, g, plane, c, g->group[GROUP_MOMENTUM]);
  for (; c < run; c++) {
    const uint32_t begin = (uint32_t)(g->cell_start[c] - s), end = (uint32_t)(g->cell_start[c + 1] - s);
    double *out = w->out[0] + (row + g->cell_start[c] - s) * GATHERED_DOUBLES;
    const double *corner = span.node[0][g->cell_z[c] % TILE_Z];
    if (flip)
      gather_cell(w->records[0], begin, end, corner, mixed.node[0][g->cell_z[c] % TILE_Z], SPAN_STRIDE0,
                  SPAN_STRIDE1, support, out);
    else
      gather_cell(w->records[0], begin, end, corner, NULL, SPAN_STRIDE0, SPAN_STRIDE1, support, out);
    if (twice)
      gather_cell(w->records[1], begin, end, corner, NULL, SPAN_STRIDE0, SPAN_STRIDE1, support,
                  w->out[1] + (row + g->cell_start[c] - s) * GATHERED_DOUBLES);
  }
}

/* Steps 7 to 10 for the particles from `first` on whose rows wait in the buffers, in batches that start at
 * multiples of LANES so that stores stay within cache lines; what does not fill a batch waits for the next
 * window, unless this is the last. Returns how many wait. */
static int32_t update_waiting(struct transfer *t, struct workspace *w, int32_t first, int32_t waiting,
                              bool last, const struct near_bodies *near, struct extremes *most,
                              struct step_result *result)
{
  int32_t done = 0;
  bool more = true;
  while (more) {
    struct update u[GROUP_BATCHES];
    int n = 0;
    while (n < GROUP_BATCHES) {
      const int32_t whole = LANES - (first + done) % LANES, left = waiting - done;
      more = left >= whole || (last && left > 0);
      if (!more) break;
      const int32_t count = left < whole ? left : whole;
      update_begin(t, first + done, count, w->out[0] + done * GATHERED_DOUBLES,
                   w->out[1] + done * GATHERED_DOUBLES, &u[n++]);
      done += count;
    }
    update_return(n, u);
    for (int b = 0; b < n; b++) update_end(t, &u[b], near, most, result);
  }
  const size_t row = GATHERED_DOUBLES * sizeof(double);
  for (int k = 0; k < 2 && done < waiting; k++)
    memmove(w->out[k], w->out[k] + done * GATHERED_DOUBLES, (size_t)(waiting - done) * row);
  return waiting - done;
}

void KERNEL(g2p)(struct transfer *t, struct workspace *w, int32_t plane, struct step_result *result)
{
  const struct grid *g = t->grid;
  const int32_t end = g->plane_cell[plane + 1];
  struct extremes most = {vd_set(0.0), vd_set(0.0)};
  struct near_bodies waiting_near = {.first = t->poses};
  int32_t waiting = 0;
  for (int32_t c = g->plane_cell[plane]; c < end;) {
    const int32_t window = stencil_window_end(g, c, end, WINDOW_GATHER), s = g->cell_start[c],
                  n = g->cell_start[window] - s;
    struct near_bodies near;
    find_near(t, plane, c, window, &near);
    const struct near_bodies here = near;
    near.mask |= waiting_near.mask;
    near.count = near.count > waiting_near.count ? near.count : waiting_near.count;
    waiting_near = here;
    for (int32_t i = 0; i < n; i += LANES) {
      const struct batch batch = batch_at(t, s + i, n - i);
      vd x[3];
      batch_positions(t, &batch, x);
      stencil_weigh(t, x, t->mls ? OFFSET : GRADIENT, w->records[0] + i / LANES);
      if (t->affine && !t->mls) stencil_weigh(t, x, OFFSET, w->records[1] + i / LANES);
    }
    while (c < window) {
      const int32_t run = stencil_run_end(g, c, window);
      if (g->frame.support == 4)
        gather_run(t, w, plane, c, run, s, waiting, 4);
      else
        gather_run(t, w, plane, c, run, s, waiting, 3);
      c = run;
    }
    waiting = update_waiting(t, w, s - waiting, waiting + n, window == end, &near, &most, result);
  }
  vd_stream_end();
  result->max_speed = fmax(result->max_speed, largest_root(most.speed2));
  result->max_sound = fmax(result->max_sound, largest_root(most.sound2));
}
