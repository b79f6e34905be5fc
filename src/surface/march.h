/* The zero level of a field as a closed mesh of triangles (marching cubes).
 *
 * The triangles of each of the 256 cases are found once, from the faces of the cube: a face is cut by the
 * signs of its own four corners alone, so both cubes at it agree, and no triangle has an inner edge in a
 * face. So every edge of the mesh belongs to two triangles, in opposite directions. Vertices lie on edges of
 * the grid, and in the middle of the few loops that no fan fills. */
#ifndef FIRN_SURFACE_MARCH_H
#define FIRN_SURFACE_MARCH_H

#include "levelset/mesh.h"
#include "surface/tiles.h"

/* Inside is below zero. The outermost nodes of the tiles next to space without tiles must be outside.
 * Triangles are counter-clockwise seen from outside; their order depends on the field alone. */
struct mesh *march(const struct tiles *tiles);

#endif
