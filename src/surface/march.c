#include "surface/march.h"

#include "base/log.h"
#include "base/memory.h"

#include <string.h>

/* Corner c of a cube is at (c >> 2, c >> 1 & 1, c & 1). Edges 0 .. 3 run along x, 4 .. 7 along y, 8 .. 11
 * along z; edge_ends[e] are their corners. */
static const uint8_t edge_ends[12][2] = {{0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 2}, {1, 3},
                                         {4, 6}, {5, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}};

/* Corners of each face, counter-clockwise seen from outside the cube. */
static const uint8_t face_corners[6][4] = {{0, 1, 3, 2}, {4, 6, 7, 5}, {0, 4, 5, 1},
                                           {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 5, 7, 3}};

enum { MIDDLE = 12, MOST_TRIANGLES = 12 }; /* of a case; vertex MIDDLE + n is that of loop n */

struct march_case {
  int triangles, middles;
  uint8_t vertex[MOST_TRIANGLES][3];
  uint16_t loop[4]; /* edges of the loops that have a middle, as bits */
};

static int edge_between(int a, int b)
{
  for (int e = 0; e < 12; e++)
    if ((edge_ends[e][0] == a && edge_ends[e][1] == b) || (edge_ends[e][0] == b && edge_ends[e][1] == a))
      return e;
  return -1;
}

static bool on_face(int edge, int face)
{
  int found = 0;
  for (int k = 0; k < 4; k++)
    found += face_corners[face][k] == edge_ends[edge][0] || face_corners[face][k] == edge_ends[edge][1];
  return found == 2;
}

static bool share_face(int a, int b)
{
  for (int f = 0; f < 6; f++)
    if (on_face(a, f) && on_face(b, f)) return true;
  return false;
}

/* next[e]: the edge that the surface's border goes to from e, over a face, with the inside on its right seen
 * from outside the cube. Where a face is cut twice, its inner corners are kept apart. */
static void trace_faces(int signs, int next[12])
{
  for (int e = 0; e < 12; e++) next[e] = -1;
  for (int f = 0; f < 6; f++)
    for (int k = 0; k < 4; k++) {
      const int here = face_corners[f][k], before = face_corners[f][(k + 3) % 4];
      if (!(signs >> here & 1) || (signs >> before & 1)) continue;
      /* The corners from `here` on are inside, up to where the face is left again. */
      int last = k;
      while (signs >> face_corners[f][(last + 1) % 4] & 1) last = (last + 1) % 4;
      next[edge_between(face_corners[f][last], face_corners[f][(last + 1) % 4])] = edge_between(before, here);
    }
}

static void add_triangle(struct march_case *c, int v0, int v1, int v2)
{
  FIRN_ASSERT(c->triangles < MOST_TRIANGLES);
  const uint8_t vertex[3] = {(uint8_t)v0, (uint8_t)v2, (uint8_t)v1};
  memcpy(c->vertex[c->triangles++], vertex, sizeof vertex);
}

/* A fan whose inner edges lie in no face, else one around a vertex in the middle. */
static void fill_loop(struct march_case *c, const int *loop, int length)
{
  for (int apex = 0; apex < length; apex++) {
    bool good = true;
    for (int k = 2; k < length - 1 && good; k++) good = !share_face(loop[apex], loop[(apex + k) % length]);
    if (!good) continue;
    for (int k = 1; k < length - 1; k++)
      add_triangle(c, loop[apex], loop[(apex + k) % length], loop[(apex + k + 1) % length]);
    return;
  }
  for (int k = 0; k < length; k++) {
    add_triangle(c, MIDDLE + c->middles, loop[k], loop[(k + 1) % length]);
    c->loop[c->middles] = (uint16_t)(c->loop[c->middles] | 1 << loop[k]);
  }
  c->middles++;
}

static void make_case(struct march_case *c, int signs)
{
  int next[12], loop[12];
  memset(c, 0, sizeof *c);
  trace_faces(signs, next);
  for (int e = 0; e < 12; e++) {
    int length = 0;
    for (int at = e; next[at] >= 0;) {
      const int to = next[at];
      loop[length++] = at;
      next[at] = -1;
      at = to;
    }
    if (length > 0) fill_loop(c, loop, length);
  }
}

struct marcher {
  const struct tiles *tiles;
  struct march_case cases[256];
  struct mesh *mesh;
  int64_t vertex_room, triangle_room;
  int32_t (
      **numbers)[3]; /* of each tile that has any: the vertex on each edge that begins at a node, plus 1 */
};

static int32_t add_vertex(struct marcher *m, const double at[3])
{
  struct mesh *mesh = m->mesh;
  if (mesh->vertex_count >= INT32_MAX) firn_fatal("a surface of more than 2^31 vertices; use a larger voxel");
  mesh->vertex = mem_reserve(mesh->vertex, &m->vertex_room, mesh->vertex_count + 1, sizeof *mesh->vertex);
  for (int d = 0; d < 3; d++)
    mesh->vertex[mesh->vertex_count][d] = m->tiles->origin[d] + m->tiles->voxel * at[d];
  return (int32_t)mesh->vertex_count++;
}

/* The vertex on the edge from a node of tile t (0 .. 8 on each axis) along an axis. */
static int32_t edge_vertex(struct marcher *m, const int64_t around[27], const int node[3], int axis, float a,
                           float b)
{
  int inner = 0, place = 0;
  int32_t global[3];
  for (int d = 0; d < 3; d++) {
    inner = inner * TILE_EDGE + node[d] % TILE_EDGE;
    place = place * 3 + node[d] / TILE_EDGE + 1;
    global[d] = m->tiles->corner[around[13]][d] + node[d];
  }
  const int64_t t = around[place];
  FIRN_ASSERT(t >= 0);
  if (!m->numbers[t]) m->numbers[t] = mem_alloc(TILE_NODES, sizeof **m->numbers);
  int32_t *number = &m->numbers[t][inner][axis];
  if (*number == 0) {
    double at[3] = {global[0], global[1], global[2]};
    const double part = (double)a / ((double)a - (double)b);
    at[axis] += part > 1e-3 ? part < 0.999 ? part : 0.999 : 1e-3; /* no two vertices at one node */
    *number = add_vertex(m, at) + 1;
  }
  return *number - 1;
}

static void middle_vertices(struct marcher *m, const struct march_case *c, int32_t vertex[16])
{
  for (int n = 0; n < c->middles; n++) {
    double at[3] = {0.0, 0.0, 0.0};
    int count = 0;
    for (int e = 0; e < 12; e++) {
      if (!(c->loop[n] >> e & 1)) continue;
      count++;
      for (int d = 0; d < 3; d++) at[d] += m->mesh->vertex[vertex[e]][d];
    }
    for (int d = 0; d < 3; d++) at[d] = (at[d] / count - m->tiles->origin[d]) / m->tiles->voxel;
    vertex[MIDDLE + n] = add_vertex(m, at);
  }
}

static void march_cube(struct marcher *m, const int64_t around[27], const int cube[3], const float corner[8])
{
  int signs = 0;
  int32_t vertex[16];
  for (int c = 0; c < 8; c++) signs |= (corner[c] < 0.0f) << c;
  const struct march_case *kind = &m->cases[signs];
  if (kind->triangles == 0) return;
  for (int e = 0; e < 12; e++) {
    const int a = edge_ends[e][0], b = edge_ends[e][1];
    if ((signs >> a & 1) == (signs >> b & 1)) continue;
    const int node[3] = {cube[0] + (a >> 2), cube[1] + (a >> 1 & 1), cube[2] + (a & 1)};
    vertex[e] = edge_vertex(m, around, node, e / 4, corner[a], corner[b]);
  }
  middle_vertices(m, kind, vertex);
  struct mesh *mesh = m->mesh;
  mesh->triangle = mem_reserve(mesh->triangle, &m->triangle_room, mesh->triangle_count + kind->triangles,
                               sizeof *mesh->triangle);
  for (int k = 0; k < kind->triangles; k++, mesh->triangle_count++)
    for (int v = 0; v < 3; v++) mesh->triangle[mesh->triangle_count][v] = vertex[kind->vertex[k][v]];
}

/* Whether the field changes its sign between the nodes of a tile and those of its upper neighbours. */
static bool has_surface(const float *apron)
{
  int inside = 0, all = 0;
  for (int i = 1; i < TILE_APRON; i++)
    for (int j = 1; j < TILE_APRON; j++)
      for (int k = 1; k < TILE_APRON; k++, all++)
        inside += apron[(i * TILE_APRON + j) * TILE_APRON + k] < 0.0f;
  return inside > 0 && inside < all;
}

static void march_tile(struct marcher *m, int64_t t)
{
  float apron[TILE_APRON * TILE_APRON * TILE_APRON], corner[8];
  int64_t around[27];
  tiles_around(m->tiles, t, around);
  tiles_gather(m->tiles, (const float(*)[TILE_NODES])m->tiles->value, around, apron);
  if (!has_surface(apron)) return;
  int cube[3];
  for (cube[0] = 0; cube[0] < TILE_EDGE; cube[0]++)
    for (cube[1] = 0; cube[1] < TILE_EDGE; cube[1]++)
      for (cube[2] = 0; cube[2] < TILE_EDGE; cube[2]++) {
        for (int c = 0; c < 8; c++)
          corner[c] =
              apron[((cube[0] + 1 + (c >> 2)) * TILE_APRON + cube[1] + 1 + (c >> 1 & 1)) * TILE_APRON +
                    cube[2] + 1 + (c & 1)];
        march_cube(m, around, cube, corner);
      }
}

struct mesh *march(const struct tiles *tiles)
{
  struct marcher *m = mem_alloc(1, sizeof *m);
  for (int signs = 0; signs < 256; signs++) make_case(&m->cases[signs], signs);
  m->tiles = tiles;
  m->mesh = mesh_create(0, 0);
  m->numbers = mem_alloc((size_t)tiles->count, sizeof *m->numbers);
  for (int64_t t = 0; t < tiles->count; t++) march_tile(m, t);
  for (int64_t t = 0; t < tiles->count; t++) mem_free(m->numbers[t]);
  mem_free(m->numbers);
  struct mesh *mesh = m->mesh;
  mem_free(m);
  return mesh;
}
