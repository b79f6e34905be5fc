/* The part of a long domain that is simulated, when it follows a body: snow enters ahead of it and leaves
 * behind.
 *
 * The position of the window is a function of time alone, so that every rank and every restart finds the
 * same. It moves in ticks, a few a frame, by whole cell planes, and never back: not after a restart with
 * another scene either, where it waits until the new scene's window has come as far. */
#ifndef FIRN_IO_WINDOW_H
#define FIRN_IO_WINDOW_H

#include "io/scene/scene.h"

#include <stdbool.h>
#include <stdint.h>

struct sampling;

/* Cell planes of the domain along the window's axis, [from, to); and what was found on the way there. */
struct window {
  int64_t from, to;
  bool placed;                /* it never goes back behind `from` and `to` */
  int64_t ticks;              /* looked at so far */
  double farthest;            /* m, of the body in the window's direction, at any of them */
  struct sampling *samplings; /* where snow comes from; NULL: not made yet; of seeding/seeding.h */
};

/* Moves on to a time (s) that is not before the last one asked for; starts from a zeroed struct. Without a
 * window in the scene it is the whole domain. */
void window_advance(struct window *w, const struct scene *scene, double time);

#endif
