#include "contact.h"

#include <math.h>
#include <stddef.h>

/* World position of a node. */
static void node_position(const struct grid_frame *frame, int64_t plane, int64_t y, int64_t z, double x[3])
{
  const int64_t index[3] = {plane, y, z};
  for (int a = 0; a < 3; a++) x[frame->axis[a]] = frame->lower[a] + frame->spacing * (double)(index[a] - 1);
}

static int64_t collide_tile(struct grid *g, int64_t plane, int32_t tile, const struct body_pose *pose)
{
  const int64_t ty = (int64_t)(g->tile_key[tile] >> 32), tz = (int64_t)(g->tile_key[tile] & 0xffffffffu);
  const double *momentum = g->group[GROUP_MOMENTUM] + (int64_t)tile * TILE_DOUBLES;
  double *velocity = g->group[GROUP_VELOCITY] + (int64_t)tile * TILE_DOUBLES;
  int64_t count = 0;
  for (int k = 0; k < TILE_NODES; k++) {
    if (!(momentum[4 * k] > 0.0)) continue;
    double x[3];
    node_position(&g->frame, plane, ty * TILE_Y + k / TILE_Z, tz * TILE_Z + k % TILE_Z, x);
    if (!body_collide(pose, x, velocity + 4 * k + 1)) continue;
    count += velocity[4 * k] == 0.0;
    velocity[4 * k] = 1.0;
  }
  return count;
}

int64_t contact_nodes(struct grid *g, const struct body_pose *poses, int pose_count, int32_t begin,
                      int32_t end)
{
  const double y = 0.5 * (TILE_Y - 1), z = 0.5 * (TILE_Z - 1);
  const double radius = 1.001 * g->frame.spacing * sqrt(y * y + z * z);
  int64_t count = 0;
  for (int32_t plane = begin; plane < end; plane++)
    for (int32_t tile = g->plane_tile[plane]; tile < g->plane_tile[plane + 1]; tile++) {
      const int64_t ty = (int64_t)(g->tile_key[tile] >> 32), tz = (int64_t)(g->tile_key[tile] & 0xffffffffu);
      double low[3], high[3], center[3];
      node_position(&g->frame, g->first + plane, ty * TILE_Y, tz * TILE_Z, low);
      node_position(&g->frame, g->first + plane, ty * TILE_Y + TILE_Y - 1, tz * TILE_Z + TILE_Z - 1, high);
      for (int d = 0; d < 3; d++) center[d] = 0.5 * (low[d] + high[d]);
      for (int k = 0; k < pose_count; k++)
        if (body_may_touch(&poses[k], center, radius))
          count += collide_tile(g, g->first + plane, tile, &poses[k]);
    }
  return count;
}
