/* Conjugate residual for A x = b with A = I + factor W^-1 B, B symmetric (method.md, step 6).
 *
 * The operator is self-adjoint in the inner product of the weight W but may be indefinite, hence CR and not
 * CG. Nodes that are fixed keep their x. What the residual must be small beside is the system's choice
 * (enum cr_stop). Each iteration has one product (one neighbour exchange) and one reduction of four dot
 * products; these are exact sums, so iterations and result do not depend on the ranks. The unknown, the
 * weight and the mask are fields of the grid that the system names. */
#ifndef FIRN_SOLVER_CR_H
#define FIRN_SOLVER_CR_H

#include "base/exactsum.h"
#include "kernels/crew.h"

#include <stdbool.h>

/* The solve stops at |r| <= tolerance times a measure, all norms over the free nodes. */
enum cr_stop {
  /* max(|b|, 0.01 |b| over all nodes): the floor counts only where the free nodes all but rest and others are
   * moved by a body. What moves as a whole is solved the less exactly the faster it moves. */
  CR_STOP_SIZE,
  /* scale sqrt(sum W): the same whatever moves, and how fast. And |r| may not be above a thousandth of
   * max(|b - mean b|, least sqrt(sum W)), since slow motion would not be solved at all otherwise. */
  CR_STOP_SCALE
};

/* Unknowns z beside the nodes', the same on all ranks: of bodies that nodes are held by. Products put them
 * into what they multiply, and leave their part of B in `sums`, of this rank's nodes alone. */
struct cr_coupling {
  int count;                   /* numbers */
  double *x, *r, *p, *ar, *ap; /* beside the vectors of the nodes */
  double *in;                  /* z of the vector that is multiplied next */
  struct exact_sum *sums;
  bool held; /* something beside nodes holds the bodies: axes, springs, each other */
  void (*weigh)(void *context, const double *in, double *out);  /* out = W z */
  void (*invert)(void *context, const double *in, double *out); /* out = W^-1 z, of what may move */
  /* Adds to <x,x> over the free nodes and over the others, to W and to W x of the free ones (3): nodes that
   * the bodies hold count as free, or, with `own`, the bodies themselves. */
  void (*measure)(void *context, bool own, struct exact_sum norms[6]);
  void (*common)(void *context, const double velocity[3], double *out); /* z of a velocity that all share */
};

struct cr_system {
  struct grid *grid;
  struct crew *crew;
  const struct kernels *kernels;
  enum node_field unknown; /* the solve starts here, with x = b, and leaves its result here */
  enum node_field weight;  /* its scalar is W */
  enum node_field fixed;   /* nodes whose scalar is not 0 here keep their x */
  /* The right side is x at the start, or, with has_right, a field of its own. Then the solve starts at x as
   * it is and stops at |r| <= tolerance sqrt(|measure|^2 + |right|^2) over the free nodes. */
  bool has_right;
  enum node_field right, measure;
  /* x may be good enough as it is: the first residual is looked at before its product is made. One sum over
   * all ranks more, and a product less where it is. Changes no bit. */
  bool may_be_solved;
  enum cr_stop stop;   /* without has_right */
  double scale, least; /* of CR_STOP_SCALE, in units of x */
  double factor;
  /* The residual that is left sums to nought over the free nodes: they get a velocity in common at last.
   * Costs a reduction and, if nodes are held, up to three products. */
  bool balanced;
  int64_t held;        /* nodes of this rank that are held, or in some directions */
  int32_t owned_tiles; /* tiles [0, owned_tiles) are counted in dot products by this rank */
  void *context;
  void (*product)(void *context, enum node_field in,
                  enum node_field out); /* out = B in, complete on shared bricks */
  /* Jacobi's preconditioner, or NULL: the first product, with (about) the diagonal of B, not below 0, in the
   * scalars of out. Nodes that are stiffer than the mean are scaled down to it, and only these: a residual of
   * the others is what it is without a preconditioner, so slow modes are solved as exactly. */
  void (*first_product)(void *context, enum node_field in, enum node_field out);
  void (*reduce)(void *context, struct exact_sum *sums, int count); /* over all ranks */
  /* Nodes that may move in some directions only: takes the others out of a field. The product does so with
   * its result by itself. NULL: there are none. */
  void (*project)(void *context, enum node_field field);
  /* The same in two halves, for the pipelined solve: products come between them. */
  void (*reduce_begin)(void *context, struct exact_sum *sums, int count);
  void (*reduce_end)(void *context);
  struct cr_coupling *coupling; /* NULL: there are nodes alone. Not with the pipelined solve */
};

struct cr_result {
  int iterations;
  bool converged;
  double residual; /* |r| over what it is compared with */
  bool held;       /* of a balanced system: some rank has nodes that are held */
};

/* Same result on every rank. */
struct cr_result cr_solve(const struct cr_system *system, double tolerance, int max_iterations);

/* The same method, arranged so that the sums of an iteration travel while its product is computed (Ghysels
 * and Vanroose 2014, pipelined conjugate residuals). A r is then carried by a recurrence of its own, which
 * rounds differently: the same iterations but for the last digits. Costs one product more a solve and two
 * more fields on the nodes, and pays where a sum over all ranks takes long beside a product. */
struct cr_result cr_solve_pipelined(const struct cr_system *system, double tolerance, int max_iterations);

#endif
