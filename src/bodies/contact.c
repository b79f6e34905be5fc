#include "bodies/contact.h"

#include "base/memory.h"
#include "base/vec.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const double least_liquid = 1e-6; /* share of a node's mass from which on it is wet */

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
  if (square <= 1e-6) return;
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

static void hold_tile(const struct grid *g, int32_t plane, int32_t tile, const struct body_pose *poses,
                      double factor, struct body_tally *tallies, struct exact_sum unbalanced[3])
{
  const int64_t first = (int64_t)tile * TILE_DOUBLES;
  const double *momentum = g->node[NODE_MOMENTUM] + first, *velocity = g->node[NODE_VELOCITY] + first,
               *product = g->node[NODE_A_RESIDUAL] + first, *before = g->node[NODE_STAR] + first;
  for (int k = 0; k < TILE_NODES; k++) {
    const double mass = momentum[4 * k];
    if (!(mass >= GRID_LEAST_MASS)) continue;
    const int body = (int)velocity[4 * k] - 1;
    double x[3], impulse[3];
    for (int d = 0; d < 3; d++) {
      impulse[d] = factor * product[4 * k + 1 + d];
      if (body < 0)
        exact_add(&unbalanced[d], mass * (velocity[4 * k + 1 + d] - before[4 * k + 1 + d]) + impulse[d]);
    }
    if (body < 0) continue;
    grid_tile_node(g, plane, tile, k, x);
    tally_hold(&tallies[body], &poses[body], x, impulse, velocity + 4 * k + 1);
  }
}

void contact_hold(const struct grid *g, const struct body_pose *poses, double factor, int32_t begin,
                  int32_t end, struct body_tally *tallies, struct exact_sum unbalanced[3])
{
  for (int32_t plane = begin; plane < end; plane++)
    for (int32_t tile = g->plane_tile[plane]; tile < g->plane_tile[plane + 1]; tile++)
      hold_tile(g, plane, tile, poses, factor, tallies, unbalanced);
}
