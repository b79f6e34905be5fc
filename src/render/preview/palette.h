/* Colours that stand for numbers, and those of bodies. Linear. */
#ifndef FIRN_RENDER_PALETTE_H
#define FIRN_RENDER_PALETTE_H

#include "bodies/body.h"
#include "render/preview/preview.h"

/* The colour of a value in [range[0], range[1]]; outside it is that of the nearer end. Materials have one
 * colour each, in turn. */
void palette_color(enum preview_color color, const double range[2], float value, float out[3]);

/* What a palette shows, with its unit: "density (kg/m³)". */
const char *palette_title(enum preview_color color);

/* The body's own colour, or one of a row in turn. */
void body_color(const struct body *body, int index, float out[3]);

#endif
