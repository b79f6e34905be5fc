/* A surface as an OpenVDB file: the grids `surface` (signed distance, m, negative inside, three voxels to
 * both sides) and `vel` (m/s). */
#ifndef FIRN_SURFACE_SKIN_VDB_H
#define FIRN_SURFACE_SKIN_VDB_H

#include "base/error.h"
#include "surface/skin.h"

/* An error if Firn was built without OpenVDB. */
int skin_vdb_check(const char *path, struct error *err);

int skin_vdb_write(const char *path, const struct skin *skin, double voxel, struct error *err);

#endif
