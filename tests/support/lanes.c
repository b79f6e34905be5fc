/* See lanes.h. Built once for each instruction set with FIRN_ISA, like the kernels. */
#include "support/lanes.h"

#include "kernels/stencil.h"

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

static void probe_exp(const lane x, lane out)
{
  FOR_REGISTERS(at) vd_store(out + at, vd_exp(vd_load(x + at)));
}

static void probe_floor(const lane x, lane out)
{
  FOR_REGISTERS(at) vd_store(out + at, stencil_floor(vd_load(x + at)));
}

static void probe_sqrt(const lane x, lane out)
{
  FOR_REGISTERS(at) vd_store(out + at, vd_sqrt(vd_load(x + at)));
}

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

static void probe_fold(const lane a, double out[4])
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
    vd u[9], sigma[3], upper[6];
    stretches(f, at, u, sigma);
    vd_store(energy + at, snow_energy(sigma, vd_load(mu + at), vd_load(lambda + at)));
    snow_stress(u, sigma, vd_load(mu + at), vd_load(lambda + at), upper);
    store_symmetric(upper, stress, at);
  }
}

static void probe_stress_left(const lane f[9], const lane mu, const lane lambda, lane energy, lane stress[9])
{
  FOR_REGISTERS(at)
  {
    vd a[9], upper[6], e;
    load(f, at, 9, a);
    snow_stress_left(a, vd_load(mu + at), vd_load(lambda + at), upper, &e);
    vd_store(energy + at, e);
    store_symmetric(upper, stress, at);
  }
}

static void probe_tangent(const lane f[9], const lane mu, const lane lambda, const lane g[9], lane out[9])
{
  FOR_REGISTERS(at)
  {
    vd u[9], sigma[3], gradient[9], result[9];
    stretches(f, at, u, sigma);
    load(g, at, 9, gradient);
    snow_tangent(u, sigma, vd_load(mu + at), vd_load(lambda + at), gradient, result);
    store(result, 9, out, at);
  }
}

static void probe_give_back(const struct snow_constants *m, lane f[9], lane jp, int64_t plastic[WIDE],
                            int64_t inverted[WIDE])
{
  const uint32_t material[LANES] = {0};
  const struct snow_lanes lanes = snow_gather(m, material);
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
  const uint32_t material[LANES] = {0};
  const struct snow_lanes lanes = snow_gather(m, material);
  FOR_REGISTERS(at)
  {
    vm mask;
    vd_store(factor + at, snow_hardening(&lanes, vd_load(jp + at), &mask));
    store_mask(mask, clamped + at);
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

#define QUOTE_NAME(isa) #isa
#define QUOTE(isa)      QUOTE_NAME(isa)

const struct lanes KERNEL(lanes) = {
    .name = QUOTE(FIRN_ISA),
    .width = LANES,
    .exp = probe_exp,
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
    .weights = probe_weights,
};
