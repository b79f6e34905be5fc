#include "bodies/contact_map.h"

#include "base/memory.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- pushes of a step --- */

struct push_log *push_log_create(double spacing, const double lower[3])
{
  struct push_log *log = mem_alloc(1, sizeof *log);
  log->spacing = spacing;
  memcpy(log->lower, lower, sizeof log->lower);
  return log;
}

void push_log_destroy(struct push_log **log)
{
  if (!*log) return;
  mem_free((*log)->push);
  mem_free(*log);
  *log = NULL;
}

void push_log_append(struct push_log *to, const struct push_log *from)
{
  if (!from->count) return;
  to->push = mem_reserve(to->push, &to->capacity, to->count + from->count, sizeof *to->push);
  memcpy(to->push + to->count, from->push, (size_t)from->count * sizeof *from->push);
  to->count += from->count;
}

/* From the world to the body as it is drawn in the scene. */
static void to_rest(const struct body_pose *pose, const double x[3], double out[3])
{
  double arm[3];
  vec_sub(x, pose->origin, arm);
  for (int d = 0; d < 3; d++)
    out[d] = pose->turn[d] * arm[0] + pose->turn[3 + d] * arm[1] + pose->turn[6 + d] * arm[2] +
             (pose->body->shape.center[d] + pose->body->pivot[d]);
}

static void from_rest(const struct body_pose *pose, const double x[3], double out[3])
{
  double arm[3];
  for (int d = 0; d < 3; d++) arm[d] = x[d] - (pose->body->shape.center[d] + pose->body->pivot[d]);
  for (int d = 0; d < 3; d++) out[d] = pose->origin[d] + vec_dot(pose->turn + 3 * d, arm);
}

/* The point of the surface next to x, and the normal there. */
static void to_surface(const struct body_pose *pose, const double x[3], double out[3], double normal[3])
{
  vec_axpy(x, -shape_distance(&pose->shape, x, normal), normal, out);
}

void push_log_add(struct push_log *log, const struct body_pose *pose, const double x[3],
                  const double impulse[3], double cover)
{
  const double half = 0.5 + 1e-6; /* a surface half way between two layers of points belongs to one of them */
  double surface[3], normal[3], rest[3];
  struct push push = {.cover = cover};
  to_surface(pose, x, surface, normal);
  to_rest(pose, surface, rest);
  for (int d = 0; d < 3; d++) {
    const double at = floor((rest[d] - log->lower[d]) / log->spacing + half);
    push.at[d] = (int32_t)fmax(-0x1p30, fmin(at, 0x1p30));
    push.impulse[d] = impulse ? impulse[d] : 0.0;
    push.inward -= push.impulse[d] * normal[d];
  }
  log->push = mem_reserve(log->push, &log->capacity, log->count + 1, sizeof *log->push);
  log->push[log->count++] = push;
}

/* --- sums --- */

static const double high_unit = 0x1p-32, low_unit = 0x1p-84;
static const int64_t low_end = (int64_t)1 << 52;

static void carry_over(struct fixed *to)
{
  to->high += to->low >= low_end;
  to->low -= to->low >= low_end ? low_end : 0;
}

void fixed_add(struct fixed *to, double value)
{
  const double v = fmax(-0x1p30, fmin(value, 0x1p30)), high = floor(v / high_unit);
  const double low = floor((v - high * high_unit) / low_unit);
  struct fixed term = {(int64_t)high, (int64_t)low};
  carry_over(&term); /* next to nothing below zero rounds to a whole unit */
  to->high += term.high;
  to->low += term.low;
  carry_over(to);
}

double fixed_value(const struct fixed *from)
{
  return (double)from->high * high_unit + (double)from->low * low_unit;
}

static int order_of(const struct map_node *a, const struct map_node *b)
{
  if (a->body != b->body) return a->body < b->body ? -1 : 1;
  for (int d = 0; d < 3; d++)
    if (a->at[d] != b->at[d]) return a->at[d] < b->at[d] ? -1 : 1;
  return 0;
}

static void add_sums(struct map_node *to, const struct map_node *from)
{
  for (int k = 0; k < MAP_SUMS; k++) {
    to->sum[k].high += from->sum[k].high;
    to->sum[k].low += from->sum[k].low;
    carry_over(&to->sum[k]);
  }
}

/* --- the table --- */

void contact_map_free(struct contact_map *map)
{
  mem_free(map->node);
  *map = (struct contact_map){0};
}

void contact_map_clear(struct contact_map *map)
{
  for (int64_t k = 0; k < map->capacity; k++) map->node[k].body = -1;
  map->count = 0;
}

static uint64_t hash_of(const struct map_node *node)
{
  uint64_t hash = (uint64_t)(uint32_t)node->body;
  for (int d = 0; d < 3; d++) hash = (hash ^ (uint64_t)(uint32_t)node->at[d]) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

/* The place of the key, or the free one where it belongs. */
static struct map_node *find(const struct contact_map *map, const struct map_node *key)
{
  const uint64_t mask = (uint64_t)map->capacity - 1;
  uint64_t k = hash_of(key) & mask;
  while (map->node[k].body >= 0 && order_of(&map->node[k], key) != 0) k = (k + 1) & mask;
  return &map->node[k];
}

static void grow(struct contact_map *map)
{
  struct contact_map larger = {.capacity = map->capacity ? 2 * map->capacity : 1024};
  larger.node = mem_alloc((size_t)larger.capacity, sizeof *larger.node);
  contact_map_clear(&larger);
  for (int64_t k = 0; k < map->capacity; k++)
    if (map->node[k].body >= 0) *find(&larger, &map->node[k]) = map->node[k];
  larger.count = map->count;
  contact_map_free(map);
  *map = larger;
}

void contact_map_add_node(struct contact_map *map, const struct map_node *node)
{
  if (2 * map->count >= map->capacity) grow(map);
  struct map_node *place = find(map, node);
  if (place->body >= 0) {
    add_sums(place, node);
  } else {
    *place = *node;
    map->count++;
  }
}

void contact_map_add(struct contact_map *map, int body, const struct push_log *log, double area)
{
  for (int64_t k = 0; k < log->count; k++) {
    const struct push *push = &log->push[k];
    struct map_node node = {.body = body, .at = {push->at[0], push->at[1], push->at[2]}};
    for (int d = 0; d < 3; d++) fixed_add(&node.sum[MAP_IMPULSE + d], push->impulse[d]);
    fixed_add(&node.sum[MAP_INWARD], push->inward);
    fixed_add(&node.sum[MAP_COVER], area * push->cover);
    contact_map_add_node(map, &node);
  }
}

static int compare(const void *a, const void *b)
{
  return order_of(a, b);
}

int64_t contact_map_sort(struct map_node *node, int64_t count)
{
  int64_t kept = 0;
  if (count > 0) qsort(node, (size_t)count, sizeof *node, compare);
  for (int64_t k = 0; k < count; k++) {
    if (kept > 0 && order_of(&node[kept - 1], &node[k]) == 0)
      add_sums(&node[kept - 1], &node[k]);
    else
      node[kept++] = node[k];
  }
  return kept;
}

/* --- what a frame has --- */

/* The first node that does not come before the key. */
static int64_t first_from(const struct map_node *node, int64_t count, const struct map_node *key)
{
  int64_t low = 0, high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (order_of(&node[middle], key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The grid spreads a push over two cells each way, so pressure is a mean over a disc of 2.5 cells around the
 * place, with the weight (1 - (r / R)^2)^2, whose integral over a plane is pi R^2 / 3 however that lies. */
static double pressure_at(const struct map_node *node, int64_t k, const struct contact_table *t,
                          double spacing)
{
  enum { REACH = 2 };
  static const double pi = 3.14159265358979323846;
  const double radius2 = 6.25 * spacing * spacing;
  double inward = 0.0;
  for (int n = 0; n < (2 * REACH + 1) * (2 * REACH + 1); n++) {
    struct map_node key = node[k];
    key.at[0] += n / (2 * REACH + 1) - REACH;
    key.at[1] += n % (2 * REACH + 1) - REACH;
    key.at[2] -= REACH;
    int64_t other = first_from(node, t->count, &key);
    key.at[2] += 2 * REACH;
    for (; other < t->count && order_of(&node[other], &key) <= 0; other++) {
      double apart[3];
      vec_sub(t->position + 3 * other, t->position + 3 * k, apart);
      const double weight = 1.0 - vec_dot(apart, apart) / radius2;
      if (weight > 0.0) inward += weight * weight * fixed_value(&node[other].sum[MAP_INWARD]);
    }
  }
  return inward / (t->span * (pi / 3.0) * radius2);
}

/* Where the body is, or was last. */
static void last_pose(const struct body *body, double time, struct body_pose *pose)
{
  const bool over = body->end > 0.0 && time >= body->end;
  body_pose_at(body, over ? nextafter(body->end, 0.0) : fmax(time, body->start), pose);
}

struct contact_table *contact_table_create(const struct map_node *node, int64_t count, double span,
                                           const struct body *bodies, double spacing, const double lower[3],
                                           double time)
{
  struct contact_table *t = mem_alloc(1, sizeof *t);
  const size_t rows = (size_t)count;
  *t = (struct contact_table){.count = count,
                              .span = span,
                              .body = mem_alloc(rows, sizeof *t->body),
                              .position = mem_alloc(3 * rows, sizeof *t->position),
                              .force = mem_alloc(3 * rows, sizeof *t->force),
                              .area = mem_alloc(rows, sizeof *t->area),
                              .pressure = mem_alloc(rows, sizeof *t->pressure)};
  struct body_pose pose = {.body = NULL};
  for (int64_t k = 0; k < count; k++) {
    double rest[3], x[3], normal[3];
    if (pose.body != &bodies[node[k].body]) last_pose(&bodies[node[k].body], time, &pose);
    for (int d = 0; d < 3; d++) {
      rest[d] = lower[d] + spacing * node[k].at[d];
      t->force[3 * k + d] = fixed_value(&node[k].sum[MAP_IMPULSE + d]) / span;
    }
    from_rest(&pose, rest, x);
    to_surface(&pose, x, t->position + 3 * k, normal);
    t->body[k] = (uint32_t)node[k].body;
    t->area[k] = fixed_value(&node[k].sum[MAP_COVER]) / span;
  }
  for (int64_t k = 0; k < count; k++) t->pressure[k] = pressure_at(node, k, t, spacing);
  return t;
}

void contact_table_destroy(struct contact_table **table)
{
  struct contact_table *t = *table;
  if (!t) return;
  mem_free(t->body);
  mem_free(t->position);
  mem_free(t->force);
  mem_free(t->area);
  mem_free(t->pressure);
  mem_free(t);
  *table = NULL;
}
