#include "predict/profile.h"

#include "base/memory.h"
#include "io/scene/window.h"

#include <math.h>
#include <string.h>

static struct profile *profile_create(int axis, int32_t layers, int support)
{
  struct profile *p = mem_alloc(1, sizeof *p);
  *p = (struct profile){.axis = axis, .layers = layers, .support = support};
  p->particles = mem_alloc((size_t)layers, sizeof *p->particles);
  p->cells = mem_alloc((size_t)layers, sizeof *p->cells);
  p->blocks = mem_alloc((size_t)layers, sizeof *p->blocks);
  p->bricks = mem_alloc((size_t)layers + 1, sizeof *p->bricks);
  return p;
}

void profile_destroy(struct profile **profile)
{
  if (!*profile) return;
  mem_free((*profile)->particles);
  mem_free((*profile)->cells);
  mem_free((*profile)->blocks);
  mem_free((*profile)->bricks);
  mem_free(*profile);
  *profile = NULL;
}

static void add_up(struct profile *p)
{
  for (int32_t k = 0; k < p->layers; k++) {
    p->all_particles += p->particles[k];
    p->all_cells += p->cells[k];
    p->all_blocks += p->blocks[k];
  }
  for (int32_t k = 0; k <= p->layers; k++) p->all_bricks += p->bricks[k];
  p->nodes = (double)p->all_bricks * BLOCK_CELLS;
}

struct profile *profile_of_sim(const struct sim *sim)
{
  const struct grid *g = sim->mesh.grid;
  struct profile *p = profile_create(g->geometry.axis[0], sim->mesh.slabs->layers, g->geometry.support);
  for (int32_t k = 0; k < g->layers; k++) {
    const int32_t from = g->layer_block[k], to = g->layer_block[k + 1], *cells = g->blocks.first;
    p->particles[g->first + k] = g->cell_start[cells[to]] - g->cell_start[cells[from]];
    p->cells[g->first + k] = cells[to] - cells[from];
    p->blocks[g->first + k] = to - from;
  }
  /* Shared bricks are counted by the right side. */
  const bool last = sim->comm.rank == sim->mesh.slabs->count - 1;
  for (int32_t k = 0; k < g->layers + last; k++)
    p->bricks[g->first + k] = g->layer_brick[k + 1] - g->layer_brick[k];
  comm_sum_i64(&sim->comm, p->particles, p->layers);
  comm_sum_i64(&sim->comm, p->cells, p->layers);
  comm_sum_i64(&sim->comm, p->blocks, p->layers);
  comm_sum_i64(&sim->comm, p->bricks, p->layers + 1);
  add_up(p);
  return p;
}

/* --- from shapes
 * ------------------------------------------------------------------------------------------------- */

/* The cross-section of the snow: which blocks of a layer have cells, and which bricks are reached. */
struct section {
  int64_t first[2], count[2]; /* blocks along grid axes 1 and 2, with one more for the stencils' reach */
  unsigned char *block, *brick, *next; /* of the layer, and bricks of the one after it */
};

struct sampler {
  const struct scene *scene;
  struct profile *profile;
  struct section section;
  int axis[3];            /* world axis of grid axis 0, 1, 2 */
  double h;               /* m */
  int32_t planes;         /* of one copy */
  double low[3], high[3]; /* m: what a window shows at the start; without one there is no end */
};

/* Bounds of all snow of one copy; those of no snow are empty. */
static bool snow_bounds(const struct scene *s, double lower[3], double upper[3])
{
  bool any = false;
  for (int d = 0; d < 3; d++) {
    lower[d] = INFINITY;
    upper[d] = -INFINITY;
  }
  for (int k = 0; k < scene_own_snow(s); k++) {
    double low[3], high[3];
    if (s->snow[k].file || !shape_bounds(&s->snow[k].shape, low, high)) continue;
    any = true;
    for (int d = 0; d < 3; d++) {
      lower[d] = fmin(lower[d], low[d]);
      upper[d] = fmax(upper[d], high[d]);
    }
  }
  return any;
}

/* As sim.c chooses it: the axis along which the snow is longest. */
static int slab_axis(const struct scene *s, const double lower[3], const double upper[3])
{
  if (s->slab_axis != AXIS_AUTO) return (int)s->slab_axis;
  int best = 0;
  for (int d = 1; d < 3; d++)
    if (upper[d] - lower[d] > upper[best] - lower[best]) best = d;
  return best;
}

static int64_t place(const struct section *s, int64_t y, int64_t z)
{
  return (y - s->first[0]) * s->count[1] + (z - s->first[1]);
}

/* Expected particles of a cell, from the distance at its centre. */
static double share_inside(double distance, double h)
{
  return fmax(0.0, fmin(1.0, 0.5 - distance / h));
}

/* What one block of a plane has of one source. */
struct block {
  double volume; /* inside, in cells */
  double cells;  /* that have a particle, on average */
  int last[2];   /* the last row and column that have one, -1 for none */
};

static void fill_cell(struct block *b, double share, double per_cell, int y, int z)
{
  const double present = 1.0 - exp(-per_cell * share);
  b->volume += share;
  b->cells += present;
  if (present < 0.5) return;
  if (y > b->last[0]) b->last[0] = y;
  if (z > b->last[1]) b->last[1] = z;
}

static struct block fill_block(const struct sampler *s, const struct snow_source *source, double plane,
                               int64_t by, int64_t bz, double per_cell)
{
  const double low[2] = {s->scene->lower[s->axis[1]], s->scene->lower[s->axis[2]]};
  struct block b = {.last = {-1, -1}};
  double x[3], least, most;
  x[s->axis[0]] = plane;
  x[s->axis[1]] = low[0] + s->h * ((double)by + 0.5) * TILE_Y;
  x[s->axis[2]] = low[1] + s->h * ((double)bz + 0.5) * TILE_Z;
  for (int d = 0; d < 3; d++)
    if (x[d] < s->low[d] || x[d] > s->high[d]) return b;
  const double radius = 0.5 * s->h * sqrt(1.0 + TILE_Y * TILE_Y + TILE_Z * TILE_Z);
  shape_range(&source->shape, x, radius, &least, &most);
  if (least > 0.0) return b;
  if (most < 0.0) return (struct block){TILE_NODES, TILE_NODES, {TILE_Y - 1, TILE_Z - 1}};
  for (int y = 0; y < TILE_Y; y++)
    for (int z = 0; z < TILE_Z; z++) {
      x[s->axis[1]] = low[0] + s->h * ((double)(by * TILE_Y + y) + 0.5);
      x[s->axis[2]] = low[1] + s->h * ((double)(bz * TILE_Z + z) + 0.5);
      fill_cell(&b, share_inside(shape_distance(&source->shape, x, NULL), s->h), per_cell, y, z);
    }
  return b;
}

/* The block, and the bricks that the stencils of its cells on plane k reach. */
static void touch(struct sampler *s, int32_t k, int64_t y, int64_t z, const struct block *b)
{
  struct section *section = &s->section;
  const int reach = s->profile->support - 1;
  if (b->last[0] < 0) return;
  const int64_t y_end = b->last[0] + reach >= TILE_Y, z_end = b->last[1] + reach >= TILE_Z;
  section->block[place(section, y, z)] = 1;
  for (int64_t dy = 0; dy <= y_end; dy++)
    for (int64_t dz = 0; dz <= z_end; dz++) {
      section->brick[place(section, y + dy, z + dz)] = 1;
      if (k % BLOCK_X + reach >= BLOCK_X) section->next[place(section, y + dy, z + dz)] = 1;
    }
}

/* Particles of a full cell, whose edge is h as the scene has it: refinement keeps them. */
static double density_of(const struct snow_source *source, double h)
{
  if (!source->count) return source->per_cell;
  return (double)source->count * h * h * h / shape_volume(&source->shape);
}

/* One cell plane. */
static void sample_plane(struct sampler *s, int32_t k)
{
  struct section *section = &s->section;
  const double plane = s->scene->lower[s->axis[0]] + s->h * ((double)k + 0.5);
  double particles = 0.0, cells = 0.0;
  for (int n = 0; n < scene_own_snow(s->scene); n++) {
    const struct snow_source *source = &s->scene->snow[n];
    double low[3], high[3];
    if (source->file || !shape_bounds(&source->shape, low, high)) continue;
    if (low[s->axis[0]] > plane + s->h || high[s->axis[0]] < plane - s->h) continue;
    const double per_cell = density_of(source, s->scene->spacing);
    for (int64_t y = section->first[0]; y + 1 < section->first[0] + section->count[0]; y++)
      for (int64_t z = section->first[1]; z + 1 < section->first[1] + section->count[1]; z++) {
        const struct block b = fill_block(s, source, plane, y, z, per_cell);
        particles += per_cell * b.volume;
        cells += b.cells;
        touch(s, k, y, z, &b);
      }
  }
  s->profile->particles[k / BLOCK_X] += (int64_t)llround(particles);
  s->profile->cells[k / BLOCK_X] += (int64_t)llround(cells);
}

static int64_t count_set(const unsigned char *set, int64_t count)
{
  int64_t found = 0;
  for (int64_t b = 0; b < count; b++) found += set[b];
  return found;
}

/* One layer, whose bricks the layer before it reached in part. */
static void sample_layer(struct sampler *s, int32_t layer)
{
  struct section *section = &s->section;
  const int64_t count = section->count[0] * section->count[1];
  unsigned char *reached = section->next;
  section->next = section->brick;
  section->brick = reached;
  memset(section->next, 0, (size_t)count);
  memset(section->block, 0, (size_t)count);
  for (int32_t k = layer * BLOCK_X; k < (layer + 1) * BLOCK_X && k < s->planes; k++) sample_plane(s, k);
  s->profile->blocks[layer] = count_set(section->block, count);
  s->profile->bricks[layer] = count_set(section->brick, count);
  s->profile->bricks[layer + 1] = count_set(section->next, count); /* unless the next layer has more */
}

static void look_through_window(struct sampler *s)
{
  for (int d = 0; d < 3; d++) {
    s->low[d] = -INFINITY;
    s->high[d] = INFINITY;
  }
  if (!s->scene->window.given) return;
  struct window w = {0};
  const int axis = s->scene->window.axis;
  window_advance(&w, s->scene, 0.0);
  s->low[axis] = s->scene->lower[axis] + s->scene->spacing * (double)w.from;
  s->high[axis] = s->scene->lower[axis] + s->scene->spacing * (double)w.to;
}

static void make_section(struct sampler *s, const double lower[3], const double upper[3])
{
  const int64_t size[2] = {TILE_Y, TILE_Z};
  for (int a = 0; a < 2; a++) {
    const int d = s->axis[a + 1];
    const double from = floor((lower[d] - s->scene->lower[d]) / s->h),
                 to = ceil((upper[d] - s->scene->lower[d]) / s->h);
    s->section.first[a] = (int64_t)floor(from / (double)size[a]);
    s->section.count[a] = (int64_t)ceil(to / (double)size[a]) - s->section.first[a] + 1;
  }
  const size_t blocks = (size_t)(s->section.count[0] * s->section.count[1]);
  s->section.block = mem_alloc(blocks, 1);
  s->section.brick = mem_alloc(blocks, 1);
  s->section.next = mem_alloc(blocks, 1);
}

int32_t profile_meeting_layers(const struct profile *p)
{
  int32_t first = 0, end = p->layers;
  while (first < end && p->particles[first] == 0) first++;
  while (end > first && p->particles[end - 1] == 0) end--;
  return end - first > 1 ? end - first - 1 : 1;
}

/* Copies that meet in a layer are taken to have the same blocks and bricks there, as a bar that goes on. */
struct profile *profile_repeat(const struct profile *one, int copies, int32_t distance)
{
  if (distance <= 0 || distance > one->layers) distance = one->layers;
  struct profile *p = profile_create(one->axis, one->layers + (copies - 1) * distance, one->support);
  for (int c = 0; c < copies; c++) {
    const int32_t at = c * distance;
    for (int32_t k = 0; k < one->layers; k++) {
      p->particles[at + k] += one->particles[k];
      p->cells[at + k] += one->cells[k];
      if (one->blocks[k] > p->blocks[at + k]) p->blocks[at + k] = one->blocks[k];
    }
    for (int32_t k = 0; k <= one->layers; k++)
      if (one->bricks[k] > p->bricks[at + k]) p->bricks[at + k] = one->bricks[k];
  }
  add_up(p);
  return p;
}

struct profile *profile_of_scene(const struct scene *scene, double refine)
{
  double lower[3], upper[3];
  const bool any = snow_bounds(scene, lower, upper);
  struct sampler s = {.scene = scene, .h = scene->spacing / refine};
  const int axis = any ? slab_axis(scene, lower, upper) : 0;
  for (int a = 0; a < 3; a++) s.axis[a] = (axis + a) % 3;
  const int64_t apart = (scene->copies - 1) * scene->copy_cells;
  s.planes = (int32_t)ceil((double)(scene->cells[axis] - apart) * refine);
  s.profile = profile_create(axis, s.planes / BLOCK_X + 1, scene->kernel == KERNEL_CUBIC ? 4 : 3);
  if (any) {
    look_through_window(&s);
    make_section(&s, lower, upper);
    for (int32_t layer = 0; layer < s.profile->layers; layer++) sample_layer(&s, layer);
    mem_free(s.section.block);
    mem_free(s.section.brick);
    mem_free(s.section.next);
  }
  add_up(s.profile);
  if (scene->copies == 1) return s.profile;
  struct profile *all = profile_repeat(s.profile, scene->copies,
                                       (int32_t)llround((double)scene->copy_cells * refine / BLOCK_X));
  profile_destroy(&s.profile);
  return all;
}
