#include "render/tone.h"

#include <math.h>

float tone_srgb(float x)
{
  return x <= 0.0031308f ? 12.92f * x : 1.055f * powf(x, 1.0f / 2.4f) - 0.055f;
}

float tone_shoulder(float x, float knee)
{
  const float room = 1.0f - knee;
  return x < knee ? x : knee + room * (1.0f - expf(-(x - knee) / room));
}

float tone_film(float x, float knee)
{
  const float toe = 0.025f;
  return tone_shoulder(x * x / (x + toe), knee);
}

float tone_dither(int x, int y)
{
  static const float bayer[16] = {0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5};
  return (bayer[(y & 3) * 4 + (x & 3)] + 0.5f) / 16.0f;
}
