/* See bvh.h. Built from the top down by the median of the triangles' middles along the longest axis: not the
 * fastest tree to ask, but one that is made in n log n, whose shape depends on the mesh alone. */
#include "levelset/bvh.h"

#include "base/fmath.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/vec.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { LEAF = 2, DEEPEST = 64 };

static const double pi = 0x1.921fb54442d18p+1;

struct header {
  int64_t node_count, triangle_count;
  int64_t unused[6]; /* what follows begins on a cache line */
};

/* A split leaves at least LEAF / 2 + 1 triangles together, or halves of LEAF + 1. */
static int64_t most_nodes(int64_t triangles)
{
  return 2 * (triangles / (LEAF / 2) + 1);
}

size_t bvh_size(int64_t triangles)
{
  return sizeof(struct header) + (size_t)most_nodes(triangles) * sizeof(struct bvh_node) +
         (size_t)triangles * (9 * sizeof(double) + sizeof(int32_t));
}

struct bvh bvh_view(const void *block)
{
  const struct header *header = block;
  const struct bvh_node *node = (const void *)(header + 1);
  const double(*corner)[9] = (const void *)(node + most_nodes(header->triangle_count));
  return (struct bvh){.node_count = header->node_count,
                      .triangle_count = header->triangle_count,
                      .node = node,
                      .corner = corner,
                      .origin = (const void *)(corner + header->triangle_count)};
}

/* --- making --- */

struct builder {
  const struct mesh *mesh;
  struct bvh_node *node;
  double (*corner)[9];
  int32_t *order; /* triangles in tree order */
  double (*middle)[3];
  int64_t node_count;
};

static bool before(const struct builder *b, int axis, int32_t t, int32_t u)
{
  const double x = b->middle[t][axis], y = b->middle[u][axis];
  return x < y || (x == y && t < u);
}

/* Puts the k-th of order[from, to) into its place, smaller ones before it (Hoare's selection). */
static void select_middle(struct builder *b, int axis, int64_t from, int64_t to, int64_t k)
{
  for (to--; from < to;) {
    const int32_t pivot = b->order[from + (to - from) / 2];
    int64_t i = from, j = to;
    while (i <= j) {
      while (before(b, axis, b->order[i], pivot)) i++;
      while (before(b, axis, pivot, b->order[j])) j--;
      if (i > j) break;
      const int32_t kept = b->order[i];
      b->order[i++] = b->order[j];
      b->order[j--] = kept;
    }
    if (k <= j)
      to = j;
    else if (k >= i)
      from = i;
    else
      return;
  }
}

static const double *vertex_of(const struct builder *b, int64_t i, int corner)
{
  return b->mesh->vertex[b->mesh->triangle[b->order[i]][corner]];
}

/* Dipole and disc over order[from, to). */
static void survey(const struct builder *b, int64_t from, int64_t to, struct bvh_node *node)
{
  double total = 0.0;
  *node = (struct bvh_node){.count = 0};
  for (int64_t i = from; i < to; i++) {
    double n[3];
    mesh_normal(b->mesh, b->order[i], n);
    const double area = vec_norm(n);
    total += area;
    for (int d = 0; d < 3; d++) {
      node->normal[d] += n[d];
      node->center[d] += area * b->middle[b->order[i]][d];
    }
  }
  for (int d = 0; d < 3; d++) {
    node->center[d] /= total;
    node->axis[d] = node->normal[d];
  }
  if (!(vec_normalize(node->axis) > 0.0)) node->axis[0] = 1.0;
  for (int64_t i = from; i < to; i++)
    for (int k = 0; k < 3; k++) {
      double arm[3];
      vec_sub(vertex_of(b, i, k), node->center, arm);
      node->radius = fmax(node->radius, vec_norm(arm));
      node->thickness = fmax(node->thickness, fabs(vec_dot(arm, node->axis)));
    }
}

/* The axis along which the middles of order[from, to) spread most. */
static int longest_axis(const struct builder *b, int64_t from, int64_t to)
{
  int axis = 0;
  double most = -1.0;
  for (int d = 0; d < 3; d++) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = from; i < to; i++) {
      low = fmin(low, b->middle[b->order[i]][d]);
      high = fmax(high, b->middle[b->order[i]][d]);
    }
    if (high - low <= most) continue;
    most = high - low;
    axis = d;
  }
  return axis;
}

static void split(struct builder *b, int64_t from, int64_t to)
{
  const int64_t self = b->node_count++;
  struct bvh_node *node = &b->node[self];
  survey(b, from, to, node);
  if (to - from <= LEAF) {
    node->first = (int32_t)from;
    node->count = (int32_t)(to - from);
    return;
  }
  const int64_t half = from + (to - from) / 2;
  select_middle(b, longest_axis(b, from, to), from, to, half);
  split(b, from, half);
  b->node[self].first = (int32_t)b->node_count;
  split(b, half, to);
}

void bvh_build(void *block, const struct mesh *mesh)
{
  struct header *header = block;
  *header = (struct header){.triangle_count = mesh->triangle_count};
  const struct bvh view = bvh_view(block);
  struct builder b = {.mesh = mesh,
                      .node = (struct bvh_node *)(void *)(header + 1),
                      .corner = (double(*)[9])(uintptr_t)view.corner,
                      .order = (int32_t *)(uintptr_t)view.origin};
  b.middle = mem_alloc((size_t)mesh->triangle_count, sizeof *b.middle);
  for (int64_t t = 0; t < mesh->triangle_count; t++) {
    b.order[t] = (int32_t)t;
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++) {
        const double x = mesh->vertex[mesh->triangle[t][k]][d];
        b.middle[t][d] += x / 3.0;
      }
  }
  split(&b, 0, mesh->triangle_count);
  FIRN_ASSERT(b.node_count <= most_nodes(mesh->triangle_count));
  for (int64_t i = 0; i < mesh->triangle_count; i++)
    for (int k = 0; k < 3; k++)
      memcpy(b.corner[i] + 3 * k, mesh->vertex[mesh->triangle[b.order[i]][k]], 3 * sizeof(double));
  mem_free(b.middle);
  header->node_count = b.node_count;
}

/* --- asking --- */

/* Squared distance from x to a triangle, with the weights of its corners at the nearest point. The three
 * edges are tried where the foot of the perpendicular falls outside. */
static double triangle_distance2(const double *c, const double x[3], double weight[3])
{
  double ab[3], ac[3], ax[3], n[3], t[3];
  vec_sub(c + 3, c, ab);
  vec_sub(c + 6, c, ac);
  vec_sub(x, c, ax);
  vec_cross(ab, ac, n);
  const double nn = vec_dot(n, n);
  vec_cross(ax, ac, t);
  const double v = vec_dot(t, n);
  vec_cross(ab, ax, t);
  const double w = vec_dot(t, n), u = nn - v - w;
  /* A sliver has no plane that rounding would leave: its edges are all of it. */
  const bool flat = nn > 1e-20 * vec_dot(ab, ab) * vec_dot(ac, ac);
  if (flat && u >= 0.0 && v >= 0.0 && w >= 0.0) {
    const double height = vec_dot(ax, n);
    weight[0] = u / nn;
    weight[1] = v / nn;
    weight[2] = w / nn;
    return height * height / nn;
  }
  double best = INFINITY;
  for (int k = 0; k < 3; k++) {
    const double *a = c + 3 * k, *b = c + 3 * ((k + 1) % 3);
    double edge[3], from[3];
    vec_sub(b, a, edge);
    vec_sub(x, a, from);
    double f = vec_dot(from, edge) / vec_dot(edge, edge);
    f = f > 0.0 ? (f < 1.0 ? f : 1.0) : 0.0;
    vec_axpy(from, -f, edge, from);
    const double d2 = vec_dot(from, from);
    if (d2 >= best) continue;
    best = d2;
    weight[k] = 1.0 - f;
    weight[(k + 1) % 3] = f;
    weight[(k + 2) % 3] = 0.0;
  }
  return best;
}

/* Square of a lower bound of the distance to what is in the node's disc. */
static double disc_distance2(const struct bvh_node *node, const double x[3])
{
  double arm[3];
  vec_sub(x, node->center, arm);
  const double along = vec_dot(arm, node->axis), round2 = vec_dot(arm, arm) - along * along;
  const double above = fabs(along) - node->thickness;
  const double beside = sqrt(round2 > 0.0 ? round2 : 0.0) - node->radius;
  return (above > 0.0 ? above * above : 0.0) + (beside > 0.0 ? beside * beside : 0.0);
}

/* The best triangle so far, and how near a patch must be to hold a better one. */
struct search {
  struct bvh_hit hit;
  double best2, reach2, tolerance;
};

static void try_triangle(const struct bvh *bvh, const double x[3], int32_t t, struct search *s)
{
  double weight[3] = {1.0, 0.0, 0.0};
  const double d2 = triangle_distance2(bvh->corner[t], x, weight);
  if (!(d2 < s->best2)) return;
  s->best2 = d2;
  s->hit.triangle = t;
  memcpy(s->hit.weight, weight, sizeof weight);
  const double reach = sqrt(d2) - s->tolerance;
  s->reach2 = reach > 0.0 ? reach * reach : 0.0;
}

struct bvh_hit bvh_nearest(const struct bvh *bvh, const double x[3], int32_t hint, double tolerance)
{
  struct {
    int32_t node;
    double distance2;
  } stack[DEEPEST];
  struct search s = {.hit.triangle = -1, .best2 = INFINITY, .reach2 = INFINITY, .tolerance = tolerance};
  int depth = 1;
  stack[0].node = 0;
  stack[0].distance2 = 0.0;
  if (hint >= 0) try_triangle(bvh, x, hint, &s);
  while (depth > 0) {
    if (stack[--depth].distance2 > s.reach2) continue;
    const int32_t index = stack[depth].node;
    const struct bvh_node *node = &bvh->node[index];
    for (int32_t t = node->first; t < node->first + node->count; t++) try_triangle(bvh, x, t, &s);
    if (node->count > 0) continue;
    const int32_t child[2] = {index + 1, node->first};
    const double d2[2] = {disc_distance2(&bvh->node[child[0]], x), disc_distance2(&bvh->node[child[1]], x)};
    const int nearer = d2[1] < d2[0];
    for (int k = 0; k < 2; k++) { /* the nearer one comes last, and is looked at first */
      const int which = k == 0 ? !nearer : nearer;
      if (d2[which] > s.reach2) continue;
      stack[depth].node = child[which];
      stack[depth++].distance2 = d2[which];
    }
  }
  s.hit.distance = sqrt(s.best2);
  return s.hit;
}

/* Half the solid angle of a triangle seen from x. */
static double half_angle(const double *c, const double x[3])
{
  double a[3], b[3], e[3], t[3];
  vec_sub(c, x, a);
  vec_sub(c + 3, x, b);
  vec_sub(c + 6, x, e);
  const double la = vec_norm(a), lb = vec_norm(b), le = vec_norm(e);
  vec_cross(b, e, t);
  return fmath_atan2(vec_dot(a, t),
                     la * lb * le + vec_dot(a, b) * le + vec_dot(b, e) * la + vec_dot(e, a) * lb);
}

double bvh_winding(const struct bvh *bvh, const double x[3])
{
  static const double far = 2.0; /* radii from which a patch is a dipole: off by up to 0.06 (test_mesh) */
  int32_t stack[DEEPEST];
  int depth = 0;
  double sum = 0.0; /* of solid angles */
  stack[depth++] = 0;
  while (depth > 0) {
    const int32_t index = stack[--depth];
    const struct bvh_node *node = &bvh->node[index];
    double arm[3];
    vec_sub(node->center, x, arm);
    const double distance = vec_norm(arm);
    if (distance > far * node->radius) {
      sum += vec_dot(node->normal, arm) / (distance * distance * distance);
      continue;
    }
    for (int32_t t = node->first; t < node->first + node->count; t++)
      sum += 2.0 * half_angle(bvh->corner[t], x);
    if (node->count > 0) continue;
    stack[depth++] = index + 1;
    stack[depth++] = node->first;
  }
  return sum / (4.0 * pi);
}
