/* Grid nodes against bodies: method.md, step 5. */
#ifndef FIRN_CONTACT_H
#define FIRN_CONTACT_H

#include "bodies/body.h"
#include "bodies/tally.h"
#include "grid/grid.h"

#include <stdint.h>

/* What one body did to a node. */
struct contact_touch {
  int32_t body;
  bool holds;       /* the node may not move in the solve, else not along the normal */
  bool frees;       /* it is friction that holds, and contacts_rub() may release the node */
  double normal[3]; /* of the body */
  double pressed;   /* m/s along it that the collision took */
  double rubbed[3]; /* m/s that friction gave the node along the surface, in the collision */
};

/* A node that bodies acted on and that the solve may still move, or that several bodies hold. */
struct contact_node {
  int32_t at;       /* tile * TILE_NODES + node of the tile */
  bool wet;         /* liquid reaches it */
  double x[3];      /* m */
  double p[9];      /* projector off the bodies' normals */
  double kept[3];   /* m/s, of its velocity, that the projector takes and the solve keeps */
  int32_t from, to; /* contacts.touch[from .. to), in scene order */
  /* With `whole` below: */
  bool released;   /* friction held it in the collision, and no longer does */
  double given[3]; /* m/s that friction gave it in addition, by the normal impulse of the whole step */
};

/* The nodes whose vectors pass through a projector in the solve, in the order of tiles. */
struct contacts {
  const double *heat; /* NODE_HEAT, whose last channel is the liquid mass; NULL: no liquid */
  bool slide;         /* dry nodes may slide in the solve; else bodies hold all that they act on */
  bool whole;         /* nodes that friction holds are in the list too: contacts_rub() may release them */
  struct contact_node *node;
  struct contact_touch *touch;
  int32_t count, touches;
  int32_t owned; /* of the nodes, the first that this rank counts in sums over all */
  int64_t capacity, touch_capacity;
};
void contacts_free(struct contacts *contacts);

/* A list without nodes, for the step that begins. */
void contacts_clear(struct contacts *contacts, const double *heat, bool slide, bool whole);

/* Appends the nodes of `from`, whose tiles are behind those of the list. */
void contacts_append(struct contacts *contacts, const struct contacts *from);

/* The vectors of a field lose their parts along the normals of the bodies: nodes of tiles [begin, end). */
void contacts_project(const struct contacts *contacts, double *field, int32_t begin, int32_t end);

/* Velocities get back the parts along the normals that they had. */
void contacts_restore(const struct contacts *contacts, double *velocity);

/* Collides v* of every active node in tiles [begin, end). Returns how many a body acted on.
 * Tiles farther from a body than their own radius skip it. Nodes that the solve may not move get a mark:
 * channel 0 of NODE_VELOCITY becomes 1 + the index of the last body that acted; the others are added to the
 * list. Nodes that liquid reaches have a part of its friction. closes: 0, or the time (s) in which gaps may
 * close (gap.h), which NODE_PLACE is there for; liquid has none. contacts: NULL if no solve follows. tallies:
 * one per body, or NULL. */
int64_t contact_nodes(struct grid *grid, const struct body_pose *poses, int pose_count, int32_t begin,
                      int32_t end, double closes, struct contacts *contacts, struct body_tally *tallies);

/* A solve, for what bodies bear of it: (M + factor H) v = M v*, with H v in NODE_A_RESIDUAL and v* in
 * NODE_STAR. With liquid M is the scalar of NODE_LIQUID, H has the liquid's part, and dt times the forces in
 * NODE_PRESSURE are on the right side. */
struct contact_solve {
  const struct grid *grid;
  const struct body_pose *poses;
  int pose_count;
  double factor, dt;
  const struct contacts *contacts;
  struct body_tally *tallies;
  struct exact_sum *unbalanced; /* [3] */
};

/* Over tiles [0, end). Nodes that a body holds pass on to it what the solve would give them; those of
 * the list pass on what is along the normals of their bodies. The residual of what may move is momentum that
 * nothing accounts for. It is taken from the velocities themselves: that of the solve is another after many
 * products in single precision. Mass that nodes have in the solve alone is that of the nearest body. */
void contact_hold(const struct contact_solve *solve, int32_t end);

/* Friction by the normal impulse of the whole step, collision and solve, of dry nodes that touch one body
 * (method.md, step 6). After a solve as above, `change` gets what the right side of the second solve is
 * (m/s); it must be clear. Nodes whose friction no longer holds them are released. */
void contacts_rub(const struct contact_solve *solve, double *change);

/* Takes back what contacts_rub() did to the list and to the marks, before the first solve is repeated. */
void contacts_hold_again(struct contacts *contacts, const struct grid *grid);

/* After the last solve: v* in NODE_STAR gets what contacts_rub() gave, and bodies bear it. */
void contacts_bear(const struct contact_solve *solve);

/* Index of the body whose surface is nearest to x; -1: there are none. */
int contact_nearest(const struct body_pose *poses, int pose_count, const double x[3]);

#endif
