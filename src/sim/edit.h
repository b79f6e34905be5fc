/* Changes of particles from outside, between steps (libfirn): fields, new particles, particles that go.
 *
 * Changes are made to the arrays of each rank as they are. sim_commit() then checks them, brings particles to
 * the ranks of their cells and into order, and finds the speeds that limit the next step. No step may be
 * taken before it. Results do not depend on the ranks: ids decide the order, and new ids go by the order in
 * which ranks, and then particles, were given. */
#ifndef FIRN_SIM_EDIT_H
#define FIRN_SIM_EDIT_H

#include "sim/sim.h"

/* Values of this rank's particles, row by row: count x components. J_P is J_P whatever the material keeps.
 * Ids and fields that the scene's particles do not have are FIRN_EINPUT. All functions are collective: every
 * rank calls them, with its own particles. `code` is what this rank has found wrong before, with *err: all
 * ranks return what one of them has. */
int edit_write(struct sim *sim, const struct particle_field *field, const void *rows, int code,
               struct error *err);

/* Adds `count` particles of this rank with these fields, rows as above: position and mass are needed. Without
 * ids, on all ranks, they get ids that none has had, and without volumes those of their material at rest. */
struct edit_column {
  const struct particle_field *field;
  const void *rows;
};
int edit_add(struct sim *sim, int64_t count, const struct edit_column *columns, int column_count, int code,
             struct error *err);

/* Removes the particles of this rank whose flag is not 0, of those that were there before edit_add(). */
int edit_remove(struct sim *sim, const unsigned char *flags, struct error *err);

/* Makes the changes part of the state. Nothing was changed: does nothing. */
int edit_commit(struct sim *sim, struct error *err);

/* The field of that name that the particles have; NULL with a message that lists them. */
const struct particle_field *edit_find(const struct sim *sim, const char *name, struct error *err);

/* J_P of particle i, whatever its material keeps. */
double edit_plastic(const struct sim *sim, int32_t i);

#endif
