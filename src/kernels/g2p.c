/* Grid to particles: method.md, steps 7 to 10. Results go to the next state; the old one stays until the step
 * is accepted. */
#include "kernels/stencil.h"

#include <math.h>

/* The bodies that a pass's particles could touch. */
struct near_bodies {
  const struct body_pose *first; /* all poses, in scene order */
  uint64_t mask;                 /* those near; a body beyond the 64th is always taken as near */
  int count;
};

static void find_near(const struct transfer *t, int32_t c, int32_t pass_end, struct near_bodies *near)
{
  const struct grid *g = t->grid;
  const struct grid_geometry *geometry = &g->geometry;
  int32_t low[3], high[3];
  grid_key_index(g->cell_key[c], low);
  memcpy(high, low, sizeof high);
  for (int32_t k = c + 1; k < pass_end; k++) {
    int32_t at[3];
    grid_key_index(g->cell_key[k], at);
    for (int d = 0; d < 3; d++) {
      if (at[d] < low[d]) low[d] = at[d];
      if (at[d] > high[d]) high[d] = at[d];
    }
  }
  /* Particles of base b lie within [b - 1/2, b + 1] cells, whichever the kernel. */
  const double from[3] = {low[0] - 0.5, low[1] - 0.5, low[2] - 0.5},
               to[3] = {high[0] + 1.0, high[1] + 1.0, high[2] + 1.0};
  double center[3], radius2 = 0.0;
  for (int a = 0; a < 3; a++) {
    center[geometry->axis[a]] = geometry->lower[a] + 0.5 * (from[a] + to[a]) * geometry->spacing;
    const double half = 0.5 * (to[a] - from[a]) * geometry->spacing;
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

/* One particle against one body, with what the body takes of it where that is tallied. */
static bool collide_tallied(const struct body_pose *pose, const double at[3], double mass, double friction,
                            double v[3], struct body_tally *tally)
{
  const double before[3] = {v[0], v[1], v[2]};
  if (!body_collide_with(pose, at, v, friction, 0.0, NULL)) return false;
  if (!tally) return true;
  tally_collision(tally, pose, at, mass, before, v);
  return true;
}

/* The lanes that some body acted on. */
static vm collide_lanes(const struct transfer *t, const struct batch *batch, const struct near_bodies *near,
                        const vd x[3], vd v[3], struct body_tally *tallies)
{
  const vm liquid = t->heat ? batch_load(t->p->liquid, batch) > vd_set(0.0) : (vm){0};
  vm contacts = {0};
  for (int l = 0; l < batch->count; l++) {
    const double at[3] = {x[0][l], x[1][l], x[2][l]};
    double velocity[3] = {v[0][l], v[1][l], v[2][l]};
    bool acted = false;
    for (int k = 0; k < near->count; k++) {
      if (k < 64 && !(near->mask >> k & 1)) continue;
      const struct body_pose *pose = &near->first[k];
      const double friction = liquid[l] ? pose->body->liquid_friction : pose->body->friction;
      acted |= collide_tallied(pose, at, t->p->mass[batch->home[l]], friction, velocity,
                               tallies ? &tallies[k] : NULL);
    }
    if (!acted) continue;
    contacts[l] = -1;
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
  if (!vm_any(mask)) return;
  int first = 0;
  while (!mask[first]) first++;
  step_note_trouble(result, kind, s + first);
}

/* Maxima of a block's particles, in lanes. */
struct extremes {
  vd speed2, sound2;
};

/* Whether particles leave their cell, or the domain (enum fate). */
static vm find_fates(const struct transfer *t, vm counted, const vd old[3], const vd x[3],
                     struct step_result *result)
{
  const struct grid_geometry *geometry = &t->grid->geometry;
  const vd shift = vd_set(geometry->support == 4 ? 0.0 : 0.5);
  vm outside = {0}, moves = {0};
  for (int a = 0; a < 3; a++) {
    const vd u = stencil_position(geometry, x[geometry->axis[a]], a),
             before = stencil_position(geometry, old[geometry->axis[a]], a);
    outside |= ~((u >= vd_set(0.0)) & (u <= vd_set((double)geometry->cells[a])));
    moves |= stencil_floor(u + shift) != stencil_floor(before + shift);
  }
  if (vm_any(outside)) result->outside += vm_count(outside & counted);
  return (outside & FATE_GONE) | (~outside & moves & FATE_MOVES);
}

static void store_fates(unsigned char *to, vm fate, int count)
{
  if (count == LANES) {
    const vb bytes = __builtin_convertvector(fate, vb);
    memcpy(to, &bytes, LANES);
    return;
  }
  for (int l = 0; l < count; l++) to[l] = (unsigned char)fate[l];
}

/* LANES particles between the gather and their new state. */
struct update {
  struct batch batch;
  int32_t s;       /* the first */
  vd v[3];         /* grid velocity here, less its share of the old one for FLIP; then the new one */
  vd x[3];         /* the new position */
  vm fate;         /* and what that means for the cell */
  vd b[9];         /* the new affine state, with APIC */
  vd norm2;        /* of the velocity gradient, squared */
  vd trial[9], jp; /* F_E and the plastic volume */
  vd shear, flow;  /* of models that have them */
  vm plastic, inverted;
  vm liquid;          /* g2p_heat says where these go, and what volume they have */
  vm flying;          /* and what flies has nothing of the grid */
  vm landed;          /* of these */
  vm yielding;        /* of snow: may be beyond the limits */
  vd energy, affine2; /* for the budget: elastic energy of the trial, and |B|^2, */
  vd strain[6];       /* and twice its logarithmic strain, of models other than snow */
};

/* Batches that are brought back to the limits together. */
enum { ROUND_BATCHES = PASS_GATHER / LANES, ROUND_LANES = (ROUND_BATCHES + STRETCH_MOST) * LANES };

/* Elastic energy of a batch (J), and its stress (Pa). */
static __attribute__((noinline)) vd elastic_energy(const struct transfer *t, const struct batch *batch,
                                                   const vd f[9], vd jp, vd shear, vd tau[6])
{
  struct material_lanes m;
  vd energy;
  batch_materials(t, batch, &m);
  const struct history h = {jp, shear};
  material_left(&m, f, &h, tau, &energy);
  return energy * batch_stiffness(t, batch) * batch_constant(t->p->volume, batch);
}

static void budget_begin(const struct transfer *t, struct update *u)
{
  const struct particles *p = t->p;
  vd tau[6];
  u->shear = p->shear ? batch_load(p->shear, &u->batch) : vd_set(0.0);
  u->energy = vd_select(u->liquid, vd_set(0.0), elastic_energy(t, &u->batch, u->trial, u->jp, u->shear, tau));
  if (!t->snow_alone) stretch_log(u->trial, u->strain);
}

/* What yielding takes (J): of models that flow, stress times plastic strain. A trial that ends far beyond the
 * limit has more elastic energy than anything worked for, and this is not lost but never was. Of other
 * models, whose solve resists up to the trial, the elastic energy that is gone. The energy of the trial
 * becomes that of the new state and what was lost. */
static __attribute__((noinline)) vd plastic_work(const struct transfer *t, struct update *u)
{
  struct material_lanes m;
  vd tau[6], after[6], work = vd_set(0.0);
  const vd left = elastic_energy(t, &u->batch, u->trial, u->jp, u->shear, tau);
  if (t->snow_alone) return u->energy - left;
  batch_materials(t, &u->batch, &m);
  const vm flows = material_may_flow(&m) & u->plastic;
  stretch_log(u->trial, after);
  for (int k = 0; k < 6; k++) {
    const bool diagonal = k == 0 || k == 3 || k == 5;
    work = vd_fma(vd_set(diagonal ? 0.5 : 1.0) * tau[k], u->strain[k] - after[k], work);
  }
  work *= batch_stiffness(t, &u->batch) * batch_constant(t->p->volume, &u->batch);
  u->energy = vd_select(flows, left + work, u->energy);
  return u->energy - left;
}

/* Particle by particle: batches do depend on the cuts. Of liquid only the kinetic energy is known here;
 * g2p_heat has the rest. */
static void budget_end(const struct transfer *t, struct update *u, const vd x[3], vd speed2,
                       struct exact_sum energy[ENERGY_COUNT])
{
  const struct batch *batch = &u->batch;
  const double scale = stencil_scale(&t->grid->geometry, OFFSET) * t->grid->geometry.inverse;
  const vd m = batch_constant(t->p->mass, batch);
  const bool yields = vm_any(u->plastic & vm_first(batch->count));
  const vd lost = yields ? plastic_work(t, u) : vd_set(0.0);
  vd all = vd_set(0.5) * m * (speed2 + vd_set(scale) * u->affine2) + u->energy;
  const vd heavy = vd_select(u->liquid, vd_set(0.0), m);
  for (int d = 0; d < 3; d++) all -= heavy * vd_set(t->gravity[d]) * x[d];
  for (int l = 0; l < batch->count; l++) {
    exact_add(&energy[ENERGY_AFTER], all[l]);
    if (u->plastic[l]) exact_add(&energy[ENERGY_PLASTIC], lost[l]);
  }
}

/* Of what flies: its own velocity, gravity, no strain. It lands where the space around it is filled as at a
 * surface (method.md, sources). */
static __attribute__((noinline)) void fly(const struct transfer *t, struct update *u)
{
  const vd zero = vd_set(0.0);
  for (int k = 0; k < 9; k++) {
    u->trial[k] = vd_select(u->flying, batch_load(t->p->fe[k], &u->batch), u->trial[k]);
    if (transfer_has_affine(t)) u->b[k] = vd_select(u->flying, zero, u->b[k]);
  }
  u->norm2 = vd_select(u->flying, zero, u->norm2);
  u->affine2 = vd_select(u->flying, zero, u->affine2);
  for (int d = 0; d < 3; d++) {
    const vd v = vd_fma(vd_set(t->dt), vd_set(t->gravity[d]), batch_load(t->p->v[d], &u->batch));
    u->v[d] = vd_select(u->flying, v, u->v[d]);
  }
  for (int l = 0; l < u->batch.count; l++)
    if (u->flying[l] && t->crowd[u->s + l] >= TRANSFER_CROWD) u->landed[l] = -1;
}

/* Step 7 up to the trial F_E, from the particles' gathered rows. */
static void update_begin(const struct transfer *t, int32_t s, int32_t left, const double *gathered,
                         const double *affine, struct update *u)
{
  const struct particles *p = t->p;
  const struct grid_geometry *geometry = &t->grid->geometry;
  u->s = s;
  u->batch = batch_at(t, s, left);
  vd rows[16], g[9], f[9];
  gathered_lanes(gathered, rows);
  gathered_gradient(geometry, rows, stencil_scale(geometry, t->mls ? OFFSET : GRADIENT), g);
  if (transfer_has_affine(t)) {
    if (!t->mls) gathered_lanes(affine, rows); /* same values, with offset weights */
    gathered_gradient(geometry, rows, geometry->spacing, u->b);
    u->affine2 = vd_set(0.0);
    for (int k = 0; k < 9 && t->budget; k++) u->affine2 += u->b[k] * u->b[k];
  } else {
    u->affine2 = vd_set(0.0);
  }
  for (int d = 0; d < 3; d++) u->v[d] = rows[1 + d];
  u->norm2 = vd_set(0.0);
  for (int k = 0; k < 9; k++) {
    u->norm2 = vd_fma(g[k], g[k], u->norm2);
    f[k] = batch_load(p->fe[k], &u->batch);
  }
  snow_multiply(g, f, u->trial);
  for (int k = 0; k < 9; k++) u->trial[k] = vd_fma(vd_set(t->dt), u->trial[k], f[k]);
  u->jp = batch_load(p->jp, &u->batch);
  u->plastic = u->inverted = u->liquid = u->flying = u->landed = (vm){0};
  if (p->flying) u->flying = batch_load(p->flying, &u->batch) > vd_set(0.0);
  if (t->heat) u->liquid = (batch_load(p->liquid, &u->batch) > vd_set(0.0)) & ~u->flying;
  if (vm_any(u->flying)) fly(t, u);
  if (t->budget) budget_begin(t, u);
  if (!t->snow_alone) return;
  const struct snow_lanes material = batch_snow(t, &u->batch);
  u->yielding = ~snow_is_elastic(&material, u->trial) & ~u->liquid & vm_first(u->batch.count);
}

/* The particles of a round that may yield, side by side. */
struct yielding {
  int32_t count;
  double f[9][ROUND_LANES], jp[ROUND_LANES], low[ROUND_LANES], high[ROUND_LANES];
  double plastic[ROUND_LANES], inverted[ROUND_LANES]; /* masks */
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

/* The plastic part of step 7 for snow: those who may yield are taken out of their batches, dealt with in
 * batches of their own and put back. */
static void return_snow(const struct transfer *t, int n, struct update u[])
{
  struct yielding y; /* filled as far as it is used: clearing it would cost as much as the packing */
  y.count = 0;
  for (int b = 0; b < n; b++) {
    const vm mask = u[b].yielding;
    if (!vm_any(mask)) continue;
    const struct snow_lanes material = batch_snow(t, &u[b].batch);
    for (int k = 0; k < 9; k++) vd_pack(y.f[k] + y.count, mask, u[b].trial[k]);
    vd_pack(y.jp + y.count, mask, u[b].jp);
    vd_pack(y.low + y.count, mask, material.stretch_low);
    vd_pack(y.high + y.count, mask, material.stretch_high);
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
    u[b].plastic = (vm)vd_unpack(y.plastic + at, mask, (vd)u[b].plastic);
    u[b].inverted = (vm)vd_unpack(y.inverted + at, mask, (vd)u[b].inverted);
    at += vm_count(mask);
  }
}

/* And for any models. */
static __attribute__((noinline)) void return_general(const struct transfer *t, struct update *u,
                                                     struct step_result *result)
{
  struct material_lanes m;
  struct returned found = {.plastic = (vm){0}};
  struct history h = batch_history(t, &u->batch);
  const vm live = vm_first(u->batch.count) & ~u->liquid;
  batch_materials(t, &u->batch, &m);
  result->limited += vm_count(material_reduce(&m, u->trial) & live);
  if (vm_any(~material_is_elastic(&m, u->trial, &h) & live))
    material_return(1, (const struct material_lanes *const[]){&m}, &u->trial, &h, &found);
  u->jp = h.volume;
  u->shear = h.shear;
  u->flow = vd_select(found.flowing, vd_set(1.0), vd_set(0.0));
  u->plastic = found.plastic & ~u->liquid;
  u->inverted = found.inverted & ~u->liquid;
}

/* Squares of the speed of sound in the new state: for snow from its moduli alone, else from bounds of the
 * stretches. */
static vd sound_of(const struct transfer *t, const struct update *u)
{
  const struct particles *p = t->p;
  const struct batch *batch = &u->batch;
  vd modulus;
  if (t->snow_alone) {
    vm clamped;
    const struct snow_lanes material = batch_snow(t, batch);
    modulus = (material.lambda + vd_set(2.0) * material.mu) *
              (snow_hardening(&material, u->jp, &clamped) * batch_stiffness(t, batch));
  } else {
    struct material_lanes m;
    batch_materials(t, batch, &m);
    const struct stretch_bounds bounds = stretch_bound(u->trial);
    const struct history h = {u->jp, u->shear};
    modulus = material_wave(&m, &bounds, &h) * batch_stiffness(t, batch);
    if (t->implicit) modulus = vd_select(material_has_slope(&m), vd_set(0.0), modulus);
  }
  modulus = vd_select(u->liquid | (u->flying & ~u->landed), vd_set(0.0), modulus);
  return modulus * batch_constant(p->volume, batch) / batch_constant(p->mass, batch);
}

/* Between steps 8 and 9: what the air gives those that are loose. */
static void blow_lanes(const struct transfer *t, const struct update *u, const vd x[3], vd v[3],
                       struct exact_sum energy[ENERGY_COUNT])
{
  for (int l = 0; l < u->batch.count; l++) {
    const double exposure = t->loose[u->s + l], mass = t->p->mass[u->batch.home[l]];
    if (exposure == 0.0) continue;
    const double at[3] = {x[0][l], x[1][l], x[2][l]}, before[3] = {v[0][l], v[1][l], v[2][l]};
    double after[3] = {before[0], before[1], before[2]}, gained = 0.0;
    air_blow(t->air, t->poses, at, t->time, exposure, t->dt, after);
    for (int d = 0; d < 3; d++) {
      v[d][l] = after[d];
      gained += after[d] * after[d] - before[d] * before[d];
      exact_add(&energy[ENERGY_BLOWN + d], mass * (after[d] - before[d]));
    }
    exact_add(&energy[ENERGY_AIR], 0.5 * mass * gained);
  }
}

/* Steps 8 to 10, and what the step must know of these particles. */
static void update_end(struct transfer *t, struct update *u, const struct near_bodies *near,
                       struct extremes *most, struct worker *worker)
{
  struct step_result *result = &worker->result;
  const struct particles *p = t->p;
  const struct grid_geometry *geometry = &t->grid->geometry;
  const struct batch *batch = &u->batch;
  const int32_t s = u->s;
  const vm live = vm_first(batch->count);
  const vd dt = vd_set(t->dt), zero = vd_set(0.0);
  vd v[3], x[3], old[3];
  for (int d = 0; d < 3; d++) {
    x[d] = old[d] = batch_load(p->x[d], batch);
    v[d] = u->v[d];
    if (transfer_is_flip(t))
      v[d] = vd_select(u->flying, v[d], vd_fma(vd_set(t->flip), batch_load(p->v[d], batch), v[d]));
  }
  if (t->air) blow_lanes(t, u, x, v, worker->energy);
  if (near->count) {
    const vm contacts = collide_lanes(t, batch, near, x, v, worker->bodies);
    result->contacts += vm_count(contacts & live);
    u->landed |= u->flying & contacts;
  }

  vd speed2 = zero;
  vm crossing = {0};
  for (int d = 0; d < 3; d++) {
    speed2 = vd_fma(v[d], v[d], speed2);
    crossing |= vd_abs(dt * v[d]) > vd_set(geometry->spacing);
    x[d] = vd_fma(dt, v[d], x[d]);
    u->v[d] = v[d];
    u->x[d] = x[d];
  }
  u->fate = find_fates(t, live & ~u->liquid, old, x, result);
  crossing &= ~u->liquid;
  if (t->budget) budget_end(t, u, x, speed2, worker->energy);

  const vd all = speed2 + u->norm2 + u->jp + u->trial[0] + u->trial[4] + u->trial[8];
  const vm steep = dt * dt * u->norm2 > vd_set(0.25), broken = ~(vd_abs(all) <= vd_set(1e300));
  if (vm_any((steep | u->inverted | crossing | broken) & live)) {
    note_trouble(result, TROUBLE_GRADIENT, steep & live, s);
    note_trouble(result, TROUBLE_INVERTED, u->inverted & live, s);
    note_trouble(result, TROUBLE_CROSSING, crossing & live, s);
    note_trouble(result, TROUBLE_NOT_FINITE, broken & live, s);
  }
  result->plastic += vm_count(u->plastic & live);
  result->flying += vm_count(u->flying & ~u->landed & live & (u->fate != FATE_GONE));
  most->speed2 = vd_max(most->speed2, vd_select(live, speed2, zero));
  if (t->want_sound) most->sound2 = vd_max(most->sound2, vd_select(live, sound_of(t, u), zero));
}

/* One array's new values of n batches, one after the other. */
#define STREAM(array, member)                                                                                \
  for (int b_ = 0; b_ < n; b_++) vd_stream_some((array) + u[b_].s, u[b_].member, u[b_].batch.count)

/* The new state of n batches that fill a cache line of each array: past the caches, a line that is written in
 * two halves with other lines between them would go to memory twice. */
ALWAYS_INLINE void store_line(const struct transfer *t, int n, const struct update u[])
{
  const struct particles *next = t->next->p;
  for (int k = 0; k < 9; k++) STREAM(next->fe[k], trial[k]);
  STREAM(next->jp, jp);
  for (int d = 0; d < 3; d++) STREAM(next->v[d], v[d]);
  for (int d = 0; d < 3; d++) STREAM(next->x[d], x[d]);
  if (next->shear) STREAM(next->shear, shear);
  if (next->flow) STREAM(next->flow, flow);
  if (next->flying)
    for (int b = 0; b < n; b++) {
      const vd flies = vd_select(u[b].flying & ~u[b].landed, vd_set(1.0), vd_set(0.0));
      vd_stream_some(next->flying + u[b].s, flies, u[b].batch.count);
    }
  for (int k = 0; k < 9 && next->b[0]; k++) STREAM(next->b[k], b[k]);
  for (int b = 0; b < n; b++) store_fates(t->next->fate + u[b].s, u[b].fate, u[b].batch.count);
}

/* Of all batches of a round. */
static void store_round(const struct transfer *t, int n, const struct update u[])
{
  enum { LINE = 8 }; /* doubles */
  for (int b = 0, first = 0; b < n; b++) {
    if ((u[b].s + u[b].batch.count) % LINE != 0 && b + 1 < n) continue;
    store_line(t, b + 1 - first, u + first);
    first = b + 1;
  }
}

/* Gathers for the particles of the cells [c, end); particle s has row `row`. Prefetches as scatter_cells()
 * does. */
ALWAYS_INLINE void gather_pass(const struct transfer *t, struct workspace *w, int32_t c, int32_t end,
                               int32_t row, int support)
{
  const struct grid *g = t->grid;
  const bool flip = transfer_is_flip(t), twice = transfer_has_affine(t) && !t->mls;
  const int32_t s = g->cell_start[c];
  for (; c < end; c++) {
    prefetch_particles(t, &t->gathered, g->cell_start[c], g->cell_start[c + 1]);
    const uint32_t first = (uint32_t)(g->cell_start[c] - s), last = (uint32_t)(g->cell_start[c + 1] - s);
    double *out = w->out[0] + (row + g->cell_start[c] - s) * GATHERED_DOUBLES;
    const double *corner = block_corner(w->nodes[0], g->cell_key[c]);
    if (flip)
      gather_cell(w->records[0], first, last, corner, block_corner(w->nodes[1], g->cell_key[c]), support,
                  out);
    else
      gather_cell(w->records[0], first, last, corner, NULL, support, out);
    if (twice)
      gather_cell(w->records[1], first, last, corner, NULL, support,
                  w->out[1] + (row + g->cell_start[c] - s) * GATHERED_DOUBLES);
  }
}

/* Steps 7 to 10 for the particles from `first` on whose rows wait in the buffers, in batches that start at
 * multiples of LANES so that stores stay within cache lines; what does not fill a batch waits for the next
 * pass, unless this is the last. Returns how many wait. */
static int32_t update_waiting(struct transfer *t, struct worker *worker, int32_t first, int32_t waiting,
                              bool last, const struct near_bodies *near, struct extremes *most)
{
  const struct workspace *w = &worker->work;
  int32_t done = 0;
  bool more = true;
  while (more) {
    struct update u[ROUND_BATCHES];
    int n = 0;
    while (n < ROUND_BATCHES) {
      const int32_t whole = LANES - (first + done) % LANES, left = waiting - done;
      more = left >= whole || (last && left > 0);
      if (!more) break;
      const int32_t count = left < whole ? left : whole;
      update_begin(t, first + done, count, w->out[0] + done * GATHERED_DOUBLES,
                   w->out[1] + done * GATHERED_DOUBLES, &u[n++]);
      done += count;
    }
    if (t->snow_alone)
      return_snow(t, n, u);
    else
      for (int b = 0; b < n; b++) return_general(t, &u[b], &worker->result);
    for (int b = 0; b < n; b++) update_end(t, &u[b], near, most, worker);
    store_round(t, n, u);
  }
  const size_t row = GATHERED_DOUBLES * sizeof(double);
  for (int k = 0; k < 2 && done < waiting; k++)
    memmove(w->out[k], w->out[k] + done * GATHERED_DOUBLES, (size_t)(waiting - done) * row);
  return waiting - done;
}

void KERNEL(g2p)(void *arguments, struct worker *worker, int32_t block)
{
  struct transfer *t = arguments;
  struct workspace *w = &worker->work;
  struct step_result *result = &worker->result;
  const struct grid *g = t->grid;
  const int64_t plastic_before = result->plastic;
  const int32_t end = g->blocks.first[block + 1];
  struct extremes most = {vd_set(0.0), vd_set(0.0)};
  struct near_bodies waiting_near = {.first = t->poses};
  int32_t waiting = 0;
  block_load(w->nodes[0], g, block, g->node[NODE_VELOCITY]);
  if (transfer_is_flip(t)) block_load(w->nodes[1], g, block, g->node[NODE_MOMENTUM]);
  for (int32_t c = g->blocks.first[block]; c < end;) {
    const int32_t pass_end = stencil_pass_end(g, c, end, PASS_GATHER), s = g->cell_start[c],
                  n = g->cell_start[pass_end] - s;
    struct near_bodies near;
    find_near(t, c, pass_end, &near);
    const struct near_bodies here = near;
    near.mask |= waiting_near.mask;
    near.count = near.count > waiting_near.count ? near.count : waiting_near.count;
    waiting_near = here;
    for (int32_t i = 0; i < n; i += LANES) {
      const struct batch batch = batch_at(t, s + i, n - i);
      vd x[3];
      batch_positions(t, &batch, x);
      stencil_weigh(t, x, t->mls ? OFFSET : GRADIENT, w->records[0] + i / LANES);
      if (transfer_has_affine(t) && !t->mls) stencil_weigh(t, x, OFFSET, w->records[1] + i / LANES);
    }
    if (g->geometry.support == 4)
      gather_pass(t, w, c, pass_end, waiting, 4);
    else
      gather_pass(t, w, c, pass_end, waiting, 3);
    waiting = update_waiting(t, worker, s - waiting, waiting + n, pass_end == end, &near, &most);
    c = pass_end;
  }
  vd_stream_end();
  if (grid_block_is_shared(g, block)) result->shared_plastic += result->plastic - plastic_before;
  result->max_speed = fmax(result->max_speed, largest_root(most.speed2));
  result->max_sound = fmax(result->max_sound, largest_root(most.sound2));
}
