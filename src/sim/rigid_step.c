/* The step of free bodies: contact, the solve, particles and positions, in this order. */
#include "sim/rigid.h"

#include "base/memory.h"
#include "base/vec.h"
#include "bodies/contact.h"
#include "decomposition/reduce.h"
#include "sim/rigid_nodes.h"
#include "sim/sim.h"

#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 10 };

/* --- step 5 --- */

/* Whether two bodies may have a point in common. One of them is free, and so has an end. */
static bool may_meet(const struct body_pose *a, const struct body_pose *b)
{
  double least, most;
  const double reach_a = shape_reach(&a->shape), reach_b = shape_reach(&b->shape);
  if (a->shape.kind == SHAPE_NONE || b->shape.kind == SHAPE_NONE) return false;
  const struct body_pose *small = reach_a <= reach_b ? a : b, *other = small == a ? b : a;
  shape_range(&other->shape, small->shape.center, fmin(reach_a, reach_b) + small->body->skin, &least, &most);
  return !(least > other->body->skin);
}

/* Bodies that share no node may be looked at together. */
static void find_levels(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  r->levels = 1;
  for (int b = 0; b < r->body_count; b++) {
    r->level[b] = 0;
    for (int a = 0; a < b; a++) {
      const bool free = r->index[a] >= 0 || r->index[b] >= 0;
      if (r->level[a] + free <= r->level[b] || !free) continue;
      if (may_meet(&sim->poses[a], &sim->poses[b])) r->level[b] = r->level[a] + 1;
    }
    if (r->level[b] >= r->levels) r->levels = r->level[b] + 1;
  }
}

static void begin_bodies(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  rigid_energy(sim, false, sim->clock.time, r->energy);
  for (int k = 0; k < r->count; k++) {
    struct rigid_body *b = &r->body[k];
    b->there = sim->poses[b->body].shape.kind != SHAPE_NONE;
    free_begin(b->free, &b->state, sim->scene->gravity, sim->clock.time, sim->transfer.dt, &b->begin);
    memcpy(b->u, b->begin.free, sizeof b->u);
    memset(b->pressed, 0, sizeof b->pressed);
    memset(b->slope, 0, sizeof b->slope);
    memset(b->snow, 0, sizeof b->snow);
    memset(b->others, 0, sizeof b->others);
    memset(b->solved, 0, sizeof b->solved);
    memset(b->unsolved, 0, sizeof b->unsolved);
    b->endless = false;
  }
}

static void set_solids(struct sim *sim, bool alone)
{
  struct rigid *r = sim->rigid;
  for (int k = 0; k < r->body_count; k++) r->solids[k] = (struct solid){.pose = &sim->poses[k]};
  for (int k = 0; k < r->count; k++) {
    const struct rigid_body *b = &r->body[k];
    struct solid *s = &r->solids[b->body];
    double a[36];
    s->free = true;
    memcpy(s->u, b->u, sizeof s->u);
    memcpy(s->inverse, b->begin.inverse, sizeof s->inverse);
    memcpy(s->response, b->begin.inverse, sizeof s->response);
    for (int n = 0; n < 36; n++) a[n] = b->begin.k[n] + b->slope[n];
    if (!alone) six_invert(a, b->free->lock, s->response);
  }
}

/* Whether the sweeps left every body as it was. */
static bool is_settled(const struct rigid *r, double z)
{
  for (int k = 0; k < r->count; k++) {
    const struct rigid_body *b = &r->body[k];
    double change[6], six[6];
    for (int d = 0; d < 6; d++) change[d] = r->solids[b->body].u[d] - b->u[d];
    six_multiply(b->begin.k, change, six);
    if (!(six_dot(change, six) <= 1e-26 * b->begin.k[0] * z * z)) return false;
  }
  return true;
}

/* Snow and bodies by turns, until both agree. */
static void settle_contact(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  struct body_touching *kept = NULL;
  double z = 0.0;
  set_solids(sim, true); /* targets are those of the free velocities */
  touchings_find(&r->touchings, r->solids, r->balls, r->body_count, sim->scene->spacing, sim->transfer.dt,
                 sim->scene->gravity);
  const size_t count = (size_t)r->touchings.count;
  if (count) {
    z = rigid_nodes_speed(sim);
    kept = mem_alloc(count, sizeof *kept);
  }
  for (r->rounds = 1;; r->rounds++) {
    rigid_nodes_round(sim);
    if (!count) break;
    set_solids(sim, false);
    memcpy(kept, r->touchings.touching, count * sizeof *kept);
    touchings_sweep(&r->touchings, r->solids, z);
    const bool settled = is_settled(r, z);
    if (settled || r->rounds == MOST_ROUNDS) {
      memcpy(r->touchings.touching, kept, count * sizeof *kept);
      sim->totals.body_rounds += !settled;
      break;
    }
    for (int k = 0; k < r->count; k++)
      for (int d = 0; d < 6; d++) r->body[k].pressed[d] += r->solids[r->body[k].body].given[d];
  }
  mem_free(kept);
  for (int k = 0; k < r->count; k++) memcpy(r->body[k].others, r->body[k].pressed, sizeof r->body[k].others);
}

/* Poses move as the bodies do now. */
static void set_poses(struct sim *sim)
{
  for (int k = 0; k < sim->rigid->count; k++) {
    const struct rigid_body *b = &sim->rigid->body[k];
    struct body_pose *pose = &sim->poses[b->body];
    memcpy(pose->velocity, b->u, sizeof pose->velocity);
    memcpy(pose->spin, b->u + 3, sizeof pose->spin);
  }
}

void rigid_collide(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  if (!r) return;
  begin_bodies(sim);
  find_levels(sim);
  rigid_nodes_find(sim);
  settle_contact(sim);
  set_poses(sim);
  int32_t kept = 0;
  r->touched = r->shared = 0;
  for (int32_t k = 0; k < r->node_count; k++) {
    struct rigid_node *node = &r->node[k];
    if (!node->touched) continue; /* contact as if there were no free body */
    if (node->acted != 1) node->slides = false;
    r->touched += node->owned;
    r->shared += node->left;
    memcpy(sim->mesh.grid->node[NODE_VELOCITY] + 4 * (int64_t)node->at + 1, node->v, sizeof node->v);
    r->node[kept++] = *node;
  }
  r->acted = r->node_count;
  r->node_count = kept;
}

void rigid_shield(struct sim *sim, bool on)
{
  struct rigid *r = sim->rigid;
  for (int k = 0; r && k < r->count; k++) {
    struct rigid_body *b = &r->body[k];
    struct shape *shape = &sim->poses[b->body].shape;
    if (on) b->kind = shape->kind;
    shape->kind = on ? SHAPE_NONE : b->kind;
  }
  for (int32_t k = 0; r && k < r->node_count; k++)
    sim->mesh.grid->node[NODE_MOMENTUM][4 * (int64_t)r->node[k].at] = on ? 0.0 : r->node[k].mass;
}

/* What the bodies took of a node, one by one: each sees what the one before it left. */
static void tally_node(struct sim *sim, const struct rigid_node *node, struct body_tally *tallies)
{
  const struct rigid *r = sim->rigid;
  double v[3] = {node->star[0], node->star[1], node->star[2]};
  for (int b = 0; b < r->body_count; b++) {
    struct body_pose *pose = &sim->poses[b];
    const double before[3] = {v[0], v[1], v[2]};
    if (!body_may_touch(pose, node->x, 0.0)) continue;
    if (node->acted == 1 && b == node->holder)
      memcpy(v, node->v, sizeof v);
    else if (node->acted == 1 || !body_collide(pose, node->x, v))
      continue;
    if (b == node->holder) memcpy(v, node->v, sizeof v);
    tally_collision(&tallies[b], pose, node->x, node->mass, before, v);
    tally_cover(&tallies[b], pose, node->x, node->mass, sim->scene->spacing,
                sim->mesh.grid->geometry.support);
  }
}

void rigid_mark(struct sim *sim, struct body_tally *tallies)
{
  struct rigid *r = sim->rigid;
  if (!r) return;
  for (int32_t k = 0; k < r->node_count; k++) {
    struct rigid_node *node = &r->node[k];
    double *v = sim->mesh.grid->node[NODE_VELOCITY] + 4 * (int64_t)node->at;
    if (sim->scene->beta > 0.0) v[0] = node->slides ? 0.0 : 1.0 + node->holder;
    const double along = vec_dot(node->normal, v + 1);
    for (int d = 0; d < 3; d++) node->kept[d] = node->slides ? along * node->normal[d] : v[1 + d];
    if (tallies && node->owned) tally_node(sim, node, tallies);
  }
}

/* --- step 6 --- */

/* The free body that holds a node, or NULL. */
static struct rigid_body *holder_of(struct rigid *r, const struct rigid_node *node)
{
  return r->index[node->holder] >= 0 ? &r->body[r->index[node->holder]] : NULL;
}

/* 1 - P of a node that a free body holds. */
static void held_part(const struct rigid_node *node, double out[9])
{
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) out[3 * a + b] = node->slides ? node->normal[a] * node->normal[b] : a == b;
}

/* Sums of numbers per free body over this rank's nodes, tile by tile. */
struct body_sums {
  int32_t tile;
  int count; /* numbers in all */
  double *plain;
  struct exact_sum *sum;
};

static struct body_sums sums_begin(struct exact_sum *sum, int count)
{
  memset(sum, 0, (size_t)count * sizeof *sum);
  return (struct body_sums){-1, count, mem_alloc((size_t)count, sizeof(double)), sum};
}

static void sums_tile(struct body_sums *s, int32_t tile)
{
  if (tile == s->tile) return;
  for (int k = 0; k < s->count; k++) {
    if (s->plain[k] != 0.0) exact_add(&s->sum[k], s->plain[k]);
    s->plain[k] = 0.0;
  }
  s->tile = tile;
}

static void sums_end(struct body_sums *s)
{
  sums_tile(s, -1);
  mem_free(s->plain);
}

static void find_weights(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  struct exact_sum *sum = mem_alloc((size_t)r->count * 36, sizeof *sum);
  struct body_sums sums = sums_begin(sum, 36 * r->count);
  for (int32_t k = 0; k < r->node_count; k++) {
    const struct rigid_node *node = &r->node[k];
    const struct rigid_body *b = holder_of(r, node);
    double arm[3], part[9];
    if (!b || !node->owned) continue;
    sums_tile(&sums, node->at / TILE_NODES);
    held_part(node, part);
    for (int n = 0; n < 9; n++) part[n] *= node->mass;
    vec_sub(node->x, sim->poses[b->body].origin, arm);
    six_add(sums.plain + 36 * (b - r->body), arm, part);
  }
  sums_end(&sums);
  reduce_exact(&sim->comm, sum, 36 * r->count);
  for (int k = 0; k < r->count; k++) {
    struct rigid_body *b = &r->body[k];
    for (int n = 0; n < 36; n++) b->weight[n] = b->begin.k[n] + exact_value(&sum[36 * k + n]);
    six_invert(b->weight, b->free->lock, b->inverse);
  }
  mem_free(sum);
}

/* The row of a contact and a direction, made orthogonal to those before it; dropped if they have it. */
static void add_row(struct sim *sim, const struct body_touching *c, const double direction[3])
{
  struct rigid *r = sim->rigid;
  const int n = 6 * r->count;
  r->rows = mem_reserve(r->rows, &r->row_capacity, (r->row_count + 1) * n, sizeof *r->rows);
  double *row = r->rows + r->row_count * n, *response = mem_alloc((size_t)n, sizeof *response);
  memset(row, 0, (size_t)n * sizeof *row);
  for (int side = 0; side < 2; side++) {
    const int k = r->index[c->body[side]];
    double arm[3], d[3];
    if (k < 0) continue;
    vec_sub(c->at, sim->poses[c->body[side]].origin, arm);
    for (int e = 0; e < 3; e++) d[e] = side ? -direction[e] : direction[e];
    six_impulse(d, arm, row + 6 * k);
  }
  double first = 0.0, left = 0.0;
  for (int old = 0; old <= r->row_count; old++) {
    for (int k = 0; k < r->count; k++) six_multiply(r->body[k].inverse, row + 6 * k, response + 6 * k);
    if (old == 0)
      for (int k = 0; k < n; k++) first += row[k] * response[k];
    if (old == r->row_count) break;
    const double *other = r->rows + old * n;
    double along = 0.0;
    for (int k = 0; k < n; k++) along += other[k] * response[k];
    for (int k = 0; k < n; k++) row[k] -= along * other[k];
  }
  for (int k = 0; k < n; k++) left += row[k] * response[k];
  mem_free(response);
  if (!(left > 1e-10 * first)) return;
  for (int k = 0; k < n; k++) row[k] /= sqrt(left);
  r->row_count++;
}

static void find_rows(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  double largest = 0.0;
  r->row_count = r->presses = 0;
  for (int32_t k = 0; k < r->touchings.count; k++)
    largest = fmax(largest, vec_dot(r->touchings.touching[k].lambda, r->touchings.touching[k].normal));
  for (int32_t k = 0; k < r->touchings.count; k++) {
    const struct body_touching *c = &r->touchings.touching[k];
    const double normal = vec_dot(c->lambda, c->normal);
    double across[3], t1[3], t2[3];
    if (!(normal > 1e-9 * largest)) continue;
    r->presses++;
    if (sim->scene->beta == 0.0) continue;
    add_row(sim, c, c->normal);
    vec_axpy(c->lambda, -normal, c->normal, across);
    if (!(vec_norm(across) < (1.0 - 1e-9) * c->friction * normal)) continue;
    touching_tangents(c->normal, t1, t2);
    add_row(sim, c, t1);
    add_row(sim, c, t2);
  }
}

static void weigh(void *context, const double *in, double *out)
{
  const struct rigid *r = ((struct sim *)context)->rigid;
  for (int k = 0; k < r->count; k++) six_multiply(r->body[k].weight, in + 6 * k, out + 6 * k);
}

/* z loses what the rows do not allow. */
static void constrain(const struct rigid *r, double *z)
{
  const int n = 6 * r->count;
  for (int row = 0; row < r->row_count; row++) {
    const double *a = r->rows + row * n;
    double along = 0.0, six[6];
    for (int k = 0; k < n; k++) along += a[k] * z[k];
    for (int k = 0; k < r->count; k++) {
      six_multiply(r->body[k].inverse, a + 6 * k, six);
      for (int d = 0; d < 6; d++) z[6 * k + d] -= along * six[d];
    }
  }
}

static void invert(void *context, const double *in, double *out)
{
  const struct rigid *r = ((struct sim *)context)->rigid;
  for (int k = 0; k < r->count; k++) six_multiply(r->body[k].inverse, in + 6 * k, out + 6 * k);
  constrain(r, out);
}

static void common(void *context, const double velocity[3], double *out)
{
  const struct rigid *r = ((struct sim *)context)->rigid;
  for (int k = 0; k < r->count; k++)
    for (int d = 0; d < 6; d++) out[6 * k + d] = d < 3 && !r->body[k].free->lock[d] ? velocity[d] : 0.0;
  constrain(r, out);
}

static void measure(void *context, bool own, struct exact_sum norms[6])
{
  enum { FREE, HELD, WEIGHT, MOMENT };
  struct sim *sim = context;
  struct rigid *r = sim->rigid;
  for (int k = 0; own && k < r->count; k++) {
    const struct rigid_body *b = &r->body[k];
    double six[6];
    six_multiply(b->begin.k, b->u, six);
    exact_add(&norms[FREE], six_dot(b->u, six));
    exact_add(&norms[WEIGHT], b->begin.k[0]);
    for (int d = 0; d < 3; d++) exact_add(&norms[MOMENT + d], b->begin.k[0] * b->u[d]);
  }
  for (int32_t k = 0; !own && k < r->node_count; k++) {
    const struct rigid_node *node = &r->node[k];
    if (!node->owned || node->slides || !holder_of(r, node)) continue;
    const double square = node->mass * vec_dot(node->v, node->v);
    exact_add(&norms[FREE], square);
    exact_add(&norms[HELD], -square);
    exact_add(&norms[WEIGHT], node->mass);
    for (int d = 0; d < 3; d++) exact_add(&norms[MOMENT + d], node->mass * node->v[d]);
  }
}

void rigid_prepare_solve(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  if (!r) return;
  find_rows(sim);
  if (sim->scene->beta == 0.0) return;
  find_weights(sim);
  r->row_count = r->presses = 0;
  find_rows(sim); /* orthogonal by the weights */
}

void rigid_begin_solve(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  if (!r) return;
  struct cr_coupling *c = &r->coupling;
  c->held = r->row_count > 0;
  for (int k = 0; k < r->count; k++) {
    for (int d = 0; d < 6; d++) c->held |= r->body[k].free->lock[d];
    c->held |= r->body[k].free->spring_count > 0;
  }
  c->in = NULL;
  c->weigh = weigh;
  c->invert = invert;
  c->measure = measure;
  c->common = common;
}

void rigid_before_product(struct sim *sim, enum node_field in)
{
  struct rigid *r = sim->rigid;
  if (!r || !r->coupling.in) return;
  for (int32_t k = 0; k < r->node_count; k++) {
    struct rigid_node *node = &r->node[k];
    const struct rigid_body *b = holder_of(r, node);
    double *v = sim->mesh.grid->node[in] + 4 * (int64_t)node->at + 1, arm[3], carried[3];
    memcpy(node->was, v, sizeof node->was);
    if (!b) continue;
    vec_sub(node->x, sim->poses[b->body].origin, arm);
    six_velocity(r->coupling.in + 6 * (b - r->body), arm, carried);
    const double along = vec_dot(carried, node->normal);
    for (int d = 0; d < 3; d++) v[d] += node->slides ? along * node->normal[d] : carried[d];
  }
}

void rigid_project(struct sim *sim, enum node_field field)
{
  struct rigid *r = sim->rigid;
  for (int32_t k = 0; r && k < r->node_count; k++) {
    const struct rigid_node *node = &r->node[k];
    double *v = sim->mesh.grid->node[field] + 4 * (int64_t)node->at + 1;
    const double along = vec_dot(v, node->normal);
    for (int d = 0; d < 3; d++) v[d] = node->slides ? v[d] - along * node->normal[d] : 0.0;
  }
}

void rigid_after_product(struct sim *sim, enum node_field in, enum node_field out)
{
  struct rigid *r = sim->rigid;
  if (!r) return;
  struct body_sums sums = sums_begin(r->sums, 6 * r->count);
  for (int32_t k = 0; k < r->node_count; k++) {
    const struct rigid_node *node = &r->node[k];
    const struct rigid_body *b = holder_of(r, node);
    double *v = sim->mesh.grid->node[out] + 4 * (int64_t)node->at + 1, arm[3], part[3], six[6];
    if (r->coupling.in)
      memcpy(sim->mesh.grid->node[in] + 4 * (int64_t)node->at + 1, node->was, sizeof node->was);
    if (!b || !node->owned) continue;
    sums_tile(&sums, node->at / TILE_NODES);
    const double along = vec_dot(v, node->normal);
    for (int d = 0; d < 3; d++) part[d] = node->slides ? along * node->normal[d] : v[d];
    vec_sub(node->x, sim->poses[b->body].origin, arm);
    six_impulse(part, arm, six);
    for (int d = 0; d < 6; d++) sums.plain[6 * (b - r->body) + d] += six[d];
  }
  sums_end(&sums);
}

/* v = v* + y + F z on the nodes of the list. */
void rigid_end_solve(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  if (!r) return;
  rigid_project(sim, NODE_VELOCITY);
  for (int k = 0; k < r->count; k++) memcpy(r->body[k].solved, r->coupling.x + 6 * k, 6 * sizeof(double));
  for (int32_t k = 0; k < r->node_count; k++) {
    const struct rigid_node *node = &r->node[k];
    const struct rigid_body *b = holder_of(r, node);
    double *v = sim->mesh.grid->node[NODE_VELOCITY] + 4 * (int64_t)node->at + 1, arm[3], carried[3];
    vec_axpy(v, 1.0, node->kept, v);
    if (!b) continue;
    vec_sub(node->x, sim->poses[b->body].origin, arm);
    six_velocity(b->solved, arm, carried);
    const double along = vec_dot(carried, node->normal);
    for (int d = 0; d < 3; d++) v[d] += node->slides ? along * node->normal[d] : carried[d];
  }
}

/* Impulses that rows and the residual of the bodies' equations give them. `taken`: of the snow. */
static void share_rows(struct rigid *r, const double *taken)
{
  const int n = 6 * r->count;
  double *moved = mem_alloc((size_t)n, sizeof *moved), *rest = mem_alloc((size_t)n, sizeof *rest);
  for (int k = 0; k < r->count; k++) {
    six_multiply(r->body[k].begin.k, r->body[k].solved, moved + 6 * k);
    for (int d = 0; d < 6; d++) rest[6 * k + d] = moved[6 * k + d] - taken[6 * k + d];
  }
  for (int row = 0; row < r->row_count; row++) {
    const double *a = r->rows + row * n;
    double along = 0.0, six[6];
    for (int k = 0; k < r->count; k++) {
      six_multiply(r->body[k].inverse, rest + 6 * k, six);
      along += six_dot(a + 6 * k, six);
    }
    for (int k = 0; k < r->count; k++)
      for (int d = 0; d < 6; d++) {
        r->body[k].others[d] += along * a[6 * k + d];
        rest[6 * k + d] -= along * a[6 * k + d];
      }
  }
  for (int k = 0; k < r->count; k++)
    for (int d = 0; d < 3; d++) r->body[k].unsolved[d] = r->body[k].free->lock[d] ? 0.0 : rest[6 * k + d];
  mem_free(moved);
  mem_free(rest);
}

void rigid_accept_solve(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  if (!r) return;
  for (int k = 0; k < r->count; k++)
    for (int d = 0; d < 6; d++) r->body[k].u[d] += r->body[k].solved[d];
  set_poses(sim);
}

/* After the product of the last velocities, in NODE_A_RESIDUAL: what the holders bear. */
void rigid_hold(struct sim *sim, double factor, struct body_tally *tallies, struct exact_sum unbalanced[3])
{
  struct rigid *r = sim->rigid;
  if (!r) return;
  const struct grid *g = sim->mesh.grid;
  struct body_sums sums = sums_begin(r->sums, 6 * r->count);
  for (int32_t k = 0; k < r->node_count; k++) {
    const struct rigid_node *node = &r->node[k];
    const struct rigid_body *b = holder_of(r, node);
    const int64_t at = 4 * (int64_t)node->at;
    const double *velocity = g->node[NODE_VELOCITY] + at + 1, *product = g->node[NODE_A_RESIDUAL] + at + 1;
    double held[3], arm[3], six[6];
    if (!node->owned) continue;
    for (int d = 0; d < 3; d++) held[d] = factor * product[d] + node->mass * (velocity[d] - node->v[d]);
    if (node->slides) {
      const double along = vec_dot(held, node->normal);
      for (int d = 0; d < 3; d++) {
        exact_add(&unbalanced[d], held[d] - along * node->normal[d]);
        held[d] = along * node->normal[d];
      }
    }
    tally_hold(&tallies[node->holder], &sim->poses[node->holder], node->x, held, velocity);
    if (!b) continue;
    sums_tile(&sums, node->at / TILE_NODES);
    vec_sub(node->x, sim->poses[b->body].origin, arm);
    six_impulse(held, arm, six);
    for (int d = 0; d < 6; d++) sums.plain[6 * (b - r->body) + d] -= six[d];
  }
  sums_end(&sums);
  reduce_exact(&sim->comm, r->sums, 6 * r->count);
  double *taken = mem_alloc((size_t)r->count * 6, sizeof *taken);
  for (int k = 0; k < 6 * r->count; k++) {
    taken[k] = exact_value(&r->sums[k]);
    r->body[k / 6].snow[k % 6] += taken[k];
  }
  share_rows(r, taken);
  for (int k = 0; k < r->count && sim->comm.rank == 0; k++)
    for (int d = 0; d < 3; d++) exact_add(&unbalanced[d], r->body[k].unsolved[d]);
  mem_free(taken);
}

/* --- steps 9 and 10 --- */

/* What the particles that the last pass collided give the bodies. */
static void take_particles(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  struct exact_sum *sum = mem_alloc((size_t)r->count * 6, sizeof *sum);
  for (int c = 0; c < sim->crew.size; c++)
    for (int k = 0; k < r->count; k++)
      for (int d = 0; d < 6; d++)
        exact_join(&sum[6 * k + d], &sim->crew.workers[c].bodies[r->body[k].body].sum[TAKEN_IMPULSE + d]);
  reduce_exact(&sim->comm, sum, 6 * r->count);
  for (int k = 0; k < r->count; k++) {
    struct rigid_body *b = &r->body[k];
    double six[6], change[6];
    for (int d = 0; d < 6; d++) six[d] = exact_value(&sum[6 * k + d]);
    six_multiply(b->begin.inverse, six, change);
    for (int d = 0; d < 6; d++) {
      b->u[d] += change[d];
      b->snow[d] += six[d];
    }
  }
  mem_free(sum);
}

static void separate(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  if (!r->touchings.count) return;
  double z = 0.0;
  set_solids(sim, true);
  for (int k = 0; k < r->count; k++) {
    double six[6];
    six_multiply(r->body[k].begin.k, r->body[k].u, six);
    z = fmax(z, sqrt(six_dot(r->body[k].u, six) / r->body[k].begin.k[0]));
  }
  for (int32_t k = 0; k < r->touchings.count; k++)
    memset(r->touchings.touching[k].lambda, 0, sizeof r->touchings.touching[k].lambda);
  touchings_sweep(&r->touchings, r->solids, z);
  for (int k = 0; k < r->count; k++) {
    const struct solid *s = &r->solids[r->body[k].body];
    memcpy(r->body[k].u, s->u, sizeof s->u);
    for (int d = 0; d < 6; d++) r->body[k].others[d] += s->given[d];
  }
}

int64_t rigid_held(const struct sim *sim)
{
  const struct rigid *r = sim->rigid;
  int64_t held = 0;
  for (int32_t k = 0; r && k < r->node_count; k++)
    held += r->node[k].owned && r->index[r->node[k].holder] < 0;
  return held;
}

void rigid_finish(struct sim *sim)
{
  struct rigid *r = sim->rigid;
  const double dt = sim->transfer.dt;
  if (!r) return;
  r->crosses = false;
  take_particles(sim);
  separate(sim);
  r->work_push = 0.0;
  for (int k = 0; k < r->count; k++) {
    struct rigid_body *b = &r->body[k];
    double borne[6];
    if (!b->there) {
      b->next = b->state;
      continue;
    }
    for (int d = 0; d < 6; d++) borne[d] = b->snow[d] + b->others[d];
    free_advance(b->free, &b->state, b->begin.before, b->u, dt, &b->next);
    r->work_push +=
        free_work(b->free, &b->state, &b->begin, sim->scene->gravity, b->u, borne, sim->clock.time, dt);
    r->crosses |= !((vec_norm(b->u) + vec_norm(b->u + 3) * b->arm) * dt <= sim->scene->spacing);
  }
  rigid_energy(sim, true, sim->clock.time + dt, r->after);
}
