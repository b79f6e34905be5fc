/* Natural snow, clay: cohesive Cam clay (Gaume et al. 2018, Li et al. 2021) on Hencky elasticity.
 *
 * History: volume is eps_p = ln J_P, the volumetric plastic strain; shear is kappa. A state is allowed within
 * the ellipse (1 + 2 beta) q^2 + M^2 (p + beta p0)(p - p0) <= 0 with p0 = K sinh(asinh(p00 / K) - xi eps_p),
 * the argument kept within limits of ours. In X = (p - c) / r and Y = sqrt(1 + 2 beta) q / (M r), c and r
 * being the middle and half the length of its axis, the ellipse is the unit circle. The return is associated,
 * with p0 of the time before: no solve can fail, and the error is of first order in the increment. The
 * ellipse is smooth at both ends, so isotropic tension and compression are no special cases.
 *
 * Snow that packs, breaks and collapses has a surface of its own at each history: opening softens at its own
 * rate, packing ends where the pores are closed and begins after a collapse, and bonds add strength that
 * breaks with the plastic path and never comes back. With a relaxation time the state may lie outside the
 * ellipse, the farther the faster it flows (Perzyna). docs/method.md has the formulas. */
#ifndef FIRN_MATERIAL_CAM_CLAY_H
#define FIRN_MATERIAL_CAM_CLAY_H

#include "material/hencky.h"

/* `start` is asinh(p00 / K), the argument of sinh is kept from `floor` to `cap`. middle and half are c / p0
 * and r / p0. y_of_n is sqrt(6 (1 + 2 beta)) mu / M, so that Y = y_of_n n / r, and ratio is R = 3 mu (1 + 2
 * beta) / (K M^2): how much faster the deviator returns than the pressure. beta is the ratio of cohesion. */
MODEL_CONSTANTS(cam_clay, HENCKY_MEMBERS, bulk, hardening, start, floor, cap, middle, half, beta, y_of_n,
                ratio, packs, softening, collapse, limit, bend, steep, bonded, strength, bond, tension, decay,
                y_alone, ratio_alone, relaxation);

/* Where `packs` is 1: `softening` is the rate of opening, `collapse` the strain before hardening, `limit` is
 * 1 / (packing_limit - collapse_strain) or 0, `bend` the strain from which a has slope 1, and `steep` 1 /
 * min(hardening, 1), or 0 without a limit. Where `bonded` is 1: `strength` is p00, `bond` and `tension` are
 * what bonds add to both ends (Pa), `decay` is 1 / bond_strain, and y_alone and ratio_alone are y_of_n and
 * ratio for beta = 0. relaxation is t / (K dt), 0 where the return takes no time. */

/* Limits of p0, ours: its floor as a share of p00, and the largest argument of sinh. */
#define CAM_CLAY_FLOOR 1e-3
#define CAM_CLAY_CAP   2.0

#define CAM_CLAY_LEAST 0.01 /* X^2 + Y^2 below which the ellipse has no direction worth the name */

/* The argument of sinh before the limits. */
static inline vd cam_clay_argument(const struct cam_clay_lanes *m, const struct history *h)
{
  const vd plain = vd_fma(-m->hardening, h->volume, m->start), half = vd_set(0.5);
  const vm packs = m->packs > half;
  if (!vm_any(packs)) return plain;
  const vd zero = vd_set(0.0), one = vd_set(1.0);
  const vd x = vd_max(-(h->volume + m->collapse), zero), y = vd_min(x, m->bend);
  const vd g = vd_fma(x - y, m->steep, y / vd_fma(-y, m->limit, one));
  const vd a = vd_fma(-m->softening, vd_max(h->volume, zero), vd_fma(m->hardening, g, m->start));
  return vd_select(packs, a, plain);
}

/* The ellipse of a history: ends p_c and -beta p_c of its axis (Pa), its middle and half its length, and what
 * depends on beta. */
struct cam_clay_surface {
  vd end, beta, center, radius, y_of_n, ratio;
};

/* Bonds move both ends out. Their share is 0 in lanes without. */
static inline void cam_clay_bind(const struct cam_clay_lanes *m, const struct history *h, vm bonded,
                                 struct cam_clay_surface *s)
{
  const vd zero = vd_set(0.0), one = vd_set(1.0), half = vd_set(0.5);
  const vd path = vd_min(vd_select(bonded, h->shear * m->decay, zero), vd_set(700.0));
  const vd strength = vd_select(bonded, m->strength, one);
  const vd share = vd_exp(-path) * vd_min(s->end / strength, one);
  const vd end = vd_fma(share, m->bond, s->end), pulled = vd_fma(share, m->tension, m->beta * s->end);
  const vd beta = pulled / end, wide = vd_fma(vd_set(2.0), beta, one);
  s->end = vd_select(bonded, end, s->end);
  s->beta = vd_select(bonded, beta, s->beta);
  s->center = vd_select(bonded, half * (end - pulled), s->center);
  s->radius = vd_select(bonded, half * (end + pulled), s->radius);
  s->y_of_n = vd_select(bonded, m->y_alone * vd_sqrt(wide), s->y_of_n);
  s->ratio = vd_select(bonded, m->ratio_alone * wide, s->ratio);
}

static inline struct cam_clay_surface cam_clay_surface_of(const struct cam_clay_lanes *m,
                                                          const struct history *h)
{
  const vd p0 = m->bulk * vd_sinh(vd_max(m->floor, vd_min(cam_clay_argument(m, h), m->cap)));
  struct cam_clay_surface s = {.end = p0,
                               .beta = m->beta,
                               .center = m->middle * p0,
                               .radius = m->half * p0,
                               .y_of_n = m->y_of_n,
                               .ratio = m->ratio};
  const vm bonded = m->bonded > vd_set(0.5);
  if (vm_any(bonded)) cam_clay_bind(m, h, bonded, &s);
  return s;
}

/* Where a strain lies in the plane of the ellipse; r in Pa. */
struct cam_clay_point {
  vd x, y, center, radius, ratio;
};

static inline struct cam_clay_point cam_clay_at(const struct cam_clay_lanes *m, const struct history *h,
                                                const struct hencky *a)
{
  const struct cam_clay_surface s = cam_clay_surface_of(m, h);
  return (struct cam_clay_point){.x = (-m->bulk * a->volume - s.center) / s.radius,
                                 .y = s.y_of_n * a->norm / s.radius,
                                 .center = s.center,
                                 .radius = s.radius,
                                 .ratio = s.ratio};
}

/* Along the ellipse's normal, 6 mu (1 + 2 beta) dev_i - 2/3 M^2 (p - c) up to a factor: the derivative of the
 * returned stress under loading. */
static inline void cam_clay_slope(const void *constants, const struct stretches *e, const struct history *h,
                                  vm flowing, struct slope *out)
{
  const struct cam_clay_lanes *m = constants;
  const struct hencky a = hencky_of(e);
  hencky_slope(constants, &a, e, out);
  flowing &= hencky_flows(m);
  if (!vm_any(flowing)) return;
  const struct cam_clay_point at = cam_clay_at(m, h, &a);
  flowing &= vd_fma(at.x, at.x, at.y * at.y) > vd_set(CAM_CLAY_LEAST);
  const vd shear = vd_set(3.0) * at.ratio * m->bulk, mean = at.x * at.radius;
  vd normal[3];
  for (int d = 0; d < 3; d++) normal[d] = vd_fma(shear, a.dev[d], -mean);
  hencky_soften(constants, normal, flowing, out);
}

/* Fully broken. */
static inline vm cam_clay_is_open(const void *constants, const struct history *h)
{
  const struct cam_clay_lanes *m = constants;
  return cam_clay_argument(m, h) <= m->floor;
}

static inline vm cam_clay_is_limited(const void *constants, const struct history *h)
{
  const struct cam_clay_lanes *m = constants;
  const vd argument = cam_clay_argument(m, h);
  return (argument < m->floor) | (argument > m->cap);
}

static inline vm cam_clay_is_elastic(const void *constants, const vd f[9], const struct history *h)
{
  const struct cam_clay_lanes *m = constants;
  vd volume;
  const vd bound = hencky_bound(f, &volume), p = -m->bulk * volume;
  const struct cam_clay_surface s = cam_clay_surface_of(m, h);
  return vd_fma(s.y_of_n * s.y_of_n, bound, vd_fma(s.beta, s.end, p) * (p - s.end)) <= vd_set(0.0);
}

/* The factors that bring (x, y) outside the circle back along the normal: g >= 0 with x^2 / (1 + g)^2 +
 * y^2 / (1 + R g)^2 = S = 1, by Newton on 1 / sqrt(S). That is concave and rising, so the iterates climb to
 * the root without overshoot: no safeguard, and seven reach rounding for R in [0.01, 100]. */
static inline void cam_clay_project(vd x, vd y, vd ratio, vd *x_factor, vd *y_factor)
{
  const vd one = vd_set(1.0), x2 = x * x, y2 = y * y;
  vd g = vd_set(0.0);
  for (int n = 0; n < 8; n++) {
    const vd a = one / (one + g), b = one / vd_fma(ratio, g, one);
    const vd sx = x2 * a * a, sy = y2 * b * b, s = sx + sy;
    g += s * (vd_sqrt(s) - one) / vd_fma(sx, a, ratio * sy * b);
  }
  const vd a = one / (one + g), b = one / vd_fma(ratio, g, one);
  const vd inverse = one / vd_sqrt(vd_fma(x2 * a, a, y2 * b * b));
  *x_factor = a * inverse;
  *y_factor = b * inverse;
}

/* The same for a return that takes time: S = (1 - T g)^-2, and the state stays on the ellipse of that radius.
 * 1 / sqrt(S) + T g is concave and rising as well. */
static inline void cam_clay_approach(vd x, vd y, vd ratio, vd slow, vd *x_factor, vd *y_factor)
{
  const vd one = vd_set(1.0), x2 = x * x, y2 = y * y;
  vd g = vd_set(0.0);
  for (int n = 0; n < 8; n++) {
    const vd a = one / (one + g), b = one / vd_fma(ratio, g, one);
    const vd sx = x2 * a * a, sy = y2 * b * b, s = sx + sy, root = vd_sqrt(s);
    g += s * (root * vd_fma(-slow, g, one) - one) / vd_fma(slow * s, root, vd_fma(sx, a, ratio * sy * b));
  }
  const vd a = one / (one + g), b = one / vd_fma(ratio, g, one);
  const vd inverse = one / (vd_sqrt(vd_fma(x2 * a, a, y2 * b * b)) * vd_fma(-slow, g, one));
  *x_factor = a * inverse;
  *y_factor = b * inverse;
}

static inline struct returned cam_clay_give_back(const void *constants, const struct stretches *e,
                                                 struct history *h, vd sigma[3])
{
  const struct cam_clay_lanes *m = constants;
  const struct hencky trial = hencky_of(e);
  const struct cam_clay_point at = cam_clay_at(m, h, &trial);
  const vm plastic = vd_fma(at.x, at.x, at.y * at.y) > vd_set(1.0);
  if (!vm_any(plastic)) return (struct returned){.plastic = plastic};
  vd x_factor, y_factor, dev[3];
  const vd zero = vd_set(0.0), one = vd_set(1.0);
  const vd x = vd_select(plastic, at.x, zero), y = vd_select(plastic, at.y, one);
  cam_clay_project(x, y, at.ratio, &x_factor, &y_factor);
  const vm slow = m->relaxation > zero;
  if (vm_any(plastic & slow)) {
    vd x_slow, y_slow;
    cam_clay_approach(x, y, at.ratio, vd_select(plastic, m->relaxation * at.radius, zero), &x_slow, &y_slow);
    x_factor = vd_select(slow, x_slow, x_factor);
    y_factor = vd_select(slow, y_slow, y_factor);
  }
  const vd volume = -vd_fma(at.radius * at.x, x_factor, at.center) / m->bulk;
  for (int d = 0; d < 3; d++) dev[d] = trial.dev[d] * y_factor;
  const vm flowing = hencky_return(&trial, plastic, dev, volume, sigma);
  h->volume = vd_select(plastic, h->volume + (trial.volume - volume), h->volume);
  vd after = vd_fma(trial.norm, vd_set(1.0) - y_factor, h->shear);
  const vm bonded = m->bonded > vd_set(0.5);
  if (vm_any(bonded)) { /* all of the path counts */
    const vd sheared = trial.norm * (one - y_factor), opened = trial.volume - volume;
    const vd path = vd_sqrt(vd_fma(sheared, sheared, vd_set(1.0 / 3.0) * opened * opened));
    after = vd_select(bonded, h->shear + path, after);
  }
  h->shear = vd_select(plastic, after, h->shear);
  return (struct returned){.plastic = plastic, .flowing = flowing};
}

static const struct model cam_clay_model = {
    .name = "cam_clay",
    .constants = MODEL_MEMBERS(cam_clay),
    .log_volume = true,
    .needs_shear = true,
    .energy = hencky_energy,
    .stress = hencky_stress,
    .left = hencky_left,
    .slope = cam_clay_slope,
    .flows = hencky_flows,
    .is_open = cam_clay_is_open,
    .is_limited = cam_clay_is_limited,
    .is_elastic = cam_clay_is_elastic,
    .give_back = cam_clay_give_back,
    .wave = hencky_wave,
};

#endif
