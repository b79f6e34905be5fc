#include "material/snow.h"

struct snow_constants snow_constants(const struct material_parameters *m)
{
  const double unclamped = 1e300;
  const double low = 1.0 - m->critical_compression, high = 1.0 + m->critical_stretch;
  return (struct snow_constants){
      .mu = m->young / (2.0 * (1.0 + m->poisson)),
      .lambda = m->young * m->poisson / ((1.0 + m->poisson) * (1.0 - 2.0 * m->poisson)),
      .hardening = m->hardening,
      .factor_low = 1.0 / m->hardening_limit,
      .factor_high = m->hardening_limit,
      .stretch_low = m->plastic ? low : -unclamped,
      .stretch_high = m->plastic ? high : unclamped,
      .excess_low = m->plastic ? low * low - 1.0 : -2.0, /* F^T F - I is never below -1 */
      .excess_high = m->plastic ? high * high - 1.0 : 1e60,
  };
}
