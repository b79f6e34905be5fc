/* Grid nodes against bodies: method.md, step 5. */
#ifndef FIRN_CONTACT_H
#define FIRN_CONTACT_H

#include "bodies/body.h"
#include "grid.h"

#include <stdint.h>

/* Collides v* of every active node in tiles of node planes [begin, end) and marks the nodes that a body acted
 * on (channel 0 of GROUP_VELOCITY becomes 1). Returns how many. Tiles farther from a body than their own
 * radius skip it. */
int64_t contact_nodes(struct grid *grid, const struct body_pose *poses, int pose_count, int32_t begin,
                      int32_t end);

#endif
