/* The threads of a rank.
 *
 * A rank's cell planes are cut into chunks, one a worker, by the same rule that cuts the domain into slabs: a
 * worker adds the contributions of its first planes to the nodes it shares with the worker before it apart,
 * and they are joined in plane order afterwards. So threads, like ranks, cannot change a bit. Node updates
 * are shared out by tiles; their dot products are exact sums. */
#ifndef FIRN_CREW_H
#define FIRN_CREW_H

#include "base/exactsum.h"
#include "grid.h"
#include "kernels.h"

#include <stdint.h>

struct worker {
  struct workspace work;
  struct step_result result;
  int64_t shared_plastic, hardened_to_limit;
  struct exact_sum measured[MEASURED_COUNT];
  struct exact_sum dots[4];
};

struct crew {
  int size;                         /* threads */
  struct worker *workers;           /* one a chunk */
  void (*meanwhile)(void *context); /* called by the first worker between planes inside; may be NULL */
  void *context;
};

/* What neighbours wait for comes first, the rest while it travels. */
enum pass { PASS_EDGES, PASS_INSIDE };

void crew_create(struct crew *crew, int threads);
void crew_free(struct crew *crew);

/* After grid_collect() and grid_chunks(): buffers for the chunks. */
void crew_fit(struct crew *crew, const struct grid *grid);

/* One kernel over all planes of the rank, in two passes where neighbours wait for the result, and the join of
 * the chunks after the second. p2g adds what it measured to t->measured. */
void crew_p2g(struct crew *crew, const struct kernels *kernels, struct transfer *t, enum pass pass);
void crew_estimate_volume(struct crew *crew, const struct kernels *kernels, struct transfer *t);
void crew_hessian(struct crew *crew, const struct kernels *kernels, struct transfer *t, enum grid_group in,
                  enum grid_group out, enum pass pass);
/* shared_plastic: particles clamped whose stencil touches a plane shared with another rank. */
void crew_g2p(struct crew *crew, const struct kernels *kernels, struct transfer *t,
              struct step_result *result, int64_t *shared_plastic);

/* Node updates over all tiles; dot products count the first `owned` tiles. */
void crew_velocity(struct crew *crew, const struct kernels *kernels, struct transfer *t);
void crew_mix(struct crew *crew, const struct kernels *kernels, struct transfer *t);
void crew_cr_product(struct crew *crew, const struct kernels *kernels, struct grid *grid, double factor,
                     int32_t owned, struct exact_sum dots[4]);
void crew_cr_residual(struct crew *crew, const struct kernels *kernels, struct grid *grid, double factor,
                      int32_t owned, struct exact_sum *norm);
void crew_cr_update(struct crew *crew, const struct kernels *kernels, struct grid *grid, double a, double b);

#endif
