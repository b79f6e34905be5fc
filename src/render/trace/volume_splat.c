/* Every rank looks through all particles twice: once for the tiles that there are, once for the lists of the
 * tiles that it fills itself. That is little work beside the sums, and takes no exchange. A tile is filled by
 * one thread, from its particles in the order of the file. */
#include "render/trace/volume_splat.h"

#include "base/memory.h"
#include "base/rng.h"
#include "decomposition/node_block.h"

#include <math.h>
#include <string.h>

enum { MOST_SPLATS = 64 }; /* of one particle along its way */
enum { MOST_NODES = 10 };  /* of a stencil along an axis: kernels up to twice the voxel */

/* A particle on its way through the time that the grid covers. */
struct trail {
  int splats;
  double first[3], step[3]; /* voxels */
  double part;              /* of the particle's mass */
};

static int64_t splat_count(const struct volume_points *points)
{
  return points->count * (points->grains > 0 ? points->grains : 1);
}

static int64_t particle_of(const struct volume_points *points, int64_t i)
{
  return points->grains > 0 ? i / points->grains : i;
}

/* Where grain i lies from its particle, and its part of the mass. It depends on the particle's id alone, so
 * that grains travel with it. */
static double grain_of(const struct volume_points *points, int64_t i, double offset[3])
{
  const int64_t particle = particle_of(points, i);
  const uint64_t id = points->id ? points->id[particle] : (uint64_t)particle;
  const uint64_t number = (uint64_t)(i % points->grains);
  for (int d = 0; d < 3; d++) {
    const uint64_t bits = rng_bits(11, id, 4 * number + (uint64_t)d);
    const double u = (double)(bits >> 32) * 0x1p-32, w = (double)(bits & 0xffffffffu) * 0x1p-32;
    offset[d] = points->scatter * (u + w - 1.0);
  }
  return (0.3 + 1.4 * rng_uniform(11, id, 4 * number + 3)) / points->grains;
}

static void trail_of(const struct volume *v, const struct volume_points *points,
                     const struct volume_options *o, int64_t index, struct trail *trail)
{
  const int64_t i = particle_of(points, index);
  double way[3], length = 0.0, offset[3] = {0.0, 0.0, 0.0};
  trail->part = points->grains > 0 ? grain_of(points, index, offset) : 1.0;
  for (int d = 0; d < 3; d++) {
    const double speed = points->velocity ? (double)points->velocity[3 * i + d] / v->voxel : 0.0;
    const double x = (double)points->position[3 * i + d] + offset[d];
    trail->first[d] = (x - v->origin[d]) / v->voxel + o->from * speed;
    way[d] = (o->to - o->from) * speed;
    length += way[d] * way[d];
  }
  const double wanted = ceil(2.0 * sqrt(length)); /* half a voxel apart */
  trail->splats = wanted < 1.0 ? 1 : wanted < MOST_SPLATS ? (int)wanted : MOST_SPLATS;
  for (int d = 0; d < 3; d++) {
    trail->step[d] = way[d] / trail->splats;
    trail->first[d] += 0.5 * trail->step[d];
  }
}

/* First node and cubic weights along each axis. */
struct stencil {
  int32_t node[3];
  int count;
  float weight[3][MOST_NODES];
};

static void narrow_axis(double u, int32_t *node, float *weight)
{
  const double base = floor(u);
  const float f = (float)(u - base), g = 1.0f - f;
  *node = (int32_t)base - 1;
  weight[0] = g * g * g / 6.0f;
  weight[1] = 2.0f / 3.0f - f * f * (1.0f - 0.5f * f);
  weight[2] = 2.0f / 3.0f - g * g * (1.0f - 0.5f * g);
  weight[3] = f * f * f / 6.0f;
}

/* A kernel of `width` voxels; the weights add up to 1. */
static void wide_axis(double u, double width, int count, int32_t *node, float *weight)
{
  float sum = 0.0f;
  *node = (int32_t)ceil(u - 2.0 * width);
  for (int k = 0; k < count; k++) {
    const float r = (float)(fabs(*node + k - u) / width), far = 2.0f - r;
    weight[k] = r < 1.0f ? 2.0f / 3.0f - r * r * (1.0f - 0.5f * r) : r < 2.0f ? far * far * far / 6.0f : 0.0f;
    sum += weight[k];
  }
  for (int k = 0; k < count; k++) weight[k] /= sum;
}

static void stencil_of(const struct volume *v, const struct volume_options *o, const struct trail *trail,
                       int splat, struct stencil *s)
{
  const double width = o->kernel / v->voxel;
  s->count = width > 1.0 ? (int)(4.0 * width) + 1 : 4;
  if (s->count > MOST_NODES) s->count = MOST_NODES;
  for (int d = 0; d < 3; d++) {
    const double u = trail->first[d] + splat * trail->step[d];
    if (width > 1.0)
      wide_axis(u, width, s->count, &s->node[d], s->weight[d]);
    else
      narrow_axis(u, &s->node[d], s->weight[d]);
  }
}

/* Tiles that hold a node of the stencil, the last row of nodes included. */
struct tile_range {
  int32_t from[3], to[3]; /* both included */
};

static struct tile_range tiles_of(const struct stencil *s)
{
  struct tile_range range;
  for (int d = 0; d < 3; d++) {
    range.from[d] = (s->node[d] - 1) >> 3;
    range.to[d] = (s->node[d] + s->count - 1) >> 3;
  }
  return range;
}

void key_set_create(struct key_set *set, uint64_t slots)
{
  set->slot = mem_alloc(slots, sizeof *set->slot);
  set->mask = slots - 1;
  set->count = 0;
  memset(set->slot, 0xff, slots * sizeof *set->slot);
}

static uint64_t key_slot(const struct key_set *set, uint64_t key)
{
  uint64_t at = rng_mix(key) & set->mask;
  while (set->slot[at] != UINT64_MAX && set->slot[at] != key) at = (at + 1) & set->mask;
  return at;
}

bool key_set_has(const struct key_set *set, uint64_t key)
{
  return set->slot[key_slot(set, key)] == key;
}

void key_set_add(struct key_set *set, uint64_t key)
{
  const uint64_t at = key_slot(set, key);
  if (set->slot[at] == key) return;
  set->slot[at] = key;
  if (++set->count * 2 <= (int64_t)set->mask) return;
  struct key_set larger;
  key_set_create(&larger, 2 * (set->mask + 1));
  for (uint64_t k = 0; k <= set->mask; k++)
    if (set->slot[k] != UINT64_MAX) key_set_add(&larger, set->slot[k]);
  mem_free(set->slot);
  *set = larger;
}

uint64_t *key_set_take(struct key_set *set, int64_t *count)
{
  uint64_t *keys = set->slot;
  *count = 0;
  for (uint64_t k = 0; k <= set->mask; k++)
    if (keys[k] != UINT64_MAX) keys[(*count)++] = keys[k];
  set->slot = NULL;
  return keys;
}

int64_t splat_tiles(const struct volume *v, const struct volume_points *points,
                    const struct volume_options *options, uint64_t **keys)
{
  struct key_set set;
  struct tile_range last = {{-1, -1, -1}, {-1, -1, -1}};
  key_set_create(&set, 1024);
  for (int64_t i = 0, all = splat_count(points); i < all; i++) {
    struct trail trail;
    trail_of(v, points, options, i, &trail);
    for (int k = 0; k < trail.splats; k++) {
      struct stencil stencil;
      stencil_of(v, options, &trail, k, &stencil);
      const struct tile_range range = tiles_of(&stencil);
      if (memcmp(&range, &last, sizeof range) == 0) continue; /* particles come cell by cell */
      last = range;
      int32_t c[3];
      for (c[0] = range.from[0]; c[0] <= range.to[0]; c[0]++)
        for (c[1] = range.from[1]; c[1] <= range.to[1]; c[1]++)
          for (c[2] = range.from[2]; c[2] <= range.to[2]; c[2]++) key_set_add(&set, splat_pack(c));
    }
  }
  int64_t count;
  *keys = key_set_take(&set, &count);
  return count;
}

/* Particles of the tiles [from, to), by tile and then in the order of the file. */
struct lists {
  int64_t from, to;
  int64_t *start; /* [to - from + 1] */
  uint32_t *particle;
};

/* Calls for each tile of ours that particle i reaches, once each: counts it, or writes it down. */
static void visit_tiles(const struct volume *v, const struct volume_options *options,
                        const struct trail *trail, struct lists *lists, uint32_t i, int64_t *fill,
                        int64_t *latest)
{
  for (int k = 0; k < trail->splats; k++) {
    struct stencil stencil;
    stencil_of(v, options, trail, k, &stencil);
    const struct tile_range range = tiles_of(&stencil);
    int32_t c[3];
    for (c[0] = range.from[0]; c[0] <= range.to[0]; c[0]++)
      for (c[1] = range.from[1]; c[1] <= range.to[1]; c[1]++)
        for (c[2] = range.from[2]; c[2] <= range.to[2]; c[2]++) {
          const int32_t voxel[3] = {8 * c[0], 8 * c[1], 8 * c[2]};
          const int64_t tile = volume_find(v, voxel);
          if (tile < lists->from || tile >= lists->to) continue;
          const int64_t mine = tile - lists->from;
          if (latest[mine] == (int64_t)i) continue; /* an earlier splat of the same particle */
          latest[mine] = (int64_t)i;
          if (lists->particle)
            lists->particle[fill[mine]++] = i;
          else
            lists->start[mine + 1]++;
        }
  }
}

static void lists_create(struct lists *lists, const struct volume *v, const struct volume_points *points,
                         const struct volume_options *options)
{
  const int64_t tiles = lists->to - lists->from;
  int64_t *latest = mem_alloc((size_t)tiles + 1, sizeof *latest);
  int64_t *fill = mem_alloc((size_t)tiles + 1, sizeof *fill);
  lists->start = mem_alloc((size_t)tiles + 1, sizeof *lists->start);
  lists->particle = NULL;
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t k = 0; k < tiles; k++) latest[k] = -1;
    for (int64_t i = 0, all = splat_count(points); i < all; i++) {
      struct trail trail;
      trail_of(v, points, options, i, &trail);
      visit_tiles(v, options, &trail, lists, (uint32_t)i, fill, latest);
    }
    if (pass == 1) break;
    for (int64_t k = 0; k < tiles; k++) lists->start[k + 1] += lists->start[k];
    memcpy(fill, lists->start, (size_t)tiles * sizeof *fill);
    lists->particle = mem_alloc((size_t)lists->start[tiles], sizeof *lists->particle);
  }
  mem_free(latest);
  mem_free(fill);
}

static void lists_destroy(struct lists *lists)
{
  mem_free(lists->start);
  mem_free(lists->particle);
}

/* Adds what falls on the tile's nodes. */
static void add_splat(const struct stencil *s, const int32_t corner[3], float amount, float *node)
{
  int from[3], to[3];
  for (int d = 0; d < 3; d++) {
    const int32_t first = s->node[d] - corner[d];
    from[d] = first < 0 ? -first : 0;
    to[d] = first + s->count > VOLUME_EDGE ? VOLUME_EDGE - first : s->count;
  }
  for (int x = from[0]; x < to[0]; x++)
    for (int y = from[1]; y < to[1]; y++) {
      const float part = amount * s->weight[0][x] * s->weight[1][y];
      float *row = node +
                   ((s->node[0] - corner[0] + x) * VOLUME_EDGE + (s->node[1] - corner[1] + y)) * VOLUME_EDGE +
                   (s->node[2] - corner[2]);
      for (int z = from[2]; z < to[2]; z++) row[z] += part * s->weight[2][z];
    }
}

static void add_particles(const struct volume *v, const struct volume_points *points,
                          const struct volume_options *o, const struct lists *lists, int64_t tile,
                          float (*node)[VOLUME_NODES])
{
  for (int64_t k = lists->start[tile - lists->from]; k < lists->start[tile - lists->from + 1]; k++) {
    const int64_t i = particle_of(points, lists->particle[k]);
    const int look = points->look ? points->look[i] : 0;
    const double mass = points->mass ? (double)points->mass[i] : points->same_mass;
    struct trail trail;
    trail_of(v, points, o, lists->particle[k], &trail);
    /* mass / voxel^3 is the density, and extinction is per voxel */
    const float amount =
        (float)(o->strength[look] * mass * trail.part / (v->voxel * v->voxel * trail.splats));
    for (int s = 0; s < trail.splats; s++) {
      struct stencil stencil;
      stencil_of(v, o, &trail, s, &stencil);
      add_splat(&stencil, v->tile[tile].corner, amount, node[look]);
    }
  }
}

static void find_majorants(struct volume_tile *tile, double slack)
{
  for (int x = 0; x < VOLUME_TILE; x++)
    for (int y = 0; y < VOLUME_TILE; y++)
      for (int z = 0; z < VOLUME_TILE; z++) {
        float *most = &tile->block[volume_block(x, y, z)];
        for (int c = 0; c < 8; c++) {
          const float here =
              tile->node[((x + (c >> 2)) * VOLUME_EDGE + y + (c >> 1 & 1)) * VOLUME_EDGE + z + (c & 1)];
          *most = here > *most ? here : *most;
        }
      }
  /* Interpolation rounds: the product of weights may exceed the largest node by some units of the last place.
   */
  const float factor = 1.000002f * (float)(slack > 1.0 ? slack : 1.0);
  for (int b = 0; b < VOLUME_BLOCKS; b++) tile->block[b] *= factor;
}

/* Shares of the looks in the sum, as bytes that add up to 255. */
static void find_shares(float (*node)[VOLUME_NODES], const float *sum, uint8_t (*share)[4])
{
  for (int k = 0; k < VOLUME_NODES; k++) {
    float so_far = 0.0f;
    int given = 0;
    for (int look = 0; look < VOLUME_LOOKS; look++) {
      so_far += node[look][k];
      const int upto = sum[k] > 0.0f ? (int)(255.0f * so_far / sum[k] + 0.5f) : 255;
      share[k][look] = (uint8_t)(upto - given);
      given = upto;
    }
  }
}

/* Takes off what is thin, so that the outermost haze of a cubic kernel does not hide the shape. */
static void sharpen(const struct volume_options *o, double voxel, int look, float *node)
{
  const float off = (float)(o->edge[look] * voxel), gain = (float)o->gain[look];
  if (!(off > 0.0f)) return;
  for (int n = 0; n < VOLUME_NODES; n++) node[n] = node[n] > off ? gain * (node[n] - off) : 0.0f;
}

static void fill_tile(const struct volume *v, const struct volume_points *points,
                      const struct volume_options *options, const struct lists *lists, int64_t k,
                      splat_finish *finish, const void *context)
{
  float node[VOLUME_LOOKS][VOLUME_NODES] = {{0.0f}};
  struct volume_tile *tile = &v->tile[k];
  add_particles(v, points, options, lists, k, node);
  if (finish) finish(context, v, tile, node);
  for (int look = 0; look < VOLUME_LOOKS; look++) sharpen(options, v->voxel, look, node[look]);
  for (int n = 0; n < VOLUME_NODES; n++)
    tile->node[n] = points->look ? node[0][n] + node[1][n] + node[2][n] + node[3][n] : node[0][n];
  if (v->share) find_shares(node, tile->node, v->share[k]);
  find_majorants(tile, options->slack);
}

void splat_fill(struct volume *v, const struct comm *comm, const uint64_t *keys,
                const struct volume_points *points, const struct volume_options *options,
                splat_finish *finish, const void *context)
{
  struct lists lists;
  const size_t tiles = (size_t)v->tile_count + (size_t)v->spare;
  v->memory = node_block_create(comm, tiles * sizeof *v->tile);
  v->tile = v->memory->bytes;
  if (points->look) {
    v->shares = node_block_create(comm, tiles * sizeof *v->share);
    v->share = v->shares->bytes;
  }
  node_block_part(v->memory, v->tile_count, &lists.from, &lists.to);
  for (int64_t k = lists.from; k < lists.to; k++) {
    int32_t c[3];
    splat_unpack(keys[k], c);
    for (int d = 0; d < 3; d++) v->tile[k].corner[d] = VOLUME_TILE * c[d];
  }
  lists_create(&lists, v, points, options);
#pragma omp parallel for num_threads(v->threads) schedule(dynamic, 16)
  for (int64_t k = lists.from; k < lists.to; k++) fill_tile(v, points, options, &lists, k, finish, context);
  lists_destroy(&lists);
  node_block_gather(v->memory, v->tile_count, sizeof *v->tile);
  if (v->shares) node_block_gather(v->shares, v->tile_count, sizeof *v->share);
}
