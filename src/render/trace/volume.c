/* The tiles that a grid has, and how they are found. The sums are in volume_splat.c. */
#include "render/trace/volume.h"

#include "base/memory.h"
#include "base/rng.h"
#include "decomposition/node_block.h"
#include "render/trace/volume_splat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int32_t most_voxels = 1 << 20; /* along an axis: single precision then still tells 1/16 voxel */

static uint32_t brick_slot(const struct volume *v, uint64_t key)
{
  uint32_t slot = (uint32_t)rng_mix(key) & v->brick_mask;
  while (v->brick_key[slot] != key && v->brick_key[slot] != UINT64_MAX) slot = (slot + 1) & v->brick_mask;
  return slot;
}

int32_t volume_find(const struct volume *v, const int32_t voxel[3])
{
  const int32_t home[3] = {voxel[0] >> 6, voxel[1] >> 6, voxel[2] >> 6};
  const uint32_t slot = brick_slot(v, splat_pack(home));
  if (v->brick_key[slot] == UINT64_MAX) return -2;
  return v->brick[slot][(voxel[0] >> 3 & 7) << 6 | (voxel[1] >> 3 & 7) << 3 | (voxel[2] >> 3 & 7)];
}

float volume_extinction(const struct volume *v, const float p[3])
{
  int32_t voxel[3];
  for (int d = 0; d < 3; d++) {
    if (!(p[d] >= (float)v->low[d] && p[d] < (float)v->high[d])) return 0.0f;
    voxel[d] = (int32_t)p[d];
  }
  const int32_t tile = volume_find(v, voxel);
  if (tile < 0) return 0.0f;
  return volume_at(&v->tile[tile], voxel[0], voxel[1], voxel[2], p[0] - (float)voxel[0],
                   p[1] - (float)voxel[1], p[2] - (float)voxel[2]);
}

double volume_bytes(const struct volume *v)
{
  return (double)(v->tile_count + v->spare) * (double)(sizeof *v->tile + (v->share ? sizeof *v->share : 0)) +
         ((double)v->brick_mask + 1.0) * (double)(sizeof *v->brick + sizeof *v->brick_key);
}

int volume_by_key(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Slots for the bricks of these tiles: a power of two, at least half of them free. */
static uint32_t count_slots(const uint64_t *keys, int64_t count)
{
  uint64_t *homes = mem_alloc((size_t)count, sizeof *homes);
  for (int64_t k = 0; k < count; k++) {
    int32_t tile[3];
    splat_unpack(keys[k], tile);
    const int32_t home[3] = {tile[0] >> 3, tile[1] >> 3, tile[2] >> 3};
    homes[k] = splat_pack(home);
  }
  qsort(homes, (size_t)count, sizeof *homes, volume_by_key);
  uint32_t bricks = 1, slots = 2;
  for (int64_t k = 1; k < count; k++) bricks += homes[k] != homes[k - 1];
  while (slots < 2 * bricks) slots *= 2;
  mem_free(homes);
  return slots;
}

void volume_index(struct volume *v, const uint64_t *keys, int64_t count)
{
  const uint32_t slots = count_slots(keys, count);
  v->brick_mask = slots - 1;
  v->brick_key = mem_alloc(slots, sizeof *v->brick_key);
  v->brick = mem_alloc(slots, sizeof *v->brick);
  memset(v->brick_key, 0xff, slots * sizeof *v->brick_key);
  memset(v->brick, 0xff, slots * sizeof *v->brick);
  for (int d = 0; d < 3; d++) v->low[d] = INT32_MAX;
  for (int64_t k = 0; k < count; k++) {
    int32_t tile[3];
    splat_unpack(keys[k], tile);
    const int32_t home[3] = {tile[0] >> 3, tile[1] >> 3, tile[2] >> 3};
    const uint32_t slot = brick_slot(v, splat_pack(home));
    v->brick_key[slot] = splat_pack(home);
    v->brick[slot][(tile[0] & 7) << 6 | (tile[1] & 7) << 3 | (tile[2] & 7)] = (int32_t)k;
    for (int d = 0; d < 3; d++) {
      v->low[d] = home[d] * 64 < v->low[d] ? home[d] * 64 : v->low[d];
      v->high[d] = home[d] * 64 + 64 > v->high[d] ? home[d] * 64 + 64 : v->high[d];
    }
  }
}

int32_t *volume_entry(struct volume *v, const int32_t tile[3])
{
  const int32_t home[3] = {tile[0] >> 3, tile[1] >> 3, tile[2] >> 3};
  return &v->brick[brick_slot(v, splat_pack(home))][(tile[0] & 7) << 6 | (tile[1] & 7) << 3 | (tile[2] & 7)];
}

int volume_place(struct volume *v, const struct volume_points *points, const struct volume_options *o,
                 struct error *err)
{
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int64_t i = 0; i < points->count; i++)
    for (int d = 0; d < 3; d++) {
      const double x = (double)points->position[3 * i + d];
      const double speed = points->velocity ? (double)points->velocity[3 * i + d] : 0.0;
      const double a = x + o->from * speed, b = x + o->to * speed;
      low[d] = fmin(low[d], fmin(a, b));
      high[d] = fmax(high[d], fmax(a, b));
    }
  for (int d = 0; d < 3; d++) {
    const double width = (high[d] - low[d]) / o->voxel;
    if (!(width < (double)most_voxels - 256.0))
      return error_set(err, FIRN_ELIMIT,
                       "the particles are spread over %.3g voxels of %g m; a picture has room for %d: give a "
                       "larger --voxel",
                       width, o->voxel, most_voxels);
    v->origin[d] = o->lattice[d] + o->voxel * (floor((low[d] - o->lattice[d]) / o->voxel) - 64.0);
  }
  return FIRN_OK;
}

/* Collects, sorts and indexes the tiles, then fills them. */
static int build(struct volume *v, const struct comm *comm, const struct volume_points *points,
                 const struct volume_options *options, struct error *err)
{
  uint64_t *keys = NULL;
  v->tile_count = splat_tiles(v, points, options, &keys);
  int code = FIRN_OK;
  if (v->tile_count > INT32_MAX)
    code =
        error_set(err, FIRN_ELIMIT, "the picture needs more than %d tiles: give a larger --voxel", INT32_MAX);
  if (!code) {
    qsort(keys, (size_t)v->tile_count, sizeof *keys, volume_by_key);
    volume_index(v, keys, v->tile_count);
    splat_fill(v, comm, keys, points, options, NULL, NULL);
  }
  mem_free(keys);
  return code;
}

int volume_create(struct volume **out, const struct comm *comm, const struct volume_points *points,
                  const struct volume_options *options, struct error *err)
{
  *out = NULL;
  if (points->count == 0) return error_set(err, FIRN_EINPUT, "there are no particles");
  if (points->count > (int64_t)UINT32_MAX)
    return error_set(err, FIRN_ELIMIT, "a picture draws at most %u particles", UINT32_MAX);
  struct volume *v = mem_alloc(1, sizeof *v);
  v->voxel = options->voxel;
  v->threads = comm ? comm->threads : 1;
  int code = volume_place(v, points, options, err);
  if (!code) code = build(v, comm, points, options, err);
  if (code) volume_destroy(&v);
  *out = v;
  return code;
}

void volume_destroy(struct volume **volume)
{
  struct volume *v = *volume;
  if (!v) return;
  if (v->memory) node_block_destroy(&v->memory);
  if (v->shares) node_block_destroy(&v->shares);
  mem_free(v->brick_key);
  mem_free(v->brick);
  mem_free(v);
  *volume = NULL;
}

static bool touches(const struct volume *v, const struct volume_tile *tile, const int block[3],
                    const struct body_pose *pose)
{
  const double side = (double)(1 << VOLUME_BLOCK_BITS) * v->voxel;
  double x[3];
  for (int d = 0; d < 3; d++) x[d] = v->origin[d] + v->voxel * tile->corner[d] + side * (block[d] + 0.5);
  return body_may_touch(pose, x, 0.8661 * side);
}

static void mark_tile(const struct volume *v, struct volume_tile *tile, const struct body_pose *pose)
{
  enum { SIDE = VOLUME_BLOCK_SIDE };
  const double reach = VOLUME_TILE * v->voxel;
  double x[3];
  for (int d = 0; d < 3; d++) x[d] = v->origin[d] + v->voxel * tile->corner[d] + 0.5 * reach;
  if (!body_may_touch(pose, x, 0.8661 * reach)) return;
  for (int b = 0; b < VOLUME_BLOCKS; b++) {
    const int block[3] = {b / (SIDE * SIDE), b / SIDE % SIDE, b % SIDE};
    if (!tile->near[b]) tile->near[b] = touches(v, tile, block, pose);
  }
}

/* Spare tiles that stand for the inside of snow: where a body may touch one, the next one takes its place. */
static void mark_spare(struct volume *v, uint32_t slot, const struct body_pose *poses, int count)
{
  int32_t brick[3];
  splat_unpack(v->brick_key[slot], brick);
  for (int k = 0; k < VOLUME_BRICK; k++) {
    int32_t *number = &v->brick[slot][k];
    const int at[3] = {k >> 6, k >> 3 & 7, k & 7};
    double x[3];
    if (*number < v->tile_count) continue;
    for (int d = 0; d < 3; d++) x[d] = v->origin[d] + v->voxel * VOLUME_TILE * (8 * brick[d] + at[d] + 0.5);
    for (int b = 0; b < count && (*number - v->tile_count) % 2 == 0; b++)
      *number += body_may_touch(&poses[b], x, 0.8661 * VOLUME_TILE * v->voxel);
  }
}

void volume_mark_bodies(struct volume *v, const struct body_pose *poses, int count)
{
  int64_t from, to;
  node_block_part(v->memory, v->tile_count, &from, &to);
#pragma omp parallel for num_threads(v->threads) schedule(dynamic, 16)
  for (int64_t k = from; k < to; k++)
    for (int b = 0; b < count; b++) mark_tile(v, &v->tile[k], &poses[b]);
  for (uint32_t slot = 0; v->spare > 0 && slot <= v->brick_mask; slot++)
    if (v->brick_key[slot] != UINT64_MAX) mark_spare(v, slot, poses, count);
  node_block_gather(v->memory, v->tile_count, sizeof *v->tile);
}
