/* Particles for the snow of a scene, and their first distribution over the ranks. */
#ifndef FIRN_SEEDING_H
#define FIRN_SEEDING_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "io/scene.h"
#include "particles.h"

/* Collective. Appends this rank's share of all snow of the scene to p (any share: positions do not depend on
 * the ranks, and the caller distributes). Ids are dense in scene order, after those that particle files
 * bring. */
int seed_snow(const struct comm *comm, const struct scene *scene, struct particles *p, struct error *err);

#endif
