/* From a mesh to its grid of signed distances, row by row: rows need nothing of each other, so ranks share
 * them out as they like and the bits stay the same. */
#ifndef FIRN_LEVELSET_SDF_BUILD_H
#define FIRN_LEVELSET_SDF_BUILD_H

#include "levelset/bvh.h"
#include "levelset/sdf.h"

/* A grid of this spacing over the bounds and some cells beyond, without samples. */
void sdf_plan(struct sdf *sdf, const double lower[3], const double upper[3], double spacing);

/* Fills planes [from, to) along z of phi, the first sample of the whole grid. With velocities (m/s) of the
 * corners of the tree's triangles, those of the nearest points go to velocity; both may be NULL. */
void sdf_fill(const struct sdf *sdf, const struct bvh *bvh, const double (*speed)[9], int64_t from,
              int64_t to, float *phi, float *velocity);

/* If the sign changes although no triangle is near, there is a hole: makes distances small towards the
 * surface that closes it. Needs all samples. Returns how many pairs of neighbours showed a hole. */
int64_t sdf_close_holes(const struct sdf *sdf, float *phi);

#endif
