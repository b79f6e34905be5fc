/* The sun: a direction, and a map of what it sees first, from which shadows are looked up. */
#ifndef FIRN_RENDER_SUN_H
#define FIRN_RENDER_SUN_H

#include "render/preview/canvas.h"

struct sun {
  float direction[3];        /* unit, towards the sun */
  float across[3], along[3]; /* unit axes of the map */
  float corner[2];           /* m, of the map's first texel along the axes */
  float scale;               /* texels a metre */
  float height;              /* m: map depth = height - p . direction */
  float radius, spacing;     /* m, as in the canvas */
  struct depth_map map;
};

void sun_create(struct sun *sun, const struct canvas *canvas, const struct frame *frame);
void sun_destroy(struct sun *sun);

/* Share of the sun seen from p, moved along the normal n by a distance that depends on whether p is on snow.
 * `turn` is the cosine and sine of the angle of the sampling pattern; neighbours with different turns average
 * to a soft edge. */
float sun_visible(const struct sun *sun, const float p[3], const float n[3], bool snow, const float turn[2]);

#endif
