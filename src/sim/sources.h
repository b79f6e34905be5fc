/* Snow that comes in while a run goes on, and snow that is taken out.
 *
 * The k-th particle of a source is due at a time that follows from k and the rate. Its place follows from the
 * source's seed and from how many the source has brought before it, and so does its id. That number is the
 * only state: it is the same on all ranks, and a checkpoint keeps it with the source's name. So ids are
 * unique whatever a restart changes: a source goes on behind the last id that it used, and a new one gets a
 * block of ids that nobody had. */
#ifndef FIRN_SIM_SOURCES_H
#define FIRN_SIM_SOURCES_H

#include "io/particles/checkpoint.h"
#include "sim/sim.h"

/* Ids of particles that sources bring; all others are below. */
#define SOURCE_FIRST_ID ((uint64_t)1 << 52)

/* Counts what flies. Collective, once particles are there. */
void sources_count_flying(struct sim *sim);

/* Collective, after an accepted step from the present time to `time`. */
void sources_act(struct sim *sim, double time);

/* The numbers of a run that begins with its scene; and of one that goes on, which is collective: the state's
 * particles must be there. `path` is the checkpoint's. */
void sources_begin(struct sim *sim);
int sources_restore(struct sim *sim, const struct checkpoint *from, const char *path, struct error *err);
void sources_free(struct sim *sim);

/* What a checkpoint keeps, for mem_free(): a line for each source that the run has had, with its name, its
 * block of ids and how many particles it brought. */
char *sources_save(const struct sim *sim);

#endif
