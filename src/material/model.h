/* What a material model is to the kernels: a few functions of the three principal stretches of F_E and of its
 * history, a register of particles at a time.
 *
 * A particle's material has a model and constants. The transfers find F_E = U diag(sigma) V^T and ask the
 * model for energy, stress, slope and return; everything else of the step is the same for all models
 * (docs/method.md). Functions are pure, one lane each: a lane's bits depend on that lane alone.
 *
 * Stresses are of Kirchhoff's kind, tau_i = sigma_i dpsi/dsigma_i, for the material's own stiffness: the
 * caller multiplies them by the particle's volume and by its factor on the stiffness, which scales all
 * stresses of a model and leaves its yield strains as they are. */
#ifndef FIRN_MATERIAL_MODEL_H
#define FIRN_MATERIAL_MODEL_H

#include "material/stretch.h"

/* Principal stretches: strain = sigma - 1 and excess = sigma^2 - 1, each with its own full accuracy. */
struct stretches {
  vd strain[3], excess[3];
};

static inline struct stretches stretches_of(const struct principal *axes)
{
  struct stretches e;
  for (int d = 0; d < 3; d++) {
    e.strain[d] = axes->strain[d];
    e.excess[d] = axes->excess[d];
  }
  return e;
}

static inline void stretches_sigma(const struct stretches *e, vd sigma[3])
{
  for (int d = 0; d < 3; d++) sigma[d] = vd_set(1.0) + e->strain[d];
}

/* What a particle remembers: J_P or ln J_P (the model says which), and accumulated plastic shear. */
struct history {
  vd volume, shear;
};

/* How the stress changes: t = dtau_i/deps_j with eps = ln sigma (upper triangle), and s[k] =
 * (tau_i - tau_j) / (sigma_i^2 - sigma_j^2) of the two axes other than k, in a form without cancellation. */
struct slope {
  vd t[6], s[3];
};

/* Where t keeps its diagonal. */
static const int slope_diagonal[3] = {0, 3, 5};

/* What a return mapping did. */
struct returned {
  vm plastic;  /* something changed; the other lanes keep the bits of F_E and history */
  vm flowing;  /* some ln sigma changed by more than FLOW_LEAST */
  vm inverted; /* some sigma was <= 0: the step is to be cut, and the lane may hold anything */
};
#define FLOW_LEAST 1e-8

/* A NULL pointer means what its comment says. constants are the lanes of the model's own struct. */
struct model {
  const char *name;
  int constants;    /* how many */
  bool log_volume;  /* the first history is ln J_P, which starts at 0; otherwise J_P, which starts at 1 */
  bool needs_shear; /* has the second history, which starts at 0 */
  vd (*energy)(const void *constants, const struct stretches *e, const struct history *h);
  void (*stress)(const void *constants, const struct stretches *e, const struct history *h, vd tau[3]);
  /* tau as a matrix (upper triangle) and the energy from F_E alone, without axes where F_E is near a
   * rotation: the way of explicit steps. Agrees with the two above to rounding. */
  void (*left)(const void *constants, const vd f[9], const struct history *h, vd tau[6], vd *energy);
  /* flowing: lanes whose last return flowed; where the material asks for it they lose their stiffness along
   * the flow. NULL: never has a part in the operator (is_open is all lanes). */
  void (*slope)(const void *constants, const struct stretches *e, const struct history *h, vm flowing,
                struct slope *out);
  /* Lanes of materials with the operator `flow`. NULL: none. */
  vm (*flows)(const void *constants);
  /* Lanes that have no part in the operator of the solve. NULL: none. */
  vm (*is_open)(const void *constants, const struct history *h);
  /* Lanes in which a limit of ours acts on the history (docs/method.md). NULL: none. */
  vm (*is_limited)(const void *constants, const struct history *h);
  /* The trial F becomes what the model keeps of it; returns the lanes in which a limit of ours acted. A lane
   * with a determinant <= 0 stays as it is. NULL: all is kept. */
  vm (*reduce)(const void *constants, vd f[9]);
  /* Lanes of trial F that surely do not yield and have a positive determinant; never wrong, may miss some. */
  vm (*is_elastic)(const void *constants, const vd f[9], const struct history *h);
  /* sigma and history are the trial's and become the returned ones; e is the trial's. Lanes with sigma <= 0
   * may get anything, and `inverted` is the caller's matter. NULL: never yields. */
  struct returned (*give_back)(const void *constants, const struct stretches *e, struct history *h,
                               vd sigma[3]);
  /* Adds the viscous part of tau; c is the velocity gradient, j the determinant. NULL: none. */
  void (*add_viscous)(const void *constants, vd j, const vd c[9], vd tau[6]);
  /* rho0 c^2 of the fastest wave for stretches within the bounds: at least max(t_ii - tau_i, s_ij sigma^2).
   */
  vd (*wave)(const void *constants, const struct stretch_bounds *bounds, const struct history *h);
};

/* is_elastic of a model that never yields. */
static inline vm model_is_upright(const void *constants, const vd f[9], const struct history *h)
{
  (void)constants, (void)h;
  return stretch_determinant(f) > vd_set(0.0);
}

/* A model's constants as doubles, for the table, and as lanes: the same members in the same order. */
#define MODEL_CONSTANTS(model, ...)                                                                          \
  struct model##_constants {                                                                                 \
    double __VA_ARGS__;                                                                                      \
  };                                                                                                         \
  struct model##_lanes {                                                                                     \
    vd __VA_ARGS__;                                                                                          \
  }
#define MODEL_MEMBERS(model) ((int)(sizeof(struct model##_constants) / sizeof(double)))

#endif
