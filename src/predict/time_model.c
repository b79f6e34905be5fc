#include "predict/time_model.h"

#include "base/memory.h"
#include "decomposition/slabs.h"
#include "io/scene/scene_report.h"
#include "sim/balance.h"
#include "sim/cost.h"

#include <math.h>
#include <string.h>

const struct model_link model_links[] = {
    {"ethernet25", "Ethernet, 25 Gbit/s, TCP", 15e-6, 2.8e9},
    {"omnipath", "Omni-Path, 100 Gbit/s", 1.1e-6, 11e9},
    {"hdr", "HDR InfiniBand, 200 Gbit/s", 1.0e-6, 22e9},
    {"slingshot", "Slingshot 11, 200 Gbit/s", 1.8e-6, 22e9},
};
const int model_link_count = sizeof model_links / sizeof *model_links;

/* Ranks of one node talk through memory. */
static const struct model_link inside = {"memory", "shared memory", 0.5e-6, 5e9};

/* Resident bytes: measured (docs/performance.md, "Memory"). */
static const double bytes_a_particle = 290.0, bytes_a_node = 210.0;
static const double field_bytes_a_node = 32.0; /* four doubles */

static const double cut_bytes_a_brick = SHARED_PLANES * TILE_DOUBLES * sizeof(double),
                    sum_bytes = EXACT_LIMBS * sizeof(int64_t);
static const double vector_share = 0.75; /* of a field without scalars, as products send them */

const struct model_link *model_find_link(const char *name)
{
  for (int k = 0; k < model_link_count; k++)
    if (strcmp(model_links[k].name, name) == 0) return &model_links[k];
  return NULL;
}

int model_read_link(const char *command, const char *name, const struct model_link **out, struct error *err)
{
  *out = model_find_link(name);
  if (*out) return FIRN_OK;
  return error_set(err, FIRN_EINPUT, "%s: --network takes ethernet25, omnipath, hdr or slingshot, not \"%s\"",
                   command, name);
}

struct model_case model_case_of(const struct scene *scene, const struct model_speed *speed)
{
  return (struct model_case){.threads = speed->threads,
                             .per_node = speed->ranks,
                             .iterations = speed->iterations,
                             .pipelined = scene->pipelined,
                             .gap = scene->gap,
                             .jacobi = scene->jacobi,
                             .fused = scene->scheme == SCHEME_APIC ? scene->force == FORCE_MLS
                                                                   : scene->flip_fraction == 0.0,
                             .implicit = scene->beta > 0.0};
}

/* --- what takes how long on the network
 * -------------------------------------------------------------------------- */

static int doublings(int count)
{
  int steps = 0;
  while ((1 << steps) < count) steps++;
  return steps;
}

struct talk {
  struct curve exchange, sum;
};

static struct curve straight(double start, double per_byte)
{
  const double far = 1e6; /* bytes, any two points of the line */
  return (struct curve){.count = 2, .bytes = {0.0, far}, .seconds = {start, start + far * per_byte}};
}

/* A sum over all ranks takes as many messages one after the other as the ranks can be doubled: among the
 * nodes, and inside them. */
static struct talk talk_of(const struct network *network, const struct model_link *link,
                           const struct model_case *c)
{
  struct talk t = {{0}, {0}};
  if (c->ranks == 1) return t;
  const int per_node = c->per_node < c->ranks ? c->per_node : c->ranks;
  const int nodes = (c->ranks + per_node - 1) / per_node, within = doublings(per_node),
            between = doublings(nodes);
  if (!link && network->ranks > 1) {
    const double more = (double)doublings(c->ranks) / doublings(network->ranks);
    t = (struct talk){network->exchange, network->sum};
    for (int k = 0; k < t.sum.count; k++) t.sum.seconds[k] *= more;
    return t;
  }
  const struct model_link *far = nodes > 1 && link ? link : &inside;
  t.exchange = straight(far->latency, 1.0 / far->bandwidth);
  t.sum = straight(between * far->latency + within * inside.latency,
                   between / far->bandwidth + within / inside.bandwidth);
  return t;
}

/* --- what a rank has to do
 * ---------------------------------------------------------------------------------------- */

struct share { /* of a slab, or of a thread of it */
  double particles, cells, blocks, bricks;
};

static double units(const struct cost *cost, const struct share *s)
{
  return (double)cost->particle * s->particles + (double)cost->cell * s->cells +
         (double)cost->block * s->blocks + (double)cost->brick * s->bricks;
}

/* Layers [from, to) of blocks, without bricks. */
static struct share layers_share(const struct profile *p, int32_t from, int32_t to)
{
  struct share s = {0};
  for (int32_t k = from; k < to; k++) {
    s.particles += (double)p->particles[k];
    s.cells += (double)p->cells[k];
    s.blocks += (double)p->blocks[k];
  }
  return s;
}

static double bricks_between(const struct profile *p, int32_t from, int32_t to)
{
  double bricks = 0.0;
  for (int32_t k = from; k < to && k <= p->layers; k++) bricks += (double)p->bricks[k];
  return bricks;
}

struct slabs *model_cuts(const struct profile *p, int ranks, double products)
{
  const struct cost cost = cost_of((int64_t)llround(products));
  int64_t *weight = mem_alloc((size_t)p->layers, sizeof *weight),
          *beyond = mem_alloc((size_t)p->layers + 1, sizeof *beyond);
  for (int32_t k = 0; k < p->layers; k++)
    weight[k] =
        cost_units(&cost, &(struct cost_count){p->particles[k], p->cells[k], p->blocks[k], p->bricks[k]});
  for (int32_t cut = 0; cut <= p->layers; cut++) beyond[cut] = cost.brick * p->bricks[cut];
  struct slabs *slabs = slabs_create(ranks, p->layers, (struct slab_work){weight, beyond});
  mem_free(weight);
  mem_free(beyond);
  return slabs;
}

/* The busiest thread of a slab. Threads take block after block, so they end at most a block apart: on average
 * half of one. */
static struct share thread_share(struct share whole, int threads, int *busy)
{
  const double one = whole.blocks > 0.0 ? 1.0 / whole.blocks : 0.0;
  double part = threads == 1 ? 1.0 : 1.0 / threads + 0.5 * one * (threads - 1) / threads;
  if (part < one) part = one;
  if (part > 1.0) part = 1.0;
  *busy = whole.blocks < threads ? (whole.blocks < 1.0 ? 1 : (int)whole.blocks) : threads;
  return (struct share){whole.particles * part, whole.cells * part, whole.blocks * part, whole.bricks * part};
}

/* Bytes of one field at a cut, each way. */
static double cut_bytes(const struct profile *p, int32_t cut)
{
  return (double)p->bricks[cut] * cut_bytes_a_brick;
}

double model_sent(const struct profile *p, const struct slabs *slabs, int r)
{
  double bytes = 0.0;
  if (r > 0) bytes += cut_bytes(p, slabs->cut[r]);
  if (r + 1 < slabs->count) bytes += cut_bytes(p, slabs->cut[r + 1]);
  return bytes;
}

/* --- a step
 * ------------------------------------------------------------------------------------------------------ */

struct rank_time {
  double step, serial, product;           /* s of work */
  double step_exchange, product_exchange; /* s that no work hides */
  double bytes, messages, memory;
  int busy;
};

/* Work while an exchange is under way: all blocks but those that neighbours wait for, on one thread. */
static double hidden_units(const struct profile *p, const struct model_case *c, int32_t from, int32_t to,
                           bool left, bool right, const struct cost *cost)
{
  const struct share s = layers_share(p, from + left, to - right > from + left ? to - right : from + left);
  return units(cost, &s) / c->threads;
}

static struct rank_time rank_time(const struct profile *p, const struct model_speed *speed,
                                  const struct talk *talk, const struct model_case *c,
                                  const struct slabs *slabs, int r)
{
  const int32_t from = slabs->cut[r], to = slabs->cut[r + 1];
  const bool left = r > 0, right = r + 1 < slabs->count;
  const double products = c->implicit ? c->iterations + 2.0 + (c->pipelined ? 1.0 : 0.0) : 0.0;
  struct share whole = layers_share(p, from, to);
  whole.bricks = bricks_between(p, from, to + 1);
  struct rank_time t = {0};
  const struct share thread = thread_share(whole, c->threads, &t.busy);
  t.step = speed->parallel * units(&step_cost, &thread);
  t.serial = speed->serial * units(&step_cost, &whole);
  t.product = speed->product * units(&product_cost, &thread);
  double bytes = 0.0;
  if (left) bytes = fmax(bytes, cut_bytes(p, from));
  if (right) bytes = fmax(bytes, cut_bytes(p, to));
  const int fields = (c->fused ? 1 : 2) + c->gap, sides = left + right;
  if (sides) {
    const double once = curve_at(&talk->exchange, bytes),
                 twice = once + (fields - 1) * bytes * curve_slope(&talk->exchange);
    t.step_exchange =
        fmax(0.0, twice - speed->parallel * hidden_units(p, c, from, to, left, right, &step_cost));
    t.step_exchange +=
        2.0 * curve_at(&talk->exchange, 8.0 * bytes / cut_bytes_a_brick); /* lists, particles */
    t.product_exchange =
        fmax(0.0, curve_at(&talk->exchange, vector_share * bytes) -
                      speed->product * hidden_units(p, c, from, to, left, right, &product_cost));
  }
  t.bytes = model_sent(p, slabs, r) * (fields + vector_share * products + (1.0 - vector_share) * c->jacobi);
  t.messages = sides * (fields + products + 2.0);
  t.memory = SCENE_PROCESS_BYTES + bytes_a_particle * whole.particles +
             (bytes_a_node + (2 * c->pipelined + c->gap) * field_bytes_a_node) * whole.bricks * BLOCK_CELLS;
  return t;
}

/* Sums besides the solve's iterations: two that judge a step, two for the preconditioner, and one for the
 * cuts, which long domains do not have in each step. */
static double step_sums(const struct profile *p, const struct model_case *c, const struct talk *talk)
{
  return curve_at(&talk->sum, 6.0 * 8.0) + curve_at(&talk->sum, 11.0 * sum_bytes) +
         (c->jacobi ? curve_at(&talk->sum, 2.0 * sum_bytes) + curve_at(&talk->sum, 4.0 * sum_bytes) : 0.0) +
         curve_at(&talk->sum, 8.0 * (2.0 * p->layers + 1.0)) / (double)balance_interval(p->layers);
}

void model_predict(const struct profile *p, const struct model_speed *speed, const struct network *network,
                   const struct model_link *link, const struct model_case *c, struct model_time *out)
{
  const struct talk talk = talk_of(network, link, c);
  const double products = c->implicit ? c->iterations + 2.0 + (c->pipelined ? 1.0 : 0.0) : 0.0,
               solver_sums = c->implicit ? c->iterations + 1.0 : 0.0;
  struct slabs *slabs = model_cuts(p, c->ranks, products);
  *out = (struct model_time){.slabs = slabs->count};
  double most_step = 0.0, most_product = 0.0, units_all = 0.0, hidden = INFINITY;
  for (int r = 0; r < slabs->count; r++) {
    const struct rank_time t = rank_time(p, speed, &talk, c, slabs, r);
    /* All ranks wait for each other once a product and once a step. */
    most_step = fmax(most_step, t.step + t.serial + t.step_exchange);
    most_product = fmax(most_product, t.product + t.product_exchange);
    hidden = fmin(hidden, t.product + t.product_exchange);
    const double work = t.step + t.serial + products * t.product;
    if (work > out->work) {
      out->work = work;
      out->serial = t.serial;
      out->busy_threads = t.busy;
    }
    out->bytes = fmax(out->bytes, t.bytes);
    out->messages = fmax(out->messages, t.messages);
    out->memory = fmax(out->memory, t.memory);
  }
  double sum = curve_at(&talk.sum, 4.0 * sum_bytes);
  if (c->pipelined) sum = fmax(0.0, sum - hidden);
  const bool alone = slabs->count == 1 && c->ranks == 1;
  out->sum_count = alone ? 0.0 : 3.0 + 2 * c->jacobi + solver_sums;
  out->sums = alone ? 0.0 : step_sums(p, c, &talk) + solver_sums * sum;
  out->step = most_step + products * most_product + out->sums;
  out->exchange = out->step - out->work - out->sums;
  const struct share all = {(double)p->all_particles, (double)p->all_cells, (double)p->all_blocks,
                            (double)p->all_bricks};
  units_all = (speed->parallel + speed->serial) * units(&step_cost, &all) +
              products * speed->product * units(&product_cost, &all);
  out->ideal = units_all / ((double)c->ranks * c->threads);
  slabs_destroy(&slabs);
}
