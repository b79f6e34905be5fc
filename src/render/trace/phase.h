/* The Henyey-Greenstein phase function: how far light is turned when it scatters. */
#ifndef FIRN_RENDER_PHASE_H
#define FIRN_RENDER_PHASE_H

#include <math.h>

/* Density over solid angle (1/sr) at this cosine between the old and the new direction. */
static inline float phase_density(float g, float cosine)
{
  const float t = 1.0f + g * g - 2.0f * g * cosine;
  return (1.0f - g * g) * 0.0795774715f / (t * sqrtf(t));
}

/* A cosine with this density, for u in [0, 1). */
static inline float phase_cosine(float g, float u)
{
  if (fabsf(g) < 1e-3f) return 2.0f * u - 1.0f;
  const float t = (1.0f - g * g) / (1.0f - g + 2.0f * g * u), cosine = (1.0f + g * g - t * t) / (2.0f * g);
  return cosine < -1.0f ? -1.0f : cosine > 1.0f ? 1.0f : cosine;
}

#endif
