/* Heights over a rectangle: terrain. Bilinear between samples, which come from one of a few forms or from an
 * image. Forms use IEEE basic operations only, so every rank makes the same bits. */
#ifndef FIRN_LEVELSET_HEIGHTS_H
#define FIRN_LEVELSET_HEIGHTS_H

#include <stdint.h>

struct heights {
  int64_t n[2];           /* samples along x and z; at least 2 */
  double step[2];         /* m between samples */
  double half[2];         /* m, half the footprint; the samples cover -half .. half */
  double lowest, highest; /* m */
  double steepest;        /* bound of the slope's norm */
  float *value;           /* m, [z][x]; owned */
};

enum heights_form {
  HEIGHTS_SLOPE, /* rises along x by `height` over the whole footprint, 0 in the middle */
  HEIGHTS_RAMP,  /* from `height` at the left to 0 at the right, smoothly over the middle `wavelength` */
  HEIGHTS_HILL,  /* one round hill of this height and of diameter `wavelength` */
  HEIGHTS_BUMPS, /* cosine bumps of this height, a `wavelength` apart along x and z */
  HEIGHTS_NOISE, /* seeded noise between about 0 and `height`, features of `wavelength` and finer */
  HEIGHTS_FORMS
};

struct heights_parameters {
  enum heights_form form;
  double height, wavelength; /* m */
  int octaves;
  uint64_t seed;
};

/* Samples a form with about this spacing (m), at most 4096 samples per side. */
struct heights *heights_create(const struct heights_parameters *p, const double half[2], double spacing);

/* Takes samples from the caller (copied), first row at the least z. */
struct heights *heights_from_samples(const float *value, int64_t nx, int64_t nz, const double half[2]);

/* Multiplies all heights. */
void heights_scale(struct heights *heights, double factor);

void heights_destroy(struct heights **heights);

/* Height at (x, z), clamped to the footprint. */
double heights_only(const struct heights *heights, double x, double z);

/* Height at (x, z), clamped to the footprint, and its slopes there. */
double heights_at(const struct heights *heights, double x, double z, double slope[2]);

#endif
