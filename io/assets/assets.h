/* The files that shapes are made from: meshes, images of heights, level-set keys. Loaded collectively, once a
 * scene; grids lie in memory that the ranks of a node share. */
#ifndef FIRN_IO_ASSETS_H
#define FIRN_IO_ASSETS_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "levelset/shape.h"

struct assets;

/* Collective: loads what this shape and its children name and makes them ready; a file that several shapes
 * name in the same way is read once. comm may be NULL: this process alone. *assets is made on the first call.
 */
int assets_load(struct assets **assets, const struct comm *comm, struct shape *shape, struct error *err);

/* Collective if the loading was. The shapes must not be used any more. */
void assets_destroy(struct assets **assets);

#endif
