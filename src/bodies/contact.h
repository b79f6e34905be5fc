/* Grid nodes against bodies: method.md, step 5. */
#ifndef FIRN_CONTACT_H
#define FIRN_CONTACT_H

#include "bodies/body.h"
#include "bodies/tally.h"
#include "grid/grid.h"

#include <stdint.h>

/* A node in contact that liquid reaches: the solve may still move it along the bodies. */
struct wet_node {
  int32_t at;       /* tile * TILE_NODES + node of the tile */
  double x[3];      /* m */
  double p[9];      /* projector off the bodies' normals */
  int32_t from, to; /* bodies that acted on it, in scene order: wet_contacts.body[from .. to) */
};

struct wet_contacts {
  const double *heat; /* NODE_HEAT, whose last channel is the liquid mass */
  struct wet_node *node;
  int32_t count, bodies, touches;
  int32_t owned; /* of the nodes, the first that this rank counts in sums over all */
  int32_t *body;
  int32_t *touch; /* of the tile at hand: node and body by turns */
  int64_t capacity, body_capacity, touch_capacity;
};
void wet_contacts_free(struct wet_contacts *wet);

/* The vectors of a field lose their parts along the normals of the bodies. */
void wet_project(const struct wet_contacts *wet, double *field);

/* Collides v* of every active node in tiles of node planes [begin, end) and marks the nodes that a body acted
 * on: channel 0 of NODE_VELOCITY becomes 1 + the index of the last that did. Returns how many. Tiles farther
 * from a body than their own radius skip it. With `wet` (or NULL), nodes that liquid reaches have a part of
 * its friction; they are not marked but added to the list. tallies: one a body, or NULL. */
int64_t contact_nodes(struct grid *grid, const struct body_pose *poses, int pose_count, int32_t begin,
                      int32_t end, struct wet_contacts *wet, struct body_tally *tallies);

/* A solve, for what bodies bear of it: (M + factor H) v = M v*, with H v in NODE_A_RESIDUAL and v* in
 * NODE_STAR. With liquid M is the scalar of NODE_LIQUID, H has the liquid's part, and dt times the forces in
 * NODE_PRESSURE are on the right side. */
struct contact_solve {
  const struct grid *grid;
  const struct body_pose *poses;
  int pose_count;
  double factor, dt;
  const struct wet_contacts *wet; /* NULL: no liquid */
  struct body_tally *tallies;
  struct exact_sum *unbalanced; /* [3] */
};

/* Over node planes [0, end). Nodes that a body holds pass on to it what the solve would give them; wet ones
 * pass on what is along the normals of their bodies. The residual of what may move is momentum that nothing
 * accounts for. It is taken from the velocities themselves: that of the solve is another after many products
 * in single precision. Mass that nodes have in the solve alone is that of the nearest body. */
void contact_hold(const struct contact_solve *solve, int32_t end);

/* Index of the body whose surface is nearest to x; -1: there are none. */
int contact_nearest(const struct body_pose *poses, int pose_count, const double x[3]);

#endif
