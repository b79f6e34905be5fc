/* Conjugate residual for the implicit velocity: (I + factor M^-1 H) v = v*, method.md step 6.
 *
 * The operator is self-adjoint in the mass inner product but may be indefinite, hence CR and not CG. Nodes in
 * contact keep v*. Each iteration has one product (one neighbour exchange) and one reduction of four dot
 * products; the products over the whole vector are exact sums, so iterations and result do not depend on the
 * ranks. */
#ifndef FIRN_SOLVER_CR_H
#define FIRN_SOLVER_CR_H

#include "base/exactsum.h"
#include "crew.h"
#include "grid.h"
#include "kernels.h"

#include <stdbool.h>

struct cr_system {
  struct grid *grid; /* v* in GROUP_VELOCITY, masses in GROUP_MOMENTUM */
  struct crew *crew;
  const struct kernels *kernels;
  double factor;       /* beta dt^2 */
  int32_t owned_tiles; /* tiles [0, owned_tiles) are counted in dot products by this rank */
  void *context;
  void (*hessian)(void *context, enum grid_group in,
                  enum grid_group out); /* out = H in, complete on shared planes */
  void (*reduce)(void *context, struct exact_sum *sums, int count); /* over all ranks */
};

struct cr_result {
  int iterations;
  bool converged;
  double residual; /* |r| / |v*| */
};

/* On return GROUP_VELOCITY holds v(n+1). Same result on every rank. */
struct cr_result cr_solve(const struct cr_system *system, double tolerance, int max_iterations);

#endif
