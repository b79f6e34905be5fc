/* What the eye sees, before light: for each sample of the picture the depth of the nearest surface and what
 * it is.
 *
 * Coordinates are single-precision metres from the stage's centre, so that a scene far from the origin loses
 * nothing. View space: x right, y up, z forward. */
#ifndef FIRN_RENDER_CANVAS_H
#define FIRN_RENDER_CANVAS_H

#include "bodies/body.h"
#include "io/particles/frame.h"
#include "render/preview/preview.h"
#include "render/preview/splat.h"

#include <stdbool.h>
#include <stdint.h>

enum { WHAT_SKY, WHAT_SNOW, WHAT_BODY /* and up: WHAT_BODY + index */ };

/* Beside those of preview_value(): snow with water in it. */
static const float VALUE_WET_SNOW = -16.0f;

struct canvas {
  const struct preview_stage *stage;
  double center[3]; /* m, origin of the single-precision coordinates */
  float eye[3], right[3], up[3], forward[3];
  float focal;           /* samples: size on the canvas of 1 m at 1 m */
  float middle[2];       /* samples: where `forward` goes */
  float spacing, radius; /* m: between particles; half the stage's diagonal */
  struct depth_map surface;
  uint16_t *what;
  float *value;            /* of preview_value(), a sample; NULL if all is snow and white */
  struct body_pose *poses; /* where the bodies are at the frame's time */
  int pose_count;
  uint8_t *sizes; /* of cloud_sizes() */
};

void canvas_create(struct canvas *canvas, const struct preview_stage *stage, const struct frame *frame,
                   const struct body *bodies, int body_count, int width, int height);
void canvas_destroy(struct canvas *canvas);

/* Position at depth z of the sample (x, y). */
void canvas_point(const struct canvas *canvas, int x, int y, float z, float out[3]);

/* Unit normal of the surface at a sample that shows one. */
void canvas_normal(const struct canvas *canvas, int x, int y, float out[3]);

/* Particle i relative to the centre; false if it is nowhere. */
bool canvas_particle(const struct canvas *canvas, const struct frame *frame, int64_t i, float out[3]);

/* Radius at which a particle of relative size 255 is drawn (m). */
float canvas_particle_radius(const struct canvas *canvas);

static inline float dot3(const float a[3], const float b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline float clamp01(float x)
{
  return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
}

#endif
