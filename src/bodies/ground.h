/* Friction of the ground: what a body may have beyond one Coulomb coefficient.
 *
 * Voellmy's shear stress on sliding matter is S = f N + rho |g| v^2 / xi + C(N): a coefficient that may
 * depend on the speed, drag of the turbulence coefficient xi, and cohesion. Coulomb's part is an impulse over
 * an impulse. The other two need the area that a node stands for, and only the uppermost layer of nodes
 * inside the body has one (ground.c). The three together are one backward Euler step: nothing limits its
 * length, and friction never turns a motion round (docs/method.md). */
#ifndef FIRN_GROUND_H
#define FIRN_GROUND_H

#include <stdbool.h>

struct body;
struct body_pose;
struct body_touch;
struct zones;

struct ground_law {
  double friction;       /* Coulomb coefficient, at rest */
  double fast_friction;  /* the same at high speed */
  double friction_speed; /* m/s, half way between the two; 0: it does not depend on the speed */
  double turbulence;     /* xi, m/s^2; 0: no drag */
  double cohesion;       /* Pa */
};

struct ground {
  bool varies;           /* the coefficient depends on speed or place */
  bool layered;          /* drag or cohesion: nodes have an area */
  double weight;         /* |g|, m/s^2 */
  struct ground_law law; /* where zones say nothing else */
  struct zones *zones;   /* laws by place; owned, NULL for none */
};

/* The law at x. */
const struct ground_law *ground_law_at(const struct body_pose *pose, const double x[3]);

/* The coefficient at x for matter that slides at `speed` (m/s). */
double ground_friction(const struct body_pose *pose, const double x[3], double speed);

/* A node with mass, in a step. */
struct ground_node {
  double dt;      /* s */
  double spacing; /* m */
  int support;    /* of the kernel, nodes */
  double mass;    /* kg */
  double volume;  /* m^3, sum of V w over particles */
};

/* body_collide_with() for a body that is layered. */
bool ground_collide(const struct body_pose *pose, const double x[3], double v[3],
                    const struct ground_node *node, double closing, struct body_touch *touch);

#endif
