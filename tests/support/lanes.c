/* See lanes.h. Built once for each instruction set with FIRN_ISA, like the kernels. */
#include "support/lanes.h"

#include "kernels/stencil.h"

static void load(const lane *from, int count, v8 *to)
{
  for (int k = 0; k < count; k++) to[k] = v8_load(from[k]);
}

static void store(const v8 *from, int count, lane *to)
{
  for (int k = 0; k < count; k++) v8_store(to[k], from[k]);
}

static m8 load_mask(const int64_t *from)
{
  m8 mask;
  memcpy(&mask, from, sizeof mask);
  return mask;
}

static void store_mask(m8 mask, int64_t *to)
{
  memcpy(to, &mask, sizeof mask);
}

static void probe_exp(const lane x, lane out)
{
  v8_store(out, v8_exp(v8_load(x)));
}

static void probe_floor(const lane x, lane out)
{
  v8_store(out, stencil_floor(v8_load(x)));
}

static void probe_sqrt(const lane x, lane out)
{
  v8_store(out, v8_sqrt(v8_load(x)));
}

static void probe_select(const int64_t mask[LANES], const lane a, const lane b, lane out)
{
  v8_store(out, v8_select(load_mask(mask), v8_load(a), v8_load(b)));
}

static void probe_min_max_abs(const lane a, const lane b, lane least, lane most, lane absolute)
{
  v8_store(least, v8_min(v8_load(a), v8_load(b)));
  v8_store(most, v8_max(v8_load(a), v8_load(b)));
  v8_store(absolute, v8_abs(v8_load(a)));
}

static void probe_fma(const lane a, const lane b, const lane c, lane out)
{
  v8_store(out, v8_fma(v8_load(a), v8_load(b), v8_load(c)));
}

static void probe_transpose(lane rows[LANES])
{
  v8 r[LANES];
  load((const lane *)rows, LANES, r);
  v8_transpose(r);
  store(r, LANES, rows);
}

static void probe_fold(const lane a, double out[4])
{
  v8_fold(v8_load(a), out);
}

static int probe_first(int count, int64_t mask[LANES])
{
  const m8 first = m8_first(count);
  store_mask(first, mask);
  return m8_any(first);
}

static void probe_svd(const lane f[9], lane u[9], lane sigma[3], lane v[9])
{
  v8 a[9];
  struct svd svd;
  load(f, 9, a);
  svd3(a, &svd);
  store(svd.u, 9, u);
  store(svd.sigma, 3, sigma);
  store(svd.v, 9, v);
}

static void store_symmetric(const v8 upper[6], lane out[9])
{
  const int place[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
  for (int k = 0; k < 9; k++) v8_store(out[k], upper[place[k]]);
}

static void probe_left(const lane f[9], lane root[9])
{
  v8 a[9], g[6], h[6];
  load(f, 9, a);
  stretch_left(a, stretch_determinant(a), g, h);
  for (int k = 0; k < 6; k++) h[k] = g[k] - h[k] + v8_set(k == 0 || k == 3 || k == 5 ? 1.0 : 0.0);
  store_symmetric(h, root);
}

static void probe_principal(const lane f[9], lane u[9], lane strain[3], lane v[9])
{
  v8 a[9];
  struct principal frame;
  load(f, 9, a);
  principal3(a, &frame);
  store(frame.u, 9, u);
  store(frame.strain, 3, strain);
  store(frame.v, 9, v);
}

/* U and the stretches of F. */
static void stretches(const lane f[9], v8 u[9], v8 sigma[3])
{
  v8 a[9];
  struct principal frame;
  load(f, 9, a);
  principal3(a, &frame);
  for (int k = 0; k < 9; k++) u[k] = frame.u[k];
  for (int k = 0; k < 3; k++) sigma[k] = v8_set(1.0) + frame.strain[k];
}

static void probe_stress(const lane f[9], const lane mu, const lane lambda, lane energy, lane stress[9])
{
  v8 u[9], sigma[3], upper[6];
  stretches(f, u, sigma);
  v8_store(energy, snow_energy(sigma, v8_load(mu), v8_load(lambda)));
  snow_stress(u, sigma, v8_load(mu), v8_load(lambda), upper);
  store_symmetric(upper, stress);
}

static void probe_stress_left(const lane f[9], const lane mu, const lane lambda, lane energy, lane stress[9])
{
  v8 a[9], upper[6], e;
  load(f, 9, a);
  snow_stress_left(a, v8_load(mu), v8_load(lambda), upper, &e);
  v8_store(energy, e);
  store_symmetric(upper, stress);
}

static void probe_tangent(const lane f[9], const lane mu, const lane lambda, const lane g[9], lane out[9])
{
  v8 u[9], sigma[3], gradient[9], result[9];
  stretches(f, u, sigma);
  load(g, 9, gradient);
  snow_tangent(u, sigma, v8_load(mu), v8_load(lambda), gradient, result);
  store(result, 9, out);
}

static void probe_give_back(const struct snow_constants *m, lane f[9], lane jp, int64_t plastic[LANES],
                            int64_t inverted[LANES])
{
  const uint32_t material[LANES] = {0};
  const struct snow_lanes lanes = snow_gather(m, material);
  v8 a[1][9], j = v8_load(jp);
  struct snow_returned found;
  load((const lane *)f, 9, a[0]);
  const m8 elastic = snow_is_elastic(&lanes, a[0]);
  snow_return(1, &lanes.stretch_low, &lanes.stretch_high, a, &j, &found);
  for (int k = 0; k < 9; k++) v8_store(f[k], v8_select(elastic, v8_load(f[k]), a[0][k]));
  v8_store(jp, v8_select(elastic, v8_load(jp), j));
  store_mask(found.plastic & ~elastic, plastic);
  store_mask(found.inverted & ~elastic, inverted);
}

static void probe_hardening(const struct snow_constants *m, const lane jp, lane factor,
                            int64_t clamped[LANES])
{
  const uint32_t material[LANES] = {0};
  const struct snow_lanes lanes = snow_gather(m, material);
  m8 mask;
  v8_store(factor, snow_hardening(&lanes, v8_load(jp), &mask));
  store_mask(mask, clamped);
}

static void probe_weights(int support, bool offsets, const lane u, lane w[8])
{
  v8 out[8];
  stencil_weights(support, offsets ? OFFSET : GRADIENT, v8_load(u), out);
  store(out, 8, w);
}

#define QUOTE_NAME(isa) #isa
#define QUOTE(isa)      QUOTE_NAME(isa)

const struct lanes KERNEL(lanes) = {
    .name = QUOTE(FIRN_ISA),
    .exp = probe_exp,
    .floor = probe_floor,
    .sqrt = probe_sqrt,
    .select = probe_select,
    .min_max_abs = probe_min_max_abs,
    .fma = probe_fma,
    .transpose = probe_transpose,
    .fold = probe_fold,
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
