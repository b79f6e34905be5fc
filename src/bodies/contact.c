#include "bodies/contact.h"

#include "base/memory.h"
#include "base/vec.h"
#include "bodies/gap.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const double least_liquid = 1e-6; /* share of a node's mass from which on it is wet */
static const double least_square = 1e-6; /* of what other normals leave of one, from which on it counts */

/* What bodies did to the nodes of a tile so far, body by body. Most nodes of most tiles touch one or two. */
struct seen {
  int node, body;
  bool wet;
  struct body_touch touch;
  double rubbed[3]; /* m/s that friction gave the node */
};

struct tile_contacts {
  uint32_t touched;
  int count;
  struct seen *seen;
  int64_t capacity;
};

static double liquid_share(const struct contacts *contacts, int64_t at, double mass)
{
  return contacts && contacts->heat ? contacts->heat[4 * at + 3] / mass : 0.0;
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

/* The rule by which a body acts on a node. */
struct rule {
  double friction;
  double closing;       /* m/s: see body_collide_with() */
  const double *volume; /* m^3, at the node, of a layered ground; else NULL */
};

static struct rule rule_for(const struct grid *g, const struct body_pose *pose, int64_t at, const double x[3],
                            double liquid, double closes)
{
  const struct body *body = pose->body;
  struct rule rule = {body->friction, 0.0, NULL};
  if (body->ground.layered) rule.volume = g->node[NODE_ROOM] + 4 * at;
  if (liquid > 0.0) rule.friction = (1.0 - liquid) * body->friction + liquid * body->liquid_friction;
  if (closes == 0.0 || liquid > least_liquid) return rule;
  const double distance = body_distance(pose, x, NULL);
  if (distance <= 0.0) rule.closing = gap_closing(g, pose, 4 * at, distance, closes);
  return rule;
}

static bool collide_ground(const struct grid *g, const struct body_pose *pose, const double x[3], double mass,
                           const struct rule *rule, double v[3], struct seen *seen)
{
  const struct ground_node node = {pose->dt, g->geometry.spacing, g->geometry.support, mass, *rule->volume};
  return ground_collide(pose, x, v, &node, rule->closing, &seen->touch);
}

/* Collides one node with a body. */
static bool collide_node(const struct grid *g, const struct body_pose *pose, const double x[3], double mass,
                         const struct rule *rule, double v[3], struct seen *seen, struct body_tally *tally)
{
  const double before[3] = {v[0], v[1], v[2]};
  const bool acts = rule->volume ? collide_ground(g, pose, x, mass, rule, v, seen)
                                 : body_collide_with(pose, x, v, rule->friction, rule->closing, &seen->touch);
  if (!acts) return false;
  vec_sub(v, before, seen->rubbed);
  vec_axpy(seen->rubbed, -vec_dot(seen->rubbed, seen->touch.normal), seen->touch.normal, seen->rubbed);
  if (!tally) return true;
  tally_collision(tally, pose, x, mass, before, v);
  tally_cover(tally, pose, x, mass, g->geometry.spacing, g->geometry.support);
  return true;
}

static void collide_tile(struct grid *g, int32_t tile, const struct body_pose *poses, int body, double closes,
                         const struct contacts *contacts, struct tile_contacts *found,
                         struct body_tally *tallies)
{
  const struct body_pose *pose = &poses[body];
  const double *momentum = g->node[NODE_MOMENTUM] + (int64_t)tile * TILE_DOUBLES;
  double *velocity = g->node[NODE_VELOCITY] + (int64_t)tile * TILE_DOUBLES;
  for (int k = 0; k < TILE_NODES; k++) {
    if (!(momentum[4 * k] >= GRID_LEAST_MASS)) continue;
    double x[3];
    struct seen seen = {.node = k, .body = body};
    const int64_t at = (int64_t)tile * TILE_NODES + k;
    const double share = liquid_share(contacts, at, momentum[4 * k]);
    grid_tile_node(g, tile, k, x);
    const struct rule rule = rule_for(g, pose, at, x, share, closes);
    if (!collide_node(g, pose, x, momentum[4 * k], &rule, velocity + 4 * k + 1, &seen,
                      tallies ? &tallies[body] : NULL))
      continue;
    seen.wet = share > least_liquid;
    found->touched |= (uint32_t)1 << k;
    if (!contacts) continue;
    found->seen = mem_reserve(found->seen, &found->capacity, found->count + 1, sizeof *found->seen);
    found->seen[found->count++] = seen;
  }
}

/* Moves what bodies did to node k of a tile to the end of the list's touches; returns their projector. */
static struct contact_node gather_touches(struct contacts *contacts, const struct tile_contacts *found, int k)
{
  struct contact_node node = {.p = {[0] = 1.0, [4] = 1.0, [8] = 1.0}, .from = contacts->touches};
  for (int s = 0; s < found->count; s++) {
    const struct seen *seen = &found->seen[s];
    if (seen->node != k) continue;
    /* Friction that stops a wet node does not hold it: pressure may set it in motion again. */
    const bool holds = seen->wet ? seen->touch.sticks : !(contacts->slide && seen->touch.slides);
    if (holds)
      memset(node.p, 0, sizeof node.p);
    else
      remove_normal(node.p, seen->touch.normal);
    contacts->touch = mem_reserve(contacts->touch, &contacts->touch_capacity, contacts->touches + 1,
                                  sizeof *contacts->touch);
    struct contact_touch *touch = &contacts->touch[contacts->touches++];
    *touch = (struct contact_touch){.body = seen->body, .holds = holds, .pressed = seen->touch.pressed};
    memcpy(touch->normal, seen->touch.normal, sizeof touch->normal);
    memcpy(touch->rubbed, seen->rubbed, sizeof touch->rubbed);
    touch->frees = holds && contacts->whole && !seen->touch.sticks;
    node.wet = seen->wet;
  }
  node.to = contacts->touches;
  return node;
}

static bool is_held(const struct contacts *contacts, const struct contact_node *node)
{
  for (int32_t t = node->from; t < node->to && !node->wet; t++)
    if (contacts->touch[t].holds) return true;
  return false;
}

/* Marks the nodes of a tile that are held, and lists the others. Held by several bodies, a node is in the
 * list too: there each bears its part. So is a node that may be released. */
static void list_tile(struct contacts *contacts, const struct grid *g, int32_t tile,
                      const struct tile_contacts *found)
{
  for (int k = 0; k < TILE_NODES; k++) {
    if (!(found->touched >> k & 1)) continue;
    double *v = g->node[NODE_VELOCITY] + (int64_t)tile * TILE_DOUBLES + 4 * k;
    struct contact_node node = gather_touches(contacts, found, k);
    if (is_held(contacts, &node)) {
      v[0] = 1.0 + contacts->touch[node.to - 1].body;
      if (node.to - node.from == 1 && !contacts->touch[node.from].frees) {
        contacts->touches = node.from;
        continue;
      }
    }
    node.at = tile * TILE_NODES + k;
    grid_tile_node(g, tile, k, node.x);
    for (int d = 0; d < 3; d++) node.kept[d] = v[1 + d] - vec_dot(node.p + 3 * d, v + 1);
    contacts->node =
        mem_reserve(contacts->node, &contacts->capacity, contacts->count + 1, sizeof *contacts->node);
    contacts->node[contacts->count++] = node;
  }
}

int64_t contact_nodes(struct grid *g, const struct body_pose *poses, int pose_count, int32_t begin,
                      int32_t end, double closes, struct contacts *contacts, struct body_tally *tallies)
{
  struct tile_contacts found = {0};
  int64_t count = 0;
  for (int32_t tile = begin; tile < end; tile++) {
    double center[3];
    const double radius = grid_tile_ball(g, tile, center);
    found.touched = 0;
    found.count = 0;
    for (int k = 0; k < pose_count; k++)
      if (body_may_touch(&poses[k], center, radius))
        collide_tile(g, tile, poses, k, closes, contacts, &found, tallies);
    count += __builtin_popcount(found.touched);
    if (contacts && found.touched) list_tile(contacts, g, tile, &found);
  }
  mem_free(found.seen);
  return count;
}

/* The first node of the list in a tile or behind it. */
static int32_t first_in(const struct contacts *contacts, int32_t tile)
{
  int32_t low = 0, high = contacts->count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (contacts->node[middle].at < tile * TILE_NODES)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void multiply(const double p[9], const double v[3], double out[3])
{
  for (int d = 0; d < 3; d++) out[d] = vec_dot(p + 3 * d, v);
}

void contacts_project(const struct contacts *contacts, double *field, int32_t begin, int32_t end)
{
  const int32_t last = first_in(contacts, end);
  for (int32_t n = first_in(contacts, begin); n < last; n++) {
    const struct contact_node *node = &contacts->node[n];
    double *v = field + 4 * (int64_t)node->at + 1, out[3];
    multiply(node->p, v, out);
    memcpy(v, out, sizeof out);
  }
}

void contacts_restore(const struct contacts *contacts, double *velocity)
{
  for (int32_t n = 0; n < contacts->count; n++) {
    const struct contact_node *node = &contacts->node[n];
    double *v = velocity + 4 * (int64_t)node->at + 1, out[3];
    multiply(node->p, v, out);
    vec_axpy(node->kept, 1.0, out, v);
  }
}

void contacts_clear(struct contacts *contacts, const double *heat, bool slide, bool whole)
{
  contacts->count = contacts->touches = contacts->owned = 0;
  contacts->heat = heat;
  contacts->slide = slide;
  contacts->whole = whole;
}

void contacts_append(struct contacts *to, const struct contacts *from)
{
  to->node = mem_reserve(to->node, &to->capacity, to->count + from->count, sizeof *to->node);
  to->touch = mem_reserve(to->touch, &to->touch_capacity, to->touches + from->touches, sizeof *to->touch);
  if (from->touches) memcpy(to->touch + to->touches, from->touch, (size_t)from->touches * sizeof *to->touch);
  for (int32_t n = 0; n < from->count; n++) {
    struct contact_node *node = &to->node[to->count++];
    *node = from->node[n];
    node->from += to->touches;
    node->to += to->touches;
  }
  to->touches += from->touches;
}

void contacts_free(struct contacts *contacts)
{
  mem_free(contacts->node);
  mem_free(contacts->touch);
  *contacts = (struct contacts){0};
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
    if (s->contacts->heat) impulse[d] -= s->dt * node[NODE_PRESSURE][at + 1 + d];
  }
}

/* A node moved by `change` against the impulse `held`. */
static void account(const struct contact_solve *s, int64_t at, const double x[3], const double change[3],
                    const double held[3])
{
  const double mass = s->grid->node[NODE_MOMENTUM][at],
               weight = s->contacts->heat ? s->grid->node[NODE_LIQUID][at] : mass;
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

/* Normals of the bodies at a node that count, and an orthonormal basis of what they span: normal k is the
 * sum of part[j][k] times the first k + 1 directions. */
struct normals {
  int count, body[3];
  double normal[3][3], basis[3][3], part[3][3];
  int holds; /* body that bears what the others leave; -1: there is none */
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

static struct normals normals_of(const struct contacts *contacts, const struct contact_node *node)
{
  struct normals n = {.holds = -1};
  for (int32_t t = node->from; t < node->to && n.holds < 0; t++) {
    const struct contact_touch *touch = &contacts->touch[t];
    if (touch->holds)
      n.holds = touch->body;
    else
      add_normal(&n, touch->body, touch->normal);
  }
  return n;
}

/* Shares an impulse along the normals of a node among its bodies: each bears a part along its own. */
static void share_out(const struct contact_solve *s, const struct contact_node *node, const double impulse[3],
                      const double velocity[3])
{
  const struct normals n = normals_of(s->contacts, node);
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
  /* Rounding, if none holds. */
  const int last = n.holds >= 0 ? n.holds : s->contacts->touch[node->from].body;
  tally_hold(&s->tallies[last], &s->poses[last], node->x, rest, velocity);
}

static void hold_listed(const struct contact_solve *s, const struct contact_node *node)
{
  const int64_t at = 4 * (int64_t)node->at;
  const double *velocity = s->grid->node[NODE_VELOCITY] + at + 1, *before = s->grid->node[NODE_STAR] + at + 1;
  double impulse[3], along[3], moved[3], change[3], normal[3];
  impulse_to_hold(s, at, impulse);
  vec_sub(velocity, before, moved);
  multiply(node->p, impulse, along);
  multiply(node->p, moved, change);
  account(s, at, node->x, change, along);
  vec_sub(impulse, along, normal);
  share_out(s, node, normal, velocity);
}

static void hold_other(const struct contact_solve *s, int32_t tile, int k)
{
  const int64_t at = (int64_t)tile * TILE_DOUBLES + 4 * k;
  const double *velocity = s->grid->node[NODE_VELOCITY] + at;
  double x[3], impulse[3], change[3];
  if (!(s->grid->node[NODE_MOMENTUM][at] >= GRID_LEAST_MASS)) return;
  grid_tile_node(s->grid, tile, k, x);
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
  int32_t listed = 0;
  for (int32_t tile = 0; tile < end; tile++)
    for (int k = 0; k < TILE_NODES; k++)
      if (listed < s->contacts->owned && s->contacts->node[listed].at == tile * TILE_NODES + k)
        hold_listed(s, &s->contacts->node[listed++]);
      else
        hold_other(s, tile, k);
}

/* What Coulomb allows a body to give along its surface (m/s), with `pressed` along its normal. `slip` is the
 * node's velocity along the body, and `held` what the body gave to hold it. */
static void find_friction(double friction, double pressed, const double slip[3], const double held[3],
                          double out[3])
{
  const double most = friction * fmax(pressed, 0.0), speed = vec_norm(slip), size = vec_norm(held);
  const double factor = speed > 0.0 ? -most / speed : size > 0.0 ? fmin(most / size, 1.0) : 0.0;
  for (int d = 0; d < 3; d++) out[d] = factor * (speed > 0.0 ? slip[d] : held[d]);
}

/* A node that slides: friction of the whole step in place of the collision's. It brakes down to rest. */
static void rub_sliding(const struct contact_touch *touch, const double friction[3], const double slip[3],
                        double given[3])
{
  const double speed2 = vec_dot(slip, slip);
  vec_sub(friction, touch->rubbed, given);
  const double along = vec_dot(given, slip);
  if (-along > speed2)
    for (int d = 0; d < 3; d++) given[d] *= speed2 / -along;
}

static void release(const struct contacts *contacts, const struct grid *g, struct contact_node *node)
{
  static const double all[9] = {[0] = 1.0, [4] = 1.0, [8] = 1.0};
  struct contact_touch *touch = &contacts->touch[node->from];
  g->node[NODE_VELOCITY][4 * (int64_t)node->at] = 0.0;
  memcpy(node->p, all, sizeof all);
  remove_normal(node->p, touch->normal);
  touch->holds = false;
  node->released = true;
}

static void rub_node(const struct contact_solve *s, struct contact_node *node, double change[3])
{
  static const double rounding = 1e-6; /* of friction, by which a node that is held may pass its limit */
  const struct contact_touch *touch = &s->contacts->touch[node->from];
  const struct body_pose *pose = &s->poses[touch->body];
  const int64_t at = 4 * (int64_t)node->at;
  const double mass = s->grid->node[NODE_MOMENTUM][at], *velocity = s->grid->node[NODE_VELOCITY] + at + 1;
  double solved[3], carried[3], slip[3] = {0.0, 0.0, 0.0}, held[3], friction[3];
  impulse_to_hold(s, at, solved);
  for (int d = 0; d < 3; d++) solved[d] /= mass;
  const double normal = vec_dot(solved, touch->normal), pressed = touch->pressed + normal;
  vec_axpy(solved, -normal, touch->normal, held);
  for (int d = 0; d < 3; d++) held[d] += touch->rubbed[d];
  if (!touch->holds) {
    body_velocity(pose, node->x, carried);
    vec_sub(velocity, carried, slip);
    vec_axpy(slip, -vec_dot(slip, touch->normal), touch->normal, slip);
  }
  find_friction(pose->body->friction, pressed, slip, held, friction);
  if (!touch->holds) {
    rub_sliding(touch, friction, slip, node->given);
    memcpy(change, node->given, sizeof node->given);
  } else if (vec_norm(held) > (1.0 + rounding) * vec_norm(friction)) {
    vec_sub(friction, touch->rubbed, node->given);
    vec_sub(friction, held, change);
    release(s->contacts, s->grid, node);
  }
}

void contacts_rub(const struct contact_solve *s, double *change)
{
  for (int32_t n = 0; n < s->contacts->count; n++) {
    struct contact_node *node = &s->contacts->node[n];
    const struct contact_touch *touch = &s->contacts->touch[node->from];
    if (node->wet || node->to - node->from != 1 || (touch->holds && !touch->frees)) continue;
    rub_node(s, node, change + 4 * (int64_t)node->at + 1);
  }
}

void contacts_hold_again(struct contacts *contacts, const struct grid *g)
{
  for (int32_t n = 0; n < contacts->count; n++) {
    struct contact_node *node = &contacts->node[n];
    memset(node->given, 0, sizeof node->given);
    if (!node->released) continue;
    struct contact_touch *touch = &contacts->touch[node->from];
    g->node[NODE_VELOCITY][4 * (int64_t)node->at] = 1.0 + touch->body;
    memset(node->p, 0, sizeof node->p);
    touch->holds = true;
    node->released = false;
  }
}

void contacts_bear(const struct contact_solve *s)
{
  for (int32_t n = 0; n < s->contacts->count; n++) {
    const struct contact_node *node = &s->contacts->node[n];
    const int64_t at = 4 * (int64_t)node->at;
    const int body = s->contacts->touch[node->from].body;
    double *star = s->grid->node[NODE_STAR] + at + 1, impulse[3];
    vec_axpy(star, 1.0, node->given, star);
    for (int d = 0; d < 3; d++) impulse[d] = s->grid->node[NODE_MOMENTUM][at] * node->given[d];
    if (n < s->contacts->owned)
      tally_hold(&s->tallies[body], &s->poses[body], node->x, impulse, s->grid->node[NODE_VELOCITY] + at + 1);
  }
}
