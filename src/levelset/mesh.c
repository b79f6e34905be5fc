/* See mesh.h.
 *
 * Welding hashes the bits of positions. Orientation walks over edges that exactly two triangles share; edges
 * with one (a hole) or more (pieces that touch) stop the walk, so a piece is what is joined by clean edges.
 */
#include "levelset/mesh.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/vec.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct mesh *mesh_create(int64_t vertices, int64_t triangles)
{
  struct mesh *mesh = mem_alloc(1, sizeof *mesh);
  mesh->vertex_count = vertices;
  mesh->triangle_count = triangles;
  mesh->vertex = mem_alloc((size_t)vertices, sizeof *mesh->vertex);
  mesh->triangle = mem_alloc((size_t)triangles, sizeof *mesh->triangle);
  return mesh;
}

void mesh_destroy(struct mesh **mesh)
{
  if (!*mesh) return;
  mem_free((*mesh)->vertex);
  mem_free((*mesh)->triangle);
  mem_free(*mesh);
  *mesh = NULL;
}

void mesh_normal(const struct mesh *mesh, int64_t t, double n[3])
{
  const int32_t *v = mesh->triangle[t];
  double a[3], b[3];
  vec_sub(mesh->vertex[v[1]], mesh->vertex[v[0]], a);
  vec_sub(mesh->vertex[v[2]], mesh->vertex[v[0]], b);
  vec_cross(a, b, n);
  for (int d = 0; d < 3; d++) n[d] *= 0.5;
}

void mesh_bounds(const struct mesh *mesh, double lower[3], double upper[3])
{
  for (int d = 0; d < 3; d++) {
    lower[d] = INFINITY;
    upper[d] = -INFINITY;
  }
  for (int64_t t = 0; t < mesh->triangle_count; t++)
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++) {
        lower[d] = fmin(lower[d], mesh->vertex[mesh->triangle[t][k]][d]);
        upper[d] = fmax(upper[d], mesh->vertex[mesh->triangle[t][k]][d]);
      }
}

bool mesh_is_flat(const struct mesh *mesh)
{
  double lower[3], upper[3], size[3], n[3], normal[3] = {0.0, 0.0, 0.0}, farthest = 0.0;
  const double *point = NULL;
  mesh_bounds(mesh, lower, upper);
  vec_sub(upper, lower, size);
  for (int64_t t = 0; t < mesh->triangle_count; t++) { /* the largest triangle has the best normal */
    mesh_normal(mesh, t, n);
    if (point && vec_norm(n) <= vec_norm(normal)) continue;
    memcpy(normal, n, sizeof normal);
    point = mesh->vertex[mesh->triangle[t][0]];
  }
  vec_normalize(normal);
  for (int64_t t = 0; t < mesh->triangle_count; t++)
    for (int k = 0; k < 3; k++) {
      vec_sub(mesh->vertex[mesh->triangle[t][k]], point, n);
      farthest = fmax(farthest, fabs(vec_dot(n, normal)));
    }
  return farthest <= 1e-6 * vec_norm(size);
}

static uint64_t place_hash(const double x[3])
{
  uint64_t hash = 0;
  for (int d = 0; d < 3; d++) {
    const double value = x[d] + 0.0; /* -0 is 0 */
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    hash = rng_mix(hash + bits);
  }
  return hash;
}

/* For every vertex the first one at its place. */
static int32_t *find_same(const struct mesh *mesh)
{
  size_t size = 16;
  while (size < 2 * (size_t)mesh->vertex_count) size *= 2;
  int32_t *slot = mem_alloc(size, sizeof *slot), *same = mem_alloc((size_t)mesh->vertex_count, sizeof *same);
  for (int64_t v = 0; v < mesh->vertex_count; v++) {
    const double *x = mesh->vertex[v];
    size_t at = (size_t)place_hash(x) & (size - 1);
    for (; slot[at]; at = (at + 1) & (size - 1)) { /* slots hold vertex + 1 */
      const double *y = mesh->vertex[slot[at] - 1];
      if (x[0] == y[0] && x[1] == y[1] && x[2] == y[2]) break;
    }
    if (!slot[at]) slot[at] = (int32_t)v + 1;
    same[v] = slot[at] - 1;
  }
  mem_free(slot);
  return same;
}

int64_t mesh_weld(struct mesh *mesh)
{
  int32_t *same = find_same(mesh);
  int64_t kept = 0;
  for (int64_t t = 0; t < mesh->triangle_count; t++) {
    double n[3];
    for (int k = 0; k < 3; k++) mesh->triangle[kept][k] = same[mesh->triangle[t][k]];
    mesh_normal(mesh, kept, n);
    kept += vec_dot(n, n) > 0.0;
  }
  mem_free(same);
  mesh->triangle_count = kept;
  return kept;
}

/* Half-edges of a mesh, listed by their lower vertex: half-edge 3 t + k goes from corner k of t to the next.
 */
struct edges {
  int64_t *start; /* [vertex_count + 1] */
  int64_t *half;
};

static void edge_ends(const struct mesh *mesh, int64_t half, int32_t *low, int32_t *high, bool *rising)
{
  const int32_t *v = mesh->triangle[half / 3], a = v[half % 3], b = v[(half + 1) % 3];
  *rising = a < b;
  *low = a < b ? a : b;
  *high = a < b ? b : a;
}

static void edges_create(struct edges *e, const struct mesh *mesh)
{
  const int64_t halves = 3 * mesh->triangle_count;
  int32_t low, high;
  bool rising;
  e->start = mem_alloc((size_t)mesh->vertex_count + 2, sizeof *e->start);
  e->half = mem_alloc((size_t)halves, sizeof *e->half);
  for (int64_t h = 0; h < halves; h++) {
    edge_ends(mesh, h, &low, &high, &rising);
    e->start[low + 2]++;
  }
  for (int64_t v = 2; v <= mesh->vertex_count + 1; v++) e->start[v] += e->start[v - 1];
  for (int64_t h = 0; h < halves; h++) {
    edge_ends(mesh, h, &low, &high, &rising);
    e->half[e->start[low + 1]++] = h;
  }
}

static void edges_destroy(struct edges *e)
{
  mem_free(e->start);
  mem_free(e->half);
}

/* The one other triangle at a half-edge, or -1; *agrees: whether both run round in the same sense. */
static int64_t across(const struct edges *e, const struct mesh *mesh, int64_t half, bool *agrees)
{
  int32_t low, high, l, h;
  bool rising, other;
  int64_t found = -1;
  edge_ends(mesh, half, &low, &high, &rising);
  for (int64_t k = e->start[low]; k < e->start[low + 1]; k++) {
    edge_ends(mesh, e->half[k], &l, &h, &other);
    if (h != high || e->half[k] == half) continue;
    if (found >= 0) return -1;
    found = e->half[k] / 3;
    *agrees = other != rising;
  }
  return found;
}

enum { UNSEEN, KEEP, TURN };

static double area_of(const struct mesh *mesh, int64_t t)
{
  double n[3];
  mesh_normal(mesh, t, n);
  return vec_norm(n);
}

/* Marks all triangles of the piece with `first` as KEEP or TURN; by area, most are kept. */
static void orient_piece(const struct edges *e, const struct mesh *mesh, int64_t first, uint8_t *mark,
                         int64_t *queue)
{
  int64_t count = 1;
  double balance = 0.0;
  queue[0] = first;
  mark[first] = KEEP;
  for (int64_t k = 0; k < count; k++) {
    const int64_t t = queue[k];
    balance += mark[t] == KEEP ? area_of(mesh, t) : -area_of(mesh, t);
    for (int c = 0; c < 3; c++) {
      bool agrees = false;
      const int64_t next = across(e, mesh, 3 * t + c, &agrees);
      if (next < 0 || mark[next] != UNSEEN) continue;
      mark[next] = (mark[t] == KEEP) == agrees ? KEEP : TURN;
      queue[count++] = next;
    }
  }
  for (int64_t k = 0; k < count && balance < 0.0; k++) mark[queue[k]] = mark[queue[k]] == KEEP ? TURN : KEEP;
}

static void turn_triangle(struct mesh *mesh, int64_t t)
{
  const int32_t kept = mesh->triangle[t][1];
  mesh->triangle[t][1] = mesh->triangle[t][2];
  mesh->triangle[t][2] = kept;
}

/* Six times the volume that the mesh encloses, about the middle of its bounds. */
static double enclosed(const struct mesh *mesh)
{
  double lower[3], upper[3], sum = 0.0;
  mesh_bounds(mesh, lower, upper);
  for (int64_t t = 0; t < mesh->triangle_count; t++) {
    double n[3], at[3];
    mesh_normal(mesh, t, n);
    for (int d = 0; d < 3; d++) at[d] = mesh->vertex[mesh->triangle[t][0]][d] - 0.5 * (lower[d] + upper[d]);
    sum += 2.0 * vec_dot(n, at);
  }
  return sum;
}

int64_t mesh_orient(struct mesh *mesh)
{
  struct edges edges;
  const size_t count = (size_t)mesh->triangle_count;
  uint8_t *mark = mem_alloc(count, sizeof *mark);
  int64_t *queue = mem_alloc(count, sizeof *queue), turned = 0;
  edges_create(&edges, mesh);
  for (int64_t t = 0; t < mesh->triangle_count; t++)
    if (mark[t] == UNSEEN) orient_piece(&edges, mesh, t, mark, queue);
  for (int64_t t = 0; t < mesh->triangle_count; t++) {
    if (mark[t] != TURN) continue;
    turn_triangle(mesh, t);
    turned++;
  }
  edges_destroy(&edges);
  mem_free(queue);
  mem_free(mark);
  if (enclosed(mesh) >= 0.0) return turned;
  for (int64_t t = 0; t < mesh->triangle_count; t++) turn_triangle(mesh, t);
  return mesh->triangle_count - turned;
}
