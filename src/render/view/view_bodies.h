/* Bodies as triangles, for the page of firn view. */
#ifndef FIRN_RENDER_VIEW_BODIES_H
#define FIRN_RENDER_VIEW_BODIES_H

#include "base/text.h"
#include "bodies/body.h"

/* Adds a JSON array of bodies: name, colour, and either a plane (point, normal) or meshes in the body's own
 * coordinates; and where it is at each of the times: null while it is not there, else the number of its mesh,
 * its origin and its turn by rows. */
void view_bodies_put(struct text *json, const struct body *bodies, int count, const double *times,
                     int time_count);

#endif
