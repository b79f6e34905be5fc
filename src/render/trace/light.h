/* Where the light comes from: a sun of half a degree and a sky.
 *
 * The clear sky is that of Preetham, Shirley and Smits, "A practical analytic model for daylight" (1999):
 * Perez's five-parameter sky, fitted to simulated ones, by turbidity and height of the sun. The sun is
 * dimmed and reddened by the same paper's transmittances (Rayleigh, aerosol, ozone). The overcast sky is
 * the CIE's (Moon and Spencer 1942). All are scaled, colour by colour, so that a white card that lies in the
 * open has the radiance 1: exposure and white balance of a photographer who metered it.
 *
 * The sky is kept as a table over (azimuth, height), in which every texel has the same solid angle; it is
 * looked up for rays that leave, and drawn from with a probability that follows its luminance. */
#ifndef FIRN_RENDER_LIGHT_H
#define FIRN_RENDER_LIGHT_H

#include "decomposition/comm.h"

#include <stdbool.h>

enum light_sky { LIGHT_CLEAR, LIGHT_OVERCAST, LIGHT_GRADIENT };

enum { LIGHT_COLUMNS = 512, LIGHT_ROWS = 256 };

struct light {
  float up[3], first[3], second[3];  /* unit: the table's axes in the world's */
  float sun[3];                      /* unit, towards its middle */
  float sun_first[3], sun_second[3]; /* unit, across it */
  float sun_cosine;                  /* of its half angle; above 1: there is no sun */
  float sun_radiance[3];
  float facing;                              /* radiance of a white card that faces the brightest light */
  float sun_share;                           /* of drawn directions that go to the sun */
  bool split;                                /* two colours, above and below, without a transition */
  float texel[LIGHT_ROWS][LIGHT_COLUMNS][3]; /* radiance; rows from straight down to straight up */
  float row_upto[LIGHT_ROWS];                /* probabilities, summed */
  float column_upto[LIGHT_ROWS][LIGHT_COLUMNS];
};

struct light_options {
  enum light_sky sky;
  double up[3];        /* unit */
  double direction[3]; /* unit, towards the sun */
  double turbidity;    /* 2 very clear .. 6 hazy */
  double size;         /* degrees across the sun; 0: 0.53 */
  double strength;     /* of the sun, relative to the real one; 0: 1 */
  double land;         /* reflectance of the land below the horizon; 0: 0.3 */
};

/* Collective over comm (NULL: alone): rank 0 computes, so that all have the same bits. For mem_free(). */
struct light *light_create(const struct comm *comm, const struct light_options *options);

/* The same radiance from everywhere above, and another from below; no sun. */
struct light *light_create_split(const double up[3], const float above[3], const float below[3]);

/* Radiance of the sky without the sun. */
void light_sky(const struct light *light, const float direction[3], float out[3]);

bool light_is_sun(const struct light *light, const float direction[3]);

/* A direction towards the light, its radiance, and the density (1/sr) with which it was drawn. `sky` is
 * whether it comes from the sky, which may also be met by rays that leave. */
struct light_draw {
  float direction[3], radiance[3];
  float density;
  bool sky;
};
void light_draw(const struct light *light, const float u[2], float which, struct light_draw *out);

/* Density with which light_draw() takes this direction as one of the sky. */
float light_sky_density(const struct light *light, const float direction[3]);

#endif
