/* Dry or slightly cohesive sand: Hencky elasticity under a cone of Drucker and Prager, flow without change of
 * volume (Klar et al. 2016), and the volume that opens in free flight remembered until it has closed again
 * (Tampubolon et al. 2017, made exact).
 *
 * History: volume is v = ln J_P >= 0, what has opened; shear is kappa. With E_v = ln J + v a trial state is
 *   - at the tip where E_v >= apex: no stress at all, v = E_v;
 *   - else closed: v = 0 and volume strain E_v, the deviator's norm at most k (apex - E_v).
 * That is q <= M (p + cohesion / tan phi). A broken bond, v > 0, holds again only once v is closed: until
 * then the apex is at 0.
 *
 * With a grain size the cone's slope follows the inertial number (mu(I), Jop et al. 2006), in a backward
 * Euler step that has a closed form. */
#ifndef FIRN_MATERIAL_SAND_H
#define FIRN_MATERIAL_SAND_H

#include "material/hencky.h"

/* The stiffness along the deviator goes where sand flows; that shear strength grows with pressure would be
 * unsymmetric and is left out of the operator.
 * k is M K / (sqrt(6) mu) and apex is cohesion / (K tan phi), both for the angle that does not harden. Where
 * `hardens` is 1, the angle follows from h0 to h3 (degrees), and k and apex from cone (1: slope), k_of_m =
 * K / (sqrt(6) mu) and bond = cohesion / K. Where friction follows the rate, steeper is k of the fast cone
 * less k, and rate is sqrt(2 rho_s / K) d / (I_0 dt); both are 0 where it does not. */
MODEL_CONSTANTS(sand, HENCKY_MEMBERS, k, apex, hardens, cone, k_of_m, bond, h0, h1, h2, h3, steeper, rate);

#define SAND_OPEN     1e-5                 /* v beyond which a particle has no part in the operator */
#define SAND_HALF_DEG 0x1.1df46a2529d39p-7 /* pi / 360 */

struct sand_cone_lanes {
  vd k, apex;
};

/* With the angle that kappa has hardened to. */
static __attribute__((noinline, unused)) struct sand_cone_lanes sand_hardened(const struct sand_lanes *m,
                                                                              vd kappa)
{
  const vd angle = vd_fma(vd_fma(m->h1, kappa, -m->h3), vd_exp(-m->h2 * kappa), m->h0);
  vd s, c;
  vd_sincos_near(angle * vd_set(SAND_HALF_DEG), &s, &c);
  const vd sine = (s + s) * c, cosine = vd_fma(c, c, -s * s);
  const vd compression = vd_set(6.0) * sine / (vd_set(3.0) - sine),
           slope = vd_set(1.7320508075688772) * sine / cosine;
  return (struct sand_cone_lanes){m->k_of_m * vd_select(m->cone > vd_set(0.5), slope, compression),
                                  m->bond * cosine / sine};
}

static inline struct sand_cone_lanes sand_cone(const struct sand_lanes *m, const struct history *h)
{
  const vd zero = vd_set(0.0);
  struct sand_cone_lanes cone = {m->k, m->apex};
  const vm hardens = m->hardens > vd_set(0.5);
  if (vm_any(hardens)) {
    const struct sand_cone_lanes hard = sand_hardened(m, vd_select(hardens, h->shear, zero));
    cone.k = vd_select(hardens, hard.k, cone.k);
    cone.apex = vd_select(hardens, hard.apex, cone.apex);
  }
  cone.apex = vd_select(h->volume == zero, cone.apex, zero);
  return cone;
}

static inline vm sand_is_open(const void *constants, const struct history *h)
{
  (void)constants;
  return h->volume > vd_set(SAND_OPEN);
}

static inline vm sand_is_elastic(const void *constants, const vd f[9], const struct history *h)
{
  const struct sand_cone_lanes cone = sand_cone(constants, h);
  vd volume;
  const vd bound = hencky_bound(f, &volume), room = cone.apex - volume, reach = cone.k * room;
  return (h->volume == vd_set(0.0)) & (room > vd_set(0.0)) & (bound <= reach * reach);
}

/* The plastic strain x of a deviator of norm n = y + k room on the cone that moves with its rate: n - x =
 * k room + c x / (1 + r x). *left becomes the norm that stays. Lanes that do not shear get anything. */
static inline vd sand_shear(const struct sand_lanes *m, vd room, vd most, vd y, vd *left)
{
  const vd one = vd_set(1.0), two = vd_set(2.0), zero = vd_set(0.0);
  const vd r = m->rate / vd_sqrt(room), c = m->steeper * room * r;
  const vd b = one + vd_fma(-r, y, c), root = vd_sqrt(vd_fma(b, b, vd_set(4.0) * r * y));
  const vm rises = b > zero;
  const vd top = vd_select(rises, y + y, root - b), bottom = vd_select(rises, b + root, two * r);
  const vd x = top / bottom;
  *left = vd_fma(c, x / vd_fma(r, x, one), most);
  return x;
}

static inline struct returned sand_give_back(const void *constants, const struct stretches *e,
                                             struct history *h, vd sigma[3])
{
  const vd zero = vd_set(0.0);
  const struct hencky trial = hencky_of(e);
  const struct sand_cone_lanes cone = sand_cone(constants, h);
  const vd volume = trial.volume + h->volume, room = cone.apex - volume, most = cone.k * room;
  const vm tip = volume >= cone.apex, sheared = ~tip & (trial.norm > most), closed = h->volume != zero;
  const vm plastic = tip | sheared | closed;
  /* n > most >= 0 where the deviator shrinks, so there is no division by zero in a lane that counts */
  vd left = most, given = trial.norm - most;
  const struct sand_lanes *m = constants;
  const vm rated = sheared & (m->rate > zero);
  if (vm_any(rated)) {
    const vd one = vd_set(1.0);
    vd stays;
    const vd x = sand_shear(m, vd_select(rated, room, one), most, vd_select(rated, given, one), &stays);
    left = vd_select(rated, stays, left);
    given = vd_select(rated, x, given);
  }
  const vd scale = vd_select(tip, zero, vd_select(sheared, left / trial.norm, vd_set(1.0)));
  vd dev[3];
  for (int d = 0; d < 3; d++) dev[d] = trial.dev[d] * scale;
  const vd lost = vd_select(tip, trial.norm, vd_select(sheared, given, zero));
  const vm flowing = hencky_return(&trial, plastic, dev, vd_select(tip, zero, volume), sigma);
  h->volume = vd_select(plastic, vd_select(tip, volume, zero), h->volume);
  h->shear += lost;
  return (struct returned){.plastic = plastic, .flowing = flowing};
}

static const struct model sand_model = {
    .name = "sand",
    .constants = MODEL_MEMBERS(sand),
    .log_volume = true,
    .needs_shear = true,
    .energy = hencky_energy,
    .stress = hencky_stress,
    .left = hencky_left,
    .slope = hencky_deviator_slope,
    .flows = hencky_flows,
    .is_open = sand_is_open,
    .is_elastic = sand_is_elastic,
    .give_back = sand_give_back,
    .wave = hencky_wave,
};

#endif
