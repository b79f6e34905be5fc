/* What a picture must know about a set of particles before it can draw them: where the bulk is, how far apart
 * the particles are, and which of them fly alone. Non-finite positions are ignored throughout. */
#ifndef FIRN_RENDER_CLOUD_H
#define FIRN_RENDER_CLOUD_H

#include <stdbool.h>
#include <stdint.h>

/* Bounds of the bulk (m): a few far flakes do not count. False if there is no particle. */
bool cloud_bounds(const float *position, int64_t count, double lower[3], double upper[3]);

/* Mean distance between neighbours where the snow is dense (m), from the number of particles in occupied
 * cells; 0 if the set is too small or too degenerate to tell. */
double cloud_spacing(const float *position, int64_t count);

/* Relative size of each particle, 255 in the bulk, less the lonelier it is: spray is drawn as flakes, not as
 * balls. */
void cloud_sizes(const float *position, int64_t count, double spacing, uint8_t *sizes);

/* Part of the particles near each that are of a kind: those with a value above a half. */
void cloud_shares(const float *position, const float *value, int64_t count, double spacing, float *share);

#endif
