/* The one piece of Firn that is C++ (vdb_file.cpp), seen from C. Only built where OpenVDB is found. */
#ifndef FIRN_RENDER_VDB_FILE_H
#define FIRN_RENDER_VDB_FILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tiles of 8^3 voxels, x slowest. */
struct vdb_tiles {
  int64_t count;
  const int32_t (*corner)[3];
  const float (*density)[512];
  const float (*velocity)[512][3];
};

/* 0, or -1 with the reason in `why`. */
int vdb_file_write(const char *path, double voxel, const double origin[3], const struct vdb_tiles *tiles,
                   char *why, size_t size);

/* A closed mesh, and velocities around it. */
struct vdb_mesh {
  int64_t vertex_count, triangle_count;
  const double (*vertex)[3];
  const int32_t (*triangle)[3];
  void (*velocity)(const void *context, const double x[3], float out[3]);
  const void *context;
};

/* The level set of a mesh in a band of three voxels to both sides. As above. */
int vdb_file_write_surface(const char *path, double voxel, const struct vdb_mesh *mesh, char *why,
                           size_t size);

#ifdef __cplusplus
}
#endif

#endif
