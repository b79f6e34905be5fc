#include "surface/tiles.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int by_place(const void *a, const void *b)
{
  const int32_t *x = a, *y = b;
  for (int d = 0; d < 3; d++)
    if (x[d] != y[d]) return x[d] < y[d] ? -1 : 1;
  return 0;
}

struct tiles *tiles_create(double voxel, const double origin[3], float outside, const int32_t (*corner)[3],
                           int64_t count)
{
  struct tiles *tiles = mem_alloc(1, sizeof *tiles);
  tiles->voxel = voxel;
  tiles->outside = outside;
  memcpy(tiles->origin, origin, sizeof tiles->origin);
  tiles->corner = mem_alloc((size_t)count, sizeof *tiles->corner);
  if (count > 0) memcpy(tiles->corner, corner, (size_t)count * sizeof *corner);
  qsort(tiles->corner, (size_t)count, sizeof *tiles->corner, by_place);
  for (int64_t i = 0; i < count; i++)
    if (i == 0 || by_place(tiles->corner[i], tiles->corner[i - 1]) != 0)
      memmove(tiles->corner[tiles->count++], tiles->corner[i], sizeof *tiles->corner);
  tiles->value = mem_alloc((size_t)tiles->count, sizeof *tiles->value);
  for (int64_t t = 0; t < tiles->count; t++)
    for (int k = 0; k < TILE_NODES; k++) tiles->value[t][k] = outside;
  return tiles;
}

void tiles_destroy(struct tiles **tiles)
{
  if (!tiles || !*tiles) return;
  mem_free((*tiles)->corner);
  mem_free((*tiles)->value);
  mem_free(*tiles);
  *tiles = NULL;
}

int64_t tiles_find(const struct tiles *tiles, const int32_t corner[3])
{
  if (tiles->count == 0) return -1;
  const void *found = bsearch(corner, tiles->corner, (size_t)tiles->count, sizeof *tiles->corner, by_place);
  return found ? (const int32_t(*)[3])found - (const int32_t(*)[3])tiles->corner : -1;
}

void tiles_around(const struct tiles *tiles, int64_t t, int64_t out[27])
{
  for (int k = 0; k < 27; k++) {
    const int32_t corner[3] = {tiles->corner[t][0] + TILE_EDGE * (k / 9 - 1),
                               tiles->corner[t][1] + TILE_EDGE * (k / 3 % 3 - 1),
                               tiles->corner[t][2] + TILE_EDGE * (k % 3 - 1)};
    out[k] = k == 13 ? t : tiles_find(tiles, corner);
  }
}

void tiles_gather(const struct tiles *tiles, const float (*value)[TILE_NODES], const int64_t around[27],
                  float out[TILE_APRON * TILE_APRON * TILE_APRON])
{
  for (int i = 0; i < TILE_APRON; i++)
    for (int j = 0; j < TILE_APRON; j++)
      for (int k = 0; k < TILE_APRON; k++) {
        const int x = i - 1 + TILE_EDGE, y = j - 1 + TILE_EDGE, z = k - 1 + TILE_EDGE;
        const int64_t t = around[x / TILE_EDGE * 9 + y / TILE_EDGE * 3 + z / TILE_EDGE];
        const int node = (x % TILE_EDGE * TILE_EDGE + y % TILE_EDGE) * TILE_EDGE + z % TILE_EDGE;
        out[(i * TILE_APRON + j) * TILE_APRON + k] = t < 0 ? tiles->outside : value[t][node];
      }
}
