#include "predict/profile.h"

#include "base/memory.h"
#include "io/scene/window.h"

#include <math.h>
#include <string.h>

static struct profile *profile_create(int axis, int32_t planes, int support)
{
  struct profile *p = mem_alloc(1, sizeof *p);
  *p = (struct profile){.axis = axis, .planes = planes, .support = support};
  p->particles = mem_alloc((size_t)planes, sizeof *p->particles);
  p->cells = mem_alloc((size_t)planes, sizeof *p->cells);
  p->tiles = mem_alloc((size_t)(planes + support - 1), sizeof *p->tiles);
  return p;
}

void profile_destroy(struct profile **profile)
{
  if (!*profile) return;
  mem_free((*profile)->particles);
  mem_free((*profile)->cells);
  mem_free((*profile)->tiles);
  mem_free(*profile);
  *profile = NULL;
}

static void add_up(struct profile *p)
{
  for (int32_t k = 0; k < p->planes; k++) {
    p->all_particles += p->particles[k];
    p->all_cells += p->cells[k];
  }
  for (int32_t k = 0; k < p->planes + p->support - 1; k++) p->all_tiles += p->tiles[k];
  p->nodes = (double)p->all_tiles * TILE_NODES;
}

struct profile *profile_of_sim(const struct sim *sim)
{
  const struct grid *g = sim->mesh.grid;
  const int shared = g->geometry.support - 1;
  struct profile *p = profile_create(g->geometry.axis[0], sim->mesh.slabs->planes, g->geometry.support);
  for (int32_t k = 0; k < g->planes; k++) {
    const int32_t from = g->plane_cell[k], to = g->plane_cell[k + 1];
    p->particles[g->first + k] = g->cell_start[to] - g->cell_start[from];
    p->cells[g->first + k] = to - from;
  }
  /* A shared node plane is counted by the right side. */
  const bool last = sim->comm.rank == sim->mesh.slabs->count - 1;
  for (int32_t k = 0; k < g->planes + (last ? shared : 0); k++)
    p->tiles[g->first + k] = grid_plane_tile_count(g, k);
  comm_sum_i64(&sim->comm, p->particles, p->planes);
  comm_sum_i64(&sim->comm, p->cells, p->planes);
  comm_sum_i64(&sim->comm, p->tiles, p->planes + shared);
  add_up(p);
  return p;
}

/* --- from shapes
 * ------------------------------------------------------------------------------------------------- */

/* The cross-section of the snow in blocks of a tile's size: which of them a cell plane touches. */
struct section {
  int64_t first[2], count[2]; /* blocks along grid axes 1 and 2, with one more for the stencils' reach */
  unsigned char *touched[MAX_SUPPORT]; /* footprints of the last planes, a ring */
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

static unsigned char *at(struct section *s, int ring, int64_t y, int64_t z)
{
  return &s->touched[ring][(y - s->first[0]) * s->count[1] + (z - s->first[1])];
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

/* The tiles that the stencils of a block reach: its own, and the next ones along both axes. */
static void touch(struct sampler *s, int ring, int64_t y, int64_t z, const struct block *b)
{
  const int reach = s->profile->support - 1;
  if (b->last[0] < 0) return;
  const int64_t y_end = b->last[0] + reach >= TILE_Y, z_end = b->last[1] + reach >= TILE_Z;
  for (int64_t dy = 0; dy <= y_end; dy++)
    for (int64_t dz = 0; dz <= z_end; dz++) *at(&s->section, ring, y + dy, z + dz) = 1;
}

/* Particles of a full cell, whose edge is h as the scene has it: refinement keeps them. */
static double density_of(const struct snow_source *source, double h)
{
  if (!source->count) return source->per_cell;
  return (double)source->count * h * h * h / shape_volume(&source->shape);
}

/* One cell plane: its particles and cells, and the blocks that its stencils touch into the ring. */
static void sample_plane(struct sampler *s, int32_t k)
{
  struct section *section = &s->section;
  const int ring = k % MAX_SUPPORT;
  const double plane = s->scene->lower[s->axis[0]] + s->h * ((double)k + 0.5);
  double particles = 0.0, cells = 0.0;
  memset(section->touched[ring], 0, (size_t)(section->count[0] * section->count[1]));
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
        touch(s, ring, y, z, &b);
      }
  }
  s->profile->particles[k] = (int64_t)llround(particles);
  s->profile->cells[k] = (int64_t)llround(cells);
}

/* A node plane has the tiles that any of the cell planes before it reach. */
static void count_tiles(struct sampler *s, int32_t node_plane)
{
  struct section *section = &s->section;
  const int64_t blocks = section->count[0] * section->count[1];
  int64_t count = 0;
  for (int64_t b = 0; b < blocks; b++) {
    unsigned char any = 0;
    for (int back = 0; back < s->profile->support; back++) {
      const int32_t k = node_plane - back;
      if (k >= 0 && k < s->planes) any |= section->touched[k % MAX_SUPPORT][b];
    }
    count += any;
  }
  s->profile->tiles[node_plane] += count;
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
  for (int k = 0; k < MAX_SUPPORT; k++)
    s->section.touched[k] = mem_alloc((size_t)(s->section.count[0] * s->section.count[1]), 1);
}

int32_t profile_snow_planes(const struct profile *p)
{
  int32_t first = 0, end = p->planes;
  while (first < end && p->particles[first] == 0) first++;
  while (end > first && p->particles[end - 1] == 0) end--;
  return end > first ? end - first : 1;
}

/* Stencils of two copies that meet in a plane are taken to reach the same tiles, as those of a bar that goes
 * on. */
struct profile *profile_repeat(const struct profile *one, int copies, int32_t distance)
{
  if (distance <= 0 || distance > one->planes) distance = one->planes;
  const int32_t tile_planes = one->planes + one->support - 1;
  struct profile *p = profile_create(one->axis, one->planes + (copies - 1) * distance, one->support);
  for (int c = 0; c < copies; c++) {
    const int32_t at = c * distance;
    for (int32_t k = 0; k < one->planes; k++) {
      p->particles[at + k] += one->particles[k];
      p->cells[at + k] += one->cells[k];
    }
    for (int32_t k = 0; k < tile_planes; k++)
      if (one->tiles[k] > p->tiles[at + k]) p->tiles[at + k] = one->tiles[k];
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
  s.profile = profile_create(axis, s.planes, scene->kernel == KERNEL_CUBIC ? 4 : 3);
  if (any) {
    look_through_window(&s);
    make_section(&s, lower, upper);
    for (int32_t k = 0; k < s.planes; k++) {
      sample_plane(&s, k);
      count_tiles(&s, k);
    }
    for (int32_t k = s.planes; k < s.planes + s.profile->support - 1; k++) count_tiles(&s, k);
    for (int k = 0; k < MAX_SUPPORT; k++) mem_free(s.section.touched[k]);
  }
  add_up(s.profile);
  if (scene->copies == 1) return s.profile;
  struct profile *all =
      profile_repeat(s.profile, scene->copies, (int32_t)llround((double)scene->copy_cells * refine));
  profile_destroy(&s.profile);
  return all;
}
