/* Wind, and the drag that it has on loose grains (docs/method.md, "Air"). */
#ifndef FIRN_BODIES_AIR_H
#define FIRN_BODIES_AIR_H

#include "base/ramp.h"
#include "bodies/body.h"

enum air_profile { AIR_UNIFORM, AIR_LOG, AIR_POWER };

struct air {
  double wind[3]; /* m/s, at `height` */
  enum air_profile profile;
  int above;                  /* the body that heights are measured from; -1: the plane */
  double point[3], normal[3]; /* m; of the plane */
  double height;              /* m */
  double roughness, exponent; /* m; of log, of power */
  struct ramp gusts;          /* factors over time (s); owned, empty for none */
  double drag;                /* 1/m: |g| over the square of the terminal speed */
  double loose, dense;        /* filled space from which on there is less wind, and none */
};

/* m/s, at x. */
void air_wind(const struct air *air, const struct body_pose *poses, const double x[3], double time,
              double wind[3]);

/* 0 to 1: how much wind reaches a grain where this share of the space is filled. */
double air_exposure(const struct air *air, double filled);

/* The velocity of a grain at x after dt. */
void air_blow(const struct air *air, const struct body_pose *poses, const double x[3], double time,
              double exposure, double dt, double v[3]);

/* m/s: no wind is faster, at its height. */
double air_fastest(const struct air *air);

#endif
