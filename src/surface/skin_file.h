/* Surfaces as files: PLY, OBJ, VTP (meshes with normals and velocities) and VDB (a narrow band of signed
 * distances, and velocities). Serial, no MPI. */
#ifndef FIRN_SURFACE_SKIN_FILE_H
#define FIRN_SURFACE_SKIN_FILE_H

#include "base/error.h"
#include "surface/skin.h"

/* Whether the suffix of the path is one of those above. */
int skin_file_check(const char *path, struct error *err);

/* A file that is there is replaced only if it is such a surface. time: s; voxel: m, for VDB. */
int skin_file_write(const char *path, const struct skin *skin, double time, double voxel, struct error *err);

#endif
