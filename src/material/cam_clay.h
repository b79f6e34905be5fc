/* Natural snow, clay: cohesive Cam clay (Gaume et al. 2018, Li et al. 2021) on Hencky elasticity.
 *
 * History: volume is eps_p = ln J_P, the volumetric plastic strain; shear is kappa. A state is allowed within
 * the ellipse (1 + 2 beta) q^2 + M^2 (p + beta p0)(p - p0) <= 0 with p0 = K sinh(asinh(p00 / K) - xi eps_p),
 * the argument kept within limits of ours. In X = (p - c) / r and Y = sqrt(1 + 2 beta) q / (M r), c and r
 * being the middle and half the length of its axis, the ellipse is the unit circle. The return is associated,
 * with p0 of the time before: no solve can fail, and the error is of first order in the increment. The
 * ellipse is smooth at both ends, so isotropic tension and compression are no special cases. */
#ifndef FIRN_MATERIAL_CAM_CLAY_H
#define FIRN_MATERIAL_CAM_CLAY_H

#include "material/hencky.h"

/* `start` is asinh(p00 / K), the argument of sinh is kept from `floor` to `cap`. middle and half are c / p0
 * and r / p0. y_of_n is sqrt(6 (1 + 2 beta)) mu / M, so that Y = y_of_n n / r, and ratio is R = 3 mu (1 + 2
 * beta) / (K M^2): how much faster the deviator returns than the pressure. beta is the ratio of cohesion. */
MODEL_CONSTANTS(cam_clay, HENCKY_MEMBERS, bulk, hardening, start, floor, cap, middle, half, beta, y_of_n,
                ratio);

/* Limits of p0, ours: its floor as a share of p00, and the largest argument of sinh. */
#define CAM_CLAY_FLOOR 1e-3
#define CAM_CLAY_CAP   2.0

#define CAM_CLAY_LEAST 0.01 /* X^2 + Y^2 below which the ellipse has no direction worth the name */

/* The argument of sinh before the limits. */
static inline vd cam_clay_argument(const struct cam_clay_lanes *m, const struct history *h)
{
  return vd_fma(-m->hardening, h->volume, m->start);
}

/* p0 (Pa). */
static inline vd cam_clay_strength(const struct cam_clay_lanes *m, const struct history *h)
{
  return m->bulk * vd_sinh(vd_max(m->floor, vd_min(cam_clay_argument(m, h), m->cap)));
}

/* Where a strain lies in the plane of the ellipse; r in Pa. */
struct cam_clay_point {
  vd x, y, center, radius;
};

static inline struct cam_clay_point cam_clay_at(const struct cam_clay_lanes *m, const struct history *h,
                                                const struct hencky *a)
{
  const vd p0 = cam_clay_strength(m, h), center = m->middle * p0, radius = m->half * p0;
  return (struct cam_clay_point){.x = (-m->bulk * a->volume - center) / radius,
                                 .y = m->y_of_n * a->norm / radius,
                                 .center = center,
                                 .radius = radius};
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
  const vd shear = vd_set(3.0) * m->ratio * m->bulk, mean = at.x * at.radius;
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
  const vd bound = hencky_bound(f, &volume), p = -m->bulk * volume, p0 = cam_clay_strength(m, h);
  return vd_fma(m->y_of_n * m->y_of_n, bound, vd_fma(m->beta, p0, p) * (p - p0)) <= vd_set(0.0);
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

static inline struct returned cam_clay_give_back(const void *constants, const struct stretches *e,
                                                 struct history *h, vd sigma[3])
{
  const struct cam_clay_lanes *m = constants;
  const struct hencky trial = hencky_of(e);
  const struct cam_clay_point at = cam_clay_at(m, h, &trial);
  const vm plastic = vd_fma(at.x, at.x, at.y * at.y) > vd_set(1.0);
  if (!vm_any(plastic)) return (struct returned){.plastic = plastic};
  vd x_factor, y_factor, dev[3];
  cam_clay_project(vd_select(plastic, at.x, vd_set(0.0)), vd_select(plastic, at.y, vd_set(1.0)), m->ratio,
                   &x_factor, &y_factor);
  const vd volume = -vd_fma(at.radius * at.x, x_factor, at.center) / m->bulk;
  for (int d = 0; d < 3; d++) dev[d] = trial.dev[d] * y_factor;
  const vm flowing = hencky_return(&trial, plastic, dev, volume, sigma);
  h->volume = vd_select(plastic, h->volume + (trial.volume - volume), h->volume);
  h->shear = vd_select(plastic, vd_fma(trial.norm, vd_set(1.0) - y_factor, h->shear), h->shear);
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
