/* What the mesh readers share: a mesh that grows, and a place in the file. */
#ifndef FIRN_IO_MESH_PARTS_H
#define FIRN_IO_MESH_PARTS_H

#include "base/error.h"
#include "levelset/mesh.h"

#include <stdbool.h>
#include <stddef.h>

struct mesh_source {
  const char *path;
  const char *at, *end; /* what is left of the bytes */
  const char *begin;
  struct mesh *mesh;
  int64_t vertex_room, triangle_room;
  struct error *err;
};

/* Add to the mesh; an index beyond what an int32 holds is an error. */
int mesh_add_vertex(struct mesh_source *s, const double x[3]);
int mesh_add_triangle(struct mesh_source *s, int64_t a, int64_t b, int64_t c);

/* The file's line that `at` stands in, from 1. */
long mesh_line(const struct mesh_source *s);

/* "path:line: message"; returns FIRN_EINPUT. */
int mesh_fail(const struct mesh_source *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next word of text, which ends at white space; false at the end of the file. */
bool mesh_word(struct mesh_source *s, const char **word, size_t *length);

/* The next word as a finite number. */
int mesh_number(struct mesh_source *s, double *out);

int mesh_read_obj(struct mesh_source *s);
int mesh_read_stl(struct mesh_source *s);
int mesh_read_ply(struct mesh_source *s);

#endif
