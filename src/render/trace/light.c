/* Skies are computed in double precision in kcd/m^2 and klx, CIE xyY, and brought to linear sRGB. */
#include "render/trace/light.h"

#include "base/fmath.h"
#include "base/memory.h"
#include "base/vec.h"
#include "render/camera.h"
#include "render/trace/quick.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
static const double sun_size = 0.53;         /* degrees */
static const double below_reflectance = 0.3; /* of the land that is seen where a scene has no ground */

static void rgb_of(double x, double y, double luminance, double rgb[3])
{
  const double X = x / y * luminance, Y = luminance, Z = (1.0 - x - y) / y * luminance;
  rgb[0] = fmax(3.2404542 * X - 1.5371385 * Y - 0.4985314 * Z, 0.0);
  rgb[1] = fmax(-0.9692660 * X + 1.8760108 * Y + 0.0415560 * Z, 0.0);
  rgb[2] = fmax(0.0556434 * X - 0.2040259 * Y + 1.0572252 * Z, 0.0);
}

/* Perez's formula relative to the zenith; theta from the zenith, gamma from the sun (rad). */
struct perez {
  double a, b, c, d, e;
  double zenith; /* value there over the formula there */
};

static double perez_at(const struct perez *p, double cosine, double gamma)
{
  const double c = cos(gamma);
  return p->zenith * (1.0 + p->a * exp(p->b / fmax(cosine, 0.01))) *
         (1.0 + p->c * exp(p->d * gamma) + p->e * c * c);
}

static void perez_finish(struct perez *p, double zenith, double sun_theta)
{
  p->zenith = 1.0;
  p->zenith = zenith / perez_at(p, 1.0, sun_theta);
}

struct clear_sky {
  struct perez luminance, x, y;
};

/* Appendix A.2 of the 1999 paper. */
static void clear_sky_make(struct clear_sky *sky, double t, double s)
{
  const double chi = (4.0 / 9.0 - t / 120.0) * (pi - 2.0 * s), s2 = s * s, s3 = s2 * s, t2 = t * t;
  const double zenith = (4.0453 * t - 4.9710) * tan(chi) - 0.2155 * t + 2.4192;
  const double x = t2 * (0.00166 * s3 - 0.00375 * s2 + 0.00209 * s) +
                   t * (-0.02903 * s3 + 0.06377 * s2 - 0.03202 * s + 0.00394) +
                   (0.11693 * s3 - 0.21196 * s2 + 0.06052 * s + 0.25886);
  const double y = t2 * (0.00275 * s3 - 0.00610 * s2 + 0.00317 * s) +
                   t * (-0.04214 * s3 + 0.08970 * s2 - 0.04153 * s + 0.00516) +
                   (0.15346 * s3 - 0.26756 * s2 + 0.06670 * s + 0.26688);
  sky->luminance = (struct perez){.a = 0.1787 * t - 1.4630,
                                  .b = -0.3554 * t + 0.4275,
                                  .c = -0.0227 * t + 5.3251,
                                  .d = 0.1206 * t - 2.5771,
                                  .e = -0.0670 * t + 0.3703};
  sky->x = (struct perez){.a = -0.0193 * t - 0.2592,
                          .b = -0.0665 * t + 0.0008,
                          .c = -0.0004 * t + 0.2125,
                          .d = -0.0641 * t - 0.8989,
                          .e = -0.0033 * t + 0.0452};
  sky->y = (struct perez){.a = -0.0167 * t - 0.2608,
                          .b = -0.0950 * t + 0.0092,
                          .c = -0.0079 * t + 0.2102,
                          .d = -0.0441 * t - 1.6537,
                          .e = -0.0109 * t + 0.0529};
  perez_finish(&sky->luminance, fmax(zenith, 0.05), s);
  perez_finish(&sky->x, x, s);
  perez_finish(&sky->y, y, s);
}

/* Illuminance (klx) by colour on a card that faces the sun: 127.5 klx of a black body of 5778 K outside the
 * air, less what air, dust and ozone take at the wavelengths of the three primaries. */
static void sunlight(double t, double theta, double rgb[3])
{
  static const double wavelength[3] = {0.611, 0.549, 0.464}; /* um */
  static const double ozone[3] = {0.118, 0.086, 0.009};      /* 1/cm */
  static const double outside[3] = {1.113, 0.975, 0.912};
  const double degrees = fmin(theta, 0.5 * pi) * 180.0 / pi;
  const double mass = 1.0 / (cos(fmin(theta, 0.5 * pi)) + 0.15 * pow(93.885 - degrees, -1.253));
  for (int c = 0; c < 3; c++) {
    const double air = 0.008735 * pow(wavelength[c], -4.08);
    const double dust = fmax(0.04608 * t - 0.04586, 0.0) * pow(wavelength[c], -1.3);
    rgb[c] = 127.5 * outside[c] * exp(-mass * (air + dust + 0.35 * ozone[c]));
  }
}

/* Radiance of the sky at a height z = cos(theta) above the horizon and an angle from the sun. */
static void sky_at(const struct light_options *o, const struct clear_sky *clear, double z, double gamma,
                   double rgb[3])
{
  static const double horizon[3] = {5.6, 6.6, 7.6}, zenith[3] = {1.9, 3.0, 5.0};
  switch (o->sky) {
  case LIGHT_CLEAR:
    rgb_of(perez_at(&clear->x, z, gamma), perez_at(&clear->y, z, gamma),
           fmax(perez_at(&clear->luminance, z, gamma), 0.0), rgb);
    break;
  case LIGHT_OVERCAST: rgb_of(0.3127, 0.3290, 10.0 * (1.0 + 2.0 * z) / 3.0, rgb); break;
  case LIGHT_GRADIENT:
    for (int c = 0; c < 3; c++) rgb[c] = horizon[c] + (zenith[c] - horizon[c]) * sqrt(z);
    break;
  }
}

static void texel_direction(const struct light *l, int row, int column, double out[3])
{
  const double z = (row + 0.5) * 2.0 / LIGHT_ROWS - 1.0, angle = (column + 0.5) * 2.0 * pi / LIGHT_COLUMNS;
  const double flat = sqrt(fmax(1.0 - z * z, 0.0));
  for (int d = 0; d < 3; d++)
    out[d] =
        z * (double)l->up[d] + flat * (cos(angle) * (double)l->first[d] + sin(angle) * (double)l->second[d]);
}

/* Fills the upper half; returns the illuminance on level ground. */
static void fill_sky(struct light *l, const struct light_options *o, const struct clear_sky *clear,
                     double level[3])
{
  const double texel = 4.0 * pi / (LIGHT_ROWS * LIGHT_COLUMNS);
  level[0] = level[1] = level[2] = 0.0;
  for (int row = LIGHT_ROWS / 2; row < LIGHT_ROWS; row++)
    for (int column = 0; column < LIGHT_COLUMNS; column++) {
      double direction[3], rgb[3] = {0.0, 0.0, 0.0};
      texel_direction(l, row, column, direction);
      const double z = (row + 0.5) * 2.0 / LIGHT_ROWS - 1.0;
      const double along = vec_dot(direction, o->direction);
      sky_at(o, clear, z, acos(fmin(fmax(along, -1.0), 1.0)), rgb);
      for (int c = 0; c < 3; c++) {
        l->texel[row][column][c] = (float)rgb[c];
        level[c] += rgb[c] * z * texel;
      }
    }
}

/* Haze takes the colour of daylight: without it the lowest sky of a very clear day is pink. */
static void fill_haze(struct light *l, const double level[3])
{
  const double bright = 0.2126 * level[0] + 0.7152 * level[1] + 0.0722 * level[2];
  static const double pale[3] = {0.88, 1.0, 1.16};
  for (int row = LIGHT_ROWS / 2; row < LIGHT_ROWS; row++) {
    const double z = (row + 0.5) * 2.0 / LIGHT_ROWS - 1.0, part = 0.85 * exp(-z / 0.15);
    for (int column = 0; column < LIGHT_COLUMNS; column++) {
      float *sky = l->texel[row][column];
      const double here = 0.2126 * (double)sky[0] + 0.7152 * (double)sky[1] + 0.0722 * (double)sky[2];
      for (int c = 0; c < 3; c++)
        sky[c] += (float)(part * (here * pale[c] * level[c] / bright - (double)sky[c]));
    }
  }
}

/* The lower half is land, which fades into the lowest sky towards the horizon, as haze does. */
static void fill_land(struct light *l, double reflectance, const double level[3])
{
  const int horizon = LIGHT_ROWS / 2, haze = LIGHT_ROWS / 16;
  for (int row = 0; row < horizon; row++)
    for (int column = 0; column < LIGHT_COLUMNS; column++)
      for (int c = 0; c < 3; c++) {
        const float land = (float)(reflectance * level[c] / pi), sky = l->texel[horizon][column][c];
        const float depth = (float)(horizon - row) / (float)haze, mix = depth < 1.0f ? depth : 1.0f;
        l->texel[row][column][c] = sky + mix * (land - sky);
      }
}

static float luminance(const float rgb[3])
{
  return 0.2126f * rgb[0] + 0.7152f * rgb[1] + 0.0722f * rgb[2];
}

/* Half of the probability follows the luminance, half is even: a dim direction may be the only open one. */
static void finish_table(struct light *l)
{
  double mean = 0.0, all = 0.0;
  for (int r = 0; r < LIGHT_ROWS; r++)
    for (int c = 0; c < LIGHT_COLUMNS; c++) mean += (double)luminance(l->texel[r][c]);
  mean /= LIGHT_ROWS * LIGHT_COLUMNS;
  for (int r = 0; r < LIGHT_ROWS; r++) {
    double row = 0.0;
    for (int c = 0; c < LIGHT_COLUMNS; c++) {
      row += (double)luminance(l->texel[r][c]) + 0.2 * mean + 1e-12;
      l->column_upto[r][c] = (float)row;
    }
    for (int c = 0; c < LIGHT_COLUMNS; c++) l->column_upto[r][c] /= (float)row;
    all += row;
    l->row_upto[r] = (float)all;
  }
  for (int r = 0; r < LIGHT_ROWS; r++) l->row_upto[r] /= (float)all;
}

static void set_axes(struct light *l, const double up[3])
{
  double first[3], second[3];
  camera_tangents(up, first, second);
  for (int d = 0; d < 3; d++) {
    l->up[d] = (float)up[d];
    l->first[d] = (float)first[d];
    l->second[d] = (float)second[d];
  }
}

static void set_sun(struct light *l, const struct light_options *o, const double normal[3])
{
  double first[3], second[3];
  camera_tangents(o->direction, first, second);
  for (int d = 0; d < 3; d++) {
    l->sun[d] = (float)o->direction[d];
    l->sun_first[d] = (float)first[d];
    l->sun_second[d] = (float)second[d];
  }
  /* From the rounded cosine, which is what draws and tests go by. */
  l->sun_cosine = (float)cos(0.5 * (o->size > 0.0 ? o->size : sun_size) * pi / 180.0);
  const double size = pi * (1.0 - (double)l->sun_cosine * (double)l->sun_cosine);
  for (int c = 0; c < 3; c++) l->sun_radiance[c] = (float)(normal[c] / size);
}

/* Scales everything so that a white card on level ground has radiance 1 in all colours. */
static void expose(struct light *l, const double level[3])
{
  for (int c = 0; c < 3; c++) {
    const float scale = (float)(pi / fmax(level[c], 1e-6));
    for (int r = 0; r < LIGHT_ROWS; r++)
      for (int k = 0; k < LIGHT_COLUMNS; k++) l->texel[r][k][c] *= scale;
    l->sun_radiance[c] *= scale;
  }
}

static void compute(struct light *l, const struct light_options *o)
{
  const double height = vec_dot(o->direction, o->up), theta = acos(fmin(fmax(height, -1.0), 1.0));
  double level[3], normal[3] = {0.0, 0.0, 0.0};
  struct clear_sky clear;
  set_axes(l, o->up);
  /* The fit ends at the horizon: a sun below it lights as one that sets. */
  clear_sky_make(&clear, o->turbidity, fmin(theta, 0.5 * pi - 0.02));
  fill_sky(l, o, &clear, level);
  l->sun_cosine = 2.0f;
  if (o->sky != LIGHT_OVERCAST && height > 0.0) {
    sunlight(o->turbidity, theta, normal);
    for (int c = 0; o->strength > 0.0 && c < 3; c++) normal[c] *= o->strength;
    set_sun(l, o, normal);
    l->sun_share = 1.0f;
  }
  double facing = level[1];
  for (int c = 0; c < 3; c++) level[c] += fmax(height, 0.0) * normal[c];
  /* A card that faces a low sun sees half of the sky and some of the land. */
  facing = fmax(normal[1] + 0.6 * facing, level[1]);
  l->facing = (float)(facing / fmax(level[1], 1e-6));
  if (o->sky == LIGHT_CLEAR) fill_haze(l, level);
  fill_land(l, o->land > 0.0 ? o->land : below_reflectance, level);
  expose(l, level);
  finish_table(l);
}

struct light *light_create(const struct comm *comm, const struct light_options *options)
{
  struct light *l = mem_alloc(1, sizeof *l);
  if (!comm || comm->rank == 0) compute(l, options);
  if (comm) comm_broadcast(comm, l, sizeof *l);
  return l;
}

struct light *light_create_split(const double up[3], const float above[3], const float below[3])
{
  struct light *l = mem_alloc(1, sizeof *l);
  set_axes(l, up);
  l->split = true;
  l->facing = 1.0f;
  l->sun_cosine = 2.0f;
  for (int r = 0; r < LIGHT_ROWS; r++)
    for (int c = 0; c < LIGHT_COLUMNS; c++)
      memcpy(l->texel[r][c], r < LIGHT_ROWS / 2 ? below : above, sizeof l->texel[r][c]);
  finish_table(l);
  return l;
}

/* Angle of (x, y) as a fraction of the circle in [0, 1); within 1e-5. */
static float turn_of(float x, float y)
{
  const float a = fabsf(x), b = fabsf(y), most = a > b ? a : b, least = a > b ? b : a;
  if (!(most > 0.0f)) return 0.0f;
  const float t = least / most, s = t * t;
  float angle = t * (0.9998660f + s * (-0.3302995f + s * (0.1801410f + s * (-0.0851330f + s * 0.0208351f)))) *
                0.159154943f;
  if (b > a) angle = 0.25f - angle;
  if (x < 0.0f) angle = 0.5f - angle;
  if (y < 0.0f) angle = 1.0f - angle;
  return angle < 1.0f ? angle : 0.0f;
}

/* Place in the table, in texels; the middle of the first is (0.5, 0.5). */
static void place_of(const struct light *l, const float direction[3], float *row, float *column)
{
  float x = 0.0f, y = 0.0f, z = 0.0f;
  for (int d = 0; d < 3; d++) {
    x += direction[d] * l->first[d];
    y += direction[d] * l->second[d];
    z += direction[d] * l->up[d];
  }
  const float height = (z + 1.0f) * (0.5f * LIGHT_ROWS);
  *row = height > 0.0f ? height < (float)LIGHT_ROWS ? height : (float)LIGHT_ROWS - 0.001f : 0.0f;
  *column = turn_of(x, y) * (float)LIGHT_COLUMNS;
}

void light_sky(const struct light *l, const float direction[3], float out[3])
{
  float row, column;
  place_of(l, direction, &row, &column);
  if (l->split) {
    memcpy(out, l->texel[(int)row][0], sizeof l->texel[0][0]);
    return;
  }
  const float r = row > 0.5f ? row - 0.5f : 0.0f, c = column + (float)LIGHT_COLUMNS - 0.5f;
  const int r0 = (int)r, r1 = r0 + 1 < LIGHT_ROWS ? r0 + 1 : r0;
  const int c0 = (int)c % LIGHT_COLUMNS, c1 = (c0 + 1) % LIGHT_COLUMNS;
  const float fr = r - (float)r0, fc = c - floorf(c);
  for (int k = 0; k < 3; k++) {
    const float a = l->texel[r0][c0][k] + fc * (l->texel[r0][c1][k] - l->texel[r0][c0][k]);
    const float b = l->texel[r1][c0][k] + fc * (l->texel[r1][c1][k] - l->texel[r1][c0][k]);
    out[k] = a + fr * (b - a);
  }
}

bool light_is_sun(const struct light *l, const float d[3])
{
  return d[0] * l->sun[0] + d[1] * l->sun[1] + d[2] * l->sun[2] >= l->sun_cosine;
}

static float texel_probability(const struct light *l, int row, int column)
{
  const float row_below = row > 0 ? l->row_upto[row - 1] : 0.0f;
  const float below = column > 0 ? l->column_upto[row][column - 1] : 0.0f;
  return (l->row_upto[row] - row_below) * (l->column_upto[row][column] - below);
}

static float sky_density(const struct light *l, int row, int column)
{
  return (1.0f - l->sun_share) * texel_probability(l, row, column) * (float)(LIGHT_ROWS * LIGHT_COLUMNS) *
         0.0795774715f;
}

float light_sky_density(const struct light *l, const float direction[3])
{
  float row, column;
  if (!(l->sun_share < 1.0f)) return 0.0f;
  place_of(l, direction, &row, &column);
  return sky_density(l, (int)row, (int)column);
}

/* The first entry above u; *rest is where u lies in it, in [0, 1). */
static int find(const float *upto, int count, float u, float *rest)
{
  int low = 0, high = count - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (upto[middle] > u)
      high = middle;
    else
      low = middle + 1;
  }
  const float below = low > 0 ? upto[low - 1] : 0.0f, width = upto[low] - below;
  const float part = width > 0.0f ? (u - below) / width : 0.5f;
  *rest = part < 0.0f ? 0.0f : part < 0.999999f ? part : 0.999999f;
  return low;
}

static void draw_sun(const struct light *l, const float u[2], struct light_draw *out)
{
  const float cosine = 1.0f - u[0] * (1.0f - l->sun_cosine), sine = sqrtf(1.0f - cosine * cosine);
  float x, y;
  quick_circle(u[1], &x, &y);
  for (int d = 0; d < 3; d++)
    out->direction[d] = cosine * l->sun[d] + sine * (x * l->sun_first[d] + y * l->sun_second[d]);
  memcpy(out->radiance, l->sun_radiance, sizeof out->radiance);
  out->density = l->sun_share * 0.159154943f / (1.0f - l->sun_cosine);
  out->sky = false;
}

static void draw_sky(const struct light *l, const float u[2], struct light_draw *out)
{
  float across, along, x, y;
  const int row = find(l->row_upto, LIGHT_ROWS, u[0], &across);
  const int column = find(l->column_upto[row], LIGHT_COLUMNS, u[1], &along);
  const float z = ((float)row + across) * (2.0f / LIGHT_ROWS) - 1.0f, flat = 1.0f - z * z;
  const float side = sqrtf(flat > 0.0f ? flat : 0.0f);
  const double angle = ((double)column + (double)along) * 2.0 * pi / LIGHT_COLUMNS;
  double sine, cosine;
  fmath_sincos(angle, &sine, &cosine);
  x = (float)cosine;
  y = (float)sine;
  for (int d = 0; d < 3; d++) out->direction[d] = z * l->up[d] + side * (x * l->first[d] + y * l->second[d]);
  light_sky(l, out->direction, out->radiance);
  out->density = sky_density(l, row, column);
  out->sky = true;
}

void light_draw(const struct light *l, const float u[2], float which, struct light_draw *out)
{
  if (which < l->sun_share)
    draw_sun(l, u, out);
  else
    draw_sky(l, u, out);
}
