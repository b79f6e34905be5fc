/* See lanes.h. Built once for each instruction set with FIRN_ISA, like the kernels. */
#include "support/lanes.h"

#include "kernels/stencil.h"
#include "material/tangent.h"

/* Every probe takes WIDE lanes, a register at a time. */
#define FOR_REGISTERS(at) for (int at = 0; at < WIDE; at += LANES)

static void load(const lane *from, int at, int count, vd *to)
{
  for (int k = 0; k < count; k++) to[k] = vd_load(from[k] + at);
}

static void store(const vd *from, int count, lane *to, int at)
{
  for (int k = 0; k < count; k++) vd_store(to[k] + at, from[k]);
}

static vm load_mask(const int64_t *from)
{
  vm mask;
  memcpy(&mask, from, sizeof mask);
  return mask;
}

static void store_mask(vm mask, int64_t *to)
{
  memcpy(to, &mask, sizeof mask);
}

/* A function of one lane. */
#define PROBE(name, function)                                                                                \
  static void probe_##name(const lane x, lane out)                                                           \
  {                                                                                                          \
    FOR_REGISTERS(at) vd_store(out + at, function(vd_load(x + at)));                                         \
  }

static vd sine(vd x)
{
  vd s, c;
  vd_sincos_near(x, &s, &c);
  return s;
}

static vd cosine(vd x)
{
  vd s, c;
  vd_sincos_near(x, &s, &c);
  return c;
}

PROBE(exp, vd_exp)
PROBE(log, vd_log)
PROBE(log1p, vd_log1p)
PROBE(sinhc, vd_sinhc)
PROBE(expm1, vd_expm1)
PROBE(sin, sine)
PROBE(cos, cosine)
PROBE(floor, stencil_floor)
PROBE(sqrt, vd_sqrt)

static void probe_select(const int64_t mask[WIDE], const lane a, const lane b, lane out)
{
  FOR_REGISTERS(at) vd_store(out + at, vd_select(load_mask(mask + at), vd_load(a + at), vd_load(b + at)));
}

static void probe_min_max_abs(const lane a, const lane b, lane least, lane most, lane absolute)
{
  FOR_REGISTERS(at)
  {
    const vd x = vd_load(a + at), y = vd_load(b + at);
    vd_store(least + at, vd_min(x, y));
    vd_store(most + at, vd_max(x, y));
    vd_store(absolute + at, vd_abs(x));
  }
}

static void probe_fma(const lane a, const lane b, const lane c, lane out)
{
  FOR_REGISTERS(at) vd_store(out + at, vd_fma(vd_load(a + at), vd_load(b + at), vd_load(c + at)));
}

static void probe_rows(const lane a[8], double rows[WIDE][8], lane back[8])
{
  FOR_REGISTERS(at)
  {
    vd r[8];
    load(a, at, 8, r);
    vd_to_rows(r, rows[at], 8);
    vd_from_rows(rows[at], 8, r);
    store(r, 8, back, at);
  }
}

static void probe_fold(const lane a, double *out)
{
  vd_fold(vd_load(a), out);
}

static int probe_pack(const int64_t mask[WIDE], const lane a, lane packed, lane back)
{
  int count = 0;
  FOR_REGISTERS(at)
  {
    const vm m = load_mask(mask + at);
    double room[2 * WIDE]; /* a register may be overwritten behind the last */
    vd_pack(room, m, vd_load(a + at));
    vd_store(back + at, vd_unpack(room, m, vd_set(-1.0)));
    memcpy(packed + count, room, (size_t)vm_count(m) * sizeof(double));
    count += vm_count(m);
  }
  return count;
}

static int probe_first(int count, int64_t mask[WIDE])
{
  int any = 0;
  FOR_REGISTERS(at)
  {
    const vm first = vm_first(count - at);
    store_mask(first, mask + at);
    any |= vm_any(first);
  }
  return any;
}

static void probe_svd(const lane f[9], lane u[9], lane sigma[3], lane v[9])
{
  FOR_REGISTERS(at)
  {
    vd a[9];
    struct svd svd;
    load(f, at, 9, a);
    svd3(a, &svd);
    store(svd.u, 9, u, at);
    store(svd.sigma, 3, sigma, at);
    store(svd.v, 9, v, at);
  }
}

static void store_symmetric(const vd upper[6], lane out[9], int at)
{
  const int place[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
  for (int k = 0; k < 9; k++) vd_store(out[k] + at, upper[place[k]]);
}

static void probe_left(const lane f[9], lane root[9])
{
  FOR_REGISTERS(at)
  {
    vd a[9], g[6], h[6];
    load(f, at, 9, a);
    stretch_left(a, stretch_determinant(a), g, h);
    for (int k = 0; k < 6; k++) h[k] = g[k] - h[k] + vd_set(k == 0 || k == 3 || k == 5 ? 1.0 : 0.0);
    store_symmetric(h, root, at);
  }
}

static void probe_principal(const lane f[9], lane u[9], lane strain[3], lane v[9])
{
  FOR_REGISTERS(at)
  {
    vd a[9];
    struct principal frame;
    load(f, at, 9, a);
    principal3(a, &frame);
    store(frame.u, 9, u, at);
    store(frame.strain, 3, strain, at);
    store(frame.v, 9, v, at);
  }
}

/* U and the stretches of F. */
static void stretches(const lane f[9], int at, vd u[9], vd sigma[3])
{
  vd a[9];
  struct principal frame;
  load(f, at, 9, a);
  principal3(a, &frame);
  for (int k = 0; k < 9; k++) u[k] = frame.u[k];
  for (int k = 0; k < 3; k++) sigma[k] = vd_set(1.0) + frame.strain[k];
}

static void probe_stress(const lane f[9], const lane mu, const lane lambda, lane energy, lane stress[9])
{
  FOR_REGISTERS(at)
  {
    vd u[9], sigma[3], tau[3], upper[6];
    stretches(f, at, u, sigma);
    vd_store(energy + at, snow_energy(sigma, vd_load(mu + at), vd_load(lambda + at)));
    snow_principal_stress(sigma, vd_load(mu + at), vd_load(lambda + at), tau);
    stretch_from_principal(u, tau, upper);
    store_symmetric(upper, stress, at);
  }
}

static void probe_stress_left(const lane f[9], const lane mu, const lane lambda, lane energy, lane stress[9])
{
  FOR_REGISTERS(at)
  {
    vd a[9], upper[6], e;
    struct snow_tangent unused;
    load(f, at, 9, a);
    snow_stress_left(a, vd_load(mu + at), vd_load(lambda + at), upper, &e, &unused);
    vd_store(energy + at, e);
    store_symmetric(upper, stress, at);
  }
}

static void probe_tangent(const lane f[9], const lane mu, const lane lambda, const lane g[9], lane out[9])
{
  FOR_REGISTERS(at)
  {
    vd a[9], upper[6], e, gradient[9], result[9];
    struct snow_tangent tangent;
    load(f, at, 9, a);
    load(g, at, 9, gradient);
    snow_stress_left(a, vd_load(mu + at), vd_load(lambda + at), upper, &e, &tangent);
    snow_tangent_apply(&tangent, gradient, result);
    store(result, 9, out, at);
  }
}

/* Of one material in all lanes. */
static struct snow_lanes snow_lanes_of(const struct snow_constants *m)
{
  struct material_constants table = {.model = MODEL_SNOW};
  memcpy(table.value, m, sizeof *m);
  return snow_gather(&table, (const uint32_t[LANES]){0});
}

static void probe_give_back(const struct snow_constants *m, lane f[9], lane jp, int64_t plastic[WIDE],
                            int64_t inverted[WIDE])
{
  const struct snow_lanes lanes = snow_lanes_of(m);
  FOR_REGISTERS(at)
  {
    vd a[1][9], j = vd_load(jp + at);
    struct snow_returned found;
    load((const lane *)f, at, 9, a[0]);
    const vm elastic = snow_is_elastic(&lanes, a[0]);
    snow_return(1, &lanes.stretch_low, &lanes.stretch_high, a, &j, &found);
    for (int k = 0; k < 9; k++) vd_store(f[k] + at, vd_select(elastic, vd_load(f[k] + at), a[0][k]));
    vd_store(jp + at, vd_select(elastic, vd_load(jp + at), j));
    store_mask(found.plastic & ~elastic, plastic + at);
    store_mask(found.inverted & ~elastic, inverted + at);
  }
}

static void probe_hardening(const struct snow_constants *m, const lane jp, lane factor, int64_t clamped[WIDE])
{
  const struct snow_lanes lanes = snow_lanes_of(m);
  FOR_REGISTERS(at)
  {
    vm mask;
    vd_store(factor + at, snow_hardening(&lanes, vd_load(jp + at), &mask));
    store_mask(mask, clamped + at);
  }
}

/* A register of a state. */
struct part {
  struct material_lanes m;
  vd f[9];
  struct history h;
  vm flowing;
};

static void load_part(const struct lane_state *state, int at, struct part *p)
{
  material_gather(state->table, state->material + at, &p->m);
  load(state->f, at, 9, p->f);
  p->h = (struct history){vd_load(state->volume + at), vd_load(state->shear + at)};
  p->flowing = load_mask(state->flowing + at);
}

static void store_returned(const struct returned *r, vm elastic, struct lane_returned *found, int at)
{
  store_mask(r->plastic, found->plastic + at);
  store_mask(r->flowing, found->flowing + at);
  store_mask(r->inverted, found->inverted + at);
  store_mask(elastic, found->elastic + at);
}

static void probe_model_stress(const struct lane_state *state, struct lane_stress *out)
{
  FOR_REGISTERS(at)
  {
    struct part p;
    struct principal frame;
    vd tau[3], upper[6], energy;
    load_part(state, at, &p);
    principal3(p.f, &frame);
    const struct stretches e = stretches_of(&frame);
    vd_store(out->energy + at, material_energy(&p.m, &e, &p.h));
    material_stress(&p.m, &e, &p.h, tau);
    stretch_from_principal(frame.u, tau, upper);
    store_symmetric(upper, out->tau, at);
    material_left(&p.m, p.f, &p.h, upper, &energy);
    vd_store(out->left_energy + at, energy);
    store_symmetric(upper, out->left, at);
  }
}

static void probe_model_tangent(const struct lane_state *state, const lane g[9], lane out[9])
{
  FOR_REGISTERS(at)
  {
    struct part p;
    struct principal frame;
    struct slope slope;
    struct tangent tangent;
    vd tau[3], gradient[9], result[9];
    load_part(state, at, &p);
    load(g, at, 9, gradient);
    principal3(p.f, &frame);
    const struct stretches e = stretches_of(&frame);
    material_stress(&p.m, &e, &p.h, tau);
    material_slope(&p.m, &e, &p.h, p.flowing, &slope);
    tangent_make(frame.u, &e, tau, &slope, vd_set(1.0), material_is_open(&p.m, &p.h), &tangent);
    tangent_apply(&tangent, gradient, result);
    store(result, 9, out, at);
  }
}

static void probe_model_return(struct lane_state *state, struct lane_returned *found)
{
  FOR_REGISTERS(at)
  {
    struct part p;
    struct returned r;
    load_part(state, at, &p);
    const vm elastic = material_is_elastic(&p.m, p.f, &p.h);
    material_return(1, (const struct material_lanes *const[]){&p.m}, &p.f, &p.h, &r);
    store(p.f, 9, state->f, at);
    vd_store(state->volume + at, p.h.volume);
    vd_store(state->shear + at, p.h.shear);
    store_returned(&r, elastic, found, at);
  }
}

static struct stretches stretches_from(const vd sigma[3])
{
  struct stretches e;
  for (int d = 0; d < 3; d++) {
    e.strain[d] = sigma[d] - vd_set(1.0);
    e.excess[d] = e.strain[d] * (sigma[d] + vd_set(1.0));
  }
  return e;
}

static void probe_model_give_back(struct lane_state *state, lane sigma[3], struct lane_returned *found)
{
  FOR_REGISTERS(at)
  {
    struct part p;
    vd s[3];
    load_part(state, at, &p);
    load((const lane *)sigma, at, 3, s);
    const struct stretches e = stretches_from(s);
    const struct returned r = material_give_back(&p.m, &e, &p.h, s);
    store(s, 3, sigma, at);
    vd_store(state->volume + at, p.h.volume);
    vd_store(state->shear + at, p.h.shear);
    store_returned(&r, (vm){0}, found, at);
  }
}

static void probe_model_principal(const struct lane_state *state, const lane sigma[3], lane energy,
                                  lane tau[3])
{
  FOR_REGISTERS(at)
  {
    struct part p;
    vd s[3], t[3];
    load_part(state, at, &p);
    load(sigma, at, 3, s);
    const struct stretches e = stretches_from(s);
    vd_store(energy + at, material_energy(&p.m, &e, &p.h));
    material_stress(&p.m, &e, &p.h, t);
    store(t, 3, tau, at);
  }
}

/* The larger of t_ii - tau_i and s_ij max(sigma_i, sigma_j)^2. */
static vd wave_exactly(const struct stretches *e, const struct slope *slope, const vd tau[3])
{
  vd most = vd_set(0.0);
  for (int k = 0; k < 3; k++) {
    const vd larger = vd_set(1.0) + vd_max(e->excess[(k + 1) % 3], e->excess[(k + 2) % 3]);
    most = vd_max(most, slope->t[slope_diagonal[k]] - tau[k]);
    most = vd_max(most, slope->s[k] * larger);
  }
  return most;
}

static void probe_model_wave(const struct lane_state *state, struct lane_wave *out)
{
  FOR_REGISTERS(at)
  {
    struct part p;
    struct principal frame;
    struct slope slope;
    vd tau[3];
    load_part(state, at, &p);
    principal3(p.f, &frame);
    const struct stretches e = stretches_of(&frame);
    const struct stretch_bounds bounds = stretch_bound(p.f);
    material_stress(&p.m, &e, &p.h, tau);
    material_slope(&p.m, &e, &p.h, (vm){0}, &slope);
    vd_store(out->bound + at, material_wave(&p.m, &bounds, &p.h));
    vd_store(out->exact + at, wave_exactly(&e, &slope, tau));
    vd_store(out->low + at, bounds.low);
    vd_store(out->high + at, bounds.high);
  }
}

static void probe_model_marks(const struct lane_state *state, int64_t open[WIDE], int64_t limited[WIDE])
{
  FOR_REGISTERS(at)
  {
    struct part p;
    load_part(state, at, &p);
    store_mask(material_is_open(&p.m, &p.h), open + at);
    store_mask(material_is_limited(&p.m, &p.h), limited + at);
  }
}

static void probe_model_reduce(struct lane_state *state, int64_t limited[WIDE])
{
  FOR_REGISTERS(at)
  {
    struct part p;
    load_part(state, at, &p);
    store_mask(material_reduce(&p.m, p.f), limited + at);
    store(p.f, 9, state->f, at);
  }
}

static void probe_model_viscous(const struct lane_state *state, const lane c[9], lane tau[9])
{
  FOR_REGISTERS(at)
  {
    struct part p;
    vd gradient[9], upper[6];
    load_part(state, at, &p);
    load(c, at, 9, gradient);
    for (int k = 0; k < 6; k++) upper[k] = vd_set(0.0);
    material_add_viscous(&p.m, p.f, gradient, upper);
    store_symmetric(upper, tau, at);
  }
}

static void probe_clay_project(const lane x, const lane y, const lane ratio, lane x_factor, lane y_factor)
{
  FOR_REGISTERS(at)
  {
    vd a, b;
    cam_clay_project(vd_load(x + at), vd_load(y + at), vd_load(ratio + at), &a, &b);
    vd_store(x_factor + at, a);
    vd_store(y_factor + at, b);
  }
}

static void probe_weights(int support, bool offsets, const lane u, lane w[8])
{
  FOR_REGISTERS(at)
  {
    vd out[8];
    stencil_weights(support, offsets ? OFFSET : GRADIENT, vd_load(u + at), out);
    store(out, 8, w, at);
  }
}

const struct lanes KERNEL(lanes) = {
    .name = ISA_WORD(FIRN_ISA),
    .width = LANES,
    .exp = probe_exp,
    .log = probe_log,
    .log1p = probe_log1p,
    .sinhc = probe_sinhc,
    .expm1 = probe_expm1,
    .sin = probe_sin,
    .cos = probe_cos,
    .floor = probe_floor,
    .sqrt = probe_sqrt,
    .select = probe_select,
    .min_max_abs = probe_min_max_abs,
    .fma = probe_fma,
    .rows = probe_rows,
    .fold = probe_fold,
    .pack = probe_pack,
    .first = probe_first,
    .svd = probe_svd,
    .left = probe_left,
    .principal = probe_principal,
    .stress = probe_stress,
    .stress_left = probe_stress_left,
    .tangent = probe_tangent,
    .give_back = probe_give_back,
    .hardening = probe_hardening,
    .model_stress = probe_model_stress,
    .model_tangent = probe_model_tangent,
    .model_return = probe_model_return,
    .model_give_back = probe_model_give_back,
    .model_principal = probe_model_principal,
    .model_wave = probe_model_wave,
    .model_marks = probe_model_marks,
    .model_reduce = probe_model_reduce,
    .model_viscous = probe_model_viscous,
    .clay_project = probe_clay_project,
    .weights = probe_weights,
};
