/* Shapes are signed distances: their triangles come from samples on a grid, and each vertex is then moved to
 * the surface along the normal. Boxes have triangles of their own, so that edges stay sharp. */
#include "render/view/view_bodies.h"

#include "base/memory.h"
#include "base/vec.h"
#include "render/preview/palette.h"
#include "surface/march.h"

#include <math.h>
#include <string.h>

enum { CELLS = 44, KEYED_CELLS = 28, MOST_KEYED = 60 };

/* From the world to coordinates of the pose: about its origin, not turned. */
static void to_own(const struct body_pose *pose, const double x[3], double own[3])
{
  const double r[3] = {x[0] - pose->origin[0], x[1] - pose->origin[1], x[2] - pose->origin[2]};
  for (int d = 0; d < 3; d++)
    own[d] = pose->turn[d] * r[0] + pose->turn[3 + d] * r[1] + pose->turn[6 + d] * r[2];
}

static struct mesh *box_mesh(const struct shape *box)
{
  static const int32_t corners[12][3] = {{0, 1, 3}, {0, 3, 2}, {4, 6, 7}, {4, 7, 5}, {0, 4, 5}, {0, 5, 1},
                                         {2, 3, 7}, {2, 7, 6}, {0, 2, 6}, {0, 6, 4}, {1, 5, 7}, {1, 7, 3}};
  struct mesh *mesh = mesh_create(8, 12);
  for (int c = 0; c < 8; c++) {
    const double own[3] = {(c >> 2 ? 1 : -1) * box->half[0], (c >> 1 & 1 ? 1 : -1) * box->half[1],
                           (c & 1 ? 1 : -1) * box->half[2]};
    for (int d = 0; d < 3; d++)
      mesh->vertex[c][d] = box->center[d] + box->axes[3 * d] * own[0] + box->axes[3 * d + 1] * own[1] +
                           box->axes[3 * d + 2] * own[2];
  }
  memcpy(mesh->triangle, corners, sizeof corners);
  return mesh;
}

/* Tiles over bounds, filled with distances. */
static struct tiles *sample(const struct shape *shape, const double lower[3], const double upper[3],
                            int cells)
{
  double longest = 0.0, origin[3];
  int32_t count[3];
  for (int d = 0; d < 3; d++) longest = fmax(longest, upper[d] - lower[d]);
  const double voxel = longest / cells;
  for (int d = 0; d < 3; d++) {
    origin[d] = lower[d] - 1.5 * voxel;
    count[d] = ((int32_t)ceil((upper[d] - lower[d]) / voxel) + 4) / TILE_EDGE + 1;
  }
  const int64_t all = (int64_t)count[0] * count[1] * count[2];
  int32_t(*corner)[3] = mem_alloc((size_t)all, sizeof *corner);
  for (int64_t t = 0; t < all; t++) {
    corner[t][0] = (int32_t)(t / (count[1] * count[2])) * TILE_EDGE;
    corner[t][1] = (int32_t)(t / count[2] % count[1]) * TILE_EDGE;
    corner[t][2] = (int32_t)(t % count[2]) * TILE_EDGE;
  }
  struct tiles *tiles = tiles_create(voxel, origin, (float)voxel, (const int32_t(*)[3])corner, all);
  mem_free(corner);
  for (int64_t t = 0; t < tiles->count; t++)
    for (int k = 0; k < TILE_NODES; k++) {
      const int32_t node[3] = {tiles->corner[t][0] + (k >> 6), tiles->corner[t][1] + (k >> 3 & 7),
                               tiles->corner[t][2] + (k & 7)};
      const double x[3] = {origin[0] + voxel * node[0], origin[1] + voxel * node[1],
                           origin[2] + voxel * node[2]};
      tiles->value[t][k] = (float)shape_distance(shape, x, NULL);
    }
  return tiles;
}

static struct mesh *shape_mesh(const struct shape *shape, int cells)
{
  double lower[3], upper[3];
  if (shape->kind == SHAPE_BOX) return box_mesh(shape);
  if (!shape_bounds(shape, lower, upper)) return NULL;
  struct tiles *tiles = sample(shape, lower, upper, cells);
  struct mesh *mesh = march(tiles);
  for (int64_t v = 0; v < mesh->vertex_count; v++)
    for (int pass = 0; pass < 2; pass++) {
      double n[3];
      const double distance = shape_distance(shape, mesh->vertex[v], n);
      if (!(fabs(distance) < tiles->voxel)) break;
      for (int d = 0; d < 3; d++) mesh->vertex[v][d] -= distance * n[d];
    }
  tiles_destroy(&tiles);
  return mesh;
}

static void put_mesh(struct text *json, const struct mesh *mesh, const struct body_pose *pose)
{
  text_put(json, "{\"v\":[");
  for (int64_t v = 0; v < mesh->vertex_count; v++) {
    double own[3];
    to_own(pose, mesh->vertex[v], own);
    text_put(json, "%s%.4g,%.4g,%.4g", v ? "," : "", own[0], own[1], own[2]);
  }
  text_put(json, "],\"t\":[");
  for (int64_t t = 0; t < mesh->triangle_count; t++)
    text_put(json, "%s%d,%d,%d", t ? "," : "", mesh->triangle[t][0], mesh->triangle[t][1],
             mesh->triangle[t][2]);
  text_put(json, "]}");
}

/* The body's meshes: one, or of a body that deforms one per time; *made becomes the pose numbers' base. */
static void put_meshes(struct text *json, const struct body *body, const double *times, int count,
                       int *mesh_of)
{
  const bool keyed = body->shape.kind == SHAPE_KEYS;
  int made = 0;
  for (int k = 0; k < count; k++) {
    struct body_pose pose;
    body_pose_at(body, times[k], &pose);
    mesh_of[k] = made - 1;
    const bool wanted =
        keyed ? k == 0 || (int64_t)k * MOST_KEYED / count != (int64_t)(k - 1) * MOST_KEYED / count
              : made == 0;
    if (pose.shape.kind == SHAPE_NONE || !(wanted || made == 0)) continue;
    struct mesh *mesh = shape_mesh(&pose.shape, keyed ? KEYED_CELLS : CELLS);
    if (!mesh) continue;
    if (made) text_put(json, ",");
    put_mesh(json, mesh, &pose);
    mesh_destroy(&mesh);
    mesh_of[k] = made++;
  }
}

static void put_numbers(struct text *json, const double *value, int count)
{
  for (int k = 0; k < count; k++) text_put(json, "%s%.6g", k ? "," : "", value[k]);
}

static void put_poses(struct text *json, const struct body *body, const double *times, int count,
                      const int *mesh_of)
{
  for (int k = 0; k < count; k++) {
    struct body_pose pose;
    body_pose_at(body, times[k], &pose);
    if (k) text_put(json, ",");
    if (pose.shape.kind == SHAPE_NONE) {
      text_put(json, "null");
      continue;
    }
    text_put(json, "[%d,", mesh_of[k] < 0 ? 0 : mesh_of[k]);
    if (pose.shape.kind == SHAPE_PLANE) {
      put_numbers(json, pose.shape.center, 3);
      text_put(json, ",");
      put_numbers(json, pose.shape.axis, 3);
    } else {
      put_numbers(json, pose.origin, 3);
      text_put(json, ",");
      put_numbers(json, pose.turn, 9);
    }
    text_put(json, "]");
  }
}

void view_bodies_put(struct text *json, const struct body *bodies, int count, const double *times,
                     int time_count)
{
  int *mesh_of = mem_alloc((size_t)time_count, sizeof *mesh_of);
  bool first = true;
  text_put(json, "[");
  for (int b = 0; b < count; b++) {
    if (bodies[b].shape.kind == SHAPE_NONE) continue;
    float color[3];
    body_color(&bodies[b], b, color);
    text_put(json, "%s{\"name\":\"%s\",\"color\":[%.3f,%.3f,%.3f],\"plane\":%s,\"mesh\":[",
             first ? "" : ",\n", bodies[b].name, (double)color[0], (double)color[1], (double)color[2],
             bodies[b].shape.kind == SHAPE_PLANE ? "true" : "false");
    first = false;
    memset(mesh_of, 0, (size_t)time_count * sizeof *mesh_of);
    if (bodies[b].shape.kind != SHAPE_PLANE) put_meshes(json, &bodies[b], times, time_count, mesh_of);
    text_put(json, "],\"pose\":[");
    put_poses(json, &bodies[b], times, time_count, mesh_of);
    text_put(json, "]}");
  }
  text_put(json, "]");
  mem_free(mesh_of);
}
