/* From particles to tiles; for volume.c and volume_grain.c alone. */
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

/* What a tile's sums become, look by look, before its majorants are found. */
typedef void splat_finish(const void *context, const struct volume *volume, struct volume_tile *tile,
                          float (*node)[VOLUME_NODES]);

/* Collective. Makes the tiles of the sorted keys, which are indexed already, and the spare ones (zero).
 * `finish` may be NULL. */
void splat_fill(struct volume *volume, const struct comm *comm, const uint64_t *keys,
                const struct volume_points *points, const struct volume_options *options,
                splat_finish *finish, const void *context);

/* Puts node 0 so that all stencils, smeared ones too, have positive coordinates with a brick to spare. */
int volume_place(struct volume *volume, const struct volume_points *points,
                 const struct volume_options *options, struct error *err);

/* Tile k is the one of the k-th key. */
void volume_index(struct volume *volume, const uint64_t *keys, int64_t count);

/* Where the number of a tile is kept that is indexed already. */
int32_t *volume_entry(struct volume *volume, const int32_t tile[3]);

/* Orders keys for qsort(). */
int volume_by_key(const void *a, const void *b);

/* Sets of keys, by open addressing. */
struct key_set {
  uint64_t *slot; /* UINT64_MAX: free */
  uint64_t mask;
  int64_t count;
};
void key_set_create(struct key_set *set, uint64_t slots);
void key_set_add(struct key_set *set, uint64_t key);
bool key_set_has(const struct key_set *set, uint64_t key);
/* The keys, in no order, for mem_free(); ends the set. */
uint64_t *key_set_take(struct key_set *set, int64_t *count);

#endif
