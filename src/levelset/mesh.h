/* Triangle meshes as they come from files: made usable before a distance is asked of them. */
#ifndef FIRN_LEVELSET_MESH_H
#define FIRN_LEVELSET_MESH_H

#include <stdbool.h>
#include <stdint.h>

struct mesh {
  int64_t vertex_count, triangle_count;
  double (*vertex)[3];    /* m; owned */
  int32_t (*triangle)[3]; /* vertices, counter-clockwise seen from outside; owned */
};

/* Room for so many vertices and triangles, all zero. */
struct mesh *mesh_create(int64_t vertices, int64_t triangles);
void mesh_destroy(struct mesh **mesh);

/* Makes vertices at the same place one (files such as STL repeat them) and drops triangles without area.
 * Returns how many triangles are left. */
int64_t mesh_weld(struct mesh *mesh);

/* Turns triangles so that neighbours agree, piece by piece as most of a piece's area has it, and everything
 * when the whole is inside out. Returns how many were turned. For a welded mesh. */
int64_t mesh_orient(struct mesh *mesh);

/* Area-weighted normal (not of unit length) of a triangle. */
void mesh_normal(const struct mesh *mesh, int64_t triangle, double n[3]);

/* Whether all of a welded mesh lies in one plane: then nothing is inside. */
bool mesh_is_flat(const struct mesh *mesh);

void mesh_bounds(const struct mesh *mesh, double lower[3], double upper[3]);

#endif
