/* This instruction set's kernels, under one name. */
#include "kernels/stencil.h"

#define QUOTE_NAME(isa) #isa
#define QUOTE(isa)      QUOTE_NAME(isa)

extern const struct kernels KERNEL(kernels);

const struct kernels KERNEL(kernels) = {
    .name = QUOTE(FIRN_ISA),
    .p2g = KERNEL(p2g),
    .p2g_mass = KERNEL(p2g_mass),
    .estimate_volume = KERNEL(estimate_volume),
    .g2p = KERNEL(g2p),
    .hessian = KERNEL(hessian),
    .velocity = KERNEL(velocity),
    .mix = KERNEL(mix),
    .cr_product = KERNEL(cr_product),
    .cr_residual = KERNEL(cr_residual),
    .cr_update = KERNEL(cr_update),
    .bare_p2g = KERNEL(bare_p2g),
    .bare_g2p = KERNEL(bare_g2p),
};
