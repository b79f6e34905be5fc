/* How much of the sun and of the sky each pixel sees, at half the canvas's resolution: both are smooth, and
 * cost most. */
#ifndef FIRN_RENDER_OCCLUSION_H
#define FIRN_RENDER_OCCLUSION_H

#include "render/preview/canvas.h"
#include "render/preview/sun.h"

struct occlusion {
  int width, height; /* half the canvas's */
  float *depth;      /* m, of the sample that each entry represents */
  uint16_t *what;
  uint8_t *sample;  /* which of the four: 1 right, 2 lower */
  float *sun, *sky; /* 0 dark .. 1 open */
};

void occlusion_create(struct occlusion *occlusion, const struct canvas *canvas, const struct sun *sun);
void occlusion_destroy(struct occlusion *occlusion);

/* Values for the canvas sample (x, y), mixed from the entries around it that lie on the same surface. */
void occlusion_at(const struct occlusion *occlusion, const struct canvas *canvas, int x, int y, float *sun,
                  float *sky);

#endif
