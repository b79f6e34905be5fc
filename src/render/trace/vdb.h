/* Density and velocity of a frame as an OpenVDB file, for Houdini and Blender. Serial, no MPI. */
#ifndef FIRN_RENDER_VDB_H
#define FIRN_RENDER_VDB_H

#include "base/error.h"
#include "io/particles/frame.h"
#include "io/scene/scene.h"

/* Rasterises with the cubic kernel on voxels of this size (m), aligned with the scene's grid (NULL: with 0),
 * and writes the grids `density` (kg/m^3) and `velocity` (m/s). An error where Firn was built without
 * OpenVDB. */
int vdb_write(const char *path, const struct frame *frame, const struct scene *scene, double voxel,
              struct error *err);

/* OpenVDB gives each file that it writes a random name of 36 characters. This one follows from what the file
 * holds, so that the same scene gives the same bytes. */
int vdb_name_by_content(const char *path, struct error *err);

/* The error of a build without OpenVDB. */
int vdb_missing(const char *path, struct error *err);

#endif
