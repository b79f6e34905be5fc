/* Rasters and polygons through GDAL, where the build has it: GeoTIFF and all that GDAL knows.
 *
 * The library is opened when the first file asks for it: it brings a hundred others, which a run without such
 * files need not load. */
#ifdef FIRN_HAVE_GDAL
#include "base/memory.h"
#include "io/geo/grid_file.h"

#include <dlfcn.h>
#include <gdal.h>
#include <math.h>
#include <ogr_api.h>
#include <ogr_srs_api.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 1 << 20 };

/* clang-format off */
#define FIRN_GDAL_CALLS(CALL) \
  CALL(GDALAllRegister) \
  CALL(CPLSetErrorHandler) \
  CALL(CPLQuietErrorHandler) \
  CALL(GDALGetSpatialRef) \
  CALL(GDALGetGeoTransform) \
  CALL(OSRIsGeographic) \
  CALL(GDALGetRasterXSize) \
  CALL(GDALGetRasterYSize) \
  CALL(GDALGetRasterBand) \
  CALL(GDALRasterIO) \
  CALL(CPLGetLastErrorMsg) \
  CALL(GDALGetRasterNoDataValue) \
  CALL(GDALOpenEx) \
  CALL(GDALClose) \
  CALL(OGR_G_GetGeometryCount) \
  CALL(OGR_G_GetGeometryRef) \
  CALL(OGR_G_GetPointCount) \
  CALL(OGR_G_GetX) \
  CALL(OGR_G_GetY) \
  CALL(OGR_G_GetGeometryType) \
  CALL(GDALDatasetGetLayerCount) \
  CALL(GDALDatasetGetLayer) \
  CALL(OGR_L_GetSpatialRef) \
  CALL(OGR_L_GetNextFeature) \
  CALL(OGR_F_GetGeometryRef) \
  CALL(OGR_G_GetLinearGeometry) \
  CALL(OGR_G_DestroyGeometry) \
  CALL(OGR_GT_Flatten) \
  CALL(OGR_F_Destroy)
/* clang-format on */

#define CALL_MEMBER(name) __typeof__(&name) name;
#define LOAD_CALL(name)                                                                                      \
  if (whole) {                                                                                               \
    *(void **)(void *)&gdal.name = dlsym(library, #name);                                                    \
    whole = gdal.name != NULL;                                                                               \
  }

static struct calls {
  FIRN_GDAL_CALLS(CALL_MEMBER)
} gdal;

/* Once; an error if the library is not there at run time. */
static int load(const char *path, struct error *err)
{
  void *library = gdal.GDALOpenEx ? NULL : dlopen(FIRN_GDAL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (gdal.GDALOpenEx) return FIRN_OK;
  bool whole = library != NULL;
  FIRN_GDAL_CALLS(LOAD_CALL)
  if (!whole) {
    gdal = (struct calls){0};
    return error_set(err, FIRN_EINPUT, "%s: GDAL's library %s, which reads it, is not on this machine", path,
                     FIRN_GDAL_LIBRARY);
  }
  gdal.GDALAllRegister();
  gdal.CPLSetErrorHandler(gdal.CPLQuietErrorHandler);
  return FIRN_OK;
}

static int check_place(GDALDatasetH file, const char *path, double g[6], struct error *err)
{
  const OGRSpatialReferenceH frame = gdal.GDALGetSpatialRef(file);
  if (gdal.GDALGetGeoTransform(file, g) != CE_None)
    return error_set(err, FIRN_EINPUT, "%s does not say where it lies: it has no georeference", path);
  if (frame && gdal.OSRIsGeographic(frame))
    return error_set(err, FIRN_EINPUT,
                     "%s is in degrees; project it to metres first (gdalwarp -t_srs with the code of a "
                     "projection, such as EPSG:32632)",
                     path);
  if (g[2] != 0.0 || g[4] != 0.0)
    return error_set(err, FIRN_EINPUT, "%s is rotated; turn it north up (gdalwarp does)", path);
  if (g[1] < 0.0 || g[5] > 0.0)
    return error_set(err, FIRN_EINPUT,
                     "%s is upside down: its rows run from south to north; turn it north up "
                     "(gdalwarp does)",
                     path);
  if (!(fabs(g[1] + g[5]) <= 1e-6 * g[1]))
    return error_set(err, FIRN_EINPUT, "%s: its cells are %g x %g m; expected squares (gdalwarp -tr)", path,
                     g[1], -g[5]);
  return FIRN_OK;
}

static int read_values(GDALDatasetH file, const char *path, const double g[6], struct raster **out,
                       struct error *err)
{
  const int columns = gdal.GDALGetRasterXSize(file), rows = gdal.GDALGetRasterYSize(file);
  if (columns < 2 || rows < 2 || columns > MOST_SIDE || rows > MOST_SIDE)
    return error_set(err, FIRN_EINPUT, "%s: %d x %d cells; expected 2 to %d a side", path, columns, rows,
                     MOST_SIDE);
  const GDALRasterBandH band = gdal.GDALGetRasterBand(file, 1);
  struct raster *r = raster_create(columns, rows, g[0] + 0.5 * g[1], g[3] + 0.5 * g[5], g[1]);
  if (gdal.GDALRasterIO(band, GF_Read, 0, 0, columns, rows, r->value, columns, rows, GDT_Float32, 0, 0) !=
      CE_None) {
    raster_destroy(&r);
    return error_set(err, FIRN_EINPUT, "%s: %s", path, gdal.CPLGetLastErrorMsg());
  }
  int has_none = 0;
  const float none = (float)gdal.GDALGetRasterNoDataValue(band, &has_none);
  for (int64_t k = 0; k < r->columns * r->rows; k++)
    if (!isfinite(r->value[k]) || (has_none && r->value[k] == none)) r->value[k] = NAN;
  *out = r;
  return FIRN_OK;
}

int gdal_grid_read(struct raster **out, const char *path, struct error *err)
{
  double g[6];
  int code = load(path, err);
  if (code) return code;
  GDALDatasetH file = gdal.GDALOpenEx(path, GDAL_OF_RASTER | GDAL_OF_READONLY, NULL, NULL, NULL);
  if (!file) return error_set(err, FIRN_EINPUT, "%s: %s", path, gdal.CPLGetLastErrorMsg());
  code = check_place(file, path, g, err);
  if (!code) code = read_values(file, path, g, out, err);
  gdal.GDALClose(file);
  return code;
}

struct rings {
  struct polygons *to;
  int64_t count, capacity;
};

/* Rings of a geometry and of its parts; curves were made straight before. */
static void add_rings(struct rings *r, OGRGeometryH geometry)
{
  const int parts = gdal.OGR_G_GetGeometryCount(geometry);
  for (int k = 0; k < parts; k++) add_rings(r, gdal.OGR_G_GetGeometryRef(geometry, k));
  const int points = gdal.OGR_G_GetPointCount(geometry);
  if (parts || points < 3) return;
  struct polygons *p = r->to;
  for (int k = 0; k < points; k++) {
    p->point = mem_reserve(p->point, &r->capacity, r->count + 1, sizeof *p->point);
    p->point[r->count][0] = gdal.OGR_G_GetX(geometry, k);
    p->point[r->count++][1] = gdal.OGR_G_GetY(geometry, k);
  }
  p->ring = mem_resize(p->ring, (size_t)p->rings + 1, (size_t)p->rings + 2, sizeof *p->ring);
  p->ring[++p->rings] = r->count;
}

static bool is_area(OGRGeometryH geometry)
{
  const OGRwkbGeometryType type = gdal.OGR_GT_Flatten(gdal.OGR_G_GetGeometryType(geometry));
  return type == wkbPolygon || type == wkbMultiPolygon;
}

int gdal_polygons_read(struct polygons *out, const char *path, struct error *err)
{
  int code = load(path, err);
  if (code) return code;
  GDALDatasetH file = gdal.GDALOpenEx(path, GDAL_OF_VECTOR | GDAL_OF_READONLY, NULL, NULL, NULL);
  if (!file) return error_set(err, FIRN_EINPUT, "%s: %s", path, gdal.CPLGetLastErrorMsg());
  struct rings rings = {.to = out};
  out->ring = mem_alloc(1, sizeof *out->ring);
  for (int l = 0; l < gdal.GDALDatasetGetLayerCount(file) && !code; l++) {
    const OGRLayerH layer = gdal.GDALDatasetGetLayer(file, l);
    const OGRSpatialReferenceH frame = gdal.OGR_L_GetSpatialRef(layer);
    if (frame && gdal.OSRIsGeographic(frame))
      code =
          error_set(err, FIRN_EINPUT, "%s is in degrees; project it to metres first (ogr2ogr -t_srs)", path);
    OGRFeatureH feature;
    while (!code && (feature = gdal.OGR_L_GetNextFeature(layer))) {
      OGRGeometryH straight =
          gdal.OGR_F_GetGeometryRef(feature)
              ? gdal.OGR_G_GetLinearGeometry(gdal.OGR_F_GetGeometryRef(feature), 0.0, NULL)
              : NULL;
      if (straight && is_area(straight)) add_rings(&rings, straight);
      if (straight) gdal.OGR_G_DestroyGeometry(straight);
      gdal.OGR_F_Destroy(feature);
    }
  }
  gdal.GDALClose(file);
  if (!code && out->rings == 0) code = error_set(err, FIRN_EINPUT, "%s holds no polygon", path);
  if (code) polygons_free(out);
  return code;
}
#else
/* A source file is not empty. */
extern int gdal_is_left_out;
#endif
