/* Sizes that the workspace and the kernels agree on. */
#ifndef FIRN_KERNELS_STENCIL_SIZES_H
#define FIRN_KERNELS_STENCIL_SIZES_H

enum {
  /* Particles that are prepared together: full SIMD batches whose records stay in the L1 cache. A gather
   * needs less of them, and the more there are, the fuller are the batches of those who yield. */
  PASS_SCATTER = 64,
  PASS_GATHER = 128,
  PASS_AHEAD = 128,             /* how many particles ahead they are prefetched */
  PASS_MIXED = 32,              /* and a product has records of its own both ways */
  RECORD_BYTES = 8 * (24 + 64), /* one particle in struct records of stencil.h */
  GATHERED_DOUBLES = 16,        /* per particle: value and three derivatives, four channels each */
  ROW_NODES = 12,               /* z nodes of a block's cells: 8 + 3, and one more */
};

#endif
