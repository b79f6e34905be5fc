/* Triangle meshes from OBJ, STL and PLY files, read strictly: what is damaged, cut short or not a number is
 * an error that says where.
 *
 * These formats are small enough to read ourselves; the common library for meshes (assimp) reads forty others
 * as well, repairs silently, and is a large surface to feed with files from anywhere. */
#ifndef FIRN_IO_MESH_FILE_H
#define FIRN_IO_MESH_FILE_H

#include "base/error.h"
#include "levelset/mesh.h"

#include <stddef.h>

/* Reads the file's bytes (with a zero byte behind them), whose kind follows from the suffix of the path.
 * Coordinates are multiplied by scale. Polygons become fans of triangles. On success *out belongs to the
 * caller and has vertices that are finite and triangles whose vertices exist. */
int mesh_file_parse(struct mesh **out, const char *path, const char *bytes, size_t size, double scale,
                    struct error *err);

/* Reads the bytes of a file, at most 16 GiB; to be freed with mem_free(). */
int mesh_file_load(const char *path, char **bytes, size_t *size, struct error *err);

#endif
