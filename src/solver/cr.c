#include "solver/cr.h"

#include <math.h>

enum { DOT_RR, DOT_RAR, DOT_ARAR, DOT_ARAP, DOT_NORM, DOTS };

/* AR = A R and the dot products, in one pass over the nodes. */
static void apply(const struct cr_system *s, struct exact_sum dots[DOTS])
{
  s->hessian(s->context, GROUP_R, GROUP_AR);
  crew_cr_product(s->crew, s->kernels, s->grid, s->factor, s->owned_tiles, dots);
}

/* r = v* - A v* = -factor M^-1 H v* on the free nodes. */
static void start(const struct cr_system *s, struct exact_sum *norm)
{
  s->hessian(s->context, GROUP_VELOCITY, GROUP_AR);
  crew_cr_residual(s->crew, s->kernels, s->grid, s->factor, s->owned_tiles, norm);
}

struct cr_result cr_solve(const struct cr_system *s, double tolerance, int max_iterations)
{
  struct cr_result result = {0, false, 0.0};
  struct exact_sum dots[DOTS] = {{{0}}};
  grid_clear(s->grid, GROUP_R);
  grid_clear(s->grid, GROUP_P);
  grid_clear(s->grid, GROUP_AP);
  start(s, &dots[DOT_NORM]);
  apply(s, dots);
  s->reduce(s->context, dots, DOTS);
  const double norm = sqrt(exact_value(&dots[DOT_NORM]));
  double rar_before = 0.0, apap = 0.0;
  for (;;) {
    const double rr = exact_value(&dots[DOT_RR]), rar = exact_value(&dots[DOT_RAR]),
                 arar = exact_value(&dots[DOT_ARAR]);
    result.residual = norm > 0.0 ? sqrt(rr) / norm : 0.0;
    result.converged = sqrt(rr) <= tolerance * norm;
    if (result.converged || result.iterations == max_iterations) return result;
    if (!(fabs(rar) > 1e-14 * sqrt(rr) * sqrt(arar))) return result; /* breakdown, or not finite */
    const double b = result.iterations ? rar / rar_before : 0.0;
    apap = arar + 2.0 * b * exact_value(&dots[DOT_ARAP]) + b * b * apap;
    if (!(apap > 0.0)) return result;
    crew_cr_update(s->crew, s->kernels, s->grid, rar / apap, b);
    rar_before = rar;
    result.iterations++;
    for (int k = 0; k < DOT_NORM; k++) dots[k] = (struct exact_sum){{0}};
    apply(s, dots);
    s->reduce(s->context, dots, DOT_NORM);
  }
}
