/* Sizes that the workspace and the kernels agree on. */
#ifndef FIRN_KERNELS_STENCIL_SIZES_H
#define FIRN_KERNELS_STENCIL_SIZES_H

enum {
  WINDOW_PARTICLES =
      64, /* prepared together: a few full SIMD batches, and their records stay in the L1 cache */
  RECORD_BYTES = 8 * 64, /* struct record of stencil.h */
  GATHERED_DOUBLES = 16, /* per particle: value and three derivatives, four channels each */
  SPAN_NODES = 12,       /* z nodes of a tile's cells: 8 + 3, and one that stays zero */
};

#endif
