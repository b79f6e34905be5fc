/* Snow with a surface. Its density is first summed on a coarse grid, with a kernel about as wide as the gap
 * between particles: that decides where there is snow. Each particle is then broken into grains, which lie
 * around it where its id says, and the grains are summed on a grid four times as fine. Both together are the
 * relative density
 *
 *   f = (1 - rough) coarse + rough grains,
 *
 * and the extinction is full where f exceeds a level, after a ramp of about a voxel. So the outline is sharp,
 * it is rough at the scale of grains, and grains move with their particles. Particles that fly alone have
 * heavier grains, so that each is a cluster of flakes.
 *
 * Memory follows the surface: tiles that lie deeper than two particles are even, and one spare tile stands
 * for all of them. */
#include "render/trace/volume.h"

#include "base/memory.h"
#include "decomposition/node_block.h"
#include "render/trace/volume_splat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAINS = 8, PROBES = 4 };

static const double filled = 0.7; /* mean relative density of a tile that has no cracks */
static const double lone = 0.6,
                    lonely = 0.4;  /* relative density where a particle begins to be, and is, alone */
static const double heavier = 2.5; /* mass of a lone particle's grains, relative */

struct work {
  const struct comm *comm;
  const struct volume_points *points; /* grains */
  const struct volume_grain *grain;
  struct volume *coarse, *fine;
};

/* Relative density of a coarse grid, whose strength is set so that it is the extinction. */
static float density_at(const struct volume *coarse, const double x[3])
{
  float p[3];
  for (int d = 0; d < 3; d++) p[d] = (float)((x[d] - coarse->origin[d]) / coarse->voxel);
  return volume_extinction(coarse, p);
}

/* Shares of the looks at the nearest coarse node, of 255 in all; false where there is nothing. */
static bool shares_at(const struct volume *coarse, const double x[3], uint8_t share[VOLUME_LOOKS])
{
  int32_t voxel[3];
  int node = 0;
  for (int d = 0; d < 3; d++) {
    voxel[d] = (int32_t)((x[d] - coarse->origin[d]) / coarse->voxel + 0.5);
    if (voxel[d] < coarse->low[d] || voxel[d] >= coarse->high[d]) return false;
    node = node * VOLUME_EDGE + (voxel[d] & 7);
  }
  const int32_t tile = volume_find(coarse, voxel);
  if (tile < 0) return false;
  memcpy(share, coarse->share[tile][node], VOLUME_LOOKS);
  return true;
}

static void probe_point(const struct volume *fine, const int32_t c[3], int k, double x[3])
{
  const int at[3] = {k / (PROBES * PROBES), k / PROBES % PROBES, k % PROBES};
  for (int d = 0; d < 3; d++)
    x[d] = fine->origin[d] + fine->voxel * VOLUME_TILE * (c[d] + (at[d] + 0.5) / PROBES);
}

/* Mean and largest relative density of a tile. */
static void probe_tile(const struct work *w, uint64_t key, double *mean, double *most)
{
  int32_t c[3];
  splat_unpack(key, c);
  *mean = *most = 0.0;
  for (int k = 0; k < PROBES * PROBES * PROBES; k++) {
    double x[3];
    probe_point(w->fine, c, k, x);
    const double here = (double)density_at(w->coarse, x);
    *mean += here / (PROBES * PROBES * PROBES);
    *most = fmax(*most, here);
  }
}

/* The one look of a tile; -1 where several are mixed. */
static int only_look(const struct work *w, uint64_t key)
{
  int32_t c[3];
  int look = w->coarse->share ? -1 : 0;
  splat_unpack(key, c);
  for (int k = 0; w->coarse->share && k < PROBES * PROBES * PROBES; k++) {
    double x[3];
    uint8_t share[VOLUME_LOOKS];
    probe_point(w->fine, c, k, x);
    if (!shares_at(w->coarse, x, share)) return -1;
    int here = 0;
    while (here < VOLUME_LOOKS && share[here] != 255) here++;
    if (here == VOLUME_LOOKS || (look >= 0 && look != here)) return -1;
    look = here;
  }
  return look;
}

/* All tiles that a tile of the coarse grid overlaps. */
static void add_overlapped(const struct work *w, const struct volume_tile *tile, struct key_set *set)
{
  int32_t from[3], to[3], c[3];
  const double side = VOLUME_TILE * w->fine->voxel, reach = VOLUME_TILE * w->coarse->voxel;
  for (int d = 0; d < 3; d++) {
    const double low = w->coarse->origin[d] + w->coarse->voxel * tile->corner[d] - w->fine->origin[d];
    from[d] = (int32_t)fmax(floor(low / side), 0.0);
    to[d] = (int32_t)fmax(floor((low + reach) / side), 0.0);
  }
  for (c[0] = from[0]; c[0] <= to[0]; c[0]++)
    for (c[1] = from[1]; c[1] <= to[1]; c[1]++)
      for (c[2] = from[2]; c[2] <= to[2]; c[2]++) key_set_add(set, splat_pack(c));
}

/* Whether all tiles within `reach` are filled. */
static bool is_deep(const struct key_set *full, uint64_t key, int reach)
{
  int32_t c[3], n[3];
  splat_unpack(key, c);
  for (n[0] = c[0] - reach; n[0] <= c[0] + reach; n[0]++)
    for (n[1] = c[1] - reach; n[1] <= c[1] + reach; n[1]++)
      for (n[2] = c[2] - reach; n[2] <= c[2] + reach; n[2]++)
        if (n[0] < 0 || n[1] < 0 || n[2] < 0 || !key_set_has(full, splat_pack(n))) return false;
  return true;
}

/* Tiles that get anything, and those of them that are full. Keys are in no order. */
static uint64_t *find_tiles(const struct work *w, const struct volume_options *o, struct key_set *full,
                            int64_t *count)
{
  struct key_set set;
  uint64_t *touched = NULL;
  const int64_t of_grains = splat_tiles(w->fine, w->points, o, &touched);
  key_set_create(&set, 1024);
  for (int64_t k = 0; k < w->coarse->tile_count; k++) add_overlapped(w, &w->coarse->tile[k], &set);
  int64_t all;
  uint64_t *keys = key_set_take(&set, &all);
  double *mean = mem_alloc((size_t)all, sizeof *mean), *most = mem_alloc((size_t)all, sizeof *most);
#pragma omp parallel for num_threads(w->fine->threads) schedule(dynamic, 64)
  for (int64_t k = 0; k < all; k++) probe_tile(w, keys[k], &mean[k], &most[k]);
  key_set_create(&set, 1024);
  for (int64_t k = 0; k < of_grains; k++) key_set_add(&set, touched[k]);
  for (int64_t k = 0; k < all; k++) {
    if (most[k] > 0.5 * w->grain->level) key_set_add(&set, keys[k]);
    if (mean[k] >= filled) key_set_add(full, keys[k]);
  }
  mem_free(touched);
  mem_free(keys);
  mem_free(mean);
  mem_free(most);
  return key_set_take(&set, count);
}

/* Deep tiles behind the others; returns how many are not deep. `look` is set for the deep ones. */
static int64_t split_deep(const struct work *w, uint64_t *keys, int64_t count, const struct key_set *full,
                          uint8_t *look)
{
  const double side = VOLUME_TILE * w->fine->voxel;
  const int reach = (int)fmax(1.0, ceil(2.0 * w->coarse->voxel / side - 0.01));
  int64_t shallow = 0, deep = count;
  int8_t *kind = mem_alloc((size_t)count, 1);
  uint64_t *sorted = mem_alloc((size_t)count, sizeof *sorted);
  qsort(keys, (size_t)count, sizeof *keys, volume_by_key);
#pragma omp parallel for num_threads(w->fine->threads) schedule(dynamic, 64)
  for (int64_t k = 0; k < count; k++)
    kind[k] = is_deep(full, keys[k], reach) ? (int8_t)only_look(w, keys[k]) : -1;
  for (int64_t k = 0; k < count; k++) {
    const int64_t to = kind[k] < 0 ? shallow++ : --deep;
    sorted[to] = keys[k];
    if (kind[k] >= 0) look[to] = (uint8_t)kind[k];
  }
  memcpy(keys, sorted, (size_t)count * sizeof *keys);
  mem_free(sorted);
  mem_free(kind);
  return shallow;
}

/* From sums of grains to extinction. */
static void finish_tile(const void *context, const struct volume *v, struct volume_tile *tile,
                        float (*node)[VOLUME_NODES])
{
  const struct work *w = context;
  const struct volume_grain *g = w->grain;
  const bool mixed = w->coarse->share != NULL;
  for (int n = 0; n < VOLUME_NODES; n++) {
    const int at[3] = {n / (VOLUME_EDGE * VOLUME_EDGE), n / VOLUME_EDGE % VOLUME_EDGE, n % VOLUME_EDGE};
    double x[3], part[VOLUME_LOOKS] = {1.0}, relative = 0.0, all = 0.0;
    uint8_t share[VOLUME_LOOKS] = {255};
    for (int d = 0; d < 3; d++) x[d] = v->origin[d] + v->voxel * (tile->corner[d] + at[d]);
    const double coarse = (double)density_at(w->coarse, x);
    if (mixed && !shares_at(w->coarse, x, share)) memset(share, 0, sizeof share);
    for (int k = 0; k < (mixed ? VOLUME_LOOKS : 1); k++) {
      part[k] = (1.0 - g->rough[k]) * coarse * share[k] / 255.0 + g->rough[k] * (double)node[k][n];
      relative += part[k];
    }
    all = (relative - g->level) / g->width;
    all = all < 0.0 ? 0.0 : all > 1.0 ? 1.0 : all;
    for (int k = 0; k < VOLUME_LOOKS; k++)
      node[k][n] =
          all > 0.0 && (k == 0 || mixed) ? (float)(all * part[k] / relative * g->full[k] * v->voxel) : 0.0f;
  }
}

/* The spare tiles: even snow, of each look twice. */
static void fill_spare(struct volume *v, const struct volume_grain *grain)
{
  for (int k = 0; k < v->spare; k++) {
    struct volume_tile *tile = &v->tile[v->tile_count + k];
    const float value = (float)(grain->full[k / 2] * v->voxel);
    for (int n = 0; n < VOLUME_NODES; n++) tile->node[n] = value;
    for (int b = 0; b < VOLUME_BLOCKS; b++) {
      tile->block[b] = 1.000002f * value;
      tile->near[b] = (uint8_t)(k & 1);
    }
    for (int n = 0; v->share && n < VOLUME_NODES; n++) v->share[v->tile_count + k][n][k / 2] = 255;
  }
}

/* Mass of each particle's grains: more where it is alone. */
static float *weigh(const struct volume *coarse, const struct volume_points *points,
                    const struct volume_options *o)
{
  const double middle = 0.5 * (o->from + o->to);
  float *mass = mem_alloc((size_t)points->count, sizeof *mass);
#pragma omp parallel for num_threads(coarse->threads) schedule(static)
  for (int64_t i = 0; i < points->count; i++) {
    double x[3];
    for (int d = 0; d < 3; d++)
      x[d] = (double)points->position[3 * i + d] +
             (points->velocity ? middle * (double)points->velocity[3 * i + d] : 0.0);
    const double alone = (lone - (double)density_at(coarse, x)) / (lone - lonely);
    const double part = alone < 0.0 ? 0.0 : alone > 1.0 ? 1.0 : alone;
    mass[i] = (float)((points->mass ? (double)points->mass[i] : points->same_mass) *
                      (1.0 + (heavier - 1.0) * part));
  }
  return mass;
}

/* Tiles, their index, and what is in them, at the voxel of `fine`. Returns -1 if that takes too much memory.
 */
static int build(struct work *w, const struct volume_options *o, struct error *err)
{
  struct volume *v = w->fine;
  struct key_set full;
  int64_t count;
  int code = volume_place(v, w->points, o, err);
  if (code) return code;
  key_set_create(&full, 1024);
  uint64_t *keys = find_tiles(w, o, &full, &count);
  uint8_t *look = mem_alloc((size_t)count, 1);
  v->tile_count = split_deep(w, keys, count, &full, look);
  mem_free(full.slot);
  const double bytes =
      (double)v->tile_count * (double)(sizeof *v->tile + (w->coarse->share ? sizeof *v->share : 0));
  if (v->tile_count > INT32_MAX - 64 || bytes > w->grain->budget)
    code = -1;
  else {
    v->spare = 2 * VOLUME_LOOKS;
    volume_index(v, keys, count);
    for (int64_t k = v->tile_count; k < count; k++) {
      int32_t c[3];
      splat_unpack(keys[k], c);
      *volume_entry(v, c) = (int32_t)v->tile_count + 2 * look[k];
    }
    splat_fill(v, w->comm, keys, w->points, o, finish_tile, w);
    if (v->memory->leader) fill_spare(v, w->grain);
    node_block_settle(v->memory);
    if (v->shares) node_block_settle(v->shares);
  }
  mem_free(look);
  mem_free(keys);
  return code;
}

int volume_create_grained(struct volume **out, const struct comm *comm, const struct volume_points *points,
                          const struct volume_options *options, const struct volume_grain *grain,
                          struct error *err)
{
  struct volume_options o = *options;
  struct volume_points grains = *points;
  struct work w = {.comm = comm, .points = &grains, .grain = grain};
  *out = NULL;
  for (int k = 0; k < VOLUME_LOOKS; k++) {
    o.strength[k] = grain->rest[k] > 0.0 ? 1.0 / (grain->rest[k] * o.voxel) : 0.0;
    o.edge[k] = 0.0;
  }
  int code = volume_create(&w.coarse, comm, points, &o, err);
  if (code) return code;
  float *mass = weigh(w.coarse, points, options);
  grains.mass = mass;
  grains.grains = points->count * GRAINS <= (int64_t)UINT32_MAX ? GRAINS : 1;
  grains.scatter = 0.8 * options->voxel;
  for (double voxel = grain->voxel; !*out && !code; voxel *= 1.25) {
    struct volume *v = w.fine = mem_alloc(1, sizeof *v);
    o.voxel = v->voxel = voxel;
    o.kernel = grain->kernel;
    v->threads = w.coarse->threads;
    for (int k = 0; k < VOLUME_LOOKS; k++)
      o.strength[k] = grain->rest[k] > 0.0 ? 1.0 / (grain->rest[k] * voxel) : 0.0;
    code = build(&w, &o, err);
    if (!code) *out = v;
    if (code) volume_destroy(&w.fine);
    if (code == -1) code = FIRN_OK;
  }
  mem_free(mass);
  volume_destroy(&w.coarse);
  return code;
}
