/* Turns a depth map of spheres into one of a surface. */
#ifndef FIRN_RENDER_SMOOTH_H
#define FIRN_RENDER_SMOOTH_H

#include "render/preview/splat.h"

/* Fills pits narrower than about twice `reach` and not deeper than `deepest` metres: gaps between particles,
 * which a loose packing is full of and a skin of snow is not. `focal` as below. */
void smooth_close(struct depth_map *map, float focal, float reach, float deepest);

/* Smooths over `reach` metres on the surface, where one metre at depth 1 m is `focal` pixels. Pixels whose
 * depths differ by more than `range` metres belong to different surfaces and do not mix: silhouettes and
 * flakes keep their shape. */
void smooth_depth(struct depth_map *map, float focal, float reach, float range);

#endif
