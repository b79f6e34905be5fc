/* This instruction set's kernels, under one name. */
#include "kernels/stencil.h"

#define ENTRY(kernel) .kernel = KERNEL(kernel),

extern const struct kernels KERNEL(kernels);

/* clang-format off */
const struct kernels KERNEL(kernels) = {
    .name = ISA_WORD(FIRN_ISA),
    .layout = STENCIL_LAYOUT,
    FIRN_BLOCK_KERNELS(ENTRY)
    FIRN_TILE_KERNELS(ENTRY)
    ENTRY(merge)
    ENTRY(liquid_common)
    ENTRY(bare_p2g)
    ENTRY(bare_g2p)
    ENTRY(plain_p2g)
    ENTRY(plain_g2p)
};
/* clang-format on */
