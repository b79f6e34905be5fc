/* Particles for the snow of a scene. */
#ifndef FIRN_SEEDING_H
#define FIRN_SEEDING_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "grid/particles.h"
#include "io/scene/scene.h"
#include "seeding/sampling.h"

/* Collective. Appends this rank's share of all snow of the scene to p (any share: positions do not depend on
 * the ranks, and the caller distributes). Particle files bring their own ids, unless a file before has one of
 * them: then the file is renumbered, with a warning. Ids of shapes are dense in scene order, after those
 * of all files; of a scene with a window they have gaps, where snow has yet to enter. */
int seed_snow(const struct comm *comm, const struct scene *scene, struct particles *p, struct error *err);

/* For a scene with a window: the points that its snow is made of, one sampling an item, to be freed with
 * seed_samplings_destroy(). */
struct sampling *seed_samplings_create(const struct scene *scene);
void seed_samplings_destroy(struct sampling **samplings, const struct scene *scene);

/* How many points they have in all, and a hash of all that says where each is. */
uint64_t seed_samplings_count(const struct sampling *samplings, const struct scene *scene);
uint64_t seed_samplings_mark(const struct sampling *samplings, const struct scene *scene);

/* Not collective. Appends all particles whose cell plane along the window's axis lies in [from, to). Their
 * ids are those of their points, counted from first_id: the same whenever and wherever they enter. */
void seed_planes(const struct scene *scene, const struct sampling *samplings, uint64_t first_id, int64_t from,
                 int64_t to, struct particles *p);

#endif
