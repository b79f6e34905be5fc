/* The threads of a rank.
 *
 * A rank's cell planes are cut into chunks, one a worker, by the same rule that cuts the domain into slabs: a
 * worker adds the contributions of its first planes to the nodes it shares with the worker before it apart,
 * and they are joined in plane order afterwards. So threads, like ranks, cannot change a bit. Node updates
 * are shared out by tiles; their sums are exact. */
#ifndef FIRN_KERNELS_CREW_H
#define FIRN_KERNELS_CREW_H

#include "base/timeline.h"
#include "kernels/kernels.h"

#include <stdint.h>

struct crew {
  int size;               /* threads */
  struct worker *workers; /* one a chunk */
  void (*meanwhile)(
      void *context); /* called by the first worker between planes while messages travel; may be NULL */
  void *context;
  struct timeline *timeline; /* NULL unless the run is traced */
  int bodies;                /* that the workers tally */
  const char *label;         /* what crew_planes() works on, for the timeline: static */
};

/* What neighbours wait for comes first, the rest while it travels; or all at once. */
enum pass { PASS_EDGES, PASS_INSIDE, PASS_ALL };

void crew_create(struct crew *crew, int threads);
void crew_free(struct crew *crew);

/* After grid_collect() and grid_chunks(): buffers for the chunks. */
void crew_fit(struct crew *crew, const struct grid *grid);

/* Room for planes with so many tiles, where a kernel has more of them than the grid's footprints. */
void crew_fit_tiles(struct crew *crew, const struct grid *grid, int32_t footprint);

/* A kernel over all planes of a pass. */
void crew_planes(struct crew *crew, const struct grid *grid, plane_kernel *kernel, void *arguments,
                 enum pass pass);

/* A kernel over all tiles; the first `owned` ones enter its sums, of which the first `count` are added to
 * sums. */
void crew_tiles(struct crew *crew, const struct grid *grid, tile_kernel *kernel, void *arguments,
                int32_t owned, struct exact_sum *sums, int count);

/* Around the plane kernels of a step: the workers' results start anew, and are brought together. `changed`:
 * mass that melted and that froze. */
void crew_begin(struct crew *crew);
void crew_collect(const struct crew *crew, const struct grid *grid, struct step_result *result,
                  struct exact_sum measured[MEASURED_COUNT], struct exact_sum changed[2]);

/* Around them likewise, for steps whose bodies and energies are tallied: each body by place too where `like`
 * is, always the same ones. */
void crew_tally(struct crew *crew, int bodies, const struct body_tally *like);
void crew_collect_tallies(const struct crew *crew, int bodies, struct body_tally *tallies,
                          struct exact_sum energy[ENERGY_COUNT]);

#endif
