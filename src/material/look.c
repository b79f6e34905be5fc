/* Extinction and albedo of `paper`, and the mean cosine of snow, are those of section 9 of the 2013 paper.
 * Its albedo makes thick snow blue; the default is whiter, as real snow is (Wiscombe and Warren 1980), and
 * its extinction that of ice spheres with a radius of 0.25 mm (look_extinction()). Of the others extinction
 * and cosine are chosen so that a layer of a few millimetres is opaque, and albedo follows from the colour.
 */
#include "material/look.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const struct look looks[LOOKS] = {
    {"snow",
     "white, a slight blue in the shadows",
     {0.9985, 0.999, 0.9995},
     0.5,
     2617.0,
     400.0,
     false,
     0,
     0.2},
    {"paper",
     "the albedo of the 2013 paper: thick snow is blue",
     {0.9, 0.95, 1.0},
     0.5,
     724.0,
     400.0,
     false,
     0,
     0.0},
    {"sand", "the ochre of a dune", {0.9715, 0.9277, 0.8190}, 0.5, 3000.0, 1600.0, false, 0, 0.2},
    {"clay", "wet earth", {0.9000, 0.8087, 0.6968}, 0.5, 3000.0, 1600.0, false, 0, 0.2},
    {"rubber", "red and smooth", {0.9657, 0.5234, 0.4067}, 0.5, 3000.0, 1000.0, false, 0, 0.0},
    {"ice",
     "pale blue and smooth, light gets some way in",
     {0.9850, 0.9965, 0.9990},
     0.7,
     300.0,
     917.0,
     true,
     0,
     0.05},
    {"water",
     "clear green-blue, sky and sun are mirrored",
     {0.45, 0.88, 0.93},
     0.8,
     30.0,
     1000.0,
     true,
     LOOK_SPRAY,
     0.0},
    {"spray", "drops of water in the air", {0.975, 0.985, 0.99}, 0.6, 250.0, 1000.0, false, 0, 0.2},
};

int look_of_model(enum material_model model)
{
  switch (model) {
  case MODEL_SAND: return LOOK_SAND;
  case MODEL_COROTATED:
  case MODEL_NEO_HOOKEAN: return LOOK_RUBBER;
  case MODEL_VON_MISES: return LOOK_ICE; /* its default density is ice's */
  case MODEL_WATER: return LOOK_WATER;
  default: return LOOK_SNOW; /* cam_clay's kinds are snow */
  }
}

const struct look *look_find(const char *name)
{
  for (int k = 0; k < LOOKS; k++)
    if (strcmp(looks[k].name, name) == 0) return &looks[k];
  return NULL;
}

double look_extinction(double density, double radius)
{
  return 1.5 * density / (917.0 * radius);
}

double look_reflectance(double albedo, double cosine)
{
  const double s = sqrt((1.0 - albedo) / (1.0 - albedo * cosine));
  return (1.0 - s) * (1.0 - 0.139 * s) / (1.0 + 1.17 * s);
}

double look_albedo(double reflectance, double cosine)
{
  double low = 0.0, high = 1.0;
  for (int k = 0; k < 60; k++) {
    const double middle = 0.5 * (low + high);
    if (look_reflectance(middle, cosine) < reflectance)
      low = middle;
    else
      high = middle;
  }
  return 0.5 * (low + high);
}

bool look_is_snow(const struct material *material)
{
  return material->look == LOOK_SNOW && !material->color_given;
}

void look_color(const struct material *material, float out[3])
{
  const struct look *look = &looks[material->look];
  for (int c = 0; c < 3; c++)
    out[c] =
        (float)(material->color_given ? material->color[c] : look_reflectance(look->albedo[c], look->cosine));
}

void look_body_color(int index, int is_plane, float out[3])
{
  static const float ground[3] = {0.17f, 0.19f, 0.215f};
  static const float bodies[][3] = {
      {0.36f, 0.17f, 0.10f}, {0.10f, 0.22f, 0.26f}, {0.38f, 0.27f, 0.10f},
      {0.17f, 0.20f, 0.12f}, {0.25f, 0.15f, 0.22f},
  };
  const int colors = (int)(sizeof bodies / sizeof *bodies);
  memcpy(out, is_plane ? ground : bodies[index % colors], sizeof ground);
}
