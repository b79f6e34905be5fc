/* Rasters in files: ESRI ASCII grids (.asc) and GeoTIFF (.tif). Rank 0's business. GeoTIFF is written
 * plainly, one band of 32 bit floats without compression; it is read through GDAL, if the build has it. */
#ifndef FIRN_IO_GEO_GRID_FILE_H
#define FIRN_IO_GEO_GRID_FILE_H

#include "base/error.h"
#include "terrain/raster.h"

/* What a file has no data in is written as this. */
#define GRID_FILE_NO_DATA -9999.0

/* By the file's suffix. */
int grid_file_read(struct raster **out, const char *path, struct error *err);

int grid_file_write_ascii(const char *path, const struct raster *raster, struct error *err);
int grid_file_write_tiff(const char *path, const struct raster *raster, struct error *err);

/* Polygons: text with a point per line (east and north, m, separated by a comma or blanks), rings separated
 * by empty lines; other files through GDAL, if the build has it. */
struct polygons {
  double (*point)[2];
  int64_t *ring; /* [rings + 1] first point of each */
  int rings;
};
int polygons_read(struct polygons *out, const char *path, struct error *err);
void polygons_free(struct polygons *polygons);

/* Of the build with GDAL (gdal_file.c). */
int gdal_grid_read(struct raster **out, const char *path, struct error *err);
int gdal_polygons_read(struct polygons *out, const char *path, struct error *err);

#endif
