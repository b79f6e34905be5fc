/* The fastest sound of a run's first step, before it runs: what limits explicit steps.
 *
 * Estimated volumes (method.md, step 2) depend on every particle: thin or scattered snow comes out up to some
 * hundred times lighter than the scene's density, and its sound faster. So the snow is seeded as the run will
 * do it, and estimated. */
#ifndef FIRN_SIM_FIRST_SOUND_H
#define FIRN_SIM_FIRST_SOUND_H

#include "io/scene/scene.h"
#include "io/scene/scene_report.h"

/* Replaces the limit of sound in an estimate of the scene by that of its particles, if sound binds, the scene
 * does not tell it, and the snow is small enough to be seeded here (about a million particles). Starts no
 * MPI, and is not collective. */
void first_sound_refine(const struct scene *scene, struct scene_estimate *estimate);

#endif
