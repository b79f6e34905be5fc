/* A field on the nodes of a sparse grid, in tiles of 8^3 nodes: memory follows what is there.
 *
 * Node (i, j, k) lies at origin + voxel (i, j, k). Where there is no tile the field is `outside`. */
#ifndef FIRN_SURFACE_TILES_H
#define FIRN_SURFACE_TILES_H

#include <stdint.h>

enum { TILE_EDGE = 8, TILE_NODES = TILE_EDGE * TILE_EDGE * TILE_EDGE };

struct tiles {
  double voxel, origin[3]; /* m */
  float outside;
  int64_t count;
  int32_t (*corner)[3];       /* first node; ascending by x, then y, then z; owned */
  float (*value)[TILE_NODES]; /* z fastest; owned */
};

/* Tiles with these corners, in any order and repeated as they may be; all values are `outside`. */
struct tiles *tiles_create(double voxel, const double origin[3], float outside, const int32_t (*corner)[3],
                           int64_t count);
void tiles_destroy(struct tiles **tiles);

/* The tile with this corner, -1 where there is none. */
int64_t tiles_find(const struct tiles *tiles, const int32_t corner[3]);

/* Indices of the tiles around tile t, itself in the middle: [(dx + 1) * 9 + (dy + 1) * 3 + dz + 1]. */
void tiles_around(const struct tiles *tiles, int64_t t, int64_t out[27]);

/* Values of nodes -1 .. 8 of a tile, z fastest. */
enum { TILE_APRON = TILE_EDGE + 2 };
void tiles_gather(const struct tiles *tiles, const float (*value)[TILE_NODES], const int64_t around[27],
                  float out[TILE_APRON * TILE_APRON * TILE_APRON]);

/* Rounds down to the corner of a tile. */
static inline int32_t tile_floor(int32_t node)
{
  return node & ~(TILE_EDGE - 1);
}

#endif
