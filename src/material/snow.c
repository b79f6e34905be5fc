#include "material/snow.h"

struct snow_constants snow_constants(const struct material_parameters *m)
{
  const double unclamped = 1e300;
  return (struct snow_constants){
      .mu = m->young / (2.0 * (1.0 + m->poisson)),
      .lambda = m->young * m->poisson / ((1.0 + m->poisson) * (1.0 - 2.0 * m->poisson)),
      .hardening = m->hardening,
      .factor_low = 1.0 / m->hardening_limit,
      .factor_high = m->hardening_limit,
      .stretch_low = m->plastic ? 1.0 - m->critical_compression : -unclamped,
      .stretch_high = m->plastic ? 1.0 + m->critical_stretch : unclamped,
  };
}
