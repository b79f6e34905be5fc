/* Ground and bodies as light meets them: opaque, matte surfaces, at a few moments of the time that a picture
 * covers. */
#ifndef FIRN_RENDER_SOLIDS_H
#define FIRN_RENDER_SOLIDS_H

#include "bodies/body.h"

#include <stdbool.h>

struct solid_bound {
  double center[3], reach; /* m: a ball around it; infinite where it has no end */
};

struct solids {
  int count, moments;
  struct body_pose *pose;    /* [moments][count] */
  struct solid_bound *bound; /* [moments][count] */
  float (*color)[3];         /* [count], linear reflectance */
  int *body;                 /* [count], index into the caller's bodies */
  bool *covered;             /* [count], by snow */
};

/* Bodies at `moments` times spread evenly over [from, to] (s; one moment: its middle). A body that the eye
 * (NULL: none) is inside of is left out: from behind a wall one looks through it. */
void solids_create(struct solids *solids, const struct body *bodies, int count, const float (*colors)[3],
                   double from, double to, int moments, const double eye[3]);
void solids_destroy(struct solids *solids);

/* Distance (m) to the nearest body and which it is; the direction is of unit length. */
bool solids_cast(const struct solids *solids, int moment, const double origin[3], const double direction[3],
                 double *distance, int *body);

/* The normal at a point that a ray along `direction` has hit; moves the point a little off the surface, so
 * that the next ray does not start inside. */
void solids_surface(const struct solids *solids, int moment, int body, const float direction[3], double at[3],
                    double normal[3]);

/* Unevenness of covered ground and of bare planes: turns the unit normal, whose ground has features of `size`
 * metres and below, and changes the colour. */
void solids_texture(const struct solids *solids, int moment, int body, double size, const double at[3],
                    double normal[3], float color[3]);

#endif
