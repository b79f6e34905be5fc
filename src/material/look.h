/* How materials look: what each does to light, by name. */
#ifndef FIRN_MATERIAL_LOOK_H
#define FIRN_MATERIAL_LOOK_H

#include "material/material.h"

struct look {
  const char *name;
  const char *about; /* for the help */
  double albedo[3];  /* of one scattering: red, green, blue */
  double cosine;     /* g, mean cosine of a scattering */
  double extinction; /* 1/m, at the density below */
  double density;    /* kg/m^3 */
  bool mirrors;      /* its surface is smooth (render/trace/surface.h) */
  int drops;         /* look of its loose drops; 0: its own */
  double rough;      /* how much of its surface comes from grains: 0 smooth .. 1 */
};

enum { LOOK_SNOW, LOOK_PAPER, LOOK_SAND, LOOK_CLAY, LOOK_RUBBER, LOOK_ICE, LOOK_WATER, LOOK_SPRAY, LOOKS };

extern const struct look looks[LOOKS];

/* The default look of a model. */
int look_of_model(enum material_model model);

/* NULL where there is none of that name. */
const struct look *look_find(const char *name);

/* Extinction (1/m) of snow of this density (kg/m^3) made of grains of this radius (m): 3 rho / (2 rho_ice r),
 * the shadows of opaque spheres. */
double look_extinction(double density, double radius);

/* Reflectance of a deep layer for diffuse light (van de Hulst's fit), and the albedo that gives it. */
double look_reflectance(double albedo, double cosine);
double look_albedo(double reflectance, double cosine);

/* Whether a material is drawn as plain snow, in snow's own colour. */
bool look_is_snow(const struct material *material);

/* What a deep layer of it reflects, linear: its own colour, or that of its look. */
void look_color(const struct material *material, float out[3]);

/* Matte colour (linear reflectance) of body `index` where the scene gives none. */
void look_body_color(int index, int is_plane, float out[3]);

#endif
