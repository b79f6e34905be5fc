/* Heat in a particle: enthalpy, temperature, what is melted of it, and what it conducts with
 * (docs/method.md, heat).
 *
 * The enthalpy u (J/kg) is the state: 0 is solid at the melting point, `latent` is liquid at the melting
 * point. Temperatures are given as differences to the melting point, T - T_melt, in K. */
#ifndef FIRN_MATERIAL_HEAT_LAW_H
#define FIRN_MATERIAL_HEAT_LAW_H

#include <stdbool.h>

/* The `heat` section of a scene. */
struct heat_law {
  double melting_point; /* K */
  double latent;        /* J/kg */
  double c_solid, c_liquid;
  double kappa_liquid;  /* W/(m K) */
  double rho_liquid;    /* kg/m^3 */
  double lambda_liquid; /* Pa: the liquid's stiffness against compression */
  double spread_time;   /* s, in which particles that crowd are spread */
  double spread_threshold;
  double heat_mix;            /* zeta: how much particles of a node mix what the grid cannot see */
  double contact_cells;       /* of the layer through which a body's heat comes */
  double ambient_exchange;    /* W/(m^2 K) */
  double ambient_temperature; /* K */
  double tolerance;           /* of the heat solve */
  int max_iterations;         /* of the heat solve */
  int passes;                 /* solves in a step that find out where the liquid pushes, at most */
};

/* The melted share. */
static inline double heat_melted(const struct heat_law *law, double u)
{
  const double f = u / law->latent;
  return f < 0.0 ? 0.0 : f > 1.0 ? 1.0 : f;
}

static inline double heat_capacity(const struct heat_law *law, double u)
{
  return law->c_solid + heat_melted(law, u) * (law->c_liquid - law->c_solid);
}

static inline double heat_conductivity(const struct heat_law *law, double u, double kappa_solid)
{
  return kappa_solid + heat_melted(law, u) * (law->kappa_liquid - kappa_solid);
}

/* T - T_melt. */
static inline double heat_temperature(const struct heat_law *law, double u)
{
  if (u < 0.0) return u / law->c_solid;
  return u > law->latent ? (u - law->latent) / law->c_liquid : 0.0;
}

/* The enthalpy of a solid or liquid of this T - T_melt; at the melting point it is all of its phase. */
static inline double heat_enthalpy(const struct heat_law *law, double temperature, bool liquid)
{
  if (liquid) return law->latent + law->c_liquid * temperature;
  return law->c_solid * temperature;
}

/* Conductivity of snow and ice of a density (kg/m^3), by default. */
static inline double heat_snow_conductivity(double density)
{
  return 2.5e-6 * density * density - 1.23e-4 * density + 0.024;
}

/* Elastic energy of liquid over its volume at rest (J/m^3); `root` is the third root of J. */
static inline double heat_pressed(const struct heat_law *law, double root)
{
  const double j = root * root * root, pressed = (j < 1.0 ? j : 1.0) - 1.0;
  return 0.5 * law->lambda_liquid * pressed * pressed;
}

#endif
