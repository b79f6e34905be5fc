/* How far the matter that a node feels still is from a body (docs/method.md, "Gap").
 *
 * A node gets mass from matter up to two cells away. So a node inside a body feels snow that has not reached
 * the surface yet, and contact by nodes alone stops it there: a ball stands on a plate nearly as wide as
 * itself. The mean place of the matter says how far it is. That of matter that just touches the surface is
 * known, and what is left beyond it is the gap, which may close within the step. */
#ifndef FIRN_BODIES_GAP_H
#define FIRN_BODIES_GAP_H

#include "bodies/body.h"
#include "grid/grid.h"

/* Mean distance (cells) from its flat surface of matter that fills a half space, as a node feels it that is
 * `depth` cells outside of it. */
double gap_of_touching(double depth, int support);

/* m/s: how fast what the node at x feels may approach the body, so that it is not beyond the surface after
 * dt. `at`: of the node's doubles; `distance` (m): of the node from the body, not above 0. */
double gap_closing(const struct grid *grid, const struct body_pose *pose, int64_t at, double distance,
                   double dt);

#endif
