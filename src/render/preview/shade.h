/* Light and colour: the last stage, from surfaces to pixels. */
#ifndef FIRN_RENDER_SHADE_H
#define FIRN_RENDER_SHADE_H

#include "render/image.h"
#include "render/preview/canvas.h"
#include "render/preview/occlusion.h"
#include "render/preview/sun.h"

/* Fills the image, half the canvas's width and height. */
void shade_image(const struct canvas *canvas, const struct sun *sun, const struct occlusion *occlusion,
                 struct image *image);

#endif
