#include "sim/first_sound.h"

#include "base/memory.h"
#include "seeding/seeding.h"
#include "sim/sim.h"

#include <math.h>

static const double most_particles = 0x1p20, most_nodes = 0x1p24; /* a second or two, and 128 MiB */

/* All nodes in the bounds of the snow. */
struct box {
  const struct scene *scene;
  int support;
  double low[3];   /* index of the first node */
  int64_t size[3]; /* nodes */
  double *mass;    /* kg; owned */
};

/* First node along an axis that a position reaches, from the scene's lower corner on. */
static double first_node(const struct box *b, int axis, double x)
{
  const double u = (x - b->scene->lower[axis]) / b->scene->spacing;
  return floor(b->support == 4 ? u : u + 0.5) - 1.0;
}

/* Weights along an axis (method.md), from the first node on. */
static void weigh(const struct box *b, int axis, double x, double first, double w[MAX_SUPPORT])
{
  const double u = (x - b->scene->lower[axis]) / b->scene->spacing - (first + 1.0);
  if (b->support == 4) {
    const double v = 1.0 - u;
    w[0] = v * v * v / 6.0;
    w[1] = (0.5 * u - 1.0) * u * u + 2.0 / 3.0;
    w[2] = (0.5 * v - 1.0) * v * v + 2.0 / 3.0;
    w[3] = u * u * u / 6.0;
  } else {
    w[0] = 0.5 * (0.5 - u) * (0.5 - u);
    w[1] = 0.75 - u * u;
    w[2] = 0.5 * (0.5 + u) * (0.5 + u);
  }
}

/* False if there are too many nodes. */
static bool box_create(struct box *b, const struct scene *scene, const struct particles *p)
{
  double nodes = 1.0;
  *b = (struct box){.scene = scene, .support = scene->kernel == KERNEL_CUBIC ? 4 : 3};
  for (int d = 0; d < 3; d++) {
    double low = INFINITY, high = -INFINITY;
    for (int32_t i = 0; i < p->count; i++) {
      low = fmin(low, p->x[d][i]);
      high = fmax(high, p->x[d][i]);
    }
    b->low[d] = first_node(b, d, low);
    nodes *= first_node(b, d, high) - b->low[d] + b->support;
    if (!(nodes <= most_nodes)) return false;
    b->size[d] = (int64_t)(first_node(b, d, high) - b->low[d]) + b->support;
  }
  b->mass = mem_alloc((size_t)nodes, sizeof *b->mass);
  return true;
}

/* Adds the particle's mass to its nodes, or, without `add`, returns the mass that it finds there. */
static double visit(struct box *b, const struct particles *p, int32_t i, bool add)
{
  double w[3][MAX_SUPPORT], sum = 0.0;
  int64_t at[3];
  for (int d = 0; d < 3; d++) {
    const double first = first_node(b, d, p->x[d][i]);
    weigh(b, d, p->x[d][i], first, w[d]);
    at[d] = (int64_t)(first - b->low[d]);
  }
  for (int x = 0; x < b->support; x++)
    for (int y = 0; y < b->support; y++) {
      double *row = b->mass + ((at[0] + x) * b->size[1] + at[1] + y) * b->size[2] + at[2];
      const double wxy = w[0][x] * w[1][y];
      for (int z = 0; z < b->support; z++) {
        if (add) row[z] += p->mass[i] * wxy * w[2][z];
        sum += row[z] * wxy * w[2][z];
      }
    }
  return sum;
}

/* V0 of the particles that have none yet. */
static bool estimate(const struct scene *scene, struct particles *p)
{
  const double h = scene->spacing;
  struct box b;
  if (!box_create(&b, scene, p)) return false;
  for (int32_t i = 0; i < p->count; i++) visit(&b, p, i, true);
  for (int32_t i = 0; i < p->count; i++)
    if (p->volume[i] == 0.0) p->volume[i] = p->mass[i] * h * h * h / visit(&b, p, i, false);
  mem_free(b.mass);
  return true;
}

static double fastest(const struct scene *scene, const struct particles *p)
{
  struct material_constants *constants = sim_constants_create(scene);
  double most = 0.0;
  for (int32_t i = 0; i < p->count; i++) most = fmax(most, sim_sound_in(scene, constants, p, i));
  mem_free(constants);
  return most;
}

void first_sound_refine(const struct scene *scene, struct scene_estimate *e)
{
  if (!e->sound_binds || e->sound_from == SOUND_KNOWN || e->particles > most_particles) return;
  struct comm alone;
  struct particles *p = particles_create(sim_particle_needs(scene));
  comm_alone(&alone);
  if (seed_snow(&alone, scene, p, NULL) == FIRN_OK && p->count > 0) {
    sim_begin_history(scene, p);
    if (estimate(scene, p)) scene_set_sound(scene, fastest(scene, p), e);
  }
  comm_destroy(&alone);
  particles_destroy(&p);
}
