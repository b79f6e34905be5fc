/* Free flights through snow by delta tracking (Woodcock 1965), and what gets through by ratio tracking
 * (Novak, Selle and Jarosz 2014).
 *
 * A tentative collision is drawn against the majorant of the block that the ray is in. Most flights end in
 * the block where they begin, since packed snow stops light within a voxel or less: such a flight is known by
 * its end point being in the same block, without a division. Else the ray goes from block to block, from tile
 * to tile where there is none, and in steps of a brick where there is nothing.
 *
 * Bodies are looked for only when a ray comes to a block that one may touch, or leaves the snow. */
#ifndef FIRN_RENDER_FLIGHT_H
#define FIRN_RENDER_FLIGHT_H

#include "render/trace/sampler.h"
#include "render/trace/solids.h"
#include "render/trace/volume.h"

#include <math.h>

enum flight_end { FLIGHT_ESCAPES, FLIGHT_COLLIDES, FLIGHT_HITS };

/* What a path runs through: one moment of it. */
struct medium {
  const struct volume *volume;
  const struct solids *solids;
  int moment; /* of the solids */
};

/* Three components and one that is not used: all axes in one instruction. */
typedef float axes4 __attribute__((vector_size(16)));
typedef int32_t index4 __attribute__((vector_size(16)));

struct ray {
  axes4 p, d, inverse; /* voxels; unit; 1/d */
  index4 voxel;        /* decides where p is, also on a face between two */
  int32_t tile;        /* as volume_find(); -3: outside of all bricks */
  int body;            /* that the wall is of */
  float way;           /* voxels since the ray began */
  float wall;          /* voxels to the nearest body, from the same point; negative: not looked for yet */
};

/* A ray from a point in space (m, unit direction), and one that continues from where another ray is. */
void ray_begin(struct ray *ray, const struct medium *medium, const double origin[3],
               const double direction[3]);
void ray_turn(struct ray *ray, const float direction[3]);

/* Goes on to the next collision, body, or away. The extinction is the volume's times `scale`. */
enum flight_end flight(struct ray *ray, const struct medium *medium, float scale, struct sampler *sampler);

/* An estimate of the part of the light that comes along the ray from far away; 0 behind a body. */
float flight_transmittance(struct ray *ray, const struct medium *medium, float scale,
                           struct sampler *sampler);

/* Where its wall is (m), once a flight has hit it. */
void ray_wall(const struct ray *ray, const struct medium *medium, double out[3]);

#endif
