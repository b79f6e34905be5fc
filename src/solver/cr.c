#include "solver/cr.h"

#include "base/memory.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

enum { DOT_RR, DOT_RAR, DOT_ARAR, DOT_ARAP, DOT_NORM, DOT_HELD, DOT_WEIGHT, DOT_SUM, DOTS = DOT_SUM + 3 };

static const double held_part = 0.01; /* of |v*| over all nodes, which the free ones count for at least */
static const double slow_part = 1e-3; /* of what moves, beyond which CR_STOP_SCALE leaves no residual */

static struct cr_vectors vectors_of(const struct cr_system *s)
{
  double *const *node = s->grid->node;
  return (struct cr_vectors){.x = node[s->unknown],
                             .r = node[NODE_RESIDUAL],
                             .p = node[NODE_DIRECTION],
                             .ar = node[NODE_A_RESIDUAL],
                             .ap = node[NODE_A_DIRECTION],
                             .aar = node[NODE_AA_RESIDUAL],
                             .aap = node[NODE_AA_DIRECTION],
                             .right = s->has_right ? node[s->right] : NULL,
                             .measure = s->has_right ? node[s->measure] : NULL,
                             .weight = node[s->weight],
                             .fixed = node[s->fixed],
                             .typical = 1.0,
                             .factor = s->factor};
}

/* Sums over all ranks; those of the last product's bodies travel in the same message. */
static void reduce(const struct cr_system *s, struct exact_sum *sums, int count)
{
  const struct cr_coupling *c = s->coupling;
  if (!c) {
    s->reduce(s->context, sums, count);
    return;
  }
  struct exact_sum *all = mem_alloc((size_t)(count + c->count), sizeof *all);
  if (count) memcpy(all, sums, (size_t)count * sizeof *all);
  memcpy(all + count, c->sums, (size_t)c->count * sizeof *all);
  s->reduce(s->context, all, count + c->count);
  if (count) memcpy(sums, all, (size_t)count * sizeof *all);
  memcpy(c->sums, all + count, (size_t)c->count * sizeof *all);
  mem_free(all);
}

/* out = factor W^-1 of what the last product left for the bodies, once it is summed over all ranks. */
static void pull(const struct cr_system *s, double *out)
{
  const struct cr_coupling *c = s->coupling;
  double *given = mem_alloc((size_t)c->count, sizeof *given);
  for (int k = 0; k < c->count; k++) given[k] = s->factor * exact_value(&c->sums[k]);
  c->invert(s->context, given, out);
  mem_free(given);
}

static double dot_coupled(const struct cr_system *s, const double *a, const double *b)
{
  const struct cr_coupling *c = s->coupling;
  double *weighed = mem_alloc((size_t)c->count, sizeof *weighed), sum = 0.0;
  c->weigh(s->context, b, weighed);
  for (int k = 0; k < c->count; k++) sum += a[k] * weighed[k];
  mem_free(weighed);
  return sum;
}

/* r = -factor W^-1 B b of the bodies. */
static void begin_coupled(const struct cr_system *s)
{
  const struct cr_coupling *c = s->coupling;
  reduce(s, NULL, 0);
  pull(s, c->r);
  for (int k = 0; k < c->count; k++) {
    c->r[k] = -c->r[k];
    c->x[k] = c->p[k] = c->ar[k] = c->ap[k] = 0.0;
  }
}

/* A r of the bodies and their part of the dot products, after these are summed over all ranks. */
static void apply_coupled(const struct cr_system *s, struct exact_sum dots[DOTS])
{
  const struct cr_coupling *c = s->coupling;
  if (!c) return;
  pull(s, c->ar);
  for (int k = 0; k < c->count; k++) c->ar[k] += c->r[k];
  exact_add(&dots[DOT_RR], dot_coupled(s, c->r, c->r));
  exact_add(&dots[DOT_RAR], dot_coupled(s, c->r, c->ar));
  exact_add(&dots[DOT_ARAR], dot_coupled(s, c->ar, c->ar));
  exact_add(&dots[DOT_ARAP], dot_coupled(s, c->ar, c->ap));
}

static void update_coupled(const struct cr_system *s, double a, double b)
{
  const struct cr_coupling *c = s->coupling;
  for (int k = 0; c && k < c->count; k++) {
    c->p[k] = c->r[k] + b * c->p[k];
    c->ap[k] = c->ar[k] + b * c->ap[k];
    c->x[k] += a * c->p[k];
    c->r[k] -= a * c->ap[k];
  }
}

/* M / (M + factor B) of all nodes together, B the diagonal that is in the scalars of ar. */
static double typical_of(const struct cr_system *s, struct cr_vectors *v)
{
  enum { STIFFNESS, WEIGHT, SUMS };
  struct exact_sum sums[SUMS] = {{{0}}};
  crew_tiles(s->crew, s->grid, s->kernels->cr_stiffness, v, s->owned_tiles, sums, SUMS);
  s->reduce(s->context, sums, SUMS);
  const double weight = exact_value(&sums[WEIGHT]);
  return weight > 0.0 ? 1.0 / (1.0 + s->factor * exact_value(&sums[STIFFNESS]) / weight) : 1.0;
}

/* A r and the dot products, in one pass over the nodes. */
static void apply(const struct cr_system *s, struct cr_vectors *v, struct exact_sum dots[DOTS])
{
  if (s->coupling) s->coupling->in = s->coupling->r;
  s->product(s->context, NODE_RESIDUAL, NODE_A_RESIDUAL);
  crew_tiles(s->crew, s->grid, s->kernels->cr_product, v, s->owned_tiles, dots, DOT_NORM);
}

/* r = b - A x on the free nodes; where b is x that is -factor W^-1 B x. */
static struct cr_vectors start(const struct cr_system *s, struct exact_sum norms[DOTS - DOT_NORM])
{
  grid_clear(s->grid, NODE_RESIDUAL);
  grid_clear(s->grid, NODE_DIRECTION);
  grid_clear(s->grid, NODE_A_DIRECTION);
  if (s->coupling) s->coupling->in = NULL;
  (s->first_product ? s->first_product : s->product)(s->context, s->unknown, NODE_A_RESIDUAL);
  if (s->coupling) begin_coupled(s);
  struct cr_vectors v = vectors_of(s);
  if (s->first_product) v.typical = typical_of(s, &v);
  crew_tiles(s->crew, s->grid, s->has_right ? s->kernels->cr_begin : s->kernels->cr_residual, &v,
             s->owned_tiles, norms, DOTS - DOT_NORM);
  if (s->coupling) s->coupling->measure(s->context, false, norms);
  if (s->project) s->project(s->context, NODE_RESIDUAL);
  return v;
}

static void update(const struct cr_system *s, struct cr_vectors *v, double a, double b)
{
  v->a = a;
  v->b = b;
  crew_tiles(s->crew, s->grid, s->kernels->cr_update, v, s->owned_tiles, NULL, 0);
  update_coupled(s, a, b);
}

/* What the sums of an iteration say. */
struct progress {
  struct cr_result result;
  double norm, tolerance;
  int max_iterations;
  double rar_before, apap;
  double a, b; /* of the next update */
};

/* Takes the sums; false when the solve is over, converged or not. */
static bool judge(struct progress *p, const struct exact_sum dots[DOTS])
{
  const double rr = exact_value(&dots[DOT_RR]), rar = exact_value(&dots[DOT_RAR]),
               arar = exact_value(&dots[DOT_ARAR]);
  p->result.residual = p->norm > 0.0 ? sqrt(rr) / p->norm : 0.0;
  p->result.converged = sqrt(rr) <= p->tolerance * p->norm;
  if (p->result.converged || p->result.iterations == p->max_iterations) return false;
  if (!(fabs(rar) > 1e-14 * sqrt(rr) * sqrt(arar))) return false; /* breakdown, or not finite */
  p->b = p->result.iterations ? rar / p->rar_before : 0.0;
  p->apap = arar + 2.0 * p->b * exact_value(&dots[DOT_ARAP]) + p->b * p->b * p->apap;
  if (!(p->apap > 0.0)) return false;
  p->a = rar / p->apap;
  p->rar_before = rar;
  p->result.iterations++;
  return true;
}

/* |b - mean b|^2 over the free nodes. Where all move alike it is a difference of rounding, and a residual
 * would never be small beside it. */
static double spread_of(const struct exact_sum dots[DOTS])
{
  static const double rounding = 1e-12;
  const double all = exact_value(&dots[DOT_NORM]);
  double spread = all;
  const double weight = exact_value(&dots[DOT_WEIGHT]);
  for (int d = 0; d < 3 && weight > 0.0; d++) {
    const double sum = exact_value(&dots[DOT_SUM + d]);
    spread -= sum * sum / weight;
  }
  return fmax(spread, rounding * all);
}

/* What the residual is measured by. |b| over the free nodes is nothing where they rest and a body moves, and
 * no residual would be small beside it: then it is a part of what the body gives the nodes it holds. */
static double measure_of(const struct cr_system *s, double tolerance, const struct exact_sum dots[DOTS])
{
  const double of_free = exact_value(&dots[DOT_NORM]), held = exact_value(&dots[DOT_HELD]);
  if (s->has_right) return sqrt(of_free + held);
  if (s->stop == CR_STOP_SIZE) return fmax(sqrt(of_free), held_part * sqrt(of_free + held));
  const double size = sqrt(exact_value(&dots[DOT_WEIGHT])), spread = spread_of(dots);
  const double moving = fmax(fmax(sqrt(spread), held_part * sqrt(held)), s->least * size);
  return fmin(s->scale * size, slow_part * moving / tolerance);
}

/* Judges the first residual, as the first look at the sums of an iteration would. */
static bool is_solved(const struct cr_system *s, struct cr_vectors *v, struct progress *p,
                      const struct exact_sum dots[DOTS])
{
  struct exact_sum sums[DOTS];
  for (int k = 0; k < DOTS; k++) sums[k] = dots[k];
  crew_tiles(s->crew, s->grid, s->kernels->cr_norm, v, s->owned_tiles, &sums[DOT_RR], 1);
  s->reduce(s->context, sums, DOTS);
  const double norm = measure_of(s, p->tolerance, sums), residual = sqrt(exact_value(&sums[DOT_RR]));
  p->result.residual = norm > 0.0 ? residual / norm : 0.0;
  p->result.converged = residual <= p->tolerance * norm;
  return p->result.converged;
}

/* The bodies' part of what follows, with their z of that velocity in p. */
static void resist_coupled(const struct cr_system *s, double out[3])
{
  const struct cr_coupling *c = s->coupling;
  double *moment = mem_alloc((size_t)c->count, sizeof *moment);
  c->weigh(s->context, c->p, moment);
  for (int k = 0; k < c->count; k++)
    if (k % 6 < 3) out[k % 6] += moment[k] + s->factor * exact_value(&c->sums[k]);
  mem_free(moment);
}

/* What a velocity that all free nodes share adds to the residual: (M + factor B) of it, summed over them. */
static void resist(const struct cr_system *s, struct cr_vectors *v, const double common[3], double out[3])
{
  enum { MOMENT = DOT_SUM - DOT_NORM, LACK = DOTS - DOT_NORM + 1, SUMS = LACK + 3 };
  struct exact_sum sums[SUMS] = {{{0}}};
  struct cr_vectors of = *v;
  of.x = v->p;
  memcpy(of.given + 1, common, 3 * sizeof *common);
  grid_clear(s->grid, NODE_DIRECTION);
  crew_tiles(s->crew, s->grid, s->kernels->cr_balance, &of, s->owned_tiles, NULL, 0);
  if (s->project) s->project(s->context, NODE_DIRECTION);
  if (s->coupling) {
    s->coupling->in = s->coupling->p;
    s->coupling->common(s->context, common, s->coupling->p);
  }
  s->product(s->context, NODE_DIRECTION, NODE_A_RESIDUAL);
  /* These two kernels leave M p in their sums, and -factor B p. */
  crew_tiles(s->crew, s->grid, s->kernels->cr_residual, &of, s->owned_tiles, sums, DOTS - DOT_NORM);
  crew_tiles(s->crew, s->grid, s->kernels->cr_lack, &of, s->owned_tiles, &sums[LACK - 1], 4);
  reduce(s, sums, SUMS);
  for (int d = 0; d < 3; d++) out[d] = exact_value(&sums[MOMENT + d]) - exact_value(&sums[LACK + d]);
  if (s->coupling) resist_coupled(s, out);
}

/* The velocity that takes the sum of the residual away, by conjugate gradients in its three components. Nodes
 * that are held resist it, most of all along the normal of a floor. What the first iteration leaves below
 * `least` stays. Without that iteration, nodes of no weight would decide whether a small sum is taken away.
 */
static void find_common(const struct cr_system *s, struct cr_vectors *v, const double lack[3], double least,
                        double common[3])
{
  double left[3], direction[3], product[3];
  memcpy(left, lack, sizeof left);
  memcpy(direction, lack, sizeof direction);
  for (int n = 0; n < 3 && !(vec_norm(left) <= (n == 0 ? 0.0 : least)); n++) {
    resist(s, v, direction, product);
    const double before = vec_dot(left, left), curvature = vec_dot(direction, product);
    if (!(curvature > 0.0)) return;
    vec_axpy(common, before / curvature, direction, common);
    vec_axpy(left, -before / curvature, product, left);
    vec_axpy(left, vec_dot(left, left) / before, direction, direction);
  }
}

/* A solve that stops leaves a residual, which adds up to momentum that nothing accounts for: with a
 * preconditioner always, else where nodes are held. A velocity that all free nodes share makes up for it. */
static struct cr_result finish(const struct cr_system *s, struct cr_vectors *v, struct progress *p)
{
  static const double small = 0.01; /* of the residual that is allowed */
  enum { WEIGHT, LACK, HELD = LACK + 3, SUMS };
  if (!s->balanced || !p->result.converged) return p->result;
  struct exact_sum sums[SUMS] = {{{0}}};
  crew_tiles(s->crew, s->grid, s->kernels->cr_lack, v, s->owned_tiles, sums, HELD);
  exact_add(&sums[HELD], (double)s->held);
  s->reduce(s->context, sums, SUMS);
  if (s->coupling) {
    double *moment = mem_alloc((size_t)s->coupling->count, sizeof *moment);
    s->coupling->weigh(s->context, s->coupling->r, moment);
    for (int k = 0; k < s->coupling->count; k++)
      if (k % 6 < 3) exact_add(&sums[LACK + k % 6], moment[k]);
    mem_free(moment);
    if (s->coupling->held) exact_add(&sums[HELD], 1.0);
  }
  const double weight = exact_value(&sums[WEIGHT]);
  p->result.held = exact_value(&sums[HELD]) > 0.0;
  if (!(weight > 0.0)) return p->result;
  /* A motion that nodes and bodies share is in the null space of B: nothing is lacking. */
  if (s->coupling && !p->result.held && !s->first_product) return p->result;
  double lack[3], common[3] = {0.0, 0.0, 0.0};
  for (int d = 0; d < 3; d++) lack[d] = exact_value(&sums[LACK + d]);
  if (p->result.held || s->coupling)
    find_common(s, v, lack, small * p->tolerance * p->norm * sqrt(weight), common);
  else
    for (int d = 0; d < 3; d++) common[d] = lack[d] / weight;
  memcpy(v->given + 1, common, sizeof common);
  crew_tiles(s->crew, s->grid, s->kernels->cr_balance, v, s->owned_tiles, NULL, 0);
  if (s->coupling) {
    s->coupling->common(s->context, common, s->coupling->p);
    for (int k = 0; k < s->coupling->count; k++) s->coupling->x[k] += s->coupling->p[k];
  }
  return p->result;
}

struct cr_result cr_solve(const struct cr_system *s, double tolerance, int max_iterations)
{
  struct progress progress = {.tolerance = tolerance, .max_iterations = max_iterations};
  struct exact_sum dots[DOTS] = {{{0}}};
  struct cr_vectors v = start(s, &dots[DOT_NORM]);
  if (s->may_be_solved && is_solved(s, &v, &progress, dots)) return progress.result;
  apply(s, &v, dots);
  reduce(s, dots, DOTS);
  if (s->coupling) s->coupling->measure(s->context, true, &dots[DOT_NORM]);
  apply_coupled(s, dots);
  progress.norm = measure_of(s, tolerance, dots);
  while (judge(&progress, dots)) {
    update(s, &v, progress.a, progress.b);
    for (int k = 0; k < DOT_NORM; k++) dots[k] = (struct exact_sum){{0}};
    apply(s, &v, dots);
    reduce(s, dots, DOT_NORM);
    apply_coupled(s, dots);
  }
  return finish(s, &v, &progress);
}

struct cr_result cr_solve_pipelined(const struct cr_system *s, double tolerance, int max_iterations)
{
  struct progress progress = {.tolerance = tolerance, .max_iterations = max_iterations};
  struct exact_sum dots[DOTS] = {{{0}}};
  grid_clear(s->grid, NODE_AA_RESIDUAL);
  grid_clear(s->grid, NODE_AA_DIRECTION);
  struct cr_vectors v = start(s, &dots[DOT_NORM]);
  apply(s, &v, dots);
  for (int count = DOTS;; count = DOT_NORM) {
    s->reduce_begin(s->context, dots, count);
    s->product(s->context, NODE_A_RESIDUAL, NODE_AA_RESIDUAL);
    s->reduce_end(s->context);
    if (count == DOTS) progress.norm = measure_of(s, tolerance, dots);
    if (!judge(&progress, dots)) return finish(s, &v, &progress);
    for (int k = 0; k < DOT_NORM; k++) dots[k] = (struct exact_sum){{0}};
    v.a = progress.a;
    v.b = progress.b;
    crew_tiles(s->crew, s->grid, s->kernels->cr_step, &v, s->owned_tiles, dots, DOT_NORM);
  }
}
