/* Back into the order (cell, id) after a step.
 *
 * Most particles stay in their cell, and those are in order already: only the ones that changed cell or
 * arrived from another rank are sorted, then both lists are merged and every field is copied once from where
 * G2P left it. */
#ifndef FIRN_REORDER_H
#define FIRN_REORDER_H

#include "kernels.h"
#include "particles.h"

#include <stdint.h>

#define REORDER_GONE UINT64_MAX /* key of a particle that has left the rank */

struct mover;

struct reorder {
  uint64_t *key; /* cell keys of the particles as they stand: sorted */
  uint64_t *spare;
  int32_t *source;
  struct mover *movers;
  int32_t capacity;
  int64_t mover_capacity;
};

void reorder_fit(struct reorder *r, const struct particles *p);
void reorder_free(struct reorder *r);

/* Particles 0 .. p->count - 1 have r->key and their new state and key in `next`; `arrived` more stand behind
 * them in both, new. All come out in p, in order, with r->key; those whose new key is REORDER_GONE are
 * dropped. Returns how many changed cell. */
int32_t reorder_particles(struct reorder *r, struct particles *p, struct scratch *next, int32_t arrived);

/* p with the state arrays of `next`: for packing what leaves and unpacking what arrives. */
struct particles reorder_view(const struct particles *p, const struct scratch *next);

#endif
