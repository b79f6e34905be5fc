/* Friction by the normal impulse of the whole step (`integrator.friction: whole`; docs/method.md, step 6).
 * The collision on nodes knows the impulse before the solve. What the solve adds to it or takes from it
 * changes friction, and a second solve, with the same operator, finds what this change does to all
 * velocities. */
#ifndef FIRN_SIM_FRICTION_H
#define FIRN_SIM_FRICTION_H

struct sim;

/* All accept a simulation without that option. Not collective. */

/* Before a step is solved, for the first time or once more. */
void friction_clear(struct sim *sim);

/* After the first solve, with v in NODE_VELOCITY and H v in NODE_A_RESIDUAL: the right side of the second, in
 * NODE_PRESSURE, which no other part of a step without liquid uses. Nodes that friction cannot hold are
 * released. */
void friction_begin(struct sim *sim);

/* After the second: v gets what is in NODE_PRESSURE. */
void friction_end(struct sim *sim);

/* After the last solve: bodies bear what friction gave. */
void friction_bear(struct sim *sim);

#endif
