#include "render/preview/palette.h"

#include "material/look.h"

#include <math.h>

/* Dark blue to yellow, even in lightness (after the map viridis of matplotlib), and blue over white to red.
 * sRGB. */
static const float rising[][3] = {{68, 1, 84},    {71, 44, 122},  {59, 81, 139},
                                  {44, 113, 142}, {33, 144, 141}, {39, 173, 129},
                                  {92, 200, 99},  {170, 220, 50}, {253, 231, 37}};
static const float two_sided[][3] = {{5, 48, 97},     {33, 102, 172},  {67, 147, 195},
                                     {146, 197, 222}, {240, 240, 240}, {244, 165, 130},
                                     {214, 96, 77},   {178, 24, 43},   {103, 0, 31}};
static const float materials[][3] = {{76, 120, 168},  {245, 133, 24},  {84, 162, 75},  {228, 87, 86},
                                     {178, 121, 162}, {114, 183, 178}, {238, 202, 59}, {157, 117, 93}};
enum { STEPS = 9, MATERIALS = sizeof materials / sizeof *materials };

static float linear(float byte)
{
  const float x = byte / 255.0f;
  return x <= 0.04045f ? x / 12.92f : powf((x + 0.055f) / 1.055f, 2.4f);
}

void palette_color(enum preview_color color, const double range[2], float value, float out[3])
{
  if (color == COLOR_MATERIAL) {
    const int index = value >= 0.0f && value < 1e6f ? (int)value % MATERIALS : 0;
    for (int c = 0; c < 3; c++) out[c] = linear(materials[index][c]);
    return;
  }
  const float(*map)[3] = color == COLOR_JP ? two_sided : rising;
  const double width = range[1] - range[0];
  float t = width > 0.0 ? (float)(((double)value - range[0]) / width) : 0.5f;
  t = t > 0.0f ? t < 1.0f ? t : 1.0f : 0.0f; /* also where the value is no number */
  const int step = t < 1.0f ? (int)(t * (STEPS - 1)) : STEPS - 2;
  const float rest = t * (STEPS - 1) - (float)step;
  for (int c = 0; c < 3; c++) out[c] = linear(map[step][c] + rest * (map[step + 1][c] - map[step][c]));
}

const char *palette_title(enum preview_color color)
{
  static const char *const titles[] = {"",    "density (kg/m³)", "speed (m/s)",
                                       "J_P", "material",        "temperature (K)"};
  return titles[color];
}

void body_color(const struct body *body, int index, float out[3])
{
  look_body_color(index, body->shape.kind == SHAPE_PLANE, out);
  for (int c = 0; body->color_given && c < 3; c++) out[c] = (float)body->color[c];
}
