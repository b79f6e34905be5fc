/* The outline of a shape that is text. */
#ifndef FIRN_IO_TEXT_SHAPE_H
#define FIRN_IO_TEXT_SHAPE_H

#include "base/error.h"
#include "decomposition/comm.h"
#include "levelset/shape.h"

/* Collective; comm may be NULL: this process alone. Errors are agreed. */
int text_load(const struct comm *comm, struct shape *shape, struct error *err);

#endif
