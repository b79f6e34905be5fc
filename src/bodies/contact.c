#include "bodies/contact.h"

#include "base/memory.h"
#include "base/vec.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const double least_liquid = 1e-6; /* share of a node's mass from which on it is wet */
static const double least_square = 1e-6; /* of what other normals leave of one, from which on it counts */

/* What a tile's wet nodes have touched so far. */
struct tile_wet {
  uint32_t touched;
  double p[TILE_NODES][9];
};

static double liquid_share(const struct wet_contacts *wet, int64_t at, double mass)
{
  return wet ? wet->heat[4 * at + 3] / mass : 0.0;
}

/* Takes the direction n out of what P leaves. */
static void remove_normal(double p[9], const double n[3])
{
  double left[3];
  for (int d = 0; d < 3; d++) left[d] = vec_dot(p + 3 * d, n);
  const double square = vec_dot(left, left);
  if (square <= least_square) return;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) p[3 * r + c] -= left[r] * left[c] / square;
}

static void touch_wet(struct wet_contacts *wet, struct tile_wet *tile, int k, int body,
                      const struct body_touch *touch)
{
  double *p = tile->p[k];
  if (!(tile->touched >> k & 1)) {
    memset(p, 0, 9 * sizeof *p);
    for (int d = 0; d < 3; d++) p[4 * d] = 1.0;
  }
  tile->touched |= (uint32_t)1 << k;
  if (touch->sticks)
    memset(p, 0, 9 * sizeof *p);
  else
    remove_normal(p, touch->normal);
  wet->touch = mem_reserve(wet->touch, &wet->touch_capacity, wet->touches + 2, sizeof *wet->touch);
  wet->touch[wet->touches++] = k;
  wet->touch[wet->touches++] = body;
}

/* Collides one node with a body. */
static bool collide_node(const struct grid *g, const struct body_pose *pose, const double x[3], double mass,
                         double friction, double v[3], struct body_touch *touch, struct body_tally *tally)
{
  const double before[3] = {v[0], v[1], v[2]};
  if (!body_collide_with(pose, x, v, friction, touch)) return false;
  if (!tally) return true;
  tally_collision(tally, pose, x, mass, before, v);
  tally_cover(tally, pose, x, mass, g->geometry.spacing, g->geometry.support);
  return true;
}

static int64_t collide_tile(struct grid *g, int32_t plane, int32_t tile, const struct body_pose *poses,
                            int body, struct wet_contacts *wet, struct tile_wet *tile_wet,
                            struct body_tally *tallies)
{
  const struct body_pose *pose = &poses[body];
  const double *momentum = g->node[NODE_MOMENTUM] + (int64_t)tile * TILE_DOUBLES;
  double *velocity = g->node[NODE_VELOCITY] + (int64_t)tile * TILE_DOUBLES;
  int64_t count = 0;
  for (int k = 0; k < TILE_NODES; k++) {
    if (!(momentum[4 * k] >= GRID_LEAST_MASS)) continue;
    double x[3];
    struct body_touch touch;
    const double share = liquid_share(wet, (int64_t)tile * TILE_NODES + k, momentum[4 * k]);
    const double friction = share > 0.0
                                ? (1.0 - share) * pose->body->friction + share * pose->body->liquid_friction
                                : pose->body->friction;
    grid_tile_node(g, plane, tile, k, x);
    if (!collide_node(g, pose, x, momentum[4 * k], friction, velocity + 4 * k + 1, &touch,
                      tallies ? &tallies[body] : NULL))
      continue;
    if (share > least_liquid) {
      count += !(tile_wet->touched >> k & 1);
      touch_wet(wet, tile_wet, k, body, &touch);
    } else {
      count += velocity[4 * k] == 0.0;
      velocity[4 * k] = 1.0 + body;
    }
  }
  return count;
}

/* The tile's wet nodes become nodes of the list, each with its bodies. */
static void list_wet(struct wet_contacts *wet, const struct grid *g, int32_t plane, int32_t tile,
                     const struct tile_wet *tile_wet)
{
  for (int k = 0; k < TILE_NODES; k++) {
    if (!(tile_wet->touched >> k & 1)) continue;
    wet->node = mem_reserve(wet->node, &wet->capacity, wet->count + 1, sizeof *wet->node);
    struct wet_node *node = &wet->node[wet->count++];
    node->at = tile * TILE_NODES + k;
    node->from = wet->bodies;
    memcpy(node->p, tile_wet->p[k], sizeof node->p);
    grid_tile_node(g, plane, tile, k, node->x);
    for (int32_t t = 0; t < wet->touches; t += 2) {
      if (wet->touch[t] != k) continue;
      wet->body = mem_reserve(wet->body, &wet->body_capacity, wet->bodies + 1, sizeof *wet->body);
      wet->body[wet->bodies++] = wet->touch[t + 1];
    }
    node->to = wet->bodies;
  }
  wet->touches = 0;
}

int64_t contact_nodes(struct grid *g, const struct body_pose *poses, int pose_count, int32_t begin,
                      int32_t end, struct wet_contacts *wet, struct body_tally *tallies)
{
  int64_t count = 0;
  for (int32_t plane = begin; plane < end; plane++)
    for (int32_t tile = g->plane_tile[plane]; tile < g->plane_tile[plane + 1]; tile++) {
      double center[3];
      const double radius = grid_tile_ball(g, plane, tile, center);
      struct tile_wet tile_wet;
      tile_wet.touched = 0;
      for (int k = 0; k < pose_count; k++)
        if (body_may_touch(&poses[k], center, radius))
          count += collide_tile(g, plane, tile, poses, k, wet, &tile_wet, tallies);
      if (tile_wet.touched) list_wet(wet, g, plane, tile, &tile_wet);
    }
  return count;
}

void wet_project(const struct wet_contacts *wet, double *field)
{
  for (int32_t n = 0; n < wet->count; n++) {
    const struct wet_node *node = &wet->node[n];
    double *v = field + 4 * (int64_t)node->at + 1, out[3];
    for (int d = 0; d < 3; d++) out[d] = vec_dot(node->p + 3 * d, v);
    memcpy(v, out, sizeof out);
  }
}

void wet_contacts_free(struct wet_contacts *wet)
{
  mem_free(wet->node);
  mem_free(wet->body);
  mem_free(wet->touch);
  *wet = (struct wet_contacts){0};
}

int contact_nearest(const struct body_pose *poses, int pose_count, const double x[3])
{
  int nearest = -1;
  double least = INFINITY;
  for (int k = 0; k < pose_count; k++) {
    const double distance = shape_distance(&poses[k].shape, x, NULL);
    if (!(distance < least)) continue;
    least = distance;
    nearest = k;
  }
  return nearest;
}

/* What would keep a node from moving in the solve (N s). */
static void impulse_to_hold(const struct contact_solve *s, int64_t at, double impulse[3])
{
  double *const *node = s->grid->node;
  for (int d = 0; d < 3; d++) {
    impulse[d] = s->factor * node[NODE_A_RESIDUAL][at + 1 + d];
    if (s->wet) impulse[d] -= s->dt * node[NODE_PRESSURE][at + 1 + d];
  }
}

/* A node moved by `change` against the impulse `held`. */
static void account(const struct contact_solve *s, int64_t at, const double x[3], const double change[3],
                    const double held[3])
{
  const double mass = s->grid->node[NODE_MOMENTUM][at],
               weight = s->wet ? s->grid->node[NODE_LIQUID][at] : mass;
  for (int d = 0; d < 3; d++) exact_add(&s->unbalanced[d], weight * change[d] + held[d]);
  if (weight == mass) return;
  const int body = contact_nearest(s->poses, s->pose_count, x);
  double impulse[3];
  for (int d = 0; d < 3; d++) impulse[d] = (mass - weight) * change[d];
  if (body >= 0)
    tally_hold(&s->tallies[body], &s->poses[body], x, impulse, s->grid->node[NODE_VELOCITY] + at + 1);
  else
    for (int d = 0; d < 3; d++) exact_add(&s->unbalanced[d], impulse[d]);
}

/* Normals of the bodies at a wet node that count, and an orthonormal basis of what they span: normal k is the
 * sum of part[j][k] times the first k + 1 directions. */
struct normals {
  int count, body[3];
  double normal[3][3], basis[3][3], part[3][3];
  int sticky; /* body that bears what the others leave; -1: there is none */
};

static void add_normal(struct normals *n, int body, const double normal[3])
{
  static const double oblique = 0.01; /* square of the sine from which on two normals are told apart */
  double left[3] = {normal[0], normal[1], normal[2]}, part[3] = {0.0, 0.0, 0.0};
  for (int j = 0; j < n->count; j++) {
    part[j] = vec_dot(n->basis[j], normal);
    vec_axpy(left, -part[j], n->basis[j], left);
  }
  const double square = vec_dot(left, left), length = sqrt(square);
  if (square <= least_square || n->count == 3) return;
  const int k = n->count++;
  n->body[k] = body;
  for (int d = 0; d < 3; d++) {
    n->basis[k][d] = left[d] / length;
    n->normal[k][d] = square > oblique ? normal[d] : n->basis[k][d];
  }
  for (int j = 0; j < k; j++) n->part[j][k] = square > oblique ? part[j] : 0.0;
  n->part[k][k] = square > oblique ? length : 1.0;
}

static struct normals normals_of(const struct contact_solve *s, const struct wet_node *node)
{
  struct normals n = {.sticky = -1};
  for (int32_t b = node->from; b < node->to && n.sticky < 0; b++) {
    const int body = s->wet->body[b];
    double normal[3];
    shape_distance(&s->poses[body].shape, node->x, normal);
    if (body_sticks(&s->poses[body], normal))
      n.sticky = body;
    else
      add_normal(&n, body, normal);
  }
  return n;
}

/* Shares an impulse along the normals of a wet node among its bodies: each bears a part along its own. */
static void share_out(const struct contact_solve *s, const struct wet_node *node, const double impulse[3],
                      const double velocity[3])
{
  const struct normals n = normals_of(s, node);
  double rest[3] = {impulse[0], impulse[1], impulse[2]}, size[3];
  for (int k = n.count - 1; k >= 0; k--) {
    double own[3];
    size[k] = vec_dot(n.basis[k], impulse);
    for (int j = k + 1; j < n.count; j++) size[k] -= n.part[k][j] * size[j];
    size[k] /= n.part[k][k];
    for (int d = 0; d < 3; d++) own[d] = size[k] * n.normal[k][d];
    vec_sub(rest, own, rest);
    tally_hold(&s->tallies[n.body[k]], &s->poses[n.body[k]], node->x, own, velocity);
  }
  const int last = n.sticky >= 0 ? n.sticky : s->wet->body[node->from]; /* rounding, where none is sticky */
  tally_hold(&s->tallies[last], &s->poses[last], node->x, rest, velocity);
}

static void hold_wet(const struct contact_solve *s, const struct wet_node *node)
{
  const int64_t at = 4 * (int64_t)node->at;
  const double *velocity = s->grid->node[NODE_VELOCITY] + at + 1, *before = s->grid->node[NODE_STAR] + at + 1;
  double impulse[3], along[3], change[3], normal[3];
  impulse_to_hold(s, at, impulse);
  for (int d = 0; d < 3; d++) {
    along[d] = vec_dot(node->p + 3 * d, impulse);
    change[d] = vec_dot(node->p + 3 * d, velocity) - before[d];
  }
  account(s, at, node->x, change, along);
  vec_sub(impulse, along, normal);
  share_out(s, node, normal, velocity);
}

static void hold_dry(const struct contact_solve *s, int32_t plane, int32_t tile, int k)
{
  const int64_t at = (int64_t)tile * TILE_DOUBLES + 4 * k;
  const double *velocity = s->grid->node[NODE_VELOCITY] + at;
  double x[3], impulse[3], change[3];
  if (!(s->grid->node[NODE_MOMENTUM][at] >= GRID_LEAST_MASS)) return;
  grid_tile_node(s->grid, plane, tile, k, x);
  impulse_to_hold(s, at, impulse);
  const int body = (int)velocity[0] - 1;
  if (body >= 0) {
    tally_hold(&s->tallies[body], &s->poses[body], x, impulse, velocity + 1);
    return;
  }
  vec_sub(velocity + 1, s->grid->node[NODE_STAR] + at + 1, change);
  account(s, at, x, change, impulse);
}

void contact_hold(const struct contact_solve *s, int32_t end)
{
  const struct grid *g = s->grid;
  int32_t wet = 0;
  const int32_t wet_count = s->wet ? s->wet->owned : 0;
  for (int32_t plane = 0; plane < end; plane++)
    for (int32_t tile = g->plane_tile[plane]; tile < g->plane_tile[plane + 1]; tile++)
      for (int k = 0; k < TILE_NODES; k++)
        if (wet < wet_count && s->wet->node[wet].at == tile * TILE_NODES + k)
          hold_wet(s, &s->wet->node[wet++]);
        else
          hold_dry(s, plane, tile, k);
}
