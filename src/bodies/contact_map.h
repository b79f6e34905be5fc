/* Where on a body contact pushes: force and area by place, summed over the steps between two frames.
 *
 * A place is a point of a lattice as fine as the grid that is fixed to the body: on a body at rest its points
 * are the grid's nodes. Contact acts on nodes and particles up to two cells inside the body, and all of them
 * count at the point that is nearest to the surface above them. Sums are integers, multiples of 2^-84, so
 * they are the same whichever rank, thread or start of a run added what. */
#ifndef FIRN_BODIES_CONTACT_MAP_H
#define FIRN_BODIES_CONTACT_MAP_H

#include "bodies/body.h"

#include <stdbool.h>
#include <stdint.h>

/* What a body gets at one place in the step that is tried. */
struct push {
  int32_t at[3];     /* place on the lattice */
  double impulse[3]; /* N s, on the body */
  double inward;     /* N s, its part against the outer normal */
  double cover;      /* see tally_area() */
};

/* All pushes on one body in the step that is tried, by one thread. */
struct push_log {
  double spacing, lower[3]; /* of the lattice, m */
  int64_t count, capacity;
  struct push *push;
};

struct push_log *push_log_create(double spacing, const double lower[3]);
void push_log_destroy(struct push_log **log);
void push_log_append(struct push_log *to, const struct push_log *from);

/* `impulse` (N s) on the body at x, and what a node there covers; NULL, 0: none. */
void push_log_add(struct push_log *log, const struct body_pose *pose, const double x[3],
                  const double impulse[3], double cover);

/* high 2^-32 + low 2^-84, with low from 0 to below 2^52: one pair for every number. */
struct fixed {
  int64_t high, low;
};
void fixed_add(struct fixed *to, double value); /* beyond 2^30 it is cut off */
double fixed_value(const struct fixed *from);

enum map_sum { MAP_IMPULSE, MAP_INWARD = 3, MAP_COVER, MAP_SUMS }; /* N s, N s, m^2 s */

struct map_node {
  int32_t body, at[3];
  struct fixed sum[MAP_SUMS];
};

/* A table by place, in no order. */
struct contact_map {
  int64_t count, capacity; /* places in use, of a power of two */
  struct map_node *node;   /* body -1: a free one */
};

void contact_map_free(struct contact_map *map);
void contact_map_clear(struct contact_map *map);

/* The pushes of an accepted step; area: m^2 s a unit of cover. */
void contact_map_add(struct contact_map *map, int body, const struct push_log *log, double area);
void contact_map_add_node(struct contact_map *map, const struct map_node *node);

/* Brings nodes into the order of bodies and places, each place once; returns how many there are. */
int64_t contact_map_sort(struct map_node *node, int64_t count);

/* What a frame has of it: rows in the order of bodies and places. */
struct contact_table {
  int64_t count;
  double span;      /* s that forces and areas are means over */
  uint32_t *body;   /* place in the scene's list */
  double *position; /* 3 per row: m, on the body's surface, where that is now */
  double *force;    /* 3 per row: N, of the snow on the body */
  double *area;     /* m^2; all of a body's are its area in contact */
  double *pressure; /* Pa, of the normal force, over some cells around */
};

/* From nodes in order; `time`: where the bodies are. */
struct contact_table *contact_table_create(const struct map_node *node, int64_t count, double span,
                                           const struct body *bodies, double spacing, const double lower[3],
                                           double time);
void contact_table_destroy(struct contact_table **table);

#endif
