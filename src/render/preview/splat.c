/* Drawing from front to back makes most of the work vanish: a million particles show some ten thousand, and
 * one that lies behind what is drawn already is known by the farthest depths of the few tiles of the map that
 * it touches. A counting sort into a few thousand depth bins is order enough, and tiles are looked through
 * again a few dozen times in between, not after every sphere. */
#include "render/preview/splat.h"

#include "base/memory.h"

#include <math.h>

enum { BINS = 4096, TILE = 8, LAYERS = 24, AHEAD = 16 };

void depth_map_create(struct depth_map *map, int width, int height)
{
  map->width = width;
  map->height = height;
  map->depth = mem_alloc((size_t)width * (size_t)height, sizeof *map->depth);
  depth_map_clear(map);
}

void depth_map_destroy(struct depth_map *map)
{
  mem_free(map->depth);
  map->depth = NULL;
}

void depth_map_clear(struct depth_map *map)
{
  const int64_t pixels = (int64_t)map->width * map->height;
  for (int64_t i = 0; i < pixels; i++) map->depth[i] = FIRN_DEPTH_EMPTY;
}

/* Indices by depth bin; the bins span what is there, so a few far ones cost resolution but not correctness.
 */
static uint32_t *front_to_back(const struct splat *splats, int64_t count)
{
  float nearest = FIRN_DEPTH_EMPTY, farthest = -FIRN_DEPTH_EMPTY;
  for (int64_t i = 0; i < count; i++) {
    nearest = splats[i].z < nearest ? splats[i].z : nearest;
    farthest = splats[i].z > farthest ? splats[i].z : farthest;
  }
  const float span = farthest - nearest, scale = span > 0.0f ? (float)(BINS - 1) / span : 0.0f;
  uint32_t *start = mem_alloc(BINS + 1, sizeof *start), *order = mem_alloc((size_t)count, sizeof *order);
  for (int64_t i = 0; i < count; i++) start[(int)((splats[i].z - nearest) * scale) + 1]++;
  for (int b = 0; b < BINS; b++) start[b + 1] += start[b];
  for (int64_t i = 0; i < count; i++) order[start[(int)((splats[i].z - nearest) * scale)]++] = (uint32_t)i;
  mem_free(start);
  return order;
}

static int clamp_index(float value, int limit)
{
  return value < 0.0f ? 0 : value > (float)(limit - 1) ? limit - 1 : (int)value;
}

/* Farthest depth of each TILE x TILE pixels as of the last refresh; never nearer than the truth. */
struct tiles {
  int columns, rows;
  float *farthest;
  uint8_t *changed;
};

static void tiles_create(struct tiles *tiles, const struct depth_map *map)
{
  tiles->columns = (map->width + TILE - 1) / TILE;
  tiles->rows = (map->height + TILE - 1) / TILE;
  const size_t count = (size_t)tiles->columns * (size_t)tiles->rows;
  tiles->farthest = mem_alloc(count, sizeof *tiles->farthest);
  tiles->changed = mem_alloc(count, sizeof *tiles->changed);
  for (size_t i = 0; i < count; i++) tiles->farthest[i] = FIRN_DEPTH_EMPTY;
}

static float farthest_in(const struct depth_map *map, int left, int top)
{
  const int right = left + TILE < map->width ? left + TILE : map->width;
  const int bottom = top + TILE < map->height ? top + TILE : map->height;
  float farthest = -FIRN_DEPTH_EMPTY;
  for (int y = top; y < bottom; y++) {
    const float *row = map->depth + (int64_t)y * map->width;
    for (int x = left; x < right; x++) farthest = row[x] > farthest ? row[x] : farthest;
  }
  return farthest;
}

static void tiles_refresh(struct tiles *tiles, const struct depth_map *map)
{
  for (int row = 0; row < tiles->rows; row++)
    for (int column = 0; column < tiles->columns; column++) {
      const int i = row * tiles->columns + column;
      if (!tiles->changed[i]) continue;
      tiles->farthest[i] = farthest_in(map, column * TILE, row * TILE);
      tiles->changed[i] = 0;
    }
}

/* Pixels that a splat touches at most. */
struct window {
  int left, right, top, bottom; /* inclusive */
};

static struct window window_of(const struct depth_map *map, const struct splat *s)
{
  return (struct window){clamp_index(s->x - s->pixels, map->width), clamp_index(s->x + s->pixels, map->width),
                         clamp_index(s->y - s->pixels, map->height),
                         clamp_index(s->y + s->pixels, map->height)};
}

static int hidden(const struct tiles *tiles, const struct splat *s, const struct window *w)
{
  const float front = s->z - s->radius;
  for (int row = w->top / TILE; row <= w->bottom / TILE; row++)
    for (int column = w->left / TILE; column <= w->right / TILE; column++)
      if (tiles->farthest[row * tiles->columns + column] > front) return 0;
  return 1;
}

static void mark(struct tiles *tiles, const struct window *w)
{
  for (int row = w->top / TILE; row <= w->bottom / TILE; row++)
    for (int column = w->left / TILE; column <= w->right / TILE; column++)
      tiles->changed[row * tiles->columns + column] = 1;
}

/* One row of a sphere: the pixels whose centres are inside, nothing else, so that the loop has no branch. */
static void draw_row(float *restrict row, int left, int right, float x0, float inverse, float room, float z0,
                     float radius)
{
  for (int x = left; x <= right; x++) {
    const float dx = ((float)x + 0.5f - x0) * inverse, height = room - dx * dx;
    const float z = z0 - radius * sqrtf(height > 0.0f ? height : 0.0f);
    row[x] = z < row[x] ? z : row[x];
  }
}

static void draw_sphere(struct depth_map *map, const struct splat *s, const struct window *w)
{
  const float inverse = 1.0f / s->pixels;
  for (int y = w->top; y <= w->bottom; y++) {
    const float dy = ((float)y + 0.5f - s->y) * inverse, room = 1.0f - dy * dy;
    if (room <= 0.0f) continue;
    const float span = sqrtf(room) * s->pixels;
    const float first = ceilf(s->x - span - 0.5f), last = floorf(s->x + span - 0.5f);
    const int left = (int)fminf(fmaxf(first, 0.0f), (float)map->width);
    const int right = (int)fmaxf(fminf(last, (float)(map->width - 1)), -1.0f);
    draw_row(map->depth + (int64_t)y * map->width, left, right, s->x, inverse, room, s->z, s->radius);
  }
}

void splat_draw(struct depth_map *map, const struct splat *splats, int64_t count)
{
  if (count == 0) return;
  uint32_t *order = front_to_back(splats, count);
  struct tiles tiles;
  tiles_create(&tiles, map);
  for (int layer = 0; layer < LAYERS; layer++) {
    const int64_t end = count * (layer + 1) / LAYERS;
    for (int64_t i = count * layer / LAYERS; i < end; i++) {
      const struct splat *s = splats + order[i];
      if (i + AHEAD < count) __builtin_prefetch(splats + order[i + AHEAD]);
      const struct window w = window_of(map, s);
      if (hidden(&tiles, s, &w)) continue;
      draw_sphere(map, s, &w);
      mark(&tiles, &w);
    }
    tiles_refresh(&tiles, map);
  }
  mem_free(tiles.farthest);
  mem_free(tiles.changed);
  mem_free(order);
}

void splat_values(const struct depth_map *map, const struct splat *splats, const float *values, int64_t count,
                  float *out)
{
  struct depth_map nearest;
  depth_map_create(&nearest, map->width, map->height);
  for (int64_t i = 0; i < count; i++) {
    const struct splat *s = &splats[i];
    const struct window w = window_of(map, s);
    for (int y = w.top; y <= w.bottom; y++)
      for (int x = w.left; x <= w.right; x++) {
        const float dx = ((float)x + 0.5f - s->x) / s->pixels, dy = ((float)y + 0.5f - s->y) / s->pixels;
        const float room = 1.0f - dx * dx - dy * dy;
        const int64_t k = (int64_t)y * map->width + x;
        if (room <= 0.0f) continue;
        const float z = s->z - s->radius * sqrtf(room);
        if (z >= nearest.depth[k]) continue;
        nearest.depth[k] = z;
        out[k] = values[i];
      }
  }
  depth_map_destroy(&nearest);
}
