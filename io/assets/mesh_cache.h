/* Distance grids of meshes kept on disk, found again by what the mesh file holds.
 *
 * The folder is $FIRN_CACHE, or firn in $XDG_CACHE_HOME, or ~/.cache/firn; FIRN_CACHE set to nothing means no
 * cache. A file that is missing, damaged or of another version is no error: the grid is made again. */
#ifndef FIRN_IO_MESH_CACHE_H
#define FIRN_IO_MESH_CACHE_H

#include "levelset/sdf.h"

#include <stdbool.h>
#include <stddef.h>

/* The path of the grid of this mesh (its file's bytes), scale and spacing, whether it exists or not; NULL
 * without a cache. To be freed with mem_free(). */
char *mesh_cache_path(const char *bytes, size_t size, double scale, double spacing);

/* The same for the level-set keys of a skeleton (its file's bytes). */
char *mesh_cache_keys_path(const char *bytes, size_t size);

/* True if a whole file is there; then *sdf has everything but samples, which mesh_cache_read() brings, again
 * true if all is well. */
bool mesh_cache_find(const char *path, struct sdf *sdf);
bool mesh_cache_read(const char *path, const struct sdf *sdf, float *phi);

/* Keeps a grid, if the folder can be written to. */
void mesh_cache_write(const char *path, const struct sdf *sdf);

#endif
