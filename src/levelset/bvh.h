/* A tree of patches over the triangles of a mesh: the nearest point of the surface, and the winding number.
 *
 * The tree is flat memory without pointers, so that the ranks of a node can share one. The winding number is
 * that of Jacobson et al. 2013 (the sum of signed solid angles over 4 pi), which grows from 0 outside to 1
 * inside and stays on the right side of 1/2 across holes; triangles far away count as one dipole a box
 * (Barill et al. 2018). IEEE basic operations only. */
#ifndef FIRN_LEVELSET_BVH_H
#define FIRN_LEVELSET_BVH_H

#include "levelset/mesh.h"

#include <stddef.h>

/* A patch lies in a disc: round its centre, across its mean normal. Smooth patches have thin discs, which
 * tell much better than boxes how near they can be. */
struct bvh_node {
  double normal[3]; /* m^2, sum of area times normal */
  double axis[3];   /* unit, along the normal */
  double center[3]; /* m, mean by area */
  double radius;    /* m, from center to the farthest vertex */
  double thickness; /* m, along the axis to the farthest vertex */
  int32_t first;    /* leaf: first triangle; else: the right child (the left one follows the node) */
  int32_t count;    /* triangles of a leaf, else 0 */
};

struct bvh {
  int64_t node_count, triangle_count;
  const struct bvh_node *node;
  const double (*corner)[9]; /* of the triangles in tree order */
  const int32_t *origin;     /* their index in the mesh */
};

/* Bytes that the tree of so many triangles needs, and the tree made in such a block, which bvh_view() finds
 * again. */
size_t bvh_size(int64_t triangles);
void bvh_build(void *block, const struct mesh *mesh);
struct bvh bvh_view(const void *block);

struct bvh_hit {
  double distance;  /* m; infinite for a point that is not finite */
  int32_t triangle; /* in tree order */
  double weight[3]; /* of its corners, at the nearest point */
};

/* Nearest triangle to x, or one farther by no more than the tolerance (m): a mesh much finer than the grid
 * need not be searched to its last triangle. One that is likely near, as a hint, or -1, spares work. */
struct bvh_hit bvh_nearest(const struct bvh *bvh, const double x[3], int32_t hint, double tolerance);

double bvh_winding(const struct bvh *bvh, const double x[3]);

#endif
