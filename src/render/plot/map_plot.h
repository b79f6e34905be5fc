/* A map as a picture: shaded terrain with contours, a quantity in colours over it, its scale, and the outline
 * of the release. North is up. */
#ifndef FIRN_RENDER_MAP_PLOT_H
#define FIRN_RENDER_MAP_PLOT_H

#include "base/error.h"
#include "terrain/raster.h"

struct map_plot {
  const struct raster *terrain;
  const struct raster *value;   /* of the same grid; what is 0 or NaN is not coloured */
  const struct raster *release; /* likewise, outlined where it is above 0; NULL: none */
  const char *title, *legend;   /* "peak speed", "m/s" */
  double most;                  /* of the scale; 0: the value that one cell in a thousand exceeds */
  double contour;               /* m between contours; 0: chosen */
};

/* Writes a PNG whose longer side has about `pixels`. The picture shows the part of the terrain in which
 * something is, with a margin. */
int map_plot_write(const struct map_plot *plot, int pixels, const char *path, struct error *err);

#endif
