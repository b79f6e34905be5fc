/* Snow as light meets it: an extinction coefficient on a sparse grid of nodes, trilinear between them.
 *
 * Positions are in voxels, node n at n; extinction is per voxel. A tile is 8^3 voxels with the 9^3 nodes
 * around them, so that a look-up never leaves it; a brick is 8^3 tiles, and bricks are found by hashing. So
 * memory follows the snow and not its box, and a ray crosses empty space in steps of 64 voxels. Each tile has
 * the largest extinction of its blocks of 2^3 voxels: the majorants of delta tracking.
 *
 * The tiles are made by all ranks together and held once a node. Every sum is taken in the order of the
 * particles, so the bits do not depend on the ranks. */
#ifndef FIRN_RENDER_VOLUME_H
#define FIRN_RENDER_VOLUME_H

#include "base/error.h"
#include "bodies/body.h"
#include "decomposition/comm.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  VOLUME_TILE = 8,
  VOLUME_EDGE = VOLUME_TILE + 1,
  VOLUME_NODES = VOLUME_EDGE * VOLUME_EDGE * VOLUME_EDGE,
  VOLUME_BLOCK_BITS = 1, /* a block is 2^bits voxels a side */
  VOLUME_BLOCK_SIDE = VOLUME_TILE >> VOLUME_BLOCK_BITS,
  VOLUME_BLOCKS = VOLUME_BLOCK_SIDE * VOLUME_BLOCK_SIDE * VOLUME_BLOCK_SIDE,
  VOLUME_BRICK = 512, /* tiles in a brick */
  VOLUME_LOOKS = 4
};

struct volume_tile {
  int32_t corner[3];           /* the first voxel */
  float node[VOLUME_NODES];    /* extinction per voxel; x slowest */
  float block[VOLUME_BLOCKS];  /* largest of each block, x slowest */
  uint8_t near[VOLUME_BLOCKS]; /* 1 where a body may touch the block */
};

struct volume {
  double origin[3]; /* m, of node 0 */
  double voxel;     /* m */
  int threads;      /* that make it */
  int64_t tile_count;
  struct volume_tile *tile;          /* in shared memory */
  uint8_t (*share)[VOLUME_NODES][4]; /* where looks are mixed: share of each look, of 255; else NULL */
  uint64_t *brick_key;               /* open addressing; UINT64_MAX: free */
  int32_t (*brick)[VOLUME_BRICK];    /* tile numbers, -1: none */
  uint32_t brick_mask;               /* table size less one */
  int32_t low[3], high[3];           /* voxels: bounds of all tiles, both multiples of 64 */
  struct node_block *memory, *shares;
  int spare; /* tiles behind the others that stand for many: even inside, of look number / 2; odd: near a body
              */
};

/* What is rasterised. Arrays are the caller's, the same on all ranks. */
struct volume_points {
  int64_t count;
  const float *position; /* m, 3 a particle */
  const float *velocity; /* m/s; NULL where nothing is smeared */
  const float *mass;     /* kg; NULL: all have `same_mass` */
  double same_mass;
  const uint8_t *look; /* index below VOLUME_LOOKS; NULL: all 0 */
  const uint64_t *id;  /* what grains are drawn from; NULL: the index */
  int grains;          /* that each is broken into; 0: it is drawn itself */
  double scatter;      /* m: grains lie up to this far from their particle along each axis */
};

struct volume_options {
  double lattice[3]; /* m, a node of the grid */
  double voxel;      /* m */
  double kernel;     /* m: unit of the cubic kernel, up to twice the voxel; less than it: the voxel */
  double strength[VOLUME_LOOKS]; /* extinction over density, m^2/kg */
  double edge[VOLUME_LOOKS]; /* 1/m: extinction taken off everywhere, so that edges are sharper; 0: none */
  double gain[VOLUME_LOOKS]; /* of what is left, with an edge */
  double from, to;           /* s: particles are smeared along x + v t for t in [from, to] */
  double slack;              /* majorants are this times larger than they need be; 0: not (tests) */
};

/* Collective over comm (NULL: this process alone). An error where there are no particles, or they lie too far
 * apart for the voxel. */
int volume_create(struct volume **out, const struct comm *comm, const struct volume_points *points,
                  const struct volume_options *options, struct error *err);
void volume_destroy(struct volume **volume);

/* Snow with a surface and with grains (volume_grain.c). */
struct volume_grain {
  double voxel;               /* m, of the grid near surfaces */
  double kernel;              /* m, size of a grain */
  double rest[VOLUME_LOOKS];  /* kg/m^3, of packed matter */
  double full[VOLUME_LOOKS];  /* 1/m, its extinction */
  double rough[VOLUME_LOOKS]; /* part of the density that comes from grains; 0: a smooth surface */
  double level, width;        /* relative density where matter begins, and over which it becomes full */
  double budget;              /* bytes on a node; a voxel that needs more is enlarged */
};

/* Collective, as volume_create(). The points' density is summed on the grid of `options` (lattice, voxel,
 * smear; `strength` and `edge` are not used) and made into matter with a surface on a finer one. */
int volume_create_grained(struct volume **out, const struct comm *comm, const struct volume_points *points,
                          const struct volume_options *options, const struct volume_grain *grain,
                          struct error *err);

/* Collective. Marks the blocks that a body may touch in any of these poses. */
void volume_mark_bodies(struct volume *volume, const struct body_pose *poses, int count);

/* Extinction per voxel at p; 0 outside. */
float volume_extinction(const struct volume *volume, const float p[3]);

/* Number of the tile that holds the voxel; -1: only its brick is there, -2: neither. */
int32_t volume_find(const struct volume *volume, const int32_t voxel[3]);

/* Bytes that it takes on a node. */
double volume_bytes(const struct volume *volume);

/* Number of the voxel's block in its tile. */
static inline int volume_block(int32_t x, int32_t y, int32_t z)
{
  enum { BITS = VOLUME_BLOCK_BITS, SIDE = VOLUME_BLOCK_SIDE };
  return (((x & 7) >> BITS) * SIDE + ((y & 7) >> BITS)) * SIDE + ((z & 7) >> BITS);
}

/* Trilinear in the voxel (x, y, z) of the tile, at the fractions (fx, fy, fz) of it. */
static inline float volume_at(const struct volume_tile *tile, int32_t x, int32_t y, int32_t z, float fx,
                              float fy, float fz)
{
  enum { Y = VOLUME_EDGE, X = VOLUME_EDGE * VOLUME_EDGE };
  const float *n = tile->node + ((x & 7) * VOLUME_EDGE + (y & 7)) * VOLUME_EDGE + (z & 7);
  const float a = n[0] + fz * (n[1] - n[0]), b = n[Y] + fz * (n[Y + 1] - n[Y]);
  const float c = n[X] + fz * (n[X + 1] - n[X]), d = n[X + Y] + fz * (n[X + Y + 1] - n[X + Y]);
  const float e = a + fy * (b - a), f = c + fy * (d - c);
  return e + fx * (f - e);
}

#endif
