/* From particles to tiles; for volume.c alone. */
#ifndef FIRN_RENDER_VOLUME_SPLAT_H
#define FIRN_RENDER_VOLUME_SPLAT_H

#include "render/trace/volume.h"

/* Coordinates of a tile or brick, 21 bits each. */
static inline uint64_t splat_pack(const int32_t c[3])
{
  return (uint64_t)(uint32_t)c[0] << 42 | (uint64_t)(uint32_t)c[1] << 21 | (uint64_t)(uint32_t)c[2];
}

static inline void splat_unpack(uint64_t key, int32_t c[3])
{
  c[0] = (int32_t)(key >> 42);
  c[1] = (int32_t)(key >> 21 & 0x1fffff);
  c[2] = (int32_t)(key & 0x1fffff);
}

/* Keys of all tiles that get anything, each once, in no order; for mem_free(). Returns their number. */
int64_t splat_tiles(const struct volume *volume, const struct volume_points *points,
                    const struct volume_options *options, uint64_t **keys);

/* Collective. Makes the tiles of the sorted keys, which are indexed already. */
void splat_fill(struct volume *volume, const struct comm *comm, const uint64_t *keys,
                const struct volume_points *points, const struct volume_options *options);

#endif
