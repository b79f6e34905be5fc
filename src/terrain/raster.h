/* A raster on the map: square cells, north up, the first row the northernmost, values in the cells' middles.
 */
#ifndef FIRN_TERRAIN_RASTER_H
#define FIRN_TERRAIN_RASTER_H

#include <stdbool.h>
#include <stdint.h>

struct raster {
  int64_t columns, rows;
  double west, north; /* m on the map, of the middle of the first cell */
  double cell;        /* m */
  float *value;       /* [rows * columns]; NaN: no data */
};

/* All values are 0. */
struct raster *raster_create(int64_t columns, int64_t rows, double west, double north, double cell);
void raster_destroy(struct raster **raster);

/* The cells whose middles lie within west, east, south, north (m). False if that leaves less than two rows or
 * columns. */
bool raster_cut(struct raster *raster, const double within[4]);

/* How many cells have no data, and the first of them by row and column. */
int64_t raster_holes(const struct raster *raster, int64_t *row, int64_t *column);

/* Holes get the mean of their neighbours, from their edges inwards. False if there is no data at all. */
bool raster_fill(struct raster *raster);

/* Gaussian mean of this standard deviation (m), over the cells that have data; holes stay. */
void raster_smooth(struct raster *raster, double width);

/* The value of the cell that holds a point (m); NaN outside. */
double raster_at(const struct raster *raster, double east, double north);

/* Cells whose middles are inside the polygon (any rings one after the other, each closed by its first point;
 * even-odd) get the value. Returns how many. */
int64_t raster_polygon(struct raster *raster, const double (*point)[2], const int64_t *ring, int rings,
                       float value);

#endif
