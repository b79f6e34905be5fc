/* From linear light to bytes. */
#ifndef FIRN_RENDER_TONE_H
#define FIRN_RENDER_TONE_H

#include <stdbool.h>
#include <stdint.h>

/* sRGB value of a linear one, 0 .. 1. */
float tone_srgb(float linear);

/* Linear up to a knee, then ever slower towards 1: highlights keep their shape. */
float tone_shoulder(float linear, float knee);

/* The curve of a film: a toe below, so that shadows keep depth, and from `knee` on a shoulder. */
float tone_film(float linear, float knee);

/* 0 .. 1: half a step of a byte up or down by the pixel's place, so that slow gradients do not band. */
float tone_dither(int x, int y);

#endif
