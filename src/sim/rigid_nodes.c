#include "sim/rigid_nodes.h"

#include "base/memory.h"
#include "base/vec.h"
#include "bodies/contact.h"
#include "decomposition/reduce.h"

#include <math.h>
#include <string.h>

/* --- the list --- */

static void add_node(struct sim *sim, int32_t tile, int k)
{
  struct rigid *r = sim->rigid;
  const struct grid *g = sim->mesh.grid;
  double x[3];
  bool inside = false;
  grid_tile_node(g, tile, k, x);
  for (int b = 0; b < r->count && !inside; b++)
    inside = r->body[b].there && body_distance(&sim->poses[r->body[b].body], x, NULL) <= 0.0;
  if (!inside) return;
  r->node = mem_reserve(r->node, &r->node_capacity, r->node_count + 1, sizeof *r->node);
  struct rigid_node *node = &r->node[r->node_count];
  const int64_t at = (int64_t)tile * TILE_DOUBLES + 4 * k;
  *node = (struct rigid_node){.at = tile * TILE_NODES + k,
                              .owned = tile < grid_owned_tiles(g),
                              .left = g->has_left && tile < BRICK_TILES * g->layer_brick[1] &&
                                      tile % BRICK_TILES < g->geometry.support - 1,
                              .mass = g->node[NODE_MOMENTUM][at],
                              .holder = -1};
  memcpy(node->x, x, sizeof x);
  memcpy(node->star, g->node[NODE_VELOCITY] + at + 1, sizeof node->star);
  for (int b = 0; b < r->body_count; b++) {
    struct rigid_sites *sites = &r->sites[b];
    if (!(body_distance(&sim->poses[b], x, NULL) <= 0.0)) continue;
    sites->site = mem_reserve(sites->site, &sites->capacity, sites->count + 1, sizeof *sites->site);
    struct rigid_site *site = &sites->site[sites->count++];
    site->node = r->node_count;
    body_distance(&sim->poses[b], x, site->normal);
  }
  r->node_count++;
}

void rigid_nodes_find(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  const struct grid *g = sim->mesh.grid;
  r->node_count = 0;
  for (int b = 0; b < r->body_count; b++) r->sites[b].count = 0;
  for (int32_t tile = 0; tile < g->tile_count; tile++) {
    double center[3];
    const double radius = grid_tile_ball(g, tile, center);
    bool near = false;
    for (int b = 0; b < r->count && !near; b++)
      near = r->body[b].there && body_may_touch(&sim->poses[r->body[b].body], center, radius);
    for (int k = 0; k < TILE_NODES && near; k++)
      if (g->node[NODE_MOMENTUM][(int64_t)tile * TILE_DOUBLES + 4 * k] >= GRID_LEAST_MASS)
        add_node(sim, tile, k);
  }
}

double rigid_nodes_speed(struct sim *sim)
{
  const struct grid *g = sim->mesh.grid;
  double most = 0.0;
  for (int64_t k = 0; k < (int64_t)g->tile_count * TILE_NODES; k++) {
    const double *v = g->node[NODE_VELOCITY] + 4 * k + 1;
    most = fmax(most, vec_dot(v, v));
  }
  most = sqrt(most);
  comm_max(&sim->comm, &most, 1);
  for (int b = 0; b < sim->rigid->count; b++) {
    const struct free_begin *begin = &sim->rigid->body[b].begin;
    double six[6];
    six_multiply(begin->k, begin->free, six);
    most = fmax(most, sqrt(six_dot(begin->free, six) / begin->k[0]));
  }
  return most;
}

/* --- the rule and its derivative --- */

/* What the rule takes from a velocity that is w to the body's (j), and dj/dw. False: nothing. */
static bool rule(double friction, bool sticky, const double n[3], const double w[3], double j[3], double d[9],
                 bool *slides)
{
  static const double one[9] = {[0] = 1.0, [4] = 1.0, [8] = 1.0};
  double across[3], t[3] = {0.0, 0.0, 0.0};
  const double normal = vec_dot(w, n);
  *slides = false;
  if (normal >= 0.0 && !sticky) return false;
  vec_axpy(w, -normal, n, across);
  const double speed = vec_norm(across);
  if (sticky || (friction > 0.0 && speed <= -friction * normal)) {
    memcpy(j, w, 3 * sizeof *j);
    memcpy(d, one, sizeof one);
    return true;
  }
  *slides = true;
  for (int k = 0; k < 3 && speed > 0.0; k++) t[k] = across[k] / speed;
  const double turn = speed > 0.0 ? friction * normal / speed : 0.0;
  for (int r = 0; r < 3; r++) {
    j[r] = normal * (n[r] - friction * t[r]);
    for (int c = 0; c < 3; c++)
      d[3 * r + c] = (n[r] - friction * t[r]) * n[c] - turn * ((r == c) - n[r] * n[c] - t[r] * t[c]);
  }
  return true;
}

/* --- sums over the nodes of a body --- */

enum { OF_IMPULSE = 0, OF_SLOPE = 6, OF_SIZE = 42, OF_BODY = 43 };

enum what {
  OF_NEWTON,       /* impulse and slope at u */
  OF_FRICTIONLESS, /* the same without friction */
  OF_ENDLESS,      /* of nodes that stick at `hat`: mass, and momentum beyond the free velocity */
  OF_ACTING        /* impulse, and the nodes' velocities change */
};

/* A body whose velocities are being found. */
struct search {
  struct rigid_body *body;
  enum what what;
  double at[6]; /* where it is looked at next */
  double u[6], r[6], slope[36], q, size;
  double step[6], s;
  int rounds, cuts;
  bool begun, done;
  double sum[OF_BODY];
};

struct tile_sum {
  int32_t tile;
  double sum[OF_BODY];
};

static void flush(struct tile_sum *t, struct exact_sum *sums)
{
  for (int k = 0; k < OF_BODY; k++) {
    if (t->sum[k] != 0.0) exact_add(&sums[k], t->sum[k]);
    t->sum[k] = 0.0;
  }
}

static void gather_site(const struct sim *sim, const struct search *s, const struct rigid_site *site,
                        struct rigid_node *node, double sum[OF_BODY])
{
  const struct body_pose *pose = &sim->poses[s->body->body];
  const bool sticky = body_sticks(pose, site->normal);
  double arm[3], carried[3], w[3], j[3], d[9], six[6];
  bool slides;
  vec_sub(node->x, pose->origin, arm);
  const bool endless = s->what == OF_ENDLESS || (s->what == OF_ACTING && s->body->endless);
  six_velocity(endless ? s->body->hat : s->at, arm, carried);
  vec_sub(node->v, carried, w);
  if (!rule(s->what == OF_FRICTIONLESS ? 0.0 : pose->body->friction, sticky || endless, site->normal, w, j, d,
            &slides) ||
      (endless && !sticky && vec_dot(w, site->normal) >= 0.0)) {
    if (node->owned) sum[OF_SIZE] += node->mass * vec_dot(node->v, node->v);
    return;
  }
  if (endless) {
    six_velocity(s->what == OF_ENDLESS ? s->body->begin.free : s->at, arm, carried);
    vec_sub(node->v, carried, j);
  }
  if (s->what == OF_ACTING) {
    vec_sub(node->v, j, node->v);
    node->holder = s->body->body;
    node->slides = slides && node->acted == 0;
    node->acted++;
    node->touched = true;
    memcpy(node->normal, site->normal, sizeof node->normal);
  }
  if (!node->owned) return;
  for (int k = 0; k < 3; k++) j[k] *= node->mass;
  six_impulse(j, arm, six);
  for (int k = 0; k < 6; k++) sum[OF_IMPULSE + k] += six[k];
  sum[OF_SIZE] += node->mass * vec_dot(node->v, node->v);
  if (s->what == OF_ACTING) return;
  for (int k = 0; k < 9; k++) d[k] *= node->mass;
  six_add(sum + OF_SLOPE, arm, d);
}

static void gather(struct sim *sim, const struct search *s, struct exact_sum *sums)
{
  struct rigid *r = sim->rigid;
  const struct rigid_sites *sites = &r->sites[s->body->body];
  struct tile_sum t = {.tile = -1};
  for (int32_t k = 0; k < sites->count; k++) {
    struct rigid_node *node = &r->node[sites->site[k].node];
    if (node->at / TILE_NODES != t.tile) flush(&t, sums);
    t.tile = node->at / TILE_NODES;
    gather_site(sim, s, &sites->site[k], node, t.sum);
  }
  flush(&t, sums);
}

/* Sums of all searches that are not done, in one message. */
static void gather_all(struct sim *sim, struct search *all, int count)
{
  int open = 0;
  for (int k = 0; k < count; k++) open += !all[k].done;
  struct exact_sum *sums = mem_alloc((size_t)open * OF_BODY, sizeof *sums);
  open = 0;
  for (int k = 0; k < count; k++)
    if (!all[k].done) gather(sim, &all[k], sums + OF_BODY * open++);
  reduce_exact(&sim->comm, sums, OF_BODY * open);
  open = 0;
  for (int k = 0; k < count; k++) {
    if (all[k].done) continue;
    for (int n = 0; n < OF_BODY; n++) all[k].sum[n] = exact_value(&sums[OF_BODY * open + n]);
    open++;
  }
  mem_free(sums);
}

/* --- Newton --- */

static const double exact_enough = 1e-26, good_enough = 1e-18;

static double merit_of(const struct search *s, double r[6])
{
  const struct rigid_body *b = s->body;
  double change[6], out[6];
  for (int d = 0; d < 6; d++) change[d] = s->at[d] - b->begin.free[d];
  six_multiply(b->begin.k, change, r);
  for (int d = 0; d < 6; d++) r[d] = b->free->lock[d] ? 0.0 : r[d] - b->pressed[d] - s->sum[OF_IMPULSE + d];
  six_multiply(b->begin.inverse, r, out);
  return six_dot(r, out);
}

static double size_of(const struct search *s)
{
  const struct rigid_body *b = s->body;
  double six[6];
  six_multiply(b->begin.k, b->begin.free, six);
  const double moving = six_dot(b->begin.free, six);
  six_multiply(b->begin.inverse, b->pressed, six);
  return moving + six_dot(b->pressed, six) + s->sum[OF_SIZE];
}

/* The next direction; the search is over without one. */
static void aim(struct search *s)
{
  double a[36], inverse[36];
  if (s->q <= exact_enough * s->size || s->rounds++ == 30) {
    s->done = true;
    return;
  }
  for (int k = 0; k < 36; k++) a[k] = s->body->begin.k[k] + s->slope[k];
  if (!six_invert(a, s->body->free->lock, inverse)) {
    s->done = true;
    return;
  }
  six_multiply(inverse, s->r, s->step);
  s->s = 1.0;
  s->cuts = 0;
  for (int d = 0; d < 6; d++) s->at[d] = s->u[d] - s->step[d];
}

/* Takes the sums at s->at. */
static void look(struct search *s)
{
  double r[6];
  const double q = merit_of(s, r);
  if (!s->begun) s->size = size_of(s);
  if (s->begun && !(q < (1.0 - 1e-4 * s->s) * s->q)) {
    if (s->cuts++ == 9) {
      s->done = true;
      return;
    }
    s->s *= 0.5;
    for (int d = 0; d < 6; d++) s->at[d] = s->u[d] - s->s * s->step[d];
    return;
  }
  s->begun = true;
  s->q = q;
  memcpy(s->u, s->at, sizeof s->u);
  memcpy(s->r, r, sizeof s->r);
  memcpy(s->slope, s->sum + OF_SLOPE, sizeof s->slope);
  aim(s);
}

static void begin_search(struct search *s, struct rigid_body *body, enum what what)
{
  double change[6];
  *s = (struct search){.body = body, .what = what};
  six_multiply(body->begin.inverse, body->pressed, change);
  for (int d = 0; d < 6; d++) s->at[d] = s->u[d] = body->begin.free[d] + change[d];
}

static bool all_done(const struct search *all, int count)
{
  for (int k = 0; k < count; k++)
    if (!all[k].done) return false;
  return true;
}

static void run_searches(struct sim *sim, struct search *all, int count)
{
  while (!all_done(all, count)) {
    gather_all(sim, all, count);
    for (int k = 0; k < count; k++)
      if (!all[k].done) look(&all[k]);
  }
}

/* Friction that no Newton can solve for is infinite in this step, where contact without friction presses. */
static void settle_endless(struct sim *sim, struct search *all, int count)
{
  bool any = false;
  for (int k = 0; k < count; k++) {
    all[k].body->endless = all[k].q > good_enough * all[k].size;
    any |= all[k].body->endless;
  }
  if (!any) return;
  for (int k = 0; k < count; k++) {
    if (!all[k].body->endless) continue;
    begin_search(&all[k], all[k].body, OF_FRICTIONLESS);
    sim->totals.body_friction++;
  }
  run_searches(sim, all, count);
  for (int k = 0; k < count; k++) {
    if (!all[k].body->endless) continue;
    memcpy(all[k].body->hat, all[k].u, sizeof all[k].u);
    all[k].what = OF_ENDLESS;
    all[k].done = false;
  }
  gather_all(sim, all, count);
  for (int k = 0; k < count; k++) {
    struct rigid_body *body = all[k].body;
    double a[36], inverse[36], right[6], change[6];
    if (!body->endless) continue;
    memcpy(all[k].slope, all[k].sum + OF_SLOPE, sizeof all[k].slope);
    for (int n = 0; n < 36; n++) a[n] = body->begin.k[n] + all[k].slope[n];
    six_invert(a, body->free->lock, inverse);
    for (int d = 0; d < 6; d++) right[d] = body->pressed[d] + all[k].sum[OF_IMPULSE + d];
    six_multiply(inverse, right, change);
    for (int d = 0; d < 6; d++) all[k].u[d] = body->begin.free[d] + change[d];
    all[k].done = true;
  }
}

/* Nodes get what the rule leaves them, and the bodies exactly what it takes. */
static void act(struct sim *sim, struct search *all, int count)
{
  for (int k = 0; k < count; k++) {
    all[k].what = OF_ACTING;
    all[k].done = false;
    memcpy(all[k].at, all[k].u, sizeof all[k].u);
  }
  gather_all(sim, all, count);
  for (int k = 0; k < count; k++) {
    struct rigid_body *b = all[k].body;
    double given[6], change[6];
    for (int d = 0; d < 6; d++) given[d] = b->pressed[d] + all[k].sum[OF_IMPULSE + d];
    six_multiply(b->begin.inverse, given, change);
    for (int d = 0; d < 6; d++) {
      b->u[d] = b->begin.free[d] + change[d];
      b->snow[d] = all[k].sum[OF_IMPULSE + d];
    }
    memcpy(b->slope, all[k].slope, sizeof b->slope);
  }
}

/* --- a round --- */

static void collide_scripted(struct sim *sim, int body)
{
  struct rigid *r = sim->rigid;
  const struct body_pose *pose = &sim->poses[body];
  for (int32_t k = 0; k < r->sites[body].count; k++) {
    struct rigid_node *node = &r->node[r->sites[body].site[k].node];
    struct body_touch touch;
    if (!body_collide_with(pose, node->x, node->v, pose->body->friction, 0.0, &touch)) continue;
    node->holder = body;
    node->slides = false;
    node->acted++;
    memcpy(node->normal, touch.normal, sizeof node->normal);
  }
}

void rigid_nodes_round(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  struct search *all = mem_alloc((size_t)r->count, sizeof *all);
  for (int32_t k = 0; k < r->node_count; k++) {
    struct rigid_node *node = &r->node[k];
    memcpy(node->v, node->star, sizeof node->v);
    node->touched = node->slides = false;
    node->holder = -1;
    node->acted = 0;
  }
  for (int level = 0; level < r->levels; level++) {
    int count = 0;
    for (int b = 0; b < r->body_count; b++) {
      if (r->level[b] != level) continue;
      if (r->index[b] < 0)
        collide_scripted(sim, b);
      else if (r->body[r->index[b]].there)
        begin_search(&all[count++], &r->body[r->index[b]], OF_NEWTON);
    }
    if (!count) continue;
    run_searches(sim, all, count);
    settle_endless(sim, all, count);
    act(sim, all, count);
  }
  mem_free(all);
}
